//! What RAM below GeckoFTL's costs: its write amplification where not all counters of valid pages are held, beside what theory
//! says beforehand.

use crate::Failure;
use crate::gecko::mib;
use crate::log_on_log::number;
use crate::paged::{self, DELTA, Measured};
use crate::session::Session;
use crate::statements::Statements;
use crate::table::Table;
use serde_json::json;
use wearwell_engine::ftl::paged::{BlockCounters, PagedSettings};
use wearwell_theory::ftl::{Counters, Ftl, FtlDrive, FtlSizes, cleaning_write_amplification, ram};

/// Times that the logical pages are written at random before, and while, it is measured.
const WARM_UP: f64 = 1.0;
const MEASURED: f64 = 0.5;

/// Pages of a block, and of the drive in blocks of so many (section 5, "Default Configuration").
const PAGES_PER_BLOCK: u32 = 128;

/// The logarithm of the paper's number of blocks to the base 2.
const LOG2_BLOCKS: u32 = 22;

/// What it is asked for.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Logarithm of the number of blocks of 128 pages to the base 2; larger blocks are as much fewer.
    log2_blocks: u32,
}

/// A GeckoFTL.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
struct Point {
    log2_blocks: u32,
    pages_per_block: u32,
    load: f64,
    partitions: u32,
    /// Share of the blocks whose counters are held: 1, all; 0, none.
    share: f64,
    /// Blocks drawn for each victim.
    choices: u32,
}

impl Point {
    /// The paper's, with all counters.
    fn usual(log2_blocks: u32) -> Self {
        let partitions = FtlSizes::balanced_partitions(PAGES_PER_BLOCK);
        Point { log2_blocks, pages_per_block: PAGES_PER_BLOCK, load: 0.7, partitions, share: 1.0, choices: 0 }
    }

    fn all(log2_blocks: u32) -> Vec<Point> {
        let usual = Point::usual(log2_blocks);
        let none = |choices| Point { share: 0.0, choices, ..usual.clone() };
        let sampled = |share, choices| Point { share, choices, ..usual.clone() };
        let mut points = vec![usual.clone()];
        points.extend([2, 3, 5, 10, 20, 32].map(none));
        let samples = [(0.01, 4), (0.05, 2), (0.05, 4), (0.05, 8), (0.2, 4)];
        points.extend(samples.map(|(share, choices)| sampled(share, choices)));
        let counters = [usual.clone(), none(10), sampled(0.05, 4)];
        for pages_per_block in [256, 512, 1024] {
            let partitions = FtlSizes::balanced_partitions(pages_per_block);
            points.extend(counters.iter().map(|point| Point { pages_per_block, partitions, ..point.clone() }));
        }
        for load in [0.5, 0.85] {
            points.extend(counters.iter().map(|point| Point { load, ..point.clone() }));
        }
        for partitions in [1, 16] {
            points.extend(counters.iter().map(|point| Point { partitions, ..point.clone() }));
        }
        points
    }

    fn blocks(&self, log2_blocks: u32) -> u32 {
        (1 << log2_blocks) / (self.pages_per_block / PAGES_PER_BLOCK)
    }

    fn counters(&self) -> BlockCounters {
        match (self.share, self.choices) {
            (_, 0) => BlockCounters::Full,
            (0.0, choices) => BlockCounters::None { choices },
            (share, choices) => BlockCounters::Sampled { share, choices },
        }
    }

    fn settings(&self) -> Result<PagedSettings, Failure> {
        let mut settings = paged::settings("gecko", 1 << self.log2_blocks)?;
        let pages = f64::from(1 << self.log2_blocks) * f64::from(PAGES_PER_BLOCK);
        settings.config.logical_pages = (pages * self.load) as u32;
        settings.config.validity =
            serde_json::from_value(json!({ "kind": "gecko", "partitions": self.partitions }))?;
        settings.config.counters = self.counters();
        Ok(settings)
    }

    /// The same as theory sees it, on a drive of so many blocks of 128 pages.
    fn drive(&self, log2_blocks: u32) -> Result<FtlDrive, Failure> {
        let counters = match self.counters() {
            BlockCounters::Full => Counters::Full,
            BlockCounters::Sampled { share, choices } => Counters::Sampled { share, choices },
            BlockCounters::None { choices } => Counters::None { choices },
        };
        Ok(FtlDrive::new(FtlSizes {
            blocks: self.blocks(log2_blocks).into(),
            pages_per_block: self.pages_per_block,
            load: self.load,
            partitions: self.partitions,
            cache_entries: (1 << log2_blocks) / 8,
            counters,
            ..FtlSizes::default()
        })?)
    }

    fn name(&self) -> String {
        let counters = match self.counters() {
            BlockCounters::Full => "all counters".to_owned(),
            BlockCounters::Sampled { share, choices } => format!("a share of {share}; d = {choices}"),
            BlockCounters::None { choices } => format!("none; d = {choices}"),
        };
        format!("B = {}; R = {}; S = {}; {counters}", self.pages_per_block, self.load, self.partitions)
    }
}

/// What theory says of a point before it is run.
struct Predicted {
    /// RAM on 2 TiB without the mapping cache, MiB, and how much less that is than LazyFTL's, per cent.
    ram_mib: f64,
    saved_percent: f64,
    /// Write amplification of the user's pages, and of queries.
    user: f64,
    queries: f64,
}

/// The mean field of d choices (greedy where counters are held, all or of a sample) and half a binary counter of runs a query.
fn predict(point: &Point) -> Result<Predicted, Failure> {
    let cleaning = cleaning_write_amplification(&point.drive(point.log2_blocks)?)?;
    let simulated = point.drive(point.log2_blocks)?;
    let runs = f64::from(simulated.gecko_levels() + 1) / 2.0;
    let victims = cleaning / f64::from(point.pages_per_block);
    let queries = victims * f64::from(simulated.sizes().counters.queries()) * runs / DELTA;
    let ram_of = |ftl: Ftl, drive: &FtlDrive| -> u64 {
        let parts = ram(&ftl.design(None), drive);
        parts.iter().filter(|part| part.name != "mapping cache").map(|part| part.bytes).sum()
    };
    let large = point.drive(LOG2_BLOCKS)?;
    let (gecko, lazy) = (ram_of(Ftl::GeckoFtl, &large), ram_of(Ftl::LazyFtl, &large));
    Ok(Predicted {
        ram_mib: mib(gecko),
        saved_percent: 100.0 * (1.0 - gecko as f64 / lazy as f64),
        user: 1.0 + (cleaning - 1.0) * (1.0 + 1.0 / DELTA),
        queries,
    })
}

fn measure(point: &Point) -> Result<Measured, Failure> {
    let shape = (point.blocks(point.log2_blocks), point.pages_per_block);
    paged::run_on(&point.settings()?, shape, WARM_UP, MEASURED)
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let asked: Settings = session.settings()?;
    let points = Point::all(asked.log2_blocks);
    // Before any of them is run.
    let predicted = points.iter().map(predict).collect::<Result<Vec<_>, _>>()?;
    let measured = session.each("GeckoFTL with less RAM", &points, measure)?;
    let mut table = Table::new(&[
        "pages_per_block",
        "load",
        "partitions",
        "counters_share",
        "choices",
        "ram_mib_at_2_tib",
        "saved_percent",
        "predicted_user",
        "wa_user",
        "predicted_queries",
        "wa_validity",
        "wa_translation",
        "wa",
    ]);
    for ((point, predicted), measured) in points.iter().zip(&predicted).zip(&measured) {
        let [user, translation, validity] = measured.amplification();
        let head = [point.pages_per_block.to_string(), point.load.to_string(), point.partitions.to_string()];
        let counters = [point.share.to_string(), point.choices.to_string()];
        let numbers = [
            number(predicted.ram_mib, 3),
            number(predicted.saved_percent, 2),
            number(predicted.user, 4),
            number(user, 4),
            number(predicted.queries, 4),
            number(validity, 4),
            number(translation, 4),
            number(user + translation + validity, 4),
        ];
        table.push(head.into_iter().chain(counters).chain(numbers).collect());
    }
    table.publish(session, "data")?;
    check(&points, &predicted, &measured).publish(session)
}

fn check(points: &[Point], predicted: &[Predicted], measured: &[Measured]) -> Statements {
    let mut statements = Statements::default();
    let all = || points.iter().zip(predicted).zip(measured).map(|((point, said), found)| (point, said, found));
    let is_sampled = |point: &Point| point.share > 0.0 && point.share < 1.0;
    let near = |found: f64, said: f64, percent: f64| (found / said - 1.0).abs() <= percent / 100.0;
    statements.check(
        "the mean field predicts what cleaning costs: within 3 percent where all counters are held or none",
        all().filter(|(point, ..)| !is_sampled(point)).map(|(point, said, found)| {
            let user = found.amplification()[0];
            (format!("{}: {user:.3} for {:.3}", point.name(), said.user), near(user, said.user, 3.0))
        }),
    );
    let alike = |a: &Point, b: &Point| (a.pages_per_block, a.load, a.partitions) == (b.pages_per_block, b.load, b.partitions);
    let full = |point: &Point| {
        let found = all().find(|(other, ..)| other.share == 1.0 && alike(other, point));
        found.expect("each with all counters").2.amplification()
    };
    let ten = |point: &Point| {
        let found = all().find(|(other, ..)| (other.share, other.choices) == (0.0, 10) && alike(other, point));
        found.expect("each without counters").2.amplification()
    };
    let four = || all().filter(|(point, ..)| (point.share, point.choices) == (0.05, 4));
    statements.check(
        "a sample is as good as all counters: within 1 percent of all writes; 5 percent of the blocks and four queries",
        four().map(|(point, _, found)| {
            let (with, without) = (full(point).iter().sum::<f64>(), found.amplification().iter().sum::<f64>());
            (format!("{}: {without:.3} for {with:.3}", point.name()), without <= 1.01 * with)
        }),
    );
    statements.check(
        "a sample of 5 percent with four queries a victim costs less than none with ten",
        four().map(|(point, _, found)| {
            let (none, sampled) = (ten(point).iter().sum::<f64>(), found.amplification().iter().sum::<f64>());
            (format!("{}: {sampled:.3} for {none:.3}", point.name()), sampled < none)
        }),
    );
    statements.check(
        "without counters 95 percent less RAM at 128 pages a block costs less than 10 percent of all writes: the best d",
        {
            let (with, best) = all().filter(|(point, ..)| point.share == 0.0 && alike(point, &points[0])).fold(
                (full(&points[0]).iter().sum::<f64>(), f64::INFINITY),
                |(with, best), (_, said, found)| {
                    let wa: f64 = found.amplification().iter().sum();
                    (with, if said.saved_percent >= 95.0 { best.min(wa) } else { best })
                },
            );
            [(format!("{best:.3} for {with:.3}"), best <= 1.1 * with)]
        },
    );
    let saved = |wanted: fn(&Point) -> bool| {
        all().filter(move |(point, ..)| wanted(point) && point.load == 0.7 && point.partitions == point.pages_per_block / 32).map(
            |(point, said, _)| (format!("{}: {:.1}", point.name(), said.saved_percent), said.saved_percent >= 95.0),
        )
    };
    statements.check(
        "95 percent less RAM without counters",
        saved(|point| point.share == 0.0),
    );
    statements.check(
        "95 percent less RAM with counters of 5 percent of the blocks",
        saved(|point| point.share == 0.05),
    );
    statements.check(
        "95 percent less RAM with all counters and 1024 pages a block",
        saved(|point| point.share == 1.0 && point.pages_per_block == 1024),
    );
    statements.check(
        "95 percent less RAM with all counters and 128 pages a block",
        saved(|point| point.share == 1.0 && point.pages_per_block == 128),
    );
    statements
}
