//! Future cleaning work of a die or a channel.

use std::collections::VecDeque;

/// Future intervals of cleaning on a resource that serves operations in order. Past intervals are dropped.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Start and end of each interval, in order.
    intervals: VecDeque<(u64, u64)>,
    sum_ns: u64,
}

impl Backlog {
    /// Appends an interval after the last one.
    pub fn push(&mut self, begin_ns: u64, end_ns: u64) {
        self.intervals.push_back((begin_ns, end_ns));
        self.sum_ns += end_ns - begin_ns;
    }

    /// True if no interval is left; past intervals count until [`Backlog::remaining_ns`] drops them.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Returns the nanoseconds of cleaning after `now_ns`, which must never decrease.
    #[inline]
    pub fn remaining_ns(&mut self, now_ns: u64) -> u64 {
        while let Some(&(begin, end)) = self.intervals.front() {
            if end > now_ns {
                return self.sum_ns - now_ns.saturating_sub(begin);
            }
            self.intervals.pop_front();
            self.sum_ns -= end - begin;
        }
        0
    }
}
