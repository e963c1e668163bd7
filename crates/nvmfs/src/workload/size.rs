//! Calculation of the number of files, and validation of settings.

use crate::api::BLOCK_BYTES;
use std::fmt::Display;
use wearwell_base::config::ConfigError;

/// Default fraction of the capacity that files use: the middle of the paper's "medium disk utilizations
/// (50%-70%)" (section IV-D).
pub(super) const UTILISATION: f64 = 0.6;
/// "For all the workloads, the IO request size is 4KB" (section IV-B).
pub(super) const REQUEST_BYTES: u32 = BLOCK_BYTES as u32;

pub(super) fn request_bytes() -> u32 {
    REQUEST_BYTES
}

/// Returns an error about `key` unless `holds` is true.
pub(super) fn require(holds: bool, key: &str, value: impl Display, allowed: &str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::new(key, format!("is {value}; it {allowed}"))) }
}

/// Checks that a fraction is between 0 and 1.
pub(super) fn require_ratio(key: &str, value: f64) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&value), key, value, "must lie from 0 to 1")
}

/// Checks the size of requests: at least 1 byte and at most 1 GiB.
pub(super) fn require_request(bytes: u32) -> Result<(), ConfigError> {
    require((1..=1 << 30).contains(&bytes), "request_bytes", bytes, "must lie from 1 to 2^30")
}

/// Returns the number of bytes to fill: a fraction of `capacity_bytes`.
pub(super) fn share_of(capacity_bytes: u64, utilisation: Option<f64>) -> Result<f64, ConfigError> {
    let share = utilisation.unwrap_or(UTILISATION);
    require(share > 0.0 && share <= 1.0, "utilisation", share, "must be above 0 and at most 1")?;
    Ok(share * capacity_bytes as f64)
}

/// Returns the number of files of `mean_bytes` each: the given number, or as many as fill the fraction `utilisation`
/// of the capacity.
///
/// A file of random length leaves half a block unused on average. Errors: both settings are given, or the result is
/// less than one file or too many files.
pub(super) fn number_of_files(
    files: Option<u32>,
    utilisation: Option<f64>,
    capacity_bytes: u64,
    mean_bytes: f64,
) -> Result<u32, ConfigError> {
    let number = match (files, utilisation) {
        (Some(_), Some(_)) => return Err(given_twice("files")),
        (Some(files), None) => f64::from(files),
        (None, _) => share_of(capacity_bytes, utilisation)? / (mean_bytes + (BLOCK_BYTES / 2) as f64),
    };
    require((1.0..=1e9).contains(&number), "files", number.floor(), "must lie from 1 to 10^9")?;
    Ok(number as u32)
}

/// Returns the error for a size that two settings give.
pub(super) fn given_twice(key: &str) -> ConfigError {
    ConfigError::new(key, "is given, and `utilisation` too; one of them decides")
}
