//! Code that the experiments on deduplication in flash share: the drive of the CAGC paper under its three traces, and
//! the figures of a run.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::session::Session;
use crate::stacks::{Stack, StackRuns, find, ftl, per_host};
use crate::table::Table;
use wearwell_engine::layer::DedupReport;
use wearwell_stack::RunResult;
use wearwell_workload::FIU_TRACES;

/// Traces by their names in scenarios, each with the share of the erases that CAGC saves according to the paper.
pub const TRACES: [(&str, f64); 3] = [("homes", 0.233), ("web_vm", 0.483), ("mail", 0.866)];

/// Over-provisioning in Table I of the paper: spare space over user space.
pub const OVER_PROVISIONING: f64 = 0.07;

/// Watermark in Table I of the paper: the share of erased blocks below which cleaning starts.
pub const WATERMARK: f64 = 0.2;

/// Deduplication method and placement.
#[derive(Clone, Debug, PartialEq)]
pub struct Scheme {
    /// Name of the scheme, as shown in tables.
    pub name: &'static str,
    /// Kind and settings of the deduplication as fields of a TOML table, without the time of a hash.
    pub dedup: &'static str,
    /// Placement in TOML.
    pub placement: &'static str,
}

/// Every page is stored; host writes and moved pages share one open block. This is the paper's Baseline.
pub const NONE: Scheme = Scheme::new("none", "kind = \"none\"", "\"single\"");
/// Every page is looked up when it is written. This is the paper's Inline-Dedupe.
pub const INLINE: Scheme = Scheme::new("inline", "kind = \"inline\"", "\"single\"");
/// Cleaning merges equal pages, and shared pages have a separate region. This is the paper's scheme.
pub const CAGC: Scheme = Scheme::new("cagc", "kind = \"cagc\"", "\"references\"");

impl Scheme {
    /// Returns a scheme with these fields.
    pub const fn new(name: &'static str, dedup: &'static str, placement: &'static str) -> Self {
        Scheme { name, dedup, placement }
    }
}

/// Numbers that neither the paper nor its traces give.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AssumedValues {
    /// Microseconds for an erase.
    erase_us: f64,
    /// Microseconds for hashing a page.
    hash_us: f64,
    /// Size of the flash in MiB, with four blocks per MiB.
    flash_mib: f64,
    /// Drive writes of warm-up.
    warm_up: f64,
    /// Share of the space that receives four fifths of the requests.
    hot_space: f64,
    /// For each trace, share of the written pages whose content is already stored at their address.
    same_content: [f64; 3],
    /// Share of duplicate pages in Web-vm.
    dedup_web_vm: f64,
    /// Factor for the share of pages whose content was written before.
    pairs: f64,
    /// Number of popular contents, as a share of the logical pages.
    popular_contents: f64,
    /// Zipf exponent of popular contents.
    exponent: f64,
    /// Lifetime of popular contents in drive writes.
    popular_lifetime: f64,
    /// Reduction of duplicates at addresses that were written recently.
    cold_duplicates: f64,
}

impl AssumedValues {
    /// Reads the values of a session.
    ///
    /// # Errors
    ///
    /// Returns an error if the register lacks a number.
    pub fn from_session(session: &Session) -> Result<Self, Failure> {
        AssumedValues::from_lookup(|name| session.assumed_value(name))
    }

    /// Reads the values of the shipped register.
    ///
    /// # Errors
    ///
    /// The errors of [`AssumedValues::from_session`].
    pub fn shipped() -> Result<Self, Failure> {
        let register = Assumptions::register();
        AssumedValues::from_lookup(|name| register.value(name))
    }

    fn from_lookup(value: impl Fn(&str) -> Result<f64, Failure>) -> Result<Self, Failure> {
        let value_of = |name: &str| value(&format!("cagc/{name}"));
        let same_content = |trace: &str| value_of(&format!("same-content-{trace}"));
        let [homes, web_vm, mail] = TRACES.map(|(trace, _)| same_content(trace));
        Ok(AssumedValues {
            erase_us: value_of("erase-us")?,
            hash_us: value_of("hash-us")?,
            flash_mib: value_of("flash-mib")?,
            warm_up: value_of("warm-up")?,
            hot_space: value_of("hot-space")?,
            same_content: [homes?, web_vm?, mail?],
            dedup_web_vm: value_of("dedup-web_vm")?,
            pairs: value_of("pairs")?,
            popular_contents: value_of("popular-contents")?,
            exponent: value_of("exponent")?,
            popular_lifetime: value_of("popular-lifetime")?,
            cold_duplicates: value_of("cold-duplicates")?,
        })
    }

    /// Returns the content settings of a trace, in TOML.
    fn content(&self, trace: &str) -> String {
        let at = TRACES.iter().position(|(name, _)| *name == trace).expect("a trace of the paper");
        let published = FIU_TRACES
            .iter()
            .find(|trace_preset| trace_preset.entry.name == trace)
            .expect("a trace of the table");
        let AssumedValues { popular_contents, exponent, popular_lifetime, cold_duplicates, .. } = *self;
        let dedup = if trace == "web_vm" { self.dedup_web_vm } else { published.content.dedup_ratio };
        format!(
            "{{ preset = {trace:?}, dedup_ratio = {dedup:?}, same_content_ratio = {same:?}, pair_ratio = {pairs:?}, \
             popular_contents = {popular_contents:?}, exponent = {exponent:?}, popular_lifetime = {popular_lifetime:?}, \
             cold_duplicates = {cold_duplicates:?} }}",
            same = self.same_content[at],
            pairs = published.content.pair_ratio * self.pairs,
        )
    }
}

/// Drive with its workload.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// Assumed values.
    pub assumed: AssumedValues,
    /// Name of the trace that gives the mix of requests.
    pub trace: &'static str,
    /// Content settings in TOML; those of the trace unless given.
    pub content: Option<String>,
    /// Deduplication scheme.
    pub scheme: Scheme,
    /// Microseconds to hash a page; the assumed value unless given.
    pub hash_us: Option<f64>,
    /// Victim policy in TOML.
    pub victim: String,
    /// Share of the user space that is in use; the capacity of the drive is reduced to this share.
    pub used_share: f64,
    /// Share of erased blocks at which cleaning starts.
    pub watermark: f64,
    /// True if cleaning, after it has started, continues until the share of erased blocks exceeds the watermark.
    /// Otherwise, it cleans single victims until the host has free pages, and blocks that a second open region takes
    /// from the pool are not regained.
    pub keeps_watermark: bool,
    /// Size of the flash in MiB.
    pub flash_mib: u32,
    /// Additional lines in `[device]`.
    pub device: &'static str,
    /// TOML tables of layers above the FTL.
    pub upper_layers: &'static str,
    /// Lines of `[timing]`; without these, a run only counts operations.
    pub timing: Option<String>,
    /// Numbers of drive writes of the warm-up and of the measurement.
    pub drive_writes: [f64; 2],
    /// Method of filling the drive before the run, in TOML.
    pub fill: &'static str,
}

/// Timing settings with one request at a time.
pub const CLOSED_LOOP: &str = "queue_depth = 1";

impl Drive {
    /// Returns the paper's drive, completely in use and filled sequentially, with greedy cleaning and one request at
    /// a time.
    pub fn new(assumed: &AssumedValues, trace: &'static str, scheme: &Scheme) -> Self {
        Drive {
            assumed: *assumed,
            trace,
            content: None,
            scheme: scheme.clone(),
            hash_us: None,
            victim: "\"greedy\"".to_owned(),
            used_share: 1.0,
            watermark: 0.0,
            keeps_watermark: true,
            flash_mib: assumed.flash_mib as u32,
            device: "dies = 2",
            upper_layers: "",
            timing: Some(CLOSED_LOOP.to_owned()),
            drive_writes: [assumed.warm_up, 3.0],
            fill: "sequential",
        }
    }

    /// Returns the stack, whose key consists of `keys`, the trace and the scheme. `length` scales the duration of the
    /// run.
    pub fn stack(&self, keys: &[&str], length: f64) -> Stack {
        let keys = keys.iter().copied().chain([self.trace, self.scheme.name]).map(str::to_owned);
        Stack { keys: keys.collect(), toml: self.toml(length) }
    }

    fn toml(&self, length: f64) -> String {
        let content = self.content.clone().unwrap_or_else(|| self.assumed.content(self.trace));
        let [warm_up, measured] = self.drive_writes.map(|drive_writes| length * drive_writes);
        // The number is at least four blocks, which is enough for the scheme with the most streams. It is equal for
        // all schemes, for a fair comparison.
        let free_blocks = ((self.watermark * f64::from(4 * self.flash_mib)).round() as u32).max(4);
        let keeps_cleaning = self.keeps_watermark && self.watermark > 0.0;
        format!(
            r#"
            content = {content}
            [device]
            preset = "z_nand"
            raw_capacity = "{flash_mib} MiB"
            over_provisioning = {over_provisioning:?}
            channels = 1
            ways = 1
            {device}
            [ftl]
            dedup = {{ {dedup}, hash_us = {hash_us:?} }}
            placement = {placement}
            victim = {victim}
            free_blocks_low = {free_blocks}
            {until}
            {above}
            [workload]
            kind = "fiu"
            trace = "{trace}"
            hot_space = {hot_space:?}
            {timing}
            [precondition]
            fill = "{fill}"
            [measure]
            warm_up = {warm_up:?}
            drive_writes = {measured:?}
            window = 0.5
            "#,
            flash_mib = self.flash_mib,
            over_provisioning = (1.0 + OVER_PROVISIONING) / self.used_share - 1.0,
            device = self.device,
            dedup = self.scheme.dedup,
            hash_us = self.hash_us.unwrap_or(self.assumed.hash_us),
            hot_space = self.assumed.hot_space,
            until = if keeps_cleaning {
                format!("free_blocks_high = {}", free_blocks + 1)
            } else {
                String::new()
            },
            placement = self.scheme.placement,
            victim = self.victim,
            above = self.upper_layers,
            trace = self.trace,
            timing = self.timing.as_ref().map_or(String::new(), |lines| format!(
                "[timing]\nstriping = \"block\"\ncontroller = \"ideal\"\nerase_us = {:?}\n{lines}",
                self.assumed.erase_us
            )),
            fill = self.fill,
        )
    }
}

/// Returns the mean response time of one kind of request in microseconds; NaN without timing.
pub fn mean_us(result: &RunResult, kind: &str) -> f64 {
    let times = result.timing.as_ref().and_then(|timing| timing.requests.get(kind));
    times.map_or(f64::NAN, |times| times.mean_ns / 1e3)
}

/// Returns the mean response time of writes in microseconds.
pub fn mean_write_us(result: &RunResult) -> f64 {
    mean_us(result, "write")
}

/// Returns the mean response time of all requests in microseconds.
pub fn mean_request_us(result: &RunResult) -> f64 {
    let Some(timing) = &result.timing else { return f64::NAN };
    let (sum, count) = timing.requests.values().fold((0.0, 0), |(sum, count), times| {
        (sum + times.mean_ns * times.requests as f64, count + times.requests)
    });
    sum / count as f64 / 1e3
}

/// Returns the 99th percentile of the response times of writes in microseconds.
pub fn write_p99_us(result: &RunResult) -> f64 {
    let times = result.timing.as_ref().and_then(|timing| timing.requests.get("write"));
    let p99 = times.and_then(|times| times.percentiles.iter().find(|point| point.percent == 99.0));
    p99.map_or(f64::NAN, |point| point.response_ns as f64 / 1e3)
}

/// Returns the deduplication statistics; `None` without deduplication.
pub fn dedup(result: &RunResult) -> Option<&DedupReport> {
    ftl(result).dedup.as_ref()
}

/// Returns the number of pages hashed per host page, in the write path and during cleaning.
pub fn hashed_pages_per_host(result: &RunResult) -> f64 {
    per_host(result, dedup(result).map_or(0, |dedup| dedup.host_hashed_pages + dedup.cleaning_hashed_pages))
}

/// Returns the number of pages per host page that were not stored, because an equal page was found during a write or
/// cleaning.
pub fn dedup_pages_per_host(result: &RunResult) -> f64 {
    per_host(result, dedup(result).map_or(0, |dedup| dedup.hits + dedup.merged_pages))
}

/// Returns the ratio of mapped logical pages to stored pages.
pub fn sharing_ratio(result: &RunResult) -> f64 {
    dedup(result).and_then(|dedup| dedup.sharing_ratio).unwrap_or(1.0)
}

/// Returns the ratio of the highest erase count of a block to the mean, since the drive was new; NaN without erases.
pub fn max_to_mean_erases(result: &RunResult) -> f64 {
    f64::from(result.wear.erases_max) / result.wear.erases_mean
}

/// Runs of a scheme under a trace, with the runs of a reference scheme.
pub struct Pair<'a> {
    /// Runs of the scheme.
    pub ours: &'a StackRuns,
    /// Runs of the reference.
    pub reference: &'a StackRuns,
}

impl<'a> Pair<'a> {
    /// Returns the runs with these keys and `trace`, under `scheme` and under `base`, which is the reference.
    pub fn find(runs: &'a [StackRuns], keys: &[&str], trace: &str, scheme: &str, base: &str) -> Self {
        let runs_of = |scheme| {
            let keys: Vec<&str> = keys.iter().copied().chain([trace, scheme]).collect();
            find(runs, &keys)
        };
        Pair { ours: runs_of(scheme), reference: runs_of(base) }
    }

    /// Returns the percentage by which `field` is smaller than in the reference; NaN if the reference is 0.
    pub fn saved_percent(&self, field: fn(&RunResult) -> f64) -> f64 {
        100.0 * (1.0 - self.ours.mean(field) / self.reference.mean(field))
    }

    /// True if the scheme's value is smaller by more than the confidence interval of the difference.
    pub fn is_less(&self, field: fn(&RunResult) -> f64) -> bool {
        self.reference.exceeds(self.ours, field)
    }
}

/// Returns a table with a column of savings for each trace.
pub fn by_trace(keys: &[&'static str]) -> Table {
    let traces = TRACES.iter().map(|(trace, _)| *trace);
    Table::new(&keys.iter().copied().chain(traces).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replicas::scenario;
    use crate::session::tests::with_session;
    use crate::stacks::{erases_per_thousand, run_stacks};

    #[test]
    fn cagc_saves_erases_and_overall_mean_lies_between_reads_and_writes() {
        let assumed = AssumedValues::shipped().unwrap();
        let stacks = [NONE, CAGC].map(|scheme| {
            let drive = Drive { flash_mib: 32, ..Drive::new(&assumed, "mail", &scheme) };
            drive.stack(&["full"], 0.1)
        });
        let runs = with_session(2, 0.1, |session| run_stacks(session, stacks.into()).unwrap());
        let pair = Pair::find(&runs, &["full"], "mail", "cagc", "none");
        assert!(pair.saved_percent(erases_per_thousand) > 0.0 && pair.ours.mean(sharing_ratio) > 1.0);
        let result = &pair.ours.results[0];
        let (all, read, write) = (mean_request_us(result), mean_us(result, "read"), mean_write_us(result));
        assert!(read.min(write) <= all && all <= read.max(write), "{read} {all} {write}");
        assert_eq!(pair.reference.mean(dedup_pages_per_host), 0.0);
    }

    #[test]
    fn register_equals_the_presets_of_the_fiu_traces() {
        let assumed = AssumedValues::shipped().unwrap();
        for (trace, _) in TRACES {
            let drive = Drive::new(&assumed, trace, &NONE);
            let preset = Drive { content: Some(format!("{trace:?}")), ..drive.clone() };
            let scenarios = [drive, preset].map(|drive| scenario(&drive.stack(&[], 1.0).toml).unwrap());
            assert_eq!(scenarios[0], scenarios[1]);
            let published = FIU_TRACES.iter().find(|known| known.entry.name == trace).unwrap();
            assert_eq!((published.hot_writes, published.hot_space), (0.8, assumed.hot_space));
        }
    }
}
