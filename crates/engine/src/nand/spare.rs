//! The spare areas of pages: what a store must find there to rebuild its tables after a power cut.

use crate::counters::Cause;
use crate::layer::{Group, MediumError, Run};
use crate::table::{filled, prefetch};
use crate::units::{BlockId, Lpn, StreamId};

/// What a page's spare area says about the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spare {
    /// The logical page stored here.
    pub owner: Lpn,
    /// Its number among all pages the store ever appended: of two copies the higher is the newer.
    pub sequence: u64,
    /// The stream it was appended to.
    pub stream: StreamId,
    /// Why it was written.
    pub cause: Cause,
    /// Whether it belongs to a group that its host's next page goes on with: if that is missing, it does not count.
    pub group_goes_on: bool,
}

/// What is found when the spare area of a page is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Nothing: the page was not programmed since its block's last erase.
    Erased,
    /// Neither erased nor whole: power was lost, or the flash failed, while it was programmed or erased.
    Unreadable,
    /// A page that was programmed.
    Written(Spare),
}

/// Bytes of a spare area that an FTL has for a page that it wrote for itself.
pub const OWN_NOTE_BYTES: usize = 72;

/// What the spare area says of a page that the FTL wrote for itself, besides [`Spare`]: what kind of page it is, and what does not
/// fit into the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnNote {
    /// Its kind, a number of the format's.
    pub class: u8,
    /// What else is noted.
    pub bytes: [u8; OWN_NOTE_BYTES],
}

impl OwnNote {
    /// Of a page of that kind, of which nothing else is noted.
    pub fn new(class: u8) -> Self {
        OwnNote { class, bytes: [0; OWN_NOTE_BYTES] }
    }
}

/// Keeps what the user of the flash writes into spare areas beyond [`Spare`]: a spare area takes more bytes than the engine has a
/// meaning for.
pub trait SpareKeeper<P>: Send {
    /// What will be noted of a page that is about to be programmed; of a page that the user wrote for itself, fills the bytes. Asked
    /// where flash is kept outside of the simulation.
    fn describe(&self, owner: Lpn, cause: Cause, bytes: &mut [u8]) -> Result<Option<OwnNote>, String>;

    /// A run was programmed into `block` from `page` on.
    fn written(&mut self, block: BlockId, page: u32, run: &Run<'_, P>);

    /// The block was erased, wholly or half, or given up: none of what was written into it can be read any more.
    fn erased(&mut self, block: BlockId);
}

/// In a tag: the page's group goes on.
const GOES_ON: u8 = 1 << 3;
/// In a tag: the page cannot be read.
const UNREADABLE: u8 = 1 << 4;
/// In a tag: the cause.
const CAUSE: u8 = GOES_ON - 1;

/// No page of the block has a sequence number.
const UNSET: u64 = u64::MAX;

/// What the pages of a block have in common.
#[derive(Clone, Copy, Debug)]
struct Shared {
    /// Sequence number of its first readable page, or [`UNSET`].
    first: u64,
    note: u64,
    written: u32,
    /// Number of its entry among those of slow blocks, plus 1; 0: it has none.
    slow: u32,
    stream: StreamId,
}

impl Default for Shared {
    fn default() -> Self {
        Shared { first: UNSET, note: 0, written: 0, slow: 0, stream: StreamId::default() }
    }
}

/// An offset too large to be kept beside the others, and all larger ones.
const FAR: u16 = u16::MAX;

/// Sequence numbers of pages of a block that filled while many pages were written elsewhere.
#[derive(Debug, Default)]
struct Slow {
    /// The first of these pages; those behind it belong to them, too.
    from: u32,
    sequences: Vec<u64>,
}

/// The spare areas of all pages: 7 bytes a page, taken from the machine as pages are first programmed, and 32 a block. A page that was
/// written 65,535 pages or more after the first of its block takes 8 besides.
pub struct SpareArea {
    pages_per_block: usize,
    owners: Vec<u32>,
    /// Sequence number of each page, above that of its block's first page; at most [`FAR`].
    offsets: Vec<u16>,
    tags: Vec<u8>,
    blocks: Vec<Shared>,
    slow: Vec<Slow>,
    /// Entries of `slow` that no block has.
    unused: Vec<u32>,
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
            blocks: filled(blocks as usize, Shared::default()),
            slow: Vec::new(),
            unused: Vec::new(),
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
        let every = |owners: &&[Lpn]| owners.len() == run.data.len();
        let owners = run.owners.filter(every).ok_or(MediumError::OwnersMissing { block: block.0 })?;
        let shared = &mut self.blocks[block.index()];
        debug_assert_eq!(shared.written, page);
        if shared.first == UNSET {
            shared.first = run.sequence;
        }
        (shared.stream, shared.note) = (run.stream, run.note);
        shared.written += owners.len() as u32;
        let offset = run.sequence - shared.first;
        if offset + owners.len() as u64 > u64::from(FAR) {
            self.keep_far(block, page, offset, owners.len() as u32);
        }
        let near = |offset: u64| offset.min(u64::from(FAR)) as u16;
        let from = block.index() * self.pages_per_block + page as usize;
        if let ([owner], Group::None) = (owners, run.group) {
            (self.owners[from], self.offsets[from], self.tags[from]) =
                (owner.0, near(offset), run.cause as u8);
            return Ok(());
        }
        for (at, owner) in owners.iter().enumerate() {
            self.owners[from + at] = owner.0;
            self.offsets[from + at] = near(offset + at as u64);
            let goes_on = match run.group {
                Group::None => false,
                Group::GoesOn => true,
                Group::Ends => at + 1 != owners.len(),
            };
            self.tags[from + at] = run.cause as u8 | if goes_on { GOES_ON } else { 0 };
        }
        Ok(())
    }

    /// Keeps the sequence numbers of those of `pages` pages from `page` on that are too far above the block's first, `offset` being that of
    /// the first of them.
    #[cold]
    fn keep_far(&mut self, block: BlockId, page: u32, offset: u64, pages: u32) {
        let shared = &mut self.blocks[block.index()];
        let near = u64::from(FAR).saturating_sub(offset) as u32;
        for at in near.min(pages)..pages {
            if shared.slow == 0 {
                let unused = self.unused.pop().unwrap_or_else(|| {
                    self.slow.push(Slow::default());
                    self.slow.len() as u32 - 1
                });
                self.slow[unused as usize].from = page + at;
                shared.slow = unused + 1;
            }
            let Slow { from, sequences } = &mut self.slow[shared.slow as usize - 1];
            // Pages between that cannot be read have no number.
            sequences.resize((page + at - *from) as usize, UNSET);
            sequences.push(shared.first + offset + u64::from(at));
        }
    }

    /// Sequence number of a page with this offset. It panics nowhere, so that it is left out where nobody wants it.
    #[inline(always)]
    fn sequence(&self, shared: &Shared, page: u32, offset: u16) -> u64 {
        if offset != FAR {
            return shared.first + u64::from(offset);
        }
        let slow = self.slow.get((shared.slow as usize).wrapping_sub(1));
        let kept = slow.and_then(|slow| slow.sequences.get(page.wrapping_sub(slow.from) as usize));
        kept.copied().unwrap_or(UNSET)
    }

    /// The next page of `block` is what was kept of it; or why it cannot be.
    pub(super) fn restore(&mut self, block: BlockId, spare: &Spare) -> Result<(), &'static str> {
        let Shared { first, written, .. } = self.blocks[block.index()];
        if first != UNSET && spare.sequence < first {
            return Err("its sequence number is lower than that of a page before it");
        }
        let group = if spare.group_goes_on { Group::GoesOn } else { Group::None };
        let (owners, data) = ([spare.owner], [()]);
        let Spare { sequence, cause, stream, .. } = *spare;
        let run = Run { owners: Some(&owners), data: &data, sequence, cause, stream, group, note: 0 };
        self.write(block, written, &run).map_err(|_| "it has no owner")
    }

    /// The note of the last run of a block that was kept.
    pub(super) fn restore_note(&mut self, block: BlockId, note: u64) {
        self.blocks[block.index()].note = note;
    }

    pub(super) fn erase(&mut self, block: BlockId) {
        if self.unreadable_pages > 0 {
            self.unreadable_pages -= u64::from(self.unreadable(block));
        }
        let erased = std::mem::take(&mut self.blocks[block.index()]);
        if erased.slow > 0 {
            self.slow[erased.slow as usize - 1].sequences.clear();
            self.unused.push(erased.slow - 1);
        }
    }

    /// The next `pages` pages of `block` can be neither read nor programmed.
    pub(super) fn spoil(&mut self, block: BlockId, pages: u32) {
        let shared = &mut self.blocks[block.index()];
        let from = block.index() * self.pages_per_block + shared.written as usize;
        self.tags[from..from + pages as usize].fill(UNREADABLE);
        shared.written += pages;
        self.unreadable_pages += u64::from(pages);
    }

    /// Pages of all blocks that cannot be read.
    pub(super) fn unreadable_pages(&self) -> u64 {
        self.unreadable_pages
    }

    /// Pages of the block that cannot be read.
    fn unreadable(&self, block: BlockId) -> u32 {
        let from = block.index() * self.pages_per_block;
        let tags = &self.tags[from..from + self.blocks[block.index()].written as usize];
        tags.iter().filter(|tag| **tag & UNREADABLE != 0).count() as u32
    }

    /// The first of `pages` that cannot be read.
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

    /// Brings what is asked of the pages of `block`, whose they are, into the cache. A hint.
    pub(super) fn prefetch(&self, block: BlockId) {
        let from = block.index() * self.pages_per_block;
        prefetch(self.blocks.as_ptr().wrapping_add(block.index()));
        let lines = |bytes: usize| (0..bytes).step_by(64);
        lines(self.pages_per_block).for_each(|at| prefetch(self.tags.as_ptr().wrapping_add(from + at)));
        let owners = self.owners.as_ptr().wrapping_add(from);
        lines(4 * self.pages_per_block).for_each(|at| prefetch(owners.wrapping_byte_add(at)));
    }

    /// What the spare area of a page says. Compiled into its callers, most of which ask for the owner alone: numbers lie elsewhere.
    #[inline(always)]
    pub fn page(&self, block: BlockId, page: u32) -> PageState {
        let shared = &self.blocks[block.index()];
        if page >= shared.written {
            return PageState::Erased;
        }
        let at = block.index() * self.pages_per_block + page as usize;
        let tag = self.tags[at];
        if tag & UNREADABLE != 0 {
            return PageState::Unreadable;
        }
        PageState::Written(Spare {
            owner: Lpn(self.owners[at]),
            sequence: self.sequence(shared, page, self.offsets[at]),
            stream: shared.stream,
            cause: Cause::ALL[usize::from(tag & CAUSE)],
            group_goes_on: tag & GOES_ON != 0,
        })
    }

    /// The spare areas of the readable pages of `block`, in page order.
    pub fn block(&self, block: BlockId) -> Vec<Spare> {
        let pages = 0..self.blocks[block.index()].written;
        pages
            .filter_map(|page| match self.page(block, page) {
                PageState::Written(spare) => Some(spare),
                PageState::Erased | PageState::Unreadable => None,
            })
            .collect()
    }

    /// The note of the run that was last programmed into `block`.
    pub fn note(&self, block: BlockId) -> u64 {
        self.blocks[block.index()].note
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let slow: usize =
            self.slow.iter().map(|slow| size_of::<Slow>() + 8 * slow.sequences.capacity()).sum();
        7 * self.owners.len() + size_of::<Shared>() * self.blocks.len() + slow
    }
}
