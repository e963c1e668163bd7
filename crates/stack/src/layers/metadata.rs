//! The key `metadata` of a stacked log: the name of a layout, or a table.

use super::log_layouts::{LOG_LAYOUTS, find};
pub use super::metadata_keys::MetadataConfig;
use super::metadata_keys::Table;
use crate::size::ByteSize;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, de};
use std::borrow::Cow;
use wearwell_base::config::ConfigError;
use wearwell_engine::log::{MetadataLayout, MetadataPlan};

impl MetadataConfig {
    fn layout(&self, page_bytes: u32) -> Result<MetadataLayout, ConfigError> {
        let settings = match &self.preset {
            None => self.clone(),
            Some(name) => {
                let known: Vec<&str> = LOG_LAYOUTS.iter().map(|layout| layout.entry.name).collect();
                let unknown = || format!("\"{name}\" is no log layout; there are {}", known.join(", "));
                self.or(&find(name).ok_or_else(|| ConfigError::new("preset", unknown()))?.settings)
            }
        };
        let pages = |key: &str, size: Option<ByteSize>| match size {
            None => Ok(0),
            Some(ByteSize(bytes)) if bytes > 0 && bytes.is_multiple_of(page_bytes.into()) => {
                Ok(bytes / u64::from(page_bytes))
            }
            Some(size) => {
                let problem = format!("is {size}; it must be a multiple of the page of {page_bytes} bytes");
                Err(ConfigError::new(key, problem))
            }
        };
        let part = pages("partial_segment", settings.partial_segment)?;
        let (fixed, per_stream) =
            (settings.checkpoint_pages.unwrap_or(0), settings.checkpoint_pages_per_stream.unwrap_or(0));
        if fixed.max(per_stream) > 1 << 16 {
            return Err(ConfigError::new("checkpoint_pages", "is above 65536 pages"));
        }
        if fixed + per_stream > 0 && settings.checkpoint_every.is_none() {
            return Err(ConfigError::new("checkpoint_every", "is missing; `checkpoint_pages` needs it"));
        }
        Ok(MetadataLayout {
            summary_bytes_per_page: settings.summary_bytes_per_page.unwrap_or(0),
            summary: settings.summary.unwrap_or_default(),
            partial_segment_pages: u32::try_from(part)
                .map_err(|_| ConfigError::new("partial_segment", "is above 2^32 pages"))?,
            map_entry_bytes: settings.map_entry_bytes.unwrap_or(0),
            map: settings.map.unwrap_or_default(),
            inode_entries: settings.inode_entries.unwrap_or(0),
            frees_map_entries: settings.frees_map_entries.unwrap_or(false),
            tree_entry_bytes: settings.tree_entry_bytes.unwrap_or(0),
            map_index_bytes: settings.map_index_bytes.unwrap_or(0),
            segment_info_bytes: settings.segment_info_bytes.unwrap_or(0),
            tables: settings.tables.unwrap_or_default(),
            table_copies: settings.table_copies.unwrap_or(1),
            checkpoint_every_pages: pages("checkpoint_every", settings.checkpoint_every)?,
            checkpoint_after_cleaned: settings.checkpoint_after_cleaned.unwrap_or(0),
            checkpoint_pages: fixed,
            checkpoint_pages_per_stream: per_stream,
            packed_summaries: settings.packed_summaries.unwrap_or(false),
            journal_bytes: settings.journal_bytes.unwrap_or(0),
            on_flush: settings.on_flush.unwrap_or_default(),
            metadata_streams: settings.own_streams.unwrap_or(0),
            streams: settings.streams,
        })
    }
}

/// Returns the placement of the metadata of a log on `pages_below` pages.
pub(super) fn plan(
    config: &MetadataConfig,
    segment_pages: u32,
    pages_below: u32,
    page_bytes: u32,
) -> Result<MetadataPlan, ConfigError> {
    let plan = config
        .layout(page_bytes)
        .and_then(|layout| MetadataPlan::new(layout, page_bytes, segment_pages, pages_below));
    let plan = plan.map_err(|error| error.within("metadata"))?;
    if plan.capacity() <= plan.log_pages() {
        return Err(ConfigError::new(
            "metadata",
            format!("leaves no room for data on the {pages_below} pages below"),
        ));
    }
    Ok(plan)
}

/// Returns the logical pages of a log with reserve `spare`; pages of the log's own metadata are not available to the
/// user.
pub(super) fn logical_pages(plan: &MetadataPlan, spare: f64) -> u32 {
    ((f64::from(plan.capacity()) * (1.0 - spare)).round() as u32).saturating_sub(plan.log_pages())
}

impl<'de> Deserialize<'de> for MetadataConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = MetadataConfig;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("the name of a log layout, or a table with sizes and perhaps a preset")
            }
            fn visit_str<E: de::Error>(self, name: &str) -> Result<MetadataConfig, E> {
                Ok(MetadataConfig { preset: Some(name.to_owned()), ..MetadataConfig::default() })
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<MetadataConfig, A::Error> {
                Table::deserialize(MapAccessDeserializer::new(map)).map(MetadataConfig::from)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for MetadataConfig {
    fn schema_name() -> Cow<'static, str> {
        "MetadataConfig".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<Table>();
        let names: Vec<&str> = LOG_LAYOUTS.iter().map(|layout| layout.entry.name).collect();
        json_schema!({
            "description": "The metadata that a log writes: the name of a layout, or a table.",
            "anyOf": [{"type": "string", "enum": names, "x-short-for": "preset"}, table]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_engine::log::OnFlush;

    fn layout(text: &str) -> Result<MetadataLayout, String> {
        #[derive(Deserialize)]
        struct Keys {
            metadata: MetadataConfig,
        }
        let keys: Keys = toml::from_str(text).map_err(|error| error.to_string())?;
        keys.metadata.layout(4096).map_err(|error| error.to_string())
    }

    #[test]
    fn metadata_is_read_from_name_table_and_changed_preset() {
        let f2fs = layout("metadata = 'f2fs'").unwrap();
        assert_eq!((f2fs.segment_info_bytes, f2fs.checkpoint_every_pages), (74, 16384));
        let changed = layout("metadata = { preset = 'f2fs_6', checkpoint_every = '1 MiB' }").unwrap();
        assert_eq!(
            changed,
            MetadataLayout { checkpoint_every_pages: 256, metadata_streams: 3, streams: Some(6), ..f2fs }
        );
        let f2fs_2 = layout("metadata = 'f2fs_2'").unwrap();
        let expected =
            MetadataLayout { metadata_streams: 1, streams: Some(2), on_flush: OnFlush::Checkpoint, ..f2fs };
        assert_eq!((f2fs_2, f2fs.on_flush), (expected, OnFlush::Map));
        let nilfs2 = layout("metadata = { preset = 'nilfs2', checkpoint_after_cleaned = 4 }").unwrap();
        assert_eq!((nilfs2.tree_entry_bytes, nilfs2.frees_map_entries), (16, true));
        assert_eq!(nilfs2.checkpoint_after_cleaned, 4);
        let fatcache = layout("metadata = 'fatcache'").unwrap();
        assert_eq!(fatcache, MetadataLayout { table_copies: 1, ..MetadataLayout::default() });
    }

    #[test]
    fn invalid_settings_are_refused_by_key() {
        let error_of = |text: &str| layout(text).expect_err("a mistake");
        assert!(error_of("metadata = 'f3fs'").contains("there are f2fs"));
        assert!(error_of("metadata = { sumary = 'area' }").contains("sumary"));
        assert!(error_of("metadata = { checkpoint_pages = 2 }").contains("checkpoint_every"));
        assert!(error_of("metadata = { checkpoint_every = 1000 }").contains("multiple of the page"));
    }
}
