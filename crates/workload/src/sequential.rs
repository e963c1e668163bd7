//! Sequential requests, like the writes of a log or a backup.

use super::Workload;
use super::error::require;
use super::kind::Kind;
use super::rank_map::Space;
use super::request_stream::{AddressDistribution, build_workload};
use super::requests::RequestConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Random, Seed};

/// Requests in rising order that start again at page 0 at the end of the space.
///
/// With `scatter`, requests start at the pages of a pseudo-random permutation instead: every page once
/// before any page again.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sequential {
    /// First page, from 0; must be inside the space.
    #[serde(default)]
    pub start: u32,
    /// Distance in pages between the starts of successive requests, from 1, modulo the space. If unset,
    /// a request starts at the end of the previous one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32")]
    pub stride: Option<u32>,
    /// Request lengths, reads, trims, hints and placement.
    #[serde(flatten)]
    pub requests: RequestConfig,
}

impl Kind for Sequential {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        let logical_pages = space.logical_pages;
        let allowed = format!("must be one of the {logical_pages} pages of the space, from 0");
        require(self.start < logical_pages, "start", self.start, &allowed)?;
        if let Some(stride) = self.stride {
            require(
                (1..=logical_pages).contains(&stride),
                "stride",
                stride,
                "must lie from 1 to the size of the space",
            )?;
        }
        let distribution = SequentialAddresses { next: self.start, stride: self.stride, logical_pages };
        build_workload(distribution, &self.requests, space, seed, None)
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

struct SequentialAddresses {
    next: u32,
    stride: Option<u32>,
    logical_pages: u32,
}

impl AddressDistribution for SequentialAddresses {
    const ALIGNED: bool = false;

    #[inline(always)]
    fn draw(&mut self, _random: &mut Random, length: u32) -> u32 {
        let first = self.next;
        let remaining = self.logical_pages - first;
        self.next = match self.stride {
            // The request is cut off at the end of the space, so that every pass starts at page 0.
            None if length >= remaining => 0,
            None => first + length,
            Some(stride) if stride >= remaining => stride - remaining,
            Some(stride) => first + stride,
        };
        first
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistical_tests::draw_pages;

    #[test]
    fn each_pass_begins_at_page_0() {
        assert_eq!(draw_pages("kind = 'sequential'\nstart = 3", 5, 8), [3, 4, 0, 1, 2, 3, 4, 0]);
        let long = draw_pages("kind = 'sequential'\nrequest_pages = 4", 6, 9);
        assert_eq!(long, [0, 1, 2, 3, 4, 5, 0, 1, 2, 3]);
    }

    #[test]
    fn stride_wraps_around_end_of_space() {
        assert_eq!(draw_pages("kind = 'sequential'\nstride = 3", 7, 8), [0, 3, 6, 2, 5, 1, 4, 0]);
        assert_eq!(draw_pages("kind = 'sequential'\nstride = 5\nstart = 1", 5, 3), [1, 1, 1]);
        let long = draw_pages("kind = 'sequential'\nstride = 4\nrequest_pages = 2", 6, 6);
        assert_eq!(long, [0, 1, 4, 5, 2, 3]);
    }

    #[test]
    fn scattered_pass_visits_every_page_once() {
        let mut pages = draw_pages("kind = 'sequential'\nscatter = true", 1000, 1000);
        assert!(!pages.is_sorted());
        pages.sort_unstable();
        assert!(pages.into_iter().eq(0..1000));
    }
}
