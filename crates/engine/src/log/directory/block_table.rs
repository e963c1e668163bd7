//! A directory that stores only the block of each logical page.

use super::Directory;
use super::recording::{PageEntries, Writes, record_pages};
use crate::table::{Table, prefetch};
use crate::units::{BlockId, Lpn};
use crate::victim::Blocks;

const NO_BLOCK: BlockId = BlockId(u32::MAX);

/// Maps each logical page to its block.
///
/// With a single frontier reclaimed in place, a victim's live pages stay in their block. Neither the map nor the
/// policies depend on the identity of the pages, so all counts are exact for any workload. The cost of cleaning does
/// not depend on the number of moved pages. Features that need the position of a page (its content, its spare area,
/// the time of a read) are not available.
///
/// Memory: 4 bytes per logical page.
pub struct BlockTable {
    blocks: Table<BlockId>,
    mapped: u32,
}

impl BlockTable {
    /// Returns a table without any stored page.
    pub fn new(logical_pages: u32) -> Self {
        BlockTable { blocks: Table::filled(logical_pages as usize, NO_BLOCK), mapped: 0 }
    }
}

impl PageEntries for BlockTable {
    type Location = BlockId;

    #[inline(always)]
    fn prefetch_entry(&self, page: Lpn) {
        prefetch(self.blocks.as_ptr().wrapping_add(page.index()));
    }

    #[inline(always)]
    fn prefetch_location(&self, page: Lpn, blocks: &Blocks) {
        blocks.prefetch_score(self.blocks[page.index()]);
    }

    #[inline(always)]
    fn location_bytes(&self, blocks: &Blocks) -> usize {
        size_of_val(blocks.scores())
    }

    #[inline(always)]
    fn set_location(&mut self, page: Lpn, at: BlockId) -> Option<BlockId> {
        let old = std::mem::replace(&mut self.blocks[page.index()], at);
        if old == NO_BLOCK {
            self.mapped += 1;
            return None;
        }
        Some(old)
    }
}

impl Directory for BlockTable {
    const PAGE_EXACT: bool = false;
    const NAME: &'static str = "block";

    fn open(&mut self, _block: BlockId) {}

    #[inline]
    fn record_writes(
        &mut self,
        block: BlockId,
        _page: u32,
        writes: Writes<'_>,
        blocks: &mut Blocks,
        on_invalidate: impl FnMut(BlockId, u32, &Blocks),
    ) {
        record_pages(self, writes, |_| block, blocks, on_invalidate);
    }

    fn relocate(&mut self, _block: BlockId, _page: u32, _run: &[Lpn]) {
        unreachable!("a directory without page identities moves no pages between blocks");
    }

    fn are_unstored(&self, _first: Lpn, _pages: usize) -> bool {
        unreachable!("a directory without page identities lists no owners");
    }

    fn enter_owners(&mut self, _block: BlockId, _page: u32, _first: Lpn, _pages: usize) -> &[Lpn] {
        unreachable!("a directory without page identities lists no owners");
    }

    fn record_run(&mut self, _block: BlockId, _page: u32, _first: Lpn, _pages: usize) {
        unreachable!("a directory without page identities lists no owners");
    }

    fn remove(&mut self, page: Lpn) -> Option<BlockId> {
        let old = std::mem::replace(&mut self.blocks[page.index()], NO_BLOCK);
        (old != NO_BLOCK).then(|| {
            self.mapped -= 1;
            old
        })
    }

    fn block_of(&self, page: Lpn) -> Option<BlockId> {
        let block = self.blocks[page.index()];
        (block != NO_BLOCK).then_some(block)
    }

    fn page_in_block(&self, _page: Lpn) -> Option<u32> {
        None
    }

    fn prefetch_block(&self, _block: BlockId) {}

    fn gather(&self, _: BlockId, _: u32, _: &mut [Lpn], _: bool) {
        unreachable!("a directory without page identities cannot list a block's pages");
    }

    fn gather_listed(&self, _: BlockId, _: u32, _: &mut [Lpn], _: &mut [u32]) -> usize {
        unreachable!("a directory without page identities cannot list a block's pages");
    }

    fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    fn memory_bytes(&self) -> usize {
        4 * self.blocks.len()
    }

    fn check(&self, blocks: &Blocks, written: impl Fn(BlockId) -> u32) -> Result<(), String> {
        let mut valid = vec![0u32; blocks.len() as usize];
        for &block in self.blocks.iter().filter(|&&block| block != NO_BLOCK) {
            valid[block.index()] += 1;
        }
        let mapped: u32 = valid.iter().sum();
        if mapped != self.mapped {
            return Err(format!("{mapped} pages are mapped, {} are counted", self.mapped));
        }
        super::check_counts(blocks, &valid, written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mapped_pages_are_counted_once() {
        let mut table = BlockTable::new(5);
        assert_eq!((table.memory_bytes(), table.mapped_pages(), table.block_of(Lpn(2))), (20, 0, None));
        assert_eq!(table.set_location(Lpn(2), BlockId(7)), None);
        assert_eq!(table.set_location(Lpn(4), BlockId(7)), None);
        assert_eq!(table.set_location(Lpn(2), BlockId(3)), Some(BlockId(7)));
        assert_eq!((table.mapped_pages(), table.block_of(Lpn(2))), (2, Some(BlockId(3))));
        assert_eq!(
            (table.remove(Lpn(2)), table.remove(Lpn(2)), table.mapped_pages()),
            (Some(BlockId(3)), None, 1)
        );
        assert_eq!((table.block_of(Lpn(4)), table.page_in_block(Lpn(4))), (Some(BlockId(7)), None));
    }
}
