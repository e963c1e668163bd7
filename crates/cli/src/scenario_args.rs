//! Scenario of a command, and its changes by the command line.

use crate::exit::Failure;
use crate::messages::print_message;
use crate::progress::{ProgressArgs, RunProgress};
use serde_json::{Value, json};
use std::path::PathBuf;
use wearwell_stack::{ByteSize, Draft, Fit, Progress, parse_value, renamed_keys, with_fitted_drive};

/// Scenario that runs by default.
pub const CANONICAL: &str = include_str!("../../../scenarios/canonical.toml");

/// Parses a number of bytes, with or without a unit, as in scenarios.
pub fn size(text: &str) -> Result<ByteSize, String> {
    let value = text.parse::<u64>().map_or_else(|_| json!(text), |bytes| json!(bytes));
    serde_json::from_value(value).map_err(|error| error.to_string())
}

/// A scenario and its overrides.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ScenarioArgs {
    /// Scenario (TOML or JSON), or the JSON result of an earlier run, which is then repeated; the canonical scenario unless given
    #[arg(value_name = "SCENARIO")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub overrides: Overrides,
}

/// Settings that replace those of the scenario.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Settings that replace those of the scenario")]
pub struct Overrides {
    /// Set any key; the value is TOML, or a bare word
    ///
    /// For example --set ftl.victim.choices=4, --set 'log[0].segment_size=2 MiB', --set measure.warm_up=10.0. Setting
    /// one of several equivalent keys (spare_factor, over_provisioning, alpha, load) removes the other keys.
    #[allow(rustdoc::broken_intra_doc_links, reason = "`log[0]` is shown in the help as it stands here")]
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Remove a key, so that its default applies
    #[arg(long, value_name = "KEY")]
    pub unset: Vec<String>,
    /// Root seed: `seed`
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Victim policy of the FTL: `ftl.victim`; see `wearwell list victims`
    #[arg(long, value_name = "NAME")]
    pub victim: Option<String>,
    /// Placement of the FTL: `ftl.placement`; see `wearwell list placements`
    #[arg(long, value_name = "NAME")]
    pub placement: Option<String>,
    /// Logical capacity, such as "8 GiB": `device.capacity`
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<String>,
    /// Fit the drive to the trace, which is read once for that: `device.fit`
    ///
    /// The logical size is that of the addresses that the trace uses, rounded up to the geometry; addresses with gaps
    /// are compacted. The result reports it.
    #[arg(long, conflicts_with = "capacity")]
    pub fit: bool,
    /// Spare factor, (T - U) / T for T physical and U logical pages: `device.spare_factor`
    #[arg(long, value_name = "SHARE")]
    pub spare_factor: Option<f64>,
    /// Kind of workload, with --set for its parameters: `workload.kind`; see `wearwell list workloads`
    #[arg(long, value_name = "NAME", conflicts_with = "trace")]
    pub workload: Option<String>,
    /// Trace to replay instead of the workload: `trace.path`
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
    /// Format of the trace: `trace.format`; see `wearwell list formats`
    #[arg(long, value_name = "NAME", visible_alias = "format-of-trace")]
    pub trace_format: Option<String>,
    /// The trace is a table with these columns, FIELD=COLUMN:UNIT,...: `trace.options.columns`
    ///
    /// `wearwell trace columns FILE` suggests them. For example --columns time=ts:us,op=type,offset=lba:512,size=len:bytes.
    #[arg(long, value_name = "FIELD=COLUMN,...")]
    pub columns: Option<String>,
    /// Replay a recording of `wearwell serve --record` as it was served: once, on a new drive, at its addresses
    ///
    /// With the scenario that was served, the counts are those of the served drive. This sets `precondition.fill`,
    /// `precondition.random_overwrites`, `measure.warm_up`, `measure.drive_writes`, `measure.passes` and
    /// `trace.address`.
    #[arg(long, requires = "trace", conflicts_with_all = ["drive_writes", "fit"])]
    pub as_recorded: bool,
    /// Drive writes to measure: `measure.drive_writes`
    #[arg(long, value_name = "N")]
    pub drive_writes: Option<f64>,
}

/// Settings of `--as-recorded`: a run measures one pass through the trace from its first request on, on a new drive.
fn settings_as_recorded() -> [(&'static str, Value); 6] {
    [
        ("precondition.fill", json!("none")),
        ("precondition.random_overwrites", json!(0.0)),
        ("measure.warm_up", json!(0.0)),
        // This is rounded up to whole passes, and a pass may be short.
        ("measure.drive_writes", json!(1e-9)),
        ("measure.passes", json!(1)),
        ("trace.address", json!("direct")),
    ]
}

impl ScenarioArgs {
    /// Returns the scenario with its overrides.
    pub fn draft(&self) -> Result<Draft, Failure> {
        let mut draft = match &self.file {
            Some(path) => Draft::from_file(path)?,
            None => Draft::from_toml(CANONICAL, "canonical.toml (built in)")?,
        };
        self.overrides.apply(&mut draft)?;
        renamed_keys(draft.value()).iter().for_each(print_message);
        Ok(draft)
    }

    /// Returns the files that a command reads for this scenario: its own file, if there is one, and its traces.
    pub fn inputs(&self, draft: &Draft) -> Vec<PathBuf> {
        let tenants = draft.value().get("tenant").and_then(Value::as_array).into_iter().flatten();
        let traces = tenants.chain([draft.value()]).filter_map(|user| user.pointer("/trace/path")?.as_str());
        self.file.iter().cloned().chain(traces.map(PathBuf::from)).collect()
    }

    /// Returns the same arguments as words of a command line.
    pub fn arguments(&self) -> Vec<String> {
        let file = self.file.iter().map(|path| path.display().to_string());
        file.chain(self.overrides.arguments()).collect()
    }
}

impl Overrides {
    fn arguments(&self) -> Vec<String> {
        let number = |value: Option<f64>| value.map(|value| value.to_string());
        let flags = [
            ("--seed", self.seed.map(|seed| seed.to_string())),
            ("--victim", self.victim.clone()),
            ("--placement", self.placement.clone()),
            ("--capacity", self.capacity.clone()),
            ("--spare-factor", number(self.spare_factor)),
            ("--workload", self.workload.clone()),
            ("--trace", self.trace.as_ref().map(|path| path.display().to_string())),
            ("--trace-format", self.trace_format.clone()),
            ("--columns", self.columns.clone()),
            ("--drive-writes", number(self.drive_writes)),
        ];
        let unset = self.unset.iter().map(|key| ("--unset", key.clone()));
        let flags = flags.into_iter().filter_map(|(flag, value)| Some((flag, value?)));
        let set = self.set.iter().map(|setting| ("--set", setting.clone()));
        let switches = [("--fit", self.fit), ("--as-recorded", self.as_recorded)];
        let switches =
            switches.into_iter().filter(|(_, is_set)| *is_set).map(|(switch, _)| switch.to_owned());
        let pairs = unset.chain(flags).chain(set).flat_map(|(flag, value)| [flag.to_owned(), value]);
        switches.chain(pairs).collect()
    }

    fn capacity(&self) -> Result<Option<Value>, Failure> {
        let value = self.capacity.as_deref().map(parse_value).transpose();
        value.map_err(|problem| Failure::Usage(format!("--capacity: {problem}")))
    }

    /// Changes `draft`: removals first, then named flags, then `--set` in the given order, and `--fit` last.
    pub fn apply(&self, draft: &mut Draft) -> Result<(), Failure> {
        for key in &self.unset {
            draft.unset(key)?;
        }
        let text = |value: &Option<String>| value.clone().map(Value::String);
        let trace = self.trace.as_ref().map(|path| Value::String(path.display().to_string()));
        let flags = [
            ("seed", self.seed.map(Value::from)),
            ("ftl.victim", text(&self.victim)),
            ("ftl.placement", text(&self.placement)),
            ("device.capacity", self.capacity()?),
            ("device.spare_factor", self.spare_factor.map(Value::from)),
            ("workload.kind", text(&self.workload)),
            ("trace.path", trace),
            ("trace.format", text(&self.trace_format)),
            ("trace.options.columns", text(&self.columns)),
            ("measure.drive_writes", self.drive_writes.map(Value::from)),
        ];
        for (key, value) in flags {
            if let Some(value) = value {
                draft.set(key, value)?;
            }
        }
        if self.as_recorded {
            settings_as_recorded().into_iter().try_for_each(|(key, value)| draft.set(key, value))?;
        }
        self.set.iter().try_for_each(|setting| -> Result<(), Failure> {
            let (key, value) = key_and_value(setting)?;
            Ok(draft.set(key, value)?)
        })?;
        // `--fit` also applies to a drive that is set as a whole.
        if self.fit {
            draft.set("device.fit", Value::Bool(true))?;
        }
        Ok(())
    }
}

/// Fits the drive of `draft` to its traces, if requested, so that later steps need not read the traces for it; ends at
/// Ctrl-C.
pub fn fit(draft: &mut Draft, progress: ProgressArgs) -> Result<(), Failure> {
    let scenario = draft.scenario()?;
    if scenario.device.fit != Fit::Requested(true) {
        return Ok(());
    }
    let display = RunProgress::new(progress);
    let outcome = with_fitted_drive(&scenario, &mut |progress: &Progress| display.show(progress));
    display.clear();
    Ok(draft.store_fit(&outcome.map_err(|error| Failure::of_run(error, draft))?)?)
}

/// Splits `KEY=VALUE`.
pub fn key_and_value(setting: &str) -> Result<(&str, Value), Failure> {
    let (key, value) =
        setting.split_once('=').ok_or_else(|| Failure::Usage(format!("--set {setting}: write KEY=VALUE")))?;
    let value =
        parse_value(value).map_err(|problem| Failure::Usage(format!("--set {setting}: {problem}")))?;
    Ok((key.trim(), value))
}
