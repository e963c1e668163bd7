//! One bit a page, in RAM.

use crate::table::filled;
use crate::units::BlockId;

/// A bit for every page, each block's bits beginning on a word of its own.
#[derive(Clone, Debug)]
pub struct RamBitmap {
    words_per_block: usize,
    words: Vec<u64>,
}

impl RamBitmap {
    /// All pages valid; a block's bits mean something only from the time it is opened.
    pub fn new(blocks: u32, pages_per_block: u32) -> Self {
        let words_per_block = pages_per_block.div_ceil(64) as usize;
        RamBitmap { words_per_block, words: filled(words_per_block * blocks as usize, u64::MAX) }
    }

    #[inline(always)]
    fn word(&self, block: BlockId, page: u32) -> usize {
        block.index() * self.words_per_block + (page / 64) as usize
    }

    /// Marks every page of `block` valid, as it opens.
    ///
    /// Setting all bits beforehand leaves the write path with a single kind of access, the clearing
    /// of a bit; whoever reads the bits of an open block stops at its write pointer.
    #[inline]
    pub fn set_block(&mut self, block: BlockId) {
        let first = block.index() * self.words_per_block;
        self.words[first..first + self.words_per_block].fill(u64::MAX);
    }

    /// Marks one page invalid.
    #[inline(always)]
    pub fn clear(&mut self, block: BlockId, page: u32) {
        let word = self.word(block, page);
        self.words[word] &= !(1 << (page % 64));
    }

    /// Whether the page is marked valid.
    pub fn is_set(&self, block: BlockId, page: u32) -> bool {
        self.words[self.word(block, page)] >> (page % 64) & 1 == 1
    }

    /// Calls `visit` with the valid ones of the first `pages` pages of `block`, in order.
    #[inline(always)]
    pub fn for_each_valid(&self, block: BlockId, pages: u32, mut visit: impl FnMut(u32)) {
        let first = block.index() * self.words_per_block;
        let mut base = 0;
        for &word in &self.words[first..first + self.words_per_block] {
            let left = pages - base;
            let mut bits = if left >= 64 { word } else { word & ((1 << left) - 1) };
            while bits != 0 {
                visit(base + bits.trailing_zeros());
                bits &= bits - 1;
            }
            base += 64;
            if base >= pages {
                break;
            }
        }
    }

    /// Where the page's bit lives, for prefetching.
    #[inline(always)]
    pub(crate) fn address(&self, block: BlockId, page: u32) -> *const u64 {
        self.words.as_ptr().wrapping_add(self.word(block, page))
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        8 * self.words.len()
    }
}
