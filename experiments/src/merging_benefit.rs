//! Benefit of merging equal pages during cleaning, by theory and by simulation. The cases are random drives with
//! requests of one page, and the synthetic FIU traces, which have longer requests.

use crate::Failure;
use crate::cagc::{
    AssumedValues, CAGC, Drive as TraceDrive, NONE, OVER_PROVISIONING, Scheme, TRACES, WATERMARK,
};
use crate::session::Session;
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Seed, random_below};
use wearwell_theory::dedup::{Contents, DedupModel, Detection};
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::{DChoices, GreedyLimit, Selection};
use wearwell_theory::{Classes, Drive};
use wearwell_workload::{ContentConfig, FIU_TRACES, FiuTrace, MAX_SINGLES};

/// Number of random drives.
pub const RANDOM_POINTS: usize = 60;

/// Seed of the random drives.
const SEED: u64 = 16;
/// Resolution of the drawn numbers.
const RESOLUTION: u64 = 1 << 32;

/// Number of blocks of the drives, which are the drive of Table I, reduced to 128 MiB.
const BLOCKS: u32 = 512;
/// Number of pages per block.
const PAGES_PER_BLOCK: u32 = 64;

/// Number of erased blocks at which cleaning starts if no share is given.
const MIN_ERASED_BLOCKS: f64 = 4.0;

/// Minimum share of spare space in addition to the erased blocks.
const MIN_SPARE_SHARE: f64 = 0.04;

/// Number of drive writes of the warm-up, and also of the measurement.
const DRIVE_WRITES: f64 = 10.0;

/// Setups of the synthetic traces: the share of the space in use, and the share of erased blocks at which cleaning
/// starts.
pub const SETUPS: [(f64, f64); 9] = [
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

/// A drive with its load and page content.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Point {
    /// Name of the point.
    pub name: String,
    /// Name of a synthetic trace; `None` for a random drive.
    pub trace: Option<&'static str>,
    /// Share of the user space in use.
    #[serde(rename = "used")]
    pub used_share: f64,
    /// Share of erased blocks at which cleaning starts; 0 means four blocks.
    pub watermark: f64,
    /// Hot shares of the writes and of the space, `(r, f)`.
    pub load: (f64, f64),
    /// Contents of written pages.
    pub content: ContentConfig,
    /// Number of blocks drawn for a victim; greedy selection unless given.
    pub choices: Option<u32>,
}

/// Predictions of a point.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// Write amplification without deduplication.
    pub none: f64,
    /// Write amplification without deduplication, with moved pages in separate blocks.
    #[serde(rename = "none_apart")]
    pub none_separate: f64,
    /// Write amplification with CAGC.
    pub cagc: f64,
    /// Write amplification without CAGC on a drive that has the space which CAGC frees.
    #[serde(rename = "twin")]
    pub equal_space: f64,
    /// Value of `equal_space` with moved pages in separate blocks, and with as many hot pages as without merging.
    #[serde(rename = "twin_apart")]
    pub equal_space_separate: f64,
    /// Number of logical pages per stored page.
    pub sharing: f64,
}

impl Prediction {
    /// Returns the share of the erases that CAGC saves, in per cent.
    pub fn saved_erases_percent(&self) -> f64 {
        100.0 * (1.0 - self.cagc / self.none)
    }
}

/// Returns the random drives.
pub fn random_points() -> Vec<Point> {
    let mut random = Seed(SEED).random();
    let mut draw = |low: f64, high: f64| {
        low + (high - low) * random_below(&mut random, RESOLUTION) as f64 / RESOLUTION as f64
    };
    let point = |at: usize| {
        let used = draw(0.5, 1.0);
        let max_watermark = 1.0 - used / (1.0 + OVER_PROVISIONING) / (1.0 - MIN_SPARE_SHARE);
        let watermark = draw(0.0, 1.0) * max_watermark.clamp(0.0, WATERMARK);
        let hot_writes = draw(0.5, 0.95);
        let hot_space = draw(0.05, 0.45);
        let dedup_ratio = draw(0.1, 0.9);
        let content = ContentConfig {
            same_content_ratio: draw(0.0, 0.5) * dedup_ratio,
            pair_ratio: draw(0.0, 0.15) * (1.0 - dedup_ratio).min(dedup_ratio),
            popular_contents: 10.0_f64.powf(draw(-3.0, -1.7)),
            exponent: draw(0.6, 1.2),
            popular_lifetime: draw(5.0, 40.0),
            cold_duplicates: draw(0.0, 1.0),
            ..ContentConfig::with_ratio(dedup_ratio)
        };
        let choices = (draw(0.0, 1.0) < 0.5).then_some(10);
        let load = (hot_writes, hot_space);
        Point {
            name: format!("drawn {}", at + 1),
            trace: None,
            used_share: used,
            watermark,
            load,
            content,
            choices,
        }
    };
    (0..RANDOM_POINTS).map(point).collect()
}

/// Returns the synthetic traces under every interpretation of the paper.
pub fn trace_points() -> Vec<Point> {
    let points_of = |(used, watermark): (f64, f64)| {
        TRACES.map(|(trace, _)| {
            let published = published(trace);
            Point {
                name: format!("{trace}; {used} used; {watermark}"),
                trace: Some(trace),
                used_share: used,
                watermark,
                load: (published.hot_writes, published.hot_space),
                content: published.content.clone(),
                choices: None,
            }
        })
    };
    SETUPS.into_iter().flat_map(points_of).collect()
}

fn published(trace: &str) -> &'static FiuTrace {
    FIU_TRACES.iter().find(|known| known.entry.name == trace).expect("a trace of the table")
}

impl Point {
    /// Returns the number of pages that the workload uses.
    fn logical_pages(&self) -> f64 {
        f64::from(BLOCKS * PAGES_PER_BLOCK) * self.used_share / (1.0 + OVER_PROVISIONING)
    }

    /// Returns the spare factor that remains without the blocks that are kept erased.
    fn spare_factor(&self) -> f64 {
        let erased = (self.watermark * f64::from(BLOCKS)).round().max(MIN_ERASED_BLOCKS);
        1.0 - self.logical_pages() / ((f64::from(BLOCKS) - erased) * f64::from(PAGES_PER_BLOCK))
    }

    /// Returns the predictions. Requests of several pages are approximated by blocks that are smaller by the mean
    /// number of pages of a request. This is inexact, because a request is not invalidated as a whole.
    ///
    /// # Errors
    ///
    /// Returns an error for parameters that the theory does not support.
    pub fn predict(&self) -> Result<Prediction, Failure> {
        let Some(trace) = self.trace else { return self.predict_for_block_size(PAGES_PER_BLOCK) };
        let request_pages = published(trace).request_pages;
        let total: f64 = request_pages.iter().map(|(_, weight)| weight).sum();
        let mean =
            request_pages.iter().map(|(pages, weight)| f64::from(*pages) * weight).sum::<f64>() / total;
        let pages = f64::from(PAGES_PER_BLOCK) / mean;
        let (low, high) = (
            self.predict_for_block_size(pages.floor() as u32)?,
            self.predict_for_block_size(pages.floor() as u32 + 1)?,
        );
        // Amplification is interpolated linearly in the inverse of the block size.
        let inverse = |pages: f64| 1.0 / pages;
        let part = (inverse(pages) - inverse(pages.floor()))
            / (inverse(pages.floor() + 1.0) - inverse(pages.floor()));
        let interpolate = |of: fn(&Prediction) -> f64| of(&low) + part * (of(&high) - of(&low));
        Ok(Prediction {
            none: interpolate(|found| found.none),
            none_separate: interpolate(|found| found.none_separate),
            cagc: interpolate(|found| found.cagc),
            equal_space: interpolate(|found| found.equal_space),
            equal_space_separate: interpolate(|found| found.equal_space_separate),
            sharing: interpolate(|found| found.sharing),
        })
    }

    fn predict_for_block_size(&self, pages: u32) -> Result<Prediction, Failure> {
        let drive = Drive::new(pages, self.spare_factor())?;
        let classes = Classes::hot_cold(self.load.0, self.load.1)?;
        let choices = self.choices.map(|choices| DChoices::new(f64::from(choices))).transpose()?;
        let selection: &dyn Selection = choices.as_ref().map_or(&GreedyLimit, |choices| choices);
        let without_dedup = |drive, structure| -> Result<f64, Failure> {
            let model = MeanField::new(drive, classes.clone(), structure, selection)?;
            Ok(model.steady_state()?.write_amplification)
        };
        let content = &self.content;
        let logical = self.logical_pages();
        let contents = Contents {
            same: content.same_content_ratio,
            pairs: content.pair_ratio,
            pair_delay: MAX_SINGLES as f64 / ((1.0 - content.dedup_ratio) * logical),
            popular: content.dedup_ratio - content.same_content_ratio - content.pair_ratio,
            popular_contents: (logical * content.popular_contents).round().max(1.0) as u64,
            exponent: content.exponent,
            lifetime: content.popular_lifetime,
            cold_duplicates: content.cold_duplicates,
        };
        let detection = Detection::Cleaning { promotes: true, separates: true };
        let logical_pages = logical.round() as u64;
        let structure = Structure::Single;
        let equal = DedupModel {
            drive,
            logical_pages,
            classes: classes.clone(),
            contents,
            detection,
            structure,
            selection,
        };
        let merged = equal.steady_state()?;
        let freed_drive = Drive::new(pages, merged.spare_factor)?;
        Ok(Prediction {
            none: without_dedup(drive, Structure::Single)?,
            none_separate: without_dedup(drive, Structure::Double)?,
            cagc: merged.write_amplification,
            equal_space: merged.equivalent_amplification,
            equal_space_separate: without_dedup(freed_drive, Structure::Double)?,
            sharing: merged.sharing,
        })
    }

    /// Returns the drive with a scheme, in TOML. With `keeps_watermark`, cleaning continues until more blocks are
    /// erased than the watermark.
    pub fn toml(
        &self,
        assumed: &AssumedValues,
        scheme: &Scheme,
        keeps_watermark: bool,
        length: f64,
    ) -> String {
        let victim = self.choices.map_or("\"greedy\"".to_owned(), |choices| {
            format!("{{ policy = \"d_choices\", choices = {choices} }}")
        });
        let drive_writes = DRIVE_WRITES;
        if let Some(trace) = self.trace {
            let drive = TraceDrive {
                used_share: self.used_share,
                watermark: self.watermark,
                keeps_watermark,
                timing: None,
                victim,
                drive_writes: [drive_writes; 2],
                ..TraceDrive::new(assumed, trace, scheme)
            };
            return drive.stack(&[], length).toml;
        }
        let erased = (self.watermark * f64::from(BLOCKS)).round().max(MIN_ERASED_BLOCKS);
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
            over_provisioning = (1.0 + OVER_PROVISIONING) / self.used_share - 1.0,
            high = erased + f64::from(u8::from(keeps_watermark)),
            dedup = scheme.dedup,
            placement = scheme.placement,
            hot_writes = self.load.0,
            hot_space = self.load.1,
            warm_up = drive_writes * length,
        )
    }
}

/// Schemes for which there are predictions.
pub const SCHEMES: [Scheme; 2] = [NONE, CAGC];

/// Returns the predictions of all points.
///
/// # Errors
///
/// The errors of [`Point::predict`].
pub fn predict_all(session: &Session, points: &[Point]) -> Result<Vec<Prediction>, Failure> {
    session.compute_each("equal pages", points, Point::predict)
}
