//! A channel: the order of its transfers, and its busy time.

use super::backlog::Backlog;
use super::node::Class;

/// Key that means "no event".
pub(super) const NEVER: u128 = u128::MAX;

/// Kinds of events, in the order in which they happen at equal times.
#[repr(u8)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventKind {
    /// Ends of operations that could be suspended before.
    End = 0,
    /// Arrivals of operations, in the order of the operations' numbers.
    Arrival = 1,
    /// Choices of dies: each die chooses its next operation.
    Choice = 2,
    /// Starts of transfers, in the order of the operations' numbers.
    Transfer = 3,
}

/// Returns the key by which events are ordered: time, then kind, then number.
#[inline]
pub(super) fn key(time_ns: u64, kind: EventKind, number: u64) -> u128 {
    (u128::from(time_ns) << 64) | u128::from((kind as u64) << 62 | number)
}

/// Returns the time of an event.
#[inline]
pub(super) fn time_of(key: u128) -> u64 {
    (key >> 64) as u64
}

/// One channel.
#[derive(Debug, Default)]
pub(super) struct Channel {
    /// The end of the last transfer.
    pub free_ns: u64,
    /// Busy time by class; the last transfer may end in the future.
    pub busy_ns: [u64; 4],
    cleaning: Backlog,
}

impl Channel {
    /// Grants the channel for `channel_ns` to an operation that is ready at `ready_ns`. Returns the start of the
    /// transfer, and the part of the wait that cleaning caused. Calls must be in the order of `ready_ns`: first come,
    /// first served.
    #[inline]
    pub fn grant(&mut self, ready_ns: u64, channel_ns: u64, class: Class) -> (u64, u64) {
        let begin_ns = self.free_ns.max(ready_ns);
        let cleaning_wait_ns = if !self.cleaning.is_empty() && begin_ns > ready_ns {
            self.cleaning.remaining_ns(ready_ns)
        } else {
            0
        };
        self.free_ns = begin_ns + channel_ns;
        self.busy_ns[class as usize] += channel_ns;
        if class == Class::Cleaning {
            // Drops past intervals from time to time.
            self.cleaning.remaining_ns(ready_ns);
            self.cleaning.push(begin_ns, self.free_ns);
        }
        (begin_ns, cleaning_wait_ns)
    }
}
