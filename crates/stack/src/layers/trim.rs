//! The key `trim` of a stacked log: on, off, or a table.

use crate::size::ByteSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use wearwell_base::config::ConfigError;
use wearwell_engine::log::{TrimRule, TrimUnit};

/// Trims that a log sends to the layer below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum TrimConfig {
    /// True trims each segment at once when it is erased; false never trims.
    Plain(bool),
    /// Detailed settings.
    Table(TrimTable),
}

/// Trims that a log sends to the layer below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrimTable {
    /// Unit of trims: a segment when it is erased, or each page when it is invalidated.
    #[serde(default)]
    pub unit: TrimUnitKind,
    /// Trims are delayed until this much more was written to the layer below; trims of segments that were rewritten by
    /// then are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<ByteSize>,
    /// Trims are collected until this many are pending, and then sent together; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub batch: Option<u32>,
    /// Only ranges between multiples of this size are sent; default one page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub align: Option<ByteSize>,
}

/// Unit of trims.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrimUnitKind {
    /// A segment when it is erased.
    #[default]
    Segment,
    /// A page, when it is invalidated.
    Page,
}

impl TrimConfig {
    /// Returns the rule in pages of `page_bytes`; `None` if TRIM is off.
    pub fn rule(&self, page_bytes: u32) -> Result<Option<TrimRule>, ConfigError> {
        let table = match self {
            TrimConfig::Plain(false) => return Ok(None),
            TrimConfig::Plain(true) => return Ok(Some(TrimRule::default())),
            TrimConfig::Table(table) => table,
        };
        let page = u64::from(page_bytes);
        let whole_pages = |key: &str, size: Option<ByteSize>, default: u64| match size {
            None => Ok(default),
            Some(ByteSize(bytes)) if bytes.is_multiple_of(page) => Ok(bytes / page),
            Some(size) => {
                let problem = format!("is {size}; it must be a multiple of the page of {page} bytes");
                Err(ConfigError::new(format!("trim.{key}"), problem))
            }
        };
        let (batch, align) = (table.batch.unwrap_or(1), whole_pages("align", table.align, 1)?);
        if batch == 0 {
            return Err(ConfigError::new("trim.batch", "is 0; at least 1 trim makes a batch"));
        }
        let align_pages = u32::try_from(align).ok().filter(|align| *align > 0);
        Ok(Some(TrimRule {
            unit: match table.unit {
                TrimUnitKind::Segment => TrimUnit::Segment,
                TrimUnitKind::Page => TrimUnit::Page,
            },
            delay_pages: whole_pages("delay", table.delay, 0)?,
            batch,
            align_pages: align_pages.ok_or_else(|| {
                ConfigError::new("trim.align", "must be at least a page and below 2^32 pages")
            })?,
        }))
    }
}

impl Serialize for TrimConfig {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            TrimConfig::Plain(on) => serializer.serialize_bool(*on),
            TrimConfig::Table(table) => table.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for TrimConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = TrimConfig;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("true, false, or a table with unit, delay, batch and align")
            }
            fn visit_bool<E: de::Error>(self, on: bool) -> Result<TrimConfig, E> {
                Ok(TrimConfig::Plain(on))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<TrimConfig, A::Error> {
                TrimTable::deserialize(MapAccessDeserializer::new(map)).map(TrimConfig::Table)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for TrimConfig {
    fn schema_name() -> Cow<'static, str> {
        "TrimConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<TrimTable>();
        json_schema!({
            "description": "Whether and how a log trims the layer below: true (each segment when it is erased), false, or a table.",
            "anyOf": [{"type": "boolean"}, table]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize, Serialize)]
    struct Keys {
        trim: TrimConfig,
    }

    fn rule(text: &str) -> Result<Option<TrimRule>, String> {
        let keys: Keys = toml::from_str(text).map_err(|error| error.to_string())?;
        keys.trim.rule(4096).map_err(|error| error.to_string())
    }

    #[test]
    fn every_form_of_trim_is_read() {
        assert_eq!(rule("trim = false"), Ok(None));
        assert_eq!(rule("trim = true"), Ok(Some(TrimRule::default())));
        assert_eq!(rule("trim = {}"), Ok(Some(TrimRule::default())));
        let full = rule("trim = { unit = 'page', delay = '1 MiB', batch = 4, align = '64 KiB' }");
        let expected = TrimRule { unit: TrimUnit::Page, delay_pages: 256, batch: 4, align_pages: 16 };
        assert_eq!(full, Ok(Some(expected)));
    }

    #[test]
    fn invalid_settings_are_refused_by_key() {
        let error_of = |text: &str| rule(text).expect_err("a mistake");
        assert!(error_of("trim = 'yes'").contains("true, false, or a table"));
        assert!(error_of("trim = { unit = 'block' }").contains("segment"));
        assert!(error_of("trim = { dealy = 1 }").contains("dealy"));
        assert!(error_of("trim = { delay = 1000 }").contains("trim.delay"));
        assert!(error_of("trim = { batch = 0 }").contains("trim.batch"));
        assert!(error_of("trim = { align = 0 }").contains("trim.align"));
    }
}
