//! A die: what it does, what waits for it, and where its time went.

use super::node::{Class, NONE, Nodes};

/// Waiting nodes in order of arrival, linked through [`super::node::Node::next`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Queue {
    pub head: u32,
    tail: u32,
}

impl Queue {
    pub const EMPTY: Queue = Queue { head: NONE, tail: NONE };

    #[inline]
    pub fn push(&mut self, nodes: &mut Nodes, id: u32) {
        nodes[id].next = NONE;
        if self.head == NONE {
            self.head = id;
        } else {
            nodes[self.tail].next = id;
        }
        self.tail = id;
    }

    #[inline]
    pub fn pop(&mut self, nodes: &Nodes) -> u32 {
        let id = self.head;
        self.head = nodes[id].next;
        id
    }
}

/// What a die is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing, from [`Die::free_ns`] on.
    Idle,
    /// An operation that was not given the channel yet.
    Channel,
    /// An operation in the array, or on its way there, that may be interrupted.
    Array,
    /// An operation whose end is known, after which the die chooses the next.
    Choosing,
    /// Making one step back.
    Suspending,
}

/// One die.
#[derive(Debug)]
pub(super) struct Die {
    pub channel: u32,
    pub phase: Phase,
    /// The operation that it does, or none.
    pub current: u32,
    /// The operation that stepped back, or none.
    pub suspended: u32,
    /// What is left of it, or of the current erase or program since it last began.
    pub left_ns: u64,
    /// Whether a host read came before the current operation reached the array.
    pub hurry: bool,
    /// The end of the last operation.
    pub free_ns: u64,
    /// Host reads, where they may go first.
    pub reads: Queue,
    pub rest: Queue,
    /// Time spent by class; the last interval may end in the future.
    busy_ns: [u64; 4],
    last: (Class, u64),
    /// The class and begin of an interval whose end is not known yet.
    open: Option<(Class, u64)>,
    /// Time that the next read to be taken waited for another operation to step back.
    pub stepping_back_ns: u64,
}

impl Die {
    pub fn new(channel: u32) -> Die {
        Die {
            channel,
            phase: Phase::Idle,
            current: NONE,
            suspended: NONE,
            left_ns: 0,
            hurry: false,
            free_ns: 0,
            reads: Queue::EMPTY,
            rest: Queue::EMPTY,
            busy_ns: [0; 4],
            last: (Class::Host, 0),
            open: None,
            stepping_back_ns: 0,
        }
    }

    /// From `begin_ns` on time goes to `class`.
    #[inline]
    pub fn begin(&mut self, class: Class, begin_ns: u64) {
        debug_assert!(self.open.is_none() && begin_ns >= self.last.1);
        self.open = Some((class, begin_ns));
    }

    /// The interval ends at `end_ns`.
    #[inline]
    pub fn end(&mut self, end_ns: u64) {
        let (class, begin_ns) = self.open.take().expect("a die ends what it began");
        self.busy_ns[class as usize] += end_ns - begin_ns;
        self.last = (class, end_ns);
    }

    /// A whole interval.
    #[inline]
    pub fn spend(&mut self, class: Class, begin_ns: u64, end_ns: u64) {
        self.busy_ns[class as usize] += end_ns - begin_ns;
        self.last = (class, end_ns);
    }

    /// Time spent on `class` until `now_ns`, at which at most one interval with a known end is under way.
    #[inline]
    pub fn busy_until(&self, class: Class, now_ns: u64) -> u64 {
        let mut busy = self.busy_ns[class as usize];
        if self.last.0 == class {
            busy -= self.last.1.saturating_sub(now_ns);
        }
        if let Some((open, begin_ns)) = self.open
            && open == class
        {
            busy += now_ns.saturating_sub(begin_ns);
        }
        busy
    }

    /// Time spent, including the intervals with a known end in the future.
    pub fn busy_ns(&self) -> [u64; 4] {
        self.busy_ns
    }
}
