//! The blocks of a hybrid FTL: their roles (data, log, erased) and the location of each page.

use super::HybridConfig;
use super::note::{BlockNote, Role};
use crate::counters::{Cause, Operation};
use crate::layer::{LayerError, Pages, Payload, RecoveryReport};
use crate::nand::Flash;
use crate::pool::{Frontier, NoVictims, Pool, PoolConfig, Purpose};
use crate::table::filled;
use crate::units::{BlockId, Lpn, Slot};
use std::collections::{BTreeMap, VecDeque};

/// Owner of a padding page, which fills a gap in a data block.
pub const PADDING: Lpn = Lpn(u32::MAX);

/// A logical block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LogicalBlock {
    /// Data block of the logical block, which stores each page at the offset given by the page's number.
    pub data: Option<DataBlock>,
    /// Number of pages that hold data, in the data block or in logs.
    pub live: u32,
}

/// A data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataBlock {
    pub block: BlockId,
    /// Number of pages programmed, including padding.
    pub written: u32,
    /// True if the block accepts no more pages.
    pub closed: bool,
    pub note: BlockNote,
}

/// A log block.
#[derive(Clone, Debug)]
pub(super) struct LogBlock {
    pub block: BlockId,
    /// Owner of each programmed page.
    pub owners: Vec<Lpn>,
    /// True if the block accepts no more pages, even if it is not full.
    pub closed: bool,
    pub note: BlockNote,
    /// Sequence number of the last write to the block.
    pub last_write: u64,
}

impl LogBlock {
    pub fn written(&self) -> u32 {
        self.owners.len() as u32
    }
}

/// Counts of events other than writes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventCounts {
    pub switch_merges: u64,
    pub partial_merges: u64,
    pub full_merges: u64,
    /// Number of merges, of any kind, of blocks that were read too often.
    pub refreshes: u64,
    pub program_failures: u64,
    pub padding_pages: u64,
}

/// State of a hybrid FTL and its flash.
pub(super) struct HybridState<F: Flash> {
    pub config: HybridConfig,
    pub pool: Pool<F, NoVictims>,
    pub pages_per_block: u32,
    pub logical_blocks: Vec<LogicalBlock>,
    /// For each logical page, location of its newest copy if that copy is in a log.
    pub log_map: Vec<Slot>,
    /// One bit per logical page, set if the page holds data.
    present: Vec<u64>,
    pub mapped: u32,
    /// Log blocks for one logical block each, by the number of the logical block.
    pub dedicated_logs: BTreeMap<u32, LogBlock>,
    /// Log blocks shared by all logical blocks, oldest first; only the last log block accepts pages.
    pub shared_logs: VecDeque<LogBlock>,
    pub events: EventCounts,
    pub recovery: Option<RecoveryReport>,
}

impl<F: Flash> HybridState<F> {
    /// Creates the state of an empty FTL; the pool has no erased blocks yet.
    pub fn new(config: HybridConfig, flash: F) -> Self {
        let pages_per_block = flash.pages_per_block();
        let logical_blocks = config.logical_pages.div_ceil(pages_per_block);
        let pool_config = PoolConfig {
            pages: config.logical_pages,
            streams: 0,
            first_sequence: 0,
            watermarks: None,
            survives_failed_programs: true,
        };
        let mut pool = Pool::new(flash, NoVictims, pool_config);
        pool.erased.clear();
        // Merges need a data block for each logical block, the log blocks, and one block as their destination.
        pool.needed_blocks = logical_blocks.saturating_add(config.log_blocks).saturating_add(1);
        HybridState {
            pool,
            pages_per_block,
            logical_blocks: vec![LogicalBlock::default(); logical_blocks as usize],
            log_map: filled(config.logical_pages as usize, Slot::NONE),
            present: filled(config.logical_pages.div_ceil(64) as usize, 0),
            mapped: 0,
            dedicated_logs: BTreeMap::new(),
            shared_logs: VecDeque::new(),
            events: EventCounts::default(),
            recovery: None,
            config,
        }
    }

    pub fn split(&self, page: Lpn) -> (u32, u32) {
        (page.0 / self.pages_per_block, page.0 % self.pages_per_block)
    }

    pub fn page_of(&self, logical: u32, offset: u32) -> Lpn {
        Lpn(logical * self.pages_per_block + offset)
    }

    pub fn slot(&self, block: BlockId, page: u32) -> Slot {
        Slot(block.0 * self.pages_per_block + page)
    }

    pub fn block_of(&self, slot: Slot) -> (BlockId, u32) {
        (BlockId(slot.0 / self.pages_per_block), slot.0 % self.pages_per_block)
    }

    /// Returns the page offsets of the logical block; the last logical block may be shorter.
    pub fn offsets(&self, logical: u32) -> std::ops::Range<u32> {
        0..self.pages_per_block.min(self.config.logical_pages - logical * self.pages_per_block)
    }

    pub fn is_present(&self, page: Lpn) -> bool {
        self.present[page.index() / 64] >> (page.0 % 64) & 1 == 1
    }

    pub fn set_present(&mut self, page: Lpn, present: bool) {
        if self.is_present(page) == present {
            return;
        }
        self.present[page.index() / 64] ^= 1 << (page.0 % 64);
        let live = &mut self.logical_blocks[(page.0 / self.pages_per_block) as usize].live;
        if present {
            *live += 1;
            self.mapped += 1;
        } else {
            *live -= 1;
            self.mapped -= 1;
        }
    }

    /// Returns the location of the newest copy of `page`.
    pub fn locate(&self, page: Lpn) -> Option<Slot> {
        if !self.is_present(page) {
            return None;
        }
        let slot = self.log_map[page.index()];
        if slot != Slot::NONE {
            return Some(slot);
        }
        let (logical, offset) = self.split(page);
        let data = self.logical_blocks[logical as usize].data.expect("a page that holds data is somewhere");
        Some(self.slot(data.block, offset))
    }

    /// Returns the number of pages of the logical block up to the last one that holds data.
    pub fn live_end(&self, logical: u32) -> u32 {
        let last = self.offsets(logical).rev().find(|&offset| self.is_present(self.page_of(logical, offset)));
        last.map_or(0, |offset| offset + 1)
    }

    /// Returns the next erased block for pages written because of `cause`, or the end-of-life error.
    pub fn take_erased(&mut self, cause: Cause) -> Result<BlockId, LayerError> {
        self.pool.check_end_of_life()?;
        self.pool.take_erased(cause).ok_or_else(|| self.pool.end_of_life())
    }

    /// Programs a run. Returns false if a program failed; the block is then marked as failed.
    pub fn program(
        &mut self,
        (block, page): (BlockId, u32),
        owners: &[Lpn],
        data: &[F::Payload],
        cause: Cause,
        note: BlockNote,
    ) -> Result<bool, LayerError> {
        let (frontier, purpose) = (Frontier { block, page }, Purpose { cause, note: note.pack() });
        match self.pool.program(note.stream(), frontier, Some(owners), data, purpose) {
            Ok(()) => Ok(true),
            Err(error) => {
                let accepted = self.pool.programmed_before_failure(
                    frontier,
                    (Some(owners), data.len()),
                    cause,
                    error,
                )?;
                self.events.program_failures += 1;
                self.pool.add_failed_block(frontier, accepted as u32);
                Ok(false)
            }
        }
    }

    /// Erases a block without needed data into the pool; retires the block if it has failed.
    pub fn erase_or_retire(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        self.pool.reclaim(block, cause).map(drop)
    }

    /// Reads one page.
    pub fn read_slot(
        &mut self,
        slot: Slot,
        cause: Cause,
        out: &mut Vec<F::Payload>,
    ) -> Result<(), LayerError> {
        let (block, page) = self.block_of(slot);
        self.pool.medium.read(block, Pages::Listed(&[page]), cause, out)?;
        self.pool.counters.add_outgoing(cause, Operation::Read, 1);
        Ok(())
    }

    /// Reads the newest copies of the pages of `logical` at `offsets`; uses padding for pages without data.
    pub fn read_newest(
        &mut self,
        logical: u32,
        offsets: std::ops::Range<u32>,
        cause: Cause,
    ) -> Result<ReadPages<F::Payload>, LayerError> {
        let mut pages_read = ReadPages { owners: Vec::new(), data: Vec::new(), padding: 0 };
        for offset in offsets {
            let page = Lpn(logical.saturating_mul(self.pages_per_block).saturating_add(offset));
            let slot = if page.0 < self.config.logical_pages { self.locate(page) } else { None };
            match slot {
                Some(slot) => {
                    pages_read.owners.push(page);
                    self.read_slot(slot, cause, &mut pages_read.data)?;
                }
                None => {
                    pages_read.owners.push(PADDING);
                    pages_read.data.push(F::Payload::default());
                    pages_read.padding += 1;
                }
            }
        }
        Ok(pages_read)
    }

    /// Opens a log block with the given role; `logical` is the logical block of a dedicated log.
    pub fn open_log(&mut self, role: Role, logical: u32) -> Result<(), LayerError> {
        let block = self.take_erased(Cause::Host)?;
        let note = BlockNote::new(role, logical);
        let log = LogBlock { block, owners: Vec::new(), closed: false, note, last_write: self.pool.sequence };
        if role == Role::SharedLog {
            self.shared_logs.push_back(log);
        } else {
            self.dedicated_logs.insert(logical, log);
        }
        Ok(())
    }

    /// True if the log block accepts one more page.
    pub fn has_room(&self, log: &LogBlock) -> bool {
        !log.closed && log.written() < self.pages_per_block
    }

    /// True if any shared log block has a copy, valid or not, of a page of `logical`.
    pub fn is_in_shared_logs(&self, logical: u32) -> bool {
        let mut owners = self.shared_logs.iter().flat_map(|log| &log.owners);
        owners.any(|owner| owner.0 / self.pages_per_block == logical)
    }
}

/// Pages that were read in order to be written to another block.
pub(super) struct ReadPages<P: Payload> {
    pub owners: Vec<Lpn>,
    pub data: Vec<P>,
    /// Number of padding pages among these pages.
    pub padding: u64,
}
