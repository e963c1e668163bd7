//! Progress of writes, for the flushes that wait for all earlier writes.

use std::collections::VecDeque;

/// Writes between two flushes.
#[derive(Clone, Copy, Debug, Default)]
struct WritesBetweenFlushes {
    /// Number of these writes that are under way.
    in_flight: u64,
    /// Latest end of the completed writes.
    last_end_ns: u64,
}

impl WritesBetweenFlushes {
    #[inline]
    fn end(&mut self, end_ns: u64) {
        self.in_flight -= 1;
        self.last_end_ns = self.last_end_ns.max(end_ns);
    }
}

/// A flush that waits for writes.
#[derive(Debug)]
struct WaitingFlush {
    /// Number of the first write after the flush.
    next_write: u64,
    flush: u32,
    /// Writes since the previous flush.
    writes_before: WritesBetweenFlushes,
}

/// Numbers of the writes under way before each waiting flush, and since the last flush.
#[derive(Debug, Default)]
pub(super) struct WriteTracker {
    started: u64,
    /// Waiting flushes, in order.
    waiting: VecDeque<WaitingFlush>,
    /// Latest end of all writes before the last released flush.
    last_end_ns: u64,
    /// Writes since the last flush.
    since_last_flush: WritesBetweenFlushes,
    /// Flushes that no longer wait, and the end of the last write before each.
    pub released: Vec<(u32, u64)>,
}

impl WriteTracker {
    /// Begins a write; returns its number.
    #[inline]
    pub fn begin(&mut self) -> u64 {
        self.started += 1;
        self.since_last_flush.in_flight += 1;
        self.started - 1
    }

    /// Counts a write whose end is known already.
    #[inline]
    pub fn add_ended(&mut self, end_ns: u64) {
        self.started += 1;
        self.since_last_flush.last_end_ns = self.since_last_flush.last_end_ns.max(end_ns);
    }

    /// Makes `flush` wait for all writes so far.
    pub fn wait(&mut self, flush: u32) {
        let writes_before = std::mem::take(&mut self.since_last_flush);
        self.waiting.push_back(WaitingFlush { next_write: self.started, flush, writes_before });
        self.release();
    }

    /// Ends write `number` at `end_ns`.
    #[inline]
    pub fn end(&mut self, number: u64, end_ns: u64) {
        if self.waiting.is_empty() {
            return self.since_last_flush.end(end_ns);
        }
        let flush = self.waiting.partition_point(|waiting| waiting.next_write <= number);
        self.waiting
            .get_mut(flush)
            .map_or(&mut self.since_last_flush, |waiting| &mut waiting.writes_before)
            .end(end_ns);
        self.release();
    }

    fn release(&mut self) {
        while let Some(&WaitingFlush { flush, writes_before: before, .. }) = self.waiting.front()
            && before.in_flight == 0
        {
            self.last_end_ns = self.last_end_ns.max(before.last_end_ns);
            self.waiting.pop_front();
            self.released.push((flush, self.last_end_ns));
        }
    }
}
