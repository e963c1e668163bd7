//! Recovery after a power cut from spare areas only.
//!
//! The blocks of a logical block are sorted by the sequence number of their first page. The last complete block is the
//! data block. Older blocks were left by a merge and are erased. A newer block is either the log or the result of an
//! incomplete merge, which is erased. Finally, the newest copy of each page in a log is compared with the copy in the
//! data block.

use super::HybridConfig;
use super::blocks::{DataBlock, HybridState, LogBlock, PADDING};
use super::note::{BlockNote, Role};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, RecoveryReport, RecoveryStep};
use crate::nand::{Flash, PageState, Spare};
use crate::pool::SurvivingFlash;
use crate::units::{BlockId, Lpn};
use crate::wear::WearLevelling;
use std::collections::BTreeMap;

/// A block with written pages.
#[derive(Clone, Copy, Debug)]
struct ScannedBlock {
    block: BlockId,
    /// Sequence number of the block's first page.
    first_sequence: u64,
    note: BlockNote,
    /// Number of readable pages, from the first.
    written: u32,
    /// True if an unreadable page follows the readable pages.
    torn: bool,
}

impl ScannedBlock {
    fn data_block(&self) -> DataBlock {
        DataBlock { block: self.block, written: self.written, closed: self.torn, note: self.note }
    }
}

/// The newest copy of a page in the logs.
#[derive(Clone, Copy, Debug)]
struct LogCopy {
    sequence: u64,
    block: BlockId,
    at: u32,
    /// True for padding: the page held no data.
    is_padding: bool,
}

/// A recovery in progress.
struct Recovery<'a, F: Flash> {
    state: &'a mut HybridState<F>,
    report: RecoveryReport,
    step: RecoveryStep,
    /// Blocks without needed data.
    obsolete_blocks: Vec<BlockId>,
    /// Sequence number of the first page of each logical block's data block.
    data_first_sequence: BTreeMap<u32, u64>,
}

/// Recovers the FTL from its remaining flash state; on failure, returns the error and the flash state.
#[allow(clippy::type_complexity)]
pub(super) fn recover<F: Flash>(
    config: HybridConfig,
    surviving: SurvivingFlash<F>,
    levelling: Option<Box<dyn WearLevelling>>,
) -> Result<(HybridState<F>, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
    let SurvivingFlash { flash, erased_at } = surviving;
    let mut state = HybridState::new(config, flash);
    state.pool.set_wear_levelling(levelling, erased_at);
    let (report, step) = (RecoveryReport::default(), RecoveryStep::default());
    let mut recovery = Recovery {
        state: &mut state,
        report,
        step,
        obsolete_blocks: Vec::new(),
        data_first_sequence: BTreeMap::new(),
    };
    match recovery.run() {
        Ok(()) => {
            let report = recovery.report;
            state.recovery = Some(report.clone());
            state.pool.skip_unreported();
            Ok((state, report))
        }
        Err(error) => Err((error, state.pool.into_surviving_flash())),
    }
}

impl<F: Flash> Recovery<'_, F> {
    fn run(&mut self) -> Result<(), LayerError> {
        self.begin_step("first pages");
        let used = self.scan_first_pages();
        self.state.pool.recover_wear();
        self.begin_step("ends of blocks");
        let found: Vec<ScannedBlock> =
            used.into_iter().map(|(block, first)| self.find_end(block, first)).collect();
        self.begin_step("padding");
        self.assign_roles(found);
        self.begin_step("log pages");
        let newest = self.scan_logs();
        self.begin_step("places of log pages");
        self.apply_log_copies(newest);
        self.begin_step("left over blocks");
        self.erase_obsolete()?;
        self.end_step();
        Ok(())
    }

    fn begin_step(&mut self, name: &'static str) {
        self.end_step();
        self.step.name = name;
    }

    fn end_step(&mut self) {
        let finished = std::mem::take(&mut self.step);
        if !finished.name.is_empty() {
            self.report.steps.push(finished);
            self.state.pool.medium.recovery_step_ended();
        }
    }

    fn read_spare(&mut self, block: BlockId, page: u32) -> PageState {
        self.step.spare_reads += 1;
        let state = self.state.pool.medium.read_spare(block, page, Cause::Cleaning);
        if let PageState::Written(spare) = state {
            self.state.pool.sequence = self.state.pool.sequence.max(spare.sequence + 1);
        }
        state
    }

    /// Returns the spare area of a page that must be readable.
    fn read_written_spare(&mut self, block: BlockId, page: u32) -> Spare {
        match self.read_spare(block, page) {
            PageState::Written(spare) => spare,
            other => panic!("{block:?}: page {page} is {other:?} between pages that can be read"),
        }
    }

    /// Returns the blocks with a readable first page, each with that page's sequence number. A block whose first page
    /// is unreadable has no other pages, or its erase was interrupted.
    fn scan_first_pages(&mut self) -> Vec<(BlockId, u64)> {
        let mut used = Vec::new();
        for block in (0..self.state.pool.medium.blocks()).map(BlockId) {
            if self.state.pool.medium.is_bad(block) {
                continue;
            }
            match self.read_spare(block, 0) {
                PageState::Erased => self.state.pool.erased.push_back(block),
                PageState::Unreadable => self.obsolete_blocks.push(block),
                PageState::Written(spare) => used.push((block, spare.sequence)),
            }
        }
        used
    }

    /// Finds the last readable page of `block` by binary search, and the note stored there.
    fn find_end(&mut self, block: BlockId, first: u64) -> ScannedBlock {
        let (mut written_end, mut erased_start) = (1, self.state.pages_per_block);
        while written_end < erased_start {
            let middle = written_end + (erased_start - written_end) / 2;
            if self.read_spare(block, middle) == PageState::Erased {
                erased_start = middle;
            } else {
                written_end = middle + 1;
            }
        }
        let mut found = ScannedBlock {
            block,
            first_sequence: first,
            note: BlockNote::unpack(0),
            written: written_end,
            torn: false,
        };
        if self.read_spare(block, written_end - 1) == PageState::Unreadable {
            (found.written, found.torn) = (written_end - 1, true);
            self.read_written_spare(block, written_end - 2);
        }
        found.note = BlockNote::unpack(self.state.pool.medium.note(block));
        found
    }

    /// Determines the role of each block.
    fn assign_roles(&mut self, found: Vec<ScannedBlock>) {
        let mut by_logical: BTreeMap<u32, Vec<ScannedBlock>> = BTreeMap::new();
        let mut shared = Vec::new();
        for block in found {
            match block.note.role {
                Role::SharedLog => shared.push(block),
                _ => by_logical.entry(block.note.logical).or_default().push(block),
            }
        }
        for (logical, mut candidates) in by_logical {
            candidates.sort_unstable_by_key(|found| found.first_sequence);
            self.assign_logical_roles(logical, &candidates);
        }
        shared.sort_unstable_by_key(|found| found.first_sequence);
        let last = shared.len().saturating_sub(1);
        for (at, found) in shared.into_iter().enumerate() {
            let mut log = self.log_block(found);
            log.closed |= at != last;
            self.state.shared_logs.push_back(log);
        }
    }

    fn assign_logical_roles(&mut self, logical: u32, candidates: &[ScannedBlock]) {
        let size = self.state.pages_per_block;
        let data = candidates.iter().rposition(|found| found.note.is_complete(found.written, size));
        for (at, found) in candidates.iter().enumerate() {
            if Some(at) == data {
                self.state.logical_blocks[logical as usize].data = Some(found.data_block());
                self.data_first_sequence.insert(logical, found.first_sequence);
                self.mark_present(logical, found);
            } else if data.is_none_or(|data| at > data) && found.note.role == Role::DedicatedLog {
                let log = self.log_block(*found);
                self.state.dedicated_logs.insert(logical, log);
            } else {
                self.obsolete_blocks.push(found.block);
            }
        }
    }

    /// Marks the pages of a data block as present, except for padding.
    fn mark_present(&mut self, logical: u32, found: &ScannedBlock) {
        for offset in 0..found.written {
            if !found.note.has_padding || self.read_written_spare(found.block, offset).owner != PADDING {
                let page = self.state.page_of(logical, offset);
                self.state.set_present(page, true);
            }
        }
    }

    /// Returns a log block whose owners are not read yet.
    fn log_block(&self, found: ScannedBlock) -> LogBlock {
        // An incomplete partial merge is ignored; the pages that it copied are treated as written by the host.
        let note = BlockNote { merged_pages: 0, ..found.note };
        let owners = vec![PADDING; found.written as usize];
        LogBlock { block: found.block, owners, closed: found.torn, note, last_write: found.first_sequence }
    }

    /// Reads the owners of all pages in logs. Returns the newest copy of each page.
    fn scan_logs(&mut self) -> BTreeMap<Lpn, LogCopy> {
        let mut newest: BTreeMap<Lpn, LogCopy> = BTreeMap::new();
        let mut dedicated_logs = std::mem::take(&mut self.state.dedicated_logs);
        let mut shared = std::mem::take(&mut self.state.shared_logs);
        for log in dedicated_logs.values_mut().chain(&mut shared) {
            for at in 0..log.written() {
                let spare = self.read_written_spare(log.block, at);
                let is_padding = spare.owner == PADDING;
                log.owners[at as usize] = spare.owner;
                log.last_write = spare.sequence;
                // Among logs, only the log of one logical block contains padding, at the offset of the missing page.
                let page = if is_padding {
                    Lpn(log.note.logical * self.state.pages_per_block + at)
                } else {
                    spare.owner
                };
                let copy = LogCopy { sequence: spare.sequence, block: log.block, at, is_padding };
                let newest_copy = newest.entry(page).or_insert(copy);
                if newest_copy.sequence < copy.sequence {
                    *newest_copy = copy;
                }
            }
        }
        (self.state.dedicated_logs, self.state.shared_logs) = (dedicated_logs, shared);
        newest
    }

    /// Compares the newest copies in the logs with the data blocks.
    fn apply_log_copies(&mut self, newest: BTreeMap<Lpn, LogCopy>) {
        for (page, copy) in newest {
            if page.0 < self.state.config.logical_pages && !self.is_outdated(page, copy) {
                self.state.set_present(page, !copy.is_padding);
                if !copy.is_padding {
                    self.state.log_map[page.index()] = self.state.slot(copy.block, copy.at);
                }
            }
        }
    }

    /// True if the data block has a newer copy of the page, or if its last merge took place after the page was trimmed.
    fn is_outdated(&mut self, page: Lpn, copy: LogCopy) -> bool {
        let (logical, offset) = self.state.split(page);
        match self.state.logical_blocks[logical as usize].data {
            None => false,
            Some(data) if offset < data.written => {
                self.read_written_spare(data.block, offset).sequence > copy.sequence
            }
            Some(data) => data.note.merged_pages > 0 && copy.sequence < self.data_first_sequence[&logical],
        }
    }

    fn erase_obsolete(&mut self) -> Result<(), LayerError> {
        for block in std::mem::take(&mut self.obsolete_blocks) {
            let erases = self.state.pool.counters.outgoing(Cause::Cleaning, Operation::Erase);
            self.state.erase_or_retire(block, Cause::Cleaning)?;
            self.step.erases += self.state.pool.counters.outgoing(Cause::Cleaning, Operation::Erase) - erases;
        }
        Ok(())
    }
}
