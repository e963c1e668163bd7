//! A bitmap with one bit per page, in RAM.

use crate::table::filled;
use crate::units::{BlockId, Slot};
use std::ops::Range;

/// A bitmap with one bit per page, block after block without gaps, so that the position of a page's bit only depends
/// on its slot.
#[derive(Clone, Debug, Default)]
pub struct RamBitmap {
    pages_per_block: usize,
    words: Vec<u64>,
}

/// Returns a mask of the bits of a word from bit `from % 64` on.
fn mask_from(from: usize) -> u64 {
    u64::MAX << (from % 64)
}

impl RamBitmap {
    /// Creates a bitmap in which all pages are valid. The bits of a block are only meaningful once it has been
    /// opened.
    pub fn new(blocks: u32, pages_per_block: u32) -> Self {
        let words = (u64::from(blocks) * u64::from(pages_per_block)).div_ceil(64);
        RamBitmap { pages_per_block: pages_per_block as usize, words: filled(words as usize, u64::MAX) }
    }

    /// Marks every page of `block` as valid when it is opened.
    ///
    /// If all bits are set in advance, writes access the bitmap only to clear bits. Readers of an open block's bits
    /// stop at its write pointer.
    #[inline]
    pub fn set_block(&mut self, block: BlockId) {
        self.set_run(block.index() * self.pages_per_block, self.pages_per_block);
    }

    /// Marks `pages` pages (at least one) from number `first` on as valid.
    #[inline]
    pub fn set_run(&mut self, first: usize, pages: usize) {
        let last = first + pages - 1;
        let (head, tail) = (mask_from(first), !(mask_from(last) << 1));
        match &mut self.words[first / 64..=last / 64] {
            [only] => *only |= head & tail,
            [begin, middle @ .., end] => {
                *begin |= head;
                middle.fill(u64::MAX);
                *end |= tail;
            }
            [] => {}
        }
    }

    /// Marks one page as valid.
    #[inline(always)]
    pub fn set(&mut self, slot: Slot) {
        self.words[slot.0 as usize / 64] |= 1 << (slot.0 % 64);
    }

    /// Marks one page as invalid.
    #[inline(always)]
    pub fn clear(&mut self, slot: Slot) {
        self.words[slot.0 as usize / 64] &= !(1 << (slot.0 % 64));
    }

    /// Marks pages as invalid whose bits are set in `marks`; bit 0 represents the page at `slot`.
    #[inline(always)]
    pub fn clear_marked(&mut self, slot: Slot, marks: u64) {
        let (word, shift) = (slot.0 as usize / 64, slot.0 % 64);
        self.words[word] &= !(marks << shift);
        let beyond = marks.checked_shr(64 - shift).unwrap_or(0);
        if beyond != 0 {
            self.words[word + 1] &= !beyond;
        }
    }

    /// Marks `pages` pages from `slot` on as invalid.
    #[inline]
    pub fn clear_run(&mut self, slot: Slot, pages: u32) {
        let (first, end) = (slot.0 as usize, slot.0 as usize + pages as usize);
        let mut at = first;
        while at < end {
            let next = (at | 63) + 1;
            let beyond = if next > end { mask_from(end) } else { 0 };
            self.words[at / 64] &= !(mask_from(at) & !beyond);
            at = next;
        }
    }

    /// True if the page is marked as valid.
    #[inline(always)]
    pub fn is_set(&self, slot: Slot) -> bool {
        self.words[slot.0 as usize / 64] >> (slot.0 % 64) & 1 == 1
    }

    /// True if all pages are marked as valid whose bits share a word with any page from `first` to `last`. Returns
    /// false if these are more than `max_words` words.
    #[inline(always)]
    pub fn are_set_around(&self, first: Slot, last: Slot, max_words: usize) -> bool {
        let words = &self.words[first.0 as usize / 64..=last.0 as usize / 64];
        words.len() <= max_words && words.iter().all(|&word| word == u64::MAX)
    }

    /// Splits the first `pages` pages of `block` by words of the bitmap. Calls `visit` with each range of pages and
    /// their bits, lowest bit first, in order.
    #[inline(always)]
    pub fn for_each_word(&self, block: BlockId, pages: u32, mut visit: impl FnMut(Range<u32>, u64)) {
        let first = block.index() * self.pages_per_block;
        let end = first + pages as usize;
        let mut at = first;
        while at < end {
            let next = ((at | 63) + 1).min(end);
            let length = next - at;
            let bits = self.words[at / 64] >> (at % 64) & (u64::MAX >> (64 - length));
            visit((at - first) as u32..(next - first) as u32, bits);
            at = next;
        }
    }

    /// Calls `visit` with the valid pages among the first `pages` pages of `block`, in order.
    #[inline(always)]
    pub fn for_each_valid(&self, block: BlockId, pages: u32, mut visit: impl FnMut(u32)) {
        let first = block.index() * self.pages_per_block;
        let end = first + pages as usize;
        let mut at = first;
        while at < end {
            let next = (at | 63) + 1;
            let mut bits = self.words[at / 64] & mask_from(at);
            if next > end {
                bits &= !mask_from(end);
            }
            let base = (at & !63) as u32;
            while bits != 0 {
                visit((base + bits.trailing_zeros()).wrapping_sub(first as u32));
                bits &= bits - 1;
            }
            at = next;
        }
    }

    /// Returns the address of the page's bit, for prefetching.
    #[inline(always)]
    pub(crate) fn address(&self, slot: Slot) -> *const u64 {
        self.words.as_ptr().wrapping_add(slot.0 as usize / 64)
    }

    /// Returns the memory used, in bytes.
    pub fn memory_bytes(&self) -> usize {
        8 * self.words.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// For any block size, the bitmap behaves like a table of booleans, even if blocks share words.
        #[test]
        fn bitmap_matches_boolean_table(
            pages_per_block in 1u32..=200,
            steps in prop::collection::vec((0u32..5, prop::option::of(0u32..200), any::<u64>()), 1..100),
        ) {
            let mut bitmap = RamBitmap::new(5, pages_per_block);
            let mut model = vec![true; 5 * pages_per_block as usize];
            for (block, page, marks) in steps {
                let first = block * pages_per_block;
                match page {
                    None => {
                        bitmap.set_block(BlockId(block));
                        model[first as usize..(first + pages_per_block) as usize].fill(true);
                    }
                    Some(page) => {
                        let slot = first + page % pages_per_block;
                        let run = page % (first + pages_per_block - slot);
                        bitmap.clear(Slot(slot));
                        bitmap.clear_run(Slot(slot), run);
                        model[slot as usize..(slot + run.max(1)) as usize].fill(false);
                        if marks & 1 == 1 {
                            bitmap.set(Slot(slot));
                            bitmap.set_run(slot as usize, run.max(1) as usize);
                            model[slot as usize..(slot + run.max(1)) as usize].fill(true);
                        }
                        let marks = marks.checked_shr(64 - (5 * pages_per_block - slot).min(64)).unwrap_or(0);
                        bitmap.clear_marked(Slot(slot), marks);
                        for at in (0..64).filter(|at| marks >> at & 1 == 1) {
                            model[slot as usize + at] = false;
                        }
                    }
                }
            }
            for (slot, &valid) in model.iter().enumerate() {
                prop_assert_eq!(bitmap.is_set(Slot(slot as u32)), valid);
                let around = &model[slot & !63..model.len().min((slot | 63) + 1)];
                let all = bitmap.are_set_around(Slot(slot as u32), Slot(slot as u32), 1);
                prop_assert_eq!(all, around.iter().all(|&valid| valid));
            }
            for (block, written) in (0..5).zip([0, 1, pages_per_block / 2, pages_per_block - 1, pages_per_block]) {
                let first = block * pages_per_block;
                let mut found = Vec::new();
                bitmap.for_each_valid(BlockId(block), written, |page| found.push(page));
                let expected: Vec<u32> =
                    (0..written).filter(|&page| model[(first + page) as usize]).collect();
                prop_assert_eq!(&found, &expected);
                found.clear();
                bitmap.for_each_word(BlockId(block), written, |pages, bits| {
                    assert!(pages.len() <= 64 && (pages.len() == 64 || bits >> pages.len() == 0));
                    found.extend(pages.clone().filter(|page| bits >> (page - pages.start) & 1 == 1));
                });
                prop_assert_eq!(found, expected);
            }
        }
    }
}
