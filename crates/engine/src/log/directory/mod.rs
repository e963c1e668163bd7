//! Directories: the location of each logical page, either exact or only its block.

mod block_table;
mod compact;
mod masks;
mod page_table;
mod recording;

pub use block_table::BlockTable;
pub use page_table::PageTable;
pub use recording::Writes;

use crate::units::{BlockId, Lpn};
use crate::victim::Blocks;

/// The pages of a removed run that were stored in one block.
#[derive(Clone, Copy, Debug)]
pub struct RemovedRun {
    first: Lpn,
    pages: u32,
    /// Mask of the removed pages among the first 64 of the run; `None`: the whole run.
    mask: Option<u64>,
}

impl RemovedRun {
    /// Returns the number of pages.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.mask.map_or(self.pages, u64::count_ones)
    }

    /// Returns the pages, in order.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = Lpn> {
        let is_marked = move |&at: &u32| self.mask.is_none_or(|marks| marks.unbounded_shr(at) & 1 == 1);
        (0..self.pages).filter(is_marked).map(move |at| Lpn(self.first.0 + at))
    }
}

/// The store's tables from logical pages to physical pages and back.
pub trait Directory: Send {
    /// True if pages have identities: the directory stores the index of each page in its block, and the owner of each
    /// physical page.
    const PAGE_EXACT: bool;

    /// Name used in results.
    const NAME: &'static str;

    /// Marks all pages of `block` as valid, because they are about to be written.
    fn open(&mut self, block: BlockId);

    /// Records that the pages of the run are now stored in `block`, starting at index `page`.
    ///
    /// Their previous physical pages become invalid. Each invalidation is counted in `blocks` and then reported to
    /// `on_invalidate` with the block and its new score.
    fn record_writes(
        &mut self,
        block: BlockId,
        page: u32,
        writes: Writes<'_>,
        blocks: &mut Blocks,
        on_invalidate: impl FnMut(BlockId, u32, &Blocks),
    );

    /// Records that the pages of `run`, which cleaning read from blocks about to be erased, are now in `block`,
    /// starting at index `page`.
    fn relocate(&mut self, block: BlockId, page: u32, run: &[Lpn]);

    /// Removes `page` from the map. Returns the block that stored it, if any.
    fn remove(&mut self, page: Lpn) -> Option<BlockId>;

    /// True if none of the `pages` consecutive pages from `first` on is stored, as when a drive is filled or a
    /// trimmed segment is rewritten.
    fn are_unstored(&self, first: Lpn, pages: usize) -> bool;

    /// Stores `pages` consecutive logical pages from `first` on as owners of the physical pages of `block` from `page`
    /// on, before these are written. Returns the list of owners.
    fn enter_owners(&mut self, block: BlockId, page: u32, first: Lpn, pages: usize) -> &[Lpn];

    /// Maps the logical pages from `first` on to the physical pages of `block` from `page` on; called once the pages
    /// are written, after [`Directory::enter_owners`].
    fn record_run(&mut self, block: BlockId, page: u32, first: Lpn, pages: usize);

    /// Removes `pages` consecutive pages from `first` on. Calls `removed` with the block and the removed pages for each
    /// part of the run that was stored contiguously.
    fn remove_run(&mut self, first: Lpn, pages: u32, mut removed: impl FnMut(BlockId, RemovedRun)) {
        for first in (first.0..first.0 + pages).map(Lpn) {
            if let Some(block) = self.remove(first) {
                removed(block, RemovedRun { first, pages: 1, mask: None });
            }
        }
    }

    /// Returns how many of `pages` are stored.
    fn count_stored(&self, pages: &[Lpn]) -> usize {
        pages.iter().filter(|&&page| self.block_of(page).is_some()).count()
    }

    /// Returns the block of the first page, and the number of leading `pages` that lie in this block in ascending
    /// order; `None` if the first page is not stored. A page-exact directory writes the index of each of these pages
    /// within the block to `indices`, which is as long as `pages`.
    fn leading_in_same_block(&self, pages: &[Lpn], indices: &mut [u32]) -> Option<(BlockId, usize)> {
        let _ = indices;
        let block = self.block_of(*pages.first()?)?;
        let follow = |pair: &&[Lpn]| pair[0] < pair[1] && self.block_of(pair[1]) == Some(block);
        Some((block, 1 + pages.windows(2).take_while(follow).count()))
    }

    /// Returns the block that stores `page`.
    fn block_of(&self, page: Lpn) -> Option<BlockId>;

    /// Returns the index of `page` within its block; `None` if the page is not stored or the directory has no page
    /// identities.
    fn page_in_block(&self, page: Lpn) -> Option<u32>;

    /// Returns the block that stores `page`, and the page's index there; `None` in the same cases as
    /// [`Directory::page_in_block`].
    #[inline]
    fn location_of(&self, page: Lpn) -> Option<(BlockId, u32)> {
        Some((self.block_of(page)?, self.page_in_block(page)?))
    }

    /// Prefetches data of a `page` that will soon be written or removed: its map entry or, if `second_pass`, the data
    /// that the entry points to. Changes no result.
    #[inline]
    fn prefetch(&self, page: Lpn, second_pass: bool, blocks: &Blocks) {
        let _ = (page, second_pass, blocks);
    }

    /// Prefetches the data of `block` that [`Directory::gather`] reads. Changes no result.
    fn prefetch_block(&self, block: BlockId);

    /// Writes the owners of the valid pages among the first `written` pages of `block` to the beginning of `owners`, in
    /// the order of the pages; `owners` has at least `written` entries. `prefetch_entries` also prefetches the map
    /// entries of these owners, which changes no result.
    fn gather(&self, block: BlockId, written: u32, owners: &mut [Lpn], prefetch_entries: bool);

    /// Does the same as [`Directory::gather`] and writes the indices of those pages to the beginning of `indices`,
    /// which has the same size. Returns their number.
    fn gather_listed(&self, block: BlockId, written: u32, owners: &mut [Lpn], indices: &mut [u32]) -> usize;

    /// Invalidates those of the first `written` pages of `block` whose owner is now stored elsewhere. Returns their
    /// number.
    fn invalidate_moved(&mut self, block: BlockId, written: u32) -> u32 {
        let _ = (block, written);
        0
    }

    /// Returns the number of stored logical pages.
    fn mapped_pages(&self) -> u32;

    /// Returns the memory used, in bytes.
    fn memory_bytes(&self) -> usize;

    /// Recounts the valid pages of every block and compares them with `blocks`; `written(block)` is the block's write
    /// pointer.
    fn check(&self, blocks: &Blocks, written: impl Fn(BlockId) -> u32) -> Result<(), String>;
}

/// Compares each block's recounted valid pages with the block table.
///
/// Only candidates and open blocks are compared: the count of a selected block is no longer updated, and that of an
/// erased block is 0.
fn check_counts(blocks: &Blocks, valid: &[u32], written: impl Fn(BlockId) -> u32) -> Result<(), String> {
    for (block, &valid) in (0..).map(BlockId).zip(valid) {
        let unwritten = blocks.pages_per_block() - written(block);
        let counted = blocks.valid_pages(block);
        if counted != valid + unwritten && !(written(block) == 0 && valid == 0) {
            return Err(format!(
                "{block:?}: {counted} valid pages counted, {valid} found, {unwritten} not yet written"
            ));
        }
    }
    Ok(())
}
