//! A set of pages of one block.

use crate::table::{filled, prefetch};

/// A set of pages of one block: bit `i` represents page `i`. A set is intended to be reused for other blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageSet {
    pages: u32,
    words: Vec<u64>,
}

impl PageSet {
    /// Creates an empty set for a block of `pages` pages.
    pub fn new(pages: u32) -> Self {
        PageSet { pages, words: filled(pages.div_ceil(64) as usize, 0) }
    }

    /// Returns the number of pages in the block.
    pub fn pages(&self) -> u32 {
        self.pages
    }

    /// Empties the set.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// Adds a page.
    #[inline(always)]
    pub fn insert(&mut self, page: u32) {
        debug_assert!(page < self.pages, "page {page} of {}", self.pages);
        self.words[page as usize / 64] |= 1 << (page % 64);
    }

    /// Prefetches the bit of the page.
    #[inline(always)]
    pub fn prefetch(&self, page: u32) {
        prefetch(self.words.as_ptr().wrapping_add(page as usize / 64));
    }

    /// Removes a page.
    #[inline(always)]
    pub fn remove(&mut self, page: u32) {
        self.words[page as usize / 64] &= !(1 << (page % 64));
    }

    /// Adds the pages whose bits are set; bit 0 represents page `from`.
    #[inline]
    pub(super) fn insert_bits(&mut self, from: u32, bits: u64) {
        let (word, shift) = (from as usize / 64, from % 64);
        if bits != 0 {
            self.words[word] |= bits << shift;
            let rest = bits.checked_shr(64 - shift).unwrap_or(0);
            if rest != 0 {
                self.words[word + 1] |= rest;
            }
        }
    }

    /// True if the page is in the set.
    #[inline(always)]
    pub fn contains(&self, page: u32) -> bool {
        self.words[page as usize / 64] >> (page % 64) & 1 == 1
    }

    /// Returns the number of pages in the set.
    pub fn count(&self) -> u32 {
        self.words.iter().map(|word| word.count_ones()).sum()
    }

    /// Returns the bits, 64 pages per word; those after the last page are 0.
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}
