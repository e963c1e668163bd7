//! FTLs on flash that is kept outside of the simulation, with their types filled in.

use super::equal_pages::{EqualPages, ftl_in_front};
use super::ftl::{BuiltFtl, Finish, FtlPlan};
use crate::config::ConfigError;
use crate::ftl::Restart;
use crate::layer::{Content, RecoveryReport};
use crate::nand::{Backing, KeptError, KeptFlash, Nand};
use crate::timing::{Journal, Timed};

/// What an FTL did to come back from kept flash, or why it did not.
pub type CameBack = Result<RecoveryReport, String>;

/// Flash outside of the simulation, on which a drive begins or comes back.
pub trait KeptMedium: Send + Sync {
    /// Whether nothing was ever done with it.
    fn is_new(&self) -> bool;

    /// The drive has a battery, or none.
    fn is_of_battery(&self, has_battery: bool);

    /// Makes new flash what was kept.
    ///
    /// # Errors
    /// What was kept is no flash of this kind.
    fn restore(&self, nand: &mut Nand<Content>) -> Result<(), KeptError>;

    /// To what the flash is kept from now on.
    fn backing(&self) -> Box<dyn Backing<Content>>;

    /// What an FTL wrote for itself.
    fn reader(&self) -> Box<dyn KeptFlash>;

    /// An FTL came back from it, or did not.
    fn came_back(&self, how: CameBack);
}

/// An FTL on `medium`: a new one if that is new, or else the one that comes back from it. `erased` makes the flash as it was when it was
/// new. Why one does not come back is told to the medium, the error only says that it is so.
///
/// # Errors
/// A setting that cannot work, and flash that no such FTL left.
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

/// The flash that the FTL is built on when it is new.
fn first(nand: Nand<Content>, medium: &dyn KeptMedium) -> Nand<Content> {
    if medium.is_new() { nand.with_backing(medium.backing()) } else { nand }
}

/// The layer on such flash.
pub(super) struct OnKept<'a> {
    /// Erased flash on which the FTL comes back, if there is something to come back from.
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

/// The FTL that left what `medium` keeps, on the flash `again`, which is erased.
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
