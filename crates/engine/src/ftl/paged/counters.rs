//! Of which blocks the number of valid pages is held in RAM.

use crate::config::ConfigError;
use crate::validity::{ValidityConfig, ValiditySize};

/// Bytes of a block's number of valid pages (paper, App. B).
const COUNTER_BYTES: u64 = 2;

/// Bytes of a block's number, which each counter needs beside it where not every block has one.
const NUMBER_BYTES: u64 = 4;

/// Of which blocks the number of valid pages is held in RAM: the paper's block validity counters (BVC, App. B), of which it
/// says that "only storing a sample" would do (sec. 5.3).
///
/// Where not all are held, the validity store is asked about blocks drawn at random before each victim is chosen, and the
/// victim policy chooses among the blocks whose number is known. Blocks of metadata are few, and theirs are always held.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BlockCounters {
    /// Of all blocks.
    #[default]
    Full,
    /// Of a sample: of the blocks asked about, those with the fewest valid pages are remembered.
    Sampled {
        /// Share of the blocks that are remembered, above 0 and at most 1.
        share: f64,
        /// Blocks drawn for each victim, at least 2: with one, that is the victim, and nothing is left to be remembered.
        choices: u32,
    },
    /// Of none.
    None {
        /// Blocks drawn for each victim, at least 1.
        choices: u32,
    },
}

impl BlockCounters {
    /// Blocks drawn for each victim; `None` where all are known.
    pub fn choices(&self) -> Option<u32> {
        match *self {
            BlockCounters::Full => None,
            BlockCounters::Sampled { choices, .. } | BlockCounters::None { choices } => Some(choices),
        }
    }

    /// Of so many blocks, those of the user that are remembered from one victim to the next.
    pub fn kept(&self, blocks: u32) -> u32 {
        match *self {
            BlockCounters::Full => blocks,
            BlockCounters::Sampled { share, .. } => (f64::from(blocks) * share).ceil() as u32,
            BlockCounters::None { .. } => 0,
        }
    }

    /// Refuses what means nothing; errors name the key `counter_share` or `counter_choices`.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Some(choices) = self.choices() else { return Ok(()) };
        let is_sampled = matches!(self, BlockCounters::Sampled { .. });
        if choices < 1 + u32::from(is_sampled) {
            // The only block that is known is the next victim, and none is left to be remembered.
            let least = if is_sampled {
                "two blocks must be drawn for one to be remembered"
            } else {
                "one block must be drawn"
            };
            return Err(ConfigError::new("counter_choices", format!("is {choices}; at least {least}")));
        }
        if let BlockCounters::Sampled { share, .. } = *self
            && !(share > 0.0 && share <= 1.0)
        {
            let problem = format!("is {share}; it must be above 0 and at most 1");
            return Err(ConfigError::new("counter_share", problem));
        }
        Ok(())
    }

    /// Refuses a bitmap in RAM, too, from which valid pages are counted.
    pub(super) fn check_with(&self, validity: &ValidityConfig) -> Result<(), ConfigError> {
        if *self != BlockCounters::Full && matches!(validity, ValidityConfig::RamBitmap(_)) {
            let problem = "must be full with a bitmap in RAM, from which valid pages are counted";
            return Err(ConfigError::new("counters", problem));
        }
        self.check()
    }

    /// RAM that they take in the device, with the bits of each block drawn, and the blocks of which pages were reported last.
    pub(super) fn ram(&self, size: &ValiditySize, metadata_blocks: u64) -> u64 {
        let Some(choices) = self.choices() else { return COUNTER_BYTES * u64::from(size.blocks) };
        let rows = u64::from(self.kept(size.blocks)) + u64::from(choices) + metadata_blocks;
        let drawn = u64::from(size.pages_per_block.div_ceil(8)) + NUMBER_BYTES;
        (COUNTER_BYTES + NUMBER_BYTES) * rows + drawn * u64::from(choices)
    }
}

/// Blocks of metadata whose counters are always held, if every second page in them is one that was replaced.
pub(super) fn metadata_blocks(validity: &ValidityConfig, size: &ValiditySize, translation_pages: u32) -> u64 {
    let pages = u64::from(size.blocks) * u64::from(size.pages_per_block);
    let validity = match validity {
        ValidityConfig::RamBitmap(_) => 0,
        ValidityConfig::FlashBitmap(_) => pages.div_ceil(8 * u64::from(size.page_bytes)),
        ValidityConfig::Log(log) => {
            let log = log.config(size);
            log.entries.div_ceil(u64::from(log.page_entries()))
        }
        ValidityConfig::Gecko(gecko) => 2 * gecko.config(size).largest_run_pages(),
    };
    (2 * (u64::from(translation_pages) + validity)).div_ceil(u64::from(size.pages_per_block))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_take_what_appendix_b_says_and_a_number_each_where_not_all_are_there() {
        let size = ValiditySize { blocks: 1000, pages_per_block: 128, page_bytes: 4096, logical_pages: 9 };
        assert_eq!(BlockCounters::Full.ram(&size, 7), 2000);
        assert_eq!(BlockCounters::None { choices: 10 }.ram(&size, 7), 6 * 17 + 10 * 20);
        let sampled = BlockCounters::Sampled { share: 0.0501, choices: 2 };
        assert_eq!((sampled.kept(1000), sampled.ram(&size, 7)), (51, 6 * 60 + 2 * 20));
    }
}
