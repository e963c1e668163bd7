//! Settings that all simple workloads share: lengths of requests, and shares of reads and discards.

use super::alias::{AliasTable, threshold};
use super::error::{require, require_ratio, require_weights};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_base::seed::Random;

/// Lengths of requests, pages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "must be a number of pages, or a list of { pages, weight }")]
pub enum RequestPages {
    /// All of this length, pages, from 1.
    Fixed(u32),
    /// A mix of lengths.
    Mix(Vec<WeightedPages>),
}

/// One request length of a mix.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WeightedPages {
    /// Length, pages, from 1.
    pub pages: u32,
    /// Share of the requests that have this length, 0 or above; weights need not sum to 1.
    pub weight: f64,
}

/// Largest share of flushes.
const MAX_FLUSH_RATIO: f64 = 0.99;

/// Tolerance for the sum of three ratios that make up all requests.
const RATIO_TOLERANCE: f64 = 4.0 * f64::EPSILON;

fn is_zero(ratio: &f64) -> bool {
    *ratio == 0.0
}

/// Hint that a request gives the device about its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HintRule {
    /// No hint: 0.
    #[default]
    None,
    /// 1 + the temperature class of the request's first page, so that the hottest pages have hint 1.
    Temperature,
}

/// Settings that all simple workloads share.
///
/// Addresses of reads and trims follow the same distribution as those of writes; flushes have no address. A request
/// longer than one page is aligned to its own length around the drawn page, and cut off at the end of the space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RequestConfig {
    /// Length of reads and writes, pages, from 1 to the size of the space: a number, or a list of
    /// { pages, weight }.
    pub request_pages: RequestPages,
    /// Share of the requests that read, from 0 to 1.
    pub read_ratio: f64,
    /// Share of the requests that discard (TRIM), from 0 to 1; with `read_ratio` at most 1.
    pub trim_ratio: f64,
    /// Share of the requests that flush, which makes all acknowledged writes durable, from 0 to 0.99; with the other
    /// two ratios at most 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub flush_ratio: f64,
    /// Length of discards, pages, in the same form as `request_pages`, which is also the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RequestPages")]
    pub trim_pages: Option<RequestPages>,
    /// Stream hint of each request: none, or its temperature class.
    pub hint: HintRule,
    /// Share of the space, from 0 to below 1, by which the beginning of the distribution, its hottest pages, is moved
    /// up.
    pub shift: f64,
    /// True if neighbours in the distribution (hot pages) are spread over the whole space by a pseudo-random
    /// permutation instead of being adjacent. A long request then includes unrelated neighbours.
    pub scatter: bool,
}

impl Default for RequestConfig {
    /// Returns writes of one page each, no hints, the hottest pages first.
    fn default() -> Self {
        RequestConfig {
            request_pages: RequestPages::Fixed(1),
            read_ratio: 0.0,
            trim_ratio: 0.0,
            flush_ratio: 0.0,
            trim_pages: None,
            hint: HintRule::None,
            shift: 0.0,
            scatter: false,
        }
    }
}

impl RequestPages {
    fn lengths(&self) -> Vec<WeightedPages> {
        match self {
            RequestPages::Fixed(pages) => vec![WeightedPages { pages: *pages, weight: 1.0 }],
            RequestPages::Mix(mix) => mix.clone(),
        }
    }

    fn check(&self, key: &str, logical_pages: u32) -> Result<(), ConfigError> {
        let lengths = self.lengths();
        require_weights(key, &lengths.iter().map(|length| length.weight).collect::<Vec<_>>())?;
        let allowed = format!("must lie from 1 to the {logical_pages} pages of the space");
        for (index, length) in lengths.iter().enumerate() {
            let key = match self {
                RequestPages::Fixed(_) => key.to_owned(),
                RequestPages::Mix(_) => format!("{key}[{index}].pages"),
            };
            require((1..=logical_pages).contains(&length.pages), key, length.pages, &allowed)?;
        }
        Ok(())
    }

    /// Returns the mean length, pages.
    fn mean(&self) -> f64 {
        let lengths = self.lengths();
        let weighted: f64 = lengths.iter().map(|length| length.weight * f64::from(length.pages)).sum();
        weighted / lengths.iter().map(|length| length.weight).sum::<f64>()
    }
}

impl RequestConfig {
    /// Checks every setting against a space of `logical_pages` pages.
    pub(super) fn check(&self, logical_pages: u32) -> Result<(), ConfigError> {
        self.request_pages.check("request_pages", logical_pages)?;
        if let Some(trim_pages) = &self.trim_pages {
            trim_pages.check("trim_pages", logical_pages)?;
        }
        require_ratio("read_ratio", self.read_ratio)?;
        require_ratio("trim_ratio", self.trim_ratio)?;
        let flush_allowed =
            "must be a number from 0 to 0.99: a source of flushes alone would never touch a page";
        require(
            (0.0..=MAX_FLUSH_RATIO).contains(&self.flush_ratio),
            "flush_ratio",
            self.flush_ratio,
            flush_allowed,
        )?;
        let sum = self.non_write_ratio();
        let sum_of = if self.flush_ratio > 0.0 { " + flush_ratio" } else { "" };
        require(
            sum <= 1.0 + RATIO_TOLERANCE,
            format!("read_ratio + trim_ratio{sum_of}"),
            sum,
            "must be at most 1",
        )?;
        require((0.0..1.0).contains(&self.shift), "shift", self.shift, "must lie from 0 to below 1")
    }

    /// Returns the share of the requests that do not write.
    fn non_write_ratio(&self) -> f64 {
        self.read_ratio + self.trim_ratio + self.flush_ratio
    }

    /// Returns the mean number of pages written per request.
    pub fn written_per_request(&self) -> f64 {
        if self.non_write_ratio() >= 1.0 - RATIO_TOLERANCE {
            return 0.0;
        }
        (1.0 - self.read_ratio - self.trim_ratio - self.flush_ratio) * self.request_pages.mean()
    }
}

/// Generator of the operation and the length of each request.
pub(super) struct RequestMix {
    /// Draws below this threshold read.
    read_threshold: u64,
    /// Draws from `read_threshold` up to this threshold trim.
    trim_threshold: u64,
    /// Draws from `trim_threshold` up to this threshold flush; all higher draws write.
    flush_threshold: u64,
    lengths: LengthDistribution,
    trim_lengths: LengthDistribution,
}

impl RequestMix {
    /// Builds the generator from checked settings.
    pub fn new(config: &RequestConfig) -> Self {
        let lengths = LengthDistribution::new(&config.request_pages);
        RequestMix {
            read_threshold: threshold(config.read_ratio),
            trim_threshold: threshold(config.read_ratio + config.trim_ratio),
            flush_threshold: threshold(config.read_ratio + config.trim_ratio + config.flush_ratio),
            trim_lengths: config.trim_pages.as_ref().map_or(lengths.clone(), LengthDistribution::new),
            lengths,
        }
    }

    /// True if all requests write one page.
    pub fn is_single_writes(&self) -> bool {
        self.flush_threshold == 0 && matches!(self.lengths, LengthDistribution::Fixed(1))
    }

    /// Returns the next request's operation and length in pages, 0 for a flush. The number of random numbers used
    /// depends only on the settings and the drawn operation.
    #[inline]
    pub fn draw(&self, random: &mut Random) -> (Op, u32) {
        let op_draw = if self.flush_threshold == 0 { u64::MAX } else { random.next_u64() };
        if op_draw < self.read_threshold {
            (Op::Read, self.lengths.draw(random))
        } else if op_draw < self.trim_threshold {
            (Op::Trim, self.trim_lengths.draw(random))
        } else if op_draw < self.flush_threshold {
            (Op::Flush, 0)
        } else {
            (Op::Write, self.lengths.draw(random))
        }
    }
}

#[derive(Clone)]
enum LengthDistribution {
    Fixed(u32),
    Mix { pages: Vec<u32>, table: AliasTable },
}

impl LengthDistribution {
    fn new(config: &RequestPages) -> Self {
        match config {
            RequestPages::Fixed(pages) => LengthDistribution::Fixed(*pages),
            RequestPages::Mix(mix) => LengthDistribution::Mix {
                pages: mix.iter().map(|length| length.pages).collect(),
                table: AliasTable::new(&mix.iter().map(|length| length.weight).collect::<Vec<_>>()),
            },
        }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> u32 {
        match self {
            LengthDistribution::Fixed(pages) => *pages,
            LengthDistribution::Mix { pages, table: pick } => pages[pick.pick(random.next_u64())],
        }
    }
}
