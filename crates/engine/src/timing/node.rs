//! Operations of dies and hash engines that a request consists of, and their dependencies.

use super::parts::Parts;
use crate::counters::Cause;

/// Stands for "no node", "no edge", "no request" or "no block".
pub(super) const NONE: u32 = u32::MAX;

/// Type of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Read,
    Program,
    Erase,
    /// Hashing of pages.
    Hash,
    /// No work: ends when all its dependencies have ended.
    Gate,
}

/// Cause of an operation.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Host = 0,
    Cleaning = 1,
    Other = 2,
    /// Not a cause: time in which a die suspends an operation.
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
    /// Die of the node, or [`NONE`].
    pub die: u32,
    /// Plane of the last page.
    pub plane: u32,
    /// Request to which the node belongs; [`NONE`] for cleaning, because no request waits for cleaning directly.
    pub request: u32,
    /// True if the node is the whole request; `request` is then the request's tag.
    pub is_whole_request: bool,
    /// Number among all nodes; of several ready nodes, the node with the lowest number goes first.
    pub number: u64,
    /// Time that the node takes on the channel.
    pub channel_ns: u64,
    /// Time in the array; for a hash, the time of each page.
    pub array_ns: u64,
    /// Mapping units, or pages to be hashed.
    pub units: u32,
    /// Number of unfinished dependencies.
    pub unmet_dependencies: u32,
    /// First edge to the nodes that wait for this node.
    pub first_edge: u32,
    /// Next node in the queue of its die, or in the free list.
    pub next: u32,
    /// Block that is erased when this node ends.
    pub erased_block: u32,
    /// Next program of the same block on the same die, which must not arrive before this node.
    pub follower: u32,
    /// True if the node waited for other nodes and [`Nodes::wait_parts`] holds the time until its release.
    pub has_wait_parts: bool,
    /// Earliest time of arrival at the die.
    pub release_ns: u64,
    /// Position in the order of arrival at the dies.
    pub order: u64,
    /// Cleaning time of the die when the node arrived.
    pub cleaning_at_arrival_ns: u64,
    /// Time at which the die took the node.
    pub taken_ns: u64,
    /// Wait for the die that cleaning caused.
    pub die_cleaning_wait_ns: u64,
    /// Wait for another operation to be suspended.
    pub suspend_ns: u64,
    /// Wait for the channel, and the part of it that cleaning caused.
    pub channel_wait_ns: u64,
    pub channel_cleaning_wait_ns: u64,
    /// Time at which the array begins to erase or program.
    pub array_begin_ns: u64,
}

impl Node {
    /// Returns the parts of the time from the release of a die's operation to its end.
    #[inline(always)]
    pub fn parts(&self, end_ns: u64) -> Parts {
        let worked_ns = self.channel_wait_ns + self.channel_ns + self.array_ns;
        Parts {
            die_wait_ns: self.taken_ns - self.release_ns - self.suspend_ns,
            die_wait_of_which_cleaning_ns: self.die_cleaning_wait_ns,
            channel_wait_ns: self.channel_wait_ns,
            channel_wait_of_which_cleaning_ns: self.channel_cleaning_wait_ns,
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
    is_whole_request: false,
    number: 0,
    channel_ns: 0,
    array_ns: 0,
    units: 0,
    unmet_dependencies: 0,
    first_edge: NONE,
    next: NONE,
    erased_block: NONE,
    follower: NONE,
    has_wait_parts: false,
    release_ns: 0,
    order: 0,
    cleaning_at_arrival_ns: 0,
    taken_ns: 0,
    die_cleaning_wait_ns: 0,
    suspend_ns: 0,
    channel_wait_ns: 0,
    channel_cleaning_wait_ns: 0,
    array_begin_ns: 0,
};

#[derive(Clone, Copy, Debug)]
struct Edge {
    to: u32,
    next: u32,
}

/// All unfinished nodes and the edges between them. Freed entries are reused, so that a steady flow of requests
/// allocates no memory.
#[derive(Debug, Default)]
pub(super) struct Nodes {
    nodes: Vec<Node>,
    /// Parts of the time until each node's release, if it waited; a separate vector, because few nodes wait.
    wait_parts: Vec<Parts>,
    free: u32,
    edges: Vec<Edge>,
    free_edge: u32,
    created: u64,
    /// Number of unfinished nodes.
    pub unfinished: u64,
}

impl Nodes {
    pub fn new() -> Self {
        Nodes { free: NONE, free_edge: NONE, ..Nodes::default() }
    }

    /// Creates a node that no other node waits for.
    pub fn create(&mut self, kind: Kind, class: Class, release_ns: u64) -> u32 {
        let id = if self.free == NONE {
            self.nodes.push(EMPTY);
            self.wait_parts.push(Parts::default());
            self.nodes.len() as u32 - 1
        } else {
            let id = self.free;
            self.free = self.nodes[id as usize].next;
            id
        };
        self.nodes[id as usize] = Node { kind, class, number: self.created, release_ns, ..EMPTY };
        self.created += 1;
        self.unfinished += 1;
        id
    }

    /// Returns the number that the next node will get.
    #[inline]
    pub fn next_number(&self) -> u64 {
        self.created
    }

    /// Frees the entry of a node that has ended.
    pub fn remove(&mut self, id: u32) {
        let node = &mut self.nodes[id as usize];
        debug_assert!(node.first_edge == NONE);
        node.next = self.free;
        self.free = id;
        self.unfinished -= 1;
    }

    /// Makes `to` wait for `from`.
    pub fn add_dependency(&mut self, from: u32, to: u32) {
        let edge = Edge { to, next: self.nodes[from as usize].first_edge };
        let id = if self.free_edge == NONE {
            self.edges.push(edge);
            self.edges.len() as u32 - 1
        } else {
            let id = self.free_edge;
            self.free_edge = self.edges[id as usize].next;
            self.edges[id as usize] = edge;
            id
        };
        self.nodes[from as usize].first_edge = id;
        self.nodes[to as usize].unmet_dependencies += 1;
    }

    /// Makes `to` wait until `from` has arrived at its die.
    pub fn add_follower(&mut self, from: u32, to: u32) {
        self.nodes[from as usize].follower = to;
        self.nodes[to as usize].unmet_dependencies += 1;
    }

    /// Takes one of the nodes that wait for `from` from its list.
    pub fn take_dependent(&mut self, from: u32) -> Option<u32> {
        let id = self.nodes[from as usize].first_edge;
        if id == NONE {
            return None;
        }
        let Edge { to, next } = self.edges[id as usize];
        self.nodes[from as usize].first_edge = next;
        self.edges[id as usize].next = self.free_edge;
        self.free_edge = id;
        Some(to)
    }

    /// Returns the parts of the time from the start of the request to the release of `id`.
    #[inline]
    pub fn wait_parts(&self, id: u32) -> Parts {
        if self[id].has_wait_parts { self.wait_parts[id as usize] } else { Parts::default() }
    }

    pub fn set_wait_parts(&mut self, id: u32, parts: Parts) {
        self[id].has_wait_parts = true;
        self.wait_parts[id as usize] = parts;
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
