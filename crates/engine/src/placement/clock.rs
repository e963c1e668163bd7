//! Clock with 32-bit times in host writes, for placements that store a time for every page.

use crate::units::Lpn;

/// Time of a page without data.
const NEVER: u32 = u32::MAX;

/// Clock of 32-bit times in host writes, which wrap around.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Host pages per unit of time.
    unit: u64,
}

impl Clock {
    /// Times run from 0 to one below [`NEVER`].
    const PERIOD: u64 = NEVER as u64;

    /// Creates a clock with 65,536 units per drive write, or fewer on small drives: precise enough for ages that are
    /// compared with block lifespans. The times wrap around after 65,535 drive writes.
    pub(super) fn new(logical_pages: u32) -> Self {
        Clock { unit: u64::from(logical_pages).div_ceil(1 << 16).max(1) }
    }

    fn time(self, now: u64) -> u32 {
        (now / self.unit % Self::PERIOD) as u32
    }

    /// Returns the host pages written since `time`, with a resolution of one unit; whole wraparounds are lost.
    fn age(self, time: u32, now: u64) -> u64 {
        (u64::from(self.time(now)) + Self::PERIOD - u64::from(time)) % Self::PERIOD * self.unit
    }
}

/// Time of each page's last host write, 4 bytes per page.
pub(super) struct LastWrites {
    clock: Clock,
    times: Vec<u32>,
}

impl LastWrites {
    /// Creates a table in which no page was written.
    pub(super) fn new(logical_pages: u32) -> Self {
        Self::for_parts(logical_pages, logical_pages)
    }

    /// Creates a table for `parts` numbered parts of a drive of `logical_pages` pages; each part is used like a page.
    pub(super) fn for_parts(parts: u32, logical_pages: u32) -> Self {
        LastWrites { clock: Clock::new(logical_pages), times: vec![NEVER; parts as usize] }
    }

    /// Returns the host pages written since the page was written, or `None` for a page without data.
    #[inline]
    pub(super) fn age(&self, page: Lpn, now: u64) -> Option<u64> {
        let time = self.times[page.index()];
        (time != NEVER).then(|| self.clock.age(time, now))
    }

    /// Records a write of the page; returns its age before the write.
    #[inline]
    pub(super) fn record_write(&mut self, page: Lpn, now: u64) -> Option<u64> {
        let age = self.age(page, now);
        self.times[page.index()] = self.clock.time(now);
        age
    }

    /// Records that the page holds no data.
    pub(super) fn clear(&mut self, page: Lpn) {
        self.times[page.index()] = NEVER;
    }

    /// Returns the memory used, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_count_from_the_last_write_across_wraparound() {
        let mut writes = LastWrites::new(10);
        assert_eq!(writes.record_write(Lpn(3), 7), None);
        assert_eq!(writes.record_write(Lpn(3), 19), Some(12));
        assert_eq!(writes.age(Lpn(3), 20), Some(1));
        writes.clear(Lpn(3));
        assert_eq!(writes.age(Lpn(3), 20), None);
        for start in [Clock::PERIOD - 1, Clock::PERIOD, 5 * Clock::PERIOD + 2] {
            writes.record_write(Lpn(0), start);
            assert_eq!(writes.age(Lpn(0), start + 99), Some(99), "at {start}");
        }
        assert_eq!(writes.memory_bytes(), 40);
    }

    #[test]
    fn large_drives_count_in_units_of_some_pages() {
        let mut writes = LastWrites::new(1 << 20);
        writes.record_write(Lpn(1), 0);
        assert_eq!(writes.age(Lpn(1), 15), Some(0));
        assert_eq!(writes.age(Lpn(1), 47), Some(32));
    }
}
