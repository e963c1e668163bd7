//! Which blocks are emptied to even out wear, and which erased block is opened next.
//!
//! After Appendix D of N. Dayan, P. Bonnet and S. Idreos, "GeckoFTL: Scalable Flash Translation Techniques For Very Large
//! Flash Devices", SIGMOD 2016.
//!
//! A device keeps no erase counts in RAM: a block's wear is in its spare area, and to know it is a read of that. A policy names
//! blocks; the engine moves what they hold.
//!
//! To add a policy: write `wear/<name>.rs` with a configuration that implements [`WearKind`] and a policy that implements
//! [`WearLevelling`], and add its line to the table at the end of this file.

mod none;
mod pool;
mod scan;
mod start_gap;
mod statistics;
#[cfg(test)]
mod tests;

pub use none::Config as NoLevelling;
pub use scan::{Config as ScanConfig, Scan};
pub use start_gap::{Config as StartGapConfig, StartGap};
pub use statistics::{Range, Statistics};

use crate::config::{ConfigError, Entry, StoreSize, named_config};
use crate::layer::RamPart;
use crate::units::BlockId;
use std::collections::VecDeque;

/// What a block's spare area says of its wear (paper, App. D: 2 and 4 bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockWear {
    /// How often the block was erased.
    pub erases: u32,
    /// Its erase timestamp: what [`WearLevelling::erased`] answered when it was erased last; 0 if it never was.
    pub erased_at: u32,
}

/// A block as recovery finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundBlock {
    /// The block.
    pub block: BlockId,
    /// Its wear.
    pub wear: BlockWear,
    /// Whether it is erased.
    pub is_erased: bool,
}

/// Evens out the wear of blocks.
pub trait WearLevelling: Send {
    /// A block whose pages are to be moved now; asked again and again while the device writes.
    ///
    /// `programs` pages were programmed since the last call. `look` reads the spare area of a block and is `None`, at no cost,
    /// for a bad one. A block that cannot be moved, because it is open, erased or holds metadata, is left as it is.
    fn next_move(
        &mut self,
        programs: u64,
        look: &mut dyn FnMut(BlockId) -> Option<BlockWear>,
    ) -> Option<BlockId>;

    /// Which of the erased blocks, of which there is at least one, is opened: an index into `free`, which has them in the order
    /// in which they were erased. `hot`: for pages that will soon be written again.
    fn choose(&mut self, free: &VecDeque<BlockId>, hot: bool) -> usize {
        let _ = (free, hot);
        0
    }

    /// Whether the spare area of a block is to be read before it is erased, because its erase count is of interest.
    fn counts_erases(&self) -> bool {
        false
    }

    /// `block` was erased, `erases` times so far (0 unless [`WearLevelling::counts_erases`]). The erase timestamp that goes
    /// into its spare area.
    fn erased(&mut self, block: BlockId, erases: u32) -> u32;

    /// All blocks but the bad ones, as recovery from power loss found them in reading a spare area of each anyway.
    fn recover(&mut self, found: &[FoundBlock]) {
        let _ = found;
    }

    /// RAM in the device.
    fn ram(&self) -> Vec<RamPart>;

    /// How often things happened, by name.
    fn counts(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The configuration of a policy.
pub trait WearKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// The policy for a store of the given size; `None` for none, which costs nothing.
    fn build(&self, size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError>;
}

named_config! {
    /// How wear is levelled, with its settings: a name, or a table with the name as `kind`.
    enum WearConfig, list WEAR_LEVELLINGS, aliases WEAR_ALIASES,
    of WearKind, called "wear levelling", tag "kind";
    None: none::Config;
    Scan: scan::Config;
    StartGap: start_gap::Config;
}

impl WearConfig {
    /// The policy for a store of the given size; `None` for none.
    ///
    /// # Errors
    ///
    /// The key of a setting that means nothing, and what is allowed.
    pub fn build(&self, size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
        match self {
            WearConfig::None(config) => config.build(size),
            WearConfig::Scan(config) => config.build(size),
            WearConfig::StartGap(config) => config.build(size),
        }
    }
}

impl Default for WearConfig {
    /// None.
    fn default() -> Self {
        WearConfig::None(none::Config::default())
    }
}
