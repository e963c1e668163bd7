//! How many files, and what is a sound setting.

use crate::api::BLOCK_BYTES;
use std::fmt::Display;
use wearwell_base::config::ConfigError;

/// Share of the capacity that files take where nothing else is said: the middle of the paper's "medium disk utilizations
/// (50%-70%)" (section IV-D).
pub(super) const UTILISATION: f64 = 0.6;
/// "For all the workloads, the IO request size is 4KB" (section IV-B).
pub(super) const REQUEST_BYTES: u32 = BLOCK_BYTES as u32;

pub(super) fn request_bytes() -> u32 {
    REQUEST_BYTES
}

/// Passes if `holds`, and otherwise blames `key`.
pub(super) fn require(holds: bool, key: &str, value: impl Display, allowed: &str) -> Result<(), ConfigError> {
    if holds { Ok(()) } else { Err(ConfigError::new(key, format!("is {value}; it {allowed}"))) }
}

/// A share that may be anything from 0 to 1.
pub(super) fn require_ratio(key: &str, value: f64) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&value), key, value, "must lie from 0 to 1")
}

/// Requests of this size: at least a byte, at most 1 GiB.
pub(super) fn require_request(bytes: u32) -> Result<(), ConfigError> {
    require((1..=1 << 30).contains(&bytes), "request_bytes", bytes, "must lie from 1 to 2^30")
}

/// Bytes to fill: a share of `capacity_bytes`.
pub(super) fn share_of(capacity_bytes: u64, utilisation: Option<f64>) -> Result<f64, ConfigError> {
    let share = utilisation.unwrap_or(UTILISATION);
    require(share > 0.0 && share <= 1.0, "utilisation", share, "must be above 0 and at most 1")?;
    Ok(share * capacity_bytes as f64)
}

/// How many files of `mean_bytes` each: as given, or as fill the share `utilisation` of the capacity.
///
/// A file of random length wastes half a block on average. Errors: both are given, or there is no whole file or too many.
pub(super) fn number_of_files(
    files: Option<u32>,
    utilisation: Option<f64>,
    capacity_bytes: u64,
    mean_bytes: f64,
) -> Result<u32, ConfigError> {
    let number = match (files, utilisation) {
        (Some(_), Some(_)) => return Err(both("files")),
        (Some(files), None) => f64::from(files),
        (None, _) => share_of(capacity_bytes, utilisation)? / (mean_bytes + (BLOCK_BYTES / 2) as f64),
    };
    require((1.0..=1e9).contains(&number), "files", number.floor(), "must lie from 1 to 10^9")?;
    Ok(number as u32)
}

/// The error of a size that is given twice.
pub(super) fn both(key: &str) -> ConfigError {
    ConfigError::new(key, "is given, and `utilisation` too; one of them decides")
}
