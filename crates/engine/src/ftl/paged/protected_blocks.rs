//! Blocks that must not be erased yet.

use crate::table::{filled, prefetch};
use crate::units::BlockId;

/// Blocks that must not be erased before the validity store has written its buffer, each with a sequence number. The
/// blocks contain versions of translation pages from which the contents of the buffer could be reconstructed (paper,
/// App. C.2.2); the number is that of the next version.
#[derive(Debug, Default)]
pub struct ProtectedBlocks {
    blocks: Vec<(BlockId, u64)>,
    /// Position of each block in this list, plus 1; 0 if it is not listed. May be shorter than the number of blocks.
    positions: Vec<u32>,
    /// Sequence number of the last release; `None` if a block to which this release would apply was added since.
    released: Option<u64>,
    /// Number of times that a block lost its protection.
    pub release_count: u64,
}

impl ProtectedBlocks {
    /// Creates an empty list for `blocks` blocks.
    pub fn new(blocks: u32) -> Self {
        ProtectedBlocks { positions: filled(blocks as usize, 0), ..ProtectedBlocks::default() }
    }

    /// Prefetches the entry of a block that may soon be protected.
    #[inline]
    pub fn prefetch(&self, block: BlockId) {
        if let Some(position) = self.positions.get(block.index()) {
            prefetch(position);
        }
    }

    #[inline]
    fn position(&self, block: BlockId) -> Option<usize> {
        (*self.positions.get(block.index())? as usize).checked_sub(1)
    }

    /// True if the block is protected.
    #[inline]
    pub fn contains(&self, block: BlockId) -> bool {
        self.position(block).is_some()
    }

    /// Protects a block that contains a version; `until` is the sequence number of the next version.
    #[inline]
    pub fn insert(&mut self, block: BlockId, until: u64) {
        if self.released.is_some_and(|released| until <= released) {
            self.released = None;
        }
        if let Some(position) = self.position(block) {
            let stored_until = &mut self.blocks[position].1;
            *stored_until = until.max(*stored_until);
            return;
        }
        if self.positions.len() <= block.index() {
            self.positions.resize(block.index() + 1, 0);
        }
        self.blocks.push((block, until));
        self.positions[block.index()] = self.blocks.len() as u32;
    }

    /// Removes the protection of a block that was erased.
    #[inline]
    pub fn remove(&mut self, block: BlockId) {
        if let Some(position) = self.position(block) {
            self.remove_at(position);
        }
    }

    fn remove_at(&mut self, position: usize) {
        let (block, _) = self.blocks.swap_remove(position);
        self.positions[block.index()] = 0;
        if let Some(&(moved, _)) = self.blocks.get(position) {
            self.positions[moved.index()] = position as u32 + 1;
        }
        self.release_count += 1;
    }

    /// Releases all blocks whose next versions have sequence numbers up to `reported_before`.
    #[inline]
    pub fn release(&mut self, reported_before: u64) {
        if self.released != Some(reported_before) {
            self.release_all_up_to(reported_before);
        }
    }

    fn release_all_up_to(&mut self, reported_before: u64) {
        for position in (0..self.blocks.len()).rev() {
            if self.blocks[position].1 <= reported_before {
                self.remove_at(position);
            }
        }
        self.released = Some(reported_before);
    }

    /// Releases all blocks.
    pub fn clear(&mut self) {
        (0..self.blocks.len()).rev().for_each(|position| self.remove_at(position));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn protected_blocks_match_list(steps in prop::collection::vec((0u32..4, 0u32..12, 0u64..40), 1..80)) {
            let mut protected = ProtectedBlocks::default();
            let mut model: Vec<(BlockId, u64)> = Vec::new();
            for (kind, block, number) in steps {
                let block = BlockId(block);
                match kind {
                    0 | 1 => {
                        protected.insert(block, number);
                        model.push((block, number));
                    }
                    2 => {
                        protected.release(number);
                        model.retain(|&(_, until)| until > number);
                    }
                    _ if number == 0 => {
                        protected.clear();
                        model.clear();
                    }
                    _ => {
                        protected.remove(block);
                        model.retain(|&(other, _)| other != block);
                    }
                }
                for block in (0..12).map(BlockId) {
                    prop_assert_eq!(protected.contains(block), model.iter().any(|&(other, _)| other == block));
                }
            }
        }
    }
}
