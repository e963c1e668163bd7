//! An image of flash, opened.

use super::battery::Battery;
use super::files::{Files, Shape};
use super::medium::{Medium, Off, PowerCut, SharedMedium};
use super::scan::{Found, scan};
use crate::error::ImageError;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::forms::{CameBack, KeptMedium};
use wearwell_engine::layer::{Content, RecoveryReport};
use wearwell_engine::nand::{Backing, KeptError, KeptFlash, Nand};
use wearwell_engine::units::BlockId;
use wearwell_stack::KeptPlan;

/// What was found when flash was opened, and what its FTL did to come back.
#[derive(Clone, Debug, Default)]
pub struct Opened {
    /// Whether nothing was ever done with it.
    pub is_new: bool,
    /// Operations that it has seen: programs of pages, erases of blocks, and blocks that went bad.
    pub operations: u64,
    /// Operations that were on the disk of this machine though earlier ones were not: they are undone.
    pub left_over: u64,
    /// Whether its drive has a battery.
    pub has_battery: bool,
    /// What the FTL did.
    pub recovery: Option<RecoveryReport>,
    /// Trims that a battery had kept, done once more.
    pub trimmed_pages: u64,
}

/// What is known of an opening.
#[derive(Default)]
struct Opening {
    blocks: Option<Found>,
    opened: Opened,
    problem: Option<String>,
}

/// An image of flash in use.
#[derive(Clone)]
pub struct FlashImage {
    folder: PathBuf,
    shape: Shape,
    medium: SharedMedium,
    opening: Arc<Mutex<Opening>>,
}

impl FlashImage {
    /// Opens the image in `folder`, or makes one for the drive of `plan`.
    ///
    /// # Errors
    /// A folder of something else, of another scenario or version, in use, or damaged.
    pub fn open(folder: &Path, plan: &KeptPlan) -> Result<Self, ImageError> {
        let (medium, opening) = FlashImage::look(Files::open(folder, plan)?)?;
        Ok(FlashImage {
            folder: folder.to_owned(),
            shape: Shape::of(plan),
            medium: SharedMedium::new(medium),
            opening: Arc::new(Mutex::new(opening)),
        })
    }

    fn look(mut files: Files) -> Result<(Medium, Opening), ImageError> {
        let found = scan(&mut files).map_err(|error| files.failed(&error))?;
        let found = found.map_err(|problem| files.damaged(problem))?;
        let (operations, left_over) = (found.operation, found.left_over);
        let folder_of = files.folder().to_owned();
        let medium =
            Medium::new(files, &found).map_err(|error| ImageError::new(&folder_of, error.to_string()))?;
        let opened = Opened { is_new: operations == 0, operations, left_over, ..Opened::default() };
        Ok((medium, Opening { blocks: Some(found), opened, problem: None }))
    }

    /// Looks at the files anew, as another process would: power is back.
    ///
    /// # Errors
    /// As [`FlashImage::open`].
    pub fn reopen(&self) -> Result<(), ImageError> {
        let mut medium = self.medium.lock();
        let (again, opening) = FlashImage::look(medium.files.again()?)?;
        *medium = again;
        *self.opening() = opening;
        Ok(())
    }

    fn opening(&self) -> MutexGuard<'_, Opening> {
        self.opening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was found when it was opened.
    pub fn opened(&self) -> Opened {
        self.opening().opened.clone()
    }

    /// So many pages were trimmed once more.
    pub fn note_trimmed(&self, pages: u64) {
        self.opening().opened.trimmed_pages = pages;
    }

    /// Why the FTL did not come back, if it did not.
    pub fn problem(&self) -> Option<ImageError> {
        let problem = self.opening().problem.take()?;
        Some(ImageError::new(&self.folder, format!("is damaged: {problem}")))
    }

    /// The error of an image that is not as it was left.
    pub fn damaged(&self, problem: impl std::fmt::Display) -> ImageError {
        ImageError::new(&self.folder, format!("is damaged: {problem}"))
    }

    /// What a battery would keep, of a drive that has one.
    ///
    /// # Errors
    /// A file that cannot be read or written, or is damaged.
    pub fn battery(&self) -> Result<Battery, ImageError> {
        Battery::open(&self.folder)
    }

    /// The name that the next content gets.
    pub fn mark(&self) -> u64 {
        self.medium.lock().next_name
    }

    /// Contents are called by no name below this.
    pub fn begin_names_at(&self, first: u64) {
        let mut medium = self.medium.lock();
        medium.next_name = medium.next_name.max(first);
    }

    /// What the newest copy of each logical page is called.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn newest_names(&self) -> Result<HashMap<u32, u64>, ImageError> {
        let mut medium = self.medium.lock();
        let found = scan(&mut medium.files).map_err(|error| medium.files.failed(&error))?;
        let found = found.map_err(|problem| medium.files.damaged(problem))?;
        let mut newest: HashMap<u32, (u64, u64)> = HashMap::new();
        for page in found.blocks.iter().flat_map(|block| block.pages.iter().flatten().flatten()) {
            if page.name != 0 {
                let known = newest.entry(page.spare.owner.0).or_default();
                *known = (page.operation, page.name).max(*known);
            }
        }
        Ok(newest.into_iter().map(|(page, (_, name))| (page, name)).collect())
    }

    /// Power is cut then; `None`: it stays on.
    pub fn cut(&self, cut: Option<PowerCut>) {
        self.medium.lock().cut(cut);
    }

    /// Power is off from now on.
    pub fn turn_off(&self) {
        self.medium.lock().turn_off();
    }

    /// Why nothing can be done any more, if files failed.
    pub fn failure(&self) -> Option<String> {
        match self.medium.lock().off() {
            Some(Off::Failed(problem)) => Some(problem.clone()),
            _ => None,
        }
    }

    /// The flash.
    pub(crate) fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock()
    }
}

impl KeptMedium for FlashImage {
    fn is_new(&self) -> bool {
        self.opening().opened.is_new
    }

    fn is_of_battery(&self, has_battery: bool) {
        self.opening().opened.has_battery = has_battery;
    }

    fn restore(&self, nand: &mut Nand<Content>) -> Result<(), KeptError> {
        let found = self.opening().blocks.take();
        let blocks = found.map_or_else(Vec::new, |found| found.blocks);
        for (block, found) in (0..).map(BlockId).zip(&blocks) {
            nand.restore(block, &found.kept(self.shape.pages_per_block))?;
        }
        Ok(())
    }

    fn backing(&self) -> Box<dyn Backing<Content>> {
        Box::new(self.medium.clone())
    }

    fn reader(&self) -> Box<dyn KeptFlash> {
        Box::new(self.medium.clone())
    }

    fn came_back(&self, how: CameBack) {
        let mut opening = self.opening();
        match how {
            Ok(report) => opening.opened.recovery = Some(report),
            Err(problem) => opening.problem = Some(problem),
        }
    }
}
