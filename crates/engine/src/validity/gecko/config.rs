//! Sizes and settings of Logarithmic Gecko.

use crate::config::ConfigError;

/// Sizes and settings of Logarithmic Gecko; [`GeckoConfig::new`] returns those that the paper recommends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeckoConfig {
    /// Number of blocks of the device (K).
    pub blocks: u32,
    /// Pages per block (B).
    pub pages_per_block: u32,
    /// Size of a page in bytes (P).
    pub page_bytes: u32,
    /// Size ratio of successive levels (T), at least 2: a larger ratio makes queries cheaper and updates more
    /// expensive.
    pub size_ratio: u32,
    /// Number of parts into which a block's bitmap is divided (S), from 1 to the pages per block.
    pub partitions: u32,
    /// True if a merge includes all runs that would have to be merged next (Appendix A).
    pub multiway: bool,
    /// True if the buffer is written after as many updates as it can hold entries, even if it contains fewer entries;
    /// this limits the updates that recovery must find (Appendix C.2.2).
    pub buffer_inserts_limited: bool,
    /// Bits of an entry's key and erase flag in flash.
    pub key_bits: u32,
}

impl GeckoConfig {
    /// Returns the recommended settings: size ratio 2, keys of 32 bits, parts of 32 pages, multi-way merges.
    pub fn new(blocks: u32, pages_per_block: u32, page_bytes: u32) -> Self {
        GeckoConfig {
            blocks,
            pages_per_block,
            page_bytes,
            size_ratio: 2,
            partitions: (pages_per_block / 32).max(1),
            multiway: true,
            buffer_inserts_limited: false,
            key_bits: 32,
        }
    }

    /// Returns the number of pages of a block that one entry covers.
    pub fn part_pages(&self) -> u32 {
        self.pages_per_block.div_ceil(self.partitions)
    }

    /// Returns the number of parts of a block: S, or fewer if fewer parts of equal size cover the block.
    pub fn parts(&self) -> u32 {
        self.pages_per_block.div_ceil(self.part_pages())
    }

    /// Returns the number of entries per flash page (V). As in the paper, headers do not count: they are in the spare
    /// area.
    pub fn page_entries(&self) -> u32 {
        (u64::from(self.page_bytes) * 8 / u64::from(self.key_bits + self.part_pages())) as u32
    }

    /// Returns the number of entries if each part of each block has an entry.
    pub fn max_entries(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.parts())
    }

    /// Returns the number of pages of a run with all entries, packed without gaps.
    pub fn largest_run_pages(&self) -> u64 {
        self.max_entries().div_ceil(u64::from(self.page_entries()))
    }

    /// Returns the number of levels in the paper's formulas (L): the logarithm of the largest run's pages to base T,
    /// rounded up.
    pub fn levels(&self) -> u32 {
        let mut level = 0;
        while u64::from(self.size_ratio).pow(level) < self.largest_run_pages() {
            level += 1;
        }
        level.max(1)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.size_ratio < 2 {
            return Err(rejected("size_ratio", self.size_ratio, "at least 2"));
        }
        if self.blocks == 0 {
            return Err(rejected("blocks", 0, "at least 1"));
        }
        if self.partitions == 0 || self.partitions > self.pages_per_block {
            let allowed = format!("from 1 to the {} pages of a block", self.pages_per_block);
            return Err(rejected("partitions", self.partitions, &allowed));
        }
        let slots = u64::from(self.blocks) * u64::from(self.pages_per_block);
        if slots >= u64::from(u32::MAX) {
            let allowed =
                format!("below {}, so that all pages have a number", u32::MAX / self.pages_per_block);
            return Err(rejected("blocks", self.blocks, &allowed));
        }
        let needed = 65 - self.max_entries().leading_zeros();
        if !(needed..=64).contains(&self.key_bits) {
            let allowed = format!("from {needed}, for all keys and the erase flag, to 64");
            return Err(rejected("key_bits", self.key_bits, &allowed));
        }
        if self.page_entries() < 2 {
            let min_bytes = (2 * (self.key_bits + self.part_pages())).div_ceil(8);
            return Err(rejected(
                "page_bytes",
                self.page_bytes,
                &format!("at least {min_bytes}, for two entries"),
            ));
        }
        Ok(())
    }
}

fn rejected(key: &str, value: u32, allowed: &str) -> ConfigError {
    ConfigError::new(key, format!("is {value}; it must be {allowed}"))
}
