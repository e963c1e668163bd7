//! Flash translation layers other than the plain log: what they keep in flash, and how they come back from it.

mod cycled;
pub mod hybrid;
mod interrupted;
mod lives;
pub mod page;
pub mod paged;
mod power;
#[cfg(test)]
pub(crate) mod tests;
mod told;

pub use cycled::{Cycled, Switched};
pub use interrupted::{CutSettings, Cuts, Interrupted, Known, parse_cuts};
pub use power::{Outages, PowerCycle};

use crate::config::ConfigError;
use crate::layer::{Layer, LayerError, Medium, RecoveryReport};
use crate::log::Migration;
use crate::nand::{Flash, KeptError, KeptFlash};
use crate::seed::Seed;
use crate::units::BlockId;

/// The root of the generators of an FTL's policies on flash that was used before. With the same draws after each power cut a
/// policy would name the same blocks each time, which may have nothing to win.
fn seed_of_life(seed: Seed, flash: &impl Medium) -> Seed {
    let erases: u64 = (0..flash.blocks()).map(|block| u64::from(flash.erases(BlockId(block)))).sum();
    if erases == 0 { seed } else { seed.of(&format!("life after {erases} erases")) }
}

/// An FTL that can be taken apart to its flash, as a power cut does, and put together again from it.
pub trait Restart: Layer<<Self::Flash as Medium>::Payload> + Sized {
    /// The flash below.
    type Flash: Flash;

    /// What survives: the flash, and contents of pages that the FTL wrote for itself.
    type Remains;

    /// What it is built from.
    type Settings: Clone;

    /// Whether trims that were followed by a flush survive.
    const DURABLE_TRIMS: bool;

    /// Whether recovery reads all spare areas that were written, so that whatever is noted there is at hand.
    const READS_ALL_SPARE_AREAS: bool;

    /// Everything in RAM is lost.
    fn into_flash(self) -> Self::Remains;

    /// Builds the FTL anew from what survived. Power may be lost again meanwhile: then what survives that comes back with
    /// the error.
    #[allow(clippy::type_complexity)]
    fn restart(
        settings: &Self::Settings,
        remains: Self::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::Remains)>;

    /// As [`Restart::restart`], after a power cut at which a battery, if there is one, could not do its work: what was to be written
    /// then is looked for in flash, as drives without a battery do. Trims that were acknowledged may be undone, as far as they were
    /// in RAM alone.
    #[allow(clippy::type_complexity)]
    fn restart_unsaved(
        settings: &Self::Settings,
        remains: Self::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::Remains)>;

    /// What survives, from flash that was kept outside of the simulation: `flash` has its spare areas, and `kept` the bytes of the
    /// pages that the FTL wrote for itself.
    ///
    /// # Errors
    /// A page that cannot be read, or is not what an FTL with these settings would have written there.
    fn reread(
        settings: &Self::Settings,
        flash: Self::Flash,
        kept: &mut dyn KeptFlash,
    ) -> Result<Self::Remains, KeptError>;

    /// What a battery does: makes the RAM durable. `Ok(())` where there is none.
    fn save(&mut self) -> Result<(), LayerError>;

    /// Whether it has a battery.
    fn has_battery(&self) -> bool;

    /// Whether anything of what was acknowledged is in RAM alone, besides trims, so that a power cut may undo it before the next
    /// flush.
    fn owes(&self) -> bool;

    /// The flash below.
    fn flash_mut(&mut self) -> &mut Self::Flash;

    /// From now on asks `migration` what becomes of the live pages of blocks that are cleaned; or says why it cannot.
    fn ask(
        &mut self,
        migration: Box<dyn Migration<<Self::Flash as Medium>::Payload>>,
    ) -> Result<(), ConfigError>;
}
