//! Comparison of a run with the rating in the drive's data sheet.

use crate::device::{Rating, ResolvedDevice};
use serde::{Deserialize, Serialize};

/// Rating in the data sheet, and the run's figures relative to the rating.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RatingResult {
    /// TBW in the data sheet, in units of 10^12 bytes.
    pub tbw: f64,
    /// Drive writes per day that the TBW allows over the warranty.
    pub dwpd: Option<f64>,
    /// Years of warranty.
    pub warranty_years: Option<f64>,
    /// Bytes that the host can write at the run's write amplification, over the data sheet's TBW; below 1, the flash
    /// wears out first.
    pub life_ratio: Option<f64>,
    /// Highest write amplification at which the flash endures the data sheet's TBW.
    pub write_amplification_limit: Option<f64>,
    /// Years until the data sheet's TBW is written at the trace's own rate.
    pub years: Option<f64>,
}

impl RatingResult {
    /// Compares `rating` with `tbw`, the prediction of a run in units of 10^12 bytes. Leaves `years` unset.
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
