//! Reproduction of one item: it runs the program, decides the claims, and stores all results in a folder.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::{self, Journal};
use crate::manifest::{Item, Manifest, ManifestEntry, Verdict, find};
use crate::programs::{self, Program};
use crate::runner::judge::{DecidedClaim, decide_claims, verdict};
use crate::session::{ExecutorLost, Interrupted, PointExecutor, ReproductionObserver, Session};
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the file with the record of an item, in the folder of the item.
pub const RECORD: &str = "item.json";

/// Effort of a reproduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// Result within minutes.
    Quick,
    /// Sizes as in the paper, or larger.
    Full,
}

impl Effort {
    /// Returns the option of the command.
    pub fn option(self) -> &'static str {
        match self {
            Effort::Quick => "--quick",
            Effort::Full => "--full",
        }
    }

    /// Returns the manifest's settings for this effort.
    pub fn settings(self, item: &Item) -> &toml::Table {
        match self {
            Effort::Quick => &item.quick,
            Effort::Full => &item.full,
        }
    }
}

/// Plan of a reproduction.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// Folder of the results, with a subfolder for each paper.
    pub output: &'a Path,
    /// Folder of the finished points, which all outputs of a build of the program share.
    pub points_folder: &'a Path,
    /// Effort of the reproduction.
    pub effort: Effort,
    /// Settings that replace those of the manifest.
    pub settings: toml::Table,
    /// Assumed numbers, which no paper gives.
    pub assumptions: &'a Assumptions,
    /// True if finished items are run again.
    pub rerun: bool,
    /// Folder of traces that were recorded elsewhere.
    pub traces: Option<PathBuf>,
    /// Executor of points; if not given, threads of this process compute them.
    pub executor: Option<&'a dyn PointExecutor>,
}

/// Record of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Full name of the item.
    pub item: String,
    /// Effort of the reproduction.
    pub effort: Effort,
    /// Command that repeats the reproduction.
    pub command: String,
    /// Settings that were used; in older records, they follow from the command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<toml::Table>,
    /// Build of the program that was used.
    #[serde(rename = "made_by")]
    pub build: String,
    /// Core seconds of the reproduction over all sessions; unknown in older records.
    pub core_seconds: Option<f64>,
    /// Names of the tables of the item that are meant for readers.
    #[serde(rename = "shown")]
    pub published_tables: Vec<String>,
    /// Names of the assumptions that the program used.
    #[serde(rename = "assumes", default, skip_serializing_if = "Vec::is_empty")]
    pub used_assumptions: Vec<String>,
    /// Claims with their decisions.
    pub claims: Vec<DecidedClaim>,
    /// Resulting verdict.
    pub verdict: Verdict,
}

impl Record {
    /// Reads the record in the folder of an item, if there is one.
    ///
    /// # Errors
    ///
    /// Returns an error if the file is not a record.
    pub fn read(folder: &Path) -> Result<Option<Record>, Failure> {
        let path = folder.join(RECORD);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Returns the settings that were used for `item`.
    pub fn settings(&self, item: &Item) -> toml::Table {
        self.settings.clone().unwrap_or_else(|| {
            let mut settings = self.effort.settings(item).clone();
            let overrides = self.command.split(" --set '").skip(1).filter_map(|rest| rest.split_once('\''));
            for (setting, _) in overrides {
                settings.extend(setting.parse::<toml::Table>().unwrap_or_default());
            }
            settings
        })
    }

    fn write(&self, folder: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_string_pretty(self)?;
        text.push('\n');
        let path = folder.join(RECORD);
        fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
    }
}

/// Returns the folder of an item within the folder of results.
pub fn folder_of(output: &Path, entry: ManifestEntry) -> PathBuf {
    output.join(&entry.manifest.name).join(&entry.item.name)
}

/// Reproduces an item. Its results are stored in its folder either completely or not at all.
///
/// # Errors
///
/// Returns an error for an item that cannot be reproduced; errors of its program and its claims; [`Interrupted`] and
/// [`ExecutorLost`]. The errors do not name the item; the caller must add its name.
pub fn reproduce(
    manifests: &[Manifest],
    found: ManifestEntry,
    plan: &Plan,
    watch: &dyn ReproductionObserver,
) -> Result<Record, Failure> {
    if let Some(reason) = &found.item.impossible {
        return Err(format!("impossible here: {reason}").into());
    }
    if let Some(other) = &found.item.data_source {
        reproduce(manifests, find(manifests, other)?, plan, watch)?;
        let decided = decide_claims_again(manifests, found, plan.output)?;
        return decided.ok_or_else(|| format!("{other} has left no data").into());
    }
    let program = program_of(found, plan)?;
    let folder = folder_of(plan.output, found);
    let command = command_of(found, plan);
    let existing = Record::read(&folder)?.filter(|record| !plan.rerun && record.command == command);
    if let Some(record) = existing.filter(|record| record.build == journal::build()) {
        return Ok(record);
    }
    let staged = plan.output.join(&found.manifest.name).join(format!(".{}.new", found.item.name));
    let _ = fs::remove_dir_all(&staged);
    fs::create_dir_all(&staged).map_err(|error| format!("{}: {error}", staged.display()))?;
    let result = run(program, found, plan, &staged, command, watch).and_then(|record| {
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&staged, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(record)
    });
    if result.is_err() {
        let _ = fs::remove_dir_all(&staged);
        // This removes the paper's folder if it is empty.
        let _ = staged.parent().map(fs::remove_dir);
    }
    result
}

/// True if `failure` also prevents the reproduction of all other items.
pub fn stops_all_items(failure: &Failure) -> bool {
    failure.is::<Interrupted>() || failure.is::<ExecutorLost>()
}

/// Checks that an item can be reproduced as planned, so that wrong settings are reported before the start.
///
/// # Errors
///
/// The errors of [`reproduce`].
pub fn check(manifests: &[Manifest], entry: ManifestEntry, plan: &Plan) -> Result<(), Failure> {
    let source = entry.item.data_source.as_ref().map_or(Ok(entry), |other| find(manifests, other))?;
    program_of(source, plan).map(|_| ())
}

/// Returns the program of an item, after checking the settings.
fn program_of(entry: ManifestEntry, plan: &Plan) -> Result<&'static Program, Failure> {
    let program = programs::find(entry.item.program.as_deref().unwrap_or_default())?;
    (program.check)(&settings_of(entry, plan)).map_err(|error| format!("settings: {error}"))?;
    Ok(program)
}

/// Runs the program of an item with output to `folder` and decides its claims.
fn run(
    program: &Program,
    found: ManifestEntry,
    plan: &Plan,
    folder: &Path,
    command: String,
    watch: &dyn ReproductionObserver,
) -> Result<Record, Failure> {
    fs::create_dir_all(plan.points_folder)
        .map_err(|error| format!("{}: {error}", plan.points_folder.display()))?;
    let journal = Journal::open(&plan.points_folder.join(format!("{}.jsonl", program.name)))?;
    let settings = settings_of(found, plan);
    let session = Session::new(settings.clone(), folder, &command, plan.assumptions, &journal, watch)?
        .with_traces(plan.traces.clone())
        .with_executor(plan.executor, program.name);
    let began = ProcessTime::now();
    (program.run)(&session)?;
    let core_seconds = Some(began.elapsed().as_secs_f64() + session.external_core_seconds());
    let claims = decide_claims(found.item, folder)?;
    let record = Record {
        item: found.name(),
        effort: plan.effort,
        command: command.clone(),
        settings: Some(settings),
        build: journal::build(),
        core_seconds,
        published_tables: session.published_tables(),
        used_assumptions: session.used_assumptions(),
        verdict: verdict(&claims),
        claims,
    };
    record.write(folder)?;
    Ok(record)
}

/// Decides the claims of an item again with existing data, after a change of its manifest.
///
/// # Errors
///
/// The errors of [`decide_claims`]. Returns `None` if there is no data.
pub fn decide_claims_again(
    manifests: &[Manifest],
    entry: ManifestEntry,
    output: &Path,
) -> Result<Option<Record>, Failure> {
    let folder = folder_of(output, entry);
    let source = match &entry.item.data_source {
        Some(other) => find(manifests, other)?,
        None => entry,
    };
    let source_folder = folder_of(output, source);
    let Some(record) = Record::read(&source_folder)? else { return Ok(None) };
    let claims = decide_claims(entry.item, &source_folder)?;
    let has_own_data = entry.item.data_source.is_none();
    let record = Record {
        item: entry.name(),
        core_seconds: record.core_seconds.filter(|_| has_own_data),
        published_tables: if has_own_data { record.published_tables } else { Vec::new() },
        verdict: verdict(&claims),
        claims,
        ..record
    };
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    record.write(&folder)?;
    Ok(Some(record))
}

/// Returns the manifest's settings for this effort, with the replacements of the plan.
pub fn settings_of(entry: ManifestEntry, plan: &Plan) -> toml::Table {
    let mut settings = plan.effort.settings(entry.item).clone();
    settings.extend(plan.settings.clone());
    settings
}

/// Returns the command that repeats the reproduction, without the output folder.
fn command_of(entry: ManifestEntry, plan: &Plan) -> String {
    let mut command = format!("wearwell reproduce {} {}", entry.name(), plan.effort.option());
    for (key, value) in &plan.settings {
        command += &format!(" --set '{key}={value}'");
    }
    for (name, value) in plan.assumptions.overrides() {
        command += &format!(" --assume {name}={value}");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::read_all;
    use crate::session::tests::NullObserver;

    fn plan<'a>(output: &'a Path, assumptions: &'a Assumptions) -> Plan<'a> {
        let settings = toml::Table::new();
        Plan {
            output,
            points_folder: output,
            effort: Effort::Quick,
            settings,
            assumptions,
            rerun: false,
            traces: None,
            executor: None,
        }
    }

    #[test]
    fn item_writes_data_plots_and_verdict_and_is_not_run_twice() {
        let output = tempfile::tempdir().unwrap();
        let (manifests, assumptions) = (read_all().unwrap(), Assumptions::register());
        let entry = find(&manifests, "geckoftl/figure-1").unwrap();
        let plan = plan(output.path(), &assumptions);
        let record = reproduce(&manifests, entry, &plan, &NullObserver).unwrap();
        assert_eq!(record.claims.len(), entry.item.claims.len());
        let folder = folder_of(output.path(), entry);
        assert_eq!(Record::read(&folder).unwrap(), Some(record.clone()));
        let data = fs::read_to_string(folder.join("data.csv")).unwrap();
        assert!(data.starts_with("# wearwell reproduce geckoftl/figure-1 --quick\n"), "{data}");
        let written = fs::metadata(folder.join("data.csv")).unwrap().modified().unwrap();
        assert_eq!(reproduce(&manifests, entry, &plan, &NullObserver).unwrap(), record);
        assert_eq!(fs::metadata(folder.join("data.csv")).unwrap().modified().unwrap(), written);
        assert_eq!(decide_claims_again(&manifests, entry, output.path()).unwrap(), Some(record));
    }

    #[test]
    fn unknown_settings_are_rejected_without_output() {
        let output = tempfile::tempdir().unwrap();
        let (manifests, assumptions) = (read_all().unwrap(), Assumptions::register());
        let entry = find(&manifests, "hot_cold/table-1").unwrap();
        let settings = toml::toml! { swept = 12 };
        let plan = Plan { settings, ..plan(output.path(), &assumptions) };
        let error = reproduce(&manifests, entry, &plan, &NullObserver).unwrap_err().to_string();
        assert!(error.starts_with("settings: ") && error.contains("`swept`"), "{error}");
        assert!(fs::read_dir(output.path()).unwrap().next().is_none());
    }
}
