//! The two written forms of content settings: the name of a preset, or a table that may name one.

use super::config::ContentConfig;
use crate::fiu::{self, FIU_TRACES};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use wearwell_base::config::{ConfigError, named_or_table};

/// Written form of a [`ContentConfig`]; fields that a preset supplies are optional.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ContentTable {
    /// Preset that supplies the unset fields.
    #[serde(default, deserialize_with = "given")]
    preset: Option<String>,
    /// Share of the written pages whose content was written before, 0 to below 1; required without a preset.
    dedup_ratio: Option<f64>,
    /// Share of the written pages that rewrite the content already at their address; at most `dedup_ratio`. 0 without a
    /// preset.
    same_content_ratio: Option<f64>,
    /// Share of the written pages that are the second and last copy of a content. 0 without a preset.
    pair_ratio: Option<f64>,
    /// Number of popular contents, as a share of the logical pages, above 0 and at most 1. 0.01 without a preset.
    popular_contents: Option<f64>,
    /// Zipf exponent for drawing popular contents, above 0. 1 without a preset.
    exponent: Option<f64>,
    /// Mean time that a content stays popular, in drive writes, above 0. 20 without a preset.
    popular_lifetime: Option<f64>,
    /// Reduction of popular contents at recently written addresses, 0 to 1. 0 without a preset.
    cold_duplicates: Option<f64>,
}

/// Reads a string that is present: a name given alone reaches the table as a plain string, which `Option` does not
/// accept.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}

/// Returns the names of all presets.
fn preset_names() -> Vec<&'static str> {
    FIU_TRACES.iter().map(|trace| trace.entry.name).collect()
}

impl ContentConfig {
    /// Returns the settings of the preset called `name`. Errors: there is no such preset.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        match fiu::find(name) {
            Some(trace) => Ok(ContentConfig { preset: Some(name.to_owned()), ..trace.content.clone() }),
            None => {
                let problem = format!("is \"{name}\"; it must be one of {}", preset_names().join(", "));
                Err(ConfigError::new("preset", problem))
            }
        }
    }
}

impl ContentTable {
    fn complete(self) -> Result<ContentConfig, ConfigError> {
        let base = match (&self.preset, self.dedup_ratio) {
            (Some(name), _) => ContentConfig::preset(name)?,
            (None, Some(ratio)) => ContentConfig::with_ratio(ratio),
            (None, None) => {
                let problem = format!("is missing; give it, or a `preset`: {}", preset_names().join(", "));
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
    /// Resolves the preset at once, so that a result contains all settings even if the preset changes later.
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
        let table = generator.subschema_for::<ContentTable>();
        json_schema!({
            "description": "What written pages hold: a preset's name, or a table.",
            "oneOf": [{ "type": "string", "enum": preset_names(), "x-short-for": "preset" }, table],
        })
    }
}
