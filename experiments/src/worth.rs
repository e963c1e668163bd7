//! What merging by cleaning is worth, by theory and simulated: drives drawn at random, whose requests are of one page, and the
//! stand-ins of the FIU traces, whose requests are not.

use crate::Failure;
use crate::cagc::{Assumed, CAGC, Drive as TraceDrive, NONE, OVER_PROVISIONING, Scheme, TRACES, WATERMARK};
use crate::session::Session;
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Seed, below};
use wearwell_theory::equal_pages::{Contents, Detection, EqualPages};
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::{DChoices, GreedyLimit, Selection};
use wearwell_theory::{Classes, Drive};
use wearwell_workload::{ContentConfig, FIU_TRACES, FiuTrace, SINGLES};

/// Drives drawn.
pub const POINTS: usize = 60;

/// What the draws begin with, and how fine they are.
const SEED: u64 = 16;
const STEPS: u64 = 1 << 32;

/// Blocks of the drives, and pages of a block: Table I on 128 MiB.
const BLOCKS: u32 = 512;
const PAGES_PER_BLOCK: u32 = 64;

/// Erased blocks at which cleaning starts where no share is given.
const FEWEST_ERASED: f64 = 4.0;

/// Least spare space that is left beside the erased blocks, as a share.
const LEAST_SPARE: f64 = 0.04;

/// Drive writes to warm up and to measure.
const DRIVE_WRITES: f64 = 10.0;

/// Shares in use of the stand-ins, each with the share of blocks at which cleaning starts.
pub const READINGS: [(f64, f64); 9] = [
    (0.6, 0.0),
    (0.7, 0.0),
    (0.8, 0.0),
    (0.9, 0.0),
    (1.0, 0.0),
    (0.6, WATERMARK),
    (0.7, WATERMARK),
    (0.8, WATERMARK),
    (0.84, WATERMARK),
];

/// A drive, its load, and what is written to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// What it is called.
    pub name: String,
    /// A stand-in, or nothing.
    pub trace: Option<&'static str>,
    /// Share of the user space in use.
    pub used: f64,
    /// Share of the blocks at which cleaning starts; 0: four blocks.
    pub watermark: f64,
    /// `(r, f)`.
    pub load: (f64, f64),
    /// What is written.
    pub content: ContentConfig,
    /// Blocks drawn for a victim; greedy unless given.
    pub choices: Option<u32>,
}

/// What theory says of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Write amplification without deduplication.
    pub none: f64,
    /// The same with moved pages in blocks of their own.
    pub none_apart: f64,
    /// With CAGC.
    pub cagc: f64,
    /// Without it, but with the room that it makes.
    pub twin: f64,
    /// That with moved pages in blocks of their own, and no fewer hot pages than without merging.
    pub twin_apart: f64,
    /// Logical pages for each stored one.
    pub sharing: f64,
}

impl Predicted {
    /// Erases that CAGC saves, percent.
    pub fn saving(&self) -> f64 {
        100.0 * (1.0 - self.cagc / self.none)
    }
}

/// The drives drawn at random.
pub fn drawn() -> Vec<Point> {
    let mut random = Seed(SEED).random();
    let mut from = |low: f64, high: f64| low + (high - low) * below(&mut random, STEPS) as f64 / STEPS as f64;
    let point = |at: usize| {
        let used = from(0.5, 1.0);
        let most = 1.0 - used / (1.0 + OVER_PROVISIONING) / (1.0 - LEAST_SPARE);
        let watermark = from(0.0, 1.0) * most.clamp(0.0, WATERMARK);
        let hot_writes = from(0.5, 0.95);
        let hot_space = from(0.05, 0.45);
        let dedup_ratio = from(0.1, 0.9);
        let content = ContentConfig {
            same_content_ratio: from(0.0, 0.5) * dedup_ratio,
            pair_ratio: from(0.0, 0.15) * (1.0 - dedup_ratio).min(dedup_ratio),
            popular_contents: 10.0_f64.powf(from(-3.0, -1.7)),
            exponent: from(0.6, 1.2),
            popular_lifetime: from(5.0, 40.0),
            cold_duplicates: from(0.0, 1.0),
            ..ContentConfig::with_ratio(dedup_ratio)
        };
        let choices = (from(0.0, 1.0) < 0.5).then_some(10);
        let load = (hot_writes, hot_space);
        Point { name: format!("drawn {}", at + 1), trace: None, used, watermark, load, content, choices }
    };
    (0..POINTS).map(point).collect()
}

/// The stand-ins in every reading.
pub fn stand_ins() -> Vec<Point> {
    let of = |(used, watermark): (f64, f64)| {
        TRACES.map(|(trace, _)| {
            let published = published(trace);
            Point {
                name: format!("{trace}; {used} used; {watermark}"),
                trace: Some(trace),
                used,
                watermark,
                load: (published.hot_writes, published.hot_space),
                content: published.content.clone(),
                choices: None,
            }
        })
    };
    READINGS.into_iter().flat_map(of).collect()
}

fn published(trace: &str) -> &'static FiuTrace {
    FIU_TRACES.iter().find(|known| known.entry.name == trace).expect("a trace of the table")
}

impl Point {
    /// Pages that the workload sees.
    fn logical_pages(&self) -> f64 {
        f64::from(BLOCKS * PAGES_PER_BLOCK) * self.used / (1.0 + OVER_PROVISIONING)
    }

    /// Spare factor without the blocks that wait erased.
    fn spare_factor(&self) -> f64 {
        let erased = (self.watermark * f64::from(BLOCKS)).round().max(FEWEST_ERASED);
        1.0 - self.logical_pages() / ((f64::from(BLOCKS) - erased) * f64::from(PAGES_PER_BLOCK))
    }

    /// What theory says. Requests of several pages are taken for blocks of so many fewer pages as a request has on average: a
    /// makeshift, for they do not die as a whole.
    ///
    /// # Errors
    ///
    /// What the theory refuses.
    pub fn predicted(&self) -> Result<Predicted, Failure> {
        let Some(trace) = self.trace else { return self.in_blocks_of(PAGES_PER_BLOCK) };
        let lengths = published(trace).request_pages;
        let total: f64 = lengths.iter().map(|(_, weight)| weight).sum();
        let mean = lengths.iter().map(|(pages, weight)| f64::from(*pages) * weight).sum::<f64>() / total;
        let pages = f64::from(PAGES_PER_BLOCK) / mean;
        let (low, high) =
            (self.in_blocks_of(pages.floor() as u32)?, self.in_blocks_of(pages.floor() as u32 + 1)?);
        // Amplification is linear in the inverse of the size of blocks.
        let inverse = |pages: f64| 1.0 / pages;
        let part = (inverse(pages) - inverse(pages.floor()))
            / (inverse(pages.floor() + 1.0) - inverse(pages.floor()));
        let between = |of: fn(&Predicted) -> f64| of(&low) + part * (of(&high) - of(&low));
        Ok(Predicted {
            none: between(|found| found.none),
            none_apart: between(|found| found.none_apart),
            cagc: between(|found| found.cagc),
            twin: between(|found| found.twin),
            twin_apart: between(|found| found.twin_apart),
            sharing: between(|found| found.sharing),
        })
    }

    fn in_blocks_of(&self, pages: u32) -> Result<Predicted, Failure> {
        let drive = Drive::new(pages, self.spare_factor())?;
        let classes = Classes::hot_cold(self.load.0, self.load.1)?;
        let choices = self.choices.map(|choices| DChoices::new(f64::from(choices))).transpose()?;
        let selection: &dyn Selection = choices.as_ref().map_or(&GreedyLimit, |choices| choices);
        let without = |drive, structure| -> Result<f64, Failure> {
            let model = MeanField::new(drive, classes.clone(), structure, selection)?;
            Ok(model.steady_state()?.write_amplification)
        };
        let content = &self.content;
        let logical = self.logical_pages();
        let contents = Contents {
            same: content.same_content_ratio,
            pairs: content.pair_ratio,
            pair_delay: SINGLES as f64 / ((1.0 - content.dedup_ratio) * logical),
            popular: content.dedup_ratio - content.same_content_ratio - content.pair_ratio,
            popular_contents: (logical * content.popular_contents).round().max(1.0) as u64,
            exponent: content.exponent,
            lifetime: content.popular_lifetime,
            cold_duplicates: content.cold_duplicates,
        };
        let detection = Detection::Cleaning { promotes: true, apart: true };
        let logical_pages = logical.round() as u64;
        let structure = Structure::Single;
        let equal = EqualPages {
            drive,
            logical_pages,
            classes: classes.clone(),
            contents,
            detection,
            structure,
            selection,
        };
        let merged = equal.steady_state()?;
        let room = Drive::new(pages, merged.spare_factor)?;
        Ok(Predicted {
            none: without(drive, Structure::Single)?,
            none_apart: without(drive, Structure::Double)?,
            cagc: merged.write_amplification,
            twin: merged.twin,
            twin_apart: without(room, Structure::Double)?,
            sharing: merged.sharing,
        })
    }

    /// The drive under a scheme, in TOML; with a watermark that is kept by cleaning on until there are more erased blocks, or is not.
    pub fn toml(&self, assumed: &Assumed, scheme: &Scheme, keeps_watermark: bool, length: f64) -> String {
        let victim = self.choices.map_or("\"greedy\"".to_owned(), |choices| {
            format!("{{ policy = \"d_choices\", choices = {choices} }}")
        });
        let drive_writes = DRIVE_WRITES;
        if let Some(trace) = self.trace {
            let drive = TraceDrive {
                used: self.used,
                watermark: self.watermark,
                keeps_watermark,
                timing: None,
                victim,
                drive_writes: [drive_writes; 2],
                ..TraceDrive::new(assumed, trace, scheme)
            };
            return drive.stack(&[], length).toml;
        }
        let erased = (self.watermark * f64::from(BLOCKS)).round().max(FEWEST_ERASED);
        let ContentConfig { dedup_ratio, same_content_ratio, pair_ratio, popular_contents, .. } =
            self.content;
        let ContentConfig { exponent, popular_lifetime, cold_duplicates, .. } = self.content;
        format!(
            r#"
            content = {{ dedup_ratio = {dedup_ratio:?}, same_content_ratio = {same_content_ratio:?}, pair_ratio = {pair_ratio:?}, popular_contents = {popular_contents:?}, exponent = {exponent:?}, popular_lifetime = {popular_lifetime:?}, cold_duplicates = {cold_duplicates:?} }}
            [device]
            blocks_per_plane = {BLOCKS}
            pages_per_block = {PAGES_PER_BLOCK}
            over_provisioning = {over_provisioning:?}
            [ftl]
            dedup = {{ {dedup} }}
            placement = {placement}
            victim = {victim}
            free_blocks_low = {erased}
            free_blocks_high = {high}
            copy_order = "random"
            [workload]
            kind = "hot_cold"
            hot_writes = {hot_writes:?}
            hot_space = {hot_space:?}
            [measure]
            warm_up = {warm_up:?}
            drive_writes = {warm_up:?}
            window = 1.0
            "#,
            over_provisioning = (1.0 + OVER_PROVISIONING) / self.used - 1.0,
            high = erased + f64::from(u8::from(keeps_watermark)),
            dedup = scheme.dedup,
            placement = scheme.placement,
            hot_writes = self.load.0,
            hot_space = self.load.1,
            warm_up = drive_writes * length,
        )
    }
}

/// The schemes that are predicted.
pub const SCHEMES: [Scheme; 2] = [NONE, CAGC];

/// What theory says of all points.
///
/// # Errors
///
/// As of [`Point::predicted`].
pub fn predict(session: &Session, points: &[Point]) -> Result<Vec<Predicted>, Failure> {
    session.each("equal pages", points, Point::predicted)
}
