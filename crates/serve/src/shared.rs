//! A device that several use at the same time.

use crate::device::Device;
use crate::error::DeviceError;
use std::sync::{Arc, Mutex, PoisonError};

/// A device that several doors, and all who came in by them, use; one request at a time.
#[derive(Clone)]
pub struct SharedDevice(Arc<Mutex<Option<Device>>>);

impl SharedDevice {
    /// Shares it.
    pub fn new(device: Device) -> Self {
        SharedDevice(Arc::new(Mutex::new(Some(device))))
    }

    /// Does something with the device, once nobody else does.
    ///
    /// # Errors
    /// Those of `work`, and [`DeviceError::Ended`] after [`SharedDevice::take`].
    pub fn with<T>(
        &self,
        work: impl FnOnce(&mut Device) -> Result<T, DeviceError>,
    ) -> Result<T, DeviceError> {
        // Between two requests it is whole, whatever became of a thread that used it.
        let mut device = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        device.as_mut().map_or(Err(DeviceError::Ended), work)
    }

    /// Takes the device, once nobody uses it: whoever asks for something later is refused. `None` if somebody took it before.
    pub fn take(&self) -> Option<Device> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
