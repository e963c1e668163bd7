//! Packed entries.
//!
//! An entry consists of one or more words. The first contains, from the top, the key, the erase flag and as many bits
//! of the bitmap as fit; on most devices these are all bits. Entries are therefore sorted like numbers, and bitmaps
//! of equal keys are combined with a plain OR. The key is the number of the part among all parts of the device. An
//! erase is represented by the flag in the entry of the block's first part: it comes before the block's other entries
//! and makes all older entries of the block obsolete.

use super::config::GeckoConfig;
use crate::units::{BlockId, Divider, Slot};
use crate::validity::PageSet;

/// Layout of an entry.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    /// Entries per block.
    pub parts: u32,
    /// Words of an entry.
    pub stride: usize,
    /// The erase flag in the first word; the bits below it belong to the bitmap.
    pub flag: u64,
    pages_per_block: u32,
    block_of: Divider,
    part_of: Divider,
    /// Number of bitmap bits in the first word.
    head_bits: u32,
}

/// Layout of an entry's words in memory. The first word contains the key, below it the erase flag, and below that as
/// many bits of the bitmap as fit; the other words contain the rest of the bitmap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryWords {
    /// Words per entry.
    pub stride: usize,
    /// Number of bitmap bits in the first word.
    pub head_bits: u32,
}

impl GeckoConfig {
    /// Returns the layout of an entry's words in memory, for conversion to other formats.
    pub fn entry_words(&self) -> EntryWords {
        let layout = Layout::new(self);
        EntryWords { stride: layout.stride, head_bits: layout.head_bits }
    }
}

impl Layout {
    pub fn new(config: &GeckoConfig) -> Self {
        // There is one value more than there are keys, so that no first word of an entry has only ones.
        let key_bits = 64 - config.max_entries().leading_zeros();
        let head_bits = 63 - key_bits;
        let rest = config.part_pages().saturating_sub(head_bits);
        Layout {
            parts: config.parts(),
            stride: 1 + rest.div_ceil(64) as usize,
            flag: 1 << head_bits,
            pages_per_block: config.pages_per_block,
            block_of: Divider::new(config.pages_per_block),
            part_of: Divider::new(config.part_pages()),
            head_bits,
        }
    }

    /// Returns the key in an entry's first word.
    #[inline(always)]
    pub fn key(&self, head: u64) -> u64 {
        head >> (self.head_bits + 1)
    }

    /// Returns the first word of an entry without bits.
    #[inline(always)]
    pub fn head(&self, key: u64) -> u64 {
        key << (self.head_bits + 1)
    }

    /// Returns the key of the block's first part.
    #[inline(always)]
    pub fn first_key(&self, block: BlockId) -> u64 {
        u64::from(block.0) * u64::from(self.parts)
    }

    pub fn block(&self, key: u64) -> BlockId {
        BlockId((key / u64::from(self.parts)) as u32)
    }

    /// Returns the page's key, and its bit in the entry as word index and mask.
    #[inline(always)]
    pub fn locate(&self, page: Slot) -> (u64, usize, u64) {
        let block = self.block_of.quotient(page.0);
        let page = page.0 - block * self.pages_per_block;
        let part = self.part_of.quotient(page);
        let bit = page - part * self.part_of.divisor();
        let key = u64::from(block) * u64::from(self.parts) + u64::from(part);
        match bit.checked_sub(self.head_bits) {
            None => (key, 0, 1 << bit),
            Some(bit) => (key, 1 + bit as usize / 64, 1 << (bit % 64)),
        }
    }

    /// True if an entry has neither the flag nor any bit.
    #[inline(always)]
    pub fn is_blank(&self, entry: &[u64]) -> bool {
        entry[0] & (2 * self.flag - 1) == 0 && entry[1..].iter().all(|word| *word == 0)
    }

    /// Returns the number of invalid pages in the entry.
    pub fn count(&self, entry: &[u64]) -> u32 {
        let rest: u32 = entry[1..].iter().map(|word| word.count_ones()).sum();
        (entry[0] & (self.flag - 1)).count_ones() + rest
    }

    /// Adds the entry's invalid pages to a set of pages of its block.
    pub fn collect(&self, entry: &[u64], invalid: &mut PageSet) {
        let part = self.key(entry[0]) % u64::from(self.parts);
        let from = part as u32 * self.part_of.divisor();
        invalid.insert_bits(from, entry[0] & (self.flag - 1));
        for (word, &bits) in (0..).zip(&entry[1..]) {
            invalid.insert_bits(from + self.head_bits + 64 * word, bits);
        }
    }

    /// Returns the index of the first entry of a sorted list whose key is at least `key`.
    pub fn find(&self, entries: &[u64], key: u64) -> usize {
        if self.stride == 1 {
            return entries.partition_point(|head| self.key(*head) < key);
        }
        let (mut low, mut high) = (0, entries.len() / self.stride);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.key(entries[middle * self.stride]) < key { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Adds the invalid pages of a block from a sorted list. Returns true if the block was erased after all older
    /// entries.
    pub fn collect_block(&self, entries: &[u64], block: BlockId, invalid: &mut PageSet) -> bool {
        let first = self.first_key(block);
        let end = first + u64::from(self.parts);
        let mut is_erased = false;
        for entry in entries[self.find(entries, first) * self.stride..].chunks_exact(self.stride) {
            if self.key(entry[0]) >= end {
                break;
            }
            is_erased |= entry[0] & self.flag != 0;
            self.collect(entry, invalid);
        }
        is_erased
    }
}
