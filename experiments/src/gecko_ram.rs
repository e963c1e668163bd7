//! Variants of GeckoFTL with less RAM than in the paper, and predictions of theory made before the variants run.

use crate::Failure;
use crate::gecko::mib;
use crate::paged::{self, DELTA, Measurement, WriteVolume};
use crate::session::Session;
use crate::table::Fields;
use serde_json::json;
use wearwell_engine::ftl::paged::{BlockCounters, PagedSettings};
use wearwell_theory::ftl::{CounterCoverage, Ftl, FtlDrive, FtlSizes, cleaning_write_amplification, ram};

/// Number of pages per block (section 5, "Default Configuration").
const PAGES_PER_BLOCK: u32 = 128;

/// Base-2 logarithm of the paper's number of blocks.
const LOG2_BLOCKS: u32 = 22;

/// Number of blocks per entry of the paper's cache, which has 2^19 entries for 2^22 blocks.
const BLOCKS_PER_ENTRY: f64 = 8.0;

/// Settings of a program.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Base-2 logarithm of the number of blocks, for blocks of 128 pages; the number of larger blocks is proportionally
    /// smaller.
    log2_blocks: u32,
    /// Base-2 logarithms of additional numbers of blocks; each is run with all counters, without counters, and with a
    /// sample of counters.
    sizes: Vec<u32>,
}

/// A variant of GeckoFTL.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Point {
    /// Base-2 logarithm of the number of blocks, for blocks of 128 pages.
    pub log2_blocks: u32,
    /// Pages per block, B.
    pub pages_per_block: u32,
    /// Page size in bytes, P.
    pub page_bytes: u32,
    /// Ratio of logical to physical pages, R.
    pub load: f64,
    /// Number of parts of a Gecko entry, S.
    pub partitions: u32,
    /// Number of entries of the mapping cache, as a multiple of the paper's number.
    pub cache: f64,
    /// Share of the blocks that have counters in RAM: 1 for all, 0 for none.
    #[serde(rename = "share")]
    pub counter_share: f64,
    /// Number of blocks drawn for each victim.
    pub choices: u32,
    /// Duration of warm-up and measurement.
    pub run: WriteVolume,
}

impl Point {
    /// Returns all points of a session.
    ///
    /// # Errors
    ///
    /// Returns an error for settings of another program.
    pub fn all(session: &Session) -> Result<Vec<Point>, Failure> {
        let settings: Settings = session.settings()?;
        let run = WriteVolume {
            warm_up: session.assumed_value("answers/gecko-warm-up")?,
            measured: session.assumed_value("answers/gecko-measured")?,
        };
        let base = Point {
            log2_blocks: settings.log2_blocks,
            pages_per_block: PAGES_PER_BLOCK,
            page_bytes: 4096,
            load: 0.7,
            partitions: FtlSizes::balanced_partitions(PAGES_PER_BLOCK),
            cache: 1.0,
            counter_share: 1.0,
            choices: 0,
            run,
        };
        Ok(base.variants(&settings.sizes))
    }

    /// Returns this point, and points that differ from it in one respect. Most of these have three kinds of counters.
    fn variants(&self, sizes: &[u32]) -> Vec<Point> {
        let none = |choices| Point { counter_share: 0.0, choices, ..self.clone() };
        let sampled = |share, choices| Point { counter_share: share, choices, ..self.clone() };
        let mut points = vec![self.clone()];
        points.extend([2, 3, 5, 10, 20, 32].map(none));
        let samples = [(0.01, 4), (0.05, 2), (0.05, 4), (0.05, 8), (0.2, 4)];
        points.extend(samples.map(|(share, choices)| sampled(share, choices)));
        let counters = [self.clone(), none(10), sampled(0.05, 4)];
        let mut add_with = |change: &dyn Fn(&Point) -> Point| points.extend(counters.iter().map(change));
        for pages_per_block in [256, 512, 1024] {
            let partitions = FtlSizes::balanced_partitions(pages_per_block);
            add_with(&|point| Point { pages_per_block, partitions, ..point.clone() });
        }
        [0.5, 0.85].into_iter().for_each(|load| add_with(&|point| Point { load, ..point.clone() }));
        [1, 16].into_iter().for_each(|partitions| add_with(&|point| Point { partitions, ..point.clone() }));
        let page_sizes = [8192, 16384];
        page_sizes
            .into_iter()
            .for_each(|page_bytes| add_with(&|point| Point { page_bytes, ..point.clone() }));
        // With the factor 3, the 8 MiB of the paper's counters are added to the cache of 4 MiB.
        [0.25, 0.5, 3.0].into_iter().for_each(|cache| add_with(&|point| Point { cache, ..point.clone() }));
        for &log2_blocks in sizes {
            add_with(&|point| Point { log2_blocks, ..point.clone() });
        }
        points
    }

    /// True if only some counters are in RAM.
    pub fn is_sampled(&self) -> bool {
        self.counter_share > 0.0 && self.counter_share < 1.0
    }

    /// True if the point differs from `other` in nothing but its counters.
    pub fn differs_only_in_counters(&self, other: &Point) -> bool {
        let Point { counter_share: share, choices, .. } = *self;
        Point { counter_share: share, choices, ..other.clone() } == *self
    }

    /// Returns a description of the point.
    pub fn name(&self) -> String {
        let Point { log2_blocks, pages_per_block, page_bytes, load, partitions, cache, .. } = self;
        let counters = match self.counters() {
            BlockCounters::Full => "all counters".to_owned(),
            BlockCounters::Sampled { fraction: share, choices } => {
                format!("a share of {share}; d = {choices}")
            }
            BlockCounters::None { choices } => format!("none; d = {choices}"),
        };
        format!(
            "2^{log2_blocks}; B = {pages_per_block}; P = {page_bytes}; R = {load}; S = {partitions}; cache x {cache}; {counters}"
        )
    }

    /// Returns the first fields of a table of points.
    pub fn fields(&self) -> Fields {
        Fields::default()
            .text("log2_blocks", self.log2_blocks)
            .text("pages_per_block", self.pages_per_block)
            .text("page_bytes", self.page_bytes)
            .text("load", self.load)
            .text("partitions", self.partitions)
            .text("cache", self.cache)
            .text("counters_share", self.counter_share)
            .text("choices", self.choices)
    }

    fn blocks(&self, log2_blocks: u32) -> u32 {
        (1 << log2_blocks) / (self.pages_per_block / PAGES_PER_BLOCK)
    }

    fn cache_entries(&self, log2_blocks: u32) -> u32 {
        (f64::from(1 << log2_blocks) / BLOCKS_PER_ENTRY * self.cache) as u32
    }

    fn counters(&self) -> BlockCounters {
        match (self.counter_share, self.choices) {
            (_, 0) => BlockCounters::Full,
            (0.0, choices) => BlockCounters::None { choices },
            (share, choices) => BlockCounters::Sampled { fraction: share, choices },
        }
    }

    fn settings(&self) -> Result<PagedSettings, Failure> {
        let mut settings = paged::settings("gecko", 1 << self.log2_blocks)?;
        let pages = f64::from(1 << self.log2_blocks) * f64::from(PAGES_PER_BLOCK);
        settings.config.logical_pages = (pages * self.load) as u32;
        settings.config.page_bytes = self.page_bytes;
        settings.config.cache_entries = self.cache_entries(self.log2_blocks);
        settings.config.validity =
            serde_json::from_value(json!({ "kind": "gecko", "partitions": self.partitions }))?;
        settings.config.counters = self.counters();
        Ok(settings)
    }

    /// Runs the point.
    ///
    /// # Errors
    ///
    /// The errors of [`paged::run_on`].
    pub fn measure(&self) -> Result<Measurement, Failure> {
        paged::run_on(&self.settings()?, (self.blocks(self.log2_blocks), self.pages_per_block), self.run)
    }

    /// Returns the model of the point, on a drive of 2^`log2_blocks` blocks of 128 pages.
    fn drive(&self, log2_blocks: u32) -> Result<FtlDrive, Failure> {
        let counters = match self.counters() {
            BlockCounters::Full => CounterCoverage::Full,
            BlockCounters::Sampled { fraction: share, choices } => {
                CounterCoverage::Sampled { share, choices }
            }
            BlockCounters::None { choices } => CounterCoverage::None { choices },
        };
        Ok(FtlDrive::new(FtlSizes {
            blocks: self.blocks(log2_blocks).into(),
            pages_per_block: self.pages_per_block,
            page_bytes: self.page_bytes,
            load: self.load,
            partitions: self.partitions,
            cache_entries: self.cache_entries(log2_blocks).into(),
            counters,
            ..FtlSizes::default()
        })?)
    }
}

/// Predictions by theory for a point.
#[derive(Clone, Copy, Debug)]
pub struct Prediction {
    /// RAM on 2 TiB in MiB: the total, and the part without the mapping cache.
    pub ram_mib: [f64; 2],
    /// RAM saved, in per cent of the RAM of LazyFTL without the mapping cache.
    pub saved_percent: f64,
    /// Write amplification caused by user pages, the translation table, reports to Gecko, and queries.
    pub costs: [f64; 4],
    /// Total write amplification on the simulated drive, and on 2 TiB.
    pub total: [f64; 2],
}

/// Predicts a point by theory.
///
/// # Errors
///
/// Returns an error for sizes that the models do not support.
pub fn predict(point: &Point) -> Result<Prediction, Failure> {
    let [simulated, large] = [point.log2_blocks, LOG2_BLOCKS].map(|log2_blocks| point.drive(log2_blocks));
    let (simulated, large) = (simulated?, large?);
    let ram_of = |ftl: Ftl| {
        let parts = ram(&ftl.design(None), &large);
        let (cache, rest): (Vec<_>, Vec<_>) = parts.iter().partition(|part| part.name == "mapping cache");
        let sum = |parts: Vec<&wearwell_theory::ftl::RamPart>| mib(parts.iter().map(|part| part.bytes).sum());
        (sum(cache), sum(rest))
    };
    let (cache, gecko) = ram_of(Ftl::GeckoFtl);
    let (_, lazy) = ram_of(Ftl::LazyFtl);
    let (costs, costs_on_large) = (costs(&simulated)?, costs(&large)?);
    Ok(Prediction {
        ram_mib: [cache + gecko, gecko],
        saved_percent: 100.0 * (1.0 - gecko / lazy),
        costs,
        total: [costs.iter().sum(), costs_on_large.iter().sum()],
    })
}

/// Returns the write amplification of each part.
///
/// - *User pages*: each page that is moved is also read.
/// - *Translation table*: each written page leaves a dirty entry. It is evicted after as many writes as the cache has
///   entries, together with the other dirty entries of its translation page, `C / pages` on average.
/// - *Reports*: a flush of the buffer writes `L / 2 + 1` pages on average, in the same way as carries in a binary
///   counter.
/// - *Queries*: on average, half of the possible runs have a page that must be read.
fn costs(drive: &FtlDrive) -> Result<[f64; 4], Failure> {
    let sizes = drive.sizes();
    let read_and_write = 1.0 + 1.0 / DELTA;
    let (cleaning, queries) = match sizes.counters {
        CounterCoverage::Sampled { share, choices } => {
            SampledCountersModel::new(sizes.load, share, choices.into()).solve()
        }
        other => (cleaning_write_amplification(drive)?, f64::from(other.queries())),
    };
    let victims = cleaning / f64::from(sizes.pages_per_block);
    let levels = f64::from(drive.gecko_levels());
    let evicted_together = 1.0 + sizes.cache_entries as f64 / drive.translation_pages() as f64;
    Ok([
        1.0 + (cleaning - 1.0) * read_and_write,
        cleaning / evicted_together * read_and_write,
        (1.0 + victims) * (levels / 2.0 + 1.0) / drive.gecko_entries_per_page() as f64 * read_and_write,
        victims * queries * (levels + 1.0) / 2.0 / DELTA,
    ])
}

/// Model of cleaning with a sample of the counters, for blocks so large that blocks of the same age have the same
/// number of valid pages.
///
/// The unit of time is one write per logical page on average: `exp(-t)` of a block's pages are valid at age `t`, and
/// each block is cleaned at rate `v = R A`. A block is drawn at rate `h = d v`. From a certain age on, a block that
/// is drawn is remembered. It is cleaned at a time `w` after that age, or when it is first drawn if that is later.
/// The number of blocks that can be remembered determines `w`.
struct SampledCountersModel {
    load: f64,
    counter_share: f64,
    choices: f64,
}

impl SampledCountersModel {
    fn new(load: f64, share: f64, choices: f64) -> Self {
        SampledCountersModel { load, counter_share: share, choices }
    }

    /// Returns the write amplification, and the number of queries of the validity store per victim. Queries are
    /// needed for drawn blocks that are not remembered, and for victims that were remembered.
    fn solve(&self) -> (f64, f64) {
        // With increasing write amplification, the valid share increases more slowly than its limit, so a bisection
        // finds the solution.
        let (mut low, mut high) = (1.0, 1e3);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            let (valid, _) = self.victims_at(middle);
            if valid > 1.0 - 1.0 / middle { low = middle } else { high = middle }
        }
        let (_, drawn_late) = self.victims_at(low);
        (low, self.choices * (1.0 - self.counter_share) + 1.0 - drawn_late)
    }

    /// Returns the share of a victim's pages that are valid, and the share of victims that are cleaned when drawn, at a
    /// given write amplification.
    fn victims_at(&self, amplification: f64) -> (f64, f64) {
        let rate = self.load * amplification;
        let drawn = self.choices * rate;
        let late_share = (-drawn * self.wait(rate, drawn)).exp();
        let least_age = 1.0 / rate - late_share / drawn;
        ((-least_age).exp() * (1.0 - late_share / (drawn + 1.0)), late_share)
    }

    /// Returns the time between the minimum age at which a block is remembered and the minimum age at which a
    /// remembered block is cleaned. The time is calculated from the number of blocks remembered in between.
    fn wait(&self, rate: f64, drawn: f64) -> f64 {
        let remembered = |wait: f64| rate * (wait + (-drawn * wait).exp_m1() / drawn);
        let (mut low, mut high) = (0.0, 1.0 / rate);
        for _ in 0..200 {
            let middle = 0.5 * (low + high);
            if remembered(middle) < self.counter_share { low = middle } else { high = middle }
        }
        low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampled_counters_lie_between_no_counters_and_all_counters() {
        // With all counters and large blocks, 1 - 1/A = exp(-1 / (R A)), which gives 1.87 at R = 0.7.
        let (all, _) = SampledCountersModel::new(0.7, 0.9, 100.0).solve();
        assert!((all - 1.87).abs() < 0.01, "{all}");
        let amplification =
            |share: f64, choices: f64| SampledCountersModel::new(0.7, share, choices).solve().0;
        let (few, some, many) = (amplification(1e-9, 4.0), amplification(0.05, 4.0), amplification(0.2, 4.0));
        assert!(all < many && many < some && some < few, "{all} {many} {some} {few}");
        // Without counters, the victim is in the oldest quarter of the blocks drawn.
        let rate = 0.7 * few;
        let expected = (-0.75 / rate).exp() * 4.0 * rate / (4.0 * rate + 1.0);
        assert!((expected - (1.0 - 1.0 / few)).abs() < 1e-6, "{expected} {few}");
    }

    #[test]
    fn drive_without_counters_and_with_larger_cache_is_predicted_to_cost_less() {
        let base = Point {
            log2_blocks: 14,
            pages_per_block: 128,
            page_bytes: 4096,
            load: 0.7,
            partitions: 4,
            cache: 1.0,
            counter_share: 1.0,
            choices: 0,
            run: WriteVolume { warm_up: 4.0, measured: 1.0 },
        };
        let default = predict(&base).unwrap();
        assert!((default.ram_mib[0] - 13.97).abs() < 0.01, "{default:?}");
        let other = predict(&Point { counter_share: 0.0, choices: 10, cache: 3.0, ..base.clone() }).unwrap();
        assert!(
            other.ram_mib[0] < 1.01 * default.ram_mib[0] && other.total[1] < default.total[1],
            "{other:?}"
        );
        let points = base.variants(&[12]);
        assert!(points.iter().all(|point| {
            points.iter().any(|other| other.counter_share == 1.0 && other.differs_only_in_counters(point))
        }));
    }
}
