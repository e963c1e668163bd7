//! The nodes of the cache and the lists through them.

use crate::table::prefetch;

/// No node: ends the list of free ones.
pub(super) const NONE: u32 = u32::MAX;

pub(super) const DIRTY: u32 = 1;
pub(super) const UNIDENTIFIED: u32 = 2;
pub(super) const UNCERTAIN: u32 = 4;

/// Neighbours in a list.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Links {
    /// Towards the front, or the beginning of a chain.
    pub before: u32,
    /// Towards the end.
    pub after: u32,
}

impl Links {
    pub const NONE: Links = Links { before: NONE, after: NONE };

    /// A ring of `node` alone.
    pub fn alone(node: u32) -> Self {
        Links { before: node, after: node }
    }
}

/// A cached entry: half a line of memory.
#[derive(Clone, Copy)]
#[repr(align(32))]
pub(super) struct Node {
    pub page: u32,
    pub slot: u32,
    pub before: u32,
    pub flags: u32,
    /// The queue of all entries by their last use; of free nodes, `after` is the next free one.
    pub queue: Links,
    /// The entries of one translation page.
    pub chain: Links,
}

/// Something whose nodes stand in a ring, closed by an anchor that is no entry.
pub(super) trait Ring {
    fn links(&mut self, node: u32) -> &mut Links;

    fn neighbours(&self, node: u32) -> Links;

    /// Puts `node` behind `at`.
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

/// The nodes, in the order of their last use.
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

/// The dirty entries in the order of their last writes, beside the nodes.
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
    /// A hint that the links of `node` will be looked at.
    #[inline(always)]
    pub fn prefetch(&self, node: u32) {
        prefetch(self.0.as_ptr().wrapping_add(node as usize));
    }
}

/// The nodes from `first` on, up to `end`.
#[inline(always)]
pub(super) fn follow(first: u32, end: u32, after: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    let some = move |node: u32| (node != end).then_some(node);
    std::iter::successors(some(first), move |&node| some(after(node)))
}

/// The entries of each translation page, in no order.
pub(super) struct Chains {
    pub heads: Vec<u32>,
    /// Ends a chain: a node that is in none, whose links may be overwritten. This spares branches that no processor foresees.
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
        let place = if before == self.end { head } else { earlier };
        *place = after;
    }

    /// The nodes of a translation page.
    #[inline(always)]
    pub fn nodes<'a>(&self, nodes: &'a [Node], translation_page: u32) -> impl Iterator<Item = u32> + use<'a> {
        follow(self.heads[translation_page as usize], self.end, |node| nodes[node as usize].chain.after)
    }

    /// A hint that `translation_page` will be looked at.
    #[inline(always)]
    pub fn prefetch(&self, translation_page: u32) {
        prefetch(self.heads.as_ptr().wrapping_add(translation_page as usize));
    }
}
