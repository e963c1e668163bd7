//! Monomorphised FTLs on flash kept outside the simulation.

use super::equal_pages::{EqualPages, ftl_in_front};
use super::ftl::{BuiltFtl, Finish, FtlPlan};
use crate::config::ConfigError;
use crate::ftl::Restart;
use crate::layer::{Content, RecoveryReport};
use crate::nand::{Backing, KeptError, KeptFlash, Nand};
use crate::timing::{Journal, Timed};

/// Recovery report of an FTL from stored flash, or the reason for its failure.
pub type CameBack = Result<RecoveryReport, String>;

/// Flash outside the simulation, on which a drive starts or restarts.
pub trait KeptMedium: Send + Sync {
    /// True if the flash was never used.
    fn is_new(&self) -> bool;

    /// Records if the drive has a battery.
    fn is_of_battery(&self, has_battery: bool);

    /// Restores new flash to its stored state.
    ///
    /// # Errors
    /// Fails if the stored state does not fit flash of this kind.
    fn restore(&self, nand: &mut Nand<Content>) -> Result<(), KeptError>;

    /// Returns the backing to which the flash is stored from now on.
    fn backing(&self) -> Box<dyn Backing<Content>>;

    /// Returns the reader of pages that an FTL wrote for itself.
    fn reader(&self) -> Box<dyn KeptFlash>;

    /// Records the result of a restart.
    fn came_back(&self, how: CameBack);
}

/// Builds an FTL on `medium`: a new one if the medium is new, otherwise one restarted from it. `erased` creates the
/// flash in its new state. The reason for a failed restart is passed to the medium; the error only reports the
/// failure.
///
/// # Errors
/// Fails for invalid settings, and for flash that no such FTL left.
pub fn ftl_on_kept(
    erased: &dyn Fn() -> Nand<Content>,
    plan: FtlPlan,
    equal: Option<EqualPages>,
    medium: &dyn KeptMedium,
) -> Result<BuiltFtl<Content>, ConfigError> {
    let Some(equal) = equal else {
        let timed = |nand| Timed::new(nand, Journal::paused());
        return plan.on(timed(first(erased(), medium)), OnKept { again: timed(erased()), medium });
    };
    ftl_in_front(erased, plan, equal, |erased| {
        let timed = |nand| Timed::new(nand, Journal::paused());
        (timed(first(erased(), medium)), OnKept { again: timed(erased()), medium })
    })
}

/// Returns the flash on which a new FTL is built.
fn first(nand: Nand<Content>, medium: &dyn KeptMedium) -> Nand<Content> {
    if medium.is_new() { nand.with_backing(medium.backing()) } else { nand }
}

/// Conversion to a layer on stored flash.
pub(super) struct OnKept<'a> {
    /// Erased flash on which the FTL restarts, if there is stored state.
    again: Timed<Content>,
    medium: &'a dyn KeptMedium,
}

impl Finish<Timed<Content>> for OnKept<'_> {
    type Payload = Content;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<Content>, ConfigError>
    where
        T: Restart<Flash = Timed<Content>> + 'static,
        T::Settings: Send,
    {
        let OnKept { again, medium } = self;
        medium.is_of_battery(ftl.has_battery());
        if medium.is_new() {
            return Ok(BuiltFtl { layer: Box::new(ftl), power: None });
        }
        drop(ftl);
        match come_back::<T>(again, &settings, medium) {
            Ok((ftl, report)) => {
                medium.came_back(Ok(report));
                Ok(BuiltFtl { layer: Box::new(ftl), power: None })
            }
            Err(problem) => {
                medium.came_back(Err(problem));
                Err(ConfigError::new("image", "does not come back"))
            }
        }
    }
}

/// Restarts the FTL whose state `medium` holds, on the erased flash `again`.
fn come_back<T: Restart<Flash = Timed<Content>>>(
    again: Timed<Content>,
    settings: &T::Settings,
    medium: &dyn KeptMedium,
) -> Result<(T, RecoveryReport), String> {
    let flash = again.map(|mut nand| {
        medium.restore(&mut nand)?;
        Ok::<_, KeptError>(nand.with_backing(medium.backing()))
    });
    let flash = flash.map_err(|error| error.to_string())?;
    let remains = T::reread(settings, flash, &mut *medium.reader()).map_err(|error| error.to_string())?;
    T::restart_unsaved(settings, remains).map_err(|(error, _)| error.to_string())
}
