//! Popularity that falls as a power of rank.

use super::Workload;
use super::alias::{Alias, threshold};
use super::config::Kind;
use super::error::{ConfigError, require};
use super::place::{Places, Space};
use super::requests::RequestConfig;
use super::stream::{Addresses, stream};
use super::temperature::{RankClasses, Temperature};
use crate::seed::{Random, Seed};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Most temperature classes an oracle tells apart.
const CLASSES: u32 = 8;

/// Buckets are one rank wide up to this rank, and from there on as wide as one part in this many of their
/// first rank: 96 is where a finer cut costs more cache misses than it saves rejections.
const FINENESS: u32 = 96;

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
        let law = ZipfLaw::new(self.exponent, space.logical_pages);
        stream(law, &self.requests, space, seed, self.temperature(space)?)
    }

    /// At most eight classes, with bounds that rise geometrically with rank: pages of a class then differ
    /// in heat by the same factor everywhere, and at exponent 1 each class has about the same share of the
    /// writes.
    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        self.check()?;
        self.requests.check(space.logical_pages)?;
        let pages = f64::from(space.logical_pages);
        let bound = |class: u32| libm::pow(pages, f64::from(class) / f64::from(CLASSES)).round() as u32;
        let mut bounds: Vec<u32> = (1..CLASSES).map(bound).filter(|&b| b < space.logical_pages).collect();
        bounds.dedup();
        let classes = (0..=bounds.len() as u8).collect();
        let places = Places::new(space, self.requests.shift, self.requests.scatter);
        Ok(Some(Box::new(RankClasses { bounds, classes, places: Some(places) })))
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

/// Samples the law exactly, whatever the number of ranks, by rejection from a staircase above it.
///
/// Ranks are cut into buckets of geometrically growing width, some 1,700 for 4 billion ranks. A draw
/// takes a bucket from an alias table, weighted as if all its ranks were as likely as its first, then a
/// rank of it uniformly, and accepts that rank with the ratio of its probability to the first one's. Hardly
/// ever does this ratio have to be computed: it is at least the last rank's, which is known beforehand (the
/// "squeeze"). See Devroye, "Non-Uniform Random Variate Generation", 1986, II.3 and III.4.
struct ZipfLaw {
    exponent: f64,
    pick: Alias,
    buckets: Vec<Bucket>,
}

#[derive(Clone, Copy)]
struct Bucket {
    /// First rank, from 1.
    first: u32,
    /// Number of ranks.
    width: u32,
    /// Draws below it are accepted for any rank of the bucket.
    squeeze: u64,
}

impl ZipfLaw {
    fn new(exponent: f64, ranks: u32) -> Self {
        let mut buckets = Vec::new();
        let mut weights = Vec::new();
        let mut left = ranks;
        while left > 0 {
            let first = ranks - left + 1;
            let width = (first / FINENESS).max(1).min(left);
            let ratio = f64::from(first) / f64::from(first + (width - 1));
            // A hair below the true ratio, so that rounding never accepts what the exact test would not.
            let squeeze = threshold(libm::pow(ratio, exponent) * (1.0 - 1e-12));
            buckets.push(Bucket { first, width, squeeze: if width == 1 { u64::MAX } else { squeeze } });
            // `libm`, not the standard library: the latter's powers differ from platform to platform.
            weights.push(f64::from(width) * libm::pow(f64::from(first), -exponent));
            left -= width;
        }
        ZipfLaw { exponent, pick: Alias::new(&weights), buckets }
    }

    /// The exact test: whether the uniform number `draw` accepts `rank` of `bucket`.
    #[cold]
    fn accepts(&self, bucket: Bucket, rank: u32, draw: u64) -> bool {
        draw < threshold(libm::pow(f64::from(bucket.first) / f64::from(rank), self.exponent))
    }
}

impl Addresses for ZipfLaw {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        loop {
            let bucket = self.buckets[self.pick.pick(random.next_u64())];
            // The high half picks the rank; the low half is as good as a fresh number for the test.
            let product = u128::from(random.next_u64()) * u128::from(bucket.width);
            let rank = bucket.first + (product >> 64) as u32;
            let draw = product as u64;
            if draw < bucket.squeeze || self.accepts(bucket, rank, draw) {
                return rank - 1;
            }
        }
    }
}
