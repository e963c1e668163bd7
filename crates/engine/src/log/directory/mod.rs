//! Where each logical page is: page by page, or only block by block.

mod block_table;
mod compact;
mod marks;
mod page_table;
mod place;

pub use block_table::BlockTable;
pub use page_table::PageTable;
pub use place::Writes;

use crate::units::{BlockId, Lpn};
use crate::victim::Blocks;

/// Pages of a run that lay together in one block.
#[derive(Clone, Copy, Debug)]
pub struct Removed {
    first: Lpn,
    pages: u32,
    /// Which of the first 64 of the run they are, a bit each; `None`: they are the run.
    marks: Option<u64>,
}

impl Removed {
    /// How many pages.
    #[inline(always)]
    pub fn count(self) -> u32 {
        self.marks.map_or(self.pages, u64::count_ones)
    }

    /// The pages, in order.
    #[inline(always)]
    pub fn iter(self) -> impl Iterator<Item = Lpn> {
        let is_marked = move |&at: &u32| self.marks.is_none_or(|marks| marks.unbounded_shr(at) & 1 == 1);
        (0..self.pages).filter(is_marked).map(move |at| Lpn(self.first.0 + at))
    }
}

/// The store's tables from logical pages to places and back.
pub trait Directory: Send {
    /// Whether pages have identities: whether the directory knows a page's place in its block, and who owns the
    /// pages of a block.
    const PAGE_EXACT: bool;

    /// The name used in results.
    const NAME: &'static str;

    /// All pages of `block` are about to be written.
    fn open(&mut self, block: BlockId);

    /// The pages of the run are now stored in `block` from `page` on.
    ///
    /// Their former places die: each is counted in `blocks` and then reported to `died` as block and new score.
    fn place(
        &mut self,
        block: BlockId,
        page: u32,
        writes: Writes<'_>,
        blocks: &mut Blocks,
        died: impl FnMut(BlockId, u32, &Blocks),
    );

    /// The pages of `run`, which cleaning took out of blocks about to be erased, are now in `block` from `page` on.
    fn relocate(&mut self, block: BlockId, page: u32, run: &[Lpn]);

    /// Forgets `page`; the block it was in, if it was anywhere.
    fn remove(&mut self, page: Lpn) -> Option<BlockId>;

    /// Whether `pages` consecutive pages from `first` on are stored nowhere, as when a drive is filled or a trimmed segment is
    /// written anew.
    fn is_fresh(&self, first: Lpn, pages: usize) -> bool;

    /// The owners of `block` from `page` on will be such pages: lists them.
    fn own_run(&mut self, block: BlockId, page: u32, first: Lpn, pages: usize) -> &[Lpn];

    /// Pages that were listed with [`Directory::own_run`] are now stored there.
    fn place_run(&mut self, block: BlockId, page: u32, first: Lpn, pages: usize);

    /// Forgets `pages` consecutive pages from `first` on; tells of each stretch of them that lay together, and of its block.
    fn remove_run(&mut self, first: Lpn, pages: u32, mut removed: impl FnMut(BlockId, Removed)) {
        for first in (first.0..first.0 + pages).map(Lpn) {
            if let Some(block) = self.remove(first) {
                removed(block, Removed { first, pages: 1, marks: None });
            }
        }
    }

    /// How many of `pages` are stored somewhere.
    fn stored(&self, pages: &[Lpn]) -> usize {
        pages.iter().filter(|&&page| self.block_of(page).is_some()).count()
    }

    /// How many of the first of `pages` lie in the same block and have rising numbers, and that block; `None` if the
    /// first is stored nowhere. A directory with identities sets the first of `indices`, of which there are as many as pages,
    /// to theirs within the block.
    fn together(&self, pages: &[Lpn], indices: &mut [u32]) -> Option<(BlockId, usize)> {
        let _ = indices;
        let block = self.block_of(*pages.first()?)?;
        let follow = |pair: &&[Lpn]| pair[0] < pair[1] && self.block_of(pair[1]) == Some(block);
        Some((block, 1 + pages.windows(2).take_while(follow).count()))
    }

    /// The block that holds `page`.
    fn block_of(&self, page: Lpn) -> Option<BlockId>;

    /// The index of `page` within its block; `None` for a page stored nowhere or a directory without identities.
    fn page_in_block(&self, page: Lpn) -> Option<u32>;

    /// The block that holds `page`, and its index there; `None` as for [`Directory::page_in_block`].
    #[inline]
    fn place_of(&self, page: Lpn) -> Option<(BlockId, u32)> {
        Some((self.block_of(page)?, self.page_in_block(page)?))
    }

    /// `page` will soon be placed or removed: brings its entry into the cache, or, if it is `near`, what the entry points to. A
    /// hint: no effect on any result.
    #[inline]
    fn foresee(&self, page: Lpn, near: bool, blocks: &Blocks) {
        let _ = (page, near, blocks);
    }

    /// Brings what [`Directory::gather`] reads of `block` into the cache. A hint: no effect on any result.
    fn prefetch_block(&self, block: BlockId);

    /// Writes the owners of the valid ones of the first `written` pages of `block` to the beginning of `owners`, in
    /// the order in which the pages were written; `owners` has room for `written`. `prefetch_entries` brings their entries of the
    /// map into the cache, and changes no result.
    fn gather(&self, block: BlockId, written: u32, owners: &mut [Lpn], prefetch_entries: bool);

    /// The same as [`Directory::gather`], with the indices of those pages at the beginning of `indices`, which has as much room;
    /// how many they are.
    fn gather_listed(&self, block: BlockId, written: u32, owners: &mut [Lpn], indices: &mut [u32]) -> usize;

    /// Of the first `written` pages of `block`, those that now live elsewhere are valid no more; how many those are.
    fn forget_moved(&mut self, block: BlockId, written: u32) -> u32 {
        let _ = (block, written);
        0
    }

    /// Logical pages stored somewhere.
    fn mapped_pages(&self) -> u32;

    /// Bytes of memory.
    fn memory_bytes(&self) -> usize;

    /// Recounts the valid pages of every block and compares; `written(block)` is its write pointer.
    fn check(&self, blocks: &Blocks, written: impl Fn(BlockId) -> u32) -> Result<(), String>;
}

/// Compares each block's recounted valid pages with the block table.
///
/// Only candidates and open blocks are compared: a selected block's count is its last one, an erased block's is 0.
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
