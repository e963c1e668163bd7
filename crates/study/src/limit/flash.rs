//! Flash geometry of a lower bound.

/// Flash geometry of a lower bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlashGeometry {
    /// Number of all blocks.
    pub blocks: u64,
    /// Pages per block.
    pub pages_per_block: u32,
}

impl FlashGeometry {
    /// Returns the number of pages of all blocks.
    pub(super) fn pages(self) -> u64 {
        self.blocks * u64::from(self.pages_per_block)
    }
}
