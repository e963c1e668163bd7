//! Selection of blocks whose number of valid pages is kept in RAM.

use crate::config::ConfigError;
use crate::validity::{ValidityConfig, ValiditySize};

/// Bytes of a block's number of valid pages (paper, App. B).
const COUNTER_BYTES: u64 = 2;

/// Bytes of a block number, which is stored with each counter if not every block has a counter.
const NUMBER_BYTES: u64 = 4;

/// Selection of blocks whose number of valid pages is kept in RAM: the paper's block validity counters (BVC, App. B),
/// of which "only storing a sample" would be enough (sec. 5.3).
///
/// If not all blocks have counters, the validity store is queried about randomly drawn blocks before each victim is
/// chosen, and the victim policy chooses among the blocks with known numbers. Metadata blocks are few and always have
/// counters.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum BlockCounters {
    /// All blocks.
    #[default]
    Full,
    /// A sample: of the blocks queried, those with the fewest valid pages are remembered.
    Sampled {
        /// Fraction of the blocks that is remembered, above 0 and at most 1.
        fraction: f64,
        /// Number of blocks drawn for each victim, at least 2: a single block would become the victim, so that no block
        /// would be left to remember.
        choices: u32,
    },
    /// No blocks.
    None {
        /// Number of blocks drawn for each victim, at least 1.
        choices: u32,
    },
}

impl BlockCounters {
    /// Returns the number of blocks drawn for each victim; `None` if all counters are kept.
    pub fn choices(&self) -> Option<u32> {
        match *self {
            BlockCounters::Full => None,
            BlockCounters::Sampled { choices, .. } | BlockCounters::None { choices } => Some(choices),
        }
    }

    /// Returns the number of user blocks, of `blocks` blocks in all, that are remembered from one victim to the next.
    pub fn remembered(&self, blocks: u32) -> u32 {
        match *self {
            BlockCounters::Full => blocks,
            BlockCounters::Sampled { fraction: share, .. } => (f64::from(blocks) * share).ceil() as u32,
            BlockCounters::None { .. } => 0,
        }
    }

    /// Rejects invalid settings; errors name the key `counter_share` or `counter_choices`.
    pub fn check(&self) -> Result<(), ConfigError> {
        let Some(choices) = self.choices() else { return Ok(()) };
        let is_sampled = matches!(self, BlockCounters::Sampled { .. });
        if choices < 1 + u32::from(is_sampled) {
            // The only known block becomes the victim, so no block is left to remember.
            let requirement = if is_sampled {
                "two blocks must be drawn for one to be remembered"
            } else {
                "one block must be drawn"
            };
            return Err(ConfigError::new("counter_choices", format!("is {choices}; at least {requirement}")));
        }
        if let BlockCounters::Sampled { fraction: share, .. } = *self
            && !(share > 0.0 && share <= 1.0)
        {
            let problem = format!("is {share}; it must be above 0 and at most 1");
            return Err(ConfigError::new("counter_share", problem));
        }
        Ok(())
    }

    /// Rejects invalid settings. Also rejects anything but full counters with a bitmap in RAM: the bitmap already gives
    /// the number of valid pages of every block.
    pub(super) fn check_with(&self, validity: &ValidityConfig) -> Result<(), ConfigError> {
        if *self != BlockCounters::Full && matches!(validity, ValidityConfig::RamBitmap(_)) {
            let problem = "must be full with a bitmap in RAM, from which valid pages are counted";
            return Err(ConfigError::new("counters", problem));
        }
        self.check()
    }

    /// Returns the RAM for counters in the device, including the bits of each drawn block and the list of blocks with
    /// the most recently reported pages.
    pub(super) fn ram(&self, size: &ValiditySize, metadata_blocks: u64) -> u64 {
        let Some(choices) = self.choices() else { return COUNTER_BYTES * u64::from(size.blocks) };
        let rows = u64::from(self.remembered(size.blocks)) + u64::from(choices) + metadata_blocks;
        let drawn = u64::from(size.pages_per_block.div_ceil(8)) + NUMBER_BYTES;
        (COUNTER_BYTES + NUMBER_BYTES) * rows + drawn * u64::from(choices)
    }
}

/// Returns the number of metadata blocks, whose counters are always kept, if every second page in them is an old
/// version.
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
    fn counter_ram_matches_appendix_b() {
        let size = ValiditySize { blocks: 1000, pages_per_block: 128, page_bytes: 4096, logical_pages: 9 };
        assert_eq!(BlockCounters::Full.ram(&size, 7), 2000);
        assert_eq!(BlockCounters::None { choices: 10 }.ram(&size, 7), 6 * 17 + 10 * 20);
        let sampled = BlockCounters::Sampled { fraction: 0.0501, choices: 2 };
        assert_eq!((sampled.remembered(1000), sampled.ram(&size, 7)), (51, 6 * 60 + 2 * 20));
    }
}
