//! Queues of items, which are small numbers, stored in two arrays; each item is in at most one queue.

/// Neighbours of an item in its queue, a ring that includes the queue's head.
#[derive(Clone, Copy, Debug)]
struct Node {
    previous: u32,
    next: u32,
}

/// Queues of the items below a limit. Insertion, removal from any position and access to the first item take constant
/// time. Queues are created on first use.
#[derive(Clone, Debug)]
pub(crate) struct Queues {
    /// The items, followed by a head for each queue.
    nodes: Vec<Node>,
    /// Number of the queue that contains each item, or [`NONE`].
    queue_of: Vec<u8>,
    lengths: Vec<u32>,
}

/// Queue number of an item that is in no queue.
const NONE: u8 = u8::MAX;

impl Queues {
    /// Creates empty queues for the items below `items`.
    pub(crate) fn new(items: u32) -> Self {
        let nodes = (0..items).map(|at| Node { previous: at, next: at });
        Queues { nodes: nodes.collect(), queue_of: vec![NONE; items as usize], lengths: Vec::new() }
    }

    fn head(&self, ring: u8) -> u32 {
        self.queue_of.len() as u32 + u32::from(ring)
    }

    /// Returns the number of queues used so far; queues of higher numbers are empty.
    pub(crate) fn count(&self) -> u8 {
        self.lengths.len() as u8
    }

    /// Returns the number of items in the queue.
    pub(crate) fn len(&self, ring: u8) -> u32 {
        self.lengths.get(usize::from(ring)).copied().unwrap_or(0)
    }

    /// Moves the item to the end of queue `ring`, which must be below 255.
    pub(crate) fn push(&mut self, item: u32, ring: u8) {
        self.remove(item);
        while self.lengths.len() <= usize::from(ring) {
            let head = self.nodes.len() as u32;
            self.nodes.push(Node { previous: head, next: head });
            self.lengths.push(0);
        }
        let head = self.head(ring);
        let last = std::mem::replace(&mut self.nodes[head as usize].previous, item);
        self.nodes[last as usize].next = item;
        self.nodes[item as usize] = Node { previous: last, next: head };
        self.queue_of[item as usize] = ring;
        self.lengths[usize::from(ring)] += 1;
    }

    /// Removes the item from its queue, if any.
    pub(crate) fn remove(&mut self, item: u32) {
        let ring = std::mem::replace(&mut self.queue_of[item as usize], NONE);
        if ring == NONE {
            return;
        }
        let Node { previous: before, next: after } = self.nodes[item as usize];
        self.nodes[before as usize].next = after;
        self.nodes[after as usize].previous = before;
        self.lengths[usize::from(ring)] -= 1;
    }

    /// Returns the first item of the queue.
    pub(crate) fn first(&self, ring: u8) -> Option<u32> {
        self.iter(ring).next()
    }

    /// Returns the items of the queue in order.
    pub(crate) fn iter(&self, ring: u8) -> impl Iterator<Item = u32> + '_ {
        let head = self.head(ring);
        let first = self.nodes.get(head as usize).map(|node| node.next);
        let items = std::iter::successors(first, |&item| Some(self.nodes[item as usize].next));
        items.take_while(move |&item| item != head)
    }

    /// Returns the memory used, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.nodes) + size_of_val(&*self.queue_of) + size_of_val(&*self.lengths)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn item_is_removable_from_any_position_and_in_at_most_one_queue() {
        let mut rings = Queues::new(6);
        let all = |rings: &Queues, ring| rings.iter(ring).collect::<Vec<_>>();
        assert_eq!((rings.first(0), rings.count(), rings.len(3)), (None, 0, 0));
        [(4, 1), (2, 1), (5, 1), (0, 0)].into_iter().for_each(|(item, ring)| rings.push(item, ring));
        assert_eq!((all(&rings, 0), all(&rings, 1), rings.count()), (vec![0], vec![4, 2, 5], 2));
        rings.remove(2);
        rings.remove(2);
        rings.push(4, 1);
        assert_eq!((all(&rings, 1), rings.len(1)), (vec![5, 4], 2), "to the end");
        rings.push(5, 0);
        assert_eq!((all(&rings, 0), all(&rings, 1), rings.len(0)), (vec![0, 5], vec![4], 2));
        rings.remove(4);
        assert_eq!((rings.first(1), rings.len(1)), (None, 0));
        // Six items and two heads of 8 bytes each, six queue numbers of 1 byte, two lengths of 4 bytes.
        assert_eq!(rings.memory_bytes(), 64 + 6 + 8);
    }
}
