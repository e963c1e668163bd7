//! Flash that writes down what it does.

use super::journal::{Journal, Step};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::{Medium, MediumError, Pages, Payload, Reports, Run};
use crate::nand::{Flash, Nand, PageState};
use crate::units::{BlockId, Lpn};

/// [`Nand`] that writes each operation it did into a [`Journal`], for the clock; apart from that it is the same flash.
///
/// What it refuses is not written down, and neither is an erase that fails.
pub struct Timed<P> {
    nand: Nand<P>,
    journal: Journal,
}

impl<P: Payload> Timed<P> {
    /// `nand`, writing into `journal`.
    pub fn new(nand: Nand<P>, journal: Journal) -> Self {
        Timed { nand, journal }
    }

    fn note_reads(&self, block: BlockId, pages: impl Iterator<Item = u32>, cause: Cause) {
        self.journal.extend(pages.map(|page| Step::Read { block, page, cause }));
    }
}

impl<P: Payload> Medium for Timed<P> {
    type Payload = P;

    const KEEPS_GROUPS: bool = <Nand<P> as Medium>::KEEPS_GROUPS;

    /// Which pages are read decides which dies do it.
    const READS_BY_PAGE: bool = true;

    const MAY_HEAR_OF_DEATHS: bool = <Nand<P> as Medium>::MAY_HEAR_OF_DEATHS;

    const MAY_KEEP_METADATA: bool = <Nand<P> as Medium>::MAY_KEEP_METADATA;

    fn hears_of_deaths(&self) -> bool {
        self.nand.hears_of_deaths()
    }

    fn died(&mut self, owner: Lpn, block: BlockId, page: u32) {
        self.nand.died(owner, block, page);
    }

    fn serve(&mut self, streams: u8) -> Result<(), ConfigError> {
        self.nand.serve(streams)
    }

    fn has_own_stream(&self) -> bool {
        self.nand.has_own_stream()
    }

    fn metadata_pages(&self) -> u32 {
        self.nand.metadata_pages()
    }

    fn until_checkpoint(&self) -> u64 {
        self.nand.until_checkpoint()
    }

    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        self.nand.begin_checkpoint(pages);
    }

    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        self.nand.end_checkpoint()
    }

    fn cleaning(&mut self, begins: bool) {
        self.nand.cleaning(begins);
    }

    fn left_valid(&self, block: BlockId) -> f64 {
        self.nand.left_valid(block)
    }

    fn blocks(&self) -> u32 {
        self.nand.blocks()
    }

    fn pages_per_block(&self) -> u32 {
        self.nand.pages_per_block()
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, P>) -> Result<(), MediumError> {
        let done = self.nand.program(block, page, run);
        let pages = match &done {
            Ok(()) => run.data.len() as u32,
            // The attempt takes as long as if it had gone well.
            Err(MediumError::ProgramFailed { page: failed, .. }) => failed - page + 1,
            Err(_) => 0,
        };
        if pages > 0 {
            self.journal.push(Step::Program { block, page, pages, cause: run.cause });
        }
        done
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        self.nand.erase(block, cause)?;
        self.journal.push(Step::Erase { block, cause });
        Ok(())
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<P>,
    ) -> Result<(), MediumError> {
        self.nand.read(block, pages, cause, out)?;
        match pages {
            Pages::Listed(pages) => self.note_reads(block, pages.iter().copied(), cause),
            // Any pages will do; a block that holds so many holds the first ones.
            Pages::Counted(count) => self.note_reads(block, 0..count, cause),
        }
        Ok(())
    }

    fn count_reads(&mut self, pages: u64) {
        self.nand.count_reads(pages);
    }

    #[inline(always)]
    fn prefetch_block(&self, block: BlockId) {
        self.nand.prefetch_block(block);
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.nand.flush()
    }

    fn retire(&mut self, block: BlockId) {
        self.nand.retire(block);
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        self.nand.take_disturbed()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.nand.is_bad(block)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.nand.erases(block)
    }

    fn describe(&self, reports: &mut Reports) {
        self.nand.describe(reports);
    }

    fn check(&self) -> Result<(), String> {
        self.nand.check()
    }
}

impl<P: Payload> Flash for Timed<P> {
    fn spare(&self, block: BlockId, page: u32) -> PageState {
        self.nand.spare(block, page)
    }

    fn read_spare(&mut self, block: BlockId, page: u32, cause: Cause) -> PageState {
        self.nand.read_spare(block, page, cause)
    }

    fn note(&self, block: BlockId) -> u64 {
        self.nand.note(block)
    }

    fn tear_program(&mut self, block: BlockId, page: u32) {
        self.nand.tear_program(block, page);
    }

    fn tear_erase(&mut self, block: BlockId) {
        self.nand.tear_erase(block);
    }

    fn next_page(&self, block: BlockId) -> Option<u32> {
        Flash::next_page(&self.nand, block)
    }
}
