//! Two temperatures: a share of the writes goes to a share of the space.

use super::Workload;
use super::alias::threshold;
use super::config::Kind;
use super::error::{ConfigError, require, require_share};
use super::place::{Places, Space};
use super::requests::RequestConfig;
use super::stream::{Addresses, stream};
use super::temperature::{RankClasses, Temperature};
use crate::seed::{Random, Seed};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Rosenblum's hot and cold pages (Rosenblum and Ousterhout, TOCS 1992, section 3.5): each request goes with
/// probability `hot_writes` to a uniformly drawn hot page, and else to a uniformly drawn cold one.
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

    /// Number of hot pages.
    fn hot_pages(&self, space: &Space) -> u32 {
        let most =
            if self.hot_space < 1.0 { space.logical_pages.saturating_sub(1) } else { space.logical_pages };
        ((f64::from(space.logical_pages) * self.hot_space).round() as u32).min(most).max(1)
    }
}

impl Kind for HotCold {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        self.check()?;
        let law = HotColdLaw::new(self.hot_writes, self.hot_pages(space), space.logical_pages);
        stream(law, &self.requests, space, seed, self.temperature(space)?)
    }

    /// Two classes. Should a page of the space called hot be written less often than one of the other, the
    /// other has class 0.
    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        self.check()?;
        self.requests.check(space.logical_pages)?;
        let classes = if self.hot_writes < self.hot_space { vec![1, 0] } else { vec![0, 1] };
        let places = Places::new(space, self.requests.shift, self.requests.scatter);
        Ok(Some(Box::new(RankClasses { bounds: vec![self.hot_pages(space)], classes, places: Some(places) })))
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}

/// Takes the temperature and the page from one 64-bit draw: what is left of the draw below (or above) the
/// threshold is uniform again, and one multiplication spreads it over the pages of that temperature.
struct HotColdLaw {
    threshold: u64,
    /// Rank of the first cold page.
    first_cold: u32,
    /// Pages per unit of draw, times 2^64, of hot and of cold pages.
    hot_scale: u64,
    cold_scale: u64,
}

impl HotColdLaw {
    fn new(hot_writes: f64, hot_pages: u32, logical_pages: u32) -> Self {
        let cold_pages = logical_pages - hot_pages;
        // On a space of one page, or with hot pages only, every draw is hot.
        let threshold = if cold_pages == 0 { u64::MAX } else { threshold(hot_writes) };
        let scale = |pages: u32, draws: u128| match draws {
            0 => 0,
            draws => u64::try_from((u128::from(pages) << 64) / draws).unwrap_or(u64::MAX),
        };
        // A draw of u64::MAX is below no threshold: without cold pages it must fall on a hot one.
        let first_cold = if cold_pages == 0 { 0 } else { hot_pages };
        HotColdLaw {
            threshold,
            first_cold,
            hot_scale: scale(hot_pages, u128::from(threshold)),
            cold_scale: scale(cold_pages, (1 << 64) - u128::from(threshold)),
        }
    }
}

impl Addresses for HotColdLaw {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        let draw = random.next_u64();
        let is_hot = draw < self.threshold;
        let first = if is_hot { 0 } else { self.first_cold };
        let rest = if is_hot { draw } else { draw - self.threshold };
        let scale = if is_hot { self.hot_scale } else { self.cold_scale };
        first + ((u128::from(rest) * u128::from(scale)) >> 64) as u32
    }
}
