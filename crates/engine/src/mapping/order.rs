//! Sorting of the cache's nodes in the order of the queue.
//!
//! The node of an evicted entry is reused for the next inserted one. As long as no entry is used again, the nodes are
//! therefore in memory in the order of the queue. The next entry to evict is where the CPU's prefetcher expects it, and
//! so are its neighbours in the order of writes. Each use takes an entry out of this order. After many uses, all nodes
//! are sorted again; the interval is so long that this costs almost nothing.

use super::cache::MapCache;
use super::lists::{DIRTY, Links, NONE, Ring};
use super::lookahead::EvictionLookahead;
use crate::table::with_capacity;

/// Minimum capacity for sorting: a smaller cache fits in the CPU cache.
const MIN_SORT_CAPACITY: u32 = 1 << 14;
/// Minimum interval between two sorts, in insertions divided by the capacity.
const SORT_INTERVAL: u64 = 32;
/// Nodes are only sorted if at least one in this many entries was used.
const ENTRIES_PER_USE: u64 = 64;
/// Prefetch distance, in entries, for the place of an entry in the index.
const INDEX_PREFETCH_DISTANCE: usize = 16;

impl MapCache {
    /// Sorts the nodes in the order of the queue, if many of them are out of order and enough time has passed.
    /// Changes no result, but invalidates handles.
    #[inline(always)]
    pub fn sort_if_due(&mut self) {
        if self.insertions >= self.next_sort_at {
            self.sort_if_used();
        }
    }

    /// Returns the number of insertions after which a cache of this capacity may be sorted.
    pub(super) fn sort_interval(capacity: u32) -> u64 {
        if capacity < MIN_SORT_CAPACITY { u64::MAX } else { SORT_INTERVAL * u64::from(capacity) }
    }

    #[cold]
    fn sort_if_used(&mut self) {
        if self.uses * ENTRIES_PER_USE >= u64::from(self.capacity) {
            self.sort_nodes();
        }
        self.next_sort_at = self.insertions + Self::sort_interval(self.capacity);
    }

    /// Sorts all nodes: the oldest entry becomes the first node, and free nodes follow all entries.
    pub(super) fn sort_nodes(&mut self) {
        let (anchor, len) = (self.anchor(), self.len as usize);
        let mut old_nodes = with_capacity(len);
        let mut new_positions = vec![anchor; self.capacity as usize + 1];
        let mut old = self.queue.neighbours(anchor).before;
        while old != anchor {
            new_positions[old as usize] = old_nodes.len() as u32;
            old_nodes.push(old);
            old = self.queue.neighbours(old).before;
        }
        self.move_nodes(&old_nodes, &new_positions);
        self.move_write_order(&old_nodes, &new_positions);
        for head in &mut self.chains.heads {
            *head = new_positions[*head as usize];
        }
        self.update_index(len);
        self.lookahead = EvictionLookahead::new(anchor);
        self.uses = 0;
    }

    fn move_nodes(&mut self, old_nodes: &[u32], new_positions: &[u32]) {
        let (anchor, len) = (self.anchor(), self.len);
        let mut nodes = with_capacity(self.queue.0.len());
        nodes.extend((0u32..).zip(old_nodes).map(|(new, &old)| {
            let mut node = *self.node(old);
            let (before, after) = (new + 1, new.wrapping_sub(1));
            node.queue = Links {
                before: if before == len { anchor } else { before },
                after: if new == 0 { anchor } else { after },
            };
            let Links { before, after } = node.chain;
            node.chain =
                Links { before: new_positions[before as usize], after: new_positions[after as usize] };
            node
        }));
        let anchored = *self.node(anchor);
        nodes.extend((len..anchor).map(|free| {
            let mut node = anchored;
            node.queue.after = if free + 1 == anchor { NONE } else { free + 1 };
            node
        }));
        nodes.push(anchored);
        nodes[anchor as usize].queue = match len {
            0 => Links::singleton(anchor),
            _ => Links { before: 0, after: len - 1 },
        };
        self.first_free = if len == anchor { NONE } else { len };
        self.queue.0 = nodes;
    }

    fn move_write_order(&mut self, old_nodes: &[u32], new_positions: &[u32]) {
        let anchor = self.anchor();
        let moved = |Links { before, after }: Links| Links {
            before: new_positions[before as usize],
            after: new_positions[after as usize],
        };
        let mut order = with_capacity(self.write_order.0.len());
        order.extend(old_nodes.iter().zip(&self.queue.0).map(|(&old, node)| {
            if node.flags & DIRTY == 0 { Links::NONE } else { moved(self.write_order.neighbours(old)) }
        }));
        order.resize(anchor as usize, Links::NONE);
        order.push(moved(self.write_order.neighbours(anchor)));
        self.write_order.0 = order;
    }

    /// Updates the nodes in the index.
    fn update_index(&mut self, len: usize) {
        for new in 0..len {
            if let Some(later) = self.queue.0.get(new + INDEX_PREFETCH_DISTANCE) {
                self.index.prefetch(later.page);
            }
            self.index.replace(self.queue.0[new].page, new as u32);
        }
    }
}
