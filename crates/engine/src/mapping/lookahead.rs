//! Prediction of the entries that are evicted next, so that the data their eviction needs can be prefetched.
//!
//! The end of the LRU queue is a linked list in memory: each node is found only by reading the previous node. Its last
//! nodes are therefore recorded here; each eviction adds one node, which was prefetched when its successor was added.
//! The entries of a translation page are another linked list. The entries that follow a dirty entry are found one by
//! one, some evictions apart, while the entry approaches the end.

/// Number of recorded entries; a power of two.
pub(super) const LENGTH: usize = 64;

/// The last entries of the queue, starting with the very last entry. Used for prefetching only: errors change no
/// result.
#[derive(Clone, Copy)]
pub(super) struct EvictionLookahead {
    nodes: [u32; LENGTH],
    /// Position up to which the chain of each entry was followed.
    chain_positions: [u32; LENGTH],
    first: usize,
}

impl EvictionLookahead {
    pub fn new(anchor: u32) -> Self {
        EvictionLookahead { nodes: [anchor; LENGTH], chain_positions: [anchor; LENGTH], first: 0 }
    }

    /// Returns the entry that will be evicted after `removals` other entries.
    #[inline(always)]
    pub fn node(&self, removals: usize) -> u32 {
        self.nodes[(self.first + removals) % LENGTH]
    }

    /// Returns the position up to which the chain of this entry was followed.
    #[inline(always)]
    pub fn chain_position(&mut self, removals: usize) -> &mut u32 {
        &mut self.chain_positions[(self.first + removals) % LENGTH]
    }

    /// Called when `evicted` is evicted from the end of the queue, in which `before(node)` precedes `node`. Returns the
    /// entry that is added to the record. `end` terminates all chains.
    #[inline(always)]
    pub fn on_eviction(&mut self, evicted: u32, end: u32, before: impl Fn(u32) -> u32) -> u32 {
        if self.nodes[self.first] != evicted {
            self.restart(evicted, end, &before);
        }
        let farthest = before(self.node(LENGTH - 1));
        self.nodes[self.first] = farthest;
        self.chain_positions[self.first] = end;
        self.first = (self.first + 1) % LENGTH;
        farthest
    }

    /// Records all entries again, after an entry was used and left the end of the queue.
    #[cold]
    fn restart(&mut self, last: u32, end: u32, before: &impl Fn(u32) -> u32) {
        self.chain_positions = [end; LENGTH];
        let mut node = last;
        for index in 0..LENGTH {
            self.nodes[(self.first + index) % LENGTH] = node;
            node = before(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_queue_is_recorded_again_after_a_use() {
        let mut ahead = EvictionLookahead::new(1000);
        let evict = |ahead: &mut EvictionLookahead, node: u32| ahead.on_eviction(node, 1000, |node| node + 1);
        assert_eq!(evict(&mut ahead, 0), LENGTH as u32);
        assert_eq!(ahead.node(0), 1);
        *ahead.chain_position(2) = 17;
        assert_eq!(evict(&mut ahead, 1), LENGTH as u32 + 1);
        assert_eq!([0, 1, 2].map(|removals| *ahead.chain_position(removals)), [1000, 17, 1000]);
        // Entry 2 has been used, and entry 3 is now the last entry of the queue.
        assert_eq!(evict(&mut ahead, 3), LENGTH as u32 + 3);
        let recorded: Vec<u32> = (0..LENGTH).map(|removals| ahead.node(removals)).collect();
        assert_eq!(recorded, (4..4 + LENGTH as u32).collect::<Vec<u32>>());
    }
}
