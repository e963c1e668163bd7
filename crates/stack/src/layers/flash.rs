//! The flash of a drive, and how a layer is put on it, whatever its type.

use super::spec::BuiltLayer;
use crate::device::ResolvedDevice;
use std::sync::Arc;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
pub use wearwell_engine::forms::PowerPlan;
use wearwell_engine::forms::{CompiledPayload, FtlPlan, KeptMedium};
use wearwell_engine::layer::{Payload, Watcher};
use wearwell_engine::nand::Nand;
use wearwell_engine::timing::{Journal, Timed};

/// The flash of a drive, before it is known what its pages hold.
pub struct FlashParts {
    /// The drive.
    pub device: ResolvedDevice,
    /// The root seed.
    pub seed: Seed,
    /// Into which the flash writes what it does, in timed mode.
    pub journal: Option<Journal>,
    /// Who looks at it page by page.
    pub watcher: Option<Watcher>,
    /// How its power will be cut.
    pub power: PowerPlan,
    /// Where it is kept outside of the simulation, if it is.
    pub kept: Option<Arc<dyn KeptMedium>>,
}

impl FlashParts {
    /// The erased flash.
    pub fn nand<P: Payload>(&self) -> Nand<P> {
        let ResolvedDevice { geometry, wear, faults, .. } = self.device;
        let nand = Nand::new(geometry, wear, self.seed);
        match faults {
            Some(faults) => nand.with_faults(faults, self.seed),
            None => nand,
        }
    }

    /// Whether the FTL keeps notes in spare areas, to come back by.
    pub fn comes_back(&self) -> bool {
        self.power.cuts() || self.kept.is_some()
    }

    /// The same, writing down what it does.
    pub fn timed<P: Payload>(&self) -> Timed<P> {
        Timed::new(self.nand(), self.journal.clone().unwrap_or_else(Journal::paused))
            .watched(self.watcher.clone())
    }

    /// Whether it must be told which pages are read, not only how many.
    pub fn reads_by_page(&self) -> bool {
        self.journal.is_some()
            || self.watcher.is_some()
            || self.device.faults.is_some_and(|faults| faults.read_disturb_limit.is_some())
    }

    /// An FTL on flash with spare areas, with a switch if its power is cut from outside.
    pub fn with_spare_areas<P: CompiledPayload>(&self, plan: FtlPlan) -> Result<BuiltLayer<P>, ConfigError> {
        let (nand, switched) = (self.nand::<P>().with_spare_area(), self.power.cuts());
        let built = if self.reads_by_page() {
            let journal = self.journal.clone().unwrap_or_else(Journal::paused);
            P::ftl_on_timed(Timed::new(nand, journal).watched(self.watcher.clone()), plan, switched)
        } else {
            P::ftl_on_nand(nand, plan, switched)
        };
        built.map(BuiltLayer::from)
    }
}
