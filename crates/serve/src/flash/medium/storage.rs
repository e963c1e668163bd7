//! Flash operations of the simulation, executed on the files.

use super::super::metadata_pages::{read_own, spare_note};
use super::super::records::{BlockRecord, BlockState};
use super::SharedMedium;
use std::io;
use wearwell_engine::flash_format::crc;
use wearwell_engine::layer::{ContentId, MediumError, Run};
use wearwell_engine::nand::{
    DescribePage, FillPage, FlashStorage, MetadataNote, StoredFlash, StoredFlashError,
};
use wearwell_engine::units::BlockId;

impl FlashStorage<ContentId> for SharedMedium {
    fn program(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, ContentId>,
        describe: &DescribePage<'_>,
    ) -> Result<(), MediumError> {
        let mut medium = self.lock();
        if medium.is_read_only() {
            return Ok(());
        }
        (0..run.data.len()).try_for_each(|at| medium.program_page((block, page), at, run, describe))
    }

    fn store_page_bytes(
        &mut self,
        block: BlockId,
        page: u32,
        fill: &mut FillPage<'_>,
    ) -> Result<(), MediumError> {
        let mut medium = self.lock();
        if medium.is_read_only() {
            return Ok(());
        }
        let slot = medium.slot(block, page);
        let Some((_, mut record)) = medium.incomplete_page.take_if(|(waiting, _)| *waiting == slot) else {
            let problem = format!("page {page} of block {} waits for nothing", block.0);
            return Err(medium.fail(io::Error::other(problem)));
        };
        medium.page.fill(0);
        let mut bytes = std::mem::take(&mut medium.page);
        let filled = fill(&mut bytes);
        medium.page = bytes;
        match filled {
            Ok(own) => (record.ftl_note, record.page_crc) = (own, crc(&medium.page)),
            Err(problem) => return Err(medium.fail(io::Error::other(problem))),
        }
        let written = medium.write(slot, record);
        written.map_err(|error| medium.fail(error))
    }

    fn mark_unreadable(&mut self, block: BlockId, page: u32, pages: u32) {
        let mut medium = self.lock();
        if medium.is_read_only() {
            return;
        }
        if medium.begin().is_err() {
            return;
        }
        let slot = medium.slot(block, page);
        medium.operation -= 1;
        let torn = match pages {
            1 => medium.tear(slot),
            _ => {
                medium.operation += 1;
                medium.begin_erase(block.0)
            }
        };
        if let Err(error) = torn {
            medium.fail(error);
        }
    }

    fn erase(&mut self, block: BlockId, erases: u32) -> Result<(), MediumError> {
        let mut medium = self.lock();
        if medium.is_read_only() {
            return Ok(());
        }
        let result = medium.begin();
        if result == Err(false) {
            return Err(MediumError::PowerLost);
        }
        if result == Err(true) {
            medium.operation += 1;
        }
        if let Err(error) = medium.begin_erase(block.0) {
            return Err(medium.fail(error));
        }
        if result.is_err() {
            return Err(MediumError::PowerLost);
        }
        let erased = medium.end_erase(block.0, erases);
        erased.map_err(|error| medium.fail(error))
    }

    fn retire(&mut self, block: BlockId) {
        let mut medium = self.lock();
        if medium.off.is_some() || medium.is_read_only() {
            return;
        }
        medium.operation += 1;
        let record = BlockRecord {
            state: BlockState::Bad,
            operation: medium.operation,
            ..medium.records[block.index()]
        };
        let result = medium.begin_erase(block.0);
        if let Err(error) = result.and_then(|()| medium.files.write_block(block.0, &record)) {
            medium.fail(error);
        }
        medium.records[block.index()] = record;
    }
}

impl StoredFlash for SharedMedium {
    fn read_metadata_page(
        &mut self,
        block: BlockId,
        page: u32,
        bytes: &mut [u8],
    ) -> Result<MetadataNote, StoredFlashError> {
        let medium = self.lock();
        read_own(&medium.files, block, page, bytes)
    }

    fn page_note(&self, block: BlockId, page: u32) -> Option<(MetadataNote, u64)> {
        spare_note(&self.lock().files, block, page)
    }
}
