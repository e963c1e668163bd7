//! Benefit of merging by cleaning, by theory and by simulation: random drives with requests of one page, and the
//! synthetic FIU traces, which have longer requests.

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

/// Number of random drives.
pub const POINTS: usize = 60;

/// Seed of the random drives, and resolution of the drawn numbers.
const SEED: u64 = 16;
const STEPS: u64 = 1 << 32;

/// Number of blocks of the drives, and pages per block: the drive of Table I, reduced to 128 MiB.
const BLOCKS: u32 = 512;
const PAGES_PER_BLOCK: u32 = 64;

/// Number of erased blocks at which cleaning starts if no share is given.
const FEWEST_ERASED: f64 = 4.0;

/// Least share of spare space in addition to the erased blocks.
const LEAST_SPARE: f64 = 0.04;

/// Drive writes of warm-up and of measurement.
const DRIVE_WRITES: f64 = 10.0;

/// Shares in use for the synthetic traces, each with the share of blocks at which cleaning starts.
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

/// A drive with its load and contents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the point.
    pub name: String,
    /// Name of a synthetic trace; `None` for a random drive.
    pub trace: Option<&'static str>,
    /// Share of the user space in use.
    pub used: f64,
    /// Share of the blocks at which cleaning starts; 0 means four blocks.
    pub watermark: f64,
    /// `(r, f)`.
    pub load: (f64, f64),
    /// Contents of written pages.
    pub content: ContentConfig,
    /// Blocks drawn for a victim; greedy unless given.
    pub choices: Option<u32>,
}

/// Predictions of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Write amplification without deduplication.
    pub none: f64,
    /// Write amplification without deduplication, with moved pages in separate blocks.
    pub none_apart: f64,
    /// Write amplification with CAGC.
    pub cagc: f64,
    /// Write amplification without CAGC, but with the space that it frees.
    pub twin: f64,
    /// Like `twin`, with moved pages in separate blocks, and with as many hot pages as without merging.
    pub twin_apart: f64,
    /// Logical pages per stored page.
    pub sharing: f64,
}

impl Predicted {
    /// Returns the erases that CAGC saves, per cent.
    pub fn saving(&self) -> f64 {
        100.0 * (1.0 - self.cagc / self.none)
    }
}

/// Returns the random drives.
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

/// Returns the synthetic traces in every reading.
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
    /// Returns the number of pages that the workload uses.
    fn logical_pages(&self) -> f64 {
        f64::from(BLOCKS * PAGES_PER_BLOCK) * self.used / (1.0 + OVER_PROVISIONING)
    }

    /// Returns the spare factor without the blocks that are kept erased.
    fn spare_factor(&self) -> f64 {
        let erased = (self.watermark * f64::from(BLOCKS)).round().max(FEWEST_ERASED);
        1.0 - self.logical_pages() / ((f64::from(BLOCKS) - erased) * f64::from(PAGES_PER_BLOCK))
    }

    /// Returns the predictions. Requests of several pages are approximated by smaller blocks, divided by the mean
    /// number of pages of a request; this is inexact, because a request is not invalidated as a whole.
    ///
    /// # Errors
    ///
    /// Returns an error for parameters that the theory does not support.
    pub fn predicted(&self) -> Result<Predicted, Failure> {
        let Some(trace) = self.trace else { return self.in_blocks_of(PAGES_PER_BLOCK) };
        let lengths = published(trace).request_pages;
        let total: f64 = lengths.iter().map(|(_, weight)| weight).sum();
        let mean = lengths.iter().map(|(pages, weight)| f64::from(*pages) * weight).sum::<f64>() / total;
        let pages = f64::from(PAGES_PER_BLOCK) / mean;
        let (low, high) =
            (self.in_blocks_of(pages.floor() as u32)?, self.in_blocks_of(pages.floor() as u32 + 1)?);
        // Amplification is linear in the inverse of the block size.
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

    /// Returns the drive under a scheme, in TOML; with `keeps_watermark`, cleaning continues until more blocks than the
    /// watermark are erased.
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

/// Predicted schemes.
pub const SCHEMES: [Scheme; 2] = [NONE, CAGC];

/// Returns the predictions of all points.
///
/// # Errors
///
/// As for [`Point::predicted`].
pub fn predict(session: &Session, points: &[Point]) -> Result<Vec<Predicted>, Failure> {
    session.each("equal pages", points, Point::predicted)
}
