//! Drives whose power can be cut: by the end of their process, or by a command.

use crate::contents::Contents;
use crate::device::Device;
use crate::error::{DeviceError, ImageError, OpenError};
use crate::flash::{OpenReport, PowerCut, StoredDrive, is_flash};
use crate::image::{Image, ReplayCounts};
use crate::pacing::Speed;
use crate::table::Table;
use std::io;
use std::ops::Range;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::LayerError;
use wearwell_stack::{LiveStack, Scenario, StoredFlashPlan};

impl Device {
    /// Opens the device of `scenario` that is kept in the folder `at`, or creates it. If the image is a journal, also
    /// returns the counts of the replay. A new image keeps the bytes of the flash if the drive can recover from
    /// these, and a journal otherwise.
    ///
    /// # Errors
    /// The errors of [`Device::in_memory`]; also fails if the folder contains other files, or if the image belongs to
    /// another scenario, is in use, or is damaged.
    pub fn in_image(scenario: &Scenario, at: &Path) -> Result<(Self, ReplayCounts), OpenError> {
        Device::in_image_at(scenario, at, Speed::Full)
    }

    /// Does what [`Device::in_image`] does, at a given speed, which may differ from the speed at an earlier opening.
    /// A timed device is kept as a journal.
    ///
    /// # Errors
    /// The errors of [`Device::in_image`]; also fails if a timed device has no timing model.
    pub fn in_image_at(
        scenario: &Scenario,
        at: &Path,
        speed: Speed,
    ) -> Result<(Self, ReplayCounts), OpenError> {
        if speed == Speed::Full {
            let plan = LiveStack::stored_flash_plan(scenario)?;
            if is_flash(at) || !Image::exists(at) && plan.no_recovery_reason.is_none() {
                return Ok((Device::in_flash(plan, at)?, ReplayCounts::default()));
            }
        } else if is_flash(at) {
            let problem =
                "keeps the bytes of flash, which nobody times; a drive that is paced is kept as a journal";
            return Err(OpenError::Image(ImageError::new(at, problem)));
        }
        Device::in_journal(scenario, at, speed)
    }

    /// Opens the device of `plan` whose flash is kept in the folder `at`, or creates it.
    ///
    /// # Errors
    /// The errors of [`Device::in_image`].
    pub fn in_flash(plan: StoredFlashPlan, at: &Path) -> Result<Self, OpenError> {
        if let Some(refusal) = plan.no_recovery_reason {
            let problem = format!("cannot be recovered from its flash: {refusal}");
            return Err(OpenError::Scenario(ConfigError::new("ftl", problem)));
        }
        let (page_bytes, shares) = (plan.page_bytes as usize, plan.shares_contents);
        let (stored, live) = StoredDrive::open(plan, at)?;
        let contents = Contents::in_flash(page_bytes, shares, stored.image.clone());
        let is_new = stored.image.open_report().is_new;
        let mut device = Device::from_stack(live, contents, None);
        device.stored = Some(stored);
        if !is_new {
            device.mark_unknown().map_err(|error| match error {
                DeviceError::Image(error) => OpenError::Image(error),
                other => OpenError::Image(ImageError::new(at, other.to_string())),
            })?;
        }
        Ok(device)
    }

    /// Returns the results of the last opening of the flash, if it is kept in files.
    pub fn open_report(&self) -> Option<OpenReport> {
        Some(self.stored.as_ref()?.image.open_report())
    }

    /// Returns the number of power cuts after which the drive recovered while it was served.
    pub fn power_cuts(&self) -> u64 {
        self.stored.as_ref().map_or(0, |kept| kept.power_cuts)
    }

    /// Cuts the power. An immediate cut restarts the drive and returns the results of the recovery. A scheduled cut
    /// happens at the given operation; the request that causes this operation fails with [`DeviceError::PowerLost`].
    ///
    /// # Errors
    /// Fails if the flash is not kept in files or the drive does not recover.
    pub fn cut_power(&mut self, cut: PowerCut) -> Result<Option<OpenReport>, DeviceError> {
        let Some(kept) = &self.stored else { return Err(DeviceError::NoFlash) };
        if cut.after > 0 || cut.torn {
            kept.image.schedule_cut(Some(cut));
            return Ok(None);
        }
        kept.image.turn_off();
        self.restart()?;
        Ok(self.open_report())
    }

    /// Converts an error of the stack. If it was caused by a power cut, first restarts the drive.
    pub(crate) fn convert_error(&mut self, error: LayerError) -> DeviceError {
        let Some(kept) = self.stored.as_ref().filter(|_| error.is_power_loss()) else { return error.into() };
        if let Some(error) = kept.image.failure() {
            return DeviceError::Content(error);
        }
        self.restart().map_or_else(|error| error, |()| DeviceError::PowerLost)
    }

    /// Restores the power: reads the whole state from the files again, as a new process would.
    fn restart(&mut self) -> Result<(), DeviceError> {
        let stored = self.stored.as_mut().ok_or(DeviceError::NoFlash)?;
        self.stack = stored.recover()?;
        self.mark_unknown()
    }

    /// Marks the content of each page as unknown, and repeats trims that the battery recorded.
    fn mark_unknown(&mut self) -> Result<(), DeviceError> {
        self.table = Table::unknown(self.stack.logical_pages());
        let Some(kept) = &mut self.stored else { return Ok(()) };
        let Some(battery) = kept.battery.as_mut() else { return Ok(()) };
        kept.image.reserve_ids(battery.first_free_id());
        if battery.is_empty() {
            return Ok(());
        }
        let trimmed = battery.trimmed_since_write(&kept.image.newest_ids()?);
        let image = kept.image.clone();
        image.record_trimmed(trimmed.len() as u64);
        let pages = self.stack.logical_pages();
        for page in trimmed.into_iter().filter(|page| *page < pages) {
            self.discard(page..page + 1)?;
        }
        Ok(())
    }

    /// Records in the battery, if there is one, that pages are about to be trimmed.
    pub(crate) fn record_trim(&mut self, pages: Range<u32>) -> io::Result<()> {
        let Some(StoredDrive { battery: Some(battery), image, .. }) = &mut self.stored else { return Ok(()) };
        let table = &self.table;
        battery.trim(pages.filter(|page| table.get(*page) != 0), image.next_id())
    }

    /// Records in the battery, if there is one, that pages were written.
    pub(crate) fn record_written(&mut self, pages: Range<u32>) {
        if let Some(StoredDrive { battery: Some(battery), .. }) = &mut self.stored {
            battery.forget_written(pages);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set_disk_full(device: &Device, is_full: bool) {
        device.stored.as_ref().unwrap().image.medium().files.is_disk_full = is_full;
    }

    /// A recovery that has to write can be completed in memory.
    #[test]
    fn drive_on_full_disk_recovers_to_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let text = DRIVE.replace("reclaim = \"free_pool\"", "structure = \"lazyftl\"");
        let scenario: Scenario = toml::from_str(&text).unwrap();
        let (mut device, _) = Device::in_image(&scenario, folder.path()).unwrap();
        let pages = device.bytes() / 4096;
        let mut wanted = vec![0; device.bytes() as usize];
        let mut number = 0u64;
        while device.failure().is_none() {
            assert!(number < 10_000, "no recovery had to write");
            for _ in 0..100 {
                number += 1;
                let at = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20) % pages * 4096;
                device.write(at, &[number as u8; 4096]).unwrap();
                wanted[at as usize..][..4096].fill(number as u8);
            }
            set_disk_full(&device, true);
            assert!(device.cut_power(PowerCut { after: 0, torn: false }).unwrap().is_some());
            set_disk_full(&device, false);
        }
        let mut found = vec![0; wanted.len()];
        device.read(0, &mut found).unwrap();
        assert!(found == wanted);
        assert!(device.write(0, &[1; 4096]).unwrap_err().is_full());
        assert!(device.trim(0, 4096).unwrap_err().is_full());
        device.flush().unwrap();
        drop(device);
        let (mut device, _) = Device::in_image(&scenario, folder.path()).unwrap();
        device.read(0, &mut found).unwrap();
        assert!(found == wanted);
        device.write(0, &[1; 4096]).unwrap();
        assert_eq!(device.failure(), None);
    }

    const DRIVE: &str = "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\npage_size = 4096\n\
        [ftl]\nreclaim = \"free_pool\"\n";

    #[test]
    fn writes_on_full_disk_return_storage_full_and_are_reported_once() {
        let folder = tempfile::tempdir().unwrap();
        let scenario: Scenario = toml::from_str(DRIVE).unwrap();
        let (mut device, _) = Device::in_image(&scenario, folder.path()).unwrap();
        device.write(0, &[1; 4096]).unwrap();
        device.flush().unwrap();
        assert_eq!((device.failure(), device.take_problems()), (None, Vec::new()));
        set_disk_full(&device, true);
        for page in [1, 2] {
            let error = device.write(page * 4096, &[2; 4096]).unwrap_err();
            assert!(error.is_full(), "{error}");
        }
        assert!(device.flush().unwrap_err().is_full());
        assert!(device.failure().unwrap().contains("the flash of the image has failed"));
        let problems = device.take_problems();
        assert!(problems.len() == 2 && problems[0].contains("a write has failed"), "{problems:?}");
        assert!(problems[1].contains("a flush has failed"), "{problems:?}");
        assert_eq!(device.take_problems(), Vec::<String>::new());
        drop(device);
        let (mut device, _) = Device::in_image(&scenario, folder.path()).unwrap();
        let mut found = [0; 3 * 4096];
        device.read(0, &mut found).unwrap();
        assert_eq!([found[0], found[4096], found[8192]], [1, 0, 0]);
        device.write(4096, &[3; 4096]).unwrap();
        assert_eq!(device.failure(), None);
    }
}
