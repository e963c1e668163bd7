//! The settings of contents, and the presets that give them all.

use super::generator::Contents;
use crate::error::{require, require_ratio};
use crate::fiu::{self, FIU_TRACES};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Cow;
use wearwell_base::config::{ConfigError, named_or_table};
use wearwell_base::seed::Seed;

/// What written pages hold.
///
/// Each written page holds one of four things: what its address holds already (`same_content_ratio`), a copy of a page that
/// was written once before (`pair_ratio`), one of a pool of popular contents (what is left of `dedup_ratio`), or something
/// new. The pool's contents are drawn by Zipf's law and replaced one by one, so that those of low rank gather many
/// references and keep them for long after they left the pool.
///
/// Made from a preset's name, or from a table of these keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContentConfig {
    /// The preset from which came what was not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// Share of the written pages whose content was written before: 1 - distinct contents / written pages, over a long
    /// run; 0 to below 1.
    pub dedup_ratio: f64,
    /// Share of the written pages that hold what their address holds already; at most `dedup_ratio`.
    pub same_content_ratio: f64,
    /// Share of the written pages that are the second copy of a content, which gets no third; with `same_content_ratio` at
    /// most `dedup_ratio`.
    pub pair_ratio: f64,
    /// Contents in the pool, as a share of the logical pages, above 0 and at most 1; at least one.
    pub popular_contents: f64,
    /// Exponent of the law by which popular contents are drawn, above 0.
    pub exponent: f64,
    /// Drive writes that a content stays in the pool, on average, above 0.
    pub popular_lifetime: f64,
    /// How much rarer popular contents are at addresses that were written less than a drive write ago than their share; 0:
    /// as frequent as elsewhere, 1: as rare as `dedup_ratio` allows.
    pub cold_duplicates: f64,
}

/// What can be written of it; everything may be left out that a preset gives.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContentTable {
    /// Preset from which comes what is not given.
    #[serde(default, deserialize_with = "given")]
    preset: Option<String>,
    /// Share of the written pages whose content was written before, 0 to below 1; required without a preset.
    dedup_ratio: Option<f64>,
    /// Share of the written pages that hold what their address holds already; at most `dedup_ratio`. 0 without a preset.
    same_content_ratio: Option<f64>,
    /// Share of the written pages that are the second and last copy of a content. 0 without a preset.
    pair_ratio: Option<f64>,
    /// Popular contents, as a share of the logical pages, above 0 and at most 1. 0.01 without a preset.
    popular_contents: Option<f64>,
    /// Exponent of the law by which popular contents are drawn, above 0. 1 without a preset.
    exponent: Option<f64>,
    /// Drive writes that a content stays popular, on average, above 0. 20 without a preset.
    popular_lifetime: Option<f64>,
    /// How much rarer popular contents are at recently written addresses, 0 to 1. 0 without a preset.
    cold_duplicates: Option<f64>,
}

/// A text that is there: a name given alone reaches the table as mere text, which an option refuses.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

impl ContentConfig {
    /// Duplicates in such a share, all of them drawn from the pool, and every other setting at its default.
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

    /// The settings of the preset called `name`. Errors: there is none.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        let names = || FIU_TRACES.iter().map(|trace| trace.entry.name).collect::<Vec<_>>().join(", ");
        match fiu::find(name) {
            Some(trace) => Ok(ContentConfig { preset: Some(name.to_owned()), ..trace.content.clone() }),
            None => Err(ConfigError::new("preset", format!("is \"{name}\"; it must be one of {}", names()))),
        }
    }

    /// The generator for a space of `logical_pages` pages.
    ///
    /// Equal configurations, sizes and seeds give equal contents to equal pages; generators of different seeds share no
    /// content. Errors: a setting that is out of range.
    pub fn build(&self, logical_pages: u32, seed: Seed) -> Result<Contents, ConfigError> {
        self.check()?;
        require(logical_pages > 0, "logical_pages", logical_pages, "must be at least 1")?;
        Ok(Contents::new(self, logical_pages, seed))
    }

    /// Checks every setting.
    pub fn check(&self) -> Result<(), ConfigError> {
        let below_1 = (0.0..1.0).contains(&self.dedup_ratio);
        require(below_1, "dedup_ratio", self.dedup_ratio, "must lie from 0 to below 1")?;
        require_ratio("same_content_ratio", self.same_content_ratio)?;
        require_ratio("pair_ratio", self.pair_ratio)?;
        let sum = self.same_content_ratio + self.pair_ratio;
        // Room for the rounding of a sum of decimals.
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

impl ContentTable {
    fn complete(self) -> Result<ContentConfig, ConfigError> {
        let base = match (&self.preset, self.dedup_ratio) {
            (Some(name), _) => ContentConfig::preset(name)?,
            (None, Some(ratio)) => ContentConfig::with_ratio(ratio),
            (None, None) => {
                let names: Vec<_> = FIU_TRACES.iter().map(|trace| trace.entry.name).collect();
                let problem = format!("is missing; give it, or a `preset`: {}", names.join(", "));
                return Err(ConfigError::new("dedup_ratio", problem));
            }
        };
        Ok(ContentConfig {
            dedup_ratio: self.dedup_ratio.unwrap_or(base.dedup_ratio),
            same_content_ratio: self.same_content_ratio.unwrap_or(base.same_content_ratio),
            pair_ratio: self.pair_ratio.unwrap_or(base.pair_ratio),
            popular_contents: self.popular_contents.unwrap_or(base.popular_contents),
            exponent: self.exponent.unwrap_or(base.exponent),
            popular_lifetime: self.popular_lifetime.unwrap_or(base.popular_lifetime),
            cold_duplicates: self.cold_duplicates.unwrap_or(base.cold_duplicates),
            preset: base.preset,
        })
    }
}

impl<'de> Deserialize<'de> for ContentConfig {
    /// Fills in at once what the preset gives, so that the settings of a run are in its result even if the preset changes.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table: ContentTable = named_or_table(deserializer, "content preset", "preset")?;
        table.complete().map_err(D::Error::custom)
    }
}

impl JsonSchema for ContentConfig {
    fn schema_name() -> Cow<'static, str> {
        "ContentConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let names: Vec<_> = FIU_TRACES.iter().map(|trace| trace.entry.name).collect();
        let table = generator.subschema_for::<ContentTable>();
        json_schema!({
            "description": "What written pages hold: a preset's name, or a table.",
            "oneOf": [{ "type": "string", "enum": names, "x-short-for": "preset" }, table],
        })
    }
}
