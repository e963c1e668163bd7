//! Preconditioning of a drive, and the length of warm-up and measurement.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;

/// Preconditioning: pages written before the workload begins.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// Initial fill of the logical space.
    #[serde(default)]
    pub fill: Fill,
    /// Uniformly random page writes after the fill, in multiples of the logical capacity.
    #[serde(default)]
    pub random_overwrites: f64,
    /// Pages of each write request of the fill and of the random overwrites.
    #[serde(default = "default_request_pages")]
    pub request_pages: u32,
}

fn default_request_pages() -> u32 {
    1
}

impl Default for Precondition {
    fn default() -> Self {
        Precondition {
            fill: Fill::Sequential,
            random_overwrites: 0.0,
            request_pages: default_request_pages(),
        }
    }
}

/// Initial fill of the logical space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Fill {
    /// Every page once, in order.
    #[default]
    Sequential,
    /// No fill: the drive is fresh, as after a secure erase or a full TRIM.
    None,
}

/// Length of warm-up and measurement. Times are in drive writes: multiples of the logical capacity, written by the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Drive writes before measuring, rounded up to whole windows; for a trace, to whole passes. If not given, the run warms
    /// up until it is steady.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up: Option<f64>,
    /// Limit of the warm-up, in drive writes: a run that is still unsteady is then measured anyway, with a warning.
    #[serde(default = "default_max_warm_up")]
    pub max_warm_up: f64,
    /// Tolerance of the steady-state test. A run is steady if the fitted line of write amplification changes by at most
    /// this fraction over the second half of the warm-up so far. A trace is steady if its last three passes differ by
    /// at most this fraction.
    #[serde(default = "default_tolerance")]
    pub tolerance: f64,
    /// Drive writes to measure, rounded up to whole windows; for a trace, to whole passes as well.
    #[serde(default = "default_drive_writes")]
    pub drive_writes: f64,
    /// Traces only: minimum number of whole passes to measure; default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub passes: Option<u32>,
    /// Drive writes in one window of the time series. A window ends early at the end of a pass through a trace.
    #[serde(default = "default_window")]
    pub window: f64,
    /// Run until this many blocks have worn out, and report the measured life. Needs `device.wears_out`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_worn_out_blocks: Option<u32>,
    /// Years of warranty, over which drive writes per day are stated.
    #[serde(default = "default_warranty_years")]
    pub warranty_years: f64,
}

fn default_max_warm_up() -> f64 {
    100.0
}
fn default_tolerance() -> f64 {
    0.01
}
fn default_drive_writes() -> f64 {
    4.0
}
fn default_window() -> f64 {
    0.1
}
fn default_warranty_years() -> f64 {
    5.0
}

impl Default for Measure {
    fn default() -> Self {
        Measure {
            warm_up: None,
            max_warm_up: default_max_warm_up(),
            tolerance: default_tolerance(),
            drive_writes: default_drive_writes(),
            passes: None,
            window: default_window(),
            until_worn_out_blocks: None,
            warranty_years: default_warranty_years(),
        }
    }
}

/// Refuses impossible lengths. `wears_out` is true if blocks go bad when they reach their endurance.
pub(crate) fn check(
    measure: &Measure,
    precondition: &Precondition,
    wears_out: bool,
) -> Result<(), ConfigError> {
    let Measure { warm_up, max_warm_up, tolerance, drive_writes, window, warranty_years, .. } = *measure;
    let positive = [
        ("measure.max_warm_up", max_warm_up),
        ("measure.tolerance", tolerance),
        ("measure.drive_writes", drive_writes),
        ("measure.window", window),
        ("measure.warranty_years", warranty_years),
    ];
    let not_negative = [
        ("measure.warm_up", warm_up.unwrap_or(0.0)),
        ("precondition.random_overwrites", precondition.random_overwrites),
    ];
    let error = |(key, value): (&str, f64), allowed: &str| {
        Err(ConfigError::new(key, format!("is {value}; it must be {allowed}")))
    };
    if let Some(&bad) = positive.iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
        return error(bad, "a number above 0");
    }
    if let Some(&bad) = not_negative.iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
        return error(bad, "a number, 0 or above");
    }
    if precondition.request_pages == 0 {
        return Err(ConfigError::new("precondition.request_pages", "is 0; a request has at least one page"));
    }
    match measure.until_worn_out_blocks {
        Some(0) => {
            Err(ConfigError::new("measure.until_worn_out_blocks", "is 0; at least one block has to wear out"))
        }
        Some(_) if !wears_out => Err(ConfigError::new(
            "measure.until_worn_out_blocks",
            "needs `device.wears_out = true`, or no block ever will",
        )),
        _ => Ok(()),
    }
}

/// Page writes of the longest run: ten million a second for three years.
const MAX_PAGES: f64 = 1e15;

/// Refuses lengths that do not suit a drive with `logical_pages` pages: phases longer than any feasible run, and
/// windows of less than a page.
pub(crate) fn check_pages(
    measure: &Measure,
    precondition: &Precondition,
    logical_pages: u32,
) -> Result<(), ConfigError> {
    let lengths = [
        ("precondition.random_overwrites", precondition.random_overwrites),
        ("measure.warm_up", measure.warm_up.unwrap_or(0.0)),
        // With `until_worn_out_blocks`, the run ends with the wear of the blocks, not after `drive_writes`.
        ("measure.drive_writes", measure.until_worn_out_blocks.map_or(measure.drive_writes, |_| 0.0)),
        ("measure.window", measure.window),
    ];
    let max_drive_writes = MAX_PAGES / f64::from(logical_pages.max(1));
    if let Some((key, value)) = lengths.into_iter().find(|(_, value)| *value > max_drive_writes) {
        let problem =
            format!("is {value:?}; a run of this drive takes at most {max_drive_writes:.2e} drive writes");
        return Err(ConfigError::new(key, problem));
    }
    check_window(measure, logical_pages)
}

fn check_window(measure: &Measure, logical_pages: u32) -> Result<(), ConfigError> {
    let min_window = 1.0 / f64::from(logical_pages.max(1));
    if measure.window >= min_window {
        return Ok(());
    }
    let problem = format!(
        "is {}; a window of this drive has at least a page, {min_window:.2e} drive writes",
        measure.window
    );
    Err(ConfigError::new("measure.window", problem))
}
