//! Read-only flash for a trial recovery: all writes are discarded.

use super::files::Files;
use super::medium::{read_own, spare_note};
use super::scan::ScannedFlash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::forms::{CameBack, KeptMedium};
use wearwell_engine::layer::{Content, MediumError, Run};
use wearwell_engine::nand::{Backing, DescribePage, FillPage, KeptError, KeptFlash, Nand, OwnNote};
use wearwell_engine::units::BlockId;

/// Flash of the files, and the result of the recovery.
pub struct Scratch {
    files: Arc<Files>,
    found: Mutex<Option<ScannedFlash>>,
    outcome: Mutex<Option<CameBack>>,
}

impl Scratch {
    /// Creates the flash from the files and the results of their scan.
    pub fn new(files: Arc<Files>, found: ScannedFlash) -> Self {
        Scratch { files, found: Mutex::new(Some(found)), outcome: Mutex::new(None) }
    }

    /// Takes the result of the recovery, if it was tried.
    pub fn outcome(&self) -> Option<CameBack> {
        lock(&self.outcome).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Backing that discards all writes.
struct Discard;

impl Backing<Content> for Discard {
    fn program(
        &mut self,
        _block: BlockId,
        _page: u32,
        _run: &Run<'_, Content>,
        _describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        Ok(())
    }

    fn hold(&mut self, _block: BlockId, _page: u32, _fill: &mut FillPage<'_>) -> Result<(), MediumError> {
        Ok(())
    }

    fn spoil(&mut self, _block: BlockId, _page: u32, _pages: u32) {}

    fn erase(&mut self, _block: BlockId, _erases: u32) -> Result<(), MediumError> {
        Ok(())
    }

    fn retire(&mut self, _block: BlockId) {}
}

/// Reader of the files.
struct Reader(Arc<Files>);

impl KeptFlash for Reader {
    fn read_own(&mut self, block: BlockId, page: u32, bytes: &mut [u8]) -> Result<OwnNote, KeptError> {
        read_own(&self.0, block, page, bytes)
    }

    fn noted(&self, block: BlockId, page: u32) -> Option<(OwnNote, u64)> {
        spare_note(&self.0, block, page)
    }
}

impl KeptMedium for Scratch {
    fn is_new(&self) -> bool {
        lock(&self.found).as_ref().is_some_and(|found| found.operation == 0)
    }

    fn is_of_battery(&self, _has_battery: bool) {}

    fn restore(&self, nand: &mut Nand<Content>) -> Result<(), KeptError> {
        let found = lock(&self.found).take();
        let blocks = found.map_or_else(Vec::new, |found| found.blocks);
        let pages = self.files.shape.pages_per_block;
        for (block, found) in (0..).map(BlockId).zip(&blocks) {
            nand.restore(block, &found.kept(pages))?;
        }
        Ok(())
    }

    fn backing(&self) -> Box<dyn Backing<Content>> {
        Box::new(Discard)
    }

    fn reader(&self) -> Box<dyn KeptFlash> {
        Box::new(Reader(self.files.clone()))
    }

    fn came_back(&self, how: CameBack) {
        *lock(&self.outcome) = Some(how);
    }
}
