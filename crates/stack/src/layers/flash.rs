//! The flash of a drive, and the construction of a layer of any type on it.

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

/// Flash of a drive, before the payload of its pages is known.
pub struct FlashParts {
    /// The drive.
    pub device: ResolvedDevice,
    /// The root seed.
    pub seed: Seed,
    /// Journal into which the flash records its operations, in timed mode.
    pub journal: Option<Journal>,
    /// Observer of the flash, page by page.
    pub watcher: Option<Watcher>,
    /// Plan of power cuts.
    pub power: PowerPlan,
    /// Storage of the flash outside of the simulation, if any.
    pub kept: Option<Arc<dyn KeptMedium>>,
}

impl FlashParts {
    /// Returns the erased flash.
    pub fn nand<P: Payload>(&self) -> Nand<P> {
        let ResolvedDevice { geometry, wear, faults, .. } = self.device;
        let nand = Nand::new(geometry, wear, self.seed);
        match faults {
            Some(faults) => nand.with_faults(faults, self.seed),
            None => nand,
        }
    }

    /// True if the FTL writes recovery data into spare areas.
    pub fn comes_back(&self) -> bool {
        self.power.cuts() || self.kept.is_some()
    }

    /// Returns the erased flash, which records its operations in the journal.
    pub fn timed<P: Payload>(&self) -> Timed<P> {
        Timed::new(self.nand(), self.journal.clone().unwrap_or_else(Journal::paused))
            .watched(self.watcher.clone())
    }

    /// True if the flash needs the addresses of the pages that are read, and not only their number.
    pub fn reads_by_page(&self) -> bool {
        self.journal.is_some()
            || self.watcher.is_some()
            || self.device.faults.is_some_and(|faults| faults.read_disturb_limit.is_some())
    }

    /// Builds an FTL on flash with spare areas, with a power switch if its power is cut from outside.
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
