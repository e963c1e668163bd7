//! The flash that a bound is for.

/// The flash that a bound is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flash {
    /// Blocks, all that there are.
    pub blocks: u64,
    /// Pages of a block.
    pub pages_per_block: u32,
}

impl Flash {
    /// Pages of all blocks.
    pub(super) fn pages(self) -> u64 {
        self.blocks * u64::from(self.pages_per_block)
    }
}
