//! Settings of page contents.

use crate::error::{require, require_ratio};
use serde::Serialize;
use wearwell_base::config::ConfigError;

/// Contents of written pages.
///
/// A written page gets one of four contents: its old content (`same_content_ratio`), that of a page written once
/// (`pair_ratio`), one of a pool of popular contents (the remainder of `dedup_ratio`), or new content. The pool's
/// contents are drawn by Zipf's law and replaced one by one. Contents of low rank therefore gather many references and
/// keep them long after they left the pool.
///
/// Given as the name of a preset, or as a table of these keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContentConfig {
    /// Preset that supplied the unset fields.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Share of the written pages whose content was written before: 1 - distinct contents / written pages, over a long
    /// run; 0 to below 1.
    pub dedup_ratio: f64,
    /// Share of the written pages that rewrite the content already at their address; at most `dedup_ratio`.
    pub same_content_ratio: f64,
    /// Share of the written pages that are the second and last copy of a content; with `same_content_ratio` at most
    /// `dedup_ratio`.
    pub pair_ratio: f64,
    /// Number of contents in the pool, as a share of the logical pages, above 0 and at most 1; at least one.
    pub popular_contents: f64,
    /// Zipf exponent for drawing popular contents, above 0.
    pub exponent: f64,
    /// Mean time that a content stays in the pool, in drive writes, above 0.
    pub popular_lifetime: f64,
    /// Reduction of popular contents at addresses that were written less than a drive write ago, from 0 (as frequent as
    /// elsewhere) to 1 (as rare as `dedup_ratio` allows).
    pub cold_duplicates: f64,
}

impl ContentConfig {
    /// Returns a configuration with this share of duplicates, all drawn from the pool, and all other settings at their
    /// defaults.
    pub fn with_ratio(dedup_ratio: f64) -> Self {
        ContentConfig {
            preset: None,
            dedup_ratio,
            same_content_ratio: 0.0,
            pair_ratio: 0.0,
            popular_contents: 0.01,
            exponent: 1.0,
            popular_lifetime: 20.0,
            cold_duplicates: 0.0,
        }
    }

    /// Checks every setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        let below_1 = (0.0..1.0).contains(&self.dedup_ratio);
        require(below_1, "dedup_ratio", self.dedup_ratio, "must lie from 0 to below 1")?;
        require_ratio("same_content_ratio", self.same_content_ratio)?;
        require_ratio("pair_ratio", self.pair_ratio)?;
        let sum = self.same_content_ratio + self.pair_ratio;
        // Allows for the rounding of a sum of decimals.
        let allowed = format!("must be at most `dedup_ratio`, {}", self.dedup_ratio);
        require(sum <= self.dedup_ratio + 1e-12, "same_content_ratio + pair_ratio", sum, &allowed)?;
        let is_share = self.popular_contents > 0.0 && self.popular_contents <= 1.0;
        require(is_share, "popular_contents", self.popular_contents, "must be above 0 and at most 1")?;
        for (key, value) in [("exponent", self.exponent), ("popular_lifetime", self.popular_lifetime)] {
            require(value > 0.0 && value.is_finite(), key, value, "must be a finite number above 0")?;
        }
        require_ratio("cold_duplicates", self.cold_duplicates)
    }
}
