//! Placement by the time window of a page's predicted invalidation: an online algorithm with predictions of any
//! quality.

use super::windows::Windows;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry, StoreSize};
use crate::counters::Cause;
use crate::foresight::{Foresight, look_ahead_pages, unchecked_look_ahead_pages};
use crate::seed::Random;
use crate::units::{Lpn, StreamId};
use rand::RngCore;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the predictions and of the windows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Error of the predictions: standard deviation of the natural logarithm of predicted life over true life, from
    /// 0.
    pub error: f64,
    /// Streams, 2 or more: one for each of the next windows, and one for later invalidations. Default: half the
    /// number of spare blocks, at most 128.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub streams: Option<u8>,
    /// Host writes per window while predictions are good, 1 or more. Default: the look-ahead divided among the
    /// windows, but at most the number of spare pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub window_pages: Option<u32>,
    /// Look-ahead of the predictions in drive writes, above 0; each takes 4 bytes of memory per logical page.
    pub look_ahead: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { error: 0.5, streams: None, window_pages: None, look_ahead: 4.0 }
    }
}

/// Maximum setting of `error`: with a larger error, fewer than one prediction in a thousand is within a factor of a
/// million of the true life.
const MAX_ERROR: f64 = 1e4;

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "predicted_windows",
        help: "as death_windows, by predictions with an error that can be set, and trusted no more than they turn out to be right",
        source: "our own, after the online algorithm with predictions of Lange, Naor and Yadgar, SIGMETRICS 2022, as far as it is public",
    };
    type Placement = PredictedWindows;

    fn look_ahead_pages(&self, size: &StoreSize) -> Option<u64> {
        Some(unchecked_look_ahead_pages(self.look_ahead, size))
    }

    fn build(&self, context: PlacementContext<'_>) -> Result<PredictedWindows, ConfigError> {
        if !(0.0..=MAX_ERROR).contains(&self.error) {
            let problem = format!("is {}; it must be from 0 to {MAX_ERROR}", self.error);
            return Err(ConfigError::new("error", problem));
        }
        let look_ahead_pages = look_ahead_pages(self.look_ahead, context.size)?;
        let windows = Windows::of(context.size, self.streams, self.window_pages, look_ahead_pages)?;
        let logical_pages = context.size.logical_pages;
        Ok(PredictedWindows {
            predictor: Predictor {
                foresight: context.foresight(Self::ENTRY.name, look_ahead_pages)?,
                error: self.error,
                random: context.size.seed.derive("predictions").random(),
            },
            pages: vec![PageState { written_at: 0, invalidated_at: UNKNOWN }; logical_pages as usize],
            reliability: Reliability::new(windows, logical_pages),
            open: vec![0; usize::from(windows.streams())],
            block_pages: context.size.pages_per_block,
        })
    }
}

/// Invalidation of a page beyond the look-ahead, or of a page without data.
const UNKNOWN: u64 = u64::MAX;

/// Knowledge of the future, with an artificial error.
struct Predictor {
    foresight: Foresight,
    error: f64,
    random: Random,
}

impl Predictor {
    /// Returns the predicted invalidation of the version that write `now` creates, or [`UNKNOWN`] beyond the
    /// look-ahead.
    fn predict(&mut self, page: Lpn, now: u64) -> u64 {
        let (invalidated_at, look_ahead_pages) = (self.foresight.write(page, now), self.foresight.horizon());
        if self.error == 0.0 {
            return invalidated_at.unwrap_or(UNKNOWN);
        }
        let lifetime = invalidated_at.map_or(look_ahead_pages, |death| death - now) as f64;
        let predicted = lifetime * libm::exp(self.error * self.normal());
        if predicted <= look_ahead_pages as f64 { now + (predicted as u64).max(1) } else { UNKNOWN }
    }

    /// Returns a normal deviate (Box and Muller, Annals of Mathematical Statistics 29(2), 1958).
    fn normal(&mut self) -> f64 {
        let mut uniform = || ((self.random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        let (radius, angle) = (libm::sqrt(-2.0 * libm::log(uniform())), std::f64::consts::TAU * uniform());
        radius * libm::cos(angle)
    }
}

/// State of a page.
#[derive(Clone, Copy)]
struct PageState {
    /// Number of the host write that wrote the page.
    written_at: u64,
    /// Number of the host write that is predicted to invalidate the page.
    invalidated_at: u64,
}

/// Smallest number of recent invalidations over which errors are averaged.
const MIN_INVALIDATIONS: f64 = 256.0;

/// Reliability of the predictions.
struct Reliability {
    windows: Windows,
    /// Recent mean error of predictions, in host writes.
    mean_error: f64,
    /// Mean life of the versions whose errors are averaged, and its mean absolute deviation: the error of a prediction
    /// without knowledge of the page.
    mean_lifetime: f64,
    mean_deviation: f64,
    /// Weight of a new observation.
    weight: f64,
    /// Upper limit for a single error.
    max_error: f64,
    /// Windows in use; `None` if predictions are useless.
    windows_in_use: Option<Windows>,
}

impl Reliability {
    fn new(windows: Windows, logical_pages: u32) -> Self {
        Reliability {
            windows,
            mean_error: 0.0,
            mean_lifetime: 0.0,
            mean_deviation: 0.0,
            weight: 1.0 / (f64::from(logical_pages) / 8.0).max(MIN_INVALIDATIONS),
            max_error: windows.span() as f64,
            windows_in_use: Some(windows),
        }
    }

    /// Updates the errors after write `now` invalidated a page.
    fn record_invalidation(&mut self, page: PageState, now: u64) {
        let error = (page.invalidated_at.abs_diff(now) as f64).min(self.max_error);
        let lifetime = ((now - page.written_at) as f64).min(self.max_error);
        self.mean_error += self.weight * (error - self.mean_error);
        self.mean_deviation += self.weight * ((lifetime - self.mean_lifetime).abs() - self.mean_deviation);
        self.mean_lifetime += self.weight * (lifetime - self.mean_lifetime);
        let mut factor = 1;
        while (self.windows.width() * factor) as f64 <= self.mean_error {
            factor *= 2;
        }
        let widened = self.windows.widened(factor);
        let is_useful = widened.streams() > 2 && self.mean_error < self.mean_deviation;
        self.windows_in_use = (factor == 1 || is_useful).then_some(widened);
    }
}

/// Pages predicted to be invalidated in the same window go to the same stream; windows are as long as the prediction
/// error.
///
/// Predictions come with writes. With exact predictions this is the placement `death_windows`, except that pages
/// written with an unknown invalidation are not predicted again when moved. Windows are widened to the recent mean
/// error, which is updated whenever a page is invalidated: narrower windows would not separate pages reliably. If
/// fewer than two windows would be left, or the mean life predicts as well, host pages go to one stream and moved
/// pages to another, like in the double frontier. Streams that are no longer used first fill their open blocks. A
/// page that has outlived its prediction counts as one with an unknown invalidation.
///
/// The published part of the algorithm of Lange, Naor and Yadgar is that it gains with better predictions and is never
/// worse than greedy cleaning without predictions. The method used here was developed for Wearwell.
pub struct PredictedWindows {
    predictor: Predictor,
    pages: Vec<PageState>,
    reliability: Reliability,
    /// For each stream, number of pages in its open block, as far as the placement knows.
    open: Vec<u32>,
    block_pages: u32,
}

impl PredictedWindows {
    /// Returns the stream for a page if the host write with the number `invalidated_at` is predicted to invalidate this
    /// page.
    fn predicted_stream(&self, invalidated_at: u64, now: u64, cause: Cause) -> StreamId {
        match self.reliability.windows_in_use {
            Some(windows) => windows
                .stream((invalidated_at != UNKNOWN && invalidated_at >= now).then_some(invalidated_at), now),
            None => StreamId(u8::from(cause != Cause::Host)),
        }
    }

    /// Returns `predicted` or, if that stream has no open block, an unused stream whose block is still open.
    fn prefer_open_stream(&mut self, predicted: StreamId) -> StreamId {
        let streams_in_use =
            self.reliability.windows_in_use.map_or(2, |windows| usize::from(windows.streams()));
        let open_unused_stream = || (streams_in_use..self.open.len()).find(|&stream| self.open[stream] > 0);
        let stream = match self.open[predicted.index()] {
            0 => open_unused_stream().map_or(predicted, |stream| StreamId(stream as u8)),
            _ => predicted,
        };
        let open = &mut self.open[stream.index()];
        *open = (*open + 1) % self.block_pages;
        stream
    }
}

impl Placement for PredictedWindows {
    fn streams(&self) -> u8 {
        self.reliability.windows.streams()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let &PageContext { page, now, cause, .. } = context;
        if cause == Cause::Host {
            let invalidated_at = self.predictor.predict(page, now);
            let previous = std::mem::replace(
                &mut self.pages[page.index()],
                PageState { written_at: now, invalidated_at },
            );
            if previous.invalidated_at != UNKNOWN {
                self.reliability.record_invalidation(previous, now);
            }
        }
        let predicted = self.predicted_stream(self.pages[page.index()].invalidated_at, now, cause);
        self.prefer_open_stream(predicted)
    }

    fn trimmed(&mut self, page: Lpn) {
        self.pages[page.index()].invalidated_at = UNKNOWN;
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.pages)
    }
}
