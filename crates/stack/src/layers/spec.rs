//! Inputs for resolving and building a layer, other than its own settings, and the built layer.

use super::features::Features;
use crate::device::ResolvedDevice;
use crate::size::ByteSize;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_base::foresight::Foresight;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;
use wearwell_engine::dedup::DedupConfig;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::instances::BuiltFtl;
use wearwell_engine::layer::EventRecorder;
use wearwell_engine::log::BoxedLayer;
use wearwell_engine::placement::{Placement, PlacementConfig, PlacementContext};
use wearwell_engine::victim::VictimPolicy;
use wearwell_engine::wear::WearConfig;

/// The drive that an FTL is resolved for.
pub struct Drive<'a> {
    /// Flash and logical size of the drive.
    pub device: &'a ResolvedDevice,
    /// Deduplication settings.
    pub dedup: &'a DedupConfig,
    /// Wear-levelling settings.
    pub wear: Option<&'a WearConfig>,
}

/// Sizes of the layer below.
#[derive(Clone, Copy, Debug)]
pub struct LowerLayer {
    /// Pages of this layer that the layer above has.
    pub pages: u32,
    /// Pages of a block (segment).
    pub block_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// True if the layer below is a zoned drive.
    pub is_zoned: bool,
    /// The whole layer below, if `pages` are a partition of it.
    pub whole: Option<WholeLayer>,
}

impl LowerLayer {
    /// Converts a size to whole pages, at least one; `key` is a key of the table `structure`.
    pub fn pages_of(&self, key: &str, size: ByteSize) -> Result<u32, ConfigError> {
        let page = u64::from(self.page_bytes);
        let pages =
            u32::try_from(size.0 / page).ok().filter(|pages| *pages > 0 && size.0.is_multiple_of(page));
        pages.ok_or_else(|| {
            let problem =
                format!("is {size}; it must be a multiple of the page of {page} bytes, below 2^32 pages");
            ConfigError::new(format!("structure.{key}"), problem)
        })
    }
}

/// A layer that is divided into partitions.
#[derive(Clone, Copy, Debug)]
pub struct WholeLayer {
    /// Pages of the layer.
    pub pages: u32,
    /// Alignment of partitions, in pages.
    pub block_pages: u32,
}

impl WholeLayer {
    /// Returns the smallest share that holds `pages`, to four digits.
    pub fn min_share(self, pages: u64) -> f64 {
        let whole = pages.next_multiple_of(u64::from(self.block_pages));
        (whole as f64 / f64::from(self.pages) * 1e4).ceil() / 1e4
    }
}

/// Function that returns the temperatures of a layer's pages, given their number, if the layer's user knows them.
pub type TemperatureOf<'a> = dyn Fn(u32) -> Result<Option<Box<dyn Temperature>>, ConfigError> + 'a;

/// Policies supplied by the calling program, which replace those that the settings name.
#[derive(Default)]
pub struct CustomPolicies {
    /// The victim policy.
    pub victim: Option<Box<dyn VictimPolicy>>,
    /// The placement.
    pub placement: Option<CustomPlacement>,
}

/// Factory of a placement for a store of the given size.
pub type PlacementFactory = Box<dyn FnOnce(&StoreSize) -> Box<dyn Placement> + Send>;

/// A placement supplied by the calling program.
pub struct CustomPlacement {
    /// Number of streams of the placement, which must be known before the store is built.
    pub streams: u8,
    /// Factory of the placement.
    pub make: PlacementFactory,
}

/// Context in which a layer is resolved.
pub struct LayerContext<'a> {
    /// Seed of the layer.
    pub seed: Seed,
    /// Temperatures of the layer's pages.
    pub temperature: &'a TemperatureOf<'a>,
    /// Number of streams of the placement that the calling program supplies in place of the configured one.
    pub custom_streams: Option<u8>,
}

impl LayerContext<'_> {
    /// Resets the configured placement if the calling program supplies one.
    pub fn override_placement(&self, placement: &mut PlacementConfig) {
        if self.custom_streams.is_some() {
            *placement = PlacementConfig::default();
        }
    }

    /// Returns the number of streams of a placement in a store of the given size.
    pub fn streams(&self, placement: &PlacementConfig, size: &StoreSize) -> Result<u8, ConfigError> {
        if let Some(streams) = self.custom_streams {
            return Ok(streams);
        }
        if let Some(frontiers) = placement.frontiers() {
            return Ok(frontiers.streams());
        }
        // The number of streams does not depend on future writes.
        let foresight = Some(Foresight::none());
        let temperature = match placement {
            PlacementConfig::Oracle(_) => (self.temperature)(size.logical_pages)?,
            _ => None,
        };
        let placement = placement.build_boxed(PlacementContext { size, temperature, foresight });
        Ok(placement.map_err(|error| error.within("placement"))?.streams())
    }
}

/// Inputs for building a layer, other than its settings.
pub struct LayerSpec {
    /// Seed of the layer.
    pub seed: Seed,
    /// Pages that the layer shows above.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Policies that replace those of the settings.
    pub custom: CustomPolicies,
    /// Temperatures of the layer's pages, if a policy needs them.
    pub temperature: Option<Box<dyn Temperature>>,
    /// Future writes to the layer, if a policy needs them.
    pub foresight: Option<Foresight>,
    /// Deduplication settings; only for an FTL.
    pub dedup: DedupConfig,
    /// Wear-levelling settings; only for an FTL.
    pub wear: WearConfig,
    /// Features required of the layer.
    pub features: Features,
    /// Observer of the medium below, page by page; for flash, it is in [`FlashParts`](super::flash::FlashParts).
    pub watcher: Option<EventRecorder>,
}

/// A layer that is built.
pub struct BuiltLayer<P> {
    /// The layer.
    pub layer: BoxedLayer<P>,
    /// Power switch of the drive, if one was requested.
    pub power: Option<Box<dyn PowerCycle>>,
}

impl<P> From<BuiltFtl<P>> for BuiltLayer<P> {
    fn from(BuiltFtl { layer, power }: BuiltFtl<P>) -> Self {
        BuiltLayer { layer, power }
    }
}

impl<P> From<BoxedLayer<P>> for BuiltLayer<P> {
    fn from(layer: BoxedLayer<P>) -> Self {
        BuiltLayer { layer, power: None }
    }
}
