//! The entries that will be removed next, known beforehand: what removing them needs can be fetched in time.
//!
//! The end of the queue is a list through memory, of which each node is found only by reading the one before it. So its last
//! nodes are written down, and with each removal one more is read, which was fetched when the one behind it was. The entries
//! of a translation page are another such list. Those that follow a dirty entry are found one by one, some removals apart,
//! while the entry comes nearer to the end.

/// Entries written down; a power of two.
pub(super) const LENGTH: usize = 64;

/// The last entries of the queue, the very last first. A hint: it changes no result, whether it is right or not.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    nodes: [u32; LENGTH],
    /// How far each one's chain was followed.
    followed: [u32; LENGTH],
    first: usize,
}

impl Ahead {
    pub fn new(anchor: u32) -> Self {
        Ahead { nodes: [anchor; LENGTH], followed: [anchor; LENGTH], first: 0 }
    }

    /// The entry that will be removed after so many others.
    #[inline(always)]
    pub fn node(&self, removals: usize) -> u32 {
        self.nodes[(self.first + removals) % LENGTH]
    }

    /// Where its chain was followed to.
    #[inline(always)]
    pub fn followed(&mut self, removals: usize) -> &mut u32 {
        &mut self.followed[(self.first + removals) % LENGTH]
    }

    /// `removed` is being removed from the end of the queue, in which `before(node)` stands before `node`; the entry that is
    /// now written down as the last. `end` ends all chains.
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

    /// An entry was used and has left the end of the queue: all are written down anew.
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
    fn the_end_of_a_queue_is_known_and_found_again_after_a_use() {
        let mut ahead = Ahead::new(1000);
        let removed = |ahead: &mut Ahead, node: u32| ahead.removed(node, 1000, |node| node + 1);
        assert_eq!(removed(&mut ahead, 0), LENGTH as u32);
        assert_eq!(ahead.node(0), 1);
        *ahead.followed(2) = 17;
        assert_eq!(removed(&mut ahead, 1), LENGTH as u32 + 1);
        assert_eq!([0, 1, 2].map(|removals| *ahead.followed(removals)), [1000, 17, 1000]);
        // The entry 2 has been used, and 3 is the last now.
        assert_eq!(removed(&mut ahead, 3), LENGTH as u32 + 3);
        let known: Vec<u32> = (0..LENGTH).map(|removals| ahead.node(removals)).collect();
        assert_eq!(known, (4..4 + LENGTH as u32).collect::<Vec<u32>>());
    }
}
