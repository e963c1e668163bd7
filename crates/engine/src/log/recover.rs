//! The store from its flash: all spare areas are read, and of each page the copy with the highest number holds.
//!
//! Trims leave no trace on flash: a page that was trimmed may come back, with something that it held before. Groups that
//! were to be found whole or not at all are not looked for.

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

/// A block that holds something.
struct Used {
    block: BlockId,
    /// Number of its last page.
    last: u64,
    stream: StreamId,
    /// Pages up to the last that can be read.
    written: u32,
    /// Pages that were begun.
    begun: u32,
    /// Those that cannot be read, between the others or behind them.
    torn: Vec<u32>,
}

impl<F: Flash, V: VictimPolicy, P: Placement> LogStore<F, PageTable, V, P> {
    /// The store from what a power cut left, and what that took; or what is left, should power be lost again.
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

    /// What is left when everything in RAM is lost.
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
                // What is there can still be read; the next write will say that the drive has come to its end.
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

    /// Reads the spare areas of `block` up to the first erased page; `None` if that is its first.
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

    /// Places all pages in the order in which they were written, so that older copies die as they did.
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

    /// Says what each block is, the latest first: full ones are candidates, the latest of each stream that still takes pages
    /// is open, behind a torn page if it has one, and others are set aside. Torn pages hold nothing; those behind all that can be
    /// read in a block set aside count as not written.
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
        // Policies are told of full blocks in the order in which they were closed.
        for full in used.iter().rev().filter(|used| used.begun == size) {
            self.pool.close(full.block);
        }
    }
}
