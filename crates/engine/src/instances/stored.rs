//! Monomorphised FTLs on flash that is stored outside the simulation.

use super::dedup::{DedupPlan, dedup_ftl_on};
use super::ftl::{BuiltFtl, Finish, FtlPlan};
use crate::config::ConfigError;
use crate::ftl::Restart;
use crate::layer::{ContentId, RecoveryReport};
use crate::nand::{FlashStorage, Nand, StoredFlash, StoredFlashError};
use crate::timing::{Journal, RecordingNand};

/// Recovery report of an FTL from stored flash, or the reason for its failure.
pub type RestartResult = Result<RecoveryReport, String>;

/// Flash outside the simulation, on which a drive starts or restarts.
pub trait StoredMedium: Send + Sync {
    /// True if the flash was never used.
    fn is_new(&self) -> bool;

    /// Records if the drive has a battery.
    fn record_battery(&self, has_battery: bool);

    /// Restores new flash to its stored state.
    ///
    /// # Errors
    /// Fails if the stored state does not fit flash of this kind.
    fn restore(&self, nand: &mut Nand<ContentId>) -> Result<(), StoredFlashError>;

    /// Returns the storage that is updated with every change of the flash from now on.
    fn storage(&self) -> Box<dyn FlashStorage<ContentId>>;

    /// Returns the reader of an FTL's metadata pages.
    fn reader(&self) -> Box<dyn StoredFlash>;

    /// Records the result of a restart.
    fn record_restart(&self, result: RestartResult);
}

/// Builds an FTL on `medium`: a new one if the medium is new, otherwise one restarted from it. `erased` creates the
/// flash in its new state. The reason for a failed restart is passed to the medium; the error only reports the
/// failure.
///
/// # Errors
/// Fails for invalid settings, and for flash that no such FTL left.
pub fn ftl_on_stored_flash(
    erased: &dyn Fn() -> Nand<ContentId>,
    plan: FtlPlan,
    dedup: Option<DedupPlan>,
    medium: &dyn StoredMedium,
) -> Result<BuiltFtl<ContentId>, ConfigError> {
    let Some(equal) = dedup else {
        let recording = |nand| RecordingNand::new(nand, Journal::paused());
        return plan.on(
            recording(initial_flash(erased(), medium)),
            StoredFinish { erased: recording(erased()), medium },
        );
    };
    dedup_ftl_on(erased, plan, equal, |erased| {
        let recording = |nand| RecordingNand::new(nand, Journal::paused());
        (recording(initial_flash(erased(), medium)), StoredFinish { erased: recording(erased()), medium })
    })
}

/// Returns the flash on which a new FTL is built.
fn initial_flash(nand: Nand<ContentId>, medium: &dyn StoredMedium) -> Nand<ContentId> {
    if medium.is_new() { nand.with_storage(medium.storage()) } else { nand }
}

/// Conversion to a layer on stored flash.
pub(super) struct StoredFinish<'a> {
    /// Erased flash on which the FTL restarts, if there is stored state.
    erased: RecordingNand<ContentId>,
    medium: &'a dyn StoredMedium,
}

impl Finish<RecordingNand<ContentId>> for StoredFinish<'_> {
    type Payload = ContentId;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<ContentId>, ConfigError>
    where
        T: Restart<Flash = RecordingNand<ContentId>> + 'static,
        T::Settings: Send,
    {
        let StoredFinish { erased: again, medium } = self;
        medium.record_battery(ftl.has_battery());
        if medium.is_new() {
            return Ok(BuiltFtl { layer: Box::new(ftl), power: None });
        }
        drop(ftl);
        match restart_from::<T>(again, &settings, medium) {
            Ok((ftl, report)) => {
                medium.record_restart(Ok(report));
                Ok(BuiltFtl { layer: Box::new(ftl), power: None })
            }
            Err(problem) => {
                medium.record_restart(Err(problem));
                Err(ConfigError::new("image", "does not come back"))
            }
        }
    }
}

/// Restarts the FTL whose state `medium` holds, on erased flash.
fn restart_from<T: Restart<Flash = RecordingNand<ContentId>>>(
    erased: RecordingNand<ContentId>,
    settings: &T::Settings,
    medium: &dyn StoredMedium,
) -> Result<(T, RecoveryReport), String> {
    let flash = erased.map(|mut nand| {
        medium.restore(&mut nand)?;
        Ok::<_, StoredFlashError>(nand.with_storage(medium.storage()))
    });
    let flash = flash.map_err(|error| error.to_string())?;
    let surviving =
        T::decode_flash(settings, flash, &mut *medium.reader()).map_err(|error| error.to_string())?;
    T::restart_unsaved(settings, surviving).map_err(|(error, _)| error.to_string())
}
