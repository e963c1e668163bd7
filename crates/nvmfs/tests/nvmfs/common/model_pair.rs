//! The model and another file system, on which the same operations run.

use super::compare::compare;
use super::model::ModelFs;
use super::op::Op;
use super::outcome::{Files, Outcome, run};
use wearwell_nvmfs::api::{Caller, Error, FileSystem, Ino, Kind, ROOT};

const EXPECT_MOUNTED: &str = "the other file system is mounted";

/// Maximum number of known files; further creations are skipped. All files fit into a small file system.
const MAX_FILES: usize = 40;

/// Inode numbers of a file in both file systems.
#[derive(Clone, Copy, Debug)]
struct KnownFile {
    model: Ino,
    other: Ino,
    kind: Kind,
    opens: u32,
}

/// Treatment of operations for which only the model has enough free space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpaceMode {
    Enough,
    /// Operations that the other file system refuses for lack of space are skipped in the model.
    Scarce,
}

/// The model and another file system.
pub struct ModelPair<F> {
    pub model: ModelFs,
    /// `None` only during a remount.
    other: Option<F>,
    remount: Box<dyn FnMut(F) -> F>,
    space: SpaceMode,
    pairs: Vec<KnownFile>,
    now_ns: i64,
    steps: usize,
    /// Number of operations that the other file system refused for lack of space.
    pub refused: usize,
}

impl<F: FileSystem> ModelPair<F> {
    /// Pairs a new file system with a new model. `remount` unmounts and mounts the file system.
    pub fn new(other: F, space: SpaceMode, remount: impl FnMut(F) -> F + 'static) -> Self {
        let now_ns = 1_400_000_000_000_000_000;
        let known = vec![KnownFile { model: ROOT, other: ROOT, kind: Kind::Directory, opens: 0 }];
        let mut pair = Self {
            model: ModelFs::new(),
            other: Some(other),
            remount: Box::new(remount),
            space,
            pairs: known,
            now_ns,
            steps: 0,
            refused: 0,
        };
        pair.equalise_root();
        pair
    }

    /// Gives the root directory the same attributes in both file systems.
    fn equalise_root(&mut self) {
        use wearwell_nvmfs::api::Change;
        let change = Change {
            permissions: Some(0o755),
            uid: Some(1),
            gid: Some(1),
            size_bytes: None,
            accessed_ns: Some(self.now_ns),
            modified_ns: Some(self.now_ns),
        };
        let caller = self.caller();
        let other = self.other.as_mut().expect(EXPECT_MOUNTED);
        for fs in [&mut self.model as &mut dyn FileSystem, other] {
            fs.set_attributes(ROOT, &change, &caller).expect("the root has attributes");
        }
    }

    /// Returns the other file system.
    pub fn other(&mut self) -> &mut F {
        self.other.as_mut().expect(EXPECT_MOUNTED)
    }

    fn caller(&self) -> Caller {
        Caller { uid: 10 + self.steps as u32 % 3, gid: 20 + self.steps as u32 % 2, now_ns: self.now_ns }
    }

    /// Runs an operation in both file systems; an error describes the difference.
    pub fn step(&mut self, op: &Op) -> Result<(), String> {
        self.steps += 1;
        self.now_ns += 1_000_000_007;
        match op {
            Op::Wait { ns } => self.now_ns += ns,
            Op::Make { .. } | Op::MakeDirectory { .. } | Op::Symlink { .. }
                if self.pairs.len() >= MAX_FILES => {}
            Op::Remount => return self.remount_other(),
            _ => self
                .step_both(op)
                .map_err(|difference| format!("operation {}: {op:?}: {difference}", self.steps))?,
        }
        Ok(())
    }

    fn step_both(&mut self, op: &Op) -> Result<(), String> {
        let caller = self.caller();
        let models = self.files(|known| known.model);
        let others = self.files(|known| known.other);
        let (other, other_ino) = run(self.other(), op, &others, &caller);
        let mut op = op.clone();
        if self.space == SpaceMode::Scarce && !matches!(op, Op::SetXattr { .. }) {
            if other == Outcome::Refused("NoSpace") {
                self.refused += 1;
                return Ok(());
            }
            // A partial write is repeated in the model as a shorter write.
            if let (Op::Write { length, .. }, Outcome::Number(written)) = (&mut op, &other) {
                self.refused += usize::from(*written < *length as u64);
                *length = *written as usize;
            }
        }
        let (model, model_ino) = run(&mut self.model, &op, &models, &caller);
        if model != other {
            return Err(format!("\n  model {}\n  other {}", brief(&model), brief(&other)));
        }
        if let (Some(model), Some(other)) = (model_ino, other_ino) {
            self.note_inodes(model, other)?;
        }
        if model == Outcome::Done {
            self.note_opens(&op, &models);
        }
        let (fs, known) = (&mut self.model, &mut self.pairs);
        known.retain(|known| !matches!(fs.attributes(known.model), Err(Error::NotFound)));
        Ok(())
    }

    fn files(&self, ino: impl Fn(&KnownFile) -> Ino) -> Files {
        let select =
            |is_wanted: &dyn Fn(&&KnownFile) -> bool| self.pairs.iter().filter(is_wanted).map(&ino).collect();
        Files {
            all: select(&|_| true),
            directories: select(&|known| known.kind == Kind::Directory),
            regular: select(&|known| known.kind == Kind::File),
            open: select(&|known| known.opens > 0),
        }
    }

    fn note_opens(&mut self, op: &Op, files: &Files) {
        let (file, change) = match *op {
            Op::Open { file } => (files.any(file), 1),
            Op::Release { file } => (files.open(file), -1),
            _ => return,
        };
        for known in self.pairs.iter_mut().filter(|known| known.model == file) {
            known.opens = known.opens.saturating_add_signed(change);
        }
    }

    /// Records the inode numbers that an operation returned in both file systems.
    fn note_inodes(&mut self, model: Ino, other: Ino) -> Result<(), String> {
        match self.pairs.iter().find(|known| known.model == model || known.other == other) {
            None => {
                let kind = self.model.attributes(model).map_err(|error| error.to_string())?.kind;
                self.pairs.push(KnownFile { model, other, kind, opens: 0 });
            }
            Some(known) if known.model == model && known.other == other => {}
            Some(known) => return Err(format!("{model:?} is {other:?}, but was {known:?}")),
        }
        Ok(())
    }

    fn remount_other(&mut self) -> Result<(), String> {
        self.other = self.other.take().map(&mut self.remount);
        self.close_all();
        self.compare()
    }

    /// Closes all files in the model after the other file system was unmounted.
    pub fn close_all(&mut self) {
        self.model.remount();
        let fs = &mut self.model;
        self.pairs.retain(|known| fs.attributes(known.model).is_ok());
        for known in &mut self.pairs {
            known.opens = 0;
        }
    }

    /// Removes the other file system, so that [`ModelPair::with_other`] can replace it.
    pub fn take_other(&mut self) -> F {
        self.other.take().expect(EXPECT_MOUNTED)
    }

    /// Returns a copy with another file system that has the same files and inode numbers; the copy cannot be
    /// remounted.
    pub fn with_other(&self, other: F) -> Self {
        Self {
            model: self.model.clone(),
            other: Some(other),
            remount: Box::new(|_| unreachable!("it is not mounted anew")),
            space: self.space,
            pairs: self.pairs.clone(),
            now_ns: self.now_ns,
            steps: self.steps,
            refused: self.refused,
        }
    }

    /// Compares everything that is visible.
    pub fn compare(&mut self) -> Result<(), String> {
        let caller = self.caller();
        let mut nameless = Vec::new();
        for known in &self.pairs {
            if self.model.attributes(known.model).is_ok_and(|attributes| attributes.links == 0) {
                nameless.push((known.model, known.other));
            }
        }
        let other = self.other.as_mut().expect(EXPECT_MOUNTED);
        compare(&mut self.model, other, &nameless, caller)
            .map_err(|difference| format!("after {} operations: {difference}", self.steps))
    }
}

/// Returns an abbreviated description of an outcome.
fn brief(outcome: &Outcome) -> String {
    let text = format!("{outcome:?}");
    if text.len() < 500 { text } else { format!("{}... ({} characters)", &text[..400], text.len()) }
}
