//! Errors of this crate.

use std::io;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::LayerError;

/// Problem that prevents the use of an image.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ImageError {
    path: String,
    problem: String,
}

impl ImageError {
    /// Builds the error for a problem with a file or a folder.
    pub(crate) fn new(at: &Path, problem: impl Into<String>) -> Self {
        ImageError { path: at.display().to_string(), problem: problem.into() }
    }
}

/// Reason why a request failed.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The request goes beyond the end of the device.
    #[error("bytes {offset} to {end} of a device of {bytes}")]
    OutOfRange {
        /// First byte of the request.
        offset: u64,
        /// End of the request (exclusive).
        end: u128,
        /// Size of the device in bytes.
        bytes: u64,
    },
    /// The stack refused the request, because the drive is at its end of life or because of the rules for zones.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The storage of the contents failed.
    #[error(transparent)]
    Content(#[from] io::Error),
    /// Power was cut during the request. The drive has recovered and accepts requests again.
    #[error("power was lost before this was done")]
    PowerLost,
    /// The device cannot simulate a power cut.
    #[error("the drive has no flash to recover from: serve it with an image of its flash")]
    NoFlash,
    /// The image could not be read or written, or its drive did not recover after a power cut.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The stack returned a different content for a page than was written, which is a bug in Wearwell.
    #[error(
        "the flash returned another content for page {page} than was written; this is a defect, please report it"
    )]
    Astray {
        /// Logical page number.
        page: u32,
    },
    /// The device is no longer served.
    #[error("the device is served no more")]
    Ended,
}

impl DeviceError {
    /// True if there is no free space for the content of a write.
    pub fn is_full(&self) -> bool {
        matches!(self, DeviceError::Content(error) if error.kind() == io::ErrorKind::StorageFull)
    }
}

/// Reason why a device could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The scenario does not describe a live drive.
    #[error(transparent)]
    Scenario(#[from] ConfigError),
    /// The image cannot be used.
    #[error(transparent)]
    Image(#[from] ImageError),
}
