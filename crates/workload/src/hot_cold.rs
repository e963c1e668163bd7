//! Workload with two temperatures: a share of the writes goes to a share of the space.

use super::Workload;
use super::alias::threshold;
use super::error::{require, require_share};
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

/// Rosenblum's hot and cold pages (Rosenblum and Ousterhout, TOCS 1992, section 3.5): each request goes with
/// probability `hot_writes` to a uniformly drawn hot page, otherwise to a uniformly drawn cold page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HotCold {
    /// Share of the requests that go to hot pages (`r`), above 0 and at most 1.
    pub hot_writes: f64,
    /// Share of the space that is hot (`f`), above 0 and at most 1; rounded to pages, leaving at least one
    /// hot and, below 1, one cold page.
    pub hot_space: f64,
    /// Request lengths, reads, trims, hints and placement.
    #[serde(flatten)]
    pub requests: RequestConfig,
}

impl HotCold {
    fn check(&self) -> Result<(), ConfigError> {
        require_share("hot_writes", self.hot_writes)?;
        require_share("hot_space", self.hot_space)?;
        let allowed = "must be below 1 as long as `hot_writes` is, for the other writes need a cold page";
        require(self.hot_space < 1.0 || self.hot_writes == 1.0, "hot_space", self.hot_space, allowed)
    }

    /// Returns the number of hot pages.
    fn hot_pages(&self, space: &Space) -> u32 {
        let most =
            if self.hot_space < 1.0 { space.logical_pages.saturating_sub(1) } else { space.logical_pages };
        ((f64::from(space.logical_pages) * self.hot_space).round() as u32).min(most).max(1)
    }
}

impl Kind for HotCold {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        self.check()?;
        let distribution =
            HotColdDistribution::new(self.hot_writes, self.hot_pages(space), space.logical_pages);
        build_workload(distribution, &self.requests, space, seed, self.temperature(space)?)
    }

    /// Returns two classes. If a page of the hot set is written less often than a cold page, the cold set is class 0.
    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        self.check()?;
        self.requests.check(space.logical_pages)?;
        let classes = if self.hot_writes < self.hot_space { vec![1, 0] } else { vec![0, 1] };
        let rank_map = RankMap::new(space, self.requests.shift, self.requests.scatter);
        Ok(Some(Box::new(RankTemperature {
            bounds: vec![self.hot_pages(space)],
            classes,
            rank_map: Some(rank_map),
        })))
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

/// Draws the temperature and the page from one 64-bit number: the offset of the draw within the range of its
/// temperature is again uniform, and one multiplication spreads it over the pages.
struct HotColdDistribution {
    /// Draws below this threshold are hot.
    threshold: u64,
    /// Cold and hot pages, in an array, because indexing needs no branch, which would often be mispredicted.
    sides: [PageGroup; 2],
}

/// Pages of one temperature and the draws that select them.
#[derive(Clone, Copy, Default)]
struct PageGroup {
    /// First draw that selects a page of the group.
    first_draw: u64,
    /// Left shift that scales the distance of a draw from `first_draw` to all 64 bits.
    shift: u32,
    /// Number of pages per shifted draw, times 2^94: the largest power of two for which the product fits.
    scale: u64,
    /// First rank of the group.
    first_rank: u32,
}

impl PageGroup {
    /// Returns the group of `pages` pages from `rank` on, which `draws` draws from `draw` on select.
    fn new(rank: u32, pages: u32, draw: u64, draws: u128) -> Self {
        if pages == 0 || draws == 0 {
            return PageGroup::default();
        }
        // The number 2^64, for the full range of draws, has 65 bits and needs no shift.
        let shift = draws.leading_zeros().saturating_sub(64);
        // The quotient fits into 64 bits: the dividend is below 2^(32 + 94), and the divisor is at least 2^63.
        let scale = ((u128::from(pages) << 94) / (draws << shift)) as u64;
        PageGroup { first_draw: draw, shift, scale, first_rank: rank }
    }

    /// Returns the rank for a draw.
    #[inline(always)]
    fn rank_of(&self, draw: u64) -> u32 {
        let scaled_draw = (draw - self.first_draw) << self.shift;
        self.first_rank + ((u128::from(scaled_draw) * u128::from(self.scale)) >> 94) as u32
    }
}

impl HotColdDistribution {
    fn new(hot_writes: f64, hot_pages: u32, logical_pages: u32) -> Self {
        let cold_pages = logical_pages - hot_pages;
        // Without cold pages, every draw is hot, except for the last draw, which selects page 0.
        let threshold = if cold_pages == 0 { u64::MAX } else { threshold(hot_writes) };
        let hot = PageGroup::new(0, hot_pages, 0, u128::from(threshold));
        let cold = PageGroup::new(hot_pages, cold_pages, threshold, (1 << 64) - u128::from(threshold));
        HotColdDistribution { threshold, sides: [cold, hot] }
    }
}

impl AddressDistribution for HotColdDistribution {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        let draw = random.next_u64();
        self.sides[usize::from(draw < self.threshold)].rank_of(draw)
    }
}

#[cfg(test)]
mod tests {
    use super::super::statistical_tests::{assert_matches_weights, draw_pages};
    use super::*;
    use wearwell_base::units::Lpn;

    fn config(hot_writes: f64, hot_space: f64) -> String {
        format!("kind = 'hot_cold'\nhot_writes = {hot_writes:?}\nhot_space = {hot_space:?}")
    }

    #[test]
    fn page_frequencies_match_distribution() {
        for (r, f) in [(0.9, 0.1), (0.8, 0.2), (0.5, 0.5), (0.001, 0.3), (0.2, 0.7), (1.0, 0.25), (1.0, 1.0)]
        {
            let hot = f64::round(f * 1000.0) as usize;
            let hot_weights = std::iter::repeat_n(r / hot as f64, hot);
            let cold_weights = std::iter::repeat_n((1.0 - r) / (1000 - hot).max(1) as f64, 1000 - hot);
            let mut counts = vec![0; 1000];
            for page in draw_pages(&config(r, f), 1000, 300_000) {
                counts[page as usize] += 1;
            }
            assert_matches_weights(&counts, &hot_weights.chain(cold_weights).collect::<Vec<_>>());
        }
    }

    #[test]
    fn region_frequencies_of_large_space_match_distribution() {
        let logical_pages = 375_809_664;
        let mut counts = vec![0; 64];
        for page in draw_pages(&config(0.8, 0.25), logical_pages, 300_000) {
            counts[page as usize / (logical_pages as usize / 64)] += 1;
        }
        assert_matches_weights(
            &counts,
            &[[0.05; 16], [0.2 / 48.0; 16], [0.2 / 48.0; 16], [0.2 / 48.0; 16]].concat(),
        );
    }

    #[test]
    fn smallest_spaces_are_accessed_as_configured() {
        for (r, f) in [(0.9, 0.1), (0.5, 0.99), (1.0, 1.0), (1.0, 0.01)] {
            assert!(draw_pages(&config(r, f), 1, 100).iter().all(|&page| page == 0));
            assert!(draw_pages(&config(r, f), 2, 100).iter().all(|&page| page < 2));
        }
        let cold = draw_pages(&config(0.5, 0.99), 2, 1000).iter().filter(|&&page| page == 1).count();
        assert!((400..600).contains(&cold));
    }

    #[test]
    fn extreme_draws_of_each_group_stay_in_its_ranks() {
        for (r, hot, pages) in
            [(0.8, 20, 100), (0.1, 1, 2), (1.0, 5, 5), (0.5, 1 << 31, u32::MAX), (1e-300, 1, 9)]
        {
            let distribution = HotColdDistribution::new(r, hot, pages);
            for draw in
                [0, distribution.threshold.saturating_sub(1), distribution.threshold, u64::MAX - 1, u64::MAX]
            {
                let rank = distribution.sides[usize::from(draw < distribution.threshold)].rank_of(draw);
                assert!(rank < pages);
                assert_eq!(rank < hot, draw < distribution.threshold || hot == pages);
            }
        }
    }

    #[test]
    fn class_0_is_cold_set_if_hot_pages_are_written_less_often() {
        let space = Space { logical_pages: 10, scatter: Seed(1) };
        for (r, hottest) in [(0.9, 0), (0.1, 9)] {
            let workload = HotCold { hot_writes: r, hot_space: 0.3, requests: RequestConfig::default() };
            let oracle = workload.temperature(&space).unwrap().unwrap();
            assert_eq!((oracle.classes(), oracle.class_of(Lpn(hottest))), (2, 0));
            assert_eq!(oracle.class_of(Lpn(9 - hottest)), 1);
        }
    }
}
