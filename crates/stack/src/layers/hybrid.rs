//! Common parts of hybrid FTLs: a block map, and a few log blocks with a page map.

use super::dedup;
use super::features::{Feature, Features};
use super::flash::FlashParts;
use super::kinds::{FtlProperties, Kind, LayerPlan, OnFlash, PageMap};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, Drive, LayerContext, LayerSpec};
use super::watermark;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::ftl::hybrid::{HybridConfig, HybridKind, HybridSettings};
use wearwell_engine::instances::FtlPlan;
use wearwell_engine::pool::FreeBlocks;

/// Variant of the hybrid FTL.
pub trait HybridDesign: Clone + Debug + Default + PartialEq {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Use of the log blocks.
    const KIND: HybridKind;
}

/// The settings of a hybrid FTL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound = "D: Default")]
#[schemars(bound = "D: Default", rename = "HybridKeys")]
pub struct Hybrid<D> {
    /// Log blocks, at least 2; default 3 percent of all blocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub log_blocks: Option<u32>,
    /// Log blocks as a fraction of all blocks, in place of `log_blocks`; above 0 and below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_share: Option<f64>,
    #[serde(skip)]
    design: PhantomData<D>,
}

/// Keys of an FTL that merges.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LogBlockKeys {
    /// Free log blocks at or below which a log block is merged before another is opened; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_low: Option<u32>,
    /// `free_blocks_low` as a fraction of all blocks, in place of that key; above 0 and below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_share_low: Option<f64>,
    /// Value that replaces `free_blocks_low` while a log above cleans; below `free_blocks_low`. By default merging is not
    /// deferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_deferred: Option<u32>,
    /// Timed mode: in idle time log blocks are merged until this many are free, above `free_blocks_low`. By default idle
    /// time is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_idle: Option<u32>,
}

impl LogBlockKeys {
    fn free_blocks(&self) -> FreeBlocks {
        FreeBlocks {
            low: self.free_blocks_low,
            deferred: self.free_blocks_deferred,
            idle: self.free_blocks_idle,
        }
    }

    fn features(&self, low_key: &'static str) -> Features {
        let mut features = Features::default();
        features.extend([
            (self.free_blocks_low.is_some(), Feature::Watermarks, low_key),
            (self.free_blocks_deferred.is_some(), Feature::Deferral, "free_blocks_deferred"),
            (self.free_blocks_idle.is_some(), Feature::IdleCleaning, "free_blocks_idle"),
        ]);
        features
    }
}

impl<D: HybridDesign> Hybrid<D> {
    /// Returns the number of log blocks of a drive with `blocks` blocks.
    fn resolve_log_blocks(&mut self, blocks: u32) -> Result<u32, ConfigError> {
        if let Some(share) = self.log_share.take() {
            if self.log_blocks.is_some() {
                return Err(ConfigError::new("log_share", "stands beside `log_blocks`; give one of them"));
            }
            if !(share > 0.0 && share < 1.0) {
                let problem = format!("is {share}; it must be above 0 and below 1");
                return Err(ConfigError::new("log_share", problem));
            }
            self.log_blocks = Some(((f64::from(blocks) * share) as u32).max(2));
        }
        Ok(*self.log_blocks.get_or_insert_with(|| HybridConfig::default_log_blocks(blocks)))
    }
}

impl<D: HybridDesign> Kind for Hybrid<D> {
    const ENTRY: Entry = D::ENTRY;
    type On = OnFlash;
    type Keys = LogBlockKeys;
    type Resolved = (HybridConfig, FreeBlocks);

    fn properties() -> FtlProperties {
        FtlProperties { map: PageMap::OfBlocks, ..FtlProperties::default() }
    }

    fn resolve(
        &mut self,
        keys: &mut LogBlockKeys,
        drive: &Drive<'_>,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<Self::Resolved>, ConfigError> {
        let (geometry, logical_pages) = (&drive.device.geometry, drive.device.logical_pages);
        let low_key =
            watermark::resolve_share(&mut keys.free_blocks_low, &mut keys.free_share_low, geometry.blocks())?;
        let log_blocks =
            self.resolve_log_blocks(geometry.blocks()).map_err(|error| error.within("structure"))?;
        let config = HybridConfig { kind: D::KIND, log_blocks, logical_pages };
        let memory_bytes = super::paged::memory_bytes(drive.device, 0);
        let (pages, block_pages) = (geometry.pages(), geometry.pages_per_block);
        let plan = LayerPlan::new(logical_pages, pages, block_pages, (config, keys.free_blocks()));
        Ok(LayerPlan { memory_bytes, features: keys.features(low_key), ..plan })
    }

    fn build<P: StackPayload>(
        (config, free_blocks): Self::Resolved,
        spec: LayerSpec,
        flash: FlashParts,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        let dedup = dedup::plan(&spec)?;
        let logical_pages = dedup::stored_pages(&dedup, config.logical_pages);
        let config = HybridConfig { logical_pages, ..config };
        let settings = HybridSettings { config, wear: spec.wear, free_blocks, seed: spec.seed };
        P::build_ftl_on_spare_areas(FtlPlan::Hybrid(settings), dedup, &flash).map_err(|error| {
            match error.key.as_str() {
                "log_blocks" => error.within("structure"),
                key if ["wear", "free_blocks", "dedup"]
                    .iter()
                    .any(|key_prefix| key.starts_with(key_prefix)) =>
                {
                    error
                }
                _ => ConfigError { key: "structure".into(), ..error },
            }
        })
    }
}
