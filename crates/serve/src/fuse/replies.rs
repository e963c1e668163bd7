//! Error codes for the kernel, used for the file of a disk and for the files of zones.

use crate::error::DeviceError;
use std::io;
use wearwell_engine::layer::LayerError;
use wearwell_fuse::fuser::Errno;

/// Returns the errno of a device error.
pub fn errno(error: DeviceError) -> Errno {
    match error {
        DeviceError::OutOfRange { .. } => Errno::EINVAL,
        // zonefs returns the same error codes.
        DeviceError::Layer(LayerError::NotSequential { .. } | LayerError::PartialReset { .. }) => {
            Errno::EINVAL
        }
        DeviceError::Layer(LayerError::TooManyOpenZones { .. }) => Errno::EBUSY,
        DeviceError::Content(problem) if problem.kind() == io::ErrorKind::Unsupported => Errno::EOPNOTSUPP,
        error if error.is_full() => Errno::ENOSPC,
        _ => Errno::EIO,
    }
}
