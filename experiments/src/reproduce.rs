//! One item reproduced: its program run, its claims decided, and all of it left in a folder of its own.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::crew::Crew;
use crate::journal::{self, Journal};
use crate::judge::{Decided, judge, verdict};
use crate::manifest::{Found, Item, Manifest, Verdict, find};
use crate::programs::{self, Program};
use crate::session::{Session, Watch};
use cpu_time::ProcessTime;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// What a folder of an item says of it.
pub const RECORD: &str = "item.json";

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// An answer within minutes.
    Quick,
    /// As in the paper, or better.
    Full,
}

impl Effort {
    /// As it is said in a command.
    pub fn option(self) -> &'static str {
        match self {
            Effort::Quick => "--quick",
            Effort::Full => "--full",
        }
    }

    /// The manifest's settings for it.
    pub fn settings(self, item: &Item) -> &toml::Table {
        match self {
            Effort::Quick => &item.quick,
            Effort::Full => &item.full,
        }
    }
}

/// What is to be done with items.
#[derive(Clone, Debug)]
pub struct Plan<'a> {
    /// The folder that has one for each paper.
    pub output: &'a Path,
    /// The folder of the points that are finished, for all outputs of a build of the program.
    pub points: &'a Path,
    /// How much is run.
    pub effort: Effort,
    /// Settings in place of the manifest's.
    pub settings: toml::Table,
    /// The numbers that no paper gives.
    pub assumptions: &'a Assumptions,
    /// Whether what is there already is found out again.
    pub again: bool,
    /// A folder of traces that were recorded elsewhere.
    pub traces: Option<PathBuf>,
    /// Who answers points; threads of this process unless given.
    pub crew: Option<&'a dyn Crew>,
}

/// What became of an item.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Its full name.
    pub item: String,
    /// How much was run.
    pub effort: Effort,
    /// The command that makes the same.
    pub command: String,
    /// The settings that it was made with; those of older records follow from their commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub settings: Option<toml::Table>,
    /// Which build of the program made it.
    pub made_by: String,
    /// What that cost, seconds of one core, over all sittings; unknown in older records.
    pub core_seconds: Option<f64>,
    /// Its tables for people.
    pub shown: Vec<String>,
    /// The numbers of the register that its program asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assumes: Vec<String>,
    /// Its claims.
    pub claims: Vec<Decided>,
    /// What follows.
    pub verdict: Verdict,
}

impl Record {
    /// The record in an item's folder, if there is one.
    ///
    /// # Errors
    ///
    /// A file that is no record.
    pub fn read(folder: &Path) -> Result<Option<Record>, Failure> {
        let path = folder.join(RECORD);
        let Ok(text) = fs::read_to_string(&path) else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// The settings that it was made with, given the item that made it.
    pub fn settings(&self, item: &Item) -> toml::Table {
        self.settings.clone().unwrap_or_else(|| {
            let mut settings = self.effort.settings(item).clone();
            let given = self.command.split(" --set '").skip(1).filter_map(|rest| rest.split_once('\''));
            for (setting, _) in given {
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

/// The folder of an item below that of all papers.
pub fn folder_of(output: &Path, found: Found) -> PathBuf {
    output.join(&found.manifest.name).join(&found.item.name)
}

/// Reproduces an item: what it leaves stands in its folder, whole or not at all.
///
/// # Errors
///
/// An item that cannot be reproduced; as of its program and its claims; [`crate::session::Interrupted`] and [`crate::crew::Lost`].
/// None of them names the item: whoever asks for it does.
pub fn reproduce(
    manifests: &[Manifest],
    found: Found,
    plan: &Plan,
    watch: &dyn Watch,
) -> Result<Record, Failure> {
    if let Some(reason) = &found.item.impossible {
        return Err(format!("impossible here: {reason}").into());
    }
    if let Some(other) = &found.item.data_of {
        reproduce(manifests, find(manifests, other)?, plan, watch)?;
        let decided = judge_again(manifests, found, plan.output)?;
        return decided.ok_or_else(|| format!("{other} has left no data").into());
    }
    let program = program_of(found, plan)?;
    let folder = folder_of(plan.output, found);
    let command = command_of(found, plan);
    let there = Record::read(&folder)?.filter(|record| !plan.again && record.command == command);
    if let Some(record) = there.filter(|record| record.made_by == journal::build()) {
        return Ok(record);
    }
    let staged = plan.output.join(&found.manifest.name).join(format!(".{}.new", found.item.name));
    let _ = fs::remove_dir_all(&staged);
    fs::create_dir_all(&staged).map_err(|error| format!("{}: {error}", staged.display()))?;
    let made = run(program, found, plan, &staged, command, watch).and_then(|record| {
        let _ = fs::remove_dir_all(&folder);
        fs::rename(&staged, &folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(record)
    });
    if made.is_err() {
        let _ = fs::remove_dir_all(&staged);
        // The paper's, if nothing else is in it.
        let _ = staged.parent().map(fs::remove_dir);
    }
    made
}

/// Whether an item can be reproduced as planned, so that what is wrong with the settings is said before anything is begun.
///
/// # Errors
///
/// As of [`reproduce`].
pub fn check(manifests: &[Manifest], found: Found, plan: &Plan) -> Result<(), Failure> {
    let source = found.item.data_of.as_ref().map_or(Ok(found), |other| find(manifests, other))?;
    program_of(source, plan).map(|_| ())
}

/// The program of an item, which takes the settings.
fn program_of(found: Found, plan: &Plan) -> Result<&'static Program, Failure> {
    let program = programs::find(found.item.program.as_deref().unwrap_or_default())?;
    (program.check)(&settings_of(found, plan)).map_err(|error| format!("settings: {error}"))?;
    Ok(program)
}

/// Runs the program of an item into `folder` and decides its claims.
fn run(
    program: &Program,
    found: Found,
    plan: &Plan,
    folder: &Path,
    command: String,
    watch: &dyn Watch,
) -> Result<Record, Failure> {
    fs::create_dir_all(plan.points).map_err(|error| format!("{}: {error}", plan.points.display()))?;
    let journal = Journal::open(&plan.points.join(format!("{}.jsonl", program.name)))?;
    let settings = settings_of(found, plan);
    let session = Session::new(settings.clone(), folder, &command, plan.assumptions, &journal, watch)?
        .with_traces(plan.traces.clone())
        .answered_by(plan.crew, program.name);
    let began = ProcessTime::now();
    (program.run)(&session)?;
    let core_seconds = Some(began.elapsed().as_secs_f64() + session.seconds_besides());
    let claims = judge(found.item, folder)?;
    let record = Record {
        item: found.name(),
        effort: plan.effort,
        command: command.clone(),
        settings: Some(settings),
        made_by: journal::build(),
        core_seconds,
        shown: session.shown(),
        assumes: session.assumes(),
        verdict: verdict(&claims),
        claims,
    };
    record.write(folder)?;
    Ok(record)
}

/// Decides the claims of an item again by the data that is there, after its manifest has changed.
///
/// # Errors
///
/// As of [`judge`]; nothing if there is no data.
pub fn judge_again(manifests: &[Manifest], found: Found, output: &Path) -> Result<Option<Record>, Failure> {
    let folder = folder_of(output, found);
    let source = match &found.item.data_of {
        Some(other) => find(manifests, other)?,
        None => found,
    };
    let source_folder = folder_of(output, source);
    let Some(record) = Record::read(&source_folder)? else { return Ok(None) };
    let claims = judge(found.item, &source_folder)?;
    let own = found.item.data_of.is_none();
    let record = Record {
        item: found.name(),
        core_seconds: record.core_seconds.filter(|_| own),
        shown: if own { record.shown } else { Vec::new() },
        verdict: verdict(&claims),
        claims,
        ..record
    };
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    record.write(&folder)?;
    Ok(Some(record))
}

/// The manifest's settings for this effort, and what the plan has in place of some.
pub fn settings_of(found: Found, plan: &Plan) -> toml::Table {
    let mut settings = plan.effort.settings(found.item).clone();
    settings.extend(plan.settings.clone());
    settings
}

/// The command that makes the same, but for the output folder.
fn command_of(found: Found, plan: &Plan) -> String {
    let mut command = format!("wearwell reproduce {} {}", found.name(), plan.effort.option());
    for (key, value) in &plan.settings {
        command += &format!(" --set '{key}={value}'");
    }
    for (name, value) in plan.assumptions.changed() {
        command += &format!(" --assume {name}={value}");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::all;
    use crate::session::tests::Unwatched;

    fn plan<'a>(output: &'a Path, assumptions: &'a Assumptions) -> Plan<'a> {
        let settings = toml::Table::new();
        Plan {
            output,
            points: output,
            effort: Effort::Quick,
            settings,
            assumptions,
            again: false,
            traces: None,
            crew: None,
        }
    }

    #[test]
    fn an_item_leaves_data_plots_and_verdict_and_is_not_run_twice() {
        let output = tempfile::tempdir().unwrap();
        let (manifests, assumptions) = (all().unwrap(), Assumptions::register());
        let found = find(&manifests, "geckoftl/figure-1").unwrap();
        let plan = plan(output.path(), &assumptions);
        let record = reproduce(&manifests, found, &plan, &Unwatched).unwrap();
        assert_eq!(record.claims.len(), found.item.claims.len());
        let folder = folder_of(output.path(), found);
        assert_eq!(Record::read(&folder).unwrap(), Some(record.clone()));
        let data = fs::read_to_string(folder.join("data.csv")).unwrap();
        assert!(data.starts_with("# wearwell reproduce geckoftl/figure-1 --quick\n"), "{data}");
        let written = fs::metadata(folder.join("data.csv")).unwrap().modified().unwrap();
        assert_eq!(reproduce(&manifests, found, &plan, &Unwatched).unwrap(), record);
        assert_eq!(fs::metadata(folder.join("data.csv")).unwrap().modified().unwrap(), written);
        assert_eq!(judge_again(&manifests, found, output.path()).unwrap(), Some(record));
    }

    #[test]
    fn settings_that_a_program_does_not_take_leave_nothing_behind() {
        let output = tempfile::tempdir().unwrap();
        let (manifests, assumptions) = (all().unwrap(), Assumptions::register());
        let found = find(&manifests, "hot_cold/table-1").unwrap();
        let settings = toml::toml! { swept = 12 };
        let plan = Plan { settings, ..plan(output.path(), &assumptions) };
        let error = reproduce(&manifests, found, &plan, &Unwatched).unwrap_err().to_string();
        assert!(error.starts_with("settings: ") && error.contains("`swept`"), "{error}");
        assert!(fs::read_dir(output.path()).unwrap().next().is_none());
    }
}
