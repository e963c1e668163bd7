//! Device that several threads share.

use crate::device::Device;
use crate::error::DeviceError;
use crate::pacing::{Completion, Wait};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Device that all transports and their clients share; it serves one request at a time.
#[derive(Clone)]
pub struct SharedDevice {
    device: Arc<Mutex<Option<Device>>>,
    /// Stream hint of the writes through this handle.
    hint: u16,
}

impl SharedDevice {
    /// Makes a device shareable.
    pub fn new(device: Device) -> Self {
        SharedDevice { device: Arc::new(Mutex::new(Some(device))), hint: 0 }
    }

    /// Returns a handle whose writes carry a stream hint, which must be below [`Device::placement_handles`].
    pub fn with_hint(&self, hint: u16) -> Self {
        SharedDevice { device: self.device.clone(), hint }
    }

    /// Runs `work` with exclusive access to the device. The time to wait for access is part of the latency. With a
    /// timed device, returns when the simulated drive would have answered.
    ///
    /// # Errors
    /// The errors of `work`, and [`DeviceError::Ended`] after [`SharedDevice::take`].
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let (done, completion) = self.run(work)?;
        if let Some(completion) = completion {
            self.wait(&completion);
        }
        done
    }

    /// Runs `work`, and returns the completion for which the caller must wait.
    fn run<T>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T, DeviceError>,
    ) -> Result<(Result<T, DeviceError>, Option<Completion>), DeviceError> {
        let started = Instant::now();
        // A poisoned lock is harmless: the device is consistent between requests.
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let device = device.as_mut().ok_or(DeviceError::Ended)?;
        device.begin_request(started, self.hint);
        let done = work(device);
        Ok((done, device.take_completion()))
    }

    /// Waits until the simulated drive would have completed the request. Other callers can use the device meanwhile.
    fn wait(&self, completion: &Completion) {
        loop {
            let wait = match self.device.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
                Some(device) => device.wait(completion),
                None => return,
            };
            match wait {
                Wait::Over => return,
                Wait::Until(time) | Wait::Recheck(time) => {
                    std::thread::sleep(time.saturating_duration_since(Instant::now()));
                }
            }
        }
    }

    /// Refuses a zoned drive, for transports that cannot express zones.
    pub(crate) fn check_has_no_zones(&self) -> io::Result<()> {
        match self.with(|device| Ok(device.zones())).map_err(io::Error::other)? {
            None => Ok(()),
            Some(_) => Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "a zoned drive is written zone by zone, in order, and nobody would hear of that here; serve it as files, by FUSE, or put a log on it",
            )),
        }
    }

    /// Takes the problems of the device, see [`Device::take_problems`]. Does not count as a request.
    pub fn take_problems(&self) -> Vec<String> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        device.as_mut().map_or_else(Vec::new, Device::take_problems)
    }

    /// Takes the device after the current request. Later requests fail. Returns `None` if the device was taken
    /// before.
    pub fn take(&self) -> Option<Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
