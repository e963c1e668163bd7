//! Spare areas of pages, from which a store rebuilds its tables after a power cut.

use crate::counters::Cause;
use crate::layer::{Group, MediumError, Run};
use crate::table::{filled, prefetch};
use crate::units::{BlockId, Lpn, StreamId};

/// Content of a page's spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// Logical page stored in the page.
    pub owner: Lpn,
    /// Sequence number among all pages that the store has ever appended: of two copies of a page, the copy with the
    /// higher number is newer.
    pub sequence: u64,
    /// Stream to which the page was appended.
    pub stream: StreamId,
    /// Cause of the write.
    pub cause: Cause,
    /// True if the page's atomic group continues with the host's next page: if that page is missing, this page is
    /// ignored.
    pub group_continues: bool,
}

/// Result of reading a page's spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// The page was not programmed since its block's last erase.
    Erased,
    /// Neither erased nor complete: power was lost, or the flash failed, during a program or an erase.
    Unreadable,
    /// A programmed page.
    Written(Spare),
}

/// Number of spare area bytes that an FTL can use for a metadata page.
pub const METADATA_NOTE_BYTES: usize = 72;

/// Additional content of the spare area of an FTL's metadata page: the kind of the page, and data that does not fit
/// into the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MetadataNote {
    /// Kind of the page, a number defined by the format.
    pub class: u8,
    /// Additional data.
    pub bytes: [u8; METADATA_NOTE_BYTES],
}

impl MetadataNote {
    /// Creates a note of this kind without additional data.
    pub fn new(class: u8) -> Self {
        MetadataNote { class, bytes: [0; METADATA_NOTE_BYTES] }
    }
}

/// Storage for data that the flash user writes into spare areas beyond [`Spare`]: the engine does not interpret these
/// bytes.
pub trait SpareStorage<P>: Send {
    /// Returns the note for a page that is about to be programmed, and fills the bytes of a metadata page of the user.
    /// Called if the flash is stored outside the simulation.
    fn describe(&self, owner: Lpn, cause: Cause, bytes: &mut [u8]) -> Result<Option<MetadataNote>, String>;

    /// Records a run programmed into `block` from `page`.
    fn written(&mut self, block: BlockId, page: u32, run: &Run<'_, P>);

    /// Discards the block's data, which can no longer be read because the block was completely or partly erased, or
    /// retired.
    fn erased(&mut self, block: BlockId);
}

/// Tag bit: the atomic group of this page continues with the next page.
const GROUP_CONTINUES: u8 = 1 << 3;
/// Tag bit: the page cannot be read.
const UNREADABLE: u8 = 1 << 4;
/// Tag bits of the cause.
const CAUSE_MASK: u8 = GROUP_CONTINUES - 1;

/// Value in place of the sequence number if there is none.
const UNSET: u64 = u64::MAX;

/// Data common to the pages of a block.
#[derive(Clone, Copy, Debug)]
struct BlockSpare {
    /// Sequence number of the block's first readable page, or [`UNSET`].
    first: u64,
    note: u64,
    written: u32,
    /// Index of the block's entry in [`SpareArea::wide`] plus 1; 0 if the block has no entry.
    wide: u32,
    stream: StreamId,
}

impl Default for BlockSpare {
    fn default() -> Self {
        BlockSpare { first: UNSET, note: 0, written: 0, wide: 0, stream: StreamId::default() }
    }
}

/// Value in place of an offset that does not fit into 16 bits.
const OFFSET_OVERFLOW: u16 = u16::MAX;

/// Sequence numbers of a block that was filled while many pages were written to other blocks.
#[derive(Debug, Default)]
struct WideSequences {
    /// First page whose offset does not fit into 16 bits; the sequence numbers of all later pages are also stored here.
    from: u32,
    sequences: Vec<u64>,
}

/// The spare areas of all pages: 7 bytes per page, allocated lazily by the operating system, and 32 per block. A page
/// written 65,535 pages or more after the first of its block takes 8 more bytes.
pub struct SpareArea {
    pages_per_block: usize,
    owners: Vec<u32>,
    /// Sequence number of each page minus that of its block's first page; at most [`OFFSET_OVERFLOW`].
    offsets: Vec<u16>,
    tags: Vec<u8>,
    blocks: Vec<BlockSpare>,
    wide: Vec<WideSequences>,
    /// Unused entries of `wide`.
    unused_wide: Vec<u32>,
    unreadable_pages: u64,
}

impl SpareArea {
    pub(super) fn new(blocks: u32, pages_per_block: u32) -> Self {
        let pages = blocks as usize * pages_per_block as usize;
        SpareArea {
            pages_per_block: pages_per_block as usize,
            owners: filled(pages, 0),
            offsets: filled(pages, 0),
            tags: filled(pages, 0),
            blocks: filled(blocks as usize, BlockSpare::default()),
            wide: Vec::new(),
            unused_wide: Vec::new(),
            unreadable_pages: 0,
        }
    }

    #[inline]
    pub(super) fn write<P>(
        &mut self,
        block: BlockId,
        page: u32,
        run: &Run<'_, P>,
    ) -> Result<(), MediumError> {
        let has_all = |owners: &&[Lpn]| owners.len() == run.data.len();
        let owners = run.owners.filter(has_all).ok_or(MediumError::OwnersMissing { block: block.0 })?;
        let block_spare = &mut self.blocks[block.index()];
        debug_assert_eq!(block_spare.written, page);
        if block_spare.first == UNSET {
            block_spare.first = run.sequence;
        }
        (block_spare.stream, block_spare.note) = (run.stream, run.note);
        block_spare.written += owners.len() as u32;
        let offset = run.sequence - block_spare.first;
        if offset + owners.len() as u64 > u64::from(OFFSET_OVERFLOW) {
            self.store_wide_sequences(block, page, offset, owners.len() as u32);
        }
        let narrow_offset = |offset: u64| offset.min(u64::from(OFFSET_OVERFLOW)) as u16;
        let from = block.index() * self.pages_per_block + page as usize;
        if let ([owner], Group::None) = (owners, run.group) {
            (self.owners[from], self.offsets[from], self.tags[from]) =
                (owner.0, narrow_offset(offset), run.cause as u8);
            return Ok(());
        }
        for (at, owner) in owners.iter().enumerate() {
            self.owners[from + at] = owner.0;
            self.offsets[from + at] = narrow_offset(offset + at as u64);
            let continues = match run.group {
                Group::None => false,
                Group::Continues => true,
                Group::Ends => at + 1 != owners.len(),
            };
            self.tags[from + at] = run.cause as u8 | if continues { GROUP_CONTINUES } else { 0 };
        }
        Ok(())
    }

    /// Of the `pages` pages from `page` on, stores the sequence numbers whose offsets do not fit into 16 bits; `offset`
    /// is the offset of the first page.
    #[cold]
    fn store_wide_sequences(&mut self, block: BlockId, page: u32, offset: u64, pages: u32) {
        let block_spare = &mut self.blocks[block.index()];
        let fitting = u64::from(OFFSET_OVERFLOW).saturating_sub(offset) as u32;
        for at in fitting.min(pages)..pages {
            if block_spare.wide == 0 {
                let entry = self.unused_wide.pop().unwrap_or_else(|| {
                    self.wide.push(WideSequences::default());
                    self.wide.len() as u32 - 1
                });
                self.wide[entry as usize].from = page + at;
                block_spare.wide = entry + 1;
            }
            let WideSequences { from, sequences } = &mut self.wide[block_spare.wide as usize - 1];
            // Unreadable pages in between have no sequence number.
            sequences.resize((page + at - *from) as usize, UNSET);
            sequences.push(block_spare.first + offset + u64::from(at));
        }
    }

    /// Returns the sequence number of a page with this offset. It never panics, so that the compiler can omit unused
    /// calls.
    #[inline(always)]
    fn sequence(&self, block_spare: &BlockSpare, page: u32, offset: u16) -> u64 {
        if offset != OFFSET_OVERFLOW {
            return block_spare.first + u64::from(offset);
        }
        let wide = self.wide.get((block_spare.wide as usize).wrapping_sub(1));
        let sequence = wide.and_then(|slow| slow.sequences.get(page.wrapping_sub(slow.from) as usize));
        sequence.copied().unwrap_or(UNSET)
    }

    /// Restores the next page of `block`; fails if that is impossible.
    pub(super) fn restore(&mut self, block: BlockId, spare: &Spare) -> Result<(), &'static str> {
        let BlockSpare { first, written, .. } = self.blocks[block.index()];
        if first != UNSET && spare.sequence < first {
            return Err("its sequence number is lower than that of a page before it");
        }
        let group = if spare.group_continues { Group::Continues } else { Group::None };
        let (owners, data) = ([spare.owner], [()]);
        let Spare { sequence, cause, stream, .. } = *spare;
        let run = Run { owners: Some(&owners), data: &data, sequence, cause, stream, group, note: 0 };
        self.write(block, written, &run).map_err(|_| "it has no owner")
    }

    /// Restores the note of the last run of a block.
    pub(super) fn restore_note(&mut self, block: BlockId, note: u64) {
        self.blocks[block.index()].note = note;
    }

    pub(super) fn erase(&mut self, block: BlockId) {
        if self.unreadable_pages > 0 {
            self.unreadable_pages -= u64::from(self.unreadable(block));
        }
        let erased = std::mem::take(&mut self.blocks[block.index()]);
        if erased.wide > 0 {
            self.wide[erased.wide as usize - 1].sequences.clear();
            self.unused_wide.push(erased.wide - 1);
        }
    }

    /// Makes the next `pages` pages of `block` neither readable nor programmable.
    pub(super) fn mark_unreadable(&mut self, block: BlockId, pages: u32) {
        let block_spare = &mut self.blocks[block.index()];
        let from = block.index() * self.pages_per_block + block_spare.written as usize;
        self.tags[from..from + pages as usize].fill(UNREADABLE);
        block_spare.written += pages;
        self.unreadable_pages += u64::from(pages);
    }

    /// Returns the number of unreadable pages of all blocks.
    pub(super) fn unreadable_pages(&self) -> u64 {
        self.unreadable_pages
    }

    /// Returns the number of unreadable pages of the block.
    fn unreadable(&self, block: BlockId) -> u32 {
        let from = block.index() * self.pages_per_block;
        let tags = &self.tags[from..from + self.blocks[block.index()].written as usize];
        tags.iter().filter(|tag| **tag & UNREADABLE != 0).count() as u32
    }

    /// Returns the first of `pages` that cannot be read.
    #[inline]
    pub(super) fn first_unreadable(
        &self,
        block: BlockId,
        mut pages: impl Iterator<Item = u32>,
    ) -> Option<u32> {
        if self.unreadable_pages == 0 {
            return None;
        }
        pages.find(|&page| self.page(block, page) == PageState::Unreadable)
    }

    /// Prefetches the spare areas of `block`. Does not affect any result.
    pub(super) fn prefetch(&self, block: BlockId) {
        let from = block.index() * self.pages_per_block;
        prefetch(self.blocks.as_ptr().wrapping_add(block.index()));
        let lines = |bytes: usize| (0..bytes).step_by(64);
        lines(self.pages_per_block).for_each(|at| prefetch(self.tags.as_ptr().wrapping_add(from + at)));
        let owners = self.owners.as_ptr().wrapping_add(from);
        lines(4 * self.pages_per_block).for_each(|at| prefetch(owners.wrapping_byte_add(at)));
    }

    /// Returns the content of a page's spare area. Inlined, because most callers need only the owner, and numbers are
    /// stored elsewhere.
    #[inline(always)]
    pub fn page(&self, block: BlockId, page: u32) -> PageState {
        let block_spare = &self.blocks[block.index()];
        if page >= block_spare.written {
            return PageState::Erased;
        }
        let at = block.index() * self.pages_per_block + page as usize;
        let tag = self.tags[at];
        if tag & UNREADABLE != 0 {
            return PageState::Unreadable;
        }
        PageState::Written(Spare {
            owner: Lpn(self.owners[at]),
            sequence: self.sequence(block_spare, page, self.offsets[at]),
            stream: block_spare.stream,
            cause: Cause::ALL[usize::from(tag & CAUSE_MASK)],
            group_continues: tag & GROUP_CONTINUES != 0,
        })
    }

    /// Returns the spare areas of the readable pages of `block`, in page order.
    pub fn block(&self, block: BlockId) -> Vec<Spare> {
        let pages = 0..self.blocks[block.index()].written;
        pages
            .filter_map(|page| match self.page(block, page) {
                PageState::Written(spare) => Some(spare),
                PageState::Erased | PageState::Unreadable => None,
            })
            .collect()
    }

    /// Returns the note of the run last programmed into `block`.
    pub fn note(&self, block: BlockId) -> u64 {
        self.blocks[block.index()].note
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let wide: usize =
            self.wide.iter().map(|slow| size_of::<WideSequences>() + 8 * slow.sequences.capacity()).sum();
        7 * self.owners.len() + size_of::<BlockSpare>() * self.blocks.len() + wide
    }
}
