//! Recovery after a power cut, from the spare areas alone.
//!
//! The blocks of a logical block are sorted by the sequence number of their first page. The last complete one is the
//! data block. Older blocks are remains of a merge and are erased. A newer block is either the log or an incomplete
//! merge, which is erased. Finally, the newest copy of each page in a log is compared with the copy in the data
//! block.

use super::HybridConfig;
use super::blocks::{Blocks, Filled, LogBlock, PADDING};
use super::note::{Note, Role};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RecoveryReport, RecoveryStep};
use crate::nand::{Flash, PageState, Spare};
use crate::pool::Remains;
use crate::units::{BlockId, Lpn};
use crate::wear::WearLevelling;
use std::collections::BTreeMap;

/// A block with written pages.
#[derive(Clone, Copy, Debug)]
struct Found {
    block: BlockId,
    /// Sequence number of its first page.
    first: u64,
    note: Note,
    /// Number of readable pages; these are the first ones.
    written: u32,
    /// True if an unreadable page follows.
    torn: bool,
}

impl Found {
    fn filled(&self) -> Filled {
        Filled { block: self.block, written: self.written, closed: self.torn, note: self.note }
    }
}

/// The newest copy of a page in the logs.
#[derive(Clone, Copy, Debug)]
struct Copy {
    sequence: u64,
    block: BlockId,
    at: u32,
    /// True for padding: the page held no data.
    is_padding: bool,
}

/// A recovery in progress.
struct Recovery<'a, F: Flash> {
    blocks: &'a mut Blocks<F>,
    report: RecoveryReport,
    step: RecoveryStep,
    /// Blocks without needed data.
    junk: Vec<BlockId>,
    /// Sequence number of the first page of each logical block's data block.
    data_since: BTreeMap<u32, u64>,
}

/// Recovers the FTL from its remaining flash state; on failure, returns the error and the flash state.
#[allow(clippy::type_complexity)]
pub(super) fn recover<F: Flash>(
    config: HybridConfig,
    remains: Remains<F>,
    levelling: Option<Box<dyn WearLevelling>>,
) -> Result<(Blocks<F>, RecoveryReport), (LayerError, Remains<F>)> {
    let Remains { flash, erased_at } = remains;
    let mut blocks = Blocks::new(config, flash);
    blocks.pool.level_with(levelling, erased_at);
    let (report, step) = (RecoveryReport::default(), RecoveryStep::default());
    let mut recovery =
        Recovery { blocks: &mut blocks, report, step, junk: Vec::new(), data_since: BTreeMap::new() };
    match recovery.run() {
        Ok(()) => {
            let report = recovery.report;
            blocks.recovery = Some(report.clone());
            blocks.pool.skip_untold();
            Ok((blocks, report))
        }
        Err(error) => Err((error, blocks.pool.into_remains())),
    }
}

impl<F: Flash> Recovery<'_, F> {
    fn run(&mut self) -> Result<(), LayerError> {
        self.begin("first pages");
        let used = self.scan_first_pages();
        self.blocks.pool.recover_wear();
        self.begin("ends of blocks");
        let found: Vec<Found> = used.into_iter().map(|(block, first)| self.find_end(block, first)).collect();
        self.begin("padding");
        self.sort_out(found);
        self.begin("log pages");
        let newest = self.scan_logs();
        self.begin("places of log pages");
        self.settle(newest);
        self.begin("left over blocks");
        self.erase_junk()?;
        self.end();
        Ok(())
    }

    fn begin(&mut self, name: &'static str) {
        self.end();
        self.step.name = name;
    }

    fn end(&mut self) {
        let done = std::mem::take(&mut self.step);
        if !done.name.is_empty() {
            self.report.steps.push(done);
            self.blocks.pool.medium.recovery_step_ended();
        }
    }

    fn spare(&mut self, block: BlockId, page: u32) -> PageState {
        self.step.spare_reads += 1;
        let state = self.blocks.pool.medium.read_spare(block, page, Cause::Cleaning);
        if let PageState::Written(spare) = state {
            self.blocks.pool.sequence = self.blocks.pool.sequence.max(spare.sequence + 1);
        }
        state
    }

    /// Returns the spare area of a page that must be readable.
    fn written(&mut self, block: BlockId, page: u32) -> Spare {
        match self.spare(block, page) {
            PageState::Written(spare) => spare,
            other => panic!("{block:?}: page {page} is {other:?} between pages that can be read"),
        }
    }

    /// Returns the blocks with a readable first page, each with that page's sequence number. A block whose first page
    /// is unreadable contains nothing else, or was being erased.
    fn scan_first_pages(&mut self) -> Vec<(BlockId, u64)> {
        let mut used = Vec::new();
        for block in (0..self.blocks.pool.medium.blocks()).map(BlockId) {
            if self.blocks.pool.medium.is_bad(block) {
                continue;
            }
            match self.spare(block, 0) {
                PageState::Erased => self.blocks.pool.erased.push_back(block),
                PageState::Unreadable => self.junk.push(block),
                PageState::Written(spare) => used.push((block, spare.sequence)),
            }
        }
        used
    }

    /// Finds the last readable page of `block` by binary search, and the note stored there.
    fn find_end(&mut self, block: BlockId, first: u64) -> Found {
        let (mut some, mut none) = (1, self.blocks.pages_per_block);
        while some < none {
            let middle = some + (none - some) / 2;
            if self.spare(block, middle) == PageState::Erased {
                none = middle;
            } else {
                some = middle + 1;
            }
        }
        let mut found = Found { block, first, note: Note::unpack(0), written: some, torn: false };
        if self.spare(block, some - 1) == PageState::Unreadable {
            (found.written, found.torn) = (some - 1, true);
            self.written(block, some - 2);
        }
        found.note = Note::unpack(self.blocks.pool.medium.note(block));
        found
    }

    /// Determines the role of each block.
    fn sort_out(&mut self, found: Vec<Found>) {
        let mut own: BTreeMap<u32, Vec<Found>> = BTreeMap::new();
        let mut shared = Vec::new();
        for block in found {
            match block.note.role {
                Role::SharedLog => shared.push(block),
                _ => own.entry(block.note.logical).or_default().push(block),
            }
        }
        for (logical, mut candidates) in own {
            candidates.sort_unstable_by_key(|found| found.first);
            self.sort_out_logical(logical, &candidates);
        }
        shared.sort_unstable_by_key(|found| found.first);
        let last = shared.len().saturating_sub(1);
        for (at, found) in shared.into_iter().enumerate() {
            let mut log = self.log(found);
            log.closed |= at != last;
            self.blocks.shared.push_back(log);
        }
    }

    fn sort_out_logical(&mut self, logical: u32, candidates: &[Found]) {
        let size = self.blocks.pages_per_block;
        let data = candidates.iter().rposition(|found| found.note.is_complete(found.written, size));
        for (at, found) in candidates.iter().enumerate() {
            if Some(at) == data {
                self.blocks.logical[logical as usize].data = Some(found.filled());
                self.data_since.insert(logical, found.first);
                self.note_present(logical, found);
            } else if data.is_none_or(|data| at > data) && found.note.role == Role::OwnLog {
                let log = self.log(*found);
                self.blocks.own.insert(logical, log);
            } else {
                self.junk.push(found.block);
            }
        }
    }

    /// Marks the pages of a data block as present, except for padding.
    fn note_present(&mut self, logical: u32, found: &Found) {
        for offset in 0..found.written {
            if !found.note.holes || self.written(found.block, offset).owner != PADDING {
                let page = self.blocks.page_of(logical, offset);
                self.blocks.set_present(page, true);
            }
        }
    }

    /// Returns a log block whose owners are not read yet.
    fn log(&self, found: Found) -> LogBlock {
        // An incomplete partial merge is ignored; the pages that it copied are treated as written by the host.
        let note = Note { merged_pages: 0, ..found.note };
        let owners = vec![PADDING; found.written as usize];
        LogBlock { block: found.block, owners, closed: found.torn, note, used: found.first }
    }

    /// Reads the owners of all pages in logs. Returns the newest copy of each page.
    fn scan_logs(&mut self) -> BTreeMap<Lpn, Copy> {
        let mut newest: BTreeMap<Lpn, Copy> = BTreeMap::new();
        let mut own = std::mem::take(&mut self.blocks.own);
        let mut shared = std::mem::take(&mut self.blocks.shared);
        for log in own.values_mut().chain(&mut shared) {
            for at in 0..log.written() {
                let spare = self.written(log.block, at);
                let is_padding = spare.owner == PADDING;
                log.owners[at as usize] = spare.owner;
                log.used = spare.sequence;
                // Padding only occurs in the log of one logical block, at its own offset.
                let page = if is_padding {
                    Lpn(log.note.logical * self.blocks.pages_per_block + at)
                } else {
                    spare.owner
                };
                let copy = Copy { sequence: spare.sequence, block: log.block, at, is_padding };
                let known = newest.entry(page).or_insert(copy);
                if known.sequence < copy.sequence {
                    *known = copy;
                }
            }
        }
        (self.blocks.own, self.blocks.shared) = (own, shared);
        newest
    }

    /// Compares the newest copies in the logs with the data blocks.
    fn settle(&mut self, newest: BTreeMap<Lpn, Copy>) {
        for (page, copy) in newest {
            if page.0 < self.blocks.config.logical_pages && !self.is_outdated(page, copy) {
                self.blocks.set_present(page, !copy.is_padding);
                if !copy.is_padding {
                    self.blocks.log_map[page.index()] = self.blocks.slot(copy.block, copy.at);
                }
            }
        }
    }

    /// True if the data block has a newer copy of the page, or was merged while the page held no data.
    fn is_outdated(&mut self, page: Lpn, copy: Copy) -> bool {
        let (logical, offset) = self.blocks.split(page);
        match self.blocks.logical[logical as usize].data {
            None => false,
            Some(data) if offset < data.written => self.written(data.block, offset).sequence > copy.sequence,
            Some(data) => data.note.merged_pages > 0 && copy.sequence < self.data_since[&logical],
        }
    }

    fn erase_junk(&mut self) -> Result<(), LayerError> {
        for block in std::mem::take(&mut self.junk) {
            let erases = self.blocks.pool.counters.outgoing(Cause::Cleaning, Operation::Erase);
            self.blocks.dispose(block, Cause::Cleaning)?;
            self.step.erases +=
                self.blocks.pool.counters.outgoing(Cause::Cleaning, Operation::Erase) - erases;
        }
        Ok(())
    }
}
