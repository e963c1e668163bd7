//! The model and another file system, driven by the same operations.

use super::compare::compare;
use super::op::Op;
use super::outcome::{Files, Outcome, run};
use wearwell_nvmfs::api::{Caller, Error, FileSystem, Ino, Kind, ROOT};
use wearwell_nvmfs::model::ModelFs;

const MOUNTED: &str = "the other file system is mounted";

/// Maximum number of known files; creations beyond it are skipped. All files fit into a small file system.
const MOST_FILES: usize = 40;

/// File in both file systems.
#[derive(Clone, Copy, Debug)]
struct Known {
    model: Ino,
    other: Ino,
    kind: Kind,
    opens: u32,
}

/// Treatment of lack of space in the other file system when the model has space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Room {
    Enough,
    /// Operations that the other file system refuses for lack of space are skipped in the model.
    Scarce,
}

/// The model and another file system.
pub struct Twin<F> {
    pub model: ModelFs,
    /// `None` only during a remount.
    other: Option<F>,
    remount: Box<dyn FnMut(F) -> F>,
    room: Room,
    known: Vec<Known>,
    now_ns: i64,
    done: usize,
    /// Number of operations refused by the other file system for lack of space.
    pub refused: usize,
}

impl<F: FileSystem> Twin<F> {
    /// Pairs a new file system with a new model. `remount` unmounts and mounts the file system.
    pub fn new(other: F, room: Room, remount: impl FnMut(F) -> F + 'static) -> Self {
        let now_ns = 1_400_000_000_000_000_000;
        let known = vec![Known { model: ROOT, other: ROOT, kind: Kind::Directory, opens: 0 }];
        let mut twin = Self {
            model: ModelFs::new(),
            other: Some(other),
            remount: Box::new(remount),
            room,
            known,
            now_ns,
            done: 0,
            refused: 0,
        };
        twin.level_root();
        twin
    }

    /// Gives the root the same attributes in both.
    fn level_root(&mut self) {
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
        let other = self.other.as_mut().expect(MOUNTED);
        for fs in [&mut self.model as &mut dyn FileSystem, other] {
            fs.set_attributes(ROOT, &change, &caller).expect("the root has attributes");
        }
    }

    /// Returns the other file system.
    pub fn other(&mut self) -> &mut F {
        self.other.as_mut().expect(MOUNTED)
    }

    fn caller(&self) -> Caller {
        Caller { uid: 10 + self.done as u32 % 3, gid: 20 + self.done as u32 % 2, now_ns: self.now_ns }
    }

    /// Runs an operation in both; an error describes the difference.
    pub fn step(&mut self, op: &Op) -> Result<(), String> {
        self.done += 1;
        self.now_ns += 1_000_000_007;
        match op {
            Op::Wait { ns } => self.now_ns += ns,
            Op::Make { .. } | Op::MakeDirectory { .. } | Op::Symlink { .. }
                if self.known.len() >= MOST_FILES => {}
            Op::Remount => return self.mount_anew(),
            _ => self
                .step_both(op)
                .map_err(|difference| format!("operation {}: {op:?}: {difference}", self.done))?,
        }
        Ok(())
    }

    fn step_both(&mut self, op: &Op) -> Result<(), String> {
        let caller = self.caller();
        let models = self.files(|known| known.model);
        let others = self.files(|known| known.other);
        let (other, other_ino) = run(self.other(), op, &others, &caller);
        let mut op = op.clone();
        if self.room == Room::Scarce && !matches!(op, Op::SetXattr { .. }) {
            if other == Outcome::Refused("NoSpace") {
                self.refused += 1;
                return Ok(());
            }
            // A partial write is equivalent to a shorter write.
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
            self.meet(model, other)?;
        }
        if model == Outcome::Done {
            self.note_users(&op, &models);
        }
        let (fs, known) = (&mut self.model, &mut self.known);
        known.retain(|known| !matches!(fs.attributes(known.model), Err(Error::NotFound)));
        Ok(())
    }

    fn files(&self, ino: impl Fn(&Known) -> Ino) -> Files {
        let select =
            |is_wanted: &dyn Fn(&&Known) -> bool| self.known.iter().filter(is_wanted).map(&ino).collect();
        Files {
            all: select(&|_| true),
            directories: select(&|known| known.kind == Kind::Directory),
            regular: select(&|known| known.kind == Kind::File),
            open: select(&|known| known.opens > 0),
        }
    }

    fn note_users(&mut self, op: &Op, files: &Files) {
        let (file, change) = match *op {
            Op::Open { file } => (files.any(file), 1),
            Op::Release { file } => (files.open(file), -1),
            _ => return,
        };
        for known in self.known.iter_mut().filter(|known| known.model == file) {
            known.opens = known.opens.saturating_add_signed(change);
        }
    }

    /// Records that an operation in both referred to these inodes.
    fn meet(&mut self, model: Ino, other: Ino) -> Result<(), String> {
        match self.known.iter().find(|known| known.model == model || known.other == other) {
            None => {
                let kind = self.model.attributes(model).map_err(|error| error.to_string())?.kind;
                self.known.push(Known { model, other, kind, opens: 0 });
            }
            Some(known) if known.model == model && known.other == other => {}
            Some(known) => return Err(format!("{model:?} is {other:?}, but was {known:?}")),
        }
        Ok(())
    }

    fn mount_anew(&mut self) -> Result<(), String> {
        self.other = self.other.take().map(&mut self.remount);
        self.forget_users();
        self.compare()
    }

    /// Closes all files in the model, after the other file system was unmounted.
    pub fn forget_users(&mut self) {
        self.model.remount();
        let fs = &mut self.model;
        self.known.retain(|known| fs.attributes(known.model).is_ok());
        for known in &mut self.known {
            known.opens = 0;
        }
    }

    /// Removes the other file system, to be replaced with [`Twin::with_other`].
    pub fn take_other(&mut self) -> F {
        self.other.take().expect(MOUNTED)
    }

    /// Returns a copy that is paired with another file system with the same files and inode numbers; it
    /// cannot be remounted.
    pub fn with_other(&self, other: F) -> Self {
        Self {
            model: self.model.clone(),
            other: Some(other),
            remount: Box::new(|_| unreachable!("it is not mounted anew")),
            room: self.room,
            known: self.known.clone(),
            now_ns: self.now_ns,
            done: self.done,
            refused: self.refused,
        }
    }

    /// Compares everything visible.
    pub fn compare(&mut self) -> Result<(), String> {
        let caller = self.caller();
        let mut nameless = Vec::new();
        for known in &self.known {
            if self.model.attributes(known.model).is_ok_and(|attributes| attributes.links == 0) {
                nameless.push((known.model, known.other));
            }
        }
        let other = self.other.as_mut().expect(MOUNTED);
        compare(&mut self.model, other, &nameless, caller)
            .map_err(|difference| format!("after {} operations: {difference}", self.done))
    }
}

/// Returns an abbreviated description of an outcome.
fn brief(outcome: &Outcome) -> String {
    let text = format!("{outcome:?}");
    if text.len() < 500 { text } else { format!("{}... ({} characters)", &text[..400], text.len()) }
}
