//! Nodes of the cache and the linked lists of nodes.

use crate::table::prefetch;

/// No node; end of the list of free nodes.
pub(super) const NONE: u32 = u32::MAX;

pub(super) const DIRTY: u32 = 1;
pub(super) const UNIDENTIFIED: u32 = 2;
pub(super) const UNCERTAIN: u32 = 4;

/// Neighbours of a node in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Links {
    /// Neighbour towards the front of the queue or the beginning of the chain.
    pub before: u32,
    /// Neighbour towards the end of the queue or of the chain.
    pub after: u32,
}

impl Links {
    pub const NONE: Links = Links { before: NONE, after: NONE };

    /// Returns the links of a ring that only contains `node`.
    pub fn singleton(node: u32) -> Self {
        Links { before: node, after: node }
    }
}

/// A cached entry: half a cache line.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Node {
    pub page: u32,
    pub slot: u32,
    pub before_image: u32,
    pub flags: u32,
    /// Links in the queue of all entries by last use; in a free node, `after` is the next free node.
    pub queue: Links,
    /// Links in the chain of entries of one translation page.
    pub chain: Links,
}

/// A circular list of nodes, closed by an anchor that is not an entry.
pub(super) trait Ring {
    fn links(&mut self, node: u32) -> &mut Links;

    fn neighbours(&self, node: u32) -> Links;

    /// Inserts `node` after `at`.
    #[inline(always)]
    fn link(&mut self, node: u32, at: u32) {
        let next = self.neighbours(at).after;
        *self.links(node) = Links { before: at, after: next };
        self.links(at).after = node;
        self.links(next).before = node;
    }

    #[inline(always)]
    fn unlink(&mut self, node: u32) {
        let Links { before, after } = self.neighbours(node);
        self.links(before).after = after;
        self.links(after).before = before;
    }
}

/// The nodes, linked in the order of last use.
pub(super) struct Queue(pub Vec<Node>);

impl Ring for Queue {
    #[inline(always)]
    fn links(&mut self, node: u32) -> &mut Links {
        &mut self.0[node as usize].queue
    }

    #[inline(always)]
    fn neighbours(&self, node: u32) -> Links {
        self.0[node as usize].queue
    }
}

/// Links of the dirty entries in the order of their last writes, in a separate array.
pub(super) struct WriteOrder(pub Vec<Links>);

impl Ring for WriteOrder {
    #[inline(always)]
    fn links(&mut self, node: u32) -> &mut Links {
        &mut self.0[node as usize]
    }

    #[inline(always)]
    fn neighbours(&self, node: u32) -> Links {
        self.0[node as usize]
    }
}

impl WriteOrder {
    /// Prefetches the links of `node`.
    #[inline(always)]
    pub fn prefetch(&self, node: u32) {
        prefetch(self.0.as_ptr().wrapping_add(node as usize));
    }
}

/// Returns the nodes from `first` on, excluding `end`.
#[inline(always)]
pub(super) fn follow(first: u32, end: u32, after: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    let some = move |node: u32| (node != end).then_some(node);
    std::iter::successors(some(first), move |&node| some(after(node)))
}

/// The entries of each translation page, unordered.
pub(super) struct Chains {
    pub heads: Vec<u32>,
    /// End of a chain: a node that is in no chain and whose links may be overwritten, which avoids unpredictable
    /// branches.
    pub end: u32,
}

impl Chains {
    #[inline(always)]
    pub fn link(&mut self, nodes: &mut [Node], node: u32, translation_page: u32) {
        let head = &mut self.heads[translation_page as usize];
        nodes[node as usize].chain = Links { before: self.end, after: *head };
        nodes[*head as usize].chain.before = node;
        *head = node;
    }

    #[inline(always)]
    pub fn unlink(&mut self, nodes: &mut [Node], node: u32, translation_page: u32) {
        let Links { before, after } = nodes[node as usize].chain;
        nodes[after as usize].chain.before = before;
        let head = &mut self.heads[translation_page as usize];
        let earlier = &mut nodes[before as usize].chain.after;
        let link = if before == self.end { head } else { earlier };
        *link = after;
    }

    /// Returns the nodes of a translation page.
    #[inline(always)]
    pub fn nodes<'a>(&self, nodes: &'a [Node], translation_page: u32) -> impl Iterator<Item = u32> + use<'a> {
        follow(self.heads[translation_page as usize], self.end, |node| nodes[node as usize].chain.after)
    }

    /// Prefetches the head of the chain of `translation_page`.
    #[inline(always)]
    pub fn prefetch(&self, translation_page: u32) {
        prefetch(self.heads.as_ptr().wrapping_add(translation_page as usize));
    }
}
