//! What a request is made of: operations of dies and hash engines, and who waits for whom.

use super::parts::Parts;
use crate::counters::Cause;

/// No node, edge, request or block.
pub(super) const NONE: u32 = u32::MAX;

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Program,
    Erase,
    /// Pages through the hash engines.
    Hash,
    /// Nothing: it ends when all that it waits for has ended.
    Gate,
}

/// On whose behalf.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Host = 0,
    Cleaning = 1,
    Other = 2,
    /// Not a cause: the time in which a die makes an operation step back.
    Suspend = 3,
}

impl From<Cause> for Class {
    fn from(cause: Cause) -> Class {
        match cause {
            Cause::Host => Class::Host,
            Cause::Cleaning => Class::Cleaning,
            _ => Class::Other,
        }
    }
}

/// One operation from its planning to its end.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub kind: Kind,
    pub class: Class,
    /// Its die, or none.
    pub die: u32,
    /// The plane of its last page.
    pub plane: u32,
    /// The request that it is a part of; none for cleaning, which no request waits for as such.
    pub request: u32,
    /// Whether it is all of its request, and `request` is the request's tag.
    pub is_all: bool,
    /// Its number among all nodes: who goes first among equals.
    pub number: u64,
    /// Time on the channel.
    pub channel_ns: u64,
    /// Time in the array; of a hash, the time of each page.
    pub array_ns: u64,
    /// Mapping units, or pages to be hashed.
    pub units: u32,
    /// How many it still waits for.
    pub waits: u32,
    /// First of the edges to those who wait for it.
    pub edges: u32,
    /// The next in the queue of its die, or among the free ones.
    pub next: u32,
    /// The block that is erased when this ends.
    pub erases: u32,
    /// The next program of the same block on the same die, which must not arrive before this one.
    pub follower: u32,
    /// Whether it waited for others and [`Nodes::before`] holds the time until its release.
    pub has_before: bool,
    /// When it may arrive.
    pub release_ns: u64,
    /// Its place in the order of arrival at the dies.
    pub order: u64,
    /// What the die had spent on cleaning when it arrived.
    pub mark_ns: u64,
    /// When the die took it.
    pub taken_ns: u64,
    /// Waits for the die behind cleaning.
    pub behind_ns: u64,
    /// Waits for another operation to step back.
    pub suspend_ns: u64,
    /// When its transfer began, and what it waited for that, of it behind cleaning.
    pub channel_wait_ns: u64,
    pub channel_behind_ns: u64,
    /// When the array begins to erase or program.
    pub array_begin_ns: u64,
}

impl Node {
    /// The parts of the time from the release of an operation of a die to its end.
    #[inline(always)]
    pub fn parts(&self, end_ns: u64) -> Parts {
        let worked_ns = self.channel_wait_ns + self.channel_ns + self.array_ns;
        Parts {
            die_wait_ns: self.taken_ns - self.release_ns - self.suspend_ns,
            die_wait_of_which_cleaning_ns: self.behind_ns,
            channel_wait_ns: self.channel_wait_ns,
            channel_wait_of_which_cleaning_ns: self.channel_behind_ns,
            transfer_ns: self.channel_ns,
            flash_ns: self.array_ns,
            suspend_ns: self.suspend_ns + (end_ns - self.taken_ns) - worked_ns,
            ..Parts::default()
        }
    }
}

const EMPTY: Node = Node {
    kind: Kind::Gate,
    class: Class::Host,
    die: NONE,
    plane: 0,
    request: NONE,
    is_all: false,
    number: 0,
    channel_ns: 0,
    array_ns: 0,
    units: 0,
    waits: 0,
    edges: NONE,
    next: NONE,
    erases: NONE,
    follower: NONE,
    has_before: false,
    release_ns: 0,
    order: 0,
    mark_ns: 0,
    taken_ns: 0,
    behind_ns: 0,
    suspend_ns: 0,
    channel_wait_ns: 0,
    channel_behind_ns: 0,
    array_begin_ns: 0,
};

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    next: u32,
}

/// All nodes not yet ended and the edges between them. Places are used again, so a steady flow allocates nothing.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// The way to each node's release, where it waited; beside the nodes because few do.
    before: Vec<Parts>,
    free: u32,
    edges: Vec<Edge>,
    free_edge: u32,
    created: u64,
    /// Nodes that have not ended.
    pub live: u64,
}

impl Nodes {
    pub fn new() -> Self {
        Nodes { free: NONE, free_edge: NONE, ..Nodes::default() }
    }

    /// A new node that nobody waits for.
    pub fn create(&mut self, kind: Kind, class: Class, release_ns: u64) -> u32 {
        let id = if self.free == NONE {
            self.nodes.push(EMPTY);
            self.before.push(Parts::default());
            self.nodes.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = self.nodes[id as usize].next;
            id
        };
        self.nodes[id as usize] = Node { kind, class, number: self.created, release_ns, ..EMPTY };
        self.created += 1;
        self.live += 1;
        id
    }

    /// The number that the next node gets.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.created
    }

    /// Gives back the place of a node that has ended.
    pub fn remove(&mut self, id: u32) {
        let node = &mut self.nodes[id as usize];
        debug_assert!(node.edges == NONE);
        node.next = self.free;
        self.free = id;
        self.live -= 1;
    }

    /// `to` waits for `from`.
    pub fn wait(&mut self, from: u32, to: u32) {
        let edge = Edge { to, next: self.nodes[from as usize].edges };
        let id = if self.free_edge == NONE {
            self.edges.push(edge);
            self.edges.len() as u32 - 1
        } else {
            let id = self.free_edge;
            self.free_edge = self.edges[id as usize].next;
            self.edges[id as usize] = edge;
            id
        };
        self.nodes[from as usize].edges = id;
        self.nodes[to as usize].waits += 1;
    }

    /// `to` waits for `from` to arrive at its die, and no longer.
    pub fn follow(&mut self, from: u32, to: u32) {
        self.nodes[from as usize].follower = to;
        self.nodes[to as usize].waits += 1;
    }

    /// Takes one of those that wait for `from` off its list.
    pub fn take_waiting(&mut self, from: u32) -> Option<u32> {
        let id = self.nodes[from as usize].edges;
        if id == NONE {
            return None;
        }
        let Edge { to, next } = self.edges[id as usize];
        self.nodes[from as usize].edges = next;
        self.edges[id as usize].next = self.free_edge;
        self.free_edge = id;
        Some(to)
    }

    /// The parts of the time from the request's begin to the release of `id`.
    #[inline]
    pub fn before(&self, id: u32) -> Parts {
        if self[id].has_before { self.before[id as usize] } else { Parts::default() }
    }

    pub fn set_before(&mut self, id: u32, parts: Parts) {
        self[id].has_before = true;
        self.before[id as usize] = parts;
    }
}

impl std::ops::Index<u32> for Nodes {
    type Output = Node;

    #[inline(always)]
    fn index(&self, id: u32) -> &Node {
        &self.nodes[id as usize]
    }
}

impl std::ops::IndexMut<u32> for Nodes {
    #[inline(always)]
    fn index_mut(&mut self, id: u32) -> &mut Node {
        &mut self.nodes[id as usize]
    }
}
