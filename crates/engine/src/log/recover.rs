//! Recovery of a store from its flash: all spare areas are read; of each logical page, the copy with the highest
//! sequence number is valid.
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
use crate::pool::{Frontier, Remains, SetAside};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;
use crate::wear::WearLevelling;

/// A page found on flash.
struct Found {
    sequence: u64,
    owner: Lpn,
    block: BlockId,
    page: u32,
}

/// A block with written pages.
struct Used {
    block: BlockId,
    /// Sequence number of its last page.
    last: u64,
    stream: StreamId,
    /// Number of pages up to the last readable one.
    written: u32,
    /// Number of pages whose program was started.
    begun: u32,
    /// Unreadable pages, between or behind the readable ones.
    torn: Vec<u32>,
}

impl<F: Flash, V: VictimPolicy, P: Placement> LogStore<F, PageTable, V, P> {
    /// Recovers a store from the flash state that a power cut left. Returns the store and the costs of recovery; if
    /// power fails again or another error occurs, the error and the remaining flash state.
    #[allow(clippy::type_complexity)]
    pub fn recover(
        config: StoreConfig,
        remains: Remains<F>,
        victim: V,
        placement: P,
        levelling: Option<Box<dyn WearLevelling>>,
    ) -> Result<(Self, RecoveryReport), (LayerError, Remains<F>)> {
        let Remains { flash, erased_at } = remains;
        let directory = PageTable::new(config.logical_pages, flash.blocks(), flash.pages_per_block());
        let mut store = LogStore::assemble(config, flash, directory, victim, placement);
        store.pool.level_with(levelling, erased_at);
        let mut report = RecoveryReport::default();
        match store.rebuild(&mut report) {
            Ok(()) => Ok((store, report)),
            Err(error) => Err((error, store.into_remains())),
        }
    }

    /// Returns the flash state that remains after all RAM is lost.
    pub fn into_remains(self) -> Remains<F> {
        self.pool.into_remains()
    }

    fn rebuild(&mut self, report: &mut RecoveryReport) -> Result<(), LayerError> {
        let mut step = RecoveryStep { name: "all spare areas", ..RecoveryStep::default() };
        let (mut pages, mut used, mut junk) = (Vec::new(), Vec::new(), Vec::new());
        for block in std::mem::take(&mut self.pool.erased) {
            match self.scan(block, &mut pages, &mut step) {
                Some(found) if found.written == 0 => junk.push(block),
                Some(found) => used.push(found),
                None => self.pool.erased.push_back(block),
            }
        }
        self.end(step, report);
        self.pool.recover_wear();
        self.replay(pages, &used);
        used.sort_unstable_by_key(|block| std::cmp::Reverse(block.last));
        self.arrange(&used);
        let mut step = RecoveryStep { name: "half erased blocks", ..RecoveryStep::default() };
        for block in junk {
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
        self.end(step, report);
        self.look_for_cut();
        self.pool.skip_untold();
        Ok(())
    }

    fn end(&mut self, step: RecoveryStep, report: &mut RecoveryReport) {
        report.steps.push(step);
        self.pool.medium.recovery_step_ended();
    }

    /// Reads the spare areas of `block` up to the first erased page. Returns `None` if the first page is erased.
    fn scan(&mut self, block: BlockId, pages: &mut Vec<Found>, step: &mut RecoveryStep) -> Option<Used> {
        let mut used = Used { block, last: 0, stream: StreamId(0), written: 0, begun: 0, torn: Vec::new() };
        for page in 0..self.pool.pages_per_block() {
            step.spare_reads += 1;
            match self.pool.medium.read_spare(block, page, Cause::Cleaning) {
                PageState::Erased => break,
                PageState::Unreadable => used.torn.push(page),
                PageState::Written(spare) => {
                    (used.last, used.stream, used.written) = (spare.sequence, spare.stream, page + 1);
                    pages.push(Found { sequence: spare.sequence, owner: spare.owner, block, page });
                }
            }
            used.begun = page + 1;
        }
        (used.begun > 0).then_some(used)
    }

    /// Records all pages in the order in which they were written, so that older copies are invalidated as before the
    /// power cut.
    fn replay(&mut self, mut pages: Vec<Found>, used: &[Used]) {
        for Used { block, stream, .. } in used {
            self.pool.blocks.open(*block);
            self.pool.blocks.give_to(*block, *stream);
            self.directory.open(*block);
        }
        pages.sort_unstable_by_key(|page| page.sequence);
        self.pool.sequence = pages.last().map_or(0, |page| page.sequence + 1);
        for found in pages.iter().filter(|found| found.owner.0 < self.config.logical_pages) {
            let owner = [found.owner];
            let writes = Writes { pages: &owner, length: 1, prefetch: false };
            self.directory.place(found.block, found.page, writes, &mut self.pool.blocks, |_, _, _| {});
        }
    }

    /// Determines the state of each block, latest first:
    ///
    /// * Full blocks become candidates.
    /// * The latest block of each stream that still has free pages becomes the open block, continuing behind a torn
    ///   page if there is one.
    /// * Other blocks are set aside.
    ///
    /// Torn pages hold no data. Those behind the last readable page of a block that is set aside count as not
    /// written.
    fn arrange(&mut self, used: &[Used]) {
        let size = self.pool.pages_per_block();
        for &Used { block, stream, written, begun, ref torn, .. } in used {
            let mut end = begun;
            match self.pool.frontiers.get_mut(stream.index()) {
                _ if begun == size => {}
                Some(frontier @ None) => *frontier = Some(Frontier { block, page: begun }),
                _ => {
                    self.pool.set_aside.push(SetAside { block, written, failed: false });
                    end = written;
                }
            }
            for &page in torn.iter().filter(|&&page| page < end) {
                self.directory.give_up(block, page);
                self.pool.blocks.invalidate(block);
            }
        }
        // Policies are notified of full blocks in the order in which the blocks were closed.
        for full in used.iter().rev().filter(|used| used.begun == size) {
            self.pool.close(full.block);
        }
    }
}
