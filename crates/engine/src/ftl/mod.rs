//! Flash translation layers other than the plain log: what they keep in flash, and how they come back from it.

mod cycled;
pub mod hybrid;
mod interrupted;
mod lives;
pub mod page;
pub mod paged;
mod power;
#[cfg(test)]
mod tests;
mod told;

pub use cycled::{Cycled, Switched};
pub use interrupted::{CutSettings, Cuts, Interrupted, parse_cuts};
pub use power::{Outages, PowerCycle};

use crate::layer::{Layer, LayerError, Medium, RecoveryReport};
use crate::nand::Flash;

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

    /// Everything in RAM is lost.
    fn into_flash(self) -> Self::Remains;

    /// Builds the FTL anew from what survived. Power may be lost again meanwhile: then what survives that comes back with
    /// the error.
    #[allow(clippy::type_complexity)]
    fn restart(
        settings: &Self::Settings,
        remains: Self::Remains,
    ) -> Result<(Self, RecoveryReport), (LayerError, Self::Remains)>;

    /// What a battery does: makes the RAM durable. `Ok(())` where there is none.
    fn save(&mut self) -> Result<(), LayerError>;
}
