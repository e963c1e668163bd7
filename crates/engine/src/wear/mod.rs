//! Wear levelling policies: selection of blocks to empty, and of the erased block to open next.
//!
//! After Appendix D of N. Dayan, P. Bonnet and S. Idreos, "GeckoFTL: Scalable Flash Translation Techniques For Very
//! Large Flash Devices", SIGMOD 2016.
//!
//! A device keeps no erase counts in RAM: a block's wear is in its spare area, and must be read from there. A policy
//! selects blocks; the engine moves their pages.
//!
//! To add a policy: write `wear/<name>.rs` with a configuration that implements [`WearKind`] and a policy that
//! implements [`WearLevelling`], and add its line to the table at the end of this file.

mod erased_blocks;
mod none;
mod scan;
mod start_gap;
mod statistics;
#[cfg(test)]
mod tests;

pub use none::Config as NoLevelling;
pub use scan::{Config as ScanConfig, Scan};
pub use start_gap::{Config as StartGapConfig, StartGap};
pub use statistics::{Statistics, Summary};

use crate::config::{ConfigError, Entry, StoreSize, named_config};
use crate::layer::RamPart;
use crate::units::BlockId;
use std::collections::VecDeque;

/// Wear data in a block's spare area (paper, App. D: 2 and 4 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockWear {
    /// Erase count.
    pub erases: u32,
    /// Erase timestamp: the result of [`WearLevelling::erased`] at the last erase; 0 if the block was never erased.
    pub erased_at: u32,
}

/// A block as found by recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveredBlock {
    /// The block.
    pub block: BlockId,
    /// Wear of the block.
    pub wear: BlockWear,
    /// True if the block is erased.
    pub is_erased: bool,
}

/// Policy that evens out the wear of blocks.
pub trait WearLevelling: Send {
    /// Returns a block whose pages are to be moved now; called repeatedly while the device writes.
    ///
    /// `programs` pages were programmed since the last call. `read_wear` reads the spare area of a block and returns
    /// `None`, at no cost, for a bad block. A block that cannot be moved, because it is open, erased or holds
    /// metadata, is left unchanged.
    fn next_move(
        &mut self,
        programs: u64,
        read_wear: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId>;

    /// Selects the erased block to open, as an index into `free`, which is not empty and in the order of erases.
    /// `is_hot` is true for pages that will be rewritten soon.
    fn choose(&mut self, free: &VecDeque<BlockId>, is_hot: bool) -> usize {
        let _ = (free, is_hot);
        0
    }

    /// True if the spare area of a block must be read before the block is erased, because the policy uses erase counts.
    fn uses_erase_counts(&self) -> bool {
        false
    }

    /// Notifies the policy that `block` was erased, for the `erases`-th time (0 unless
    /// [`WearLevelling::uses_erase_counts`]). Returns the erase timestamp for its spare area.
    fn erased(&mut self, block: BlockId, erases: u32) -> u32;

    /// Notifies the policy of all blocks that are not bad, as found by recovery, which reads a spare area of each block
    /// in any case.
    fn recover(&mut self, found: &[RecoveredBlock]) {
        let _ = found;
    }

    /// Returns the RAM that the policy needs in the device.
    fn ram(&self) -> Vec<RamPart>;

    /// Returns event counts, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The configuration of a policy.
pub trait WearKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Builds the policy for a store of the given size; `None` without wear levelling, which has no cost.
    fn build(&self, size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError>;
}

named_config! {
    /// Wear levelling, with its settings: a name, or a table with the name as `kind`.
    enum WearConfig, list WEAR_LEVELLINGS, aliases WEAR_ALIASES,
    of WearKind, called "wear levelling", tag "kind";
    None: none::Config;
    Scan: scan::Config;
    StartGap: start_gap::Config;
}

impl WearConfig {
    /// Builds the policy for a store of the given size; `None` without wear levelling.
    ///
    /// # Errors
    ///
    /// Names the key of an invalid setting, and the allowed values.
    pub fn build(&self, size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
        match self {
            WearConfig::None(config) => config.build(size),
            WearConfig::Scan(config) => config.build(size),
            WearConfig::StartGap(config) => config.build(size),
        }
    }
}

impl Default for WearConfig {
    /// Returns no wear levelling.
    fn default() -> Self {
        WearConfig::None(none::Config::default())
    }
}
