//! Writing of the map's log, between the host's writes.

use super::layer::Dedup;
use super::maplog::MapLog;
use crate::layer::{Content, Layer, LayerError};
use crate::units::Lpn;

impl<L: Layer<Content>> Dedup<L> {
    /// Writes records out until less than a page of them is left, or all of them if `wholly`. Releases the slots that
    /// were retained for these records.
    pub(super) fn write_log(&mut self, wholly: bool) -> Result<(), LayerError> {
        if !self.has_log {
            return Ok(());
        }
        while self.sharing.lock().log.as_ref().is_some_and(|log| log.is_full() || wholly) {
            self.write_checkpoint()?;
            let page = self.sharing.lock().log.as_mut().and_then(|log| log.begin_page());
            let Some(page) = page else { break };
            self.write_own(page)?;
            let mut tables = self.sharing.lock();
            tables.report.map_log_pages += 1;
            tables.log.iter_mut().for_each(MapLog::end_page);
        }
        self.write_checkpoint()?;
        self.give_up()
    }

    /// Writes the pages of the checkpoint that are due.
    fn write_checkpoint(&mut self) -> Result<(), LayerError> {
        loop {
            let begun = self.sharing.lock().begin_checkpoint();
            let Some(page) = begun else { return Ok(()) };
            self.write_own(page)?;
            let mut tables = self.sharing.lock();
            tables.report.map_checkpoint_pages += 1;
            tables.log.iter_mut().for_each(MapLog::end_checkpoint);
        }
    }

    /// Writes a page of the log or of the checkpoint.
    fn write_own(&mut self, page: u32) -> Result<(), LayerError> {
        let page = Lpn(self.sharing.lock().first_of_log() + page);
        self.lower.write(&[page], &[Content::UNKNOWN], 0)?;
        self.own_writes += 1;
        // Writing may have cleaned, and cleaning may have compared pages.
        self.read_compared()
    }

    /// Releases slots whose last record is on flash.
    fn give_up(&mut self) -> Result<(), LayerError> {
        self.sharing.lock().give_up(&mut self.dead);
        self.bury()
    }
}
