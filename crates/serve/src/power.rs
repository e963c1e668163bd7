//! Drives whose power can be lost: by the end of their process, or because somebody cuts it.

use crate::contents::Contents;
use crate::device::Device;
use crate::error::{DeviceError, ImageError, OpenError};
use crate::flash::{KeptDrive, Opened, PowerCut, is_flash};
use crate::image::{Image, Noted};
use crate::pacing::Speed;
use crate::table::Table;
use std::io;
use std::ops::Range;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::LayerError;
use wearwell_stack::{KeptPlan, Live, Scenario};

impl Device {
    /// The device of `scenario` that is kept in the folder `at`, or a new one to be kept there; and what the journal had to say, if it
    /// is kept as one. A new one is kept as the bytes of its flash if it comes back from them, else as a journal.
    ///
    /// # Errors
    /// As [`Device::in_memory`]; a folder of something else, of another scenario, in use, or damaged.
    pub fn in_image(scenario: &Scenario, at: &Path) -> Result<(Self, Noted), OpenError> {
        Device::in_image_at(scenario, at, Speed::Full)
    }

    /// The same at a speed, whatever it was at before. One that is as slow as its drive is kept as a journal.
    ///
    /// # Errors
    /// As [`Device::in_image`]; times that are missing.
    pub fn in_image_at(scenario: &Scenario, at: &Path, speed: Speed) -> Result<(Self, Noted), OpenError> {
        if speed == Speed::Full {
            let plan = Live::kept_plan(scenario)?;
            if is_flash(at) || !Image::is_there(at) && plan.refusal.is_none() {
                return Ok((Device::in_flash(plan, at)?, Noted::default()));
            }
        } else if is_flash(at) {
            let problem =
                "keeps the bytes of flash, which nobody times; a drive that is paced is kept as a journal";
            return Err(OpenError::Image(ImageError::new(at, problem)));
        }
        Device::in_journal(scenario, at, speed)
    }

    /// The device of that plan whose flash is kept in the folder `at`, or a new one to be kept there.
    ///
    /// # Errors
    /// As [`Device::in_image`].
    pub fn in_flash(plan: KeptPlan, at: &Path) -> Result<Self, OpenError> {
        if let Some(refusal) = plan.refusal {
            let problem = format!("does not come back from its flash: {refusal}");
            return Err(OpenError::Scenario(ConfigError::new("ftl", problem)));
        }
        let (page_bytes, shares) = (plan.page_bytes as usize, plan.shares_contents);
        let (kept, live) = KeptDrive::open(plan, at)?;
        let contents = Contents::in_flash(page_bytes, shares, kept.image.clone());
        let is_new = kept.image.opened().is_new;
        let mut device = Device::of(live, contents, None);
        device.kept = Some(kept);
        if !is_new {
            device.unsettle().map_err(|error| match error {
                DeviceError::Image(error) => OpenError::Image(error),
                other => OpenError::Image(ImageError::new(at, other.to_string())),
            })?;
        }
        Ok(device)
    }

    /// What was found when the flash was opened last, where it is kept in files.
    pub fn opened(&self) -> Option<Opened> {
        Some(self.kept.as_ref()?.image.opened())
    }

    /// How often its power was lost and it came back, while it was served.
    pub fn power_cuts(&self) -> u64 {
        self.kept.as_ref().map_or(0, |kept| kept.power_cuts)
    }

    /// Cuts the power: at once, whereupon the drive comes back and it is said how; or later, in the middle of the request that comes to
    /// that operation, which is then answered with [`DeviceError::PowerLost`].
    ///
    /// # Errors
    /// A drive whose flash is not kept in files, and one that does not come back.
    pub fn cut_power(&mut self, cut: PowerCut) -> Result<Option<Opened>, DeviceError> {
        let Some(kept) = &self.kept else { return Err(DeviceError::NoFlash) };
        if cut.after > 0 || cut.torn {
            kept.image.cut(Some(cut));
            return Ok(None);
        }
        kept.image.turn_off();
        self.restart()?;
        Ok(self.opened())
    }

    /// What an error of the stack means; if power was lost, the drive comes back first.
    pub(crate) fn lost(&mut self, error: LayerError) -> DeviceError {
        let Some(kept) = self.kept.as_ref().filter(|_| error.is_power_loss()) else { return error.into() };
        if let Some(problem) = kept.image.failure() {
            return DeviceError::Content(io::Error::other(problem));
        }
        self.restart().map_or_else(|error| error, |()| DeviceError::PowerLost)
    }

    /// Power is back: everything is found in the files again, as another process would find it.
    fn restart(&mut self) -> Result<(), DeviceError> {
        let kept = self.kept.as_mut().ok_or(DeviceError::NoFlash)?;
        self.live = kept.come_back()?;
        self.unsettle()
    }

    /// Nobody knows any more which content each page holds; trims that a battery kept are done once more.
    fn unsettle(&mut self) -> Result<(), DeviceError> {
        self.table = Table::unsettled(self.live.logical_pages());
        let Some(kept) = &mut self.kept else { return Ok(()) };
        let Some(battery) = kept.battery.as_mut() else { return Ok(()) };
        kept.image.begin_names_at(battery.first_free_name());
        if battery.is_empty() {
            return Ok(());
        }
        let trimmed = battery.since(&kept.image.newest_names()?);
        let image = kept.image.clone();
        image.note_trimmed(trimmed.len() as u64);
        let pages = self.live.logical_pages();
        for page in trimmed.into_iter().filter(|page| *page < pages) {
            self.forget(page..page + 1)?;
        }
        Ok(())
    }

    /// Pages are about to be trimmed, which a battery would remember.
    pub(crate) fn note_trim(&mut self, pages: Range<u32>) -> io::Result<()> {
        let Some(KeptDrive { battery: Some(battery), image, .. }) = &mut self.kept else { return Ok(()) };
        let table = &self.table;
        battery.trim(pages.filter(|page| table.get(*page) != 0), image.mark())
    }

    /// Pages were written.
    pub(crate) fn note_written(&mut self, pages: Range<u32>) {
        if let Some(KeptDrive { battery: Some(battery), .. }) = &mut self.kept {
            battery.written(pages);
        }
    }
}
