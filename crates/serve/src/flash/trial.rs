//! Read-only flash for a trial recovery, which discards all writes.

use super::files::Files;
use super::metadata_pages::{read_own, spare_note};
use super::scan::ScannedFlash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::instances::{RestartResult, StoredMedium};
use wearwell_engine::layer::{ContentId, MediumError, Run};
use wearwell_engine::nand::{
    DescribePage, FillPage, FlashStorage, MetadataNote, Nand, StoredFlash, StoredFlashError,
};
use wearwell_engine::units::BlockId;

/// Flash that reads from the files, and the result of the recovery.
pub struct TrialFlash {
    files: Arc<Files>,
    found: Mutex<Option<ScannedFlash>>,
    outcome: Mutex<Option<RestartResult>>,
    has_battery: Mutex<bool>,
}

impl TrialFlash {
    /// Creates the flash from the files and the results of their scan.
    pub fn new(files: Arc<Files>, found: ScannedFlash) -> Self {
        TrialFlash {
            files,
            found: Mutex::new(Some(found)),
            outcome: Mutex::default(),
            has_battery: Mutex::default(),
        }
    }

    /// True if the drive has a battery.
    pub fn has_battery(&self) -> bool {
        *lock(&self.has_battery)
    }

    /// Takes the result of the recovery, if a recovery was tried.
    pub fn outcome(&self) -> Option<RestartResult> {
        lock(&self.outcome).take()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Storage that discards all writes.
struct DiscardingStorage;

impl FlashStorage<ContentId> for DiscardingStorage {
    fn program(
        &mut self,
        _block: BlockId,
        _page: u32,
        _run: &Run<'_, ContentId>,
        _describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        Ok(())
    }

    fn store_page_bytes(
        &mut self,
        _block: BlockId,
        _page: u32,
        _fill: &mut FillPage<'_>,
    ) -> Result<(), MediumError> {
        Ok(())
    }

    fn mark_unreadable(&mut self, _block: BlockId, _page: u32, _pages: u32) {}

    fn erase(&mut self, _block: BlockId, _erases: u32) -> Result<(), MediumError> {
        Ok(())
    }

    fn retire(&mut self, _block: BlockId) {}
}

/// Reader of flash pages from the files.
struct Reader(Arc<Files>);

impl StoredFlash for Reader {
    fn read_metadata_page(
        &mut self,
        block: BlockId,
        page: u32,
        bytes: &mut [u8],
    ) -> Result<MetadataNote, StoredFlashError> {
        read_own(&self.0, block, page, bytes)
    }

    fn page_note(&self, block: BlockId, page: u32) -> Option<(MetadataNote, u64)> {
        spare_note(&self.0, block, page)
    }
}

impl StoredMedium for TrialFlash {
    fn is_new(&self) -> bool {
        lock(&self.found).as_ref().is_some_and(|found| found.operation == 0)
    }

    fn record_battery(&self, has_battery: bool) {
        *lock(&self.has_battery) = has_battery;
    }

    fn restore(&self, nand: &mut Nand<ContentId>) -> Result<(), StoredFlashError> {
        let found = lock(&self.found).take();
        let blocks = found.map_or_else(Vec::new, |found| found.blocks);
        let pages = self.files.shape.pages_per_block;
        for (block, found) in (0..).map(BlockId).zip(&blocks) {
            nand.restore(block, &found.to_stored(pages))?;
        }
        Ok(())
    }

    fn storage(&self) -> Box<dyn FlashStorage<ContentId>> {
        Box::new(DiscardingStorage)
    }

    fn reader(&self) -> Box<dyn StoredFlash> {
        Box::new(Reader(self.files.clone()))
    }

    fn record_restart(&self, how: RestartResult) {
        *lock(&self.outcome) = Some(how);
    }
}
