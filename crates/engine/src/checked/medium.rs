//! Wrapper that checks the contract of a medium.

use crate::counters::Cause;
use crate::layer::{Medium, MediumError, Pages, Reports, Run, forward_medium};
use crate::nand::{Flash, forward_flash};
use crate::units::BlockId;

/// A medium whose answers are all checked. Panics if the medium, or the log that writes on it, breaks the contract;
/// violations that only a count reveals are errors of [`Medium::check`].
pub struct CheckedMedium<M> {
    inner: M,
    pages_per_block: u32,
    /// Index of the page that must be programmed next in each block.
    next: Vec<u32>,
    /// Blocks with a failed program, which accept no more pages.
    failed: Vec<bool>,
    /// Lowest sequence number that the next page may have.
    sequence: u64,
    programs: u64,
    erases: u64,
    /// Counts of the medium before it was wrapped.
    before: (u64, u64),
    /// True if an operation was cut short, so that only the medium knows its progress.
    is_uncertain: bool,
}

impl<M: Medium> CheckedMedium<M> {
    /// Wraps `inner`, which must be erased.
    pub fn new(inner: M) -> Self {
        let blocks = inner.blocks() as usize;
        let mut checked = CheckedMedium {
            pages_per_block: inner.pages_per_block(),
            next: vec![0; blocks],
            failed: vec![false; blocks],
            sequence: 0,
            programs: 0,
            erases: 0,
            before: (0, 0),
            is_uncertain: false,
            inner,
        };
        checked.before = checked.counted().unwrap_or_default();
        checked
    }

    /// Returns the medium.
    pub fn inner(&self) -> &M {
        &self.inner
    }

    /// Returns the programs and erases of a medium that is flash itself.
    fn counted(&self) -> Option<(u64, u64)> {
        let mut reports = Reports::default();
        if self.inner.layer_below().is_some() {
            return None;
        }
        self.inner.describe(&mut reports);
        reports.nand.map(|nand| (nand.programs, nand.erases))
    }

    /// Checks the run that a log programs.
    fn check_run(&self, block: BlockId, page: u32, run: &Run<'_, M::Payload>) {
        let pages = run.data.len() as u32;
        assert!(block.index() < self.next.len(), "{block:?} is none of {}", self.next.len());
        assert!(!self.inner.is_bad(block), "{block:?} is bad, and is programmed");
        assert!(!self.failed[block.index()], "{block:?} has failed, and is programmed");
        assert_eq!(page, self.next[block.index()], "{block:?} is programmed in order");
        assert!(page + pages <= self.pages_per_block, "{block:?}: {pages} pages from {page} on are too many");
        assert!(run.sequence >= self.sequence, "page {} comes after {}", run.sequence, self.sequence);
        if let Some(owners) = run.owners {
            assert_eq!(owners.len(), run.data.len(), "an owner for every page");
        }
    }
}

impl<M: Medium> Medium for CheckedMedium<M> {
    type Payload = M::Payload;

    const READS_BY_PAGE: bool = M::READS_BY_PAGE;

    const STORES_GROUPS: bool = M::STORES_GROUPS;

    fn blocks(&self) -> u32 {
        assert_eq!(self.inner.blocks() as usize, self.next.len(), "a medium has as many blocks as it had");
        self.next.len() as u32
    }

    fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, M::Payload>) -> Result<(), MediumError> {
        self.check_run(block, page, &run);
        let pages = run.data.len() as u32;
        let done = self.inner.program(block, page, run);
        let programmed = match done {
            Ok(()) => pages,
            Err(MediumError::ProgramFailed { page: failed, .. }) => {
                assert!((page..page + pages).contains(&failed), "{block:?}: page {failed} was not in hand");
                self.failed[block.index()] = true;
                failed - page
            }
            Err(_) => {
                self.is_uncertain = true;
                // The layer below may have accepted a part of the run.
                self.inner.layer_below().map_or(0, |below| below.written_in(block) - page)
            }
        };
        self.next[block.index()] += programmed;
        self.programs += u64::from(programmed);
        self.sequence = run.sequence + u64::from(programmed);
        done
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        assert!(!self.is_bad(block), "{block:?} is bad, and is erased");
        let before = self.inner.erases(block);
        let done = self.inner.erase(block, cause);
        let erased = u32::from(done.is_ok());
        assert_eq!(self.inner.erases(block), before + erased, "{block:?} counts its erases");
        match done {
            Ok(()) => {
                self.next[block.index()] = 0;
                self.erases += 1;
            }
            Err(MediumError::WornOut { .. }) => {
                assert!(self.is_bad(block), "{block:?} is worn out, and good")
            }
            Err(_) => self.is_uncertain = true,
        }
        done
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<M::Payload>,
    ) -> Result<(), MediumError> {
        let programmed = self.next.get(block.index()).copied().filter(|_| !self.is_uncertain);
        if let Some(programmed) = programmed {
            let check = pages.check_programmed(block, Some(programmed));
            assert!(check.is_ok(), "{block:?}: {programmed} pages are programmed, {pages:?} are read");
        }
        let before = out.len();
        let done = self.inner.read(block, pages, cause, out);
        if done.is_ok() {
            assert_eq!(out.len() - before, pages.len() as usize, "content for every page read");
        }
        done
    }

    fn count_reads(&mut self, pages: u64) {
        assert!(!M::READS_BY_PAGE, "the medium is told which pages are read");
        self.inner.count_reads(pages);
    }

    fn retire(&mut self, block: BlockId) {
        self.inner.retire(block);
        assert!(self.is_bad(block) || self.layer_below().is_some(), "{block:?} is retired, and good");
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        let disturbed = self.inner.take_disturbed();
        assert!(disturbed.is_none_or(|block| block.index() < self.next.len()), "{disturbed:?} is no block");
        disturbed
    }

    fn check(&self) -> Result<(), String> {
        self.inner.check()?;
        let Some((programs, erases)) = self.counted().filter(|_| !self.is_uncertain) else { return Ok(()) };
        let counted = (programs - self.before.0, erases - self.before.1);
        let done = (self.programs, self.erases);
        if counted == done {
            return Ok(());
        }
        Err(format!("programs and erases: {done:?} were done, {counted:?} were counted"))
    }

    forward_medium! {
        inner:
        prefetch_block, flush, reads_before_refresh, is_bad, read_wear, erases, invalidation_listener,
        layer_below, layer_below_mut, describe,
    }
}

impl<F: Flash> Flash for CheckedMedium<F> {
    fn tear_program(&mut self, block: BlockId, page: u32) {
        self.is_uncertain = true;
        self.inner.tear_program(block, page);
        // The program was begun: the block continues after this page.
        self.next[block.index()] = page + 1;
    }

    fn tear_erase(&mut self, block: BlockId) {
        self.is_uncertain = true;
        self.inner.tear_erase(block);
    }

    forward_flash! {
        inner:
        spare, read_spare, prefetch_spares, note, needs_page_bytes, store_page_bytes,
        recovery_step_ended, next_page,
    }
}
