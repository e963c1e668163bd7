//! What can go wrong.

use std::io;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::LayerError;

/// Why an image is of no use.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ImageError {
    path: String,
    problem: String,
}

impl ImageError {
    /// What is wrong with a file or a folder.
    pub(crate) fn new(at: &Path, problem: impl Into<String>) -> Self {
        ImageError { path: at.display().to_string(), problem: problem.into() }
    }
}

/// Why a request was not served.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// It goes beyond the end.
    #[error("bytes {offset} to {end} of a device of {bytes}")]
    OutOfRange {
        /// Where it begins.
        offset: u64,
        /// Where it would end.
        end: u128,
        /// Bytes of the device.
        bytes: u64,
    },
    /// The stack refused it, because the drive died.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// What holds the content failed.
    #[error(transparent)]
    Content(#[from] io::Error),
    /// Power was lost before it was done; the drive came back, and takes requests again.
    #[error("power was lost before this was done")]
    PowerLost,
    /// Its power cannot be cut.
    #[error("the drive has no flash to come back from: serve it with an image of its flash")]
    NoFlash,
    /// The image could not be read or written, or its drive did not come back.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The stack says that a page holds what it does not: a defect of Wearwell.
    #[error(
        "page {page} came back from the flash as another content than was written; this is a defect, please report it"
    )]
    Astray {
        /// The page.
        page: u32,
    },
    /// It is served no more.
    #[error("the device is served no more")]
    Ended,
}

impl DeviceError {
    /// Whether there is no room for what was to be written.
    pub fn is_full(&self) -> bool {
        matches!(self, DeviceError::Content(error) if error.kind() == io::ErrorKind::StorageFull)
    }
}

/// Why there is no device.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The scenario is of none.
    #[error(transparent)]
    Scenario(#[from] ConfigError),
    /// The image is of no use.
    #[error(transparent)]
    Image(#[from] ImageError),
}
