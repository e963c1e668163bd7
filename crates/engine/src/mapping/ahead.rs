//! Prediction of the entries that are evicted next, so that the data their eviction needs can be prefetched.
//!
//! The end of the LRU queue is a linked list in memory: each node is found only by reading the one before it. Its
//! last nodes are therefore recorded here; each eviction adds one node, which was prefetched when its successor was
//! added. The entries of a translation page are another linked list. The entries that follow a dirty entry are found
//! one by one, some evictions apart, while the entry approaches the end.

/// Number of recorded entries; a power of two.
pub(super) const LENGTH: usize = 64;

/// The last entries of the queue, the very last first. Only used for prefetching: errors change no result.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    nodes: [u32; LENGTH],
    /// Position up to which each entry's chain was followed.
    followed: [u32; LENGTH],
    first: usize,
}

impl Ahead {
    pub fn new(anchor: u32) -> Self {
        Ahead { nodes: [anchor; LENGTH], followed: [anchor; LENGTH], first: 0 }
    }

    /// Returns the entry that will be evicted after `removals` other entries.
    #[inline(always)]
    pub fn node(&self, removals: usize) -> u32 {
        self.nodes[(self.first + removals) % LENGTH]
    }

    /// Returns the position up to which the chain of this entry was followed.
    #[inline(always)]
    pub fn followed(&mut self, removals: usize) -> &mut u32 {
        &mut self.followed[(self.first + removals) % LENGTH]
    }

    /// Called when `removed` is evicted from the end of the queue, in which `before(node)` precedes `node`. Returns
    /// the entry that is added to the record. `end` terminates all chains.
    #[inline(always)]
    pub fn removed(&mut self, removed: u32, end: u32, before: impl Fn(u32) -> u32) -> u32 {
        if self.nodes[self.first] != removed {
            self.begin_with(removed, end, &before);
        }
        let farthest = before(self.node(LENGTH - 1));
        self.nodes[self.first] = farthest;
        self.followed[self.first] = end;
        self.first = (self.first + 1) % LENGTH;
        farthest
    }

    /// Records all entries again, after an entry was used and left the end of the queue.
    #[cold]
    fn begin_with(&mut self, last: u32, end: u32, before: &impl Fn(u32) -> u32) {
        self.followed = [end; LENGTH];
        let mut node = last;
        for place in 0..LENGTH {
            self.nodes[(self.first + place) % LENGTH] = node;
            node = before(node);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_of_queue_is_recorded_again_after_a_use() {
        let mut ahead = Ahead::new(1000);
        let removed = |ahead: &mut Ahead, node: u32| ahead.removed(node, 1000, |node| node + 1);
        assert_eq!(removed(&mut ahead, 0), LENGTH as u32);
        assert_eq!(ahead.node(0), 1);
        *ahead.followed(2) = 17;
        assert_eq!(removed(&mut ahead, 1), LENGTH as u32 + 1);
        assert_eq!([0, 1, 2].map(|removals| *ahead.followed(removals)), [1000, 17, 1000]);
        // Entry 2 has been used, and 3 is the last one now.
        assert_eq!(removed(&mut ahead, 3), LENGTH as u32 + 3);
        let known: Vec<u32> = (0..LENGTH).map(|removals| ahead.node(removals)).collect();
        assert_eq!(known, (4..4 + LENGTH as u32).collect::<Vec<u32>>());
    }
}
