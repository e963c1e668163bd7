//! A run beside what the drive's data sheet lets the host write.

use crate::device::{Rating, ResolvedDevice};
use serde::{Deserialize, Serialize};

/// What the data sheet lets the host write, and what the run says of it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatingResult {
    /// The data sheet's TBW, in units of 10^12 bytes.
    pub tbw: f64,
    /// Drive writes per day that this allows over the warranty.
    pub dwpd: Option<f64>,
    /// Years of warranty.
    pub warranty_years: Option<f64>,
    /// What the host can write by the run's write amplification, over the data sheet's TBW: below 1, the flash is worn out first.
    pub life_ratio: Option<f64>,
    /// The write amplification up to which the flash endures the data sheet's TBW.
    pub write_amplification_limit: Option<f64>,
    /// Years until the data sheet's TBW is written at the trace's own rate.
    pub years: Option<f64>,
}

impl RatingResult {
    /// Of a drive with `rating`, to which a run foretells that the host can write `tbw`, in units of 10^12 bytes; without `years`.
    pub(super) fn of(rating: &Rating, device: &ResolvedDevice, tbw: Option<f64>) -> Self {
        let media_bytes =
            device.endurance_cycles.map(|cycles| device.geometry.bytes() as f64 * f64::from(cycles));
        RatingResult {
            tbw: rating.tbw,
            dwpd: rating.dwpd,
            warranty_years: rating.warranty_years,
            life_ratio: tbw.map(|tbw| tbw / rating.tbw),
            write_amplification_limit: media_bytes.map(|bytes| bytes / (rating.tbw * 1e12)),
            years: None,
        }
    }
}
