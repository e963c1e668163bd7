//! A device that several use at the same time.

use crate::device::Device;
use crate::error::DeviceError;
use crate::pacing::{Owed, Wait};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// A device that several doors, and all who came in by them, use; one request at a time.
#[derive(Clone)]
pub struct SharedDevice {
    device: Arc<Mutex<Option<Device>>>,
    /// The stream hint of what is written by way of this.
    hint: u16,
}

impl SharedDevice {
    /// Shares it.
    pub fn new(device: Device) -> Self {
        SharedDevice { device: Arc::new(Mutex::new(Some(device))), hint: 0 }
    }

    /// The same device for somebody whose writes carry a stream hint, below [`Device::placement_handles`].
    pub fn with_hint(&self, hint: u16) -> Self {
        SharedDevice { device: self.device.clone(), hint }
    }

    /// Does something with the device, once nobody else does. How long it is waited for counts to the latency of what is done. Of a device that
    /// answers at the speed of its drive it returns when the drive would have answered.
    ///
    /// # Errors
    /// Those of `work`, and [`DeviceError::Ended`] after [`SharedDevice::take`].
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let (done, owed) = self.done(work)?;
        if let Some(owed) = owed {
            self.wait(&owed);
        }
        done
    }

    /// Does it, and says what is owed for that.
    fn done<T>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T, DeviceError>,
    ) -> Result<(Result<T, DeviceError>, Option<Owed>), DeviceError> {
        let asked = Instant::now();
        // Between two requests it is whole, whatever became of a thread that used it.
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let device = device.as_mut().ok_or(DeviceError::Ended)?;
        device.was_asked(asked, self.hint);
        let done = work(device);
        Ok((done, device.owed()))
    }

    /// Waits until what was done would have been done by the drive, without keeping others from it.
    fn wait(&self, owed: &Owed) {
        loop {
            let wait = match self.device.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                Some(device) => device.wait(owed),
                None => return,
            };
            match wait {
                Wait::Over => return,
                Wait::Until(time) | Wait::AskAgain(time) => {
                    std::thread::sleep(time.saturating_duration_since(Instant::now()));
                }
            }
        }
    }

    /// Refuses a drive of zones, of which whoever comes by some doors could know nothing.
    pub(crate) fn check_has_no_zones(&self) -> io::Result<()> {
        match self.with(|device| Ok(device.zones())).map_err(io::Error::other)? {
            None => Ok(()),
            Some(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a zoned drive is written zone by zone, in order, and nobody would hear of that here; serve it as files, by FUSE, or put a log on it",
            )),
        }
    }

    /// Takes the device, once nobody uses it: whoever asks for something later is refused. `None` if somebody took it before.
    pub fn take(&self) -> Option<Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
