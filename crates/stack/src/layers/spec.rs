//! What a layer is resolved from and built from besides its own settings, and what is built.

use super::features::Features;
use crate::device::ResolvedDevice;
use crate::size::ByteSize;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_base::foresight::Foresight;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;
use wearwell_engine::dedup::DedupConfig;
use wearwell_engine::forms::BuiltFtl;
use wearwell_engine::ftl::PowerCycle;
use wearwell_engine::layer::Watcher;
use wearwell_engine::log::BoxedLayer;
use wearwell_engine::placement::{Placement, PlacementConfig, PlacementContext};
use wearwell_engine::victim::VictimPolicy;
use wearwell_engine::wear::WearConfig;

/// The drive that an FTL is resolved for.
pub struct Drive<'a> {
    /// Its flash and what it shows.
    pub device: &'a ResolvedDevice,
    /// How pages that hold the same are stored once.
    pub dedup: &'a DedupConfig,
    /// How wear is levelled.
    pub wear: Option<&'a WearConfig>,
}

/// The layer below, as far as sizes go.
#[derive(Clone, Copy, Debug)]
pub struct LowerLayer {
    /// Pages of it that the layer above has.
    pub pages: u32,
    /// Pages of its block (segment).
    pub block_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// Whether it is a zoned drive.
    pub is_zoned: bool,
    /// The whole of it, where `pages` are a partition.
    pub whole: Option<WholeLayer>,
}

impl LowerLayer {
    /// A size in whole pages, at least one; `key` is one of the table `structure`.
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

/// A layer of which others have partitions.
#[derive(Clone, Copy, Debug)]
pub struct WholeLayer {
    /// Its pages.
    pub pages: u32,
    /// Pages of which partitions have a whole number.
    pub block_pages: u32,
}

impl WholeLayer {
    /// The smallest share that holds `pages`, to four digits.
    pub fn least_share(self, pages: u64) -> f64 {
        let whole = pages.next_multiple_of(u64::from(self.block_pages));
        (whole as f64 / f64::from(self.pages) * 1e4).ceil() / 1e4
    }
}

/// How hot the pages of a layer with so many are, if its user can say so.
pub type TemperatureOf<'a> = dyn Fn(u32) -> Result<Option<Box<dyn Temperature>>, ConfigError> + 'a;

/// Policies that the calling program brings for a layer, instead of those that its settings name.
#[derive(Default)]
pub struct OwnPolicies {
    /// The victim policy.
    pub victim: Option<Box<dyn VictimPolicy>>,
    /// The placement.
    pub placement: Option<OwnPlacement>,
}

/// Makes a placement for a store of that size.
pub type MakePlacement = Box<dyn FnOnce(&StoreSize) -> Box<dyn Placement> + Send>;

/// A placement that the calling program brings.
pub struct OwnPlacement {
    /// Its streams, which it must have before there is a store that it could be made for.
    pub streams: u8,
    /// Makes it.
    pub make: MakePlacement,
}

/// What is known of a layer's surroundings when it is resolved.
pub struct LayerContext<'a> {
    /// Its seed.
    pub seed: Seed,
    /// How hot its pages are.
    pub temperature: &'a TemperatureOf<'a>,
    /// Streams of the placement that the calling program brings instead of the one that the settings name.
    pub callers_streams: Option<u8>,
}

impl LayerContext<'_> {
    /// Forgets the placement of the settings where the calling program brings one.
    pub fn settle(&self, placement: &mut PlacementConfig) {
        if self.callers_streams.is_some() {
            *placement = PlacementConfig::default();
        }
    }

    /// The streams of a placement in a store of that size.
    pub fn streams(&self, placement: &PlacementConfig, size: &StoreSize) -> Result<u8, ConfigError> {
        if let Some(streams) = self.callers_streams {
            return Ok(streams);
        }
        if let Some(frontiers) = placement.frontiers() {
            return Ok(frontiers.streams());
        }
        // How many streams there are does not depend on what is to come.
        let foresight = Some(Foresight::none());
        let temperature = match placement {
            PlacementConfig::Oracle(_) => (self.temperature)(size.logical_pages)?,
            _ => None,
        };
        let placement = placement.build_boxed(PlacementContext { size, temperature, foresight });
        Ok(placement.map_err(|error| error.within("placement"))?.streams())
    }
}

/// What a layer is built from besides its settings.
pub struct LayerSpec {
    /// Its seed.
    pub seed: Seed,
    /// Pages that it shows above.
    pub logical_pages: u32,
    /// Bytes of a page.
    pub page_bytes: u32,
    /// What stands in for the policies that the settings name.
    pub own: OwnPolicies,
    /// How hot its pages are, where that is asked for.
    pub temperature: Option<Box<dyn Temperature>>,
    /// What will be written to it, where that is asked for.
    pub foresight: Option<Foresight>,
    /// How pages that hold the same are stored once; only of an FTL.
    pub dedup: DedupConfig,
    /// How wear is levelled; only of an FTL.
    pub wear: WearConfig,
    /// What is asked of it.
    pub features: Features,
    /// Who looks at the medium that it stands on page by page; of the flash, its parts say.
    pub watcher: Option<Watcher>,
}

/// A layer that is built.
pub struct BuiltLayer<P> {
    /// The layer.
    pub layer: BoxedLayer<P>,
    /// What cuts its power, where that was asked for.
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
