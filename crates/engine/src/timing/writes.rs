//! Which writes have reached the flash, for the flushes that wait for all of them.

use std::collections::VecDeque;

/// Writes that no flush came between.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// How many of them are still under way.
    under_way: u64,
    /// The latest end of the others.
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
    /// The number of the first write after it.
    next: u64,
    flush: u32,
    /// The writes since the flush before it.
    before: Stretch,
}

/// The writes that have begun: how many are under way before each flush that waits, and since.
#[derive(Debug, Default)]
pub(super) struct Writes {
    begun: u64,
    /// Flushes that wait, in order.
    waiting: VecDeque<Waiting>,
    /// The latest end of all writes before the last flush that was released.
    ended_ns: u64,
    /// The writes since the last flush.
    since: Stretch,
    /// Flushes that wait for no write any more, and when the last of theirs ended.
    pub released: Vec<(u32, u64)>,
}

impl Writes {
    /// One more; returns its number.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.begun += 1;
        self.since.under_way += 1;
        self.begun - 1
    }

    /// One more, whose end is known.
    #[inline]
    pub fn pass(&mut self, end_ns: u64) {
        self.begun += 1;
        self.since.ended_ns = self.since.ended_ns.max(end_ns);
    }

    /// `flush` waits for all writes so far.
    pub fn wait(&mut self, flush: u32) {
        let before = std::mem::take(&mut self.since);
        self.waiting.push_back(Waiting { next: self.begun, flush, before });
        self.release();
    }

    /// Write `number` ends at `end_ns`.
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
