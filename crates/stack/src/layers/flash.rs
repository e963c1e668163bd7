//! The flash of a drive, and the construction of a layer of any type on it.

use super::spec::BuiltLayer;
use crate::device::ResolvedDevice;
use std::sync::Arc;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
pub use wearwell_engine::instances::PowerPlan;
use wearwell_engine::instances::{CompiledPayload, FtlPlan, StoredMedium};
use wearwell_engine::layer::{EventRecorder, Payload};
use wearwell_engine::nand::Nand;
use wearwell_engine::timing::{Journal, RecordingNand};

/// Flash of a drive, before the payload of its pages is known.
pub struct FlashParts {
    /// The drive.
    pub device: ResolvedDevice,
    /// The root seed.
    pub seed: Seed,
    /// Journal into which the flash records its operations, in timed mode.
    pub journal: Option<Journal>,
    /// Observer of the flash, page by page.
    pub watcher: Option<EventRecorder>,
    /// Plan of power cuts.
    pub power: PowerPlan,
    /// Storage of the flash outside of the simulation, if any.
    pub stored_flash: Option<Arc<dyn StoredMedium>>,
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
    pub fn keeps_recovery_data(&self) -> bool {
        self.power.has_cuts() || self.stored_flash.is_some()
    }

    /// Returns the erased flash, which records its operations in the journal.
    pub fn journaled_nand<P: Payload>(&self) -> RecordingNand<P> {
        RecordingNand::new(self.nand(), self.journal.clone().unwrap_or_else(Journal::paused))
            .with_watcher(self.watcher.clone())
    }

    /// True if the flash needs the addresses of the pages that are read, and not only their number.
    pub fn needs_read_addresses(&self) -> bool {
        self.journal.is_some()
            || self.watcher.is_some()
            || self.device.faults.is_some_and(|faults| faults.read_disturb_limit.is_some())
    }

    /// Builds an FTL on flash with spare areas, with a power switch if its power is cut from outside.
    pub fn with_spare_areas<P: CompiledPayload>(&self, plan: FtlPlan) -> Result<BuiltLayer<P>, ConfigError> {
        let (nand, has_power_switch) = (self.nand::<P>().with_spare_area(), self.power.has_cuts());
        let built = if self.needs_read_addresses() {
            let journal = self.journal.clone().unwrap_or_else(Journal::paused);
            P::ftl_on_recording_nand(
                RecordingNand::new(nand, journal).with_watcher(self.watcher.clone()),
                plan,
                has_power_switch,
            )
        } else {
            P::ftl_on_nand(nand, plan, has_power_switch)
        };
        built.map(BuiltLayer::from)
    }
}
