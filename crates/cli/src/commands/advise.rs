//! `wearwell advise`.

use super::run::Format;
use super::sweep::sweep_failure;
use crate::exit::Failure;
use crate::output::{FileKind, OutputFile, print};
use crate::page::Page;
use crate::progress::{ProgressArgs, SweepProgress};
use crate::report::advice::{RepeatCommand, as_json, as_rows, as_table, as_value};
use crate::report::{csv_rows, parquet, rows_as_columns, wrap};
use crate::scenario_args::{self, ScenarioArgs};
use crate::study_args::{StudyArgs, runs_folder};
use serde_json::json;
use std::path::PathBuf;
use wearwell_stack::Draft;
use wearwell_study::advise::{self, Advice, AdviseError, AdviseOptions, Family, Setting};

/// Finds changes that reduce the write amplification of a stack
///
/// Tries changes to merge trees, file-system layouts, map caches, segment sizes, spare space, streams, TRIM and victim
/// policies of the scenario: one at a time, then the best together. The flash and the capacity for the applications
/// stay the same. Ranks the changes by the write amplification that they save, with confidence intervals over common
/// seeds and their costs elsewhere. Prints the command that repeats each change, and the equivalent options of RocksDB,
/// F2FS, NILFS2 or fatcache.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// Families of changes to try; all unless given: segments, capacity, streams, trim, coordination,
    /// victim, merge_tree, layout, map_cache
    #[arg(long, value_name = "FAMILY,...", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs of each change with different seeds; with 1, intervals come from the batches of a single run
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    replicas: u32,
    /// Largest number of changes to combine; 1 tries no combinations
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    depth: u32,
    /// Shorter runs, for a rough answer: 2 drive writes, after at most 12 until steady to 3 %
    #[arg(long)]
    quick: bool,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    /// Also write the advice to a file: .json (everything), .csv or .parquet (a row for each change)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    /// Also write the advice as a self-contained page: .html
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    report: Option<PathBuf>,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell advise scenarios/log_on_ftl.toml
  wearwell advise my.toml --quick --only segments,trim
  wearwell advise scenarios/rocksdb_on_f2fs.toml --quick --only merge_tree,layout
  wearwell advise my.toml --replicas 8 --depth 3 --output advice.json
  wearwell advise my.toml --quick --report advice.html

With --output FILE, finished runs stand in the store FILE.runs until the advice is complete, and the same command goes on
from there after an interruption; those in --store DIR stay.";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut draft = args.scenario.draft()?;
    // Report unknown names before reading the scenario.
    args.only
        .iter()
        .try_for_each(|name| Family::named(name).map(drop))
        .map_err(|problem| Failure::Usage(format!("--only: {problem}")))?;
    let shortened = if args.quick { advise::short_run_settings(&draft)? } else { Vec::new() };
    shortened.iter().try_for_each(|setting| setting.apply(&mut draft))?;
    let inputs = args.scenario.inputs(&draft);
    let output = args.output.as_deref().map(|path| OutputFile::new(path, &inputs)).transpose()?;
    let page = args.report.as_deref().map(|path| Page::new(path, &inputs)).transpose()?;
    scenario_args::fit(&mut draft, args.progress)?;
    // Runs are compared with each other, not with theory.
    let study = args.study.open_resources(args.output.as_deref().map(runs_folder).as_deref())?;
    let options = AdviseOptions {
        only: args.only.clone(),
        replicas: args.replicas,
        depth: args.depth,
        sweep: study.options(false, false),
    };
    let display = SweepProgress::new(args.progress, 0);
    let outcome = advise::advise(&draft, &options, &display);
    display.clear();
    let advice = outcome.map_err(failure)?;
    let repeat = RepeatCommand::new(repeat_words(&args.scenario, &shortened));
    if let Some(file) = &output {
        write(file, &advice, &repeat)?;
    }
    if let Some(page) = &page {
        write_page(page, &draft, &advice, &repeat)?;
    }
    print(&match args.format {
        Format::Table => wrap(&as_table(&advice, &repeat)),
        Format::Json => as_json(&advice, &repeat),
        Format::Csv => csv_rows(&as_rows(&advice, &repeat))?,
    })?;
    study.remove();
    Ok(())
}

/// Writes the page with the advice and the scenario.
fn write_page(page: &Page, draft: &Draft, advice: &Advice, repeat: &RepeatCommand) -> Result<(), Failure> {
    let scenario = draft.scenario()?;
    let mut value = as_value(advice, repeat);
    value["scenario"] = json!(scenario);
    page.write_value(scenario.name.as_deref().unwrap_or("Advice"), value)
}

/// Returns the words of the command that runs the scenario with the shortened measurement.
fn repeat_words(scenario: &ScenarioArgs, shortened: &[Setting]) -> Vec<String> {
    let mut words = vec!["wearwell".to_owned(), "run".to_owned()];
    words.extend(scenario.arguments());
    words.extend(shortened.iter().flat_map(|setting| ["--set".to_owned(), setting.argument()]));
    words
}

fn failure(error: AdviseError) -> Failure {
    match error {
        AdviseError::Draft(error) => (*error).into(),
        AdviseError::Options(problem) => Failure::Usage(problem),
        AdviseError::Sweep(error) => sweep_failure(error),
        AdviseError::Base(_) => Failure::run(error),
    }
}

fn write(file: &OutputFile, advice: &Advice, repeat: &RepeatCommand) -> Result<(), Failure> {
    match file.kind {
        FileKind::Json => file.write(|out| out.write_all(as_json(advice, repeat).as_bytes())),
        FileKind::Csv => {
            let text = csv_rows(&as_rows(advice, repeat))?;
            file.write(|out| out.write_all(text.as_bytes()))
        }
        FileKind::Parquet => {
            let metadata = [("wearwell.version".to_owned(), advice.version.clone())];
            file.write(|out| parquet::write(out, &rows_as_columns(&as_rows(advice, repeat)), &metadata))
        }
    }
}
