//! Host writes as times of 32 bits, for placements that keep one for every page.

use crate::units::Lpn;

/// The time of a page that holds nothing.
const NEVER: u32 = u32::MAX;

/// Host writes as 32-bit times that run round.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    /// Host pages to a unit of time.
    unit: u64,
}

impl Clock {
    /// Times run from 0 to one below [`NEVER`].
    const ROUND: u64 = NEVER as u64;

    /// 65,536 units to a drive write, or fewer on small drives: fine enough for ages that are compared with
    /// block lifespans, and it takes 65,535 drive writes to run round.
    pub(super) fn new(logical_pages: u32) -> Self {
        Clock { unit: u64::from(logical_pages).div_ceil(1 << 16).max(1) }
    }

    fn time(self, now: u64) -> u32 {
        (now / self.unit % Self::ROUND) as u32
    }

    /// Host pages written since `time`, to a unit; short by a whole number of rounds if longer than one.
    fn age(self, time: u32, now: u64) -> u64 {
        (u64::from(self.time(now)) + Self::ROUND - u64::from(time)) % Self::ROUND * self.unit
    }
}

/// When each page was last written by the host, 4 bytes a page.
pub(super) struct LastWrites {
    clock: Clock,
    times: Vec<u32>,
}

impl LastWrites {
    /// No page was written.
    pub(super) fn new(logical_pages: u32) -> Self {
        Self::of(logical_pages, logical_pages)
    }

    /// The same for so many parts of a drive of so many pages, each with a number as if it were a page.
    pub(super) fn of(parts: u32, logical_pages: u32) -> Self {
        LastWrites { clock: Clock::new(logical_pages), times: vec![NEVER; parts as usize] }
    }

    /// Host pages written since the page was; `None` if it holds nothing.
    #[inline]
    pub(super) fn age(&self, page: Lpn, now: u64) -> Option<u64> {
        let time = self.times[page.index()];
        (time != NEVER).then(|| self.clock.age(time, now))
    }

    /// The page is written; its age until then.
    #[inline]
    pub(super) fn written(&mut self, page: Lpn, now: u64) -> Option<u64> {
        let age = self.age(page, now);
        self.times[page.index()] = self.clock.time(now);
        age
    }

    /// The page holds nothing any more.
    pub(super) fn forget(&mut self, page: Lpn) {
        self.times[page.index()] = NEVER;
    }

    /// Bytes of memory.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_of_the_last_write_and_survive_the_end_of_32_bits() {
        let mut writes = LastWrites::new(10);
        assert_eq!(writes.written(Lpn(3), 7), None);
        assert_eq!(writes.written(Lpn(3), 19), Some(12));
        assert_eq!(writes.age(Lpn(3), 20), Some(1));
        writes.forget(Lpn(3));
        assert_eq!(writes.age(Lpn(3), 20), None);
        for round in [Clock::ROUND - 1, Clock::ROUND, 5 * Clock::ROUND + 2] {
            writes.written(Lpn(0), round);
            assert_eq!(writes.age(Lpn(0), round + 99), Some(99), "at {round}");
        }
        assert_eq!(writes.memory_bytes(), 40);
    }

    #[test]
    fn large_drives_count_in_units_of_some_pages() {
        let mut writes = LastWrites::new(1 << 20);
        writes.written(Lpn(1), 0);
        assert_eq!(writes.age(Lpn(1), 15), Some(0));
        assert_eq!(writes.age(Lpn(1), 47), Some(32));
    }
}
