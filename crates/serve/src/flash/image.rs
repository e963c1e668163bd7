//! Flash image in use.

use super::battery::Battery;
use super::files::{Files, Shape};
use super::medium::{Medium, PowerCut, SharedMedium};
use super::scan::{ScannedFlash, scan};
use crate::error::ImageError;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::instances::{RestartResult, StoredMedium};
use wearwell_engine::layer::{ContentId, RecoveryReport};
use wearwell_engine::nand::{FlashStorage, Nand, StoredFlash, StoredFlashError};
use wearwell_engine::units::BlockId;
use wearwell_stack::StoredFlashPlan;

/// Results of opening an image and of the FTL's recovery.
#[derive(Clone, Debug, Default)]
pub struct OpenReport {
    /// True if no operation was ever executed.
    pub is_new: bool,
    /// Number of operations so far: page programs, block erases and retired blocks.
    pub operations: u64,
    /// Number of operations that are undone, because operations before them had not reached the disk when the host
    /// machine stopped.
    pub undone_operations: u64,
    /// True if the drive has a battery.
    pub has_battery: bool,
    /// Steps of the FTL's recovery.
    pub recovery: Option<RecoveryReport>,
    /// Number of pages that were trimmed again because of the battery's records.
    pub trimmed_pages: u64,
}

/// State while an image is opened and its drive recovers.
#[derive(Default)]
struct OpenState {
    blocks: Option<ScannedFlash>,
    report: OpenReport,
    problem: Option<String>,
}

/// Image of flash in use.
#[derive(Clone)]
pub struct FlashImage {
    folder: PathBuf,
    shape: Shape,
    medium: SharedMedium,
    state: Arc<Mutex<OpenState>>,
}

impl FlashImage {
    /// Opens the image in `folder`, or creates it for the drive of `plan`.
    ///
    /// # Errors
    /// Fails if the folder contains other files, or if the image belongs to another scenario or version, is in use,
    /// or is damaged.
    pub fn open(folder: &Path, plan: &StoredFlashPlan) -> Result<Self, ImageError> {
        let (medium, state) = FlashImage::scan_files(Files::open(folder, plan)?)?;
        Ok(FlashImage {
            folder: folder.to_owned(),
            shape: Shape::from_plan(plan),
            medium: SharedMedium::new(medium),
            state: Arc::new(Mutex::new(state)),
        })
    }

    fn scan_files(mut files: Files) -> Result<(Medium, OpenState), ImageError> {
        let found = scan(&mut files).map_err(|error| files.failed(&error))?;
        let found = found.map_err(|problem| files.damaged(problem))?;
        let (operations, left_over) = (found.operation, found.undone_operations);
        let medium = Medium::new(files, &found);
        let report = OpenReport {
            is_new: operations == 0,
            operations,
            undone_operations: left_over,
            ..OpenReport::default()
        };
        Ok((medium, OpenState { blocks: Some(found), report, problem: None }))
    }

    /// Reads the files again, as a new process would, after power returns.
    ///
    /// # Errors
    /// The errors of [`FlashImage::open`].
    pub fn reopen(&self) -> Result<(), ImageError> {
        let mut medium = self.medium.lock();
        let (again, state) = FlashImage::scan_files(medium.files.try_clone()?)?;
        *medium = again;
        *self.state() = state;
        Ok(())
    }

    /// Reads the files again, which cannot be written for `reason`. All later operations are simulated and not stored.
    ///
    /// # Errors
    /// The errors of [`FlashImage::open`].
    pub fn reopen_read_only(&self, reason: &io::Error) -> Result<(), ImageError> {
        self.reopen()?;
        self.medium.lock().set_read_only(reason);
        Ok(())
    }

    fn state(&self) -> MutexGuard<'_, OpenState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the results of the last opening.
    pub fn open_report(&self) -> OpenReport {
        self.state().report.clone()
    }

    /// Records the number of pages that were trimmed again.
    pub fn record_trimmed(&self, pages: u64) {
        self.state().report.trimmed_pages = pages;
    }

    /// Takes the reason why the FTL did not recover; `None` if the FTL recovered.
    pub fn problem(&self) -> Option<ImageError> {
        let problem = self.state().problem.take()?;
        Some(ImageError::new(&self.folder, format!("is damaged: {problem}")))
    }

    /// Builds the error for a damaged image.
    pub fn damaged(&self, problem: impl std::fmt::Display) -> ImageError {
        ImageError::new(&self.folder, format!("is damaged: {problem}"))
    }

    /// Opens the battery's record of trims.
    ///
    /// # Errors
    /// The errors of opening the file of the battery.
    pub fn battery(&self) -> Result<Battery, ImageError> {
        let durable = self.medium.lock().files.battery;
        Battery::open(&self.folder, durable, self.open_report().is_new)
    }

    /// Sets the durable part of the battery's file, which the next sync records.
    pub fn set_battery(&self, durable: u64) {
        self.medium.lock().set_battery(durable);
    }

    /// Returns the ID that the next content gets.
    pub fn next_id(&self) -> u64 {
        self.medium.lock().next_id
    }

    /// Raises the ID of the next content to at least `first`.
    pub fn reserve_ids(&self, first: u64) {
        let mut medium = self.medium.lock();
        medium.next_id = medium.next_id.max(first);
    }

    /// Returns the content ID of each logical page's newest copy.
    ///
    /// # Errors
    /// Fails if the files cannot be read.
    pub fn newest_ids(&self) -> Result<HashMap<u32, u64>, ImageError> {
        let mut medium = self.medium.lock();
        let found = scan(&mut medium.files).map_err(|error| medium.files.failed(&error))?;
        let found = found.map_err(|problem| medium.files.damaged(problem))?;
        let mut newest: HashMap<u32, (u64, u64)> = HashMap::new();
        for page in found.blocks.iter().flat_map(|block| block.pages.iter().flatten().flatten()) {
            if page.name != 0 {
                let newest_id = newest.entry(page.spare.owner.0).or_default();
                *newest_id = (page.operation, page.name).max(*newest_id);
            }
        }
        Ok(newest.into_iter().map(|(page, (_, name))| (page, name)).collect())
    }

    /// Schedules a power cut; `None` cancels it.
    pub fn schedule_cut(&self, cut: Option<PowerCut>) {
        self.medium.lock().schedule_cut(cut);
    }

    /// Turns the power off now.
    pub fn turn_off(&self) {
        self.medium.lock().turn_off();
    }

    /// Takes the descriptions of damaged pages that were moved since the last call.
    pub fn take_moved_damage(&self) -> Vec<String> {
        self.medium.lock().take_moved_damage()
    }

    /// Returns the error for which the files are not written any more, if there is one.
    pub fn failure(&self) -> Option<io::Error> {
        self.medium.lock().failure()
    }

    /// Locks the flash.
    pub(crate) fn medium(&self) -> MutexGuard<'_, Medium> {
        self.medium.lock()
    }
}

impl StoredMedium for FlashImage {
    fn is_new(&self) -> bool {
        self.state().report.is_new
    }

    fn record_battery(&self, has_battery: bool) {
        self.state().report.has_battery = has_battery;
    }

    fn restore(&self, nand: &mut Nand<ContentId>) -> Result<(), StoredFlashError> {
        let found = self.state().blocks.take();
        let blocks = found.map_or_else(Vec::new, |found| found.blocks);
        for (block, found) in (0..).map(BlockId).zip(&blocks) {
            nand.restore(block, &found.to_stored(self.shape.pages_per_block))?;
        }
        Ok(())
    }

    fn storage(&self) -> Box<dyn FlashStorage<ContentId>> {
        Box::new(self.medium.clone())
    }

    fn reader(&self) -> Box<dyn StoredFlash> {
        Box::new(self.medium.clone())
    }

    fn record_restart(&self, how: RestartResult) {
        let mut state = self.state();
        match how {
            Ok(report) => state.report.recovery = Some(report),
            Err(problem) => state.problem = Some(problem),
        }
    }
}
