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

/// Takes the temperature and the page from one 64-bit draw: what is left of the draw above the beginning of
/// its temperature's range is uniform again, and one multiplication spreads it over the pages.
struct HotColdLaw {
    /// Draws below it are hot.
    threshold: u64,
    /// Cold and hot, in a table: an index costs nothing where a branch would be mispredicted.
    sides: [Side; 2],
}

/// The pages of one temperature and the draws that go to them.
#[derive(Clone, Copy, Default)]
struct Side {
    /// First draw.
    draw: u64,
    /// Pages per draw, times 2^64.
    scale: u64,
    /// First rank.
    rank: u32,
}

impl Side {
    /// `pages` pages from `rank` for `draws` draws from `draw`.
    fn new(rank: u32, pages: u32, draw: u64, draws: u128) -> Self {
        if pages == 0 || draws == 0 {
            return Side::default();
        }
        let scale = u64::try_from((u128::from(pages) << 64) / draws).unwrap_or(u64::MAX);
        Side { draw, scale, rank }
    }
}

impl HotColdLaw {
    fn new(hot_writes: f64, hot_pages: u32, logical_pages: u32) -> Self {
        let cold_pages = logical_pages - hot_pages;
        // Without cold pages every draw is hot, but for the last one, which then falls on page 0.
        let threshold = if cold_pages == 0 { u64::MAX } else { threshold(hot_writes) };
        let hot = Side::new(0, hot_pages, 0, u128::from(threshold));
        let cold = Side::new(hot_pages, cold_pages, threshold, (1 << 64) - u128::from(threshold));
        HotColdLaw { threshold, sides: [cold, hot] }
    }
}

impl Addresses for HotColdLaw {
    #[inline(always)]
    fn draw(&mut self, random: &mut Random, _length: u32) -> u32 {
        let draw = random.next_u64();
        let side = self.sides[usize::from(draw < self.threshold)];
        side.rank + ((u128::from(draw - side.draw) * u128::from(side.scale)) >> 64) as u32
    }
}
