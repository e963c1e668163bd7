//! How much of what lies ahead is cleaning.

use std::collections::VecDeque;

/// The times, past ones forgotten, in which a resource that is used in order works or will work for cleaning.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// Begin and end, in order.
    intervals: VecDeque<(u64, u64)>,
    sum_ns: u64,
}

impl Backlog {
    /// Appends an interval behind the last one.
    pub fn push(&mut self, begin_ns: u64, end_ns: u64) {
        self.intervals.push_back((begin_ns, end_ns));
        self.sum_ns += end_ns - begin_ns;
    }

    /// Whether there is none that was not found to be past.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.intervals.is_empty()
    }

    /// Nanoseconds of the intervals after `now_ns`, which never goes back.
    #[inline]
    pub fn ahead(&mut self, now_ns: u64) -> u64 {
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
