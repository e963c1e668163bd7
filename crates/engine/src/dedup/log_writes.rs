//! Writing of the map log, between writes of the host.

use super::layer::Dedup;
use super::map_log::MapLog;
use crate::layer::{ContentId, Layer, LayerError};
use crate::units::Lpn;

impl<L: Layer<ContentId>> Dedup<L> {
    /// Writes records until less than a page of records is left, or all records if `all`. Releases the slots that were
    /// retained for these records.
    pub(super) fn write_log(&mut self, all: bool) -> Result<(), LayerError> {
        if !self.has_log {
            return Ok(());
        }
        while self.sharing.lock().log.as_ref().is_some_and(|log| log.is_full() || all) {
            self.write_checkpoint()?;
            let page = self.sharing.lock().log.as_mut().and_then(|log| log.begin_page());
            let Some(page) = page else { break };
            self.write_log_page(page)?;
            let mut tables = self.sharing.lock();
            tables.report.map_log_pages += 1;
            tables.log.iter_mut().for_each(MapLog::end_page);
        }
        self.write_checkpoint()?;
        self.release_retained()
    }

    /// Writes the pages of the checkpoint that are due.
    fn write_checkpoint(&mut self) -> Result<(), LayerError> {
        loop {
            let page = self.sharing.lock().begin_checkpoint();
            let Some(page) = page else { return Ok(()) };
            self.write_log_page(page)?;
            let mut tables = self.sharing.lock();
            tables.report.map_checkpoint_pages += 1;
            tables.log.iter_mut().for_each(MapLog::end_checkpoint);
        }
    }

    /// Writes a page of the log or of the checkpoint.
    fn write_log_page(&mut self, page: u32) -> Result<(), LayerError> {
        let page = Lpn(self.sharing.lock().first_log_page() + page);
        self.lower.write(&[page], &[ContentId::UNKNOWN], 0)?;
        self.internal_writes += 1;
        // Writing may have cleaned, and cleaning may have compared pages.
        self.read_pages_to_verify()
    }

    /// Releases slots whose last record is on flash.
    fn release_retained(&mut self) -> Result<(), LayerError> {
        self.sharing.lock().release_retained(&mut self.unreferenced);
        self.trim_unreferenced()
    }
}
