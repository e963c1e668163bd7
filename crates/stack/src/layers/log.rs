//! A log-structured store on another layer.

use super::features::Feature;
use super::keys::{DEFAULT_KIND, Keys};
use super::kinds::{Kind, LayerPlan, OnLayer, placement_handles};
use super::metadata::{self, MetadataConfig};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerContext, LayerSpec, LowerLayer};
use super::store_keys::{StoreKeys, StoreSettings};
use super::trim::TrimConfig;
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use wearwell_base::config::{ConfigError, Entry, StoreSize};
use wearwell_engine::layer::Ability;
use wearwell_engine::log::{BoxedLayer, MetadataPlan, Segments, TrimRule};

/// Entry of the log-structured store, on flash or on a layer.
pub(super) const ENTRY: Entry = Entry {
    name: DEFAULT_KIND,
    help: "appends, maps pages, cleans segments by a victim policy",
    source: "Rosenblum and Ousterhout, ACM TOCS 10(1), 1992",
};

/// Default fraction of the layer below that is kept as spare space.
const SPARE_FACTOR: f64 = 0.1;

/// The log-structured store; all settings are in its keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Log {}

/// Keys of a log on a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct LogKeys {
    /// Keys of every log-structured store.
    #[serde(flatten)]
    pub store: StoreKeys,
    /// Keys of the segments.
    #[serde(flatten)]
    pub segments: SegmentKeys,
}

/// Keys of the segments of a log on a layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SegmentKeys {
    /// Size of a segment, the log's erase block.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_size: Option<ByteSize>,
    /// Size of a segment in blocks (segments) of the layer below, in place of `segment_size`; 1 matches them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment_blocks: Option<u32>,
    /// Stream hint with which the first stream writes to the layer below; each further stream uses the next hint. Default
    /// 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_hint: Option<u16>,
    /// Fraction of the layer below that this log keeps in reserve, (T - U) / T; default 0.1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<f64>,
    /// Trims of cleaned segments on the layer below; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<TrimConfig>,
    /// Metadata that the log writes: a name (see `wearwell list log-layouts`) or a table; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<MetadataConfig>,
}

impl Keys for LogKeys {
    fn take(table: &mut Map<String, Value>) -> Result<Self, ConfigError> {
        Ok(LogKeys { store: StoreKeys::take(table)?, segments: SegmentKeys::take(table)? })
    }
}

/// A log with every default filled in.
#[derive(Clone, Debug)]
pub struct LogSettings {
    store: StoreSettings,
    segment_pages: u32,
    trim: Option<TrimRule>,
    metadata: Option<MetadataPlan>,
    first_hint: u16,
}

impl Kind for Log {
    const ENTRY: Entry = ENTRY;
    type On = OnLayer;
    type Keys = LogKeys;
    type Resolved = LogSettings;

    fn resolve(
        &mut self,
        keys: &mut LogKeys,
        below: &LowerLayer,
        context: &LayerContext<'_>,
    ) -> Result<LayerPlan<LogSettings>, ConfigError> {
        let LogKeys { store, segments } = keys;
        let (segment, segment_pages) = segments.resolve_size(below)?;
        let spare_factor = *segments.spare_factor.get_or_insert(SPARE_FACTOR);
        if !(spare_factor > 0.0 && spare_factor < 1.0) {
            let problem = format!("is {spare_factor}; it must be above 0 and below 1");
            return Err(ConfigError::new("spare_factor", problem));
        }
        let trim = *segments.trim.get_or_insert(TrimConfig::Plain(true));
        let trim_rule = trim.rule(below.page_bytes)?;
        let metadata = match &segments.metadata {
            Some(config) => Some(metadata::plan(config, segment_pages, below.pages, below.page_bytes)?),
            None => None,
        };
        let (logical_pages, physical_pages) = match &metadata {
            Some(plan) => (metadata::logical_pages(plan, spare_factor), u64::from(plan.capacity())),
            None => {
                let pages = below.pages / segment_pages * segment_pages;
                ((f64::from(pages) * (1.0 - spare_factor)).round() as u32, u64::from(pages))
            }
        };
        let own_pages = metadata.as_ref().map_or(0, MetadataPlan::log_pages);
        let memory_bytes = metadata.as_ref().map_or(0, MetadataPlan::owners_bytes);
        let area_pages = metadata.as_ref().map_or(0, MetadataPlan::area_pages);
        let has_metadata_stream = metadata.as_ref().is_some_and(MetadataPlan::has_metadata_stream);
        let data_pages = metadata.as_ref().map_or(segment_pages, MetadataPlan::data_pages);
        let size = StoreSize {
            blocks: (physical_pages / u64::from(data_pages)) as u32,
            pages_per_block: data_pages,
            logical_pages,
            seed: context.seed,
        };
        let (store, mut features) = store.resolve(&size, u8::from(has_metadata_stream), context)?;
        let stored_size = StoreSize { logical_pages: logical_pages + own_pages, ..size };
        store.check_reserve(segment, spare_factor, &stored_size, below.whole)?;
        features.extend([
            (metadata.is_some(), Feature::Metadata, "metadata"),
            (own_pages > 0, Feature::MetadataInLog, "metadata"),
            (area_pages > 0, Feature::MetadataInPlace, "metadata"),
            (trim != TrimConfig::Plain(true), Feature::NoTrim, "trim"),
        ]);
        let first_hint = segments.first_hint.unwrap_or(0);
        let (streams, horizon, placement_handles) =
            (store.streams, store.horizon, placement_handles(&store.placement));
        let needs = match store.victim.looks_below() {
            true => vec![(Ability::LeftValid, "victim.weight")],
            false => Vec::new(),
        };
        let settings = LogSettings { store, segment_pages, trim: trim_rule, metadata, first_hint };
        Ok(LayerPlan {
            internal_pages: own_pages,
            memory_bytes,
            streams,
            placement_handles,
            horizon,
            reports_cleaning: true,
            features,
            needs,
            ..LayerPlan::new(logical_pages, physical_pages, segment_pages, settings)
        })
    }

    fn build<P: StackPayload>(
        settings: LogSettings,
        spec: LayerSpec,
        lower: BoxedLayer<P>,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        let segments = match settings.metadata {
            Some(plan) => Segments::with_metadata(lower, plan, spec.logical_pages, settings.trim),
            None => Segments::new(lower, settings.segment_pages, settings.trim),
        };
        let segments = segments.with_first_hint(settings.first_hint).with_recorder(spec.watcher.clone());
        P::build_log_on_segments(&settings.store, spec, segments).map(BuiltLayer::from)
    }
}

impl SegmentKeys {
    /// Returns the size of a segment in bytes and in pages.
    fn resolve_size(&mut self, below: &LowerLayer) -> Result<(ByteSize, u32), ConfigError> {
        self.resolve_segment_blocks(below)?;
        let error = |problem: String| Err(ConfigError::new("segment_size", problem));
        let page_bytes = u64::from(below.page_bytes);
        let block_bytes = ByteSize(u64::from(below.block_pages) * page_bytes);
        let Some(segment) = self.segment_size else {
            return error(match below.is_zoned {
                true => format!("is missing; a zone has {block_bytes}"),
                false => "is missing; a stacked log needs it, for example \"2 MiB\"".into(),
            });
        };
        if below.is_zoned && !(segment.0 > 0 && segment.0.is_multiple_of(block_bytes.0)) {
            return error(format!("is {segment}; it must be a multiple of the zone of {block_bytes}"));
        }
        let pages = segment.0 / page_bytes;
        if pages > 0 && segment.0.is_multiple_of(page_bytes) && pages <= u64::from(below.pages) {
            return Ok((segment, pages as u32));
        }
        let lower_size = ByteSize(u64::from(below.pages) * page_bytes);
        let mut problem = format!(
            "is {segment}; it must be a multiple of the page of {page_bytes} bytes and fit into the {lower_size} below"
        );
        let min_share = below.whole.map(|whole| whole.min_share(pages)).filter(|share| *share <= 1.0);
        if let Some(share) = min_share.filter(|_| pages > u64::from(below.pages)) {
            problem += &format!(", or `share` must be at least {share}");
        }
        error(problem)
    }

    /// Converts a size in blocks of the layer below to bytes.
    fn resolve_segment_blocks(&mut self, below: &LowerLayer) -> Result<(), ConfigError> {
        let Some(blocks) = self.segment_blocks.take() else { return Ok(()) };
        let bytes = u64::from(below.block_pages) * u64::from(below.page_bytes) * u64::from(blocks);
        match self.segment_size {
            _ if blocks == 0 => Err(ConfigError::new("segment_blocks", "is 0; at least 1 makes a segment")),
            Some(_) => {
                Err(ConfigError::new("segment_blocks", "stands beside `segment_size`; give one of them"))
            }
            None => {
                self.segment_size = Some(ByteSize(bytes));
                Ok(())
            }
        }
    }
}
