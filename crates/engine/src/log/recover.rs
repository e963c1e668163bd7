//! Recovery of a store from its flash: all spare areas are read, and the copy with the highest sequence number of each
//! logical page is valid.
//!
//! Trims are not recorded on flash, so a trimmed page may reappear with an earlier content. Atomic groups are not
//! checked.

use super::config::StoreConfig;
use super::directory::{Directory, PageTable, Writes};
use super::store::LogStore;
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RecoveryReport, RecoveryStep};
use crate::nand::{Flash, PageState};
use crate::placement::Placement;
use crate::pool::{Frontier, PendingBlock, SurvivingFlash};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;
use crate::wear::WearLevelling;

/// A page found on flash.
struct FoundPage {
    sequence: u64,
    owner: Lpn,
    block: BlockId,
    page: u32,
}

/// A block with written pages.
struct UsedBlock {
    block: BlockId,
    /// Sequence number of the block's last page.
    last_sequence: u64,
    stream: StreamId,
    /// Number of pages up to the last readable one.
    written: u32,
    /// Number of pages whose program was started.
    started: u32,
    /// Unreadable pages, between or after the readable pages.
    torn: Vec<u32>,
}

impl<F: Flash, V: VictimPolicy, P: Placement> LogStore<F, PageTable, V, P> {
    /// Recovers a store from the flash state that a power cut left. Returns the store and the costs of recovery. If
    /// power fails again or another error occurs, returns the error and the remaining flash state.
    #[allow(clippy::type_complexity)]
    pub fn recover(
        config: StoreConfig,
        surviving: SurvivingFlash<F>,
        victim: V,
        placement: P,
        levelling: Option<Box<dyn WearLevelling>>,
    ) -> Result<(Self, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
        let SurvivingFlash { flash, erased_at } = surviving;
        let directory = PageTable::new(config.logical_pages, flash.blocks(), flash.pages_per_block());
        let mut store = LogStore::assemble(config, flash, directory, victim, placement);
        store.pool.set_wear_levelling(levelling, erased_at);
        let mut report = RecoveryReport::default();
        match store.rebuild(&mut report) {
            Ok(()) => Ok((store, report)),
            Err(error) => Err((error, store.into_surviving_flash())),
        }
    }

    /// Returns the flash state that remains after all RAM is lost.
    pub fn into_surviving_flash(self) -> SurvivingFlash<F> {
        self.pool.into_surviving_flash()
    }

    fn rebuild(&mut self, report: &mut RecoveryReport) -> Result<(), LayerError> {
        let mut step = RecoveryStep { name: "all spare areas", ..RecoveryStep::default() };
        let (mut pages, mut used, mut half_erased) = (Vec::new(), Vec::new(), Vec::new());
        for block in std::mem::take(&mut self.pool.erased) {
            match self.scan(block, &mut pages, &mut step) {
                Some(found) if found.written == 0 => half_erased.push(block),
                Some(found) => used.push(found),
                None => self.pool.erased.push_back(block),
            }
        }
        self.end_step(step, report);
        self.pool.recover_wear();
        self.replay(pages, &used);
        used.sort_unstable_by_key(|block| std::cmp::Reverse(block.last_sequence));
        self.assign_states(&used);
        let mut step = RecoveryStep { name: "half erased blocks", ..RecoveryStep::default() };
        for block in half_erased {
            let erases = self.pool.counters.outgoing_total(Operation::Erase);
            match self.erase(block) {
                Ok(true) => self.pool.erased.push_back(block),
                Ok(false) => {}
                // Stored data is still readable; the next write will report the end of life.
                Err(error) if error.is_end_of_life() => {}
                Err(error) => return Err(error),
            }
            step.erases += self.pool.counters.outgoing_total(Operation::Erase) - erases;
        }
        self.end_step(step, report);
        self.detect_interrupted_cleaning();
        self.pool.skip_unreported();
        Ok(())
    }

    fn end_step(&mut self, step: RecoveryStep, report: &mut RecoveryReport) {
        report.steps.push(step);
        self.pool.medium.recovery_step_ended();
    }

    /// Reads the spare areas of `block` up to the first erased page. Returns `None` if the first page is erased.
    fn scan(
        &mut self,
        block: BlockId,
        pages: &mut Vec<FoundPage>,
        step: &mut RecoveryStep,
    ) -> Option<UsedBlock> {
        let mut used = UsedBlock {
            block,
            last_sequence: 0,
            stream: StreamId(0),
            written: 0,
            started: 0,
            torn: Vec::new(),
        };
        for page in 0..self.pool.pages_per_block() {
            step.spare_reads += 1;
            match self.pool.medium.read_spare(block, page, Cause::Cleaning) {
                PageState::Erased => break,
                PageState::Unreadable => used.torn.push(page),
                PageState::Written(spare) => {
                    (used.last_sequence, used.stream, used.written) =
                        (spare.sequence, spare.stream, page + 1);
                    pages.push(FoundPage { sequence: spare.sequence, owner: spare.owner, block, page });
                }
            }
            used.started = page + 1;
        }
        (used.started > 0).then_some(used)
    }

    /// Records all pages in the order in which they were written, so that the same older copies become invalid as
    /// before the power cut.
    fn replay(&mut self, mut pages: Vec<FoundPage>, used: &[UsedBlock]) {
        for UsedBlock { block, stream, .. } in used {
            self.pool.blocks.open(*block);
            self.pool.blocks.set_stream(*block, *stream);
            self.directory.open(*block);
        }
        pages.sort_unstable_by_key(|page| page.sequence);
        self.pool.sequence = pages.last().map_or(0, |page| page.sequence + 1);
        for found in pages.iter().filter(|found| found.owner.0 < self.config.logical_pages) {
            let owner = [found.owner];
            let writes = Writes { pages: &owner, length: 1, prefetch: false };
            self.directory.record_writes(
                found.block,
                found.page,
                writes,
                &mut self.pool.blocks,
                |_, _, _| {},
            );
        }
    }

    /// Determines the state of each block, latest first:
    ///
    /// * Full blocks become candidates.
    /// * The latest block of each stream that still has free pages becomes the open block, continuing behind a torn
    ///   page if there is one.
    /// * Other blocks are set aside.
    ///
    /// Torn pages hold no data. Torn pages behind the last readable page of a block that is set aside count as not
    /// written.
    fn assign_states(&mut self, used: &[UsedBlock]) {
        let size = self.pool.pages_per_block();
        for &UsedBlock { block, stream, written, started: begun, ref torn, .. } in used {
            let mut end = begun;
            match self.pool.frontiers.get_mut(stream.index()) {
                _ if begun == size => {}
                Some(frontier @ None) => *frontier = Some(Frontier { block, page: begun }),
                _ => {
                    self.pool.pending_blocks.push(PendingBlock { block, written, is_failed: false });
                    end = written;
                }
            }
            for &page in torn.iter().filter(|&&page| page < end) {
                self.directory.invalidate_unowned(block, page);
                self.pool.blocks.invalidate(block);
            }
        }
        // Policies are notified of full blocks in the order in which the blocks were closed.
        for full in used.iter().rev().filter(|used| used.started == size) {
            self.pool.close(full.block);
        }
    }
}
