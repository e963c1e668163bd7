//! Code that the experiments on stacked logs share: a log on an FTL, and the figures of its run.

use crate::Failure;
use crate::interval::Interval;
use crate::replicas::{amplification, run_each, scenario};
use crate::session::Session;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use wearwell_stack::{LayerResult, RunResult, Scenario};

/// Page size in KiB.
pub const PAGE_KIB: u32 = 4;

/// Numbers that the paper does not give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssumedValues {
    /// Zipf exponent of the synthetic substitute for TPC-E.
    exponent: f64,
    /// Number of pages per request.
    request_pages: u32,
    /// Capacity of the FTL in MiB.
    ftl_mib: u32,
    /// Factor for the warm-up in drive writes.
    warm_up: f64,
    /// Spare factor of the FTL.
    pub ftl_spare: f64,
}

impl AssumedValues {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Self, Failure> {
        let value_of = |name: &str| session.assumed_value(&format!("log_on_log/{name}"));
        Ok(AssumedValues {
            exponent: value_of("tpce-zipf")?,
            request_pages: value_of("request-pages")? as u32,
            ftl_mib: value_of("shown-mib")? as u32,
            warm_up: value_of("warm-up")?,
            ftl_spare: value_of("ftl-spare")?,
        })
    }
}

impl Default for AssumedValues {
    fn default() -> Self {
        AssumedValues { exponent: 0.8, request_pages: 2, ftl_mib: 512, warm_up: 1.0, ftl_spare: 0.1 }
    }
}

/// Assumed numbers for loads that are not in the paper.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SkewedLoad {
    /// Zipf exponent.
    exponent: f64,
    /// Factor for the warm-up in drive writes.
    pub warm_up: f64,
}

impl SkewedLoad {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Self, Failure> {
        let value_of = |name: &str| session.assumed_value(&format!("log_on_log/{name}"));
        Ok(SkewedLoad { exponent: value_of("zipf")?, warm_up: value_of("warm-up")? })
    }

    /// Returns the workload `toml` with the exponent in place of `ZIPF`.
    pub fn workload(&self, toml: &str) -> String {
        toml.replace("ZIPF", &format!("{:?}", self.exponent))
    }
}

/// Largest block size of the FTL in any experiment, in MiB.
const LARGEST_BLOCK_MIB: u32 = 4;

/// Workload of a stack.
#[derive(Clone, Debug, PartialEq)]
pub enum Load {
    /// Skewed random updates of 8 KiB: the synthetic substitute for TPC-E.
    Oltp,
    /// Random updates of 8 KiB without skew.
    Uniform,
    /// A replayed trace.
    Trace {
        /// Name of the load, as shown in tables.
        name: &'static str,
        /// File of the trace.
        path: PathBuf,
        /// Format of the trace.
        format: &'static str,
        /// Number of MiB that the trace accesses; the upper log has this capacity or slightly more.
        touched_mib: u32,
    },
}

impl Load {
    /// Returns the name of the load, as shown in tables.
    pub fn name(&self) -> &'static str {
        match self {
            Load::Oltp => "oltp",
            Load::Uniform => "uniform",
            Load::Trace { name, .. } => name,
        }
    }

    fn to_toml(&self, assumed: &AssumedValues) -> String {
        let AssumedValues { exponent, request_pages, .. } = assumed;
        match self {
            Load::Oltp => {
                format!(
                    "[workload]\nkind = \"zipf\"\nexponent = {exponent:?}\nscatter = true\n\
                     request_pages = {request_pages}\n"
                )
            }
            Load::Uniform => format!("[workload]\nkind = \"uniform\"\nrequest_pages = {request_pages}\n"),
            Load::Trace { path, format, .. } => {
                format!("[trace]\npath = {path:?}\nformat = {format:?}\naddress = \"compact\"\n")
            }
        }
    }
}

/// Returns the traces that are in the session's folder of traces; none without such a folder.
pub fn traces(session: &Session) -> Vec<Load> {
    let Some(folder) = session.traces() else { return Vec::new() };
    let entries = [
        ("alibaba", "alibaba-derived.csv.zst", "alibaba", 168),
        ("mysql", "blkreplay-linux-mysql.load.zst", "blkreplay", 557),
    ];
    let load = |(name, file, format, touched_mib)| {
        let path = folder.join(file);
        path.is_file().then_some(Load::Trace { name, path, format, touched_mib })
    };
    entries.into_iter().filter_map(load).collect()
}

/// A log on an FTL, with its workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Segment size of the log.
    pub upper_kib: u32,
    /// Block size of the FTL.
    pub lower_kib: u32,
    /// Reserve of the log, as a share of the capacity of the FTL.
    pub upper_spare: f64,
    /// Reserve of the FTL, as a share of the flash.
    pub lower_spare: f64,
    /// TRIM setting of the log, in TOML.
    pub trim: String,
    /// Placements of the log and the FTL, in TOML.
    pub placements: [String; 2],
    /// Number of erased segments at which the log starts to clean, and number of erased blocks at which the FTL starts
    /// to clean; the engine's defaults unless given.
    pub low_watermarks: [Option<u32>; 2],
    /// Load of the stack.
    pub load: Load,
    /// Assumed values.
    pub assumed: AssumedValues,
}

impl Setting {
    /// Returns a setting with equal segment and block sizes on the assumed FTL.
    pub fn new(assumed: AssumedValues) -> Self {
        Setting {
            upper_kib: 256,
            lower_kib: 256,
            upper_spare: 0.1,
            lower_spare: assumed.ftl_spare,
            trim: "true".to_owned(),
            placements: ["\"single\"", "\"single\""].map(str::to_owned),
            low_watermarks: [None, None],
            load: Load::Oltp,
            assumed,
        }
    }

    /// Returns the MiB of flash under a trace. They are whole blocks for any block size in the experiments, and the
    /// capacity of the log is 2 % above the extent of the trace.
    fn flash_mib(&self) -> Option<u32> {
        let Load::Trace { touched_mib, .. } = self.load else { return None };
        let capacity = (1.02 * f64::from(touched_mib) / (1.0 - self.upper_spare)).ceil() + 4.0;
        Some(((capacity / (1.0 - self.lower_spare)).ceil() as u32).next_multiple_of(LARGEST_BLOCK_MIB))
    }

    /// Returns the capacity of the FTL in MiB.
    pub fn ftl_mib(&self) -> u32 {
        let capacity = |flash| (f64::from(flash) * (1.0 - self.lower_spare)) as u32;
        self.flash_mib().map_or(self.assumed.ftl_mib, capacity)
    }

    /// Returns the scenario. The run has `length` times the duration that the rule gives.
    pub fn scenario(&self, length: f64) -> Result<Scenario, Failure> {
        let (warm_up, measured) = (6.0 * self.assumed.warm_up * length, 3.0 * length);
        let watermark_toml = |low: u32| format!("free_blocks_low = {low}");
        let capacity = || format!("capacity = \"{} MiB\"", self.assumed.ftl_mib);
        let size = self.flash_mib().map_or_else(capacity, |flash| format!("raw_capacity = \"{flash} MiB\""));
        let [upper_pool, lower_pool] =
            self.low_watermarks.map(|low| low.map(watermark_toml).unwrap_or_default());
        let Setting { upper_kib, upper_spare, lower_spare, trim, placements: [upper, lower], .. } = self;
        scenario(&format!(
            r#"
            [device]
            {size}
            spare_factor = {lower_spare:?}
            pages_per_block = {}
            [ftl]
            placement = {lower}
            {lower_pool}
            [[log]]
            segment_size = "{upper_kib} KiB"
            spare_factor = {upper_spare:?}
            placement = {upper}
            trim = {trim}
            {upper_pool}
            {}
            [precondition]
            random_overwrites = 1.0
            [measure]
            warm_up = {warm_up:?}
            drive_writes = {measured:?}
            window = 0.5
            "#,
            self.lower_kib / PAGE_KIB,
            self.load.to_toml(&self.assumed),
        ))
    }
}

/// Figures of one run. Numbers of copied pages are per host page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Total combined write amplification.
    pub total: f64,
    /// Write amplification of the log.
    pub upper: f64,
    /// Write amplification of the FTL; 1 without cleaning.
    pub lower: f64,
    /// Number of blocks of the FTL that lose pages to one trimmed range.
    pub scatter: Option<f64>,
    /// Share of the FTL's incoming pages that directly follow the previous page.
    pub sequential: f64,
    /// Share of sequential pages if eight streams are distinguished.
    pub stream_sequential: f64,
    /// Mean length in pages of sequential runs of incoming pages.
    pub run_pages: f64,
    /// Number of pages copied by the FTL that the FTL had already copied before.
    pub moved_again: f64,
    /// Number of pages copied by the log after the FTL had copied them.
    pub moved_by_both: f64,
    /// Number of pages copied by the FTL.
    pub lower_copies: f64,
    /// Number of pages that cleaning wrote to a stream other than the chosen stream, on both layers together.
    pub spilled: f64,
    /// Trimmed pages that were rewritten before the TRIM, or were not aligned, as a share of all pages to trim.
    #[serde(rename = "trims_lost")]
    pub lost_trim_share: f64,
}

impl Outcome {
    fn from_result(result: &RunResult) -> Result<Self, Failure> {
        let total = amplification(result)?;
        let [log, ftl] = &result.layers[..] else { return Err("a log on an FTL has two layers".into()) };
        let arrivals = ftl.arrivals.ok_or("nothing arrived at the FTL")?;
        let host = result.phases.measured_host_pages as f64;
        let per_host = |pages: Option<u64>| pages.unwrap_or(0) as f64 / host;
        let upper = log.write_amplification.unwrap_or(1.0);
        let trims = log.trims.ok_or("the log counts its trims")?;
        let lost = (trims.overtaken_pages + trims.unaligned_pages) as f64;
        Ok(Outcome {
            total,
            upper,
            lower: total / upper,
            scatter: ftl.trim_scatter_blocks,
            sequential: arrivals.sequential_share,
            stream_sequential: arrivals.stream_sequential_share,
            run_pages: arrivals.run_pages_mean,
            moved_again: per_host(ftl.moved_again_pages),
            moved_by_both: per_host(log.moved_below_first_pages),
            lower_copies: copied_pages(ftl) as f64 / host,
            spilled: (log.spilled_pages + ftl.spilled_pages) as f64 / host,
            lost_trim_share: lost / (trims.sent_pages as f64 + lost).max(1.0),
        })
    }
}

fn copied_pages(layer: &LayerResult) -> u64 {
    layer.outgoing.get("cleaning").and_then(|amounts| amounts.get("write")).copied().unwrap_or(0)
}

/// A setting with its runs.
#[derive(Clone, Debug)]
pub struct Case {
    /// Setting of the runs.
    pub setting: Setting,
    /// Outcomes, one per seed.
    pub outcomes: Vec<Outcome>,
}

impl Case {
    /// Returns the mean of `field` over the runs.
    pub fn interval(&self, field: impl Fn(&Outcome) -> f64) -> Interval {
        Interval::from_values(&self.outcomes.iter().map(field).collect::<Vec<_>>())
    }

    /// Returns the total combined write amplification.
    pub fn total(&self) -> f64 {
        self.interval(|outcome| outcome.total).mean
    }

    /// Returns the number of blocks that lose pages to one trimmed range; NaN without TRIMs.
    pub fn scatter(&self) -> f64 {
        self.interval(|outcome| outcome.scatter.unwrap_or(f64::NAN)).mean
    }
}

/// Runs all settings with the seeds 1, 2, …
pub fn run_settings(session: &Session, settings: Vec<Setting>) -> Result<Vec<Case>, Failure> {
    let scenarios =
        settings.iter().map(|setting| setting.scenario(session.length)).collect::<Result<Vec<_>, _>>()?;
    let outcomes = run_each(session, &scenarios, "outcome of two logs", Outcome::from_result)?;
    Ok(settings.into_iter().zip(outcomes).map(|(setting, outcomes)| Case { setting, outcomes }).collect())
}

/// Formats a size, such as `64 KiB` or `1 MiB`.
pub fn size(kib: u32) -> String {
    if kib.is_multiple_of(1024) { format!("{} MiB", kib / 1024) } else { format!("{kib} KiB") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::tests::with_session;

    #[test]
    fn register_equals_the_default_settings() {
        let values = with_session(1, 1.0, |session| {
            (AssumedValues::from_session(session).unwrap(), SkewedLoad::from_session(session).unwrap())
        });
        assert_eq!(values, (AssumedValues::default(), SkewedLoad { exponent: 0.9, warm_up: 1.0 }));
        assert_eq!(values.1.workload("exponent = ZIPF"), "exponent = 0.9");
    }

    #[test]
    fn lower_log_copies_nothing_with_matching_segments() {
        let setting = Setting { upper_kib: 1024, lower_kib: 1024, ..Setting::new(AssumedValues::default()) };
        let cases = with_session(2, 0.1, |session| run_settings(session, vec![setting]).unwrap());
        assert_eq!(cases[0].scatter(), 1.0);
        assert_eq!(cases[0].interval(|outcome| outcome.lower_copies).mean, 0.0);
        assert_eq!((size(64), size(2048)), ("64 KiB".to_owned(), "2 MiB".to_owned()));
    }
}
