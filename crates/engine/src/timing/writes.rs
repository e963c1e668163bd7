//! Progress of writes, for the flushes that wait for all of them.

use std::collections::VecDeque;

/// Writes between two flushes.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// Number of these writes under way.
    under_way: u64,
    /// Latest end among the completed writes.
    ended_ns: u64,
}

impl Stretch {
    #[inline]
    fn end(&mut self, end_ns: u64) {
        self.under_way -= 1;
        self.ended_ns = self.ended_ns.max(end_ns);
    }
}

/// A flush that waits for writes.
#[derive(Debug)]
struct Waiting {
    /// Number of the first write after the flush.
    next: u64,
    flush: u32,
    /// Writes since the previous flush.
    before: Stretch,
}

/// Counts of the writes under way: before each waiting flush, and since the last flush.
#[derive(Debug, Default)]
pub(super) struct Writes {
    begun: u64,
    /// Waiting flushes, in order.
    waiting: VecDeque<Waiting>,
    /// Latest end of all writes before the last released flush.
    ended_ns: u64,
    /// Writes since the last flush.
    since: Stretch,
    /// Flushes that no longer wait, and the end of the last write before each.
    pub released: Vec<(u32, u64)>,
}

impl Writes {
    /// Begins a write; returns its number.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.since.under_way += 1;
        self.begun - 1
    }

    /// Counts a write whose end is known already.
    #[inline]
    pub fn pass(&mut self, end_ns: u64) {
        self.begun += 1;
        self.since.ended_ns = self.since.ended_ns.max(end_ns);
    }

    /// Makes `flush` wait for all writes so far.
    pub fn wait(&mut self, flush: u32) {
        let before = std::mem::take(&mut self.since);
        self.waiting.push_back(Waiting { next: self.begun, flush, before });
        self.release();
    }

    /// Ends write `number` at `end_ns`.
    #[inline]
    pub fn end(&mut self, number: u64, end_ns: u64) {
        if self.waiting.is_empty() {
            return self.since.end(end_ns);
        }
        let flush = self.waiting.partition_point(|waiting| waiting.next <= number);
        self.waiting.get_mut(flush).map_or(&mut self.since, |waiting| &mut waiting.before).end(end_ns);
        self.release();
    }

    fn release(&mut self) {
        while let Some(&Waiting { flush, before, .. }) = self.waiting.front()
            && before.under_way == 0
        {
            self.ended_ns = self.ended_ns.max(before.ended_ns);
            self.waiting.pop_front();
            self.released.push((flush, self.ended_ns));
        }
    }
}
