//! Keys of a log-structured store, for the FTL and for layers alike, and the store with every default filled in.

use super::features::{Feature, Features, RequiredFeature};
use super::spec::{LayerContext, WholeLayer};
use super::watermark;
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_base::seed::Seed;
use wearwell_base::units::StreamId;
use wearwell_engine::log::{CopyOrder, Reclaim, StoreConfig};
use wearwell_engine::placement::{Frontiers, Placement, PlacementConfig};
use wearwell_engine::victim::VictimConfig;

/// Default number of erased blocks at which cleaning starts, if there are too many streams for one block each.
const DEFAULT_LOW_BLOCKS_SHARED: u32 = 2;

/// Keys of a log-structured store.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct StoreKeys {
    /// Victim policy, which chooses the next block to clean: a name, or a table with `policy` and its settings.
    pub victim: VictimConfig,
    /// Placement, which chooses the stream of a page: a name, or a table with `kind` and its settings.
    pub placement: PlacementConfig,
    /// Reclaim of erased blocks: a pool of free blocks, or reuse of the victim in place.
    pub reclaim: ReclaimKind,
    /// free_pool: cleaning starts at this many erased blocks; default: the number of streams plus one, and 2 with a placement that
    /// knows the future.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_low: Option<u32>,
    /// `free_blocks_low` as a fraction of all blocks, in place of that key; above 0 and below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_share_low: Option<f64>,
    /// free_pool: cleaning stops at this many erased blocks. Default `free_blocks_low`; cleaning then stops after any victim as soon
    /// as the host has room again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_high: Option<u32>,
    /// free_pool: while a log above cleans, cleaning starts only at this many erased blocks, one victim at a time; below
    /// `free_blocks_low`. By default cleaning is not deferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_deferred: Option<u32>,
    /// free_pool, timed mode: in idle time blocks are cleaned until this many are erased, at least `free_blocks_high`. By default idle
    /// time is not used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_idle: Option<u32>,
    /// Order in which the live pages of a victim are copied, if the open block has no room for all of them.
    pub copy_order: CopyOrder,
    /// True if cleaning drops the live pages of a victim instead of moving them, as a cache may.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub evict: bool,
    /// Granularity of the simulated directory.
    pub directory: DirectoryKind,
}

/// Reclaim of erased blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReclaimKind {
    /// Erased blocks wait in a pool between two watermarks.
    #[default]
    FreePool,
    /// The erased victim is the new frontier (Van Houdt 2013, sec. 2.3).
    InPlace,
}

/// Granularity of the simulated directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirectoryKind {
    /// `block` if that is exact (a single frontier reclaimed in place on flash that does not wear out), else `page`.
    #[default]
    Auto,
    /// The position of every page.
    Page,
    /// Only the block of every page: faster and smaller, with the same counts.
    Block,
}

/// A log-structured store with every default filled in.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// Victim policy.
    pub victim: VictimConfig,
    /// Placement.
    pub placement: PlacementConfig,
    /// Number of streams, including those for the log's own pages.
    pub streams: u8,
    /// Future host writes that the policies need; `None` if they need none.
    pub horizon: Option<u64>,
    reclaim: Reclaim,
    copy_order: CopyOrder,
    evict: bool,
    deferred_low: Option<u32>,
    idle_high: Option<u32>,
}

impl StoreKeys {
    /// Fills in every default for a store of the given size; `metadata_streams` are those for the log's own pages.
    pub(super) fn resolve(
        &mut self,
        size: &StoreSize,
        metadata_streams: u8,
        context: &LayerContext<'_>,
    ) -> Result<(StoreSettings, Features), ConfigError> {
        context.override_placement(&mut self.placement);
        let streams = context.streams(&self.placement, size)? + metadata_streams;
        let frontiers = self.placement.frontiers().filter(|_| context.custom_streams.is_none());
        let low_key =
            watermark::resolve_share(&mut self.free_blocks_low, &mut self.free_share_low, size.blocks)?;
        // Features depend on which keys were given, so they are collected before defaults are filled in.
        let mut features = self.features(low_key, streams, frontiers);
        let horizon = add_foresight(&self.victim, &self.placement, size, &mut features);
        let reclaim = match self.reclaim {
            ReclaimKind::InPlace => Reclaim::InPlace,
            ReclaimKind::FreePool => {
                let default_low = if self.placement.look_ahead_pages(size).is_some() {
                    DEFAULT_LOW_BLOCKS_SHARED
                } else {
                    u32::from(streams) + 1
                };
                let low = *self.free_blocks_low.get_or_insert(default_low);
                let high = *self.free_blocks_high.get_or_insert(low);
                Reclaim::FreePool { low, high }
            }
        };
        let settings = StoreSettings {
            victim: self.victim.clone(),
            placement: self.placement.clone(),
            streams,
            horizon,
            reclaim,
            copy_order: self.copy_order,
            evict: self.evict,
            deferred_low: self.free_blocks_deferred,
            idle_high: self.free_blocks_idle,
        };
        Ok((settings, features))
    }

    fn features(&self, low_key: &'static str, streams: u8, frontiers: Option<Frontiers>) -> Features {
        let in_place = self.reclaim == ReclaimKind::InPlace;
        let single = frontiers.is_some_and(|frontiers| frontiers.cleaning_stream() == Some(StreamId(0)));
        let mut features = Features::default();
        features.extend([
            (self.free_blocks_low.or(self.free_blocks_high).is_some(), Feature::Watermarks, low_key),
            (self.free_blocks_deferred.is_some(), Feature::Deferral, "free_blocks_deferred"),
            (self.free_blocks_idle.is_some(), Feature::IdleCleaning, "free_blocks_idle"),
            (in_place, Feature::InPlace, "reclaim"),
            (!in_place, Feature::FreePool, "reclaim"),
            (self.evict, Feature::Evict, "evict"),
            (self.victim.properties().looks_below, Feature::Completing, "victim"),
            (self.victim.looks_below(), Feature::WeighingBelow, "victim.weight"),
            (!single, Feature::SeparateStreams, "placement"),
            (frontiers.is_none() || streams > 2, Feature::MoreStreams, "placement"),
            (matches!(self.placement, PlacementConfig::Oracle(_)), Feature::Oracle, "placement"),
            (self.placement.reference_threshold().is_some(), Feature::References, "placement"),
            (self.directory == DirectoryKind::Block, Feature::BlockDirectory, "directory"),
        ]);
        if self.directory == DirectoryKind::Auto {
            features.add(RequiredFeature::optional(Feature::BlockDirectory));
        }
        features
    }
}

/// Returns the future host writes that the policies need, and adds the features that this requires.
pub(super) fn add_foresight(
    victim: &VictimConfig,
    placement: &PlacementConfig,
    size: &StoreSize,
    features: &mut Features,
) -> Option<u64> {
    let (victim_horizon, placement_horizon) =
        (victim.look_ahead_pages(size), placement.look_ahead_pages(size));
    let key = if placement_horizon.is_some() { "placement" } else { "victim" };
    features.extend([
        (victim_horizon.or(placement_horizon).is_some(), Feature::Foresight, key),
        (victim_horizon.is_some(), Feature::ForeseeingVictim, "victim"),
    ]);
    victim_horizon.max(placement_horizon)
}

impl StoreSettings {
    /// Returns the settings of the engine's store.
    pub(super) fn config(&self, logical_pages: u32, seed: Seed) -> StoreConfig {
        StoreConfig {
            logical_pages,
            reclaim: self.reclaim,
            copy_order: self.copy_order,
            evicts: self.evict,
            prefetch: None,
            deferred_low: self.deferred_low,
            idle_high: self.idle_high,
            seed,
        }
    }

    /// Refuses a log with too few segments to clean; the error gives a sufficient number. `size` includes the log's own
    /// pages.
    pub(super) fn check_reserve(
        &self,
        segment: ByteSize,
        spare_factor: f64,
        size: &StoreSize,
        whole: Option<WholeLayer>,
    ) -> Result<(), ConfigError> {
        let reserved_blocks = self.reclaim.reserved_blocks(self.streams);
        let full = size.logical_pages.div_ceil(size.pages_per_block);
        if full.saturating_add(reserved_blocks) <= size.blocks {
            return Ok(());
        }
        let requirement = format!(
            "{reserved_blocks} of its {} segments of {segment} must stay free to write and clean",
            size.blocks
        );
        if size.blocks > reserved_blocks {
            let spare = (f64::from(reserved_blocks) / f64::from(size.blocks) * 1e4).ceil() / 1e4;
            let problem = format!("is {spare_factor}; {requirement}, which takes at least {spare}");
            return Err(ConfigError::new("spare_factor", problem));
        }
        let min_blocks = u64::from(reserved_blocks) + 1;
        let pages = u64::from(size.blocks) * u64::from(size.pages_per_block);
        let page_bytes = segment.0 / u64::from(size.pages_per_block);
        let mut problem = format!(
            "is {segment}; {requirement}, and none is left for data: it must be at most {}",
            ByteSize(pages / min_blocks * page_bytes)
        );
        let share = whole.map(|whole| whole.min_share(min_blocks * u64::from(size.pages_per_block)));
        if let Some(share) = share.filter(|share| *share <= 1.0) {
            problem += &format!(", or `share` at least {share}");
        }
        Err(ConfigError::new("segment_size", problem))
    }
}
