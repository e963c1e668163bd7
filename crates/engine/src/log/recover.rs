//! The store from its flash: all spare areas are read, and of each page the copy with the highest number holds.
//!
//! Trims leave no trace on flash: a page that was trimmed may come back, with something that it held before. Groups that
//! were to be found whole or not at all are not looked for.

use super::config::StoreConfig;
use super::directory::{Directory, PageTable, Writes};
use super::fault::SetAside;
use super::store::{Frontier, LogStore};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RecoveryReport, RecoveryStep};
use crate::nand::{Flash, PageState};
use crate::placement::Placement;
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

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
    /// Pages that can be read, all from the first on.
    written: u32,
    /// Whether another follows that cannot.
    torn: bool,
}

impl<F: Flash, V: VictimPolicy, P: Placement> LogStore<F, PageTable, V, P> {
    /// The store from what is on `flash`, and what that took; or the flash, should power be lost again.
    pub fn recover(
        config: StoreConfig,
        flash: F,
        victim: V,
        placement: P,
    ) -> Result<(Self, RecoveryReport), (LayerError, F)> {
        let directory = PageTable::new(config.logical_pages, flash.blocks(), flash.pages_per_block());
        let mut store = LogStore::assemble(config, flash, directory, victim, placement);
        let mut report = RecoveryReport::default();
        match store.rebuild(&mut report) {
            Ok(()) => Ok((store, report)),
            Err(error) => Err((error, store.below.medium)),
        }
    }

    /// The flash below, all else being lost.
    pub fn into_medium(self) -> F {
        self.below.medium
    }

    fn rebuild(&mut self, report: &mut RecoveryReport) -> Result<(), LayerError> {
        let mut step = RecoveryStep { name: "all spare areas", ..RecoveryStep::default() };
        let (mut pages, mut used, mut junk) = (Vec::new(), Vec::new(), Vec::new());
        for block in std::mem::take(&mut self.free) {
            match self.scan(block, &mut pages, &mut step) {
                Some(found) if found.written == 0 => junk.push(block),
                Some(found) => used.push(found),
                None => self.free.push_back(block),
            }
        }
        report.steps.push(step);
        self.replay(pages, &used);
        used.sort_unstable_by_key(|block| std::cmp::Reverse(block.last));
        self.arrange(&used);
        let mut step = RecoveryStep { name: "half erased blocks", ..RecoveryStep::default() };
        for block in junk {
            let erases = self.below.counters.outgoing_total(Operation::Erase);
            match self.erase(block) {
                Ok(true) => self.free.push_back(block),
                Ok(false) => {}
                // What is there can still be read; the next write will say that the drive has come to its end.
                Err(error) if error.is_end_of_life() => {}
                Err(error) => return Err(error),
            }
            step.erases += self.below.counters.outgoing_total(Operation::Erase) - erases;
        }
        report.steps.push(step);
        Ok(())
    }

    /// Reads the spare areas of `block` up to the first erased page; `None` if that is its first.
    fn scan(&mut self, block: BlockId, pages: &mut Vec<Found>, step: &mut RecoveryStep) -> Option<Used> {
        let mut used = Used { block, last: 0, stream: StreamId(0), written: 0, torn: false };
        for page in 0..self.below.medium.pages_per_block() {
            step.spare_reads += 1;
            match self.below.medium.read_spare(block, page, Cause::Cleaning) {
                PageState::Erased => break,
                PageState::Unreadable => used.torn = true,
                PageState::Written(spare) => {
                    (used.last, used.stream, used.written) = (spare.sequence, spare.stream, page + 1);
                    pages.push(Found { sequence: spare.sequence, owner: spare.owner, block, page });
                }
            }
        }
        (used.written > 0 || used.torn).then_some(used)
    }

    /// Places all pages in the order in which they were written, so that older copies die as they did.
    fn replay(&mut self, mut pages: Vec<Found>, used: &[Used]) {
        for Used { block, .. } in used {
            self.blocks.open(*block);
            self.directory.open(*block);
        }
        pages.sort_unstable_by_key(|page| page.sequence);
        self.below.sequence = pages.last().map_or(0, |page| page.sequence + 1);
        for found in pages.iter().filter(|found| found.owner.0 < self.config.logical_pages) {
            let owner = [found.owner];
            let writes = Writes { pages: &owner, length: 1, prefetch: false };
            self.directory.place(found.block, found.page, writes, &mut self.blocks, |_, _, _| {});
        }
    }

    /// Says what each block is, the latest first: full ones are candidates, the latest of each stream that still takes pages
    /// is open, and others are set aside.
    fn arrange(&mut self, used: &[Used]) {
        let size = self.below.medium.pages_per_block();
        for &Used { block, stream, written, torn, .. } in used {
            match self.frontiers.get_mut(stream.index()) {
                _ if written == size => {}
                Some(frontier @ None) if !torn => *frontier = Some(Frontier { block, page: written }),
                _ => self.set_aside.push(SetAside { block, written, failed: false }),
            }
        }
        // Policies are told of full blocks in the order in which they were closed.
        for full in used.iter().rev().filter(|used| used.written == size) {
            self.blocks.close(full.block);
            self.victim.closed(full.block, &self.blocks);
        }
    }
}
