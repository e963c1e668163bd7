//! A device that several use at the same time.

use crate::device::Device;
use crate::error::DeviceError;
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

    /// Does something with the device, once nobody else does. How long it is waited for counts to the latency of what is done.
    ///
    /// # Errors
    /// Those of `work`, and [`DeviceError::Ended`] after [`SharedDevice::take`].
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        let asked = Instant::now();
        // Between two requests it is whole, whatever became of a thread that used it.
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let device = device.as_mut().ok_or(DeviceError::Ended)?;
        device.was_asked(asked, self.hint);
        work(device)
    }

    /// Takes the device, once nobody uses it: whoever asks for something later is refused. `None` if somebody took it before.
    pub fn take(&self) -> Option<Device> {
        self.device.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
