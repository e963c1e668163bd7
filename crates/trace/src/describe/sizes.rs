//! Sizes of requests.

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::report::{SizeBucket, SizeDescription};

/// Number of requests of each size. Traces have few distinct sizes, so the table is small and the median exact.
#[derive(Default)]
pub struct Sizes {
    requests: HashMap<u64, u64, FixedState>,
}

impl Sizes {
    /// Counts a request of `bytes`.
    pub fn add(&mut self, bytes: u64) {
        *self.requests.entry(bytes).or_default() += 1;
    }

    /// Returns the statistics of the sizes.
    pub fn report(&self) -> SizeDescription {
        let mut sizes: Vec<_> = self.requests.iter().map(|(&bytes, &requests)| (bytes, requests)).collect();
        sizes.sort_unstable();
        let total: u64 = sizes.iter().map(|&(_, requests)| requests).sum();
        let bytes: f64 = sizes.iter().map(|&(bytes, requests)| bytes as f64 * requests as f64).sum();
        let mut counted = 0;
        let median = sizes.iter().find(|&&(_, requests)| {
            counted += requests;
            2 * counted >= total
        });
        SizeDescription {
            mean_bytes: (total > 0).then(|| bytes / total as f64),
            median_bytes: median.map(|&(bytes, _)| bytes),
            histogram: histogram(&sizes),
        }
    }
}

/// Returns buckets of powers of two from sorted sizes.
fn histogram(sizes: &[(u64, u64)]) -> Vec<SizeBucket> {
    let mut buckets: Vec<SizeBucket> = Vec::new();
    for &(bytes, requests) in sizes {
        let up_to_bytes = bytes.checked_next_power_of_two().unwrap_or(u64::MAX);
        match buckets.last_mut() {
            Some(bucket) if bucket.up_to_bytes == up_to_bytes => bucket.requests += requests,
            _ => buckets.push(SizeBucket { up_to_bytes, requests }),
        }
    }
    buckets
}
