//! Free space of a directory: the largest free record of each block, and a search for the first block with a large
//! enough record.

/// Tree of maxima over the blocks: a leaf holds the largest free record of a block, and an inner node holds the
/// maximum of its two children.
#[derive(Debug, Default)]
pub(super) struct FreeSpaceTree {
    /// The root is node 1; the children of node n are 2n and 2n + 1. The second half of the nodes are the
    /// leaves.
    nodes: Vec<u16>,
}

impl FreeSpaceTree {
    fn leaf_count(&self) -> usize {
        self.nodes.len() / 2
    }

    /// Sets the size of a block's largest free record, bytes.
    pub fn set(&mut self, block: usize, bytes: u16) {
        if block >= self.leaf_count() {
            self.grow(block + 1);
        }
        let mut node = self.leaf_count() + block;
        self.nodes[node] = bytes;
        while node > 1 {
            node /= 2;
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }

    fn grow(&mut self, blocks: usize) {
        let old = self.nodes.split_off(self.leaf_count());
        let leaves = blocks.next_power_of_two();
        self.nodes = vec![0; 2 * leaves];
        self.nodes[leaves..leaves + old.len()].copy_from_slice(&old);
        for node in (1..leaves).rev() {
            self.nodes[node] = self.nodes[2 * node].max(self.nodes[2 * node + 1]);
        }
    }

    /// Returns the first block with a free record of at least `bytes` bytes; `bytes` must not be 0.
    pub fn first(&self, bytes: u16) -> Option<usize> {
        self.nodes.get(1).filter(|most| **most >= bytes)?;
        let mut node = 1;
        while node < self.leaf_count() {
            node *= 2;
            if self.nodes[node] < bytes {
                node += 1;
            }
        }
        Some(node - self.leaf_count())
    }

    /// Returns the memory use, bytes.
    pub fn bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<u16>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn first_block_matches_linear_scan(sets: Vec<(u8, u16)>, wanted in 1u16..) {
            let (mut tree, mut plain) = (FreeSpaceTree::default(), vec![0; 256]);
            for (block, bytes) in sets {
                tree.set(block.into(), bytes);
                plain[usize::from(block)] = bytes;
                let first = |wanted| plain.iter().position(|bytes| *bytes >= wanted);
                prop_assert_eq!(tree.first(wanted), first(wanted));
                prop_assert_eq!(tree.first(1), first(1));
            }
        }
    }
}
