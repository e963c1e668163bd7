//! A drive whose flash is kept in files: how it is opened, and how it comes back.

use super::battery::Battery;
use super::image::FlashImage;
use crate::error::{ImageError, OpenError};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use wearwell_stack::{KeptPlan, Live};

/// What a device has of its flash that is kept in files.
pub struct KeptDrive {
    plan: KeptPlan,
    /// The flash.
    pub image: FlashImage,
    /// What its battery keeps, if it has one.
    pub battery: Option<Battery>,
    /// How often its power was lost and it came back.
    pub power_cuts: u64,
}

impl KeptDrive {
    /// Opens the drive of that plan in the folder, or makes one.
    ///
    /// # Errors
    /// A folder of something else, of another scenario, in use, or damaged; and a drive that does not come back.
    pub fn open(plan: KeptPlan, folder: &Path) -> Result<(Self, Live), OpenError> {
        let image = FlashImage::open(folder, &plan)?;
        let live = come_back(&plan, &image)?;
        let mut kept = KeptDrive { plan, image, battery: None, power_cuts: 0 };
        // Who shares pages keeps trims in the log of its map.
        if kept.image.opened().has_battery && !kept.plan.shares_contents {
            kept.battery = Some(kept.image.battery()?);
        }
        Ok((kept, live))
    }

    /// Power is back: everything is found in the files again, as another process would find it.
    ///
    /// # Errors
    /// Files that cannot be read, and a drive that does not come back.
    pub fn come_back(&mut self) -> Result<Live, ImageError> {
        self.image.reopen()?;
        let live = come_back(&self.plan, &self.image).map_err(|error| match error {
            OpenError::Image(error) => error,
            OpenError::Scenario(error) => self.image.damaged(error),
        })?;
        self.power_cuts += 1;
        Ok(live)
    }

    /// Makes what is beside the flash survive a power cut of this machine.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        self.battery.as_ref().map_or(Ok(()), Battery::sync)
    }
}

/// The drive from its flash, which is as its power left it.
fn come_back(plan: &KeptPlan, image: &FlashImage) -> Result<Live, OpenError> {
    let medium = Arc::new(image.clone());
    // What is in the files is material, however well its checksums fit; an FTL that loses its way in it must not take the server along.
    let live = catch_unwind(AssertUnwindSafe(|| Live::on(&plan.scenario, medium)));
    match live {
        Ok(Ok(live)) => match live.check() {
            Ok(()) => Ok(live),
            Err(problem) => Err(image.damaged(problem).into()),
        },
        Ok(Err(error)) => Err(image.problem().map_or(OpenError::Scenario(error), OpenError::Image)),
        Err(_) => Err(image.damaged("its FTL lost its way while it came back").into()),
    }
}
