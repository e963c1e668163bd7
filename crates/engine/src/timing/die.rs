//! A die: its current operation, its queue, and its busy time.

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

/// State of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Idle from [`Die::free_ns`] on.
    Idle,
    /// An operation waits for the channel.
    Channel,
    /// An operation is in the array, or will reach it, and may be suspended.
    Array,
    /// An operation whose end is known is under way; then the die chooses the next one.
    Choosing,
    /// The die is suspending an operation.
    Suspending,
}

/// One die.
#[derive(Debug)]
pub(super) struct Die {
    pub channel: u32,
    pub phase: Phase,
    /// Number of the current operation, or [`NONE`].
    pub current: u32,
    /// Number of the suspended operation, or [`NONE`].
    pub suspended: u32,
    /// Remaining time of the suspended operation; or, without one, of the current erase or program from its last start.
    pub left_ns: u64,
    /// True if a host read arrived before the current operation reached the array.
    pub suspend_requested: bool,
    /// End of the last operation.
    pub free_ns: u64,
    /// Queue of host reads, used if host reads have priority.
    pub reads: Queue,
    pub others: Queue,
    /// Busy time by class; the last interval may end in the future.
    busy_ns: [u64; 4],
    last_interval: (Class, u64),
    /// Class and start of an interval whose end is not known yet.
    open_interval: Option<(Class, u64)>,
    /// Time that the next read to be taken waited for another operation to be suspended.
    pub suspend_wait_ns: u64,
}

impl Die {
    pub fn new(channel: u32) -> Die {
        Die {
            channel,
            phase: Phase::Idle,
            current: NONE,
            suspended: NONE,
            left_ns: 0,
            suspend_requested: false,
            free_ns: 0,
            reads: Queue::EMPTY,
            others: Queue::EMPTY,
            busy_ns: [0; 4],
            last_interval: (Class::Host, 0),
            open_interval: None,
            suspend_wait_ns: 0,
        }
    }

    /// Begins an interval of class `class` at `begin_ns`.
    #[inline]
    pub fn begin(&mut self, class: Class, begin_ns: u64) {
        debug_assert!(self.open_interval.is_none() && begin_ns >= self.last_interval.1);
        self.open_interval = Some((class, begin_ns));
    }

    /// Ends the open interval at `end_ns`.
    #[inline]
    pub fn end(&mut self, end_ns: u64) {
        let (class, begin_ns) = self.open_interval.take().expect("a die ends what it began");
        self.busy_ns[class as usize] += end_ns - begin_ns;
        self.last_interval = (class, end_ns);
    }

    /// Adds a whole interval.
    #[inline]
    pub fn add_interval(&mut self, class: Class, begin_ns: u64, end_ns: u64) {
        self.busy_ns[class as usize] += end_ns - begin_ns;
        self.last_interval = (class, end_ns);
    }

    /// Returns the time spent on `class` until `now_ns`. At this time, at most one interval with a known end may be
    /// under way.
    #[inline]
    pub fn busy_until(&self, class: Class, now_ns: u64) -> u64 {
        let mut busy = self.busy_ns[class as usize];
        if self.last_interval.0 == class {
            busy -= self.last_interval.1.saturating_sub(now_ns);
        }
        if let Some((open, begin_ns)) = self.open_interval
            && open == class
        {
            busy += now_ns.saturating_sub(begin_ns);
        }
        busy
    }

    /// Returns the busy time by class, including intervals with a known end in the future.
    pub fn busy_ns(&self) -> [u64; 4] {
        self.busy_ns
    }
}
