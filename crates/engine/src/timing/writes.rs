//! Which writes have reached the flash, for the flushes that wait for all of them.

use std::collections::VecDeque;

/// Not yet.
const UNDER_WAY: u64 = u64::MAX;

/// The writes from the first that is still under way on.
#[derive(Debug, Default)]
pub(super) struct Writes {
    ends: VecDeque<u64>,
    /// Number of the first of them.
    first: u64,
    /// The latest end of all writes before it.
    ended_ns: u64,
    /// Flushes by the number of writes that they wait for, in order.
    flushes: VecDeque<(u64, u32)>,
    /// Flushes that wait for no write any more, and when the last of theirs ended.
    pub released: Vec<(u32, u64)>,
}

impl Writes {
    /// One more; returns its number.
    pub fn begin(&mut self) -> u64 {
        self.ends.push_back(UNDER_WAY);
        self.first + self.ends.len() as u64 - 1
    }

    /// `flush` waits for all writes so far.
    pub fn wait(&mut self, flush: u32) {
        self.flushes.push_back((self.first + self.ends.len() as u64, flush));
        self.release();
    }

    /// Write `number` ends at `end_ns`.
    pub fn end(&mut self, number: u64, end_ns: u64) {
        self.ends[(number - self.first) as usize] = end_ns;
        while let Some(&end_ns) = self.ends.front()
            && end_ns != UNDER_WAY
        {
            self.ends.pop_front();
            self.first += 1;
            self.ended_ns = self.ended_ns.max(end_ns);
            self.release();
        }
    }

    fn release(&mut self) {
        while let Some(&(count, flush)) = self.flushes.front()
            && count <= self.first
        {
            self.flushes.pop_front();
            self.released.push((flush, self.ended_ns));
        }
    }
}
