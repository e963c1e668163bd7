//! What the pages of a stack hold, and how its stores are built accordingly.

use super::device::ResolvedDevice;
use super::scenario::LogConfig;
use super::store::Spec;
use super::structure::{self, StructureConfig};
use std::ops::Range;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_engine::dedup::{Dedup, Sharing};
use wearwell_engine::ftl::{CutSettings, PowerCycle};
use wearwell_engine::layer::{Bytes, Content, Payload, no_data};
use wearwell_engine::log::{BoxedLayer, Segments};
use wearwell_engine::nand::{Fragile, Nand, Supply};
use wearwell_engine::timing::{Journal, Timed};
use wearwell_workload::PageBatch;

/// The flash of a drive, before it is known what its pages hold.
pub struct Chips {
    /// The drive.
    pub device: ResolvedDevice,
    /// The root seed.
    pub seed: Seed,
    /// Into which the flash writes what it does, in timed mode.
    pub journal: Option<Journal>,
    /// How its power will be cut, if it will.
    pub outage: Outage,
}

/// How the power of a drive will be cut.
#[derive(Clone, Debug)]
pub enum Outage {
    /// Not at all.
    None,
    /// From outside, between two requests.
    AtEnd,
    /// In the middle of its work.
    AtWork(CutSettings),
}

/// A layer that stands on flash.
pub struct Founded<P> {
    /// The layer.
    pub layer: BoxedLayer<P>,
    /// Its streams.
    pub streams: u8,
    /// What cuts its power, where that was asked for.
    pub power: Option<Box<dyn PowerCycle>>,
}

impl<P> From<(BoxedLayer<P>, u8)> for Founded<P> {
    fn from((layer, streams): (BoxedLayer<P>, u8)) -> Self {
        Founded { layer, streams, power: None }
    }
}

impl Chips {
    /// The erased flash.
    fn nand<P: Payload>(&self) -> Nand<P> {
        let ResolvedDevice { geometry, wear, faults, .. } = self.device;
        let nand = Nand::new(geometry, wear, self.seed);
        match faults {
            Some(faults) => nand.with_faults(faults, self.seed),
            None => nand,
        }
    }

    /// The same, writing down what it does.
    fn timed<P: Payload>(&self) -> Timed<P> {
        Timed::new(self.nand(), self.journal.clone().unwrap_or_else(Journal::paused))
    }

    /// Whether it must be told which pages are read, not only how many.
    fn reads_by_page(&self) -> bool {
        self.journal.is_some() || self.device.faults.is_some_and(|faults| faults.read_disturb_limit.is_some())
    }

    /// Whether the FTL must find its way by what is in spare areas.
    fn needs_spare_areas(&self, ftl: &LogConfig) -> bool {
        ftl.own_flash().is_some() || !matches!(self.outage, Outage::None)
    }

    /// The FTL that stands on flash itself, on flash with spare areas.
    fn own<P: Payload>(
        &self,
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
    ) -> Result<Founded<P>, ConfigError> {
        let nand = self.nand::<P>().with_spare_area();
        let finish = structure::Plain { cut: !matches!(self.outage, Outage::None) };
        match self.journal.clone() {
            Some(journal) => {
                structure::build_on_flash(spec, ftl, logical_pages, Timed::new(nand, journal), finish)
            }
            None => structure::build_on_flash(spec, ftl, logical_pages, nand, finish),
        }
    }

    /// The same on a supply that is cut, with pages that are known by stamps.
    fn interrupted(
        &self,
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        cut: CutSettings,
    ) -> Result<Founded<()>, ConfigError> {
        let supply = Supply::new(ftl.own_flash().is_some_and(StructureConfig::has_battery));
        let flash = Fragile::new(self.nand::<Content>().with_spare_area(), supply.clone());
        structure::build_on_flash(spec, ftl, logical_pages, flash, structure::Cutting { supply, cut })
    }
}

/// A payload that stacks are built for.
pub trait StackPayload: Payload {
    /// The FTL on flash, and the number of its streams.
    fn on_flash(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        chips: Chips,
    ) -> Result<Founded<Self>, ConfigError> {
        if matches!(chips.outage, Outage::AtWork(_)) {
            let problem = "cuts in the middle of the work know pages by stamps, and need pages that hold nothing; use at_end";
            return Err(ConfigError::new("power", problem));
        }
        if chips.needs_spare_areas(ftl) {
            return chips.own(spec, ftl, logical_pages);
        }
        let layer = match ftl.zones() {
            Some(_) => (structure::build_zones(ftl, chips.timed())?, 0),
            None => Self::on_medium(spec, ftl, logical_pages, chips.timed(), chips.journal)?,
        };
        Ok(layer.into())
    }

    /// A log on the segments of a layer, and the number of its streams.
    fn on_segments(
        spec: Spec,
        log: &mut LogConfig,
        logical_pages: u32,
        segments: Segments<Self>,
    ) -> Result<(BoxedLayer<Self>, u8), ConfigError> {
        spec.boxed_store(log, logical_pages, segments, |_| None)
    }

    /// The FTL's store, and what stands in front of it.
    fn on_medium(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        medium: Timed<Self>,
        journal: Option<Journal>,
    ) -> Result<(BoxedLayer<Self>, u8), ConfigError> {
        let _ = journal;
        spec.boxed_store(ftl, logical_pages, medium, |_| None)
    }
}

/// Compiled for their policies, because a counting run does nothing else.
impl StackPayload for () {
    fn on_flash(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        chips: Chips,
    ) -> Result<Founded<()>, ConfigError> {
        if chips.needs_spare_areas(ftl) {
            return match chips.outage.clone() {
                Outage::AtWork(cut) => chips.interrupted(spec, ftl, logical_pages, cut),
                _ => chips.own(spec, ftl, logical_pages),
            };
        }
        let layer = match (chips.reads_by_page(), ftl.zones()) {
            (false, None) => spec.store(ftl, logical_pages, chips.nand())?,
            (false, Some(_)) => (structure::build_zones(ftl, chips.nand())?, 0),
            (true, None) => spec.boxed_store(ftl, logical_pages, chips.timed(), |_| None)?,
            (true, Some(_)) => (structure::build_zones(ftl, chips.timed())?, 0),
        };
        Ok(layer.into())
    }

    fn on_segments(
        spec: Spec,
        log: &mut LogConfig,
        logical_pages: u32,
        segments: Segments<()>,
    ) -> Result<(BoxedLayer<()>, u8), ConfigError> {
        spec.store(log, logical_pages, segments)
    }
}

impl<const N: usize> StackPayload for Bytes<N> {}

/// The only pages that can be told to be equal without looking at them.
impl StackPayload for Content {
    fn on_medium(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        medium: Timed<Content>,
        journal: Option<Journal>,
    ) -> Result<(BoxedLayer<Content>, u8), ConfigError> {
        if ftl.dedup.is_none() {
            return spec.boxed_store(ftl, logical_pages, medium, |_| None);
        }
        if ftl.placement.reference_threshold().is_none() {
            // There is no cold region to be promoted to.
            ftl.dedup.promote_when_moved();
        }
        let sharing = Sharing::new(&ftl.dedup, logical_pages, 0).map_err(|error| error.within("dedup"))?;
        let (pages, asked) = (sharing.store_pages(), journal.clone());
        let migration = |wants_references| sharing.migration(asked, wants_references);
        let (store, streams) = spec.boxed_store(ftl, pages, medium, migration)?;
        Ok((Box::new(Dedup::new(sharing, store, journal)?), streams))
    }
}

/// A payload that runs have.
pub(super) trait RunPayload: StackPayload {
    /// Makes sure that the batch says of all its pages what they hold.
    #[inline(always)]
    fn complete(batch: &mut PageBatch) {
        let _ = batch;
    }

    /// What the pages of a complete batch hold, those with these positions.
    fn of(batch: &PageBatch, pages: Range<usize>) -> &[Self];
}

impl RunPayload for () {
    #[inline(always)]
    fn of(_batch: &PageBatch, pages: Range<usize>) -> &[()] {
        no_data(pages.len())
    }
}

impl RunPayload for Content {
    fn complete(batch: &mut PageBatch) {
        batch.contents.resize(batch.pages.len(), Content::UNKNOWN);
    }

    fn of(batch: &PageBatch, pages: Range<usize>) -> &[Content] {
        &batch.contents[pages]
    }
}
