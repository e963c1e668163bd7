//! Flash that records its operations.

use super::journal::{Event, Journal, Step};
use crate::counters::Cause;
use crate::layer::{
    EventRecorder, InvalidationListener, LayerBelow, Medium, MediumError, MediumEvent, Pages, Payload, Run,
    forward_medium,
};
use crate::nand::{Flash, Nand, PageState, forward_flash};
use crate::units::BlockId;

/// [`Nand`] that appends each of its operations to a [`Journal`] for the clock; otherwise it is unchanged.
///
/// Rejected operations and failed erases are not recorded.
pub struct RecordingNand<P> {
    nand: Nand<P>,
    journal: Journal,
    /// Observer of each page operation.
    watcher: Option<EventRecorder>,
}

impl<P: Payload> RecordingNand<P> {
    /// Wraps `nand`; its operations go to `journal`.
    pub fn new(nand: Nand<P>, journal: Journal) -> Self {
        RecordingNand { nand, journal, watcher: None }
    }

    /// Sets the observer of page operations.
    pub fn with_watcher(self, watcher: Option<EventRecorder>) -> Self {
        RecordingNand { watcher, ..self }
    }

    /// Replaces the flash by the result of `change`.
    pub(crate) fn map<E>(self, change: impl FnOnce(Nand<P>) -> Result<Nand<P>, E>) -> Result<Self, E> {
        Ok(RecordingNand { nand: change(self.nand)?, ..self })
    }

    fn record_reads(&self, block: BlockId, pages: impl Iterator<Item = u32>, cause: Cause) {
        self.journal.extend(pages.map(|page| Step::Read { block, page, cause }));
    }
}

impl<P: Payload> Medium for RecordingNand<P> {
    type Payload = P;

    const STORES_GROUPS: bool = <Nand<P> as Medium>::STORES_GROUPS;

    /// The pages that are read determine which dies work.
    const READS_BY_PAGE: bool = true;

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, P>) -> Result<(), MediumError> {
        let done = self.nand.program(block, page, run);
        let pages = match &done {
            Ok(()) => run.data.len() as u32,
            // A failed attempt takes as long as a successful one.
            Err(MediumError::ProgramFailed { page: failed, .. }) => failed - page + 1,
            Err(_) => 0,
        };
        if pages > 0 {
            self.journal.push(Step::Program { block, page, pages, cause: run.cause });
        }
        if let (Some(watcher), Ok(())) = (&self.watcher, &done) {
            watcher.record_run(block, page, &run);
        }
        done
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        self.nand.erase(block, cause)?;
        self.journal.push(Step::Erase { block, cause });
        if let Some(watcher) = &self.watcher {
            watcher.record(MediumEvent::Erased { block, cause });
        }
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
        if let Some(watcher) = &self.watcher {
            watcher.record(MediumEvent::Read { block, pages: pages.len(), cause });
        }
        match pages {
            Pages::Listed(pages) => self.record_reads(block, pages.iter().copied(), cause),
            // The caller does not need particular pages; a block with `count` valid pages has at least that many pages.
            Pages::Counted(count) => self.record_reads(block, 0..count, cause),
        }
        Ok(())
    }

    fn read_wear(&mut self, block: BlockId) {
        self.nand.read_wear(block);
        self.journal.push(Step::ReadSpare { block, page: 0, cause: Cause::WearLevelling });
    }

    #[inline(always)]
    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        self.watcher.as_mut().map(|watcher| watcher as &mut dyn InvalidationListener)
    }

    #[inline(always)]
    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        None
    }

    #[inline(always)]
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        None
    }

    forward_medium! {
        nand:
        blocks, pages_per_block, count_reads, prefetch_block, flush, retire, take_disturbed,
        reads_before_refresh, is_bad, erases, describe, check,
    }
}

impl<P: Payload> Flash for RecordingNand<P> {
    fn read_spare(&mut self, block: BlockId, page: u32, cause: Cause) -> PageState {
        self.journal.push(Step::ReadSpare { block, page, cause });
        self.nand.read_spare(block, page, cause)
    }

    fn recovery_step_ended(&mut self) {
        self.journal.push_event(Event::RecoveryStepEnded);
    }

    forward_flash! {
        nand:
        spare, prefetch_spares, note, needs_page_bytes, store_page_bytes, tear_program, tear_erase,
        next_page,
    }
}
