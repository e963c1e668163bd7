//! Flash translation layers other than the plain log, their data in flash, and their recovery from it.

pub mod hybrid;
mod interrupted;
mod lasting_commands;
pub mod page;
pub mod paged;
mod power;
mod power_cycle_counts;
mod power_cycled;
#[cfg(test)]
pub(crate) mod tests;

pub use interrupted::{CutSettings, CutTimes, IdentifiedPayload, PowerCutFtl, parse_cuts};
pub use power::{Outages, PowerCycle};
pub use power_cycled::{PowerCycledFtl, SwitchableLayer};

use crate::config::ConfigError;
use crate::layer::{Layer, LayerError, Medium, RecoveryReport};
use crate::log::MigrationPolicy;
use crate::nand::{Flash, StoredFlash, StoredFlashError};
use crate::seed::Seed;
use crate::units::BlockId;

/// Returns the root seed for the policies of an FTL on used flash. The seed differs after each power cut: with equal
/// random numbers, a policy would choose the same blocks every time, even if they have no invalid pages.
fn policy_seed(seed: Seed, flash: &impl Medium) -> Seed {
    let erases: u64 = (0..flash.blocks()).map(|block| u64::from(flash.erases(BlockId(block)))).sum();
    if erases == 0 { seed } else { seed.derive(&format!("life after {erases} erases")) }
}

/// An FTL that can lose its RAM, as in a power cut, and be recovered from its flash. The defaults are those of an FTL
/// without a battery whose writes are durable; a layer over another FTL forwards each method.
pub trait Restart: Layer<<Self::Flash as Medium>::Payload> + Sized {
    /// Type of the flash below.
    type Flash: Flash;

    /// State that survives a power cut: the flash, and the contents of the FTL's metadata pages.
    type SurvivingFlash;

    /// Settings that the FTL is built from.
    type Settings: Clone;

    /// True if trims survive a power cut once a flush has followed.
    const DURABLE_TRIMS: bool;

    /// True if recovery reads all written spare areas, so that notes stored there are available without further reads.
    const READS_ALL_SPARE_AREAS: bool;

    /// Drops everything in RAM.
    fn into_flash(self) -> Self::SurvivingFlash;

    /// Recovers the FTL from the surviving state. If power is lost during recovery, returns the error with the state
    /// that survives this power cut.
    #[allow(clippy::type_complexity)]
    fn restart(
        settings: &Self::Settings,
        surviving: Self::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::SurvivingFlash)>;

    /// Recovers as [`Restart::restart`] does, but after a power cut in which the battery, if there is one, has failed.
    /// Data that the battery would have saved is searched for in flash, as in a drive without a battery. Acknowledged
    /// trims may be lost if they were only in RAM.
    #[allow(clippy::type_complexity)]
    fn restart_unsaved(
        settings: &Self::Settings,
        surviving: Self::SurvivingFlash,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::SurvivingFlash)> {
        Self::restart(settings, surviving)
    }

    /// Reads the surviving state from flash that is stored outside the simulation: `flash` has its spare areas, and
    /// `stored` has the bytes of the FTL's metadata pages.
    ///
    /// # Errors
    /// Fails if a page is unreadable, or differs from what an FTL with these settings would have written.
    fn decode_flash(
        settings: &Self::Settings,
        flash: Self::Flash,
        stored: &mut dyn StoredFlash,
    ) -> Result<Self::SurvivingFlash, StoredFlashError>;

    /// Makes the contents of RAM durable, as the battery does at a power cut. Does nothing without a battery.
    fn save(&mut self) -> Result<(), LayerError> {
        Ok(())
    }

    /// True if the FTL has a battery.
    fn has_battery(&self) -> bool {
        false
    }

    /// True if acknowledged writes may be in RAM only, so that a power cut before the next flush may undo them. Trims
    /// are not considered.
    fn has_volatile_writes(&self) -> bool {
        false
    }

    /// Returns the flash below.
    fn flash_mut(&mut self) -> &mut Self::Flash;

    /// Sets the migration policy for the live pages of victims, or returns an error if it is not supported.
    fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<<Self::Flash as Medium>::Payload>>,
    ) -> Result<(), ConfigError>;
}
