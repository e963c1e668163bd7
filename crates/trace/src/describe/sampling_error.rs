//! Sampling errors measured on the sample itself.
//!
//! Method of random groups (Wolter, Introduction to Variance Estimation, 2nd edition, 2007, chapter 2). The sampled
//! pages fall into groups by their hash, and the differences between the groups show how much the sum over all groups
//! depends on the choice of pages. The method needs no assumption about the distribution of writes over pages.

/// Number of groups of sampled pages.
pub const GROUPS: usize = 32;

/// Number of buckets for each doubling of a value.
const BUCKETS_PER_OCTAVE: u32 = 8;

/// Counts of each group.
#[derive(Clone, Copy, Default)]
pub struct GroupCounts([f64; GROUPS]);

impl GroupCounts {
    /// Adds `times` to the count of `group`.
    #[inline]
    pub fn add(&mut self, group: usize, times: u64) {
        self.0[group] += times as f64;
    }

    /// Returns the sum of all groups.
    pub fn sum(&self) -> f64 {
        self.0.iter().sum()
    }

    /// Returns the counts plus `factor` times those of `other`.
    pub fn add_scaled(mut self, factor: f64, other: &GroupCounts) -> GroupCounts {
        self.0.iter_mut().zip(other.0).for_each(|(count, other)| *count += factor * other);
        self
    }

    /// Returns the standard error of the sum as an estimate of `rate` times the count over all pages.
    pub fn standard_error(&self, rate: f64) -> f64 {
        let groups = GROUPS as f64;
        let mean = self.sum() / groups;
        let squares: f64 = self.0.iter().map(|&count| (count - mean).powi(2)).sum();
        ((1.0 - rate) * groups / (groups - 1.0) * squares).sqrt()
    }
}

/// Values of each group, in buckets of an eighth of an octave.
#[derive(Default)]
pub struct GroupHistogram {
    buckets: Vec<GroupCounts>,
}

/// Returns the bucket of a value; each value below 8 has its own bucket.
#[inline]
fn bucket(value: u64) -> usize {
    let octave = (value | 1).ilog2();
    if octave < 3 {
        return value as usize;
    }
    let within = (value >> (octave - 3)) as u32 % BUCKETS_PER_OCTAVE;
    ((octave - 2) * BUCKETS_PER_OCTAVE + within) as usize
}

impl GroupHistogram {
    /// Counts `value`, `times` times, for `group`.
    #[inline]
    pub fn record(&mut self, group: usize, value: u64, times: u64) {
        let bucket = bucket(value);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, GroupCounts::default());
        }
        self.buckets[bucket].add(group, times);
    }

    /// Returns the number of values of each group in the bucket of `value` and above.
    pub fn counts_from(&self, value: u64) -> GroupCounts {
        let mut sum = GroupCounts::default();
        self.buckets.iter().skip(bucket(value)).for_each(|groups| sum = sum.add_scaled(1.0, groups));
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bucket_numbers_are_contiguous() {
        let mut last = 0;
        for value in 0..100_000 {
            let bucket = bucket(value);
            assert!(bucket == last || bucket == last + 1, "{value} is in {bucket}, after {last}");
            last = bucket;
        }
        assert_eq!(bucket(7), 7);
        assert_eq!(bucket(8), 8);
        assert_eq!((bucket(16), bucket(17), bucket(18)), (16, 16, 17));
        assert_eq!(bucket(u64::MAX), 62 * 8 - 1);
    }

    #[test]
    fn standard_error_of_equal_pages_is_binomial() {
        let mut groups = GroupCounts::default();
        // Group sizes vary like random draws of pages: 100, plus or minus 10.
        (0..GROUPS).for_each(|group| groups.add(group, if group % 2 == 0 { 110 } else { 90 }));
        let expected = (0.9 * 32.0 * 100.0 * 32.0 / 31.0_f64).sqrt();
        assert!((groups.standard_error(0.1) - expected).abs() < 1e-9);
        assert_eq!(groups.standard_error(1.0), 0.0);
    }
}
