//! Uniform workload: every page is equally likely, as in most theory.

use super::Workload;
use super::kind::Kind;
use super::rank_map::Space;
use super::request_stream::{AddressDistribution, build_workload};
use super::requests::RequestConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed, random_below};

/// Uniform random requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Uniform {
    /// Request lengths, reads, trims, hints and placement.
    #[serde(flatten)]
    pub requests: RequestConfig,
}

impl Kind for Uniform {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        let distribution = UniformAddresses { logical_pages: space.logical_pages };
        build_workload(distribution, &self.requests, space, seed, None)
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

struct UniformAddresses {
    logical_pages: u32,
}

impl AddressDistribution for UniformAddresses {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        random_below(random, u64::from(self.logical_pages)) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistical_tests::{assert_matches_weights, draw_pages};

    fn counts(config: &str, logical_pages: u32, pages: usize) -> Vec<u64> {
        let mut counts = vec![0; logical_pages as usize];
        for page in draw_pages(config, logical_pages, pages) {
            counts[page as usize] += 1;
        }
        counts
    }

    #[test]
    fn page_frequencies_match_distribution() {
        for logical_pages in [1, 2, 3, 1000] {
            let counts = counts("kind = 'uniform'", logical_pages, 100_000);
            assert_matches_weights(&counts, &vec![1.0; logical_pages as usize]);
        }
    }

    /// Checks that requests cover aligned windows: pages of a window are written together, and the
    /// shorter window at the end is proportionally less likely.
    #[test]
    fn long_requests_are_aligned_and_truncated_at_end() {
        let counts = counts("kind = 'uniform'\nrequest_pages = 8", 100, 400_000);
        let windows: Vec<u64> = counts.chunks(8).map(|window| window[0]).collect();
        assert!(counts.chunks(8).all(|window| window.iter().all(|&count| count == window[0])));
        assert_eq!(windows.len(), 13);
        assert_matches_weights(&windows, &[2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0]);
    }
}
