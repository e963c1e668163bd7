//! Distribution of intervals between two writes of a page (UID).

/// Largest number of entries of a distribution; on larger drives an entry spans several blocks.
const MAX_ENTRIES: u64 = 1 << 16;

/// Histogram of the intervals in an epoch, in units of at least a block.
pub(super) struct Intervals {
    unit: u64,
    counts: Vec<u32>,
}

/// Cumulative sums of a distribution at each of its entries.
pub(super) struct Distribution {
    /// Host pages per entry.
    pub(super) unit: f64,
    /// Fraction of the intervals shorter than the start of each entry.
    shorter: Vec<f64>,
    /// For each entry, valid pages younger than its start, per page that the host writes in that time.
    valid: Vec<f64>,
    /// Sum of the lengths of the intervals shorter than the start of each entry, divided by the number of all
    /// intervals, host pages.
    lengths: Vec<f64>,
}

impl Intervals {
    /// Creates an empty histogram. The last entry holds all intervals of `longest` host pages and more.
    pub(super) fn new(block_pages: u32, longest: u64) -> Self {
        let unit = u64::from(block_pages).max(longest.div_ceil(MAX_ENTRIES));
        Intervals { unit, counts: vec![0; longest.div_ceil(unit).max(1) as usize] }
    }

    /// Counts a page that was rewritten after `interval` host pages.
    #[inline]
    pub(super) fn add(&mut self, interval: u64) {
        let entry = (interval / self.unit).min(self.counts.len() as u64 - 1);
        self.counts[entry as usize] += 1;
    }

    /// Returns the distribution and clears the histogram; `None` if it is empty. `unfinished` pages were written once
    /// and not rewritten yet.
    pub(super) fn take(&mut self, unfinished: u64) -> Option<Distribution> {
        let total = self.counts.iter().map(|&count| u64::from(count)).sum::<u64>();
        if total == 0 {
            return None;
        }
        let (all, unit) = ((total + unfinished) as f64, self.unit as f64);
        let entries = self.counts.len() + 1;
        let sums = || Vec::with_capacity(entries);
        let mut distribution = Distribution { unit, shorter: sums(), valid: sums(), lengths: sums() };
        let (mut shorter, mut valid, mut lengths) = (0.0, 0.0, 0.0);
        for (entry, count) in self.counts.iter_mut().enumerate() {
            distribution.push(shorter, valid, lengths);
            let fraction = f64::from(std::mem::take(count)) / all;
            // Intervals are spread evenly over their entry.
            valid += unit * (1.0 - shorter - fraction / 2.0);
            shorter += fraction;
            lengths += fraction * (entry as f64 + 0.5) * unit;
        }
        distribution.push(shorter, valid, lengths);
        Some(distribution)
    }

    /// Returns the memory used, in bytes.
    pub(super) fn memory_bytes(&self) -> usize {
        size_of_val(&*self.counts)
    }
}

impl Distribution {
    fn push(&mut self, shorter: f64, valid: f64, lengths: f64) {
        self.shorter.push(shorter);
        self.valid.push(valid);
        self.lengths.push(lengths);
    }

    fn at(&self, sums: &[f64], age: f64) -> f64 {
        let position = (age / self.unit).max(0.0);
        let entry = position as usize;
        match (sums.get(entry), sums.get(entry + 1)) {
            (Some(below), Some(above)) => below + (above - below) * (position - entry as f64),
            _ => *sums.last().expect("there is an entry"),
        }
    }

    /// Returns the fraction of the intervals that are shorter than `age` host pages.
    pub(super) fn shorter(&self, age: f64) -> f64 {
        self.at(&self.shorter, age)
    }

    /// Returns the number of valid pages younger than `age`, per host page written within this age: the integral of the
    /// survival function.
    pub(super) fn valid(&self, age: f64) -> f64 {
        self.at(&self.valid, age)
    }

    /// Returns the sum of the lengths of intervals shorter than `age`, divided by the number of all intervals.
    pub(super) fn lengths(&self, age: f64) -> f64 {
        self.at(&self.lengths, age)
    }

    /// Returns the longest age that the histogram can distinguish.
    pub(super) fn longest(&self) -> f64 {
        (self.shorter.len() - 1) as f64 * self.unit
    }

    /// Returns the age below which a fraction `fraction` of the intervals lies, or the longest age if there is no such
    /// age.
    pub(super) fn age_of(&self, fraction: f64) -> f64 {
        let above = self.shorter.partition_point(|&shorter| shorter < fraction);
        let (Some(&upper), Some(below)) = (self.shorter.get(above), above.checked_sub(1)) else {
            return if above == 0 { 0.0 } else { self.longest() };
        };
        let lower = self.shorter[below];
        (below as f64 + (fraction - lower) / (upper - lower)) * self.unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_match_a_distribution_worked_out_by_hand() {
        let mut intervals = Intervals::new(10, 40);
        assert!(intervals.take(5).is_none());
        // Two intervals in 0 to 9, one in 10 to 19, and one above 40, in the last entry; four pages were written only
        // once: 8 in total.
        [0, 9, 10, 500].into_iter().for_each(|interval| intervals.add(interval));
        let distribution = intervals.take(4).unwrap();
        let assert_near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        assert_near(distribution.shorter(10.0), 0.25);
        assert_near(distribution.shorter(15.0), 0.25 + 0.0625);
        assert_near(distribution.shorter(40.0), 0.5);
        assert_near(distribution.shorter(1e9), 0.5);
        // A quarter of the first 10 pages is invalidated in this time, evenly: 10 - 2.5 / 2 = 8.75. Of the next 10,
        // three quarters are left and an eighth is invalidated: 7.5 - 1.25 / 2 = 6.875.
        assert_near(distribution.valid(10.0), 8.75);
        assert_near(distribution.valid(20.0), 15.625);
        // Two intervals of mean length 5 and one of 15: (10 + 15) / 8.
        assert_near(distribution.lengths(20.0), 25.0 / 8.0);
        assert_near(distribution.age_of(0.25), 10.0);
        assert_near(distribution.age_of(0.3), 14.0);
        assert_near(distribution.age_of(0.0), 0.0);
        assert_near(distribution.age_of(0.6), 40.0);
        assert_near(distribution.longest(), 40.0);
        assert!(intervals.take(0).is_none(), "it was forgotten");
    }

    #[test]
    fn large_drives_have_entries_of_several_blocks() {
        let intervals = Intervals::new(64, 1 << 24);
        assert_eq!((intervals.unit, intervals.memory_bytes()), (256, 4 << 16));
    }
}
