//! Drive whose flash is kept in files: opening and recovery.

use super::battery::Battery;
use super::image::FlashImage;
use crate::error::{ImageError, OpenError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use wearwell_stack::{LiveStack, StoredFlashPlan};

/// Drive with its flash image and battery.
pub struct StoredDrive {
    plan: StoredFlashPlan,
    /// Flash image.
    pub image: FlashImage,
    /// Record of trims, if the drive has a battery.
    pub battery: Option<Battery>,
    /// Number of power cuts after which the drive recovered.
    pub power_cuts: u64,
}

impl StoredDrive {
    /// Opens the drive of `plan` in the folder, or creates it.
    ///
    /// # Errors
    /// Fails if the folder contains other files, or if the image belongs to another scenario, is in use or is
    /// damaged. Also fails if the drive does not recover.
    pub fn open(plan: StoredFlashPlan, folder: &Path) -> Result<(Self, LiveStack), OpenError> {
        let image = FlashImage::open(folder, &plan)?;
        let live = recover_or_read_only(&plan, &image)?;
        let mut stored = StoredDrive { plan, image, battery: None, power_cuts: 0 };
        // Drives that share pages between equal content record trims in the log of their map instead.
        if stored.image.open_report().has_battery && !stored.plan.shares_contents {
            stored.battery = Some(stored.image.battery()?);
        }
        Ok((stored, live))
    }

    /// Restores the power: reads the whole state from the files again, as a new process would.
    ///
    /// # Errors
    /// Fails if the files cannot be read or the drive does not recover.
    pub fn recover(&mut self) -> Result<LiveStack, ImageError> {
        self.image.reopen()?;
        let live = recover_or_read_only(&self.plan, &self.image).map_err(|error| match error {
            OpenError::Image(error) => error,
            OpenError::Scenario(error) => self.image.damaged(error),
        })?;
        self.power_cuts += 1;
        Ok(live)
    }

    /// Makes the records of the battery durable, so that they survive a power cut of the host machine. The next sync of
    /// the flash records how many there are.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        let Some(battery) = &self.battery else { return Ok(()) };
        self.image.set_battery(battery.sync()?);
        Ok(())
    }
}

/// Recovers the drive. If recovery cannot write to the files, for example because the disk of the host is full, the drive
/// recovers in memory only, so that its data can be read.
fn recover_or_read_only(plan: &StoredFlashPlan, image: &FlashImage) -> Result<LiveStack, OpenError> {
    let recovered = recover(plan, image);
    match image.failure() {
        Some(error) if recovered.is_err() => {
            image.reopen_read_only(&error)?;
            recover(plan, image)
        }
        _ => recovered,
    }
}

/// Recovers the drive from its flash in the state after the power cut.
fn recover(plan: &StoredFlashPlan, image: &FlashImage) -> Result<LiveStack, OpenError> {
    let medium = Arc::new(image.clone());
    // The files are untrusted even if their checksums match, so a panic of the FTL's recovery must not end the server.
    let live = catch_unwind(AssertUnwindSafe(|| LiveStack::on_stored_flash(&plan.scenario, medium)));
    match live {
        Ok(Ok(live)) => match live.check() {
            Ok(()) => Ok(live),
            Err(problem) => Err(image.damaged(problem).into()),
        },
        Ok(Err(error)) => Err(image.problem().map_or(OpenError::Scenario(error), OpenError::Image)),
        Err(_) => Err(image.damaged("its FTL failed during recovery").into()),
    }
}
