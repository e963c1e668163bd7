//! Zipf workload: popularity falls as a power of rank.

use super::Workload;
use super::alias::{AliasTable, threshold};
use super::error::require;
use super::kind::Kind;
use super::rank_map::{RankMap, Space};
use super::request_stream::{AddressDistribution, build_workload};
use super::requests::RequestConfig;
use super::temperature::RankTemperature;
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};
use wearwell_base::temperature::Temperature;

/// Largest number of temperature classes of the oracle.
const MAX_CLASSES: u32 = 8;

/// Buckets are one rank wide up to this rank; beyond it, their width is their first rank divided by this
/// number. All values from 48 to 128 are equally fast: finer buckets reject less but miss the cache more.
const RESOLUTION: u32 = 96;

/// Zipf's law: the page of rank `k` (from 1) is drawn with a probability proportional to `k^-exponent`.
///
/// The exponent is the `theta` of Gray et al. (SIGMOD 1994) and of YCSB (0.99), where theirs must be below
/// 1; here it may be any number above 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Zipf {
    /// Exponent (`theta`, `s`), any finite number above 0; 1 and more are allowed.
    pub exponent: f64,
    /// Request lengths, reads, trims, hints and placement.
    #[serde(flatten)]
    pub requests: RequestConfig,
}

impl Zipf {
    fn check(&self) -> Result<(), ConfigError> {
        let is_valid = self.exponent > 0.0 && self.exponent.is_finite();
        require(is_valid, "exponent", self.exponent, "must be a finite number above 0")
    }
}

impl Kind for Zipf {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        self.check()?;
        let distribution = ZipfDistribution::new(self.exponent, space.logical_pages);
        build_workload(distribution, &self.requests, space, seed, self.temperature(space)?)
    }

    /// Returns at most eight classes of ranks, whose bounds rise geometrically. Pages within a class differ in update
    /// frequency by the same factor in all classes, and at exponent 1 each class has about the same share of the
    /// writes.
    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        self.check()?;
        self.requests.check(space.logical_pages)?;
        let pages = f64::from(space.logical_pages);
        let bound = |class: u32| libm::pow(pages, f64::from(class) / f64::from(MAX_CLASSES)).round() as u32;
        let mut bounds: Vec<u32> = (1..MAX_CLASSES).map(bound).filter(|&b| b < space.logical_pages).collect();
        bounds.dedup();
        let classes = (0..=bounds.len() as u8).collect();
        let rank_map = RankMap::new(space, self.requests.shift, self.requests.scatter);
        Ok(Some(Box::new(RankTemperature { bounds, classes, rank_map: Some(rank_map) })))
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

/// Samples the distribution exactly, for any number of ranks, by rejection from a staircase above it.
///
/// Ranks are divided into buckets of geometrically growing width, about 1,700 for 4 billion ranks. A draw takes a
/// bucket from an alias table, weighted as if all its ranks were as likely as its first. It then draws a rank of the
/// bucket uniformly, and accepts the rank with a probability equal to the ratio of the rank's weight to that of the
/// first rank. This ratio rarely has to be computed: it is at least the ratio of the last rank, which is known
/// beforehand (the "squeeze"). See Devroye, "Non-Uniform Random Variate Generation", 1986, II.3 and III.4.
pub(super) struct ZipfDistribution {
    exponent: f64,
    bucket_table: AliasTable,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy)]
struct Bucket {
    /// First rank, from 1.
    first: u32,
    /// Number of ranks.
    width: u32,
    /// Draws below this threshold are accepted for any rank of the bucket.
    accept_threshold: u64,
}

impl ZipfDistribution {
    pub fn new(exponent: f64, rank_count: u32) -> Self {
        let mut buckets = Vec::new();
        let mut weights = Vec::new();
        let mut remaining = rank_count;
        while remaining > 0 {
            let first = rank_count - remaining + 1;
            let width = (first / RESOLUTION).max(1).min(remaining);
            let ratio = f64::from(first) / f64::from(first + (width - 1));
            // The threshold is slightly below the true ratio, so that rounding never accepts a draw that the exact test
            // would reject.
            let accept_threshold = threshold(libm::pow(ratio, exponent) * (1.0 - 1e-12));
            buckets.push(Bucket {
                first,
                width,
                accept_threshold: if width == 1 { u64::MAX } else { accept_threshold },
            });
            // `libm` is used instead of the standard library, because powers of the standard library differ between
            // platforms.
            weights.push(f64::from(width) * libm::pow(f64::from(first), -exponent));
            remaining -= width;
        }
        ZipfDistribution { exponent, bucket_table: AliasTable::new(&weights), buckets }
    }

    /// Returns true if the uniform number `draw` accepts `rank` of `bucket`, by the exact test.
    #[cold]
    fn accepts(&self, bucket: Bucket, rank: u32, draw: u64) -> bool {
        draw < threshold(libm::pow(f64::from(bucket.first) / f64::from(rank), self.exponent))
    }
}

impl AddressDistribution for ZipfDistribution {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        loop {
            let bucket = self.buckets[self.bucket_table.pick(random.next_u64())];
            // The high half selects the rank; the low half serves as an independent number for the test.
            let product = u128::from(random.next_u64()) * u128::from(bucket.width);
            let rank = bucket.first + (product >> 64) as u32;
            let draw = product as u64;
            if draw < bucket.accept_threshold || self.accepts(bucket, rank, draw) {
                return rank - 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistical_tests::{assert_matches_weights, assert_mean, draw_pages};
    use super::*;

    const EXPONENTS: [f64; 7] = [0.01, 0.5, 0.99, 1.0, 1.2, 2.5, 40.0];

    #[test]
    fn rank_frequencies_match_distribution() {
        for exponent in EXPONENTS {
            for ranks in [1, 2, 3, 10, 97, 1000, 100_000] {
                let config = format!("kind = 'zipf'\nexponent = {exponent}");
                let mut counts = vec![0; ranks as usize];
                for page in draw_pages(&config, ranks, 200_000) {
                    counts[page as usize] += 1;
                }
                let weights: Vec<f64> = (1..=ranks).map(|rank| f64::from(rank).powf(-exponent)).collect();
                assert_matches_weights(&counts, &weights);
            }
        }
    }

    /// Returns the sum of `f` over the ranks up to `n`: term by term first, then as an integral over the
    /// logarithm, by Simpson's rule, from half a rank below to half a rank above.
    fn sum(n: u32, f: impl Fn(f64) -> f64) -> f64 {
        let head = n.min(1000);
        let exact: f64 = (1..=head).map(|rank| f(f64::from(rank))).sum();
        let (from, to) = ((f64::from(head) + 0.5).ln(), (f64::from(n) + 0.5).ln());
        let steps = 20_000;
        let h = (to - from) / f64::from(steps);
        let term = |step: u32| {
            let x = (from + h * f64::from(step)).exp();
            let factor = if step == 0 || step == steps { 1.0 } else { f64::from(2 + 2 * (step % 2)) };
            factor * f(x) * x
        };
        exact + (0..=steps).map(term).sum::<f64>() * h / 3.0
    }

    #[test]
    fn top_ranks_and_mean_log_rank_match_distribution_on_large_spaces() {
        for exponent in EXPONENTS {
            for ranks in [1_000_000, 375_809_638, u32::MAX] {
                let power = |rank: f64| rank.powf(-exponent);
                let total = sum(ranks, power);
                let config = format!("kind = 'zipf'\nexponent = {exponent}");
                let pages = draw_pages(&config, ranks, 400_000);

                let top = (1..=10).map(|rank| power(f64::from(rank))).sum::<f64>() / total;
                let hits = pages.iter().map(|&page| f64::from(u8::from(page < 10)));
                assert_mean(hits, top, (top * (1.0 - top)).max(0.0).sqrt());

                let mean = sum(ranks, |rank| power(rank) * rank.ln()) / total;
                let square = sum(ranks, |rank| power(rank) * rank.ln().powi(2)) / total;
                let logs = pages.iter().map(|&page| (f64::from(page) + 1.0).ln());
                assert_mean(logs, mean, (square - mean * mean).max(0.0).sqrt());
            }
        }
    }

    #[test]
    fn largest_space_needs_few_buckets() {
        assert!(ZipfDistribution::new(0.99, u32::MAX).buckets.len() < 1900);
    }

    #[test]
    fn accept_threshold_never_exceeds_exact_test() {
        for exponent in EXPONENTS {
            let distribution = ZipfDistribution::new(exponent, u32::MAX);
            for bucket in distribution.buckets.iter().filter(|bucket| bucket.width > 1) {
                assert!(
                    distribution.accepts(
                        *bucket,
                        bucket.first + (bucket.width - 1),
                        bucket.accept_threshold.saturating_sub(1)
                    ) || bucket.accept_threshold == 0
                );
            }
        }
    }

    #[test]
    fn temperature_class_rises_with_rank() {
        let zipf = Zipf { exponent: 0.99, requests: RequestConfig { scatter: true, ..Default::default() } };
        for logical_pages in [1, 2, 3, 5, 1000] {
            let space = Space { logical_pages, scatter: Seed(5) };
            let oracle = zipf.temperature(&space).unwrap().unwrap();
            let rank_map = RankMap::new(&space, 0.0, true);
            let classes: Vec<u8> = (0..logical_pages)
                .map(|rank| oracle.class_of(wearwell_base::units::Lpn(rank_map.page(rank))))
                .collect();
            assert!(classes.is_sorted() && classes[0] == 0);
            assert_eq!(u32::from(classes[classes.len() - 1]) + 1, u32::from(oracle.classes()));
            assert!(u32::from(oracle.classes()) <= MAX_CLASSES.min(logical_pages));
        }
    }
}
