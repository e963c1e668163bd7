//! Sorting of the cache's nodes in the order of the queue.
//!
//! The node of an evicted entry is reused for the next inserted one. As long as no entry is used again, the nodes are
//! therefore in memory in the order of the queue. The next entry to evict is where the CPU's prefetcher expects it, and
//! so are its neighbours in the order of writes. Each use takes an entry out of this order. After many uses, all nodes
//! are sorted again; the interval is so long that this costs almost nothing.

use super::ahead::Ahead;
use super::cache::MapCache;
use super::lists::{DIRTY, Links, NONE, Ring};
use crate::table::room;

/// Minimum capacity for sorting: a smaller cache fits in the CPU cache.
const FROM_ENTRIES: u32 = 1 << 14;
/// Minimum interval between two sorts, in insertions divided by the capacity.
const INTERVAL: u64 = 32;
/// Nodes are only sorted if at least one in this many entries was used.
const USE_OF: u64 = 64;
/// Prefetch distance, in entries, for the place of an entry in the index.
const INDEX_AHEAD: usize = 16;

impl MapCache {
    /// Sorts the nodes in the order of the queue, if many of them are out of order and enough time has passed.
    /// Changes no result, but invalidates handles.
    #[inline(always)]
    pub fn put_in_order(&mut self) {
        if self.inserted >= self.order_due {
            self.put_in_order_if_used();
        }
    }

    /// Returns the number of insertions after which a cache of this capacity may be sorted.
    pub(super) fn order_interval(capacity: u32) -> u64 {
        if capacity < FROM_ENTRIES { u64::MAX } else { INTERVAL * u64::from(capacity) }
    }

    #[cold]
    fn put_in_order_if_used(&mut self) {
        if self.used * USE_OF >= u64::from(self.capacity) {
            self.sort_nodes();
        }
        self.order_due = self.inserted + Self::order_interval(self.capacity);
    }

    /// Sorts all nodes: the oldest entry becomes the first node, and free nodes follow all entries.
    pub(super) fn sort_nodes(&mut self) {
        let (anchor, len) = (self.anchor(), self.len as usize);
        let mut old_nodes = room(len);
        let mut new_of = vec![anchor; self.capacity as usize + 1];
        let mut old = self.queue.neighbours(anchor).before;
        while old != anchor {
            new_of[old as usize] = old_nodes.len() as u32;
            old_nodes.push(old);
            old = self.queue.neighbours(old).before;
        }
        self.move_nodes(&old_nodes, &new_of);
        self.move_write_order(&old_nodes, &new_of);
        for head in &mut self.chains.heads {
            *head = new_of[*head as usize];
        }
        self.find_moved(len);
        self.ahead = Ahead::new(anchor);
        self.used = 0;
    }

    fn move_nodes(&mut self, old_nodes: &[u32], new_of: &[u32]) {
        let (anchor, len) = (self.anchor(), self.len);
        let mut nodes = room(self.queue.0.len());
        nodes.extend((0u32..).zip(old_nodes).map(|(new, &old)| {
            let mut node = *self.node(old);
            let (before, after) = (new + 1, new.wrapping_sub(1));
            node.queue = Links {
                before: if before == len { anchor } else { before },
                after: if new == 0 { anchor } else { after },
            };
            let Links { before, after } = node.chain;
            node.chain = Links { before: new_of[before as usize], after: new_of[after as usize] };
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
            0 => Links::alone(anchor),
            _ => Links { before: 0, after: len - 1 },
        };
        self.free = if len == anchor { NONE } else { len };
        self.queue.0 = nodes;
    }

    fn move_write_order(&mut self, old_nodes: &[u32], new_of: &[u32]) {
        let anchor = self.anchor();
        let moved = |Links { before, after }: Links| Links {
            before: new_of[before as usize],
            after: new_of[after as usize],
        };
        let mut order = room(self.write_order.0.len());
        order.extend(old_nodes.iter().zip(&self.queue.0).map(|(&old, node)| {
            if node.flags & DIRTY == 0 { Links::NONE } else { moved(self.write_order.neighbours(old)) }
        }));
        order.resize(anchor as usize, Links::NONE);
        order.push(moved(self.write_order.neighbours(anchor)));
        self.write_order.0 = order;
    }

    /// Updates the nodes in the index.
    fn find_moved(&mut self, len: usize) {
        for new in 0..len {
            if let Some(far) = self.queue.0.get(new + INDEX_AHEAD) {
                self.index.prefetch(far.page);
            }
            self.index.replace(self.queue.0[new].page, new as u32);
        }
    }
}
