//! The blocks of a hybrid FTL: which are data, logs or erased, and where each page is.

use super::HybridConfig;
use super::note::{Note, Role};
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{Group, LayerError, MediumError, Pages, Payload, RecoveryReport, Run};
use crate::nand::Flash;
use crate::table::filled;
use crate::units::{BlockId, Lpn, Slot};
use std::collections::{BTreeMap, VecDeque};

/// Owner of a page that fills a hole of a data block.
pub(super) const PADDING: Lpn = Lpn(u32::MAX);

/// A logical block.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Logical {
    /// Its data block, with its pages in their places.
    pub data: Option<Filled>,
    /// Pages that hold data, wherever they are.
    pub live: u32,
}

/// A data block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filled {
    pub block: BlockId,
    /// Pages programmed, padding among them.
    pub written: u32,
    /// Takes no more pages.
    pub closed: bool,
    pub note: Note,
}

/// A log block.
#[derive(Clone, Debug)]
pub(super) struct LogBlock {
    pub block: BlockId,
    /// Whose each programmed page is.
    pub owners: Vec<Lpn>,
    /// Takes no more pages although there may be room.
    pub closed: bool,
    pub note: Note,
    /// When a page was last written to it.
    pub used: u64,
}

impl LogBlock {
    pub fn written(&self) -> u32 {
        self.owners.len() as u32
    }
}

/// What was done besides writing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Events {
    pub switch_merges: u64,
    pub partial_merges: u64,
    pub full_merges: u64,
    /// Of all merges, those of blocks that were read too often.
    pub refreshes: u64,
    pub program_failures: u64,
    pub padding_pages: u64,
}

/// The state of a hybrid FTL and its flash.
pub(super) struct Blocks<F: Flash> {
    pub config: HybridConfig,
    pub flash: F,
    pub counters: Counters,
    /// Pages programmed so far.
    pub sequence: u64,
    pub pages_per_block: u32,
    /// Erased blocks, in the order in which they were erased.
    pub free: VecDeque<BlockId>,
    /// Blocks that are not bad.
    pub usable: u32,
    /// Blocks that failed and still hold pages that are needed.
    pub failed: Vec<BlockId>,
    pub logical: Vec<Logical>,
    /// The place of each page whose newest copy is in a log.
    pub log_map: Vec<Slot>,
    /// A bit for each logical page: whether it holds data.
    present: Vec<u64>,
    pub mapped: u32,
    /// Logs of one logical block, by its number.
    pub own: BTreeMap<u32, LogBlock>,
    /// Logs of any, the oldest first; only the last takes pages.
    pub shared: VecDeque<LogBlock>,
    pub events: Events,
    pub recovery: Option<RecoveryReport>,
}

impl<F: Flash> Blocks<F> {
    /// Nothing stored and, for now, no erased block.
    pub fn new(config: HybridConfig, flash: F) -> Self {
        let pages_per_block = flash.pages_per_block();
        let logical_blocks = config.logical_pages.div_ceil(pages_per_block) as usize;
        let bad = |&block: &u32| flash.is_bad(BlockId(block));
        Blocks {
            counters: Counters::default(),
            sequence: 0,
            pages_per_block,
            free: VecDeque::new(),
            usable: flash.blocks() - (0..flash.blocks()).filter(bad).count() as u32,
            failed: Vec::new(),
            logical: vec![Logical::default(); logical_blocks],
            log_map: filled(config.logical_pages as usize, Slot::NONE),
            present: filled(config.logical_pages.div_ceil(64) as usize, 0),
            mapped: 0,
            own: BTreeMap::new(),
            shared: VecDeque::new(),
            events: Events::default(),
            recovery: None,
            config,
            flash,
        }
    }

    /// Blocks without which merging cannot go on: a data block for each logical block, the logs, and one to merge into.
    pub fn needed(&self) -> u32 {
        (self.logical.len() as u32).saturating_add(self.config.log_blocks).saturating_add(1)
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

    /// Offsets of the logical block; the last block may be short.
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
        let live = &mut self.logical[(page.0 / self.pages_per_block) as usize].live;
        if present {
            *live += 1;
            self.mapped += 1;
        } else {
            *live -= 1;
            self.mapped -= 1;
        }
    }

    /// Where the newest copy of `page` is.
    pub fn locate(&self, page: Lpn) -> Option<Slot> {
        if !self.is_present(page) {
            return None;
        }
        let slot = self.log_map[page.index()];
        if slot != Slot::NONE {
            return Some(slot);
        }
        let (logical, offset) = self.split(page);
        let data = self.logical[logical as usize].data.expect("a page that holds data is somewhere");
        Some(self.slot(data.block, offset))
    }

    /// Pages of the logical block up to the last that holds data.
    pub fn live_end(&self, logical: u32) -> u32 {
        let last = self.offsets(logical).rev().find(|&offset| self.is_present(self.page_of(logical, offset)));
        last.map_or(0, |offset| offset + 1)
    }

    /// The next erased block, or the end of the drive's life.
    pub fn take_free(&mut self) -> Result<BlockId, LayerError> {
        let end_of_life = LayerError::EndOfLife {
            usable_blocks: self.usable,
            needed_blocks: self.needed().max(self.usable + 1),
        };
        if self.usable < self.needed() {
            return Err(end_of_life);
        }
        self.free.pop_front().ok_or(end_of_life)
    }

    /// Programs a run; false if a page could not be programmed, which leaves the block noted as failed.
    pub fn program(
        &mut self,
        (block, page): (BlockId, u32),
        owners: &[Lpn],
        data: &[F::Payload],
        cause: Cause,
        note: Note,
    ) -> Result<bool, LayerError> {
        let run = Run {
            owners: Some(owners),
            data,
            sequence: self.sequence,
            cause,
            stream: note.stream(),
            group: Group::None,
            note: note.pack(),
        };
        let (programmed, whole) = match self.flash.program(block, page, run) {
            Ok(()) => (data.len() as u64, true),
            Err(MediumError::ProgramFailed { page: failed, .. }) => (u64::from(failed - page), false),
            Err(error) => return Err(error.into()),
        };
        self.sequence += data.len() as u64;
        self.counters.add_outgoing(cause, Operation::Write, programmed);
        if !whole {
            self.events.program_failures += 1;
            self.failed.push(block);
        }
        Ok(whole)
    }

    /// The block holds nothing that is needed: it is erased into the pool or, if it has failed, retired.
    pub fn dispose(&mut self, block: BlockId, cause: Cause) -> Result<(), LayerError> {
        if let Some(at) = self.failed.iter().position(|&failed| failed == block) {
            self.failed.swap_remove(at);
            self.flash.retire(block);
            self.usable -= 1;
            return Ok(());
        }
        match self.flash.erase(block, cause) {
            Ok(()) => {
                self.counters.add_outgoing(cause, Operation::Erase, 1);
                self.free.push_back(block);
            }
            Err(MediumError::WornOut { .. }) => self.usable -= 1,
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// Reads one page.
    pub fn read_slot(
        &mut self,
        slot: Slot,
        cause: Cause,
        out: &mut Vec<F::Payload>,
    ) -> Result<(), LayerError> {
        let (block, page) = self.block_of(slot);
        self.flash.read(block, Pages::Listed(&[page]), cause, out)?;
        self.counters.add_outgoing(cause, Operation::Read, 1);
        Ok(())
    }

    /// Reads the newest copies of the pages of `logical` at `offsets`, padding where there are none.
    pub fn gather(
        &mut self,
        logical: u32,
        offsets: std::ops::Range<u32>,
        cause: Cause,
    ) -> Result<Gathered<F::Payload>, LayerError> {
        let mut gathered = Gathered { owners: Vec::new(), data: Vec::new(), padding: 0 };
        for offset in offsets {
            let page = Lpn(logical.saturating_mul(self.pages_per_block).saturating_add(offset));
            let slot = if page.0 < self.config.logical_pages { self.locate(page) } else { None };
            match slot {
                Some(slot) => {
                    gathered.owners.push(page);
                    self.read_slot(slot, cause, &mut gathered.data)?;
                }
                None => {
                    gathered.owners.push(PADDING);
                    gathered.data.push(F::Payload::default());
                    gathered.padding += 1;
                }
            }
        }
        Ok(gathered)
    }

    /// Opens a log block, of one logical block or shared.
    pub fn open_log(&mut self, role: Role, logical: u32) -> Result<(), LayerError> {
        let block = self.take_free()?;
        let note = Note::new(role, logical);
        let log = LogBlock { block, owners: Vec::new(), closed: false, note, used: self.sequence };
        if role == Role::SharedLog {
            self.shared.push_back(log);
        } else {
            self.own.insert(logical, log);
        }
        Ok(())
    }

    /// Whether the log block takes a page.
    pub fn has_room(&self, log: &LogBlock) -> bool {
        !log.closed && log.written() < self.pages_per_block
    }

    /// Whether any shared log block has a copy, dead or alive, of a page of `logical`.
    pub fn is_in_shared_logs(&self, logical: u32) -> bool {
        let mut owners = self.shared.iter().flat_map(|log| &log.owners);
        owners.any(|owner| owner.0 / self.pages_per_block == logical)
    }
}

/// Pages read to be written elsewhere.
pub(super) struct Gathered<P: Payload> {
    pub owners: Vec<Lpn>,
    pub data: Vec<P>,
    /// How many of them are padding.
    pub padding: u64,
}
