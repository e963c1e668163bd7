//! Predicted and measured life of a drive.

use serde::{Deserialize, Serialize};

/// Predicted life of the drive, from its endurance and the measured amplification.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lifetime {
    /// Program/erase cycles that a block endures.
    pub endurance_cycles: u32,
    /// Bytes the host can write with even wear, `physical bytes x cycles / write amplification`, in units of 10^12
    /// bytes.
    pub tbw: f64,
    /// Bytes the host can write until the first block wears out, in units of 10^12 bytes, if wear stays as uneven as it
    /// was since the drive was new.
    pub tbw_first_block: Option<f64>,
    /// Drive writes per day over the warranty, from `tbw`.
    pub dwpd: f64,
    /// Bytes that the trace writes per day by its own timestamps, in units of 10^9; only for a single trace with
    /// timestamps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_gb_per_day: Option<f64>,
    /// Seconds from the trace's first request to its last; basis of `trace_gb_per_day`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_seconds: Option<f64>,
    /// Years until `tbw` is written at the trace's rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub years: Option<f64>,
}

/// Days in a year.
pub(super) const DAYS_PER_YEAR: f64 = 365.25;

impl Lifetime {
    /// Returns the years in which `bytes` are written at `bytes_per_day`.
    pub fn years(bytes: f64, bytes_per_day: f64) -> f64 {
        bytes / bytes_per_day / DAYS_PER_YEAR
    }
}

/// The measured life of a drive, ended by worn-out blocks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredLife {
    /// Blocks that wore out.
    pub blocks: u32,
    /// Bytes that the host had written when these blocks had worn out, in units of 10^12 bytes.
    pub tbw: f64,
    /// True if the drive could accept no more writes.
    pub end_of_life: bool,
}
