//! Time series of a run, in a fixed number of equal bins.

use serde::{Deserialize, Serialize};

/// Totals of one interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bin {
    /// Requests that ended in the interval.
    pub requests: u64,
    /// Sum of their response times, nanoseconds.
    pub response_sum_ns: u64,
    /// Their longest response time, nanoseconds.
    pub response_max_ns: u64,
    /// Time that dies spent on cleaning, nanoseconds, summed over all dies.
    pub cleaning_busy_ns: u64,
    /// Victims whose erase ended.
    pub victims: u64,
}

impl Bin {
    fn add(&mut self, other: &Bin) {
        self.requests += other.requests;
        self.response_sum_ns += other.response_sum_ns;
        self.response_max_ns = self.response_max_ns.max(other.response_max_ns);
        self.cleaning_busy_ns += other.cleaning_busy_ns;
        self.victims += other.victims;
    }
}

/// Equal bins from the start of the measurement. When time passes the last bin, pairs are merged and the bin width
/// doubles, so that any run fits into constant memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timeline {
    /// Start of the first bin, nanoseconds.
    pub start_ns: u64,
    /// Width of each bin, nanoseconds.
    pub bin_ns: u64,
    /// All bins; those that time has not reached are empty.
    pub bins: Vec<Bin>,
}

impl Timeline {
    /// Number of bins.
    pub const BINS: usize = 256;

    /// Initial bin width.
    const INITIAL_BIN_NS: u64 = 1 << 16;

    /// Creates an empty time series.
    pub fn new(start_ns: u64) -> Self {
        Timeline { start_ns, bin_ns: Self::INITIAL_BIN_NS, bins: vec![Bin::default(); Self::BINS] }
    }

    #[inline]
    fn bin(&mut self, time_ns: u64) -> &mut Bin {
        let since_ns = time_ns.saturating_sub(self.start_ns);
        // The bin width is a power of two.
        if since_ns >> self.bin_ns.trailing_zeros() >= Self::BINS as u64 {
            self.widen(since_ns);
        }
        &mut self.bins[(since_ns >> self.bin_ns.trailing_zeros()) as usize]
    }

    /// Merges pairs of bins until there is a bin for the time `since_ns` after the start.
    #[cold]
    fn widen(&mut self, since_ns: u64) {
        while since_ns >> self.bin_ns.trailing_zeros() >= Self::BINS as u64 {
            for pair in 0..Self::BINS / 2 {
                let second = self.bins[2 * pair + 1];
                self.bins[pair] = self.bins[2 * pair];
                self.bins[pair].add(&second);
            }
            self.bins[Self::BINS / 2..].fill(Bin::default());
            self.bin_ns *= 2;
        }
    }

    /// Adds a request that ended.
    #[inline]
    pub fn add_request(&mut self, end_ns: u64, response_ns: u64) {
        let bin = self.bin(end_ns);
        bin.requests += 1;
        bin.response_sum_ns += response_ns;
        bin.response_max_ns = bin.response_max_ns.max(response_ns);
    }

    /// Adds an interval in which a die did cleaning.
    pub fn add_cleaning(&mut self, begin_ns: u64, end_ns: u64) {
        if end_ns <= self.start_ns {
            return;
        }
        let mut at_ns = begin_ns.max(self.start_ns);
        // Widens the bins first, so that the end fits.
        self.bin(end_ns);
        while at_ns < end_ns {
            let bin_end_ns = self.start_ns + ((at_ns - self.start_ns) / self.bin_ns + 1) * self.bin_ns;
            let part_ns = bin_end_ns.min(end_ns) - at_ns;
            self.bin(at_ns).cleaning_busy_ns += part_ns;
            at_ns += part_ns;
        }
    }

    /// Adds the end of a victim's erase.
    pub fn add_victim(&mut self, end_ns: u64) {
        if end_ns >= self.start_ns {
            self.bin(end_ns).victims += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_bins_keep_all_totals() {
        let mut timeline = Timeline::new(1000);
        timeline.add_cleaning(0, 1000 + 3 * Timeline::INITIAL_BIN_NS / 2);
        assert_eq!(timeline.bins[0].cleaning_busy_ns, Timeline::INITIAL_BIN_NS);
        assert_eq!(timeline.bins[1].cleaning_busy_ns, Timeline::INITIAL_BIN_NS / 2);
        for number in 0..1000 {
            timeline.add_request(1000 + number * Timeline::INITIAL_BIN_NS, number);
        }
        timeline.add_victim(5000);
        assert_eq!(timeline.bin_ns, 4 * Timeline::INITIAL_BIN_NS);
        assert_eq!(timeline.bins.iter().map(|bin| bin.requests).sum::<u64>(), 1000);
        assert_eq!(timeline.bins.iter().map(|bin| bin.response_sum_ns).sum::<u64>(), 999 * 500);
        assert_eq!(timeline.bins[0].cleaning_busy_ns, 3 * Timeline::INITIAL_BIN_NS / 2);
        assert_eq!((timeline.bins[0].requests, timeline.bins[0].response_max_ns), (4, 3));
        assert_eq!(timeline.bins[0].victims, 1);
    }
}
