//! Sizes and settings of Logarithmic Gecko.

use crate::config::ConfigError;

/// Sizes and settings of Logarithmic Gecko; [`GeckoConfig::new`] gives those that the paper recommends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GeckoConfig {
    /// Blocks of the device (K).
    pub blocks: u32,
    /// Pages in each (B).
    pub pages_per_block: u32,
    /// Size of a page, bytes (P).
    pub page_bytes: u32,
    /// Ratio between the sizes of levels (T), at least 2: with more, queries are cheaper and updates dearer.
    pub size_ratio: u32,
    /// Parts that the bitmap of a block is cut into (S), from 1 to the block's pages.
    pub partitions: u32,
    /// Whether a merge takes in all runs that it would lead to merging next (Appendix A).
    pub multiway: bool,
    /// Whether the buffer is written after as many updates as it has room for entries, even if fewer entries are in it, so
    /// that recovery has no more to find (Appendix C.2.2).
    pub buffer_inserts_limited: bool,
    /// Bits that an entry's key and erase flag take in flash.
    pub key_bits: u32,
}

impl GeckoConfig {
    /// Size ratio 2, keys of 32 bits, blocks cut into parts of as many bits, multi-way merges.
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

    /// Pages of a block that one entry tells of.
    pub fn part_pages(&self) -> u32 {
        self.pages_per_block.div_ceil(self.partitions)
    }

    /// Parts of a block: S, or fewer where parts of equal size cover the block with fewer.
    pub fn parts(&self) -> u32 {
        self.pages_per_block.div_ceil(self.part_pages())
    }

    /// Entries of a flash page (V). As in the paper, headers are left out of it: they go to the spare area.
    pub fn page_entries(&self) -> u32 {
        (u64::from(self.page_bytes) * 8 / u64::from(self.key_bits + self.part_pages())) as u32
    }

    /// Entries if each part of each block had one.
    pub fn most_entries(&self) -> u64 {
        u64::from(self.blocks) * u64::from(self.parts())
    }

    /// Pages of a run of all entries, if they were packed without gaps.
    pub fn largest_run_pages(&self) -> u64 {
        self.most_entries().div_ceil(u64::from(self.page_entries()))
    }

    /// Levels that the paper reckons with (L): the logarithm of the largest run's pages to base T, rounded up.
    pub fn levels(&self) -> u32 {
        let mut level = 0;
        while u64::from(self.size_ratio).pow(level) < self.largest_run_pages() {
            level += 1;
        }
        level.max(1)
    }

    pub(super) fn check(&self) -> Result<(), ConfigError> {
        if self.size_ratio < 2 {
            return Err(refused("size_ratio", self.size_ratio, "at least 2"));
        }
        if self.blocks == 0 {
            return Err(refused("blocks", 0, "at least 1"));
        }
        if self.partitions == 0 || self.partitions > self.pages_per_block {
            let allowed = format!("from 1 to the {} pages of a block", self.pages_per_block);
            return Err(refused("partitions", self.partitions, &allowed));
        }
        let slots = u64::from(self.blocks) * u64::from(self.pages_per_block);
        if slots >= u64::from(u32::MAX) {
            let allowed =
                format!("below {}, so that all pages have a number", u32::MAX / self.pages_per_block);
            return Err(refused("blocks", self.blocks, &allowed));
        }
        let needed = 65 - self.most_entries().leading_zeros();
        if !(needed..=64).contains(&self.key_bits) {
            let allowed = format!("from {needed}, for all keys and the erase flag, to 64");
            return Err(refused("key_bits", self.key_bits, &allowed));
        }
        if self.page_entries() < 2 {
            let least = (2 * (self.key_bits + self.part_pages())).div_ceil(8);
            return Err(refused(
                "page_bytes",
                self.page_bytes,
                &format!("at least {least}, for two entries"),
            ));
        }
        Ok(())
    }
}

fn refused(key: &str, value: u32, allowed: &str) -> ConfigError {
    ConfigError::new(key, format!("is {value}; it must be {allowed}"))
}
