//! Commands that run many variants of one scenario: their common arguments, and the steps from the arguments to the results.

use crate::commands::run::Format;
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::page::Page;
use crate::progress::{ProgressArgs, SweepProgress, with_progress};
use crate::report::{csv_rows, pretty, wrap, write_table};
use crate::scenario_args::{self, ScenarioArgs};
use crate::study_args::{StudyArgs, StudyResources, runs_folder};
use serde_json::{Value, json};
use std::marker::PhantomData;
use std::path::PathBuf;
use wearwell_stack::Draft;
use wearwell_study::advise::{Setting, shorten_runs};
use wearwell_study::{Row, SweepOptions};

/// Command of a study: its names, own options and results. [`run_study`] does the rest.
pub trait Study: Sized {
    /// Name of the result in the help.
    const RESULT: &'static str;
    /// Name of a row of the result in the help.
    const ROW: &'static str;
    /// Title of the HTML page for a scenario without a name.
    const TITLE: &'static str;
    /// Options of the command itself, parsed.
    type Options;

    /// Returns the common arguments.
    fn common(&self) -> &CommonArgs<Self>;

    /// Parses the options of the command itself.
    fn options(&self) -> Result<Self::Options, Failure>;

    /// Executes the study.
    fn study(&self, options: Self::Options, input: &StudyInput<'_>) -> Result<StudyResult, Failure>;
}

/// Arguments that all commands of studies have, after their own options.
#[derive(clap::Args)]
pub struct CommonArgs<S: Study> {
    #[command(flatten)]
    pub scenario: ScenarioArgs,
    /// Shorter runs, for a rough answer: 2 drive writes, after at most 12 until steady to 3 %
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    #[arg(long, short, value_name = "FILE", help_heading = "Output", help = output_help::<S>())]
    output: Option<PathBuf>,
    #[arg(long, value_name = "FILE", help_heading = "Output", help = report_help::<S>())]
    report: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArgs,
    #[arg(skip)]
    command: PhantomData<S>,
}

fn output_help<S: Study>() -> String {
    let (result, row) = (S::RESULT, S::ROW);
    format!("Also write the {result} to a file: .json (everything), .csv or .parquet (a row for each {row})")
}

fn report_help<S: Study>() -> String {
    format!("Also write the {} as a self-contained page: .html", S::RESULT)
}

/// Input of a study: the scenario and the resources for its runs.
pub struct StudyInput<'a> {
    /// Scenario, with shorter runs if requested.
    pub draft: &'a Draft,
    /// Settings that shorten the runs.
    pub shortened: &'a [Setting],
    resources: &'a StudyResources,
    progress: ProgressArgs,
}

impl StudyInput<'_> {
    /// Calls `study` with the options for its runs and a display of their progress.
    pub fn run<T>(&self, study: impl FnOnce(SweepOptions<'_>, &SweepProgress) -> T) -> T {
        // Runs are compared with each other, not with theory.
        let options = self.resources.options(false, false);
        with_progress(self.progress, 0, |display| study(options, display))
    }
}

/// Result of a study, in all forms in which a command returns it.
pub struct StudyResult {
    /// Text for people.
    pub table: String,
    /// Complete result as JSON, for other programs and for HTML pages.
    pub value: Value,
    /// Rows for tables.
    pub rows: Vec<Row>,
}

impl StudyResult {
    /// Writes the result to a file of the kind given by the ending of its name.
    pub fn write(&self, file: &OutputFile) -> Result<(), Failure> {
        match file.kind {
            FileKind::Json => file.write(|out| out.write_all(pretty(&self.value).as_bytes())),
            FileKind::Csv | FileKind::Parquet => write_table(file, &self.rows),
        }
    }

    /// Prints the result to standard output.
    pub fn print(&self, format: Format) -> Result<(), Failure> {
        print(&match format {
            Format::Table => wrap(&self.table),
            Format::Json => pretty(&self.value),
            Format::Csv => csv_rows(&self.rows)?,
        })
    }

    /// Writes the HTML page with the result and the scenario.
    pub fn write_page(&self, page: &Page, draft: &Draft, default_title: &str) -> Result<(), Failure> {
        let scenario = draft.scenario()?;
        let mut value = self.value.clone();
        if value.get("scenario").is_none() {
            value["scenario"] = json!(scenario);
        }
        page.write_value(scenario.name.as_deref().unwrap_or(default_title), value)
    }
}

/// Runs the command of a study.
pub fn run_study<S: Study>(command: &S) -> Result<(), Failure> {
    let args = command.common();
    let mut draft = args.scenario.draft()?;
    // Report wrong options before reading a trace.
    let options = command.options()?;
    let shortened = if args.quick { shorten_runs(&mut draft)? } else { Vec::new() };
    let inputs = args.scenario.inputs(&draft);
    let output = args.output.as_deref().map(|path| OutputFile::new(path, &inputs)).transpose()?;
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    scenario_args::fit(&mut draft, args.progress)?;
    let resources = args.study.open_resources(args.output.as_deref().map(runs_folder).as_deref())?;
    let input =
        StudyInput { draft: &draft, shortened: &shortened, resources: &resources, progress: args.progress };
    let result = command.study(options, &input)?;
    if let Some(file) = &output {
        result.write(file)?;
    }
    if let Some(page) = &page {
        result.write_page(page, &draft, S::TITLE)?;
    }
    result.print(args.format)?;
    resources.remove();
    Ok(())
}
