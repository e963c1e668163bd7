//! `wearwell limit`.

use super::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::{ProgressArgs, RunProgress};
use crate::report::{csv_rows, grid, ordered_json, wrapped};
use crate::scenario_args::ScenarioArgs;
use serde_json::json;
use wearwell_stack::Progress;
use wearwell_study::Row;
use wearwell_study::limit::{Limit, limit};

/// Runs a scenario and says how much of what its drive rewrote had to be
///
/// The lower bound holds for any drive with that flash, whatever it knows of the writes to come; docs/limit.md says what it means.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// What to print
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
Examples:
  wearwell limit --capacity '4 MiB' --set device.spare_factor=0.03
  wearwell limit my.toml --victim greedy
  wearwell limit my.toml --trace my-trace.csv.gz --trace-format msr --format json";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let draft = args.scenario.draft()?;
    let scenario = draft.scenario()?;
    let display = RunProgress::new(args.progress);
    let outcome = limit(&scenario, &mut |progress: &Progress| display.show(progress));
    display.clear();
    let found = outcome.map_err(|error| Failure::of_run(error, &draft))?;
    print(&match args.format {
        Format::Table => wrapped(&table(&found)),
        Format::Json => ordered_json(row(&found)),
        Format::Csv => csv_rows(&[row(&found)])?,
    })
}

fn table(found: &Limit) -> String {
    let number = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.4}"));
    let lines = [
        ("Write amplification", number(found.result.write_amplification)),
        ("  at least, for anything that knows the future", number(Some(found.lower_bound()))),
        ("Host pages measured", found.host_pages.to_string()),
        ("  pages that had to be rewritten", found.least_rewrites.to_string()),
        (
            "Rewriting that nobody has shown to be necessary",
            found.open_share().map_or("-".to_owned(), |share| format!("{:.1} %", 100.0 * share)),
        ),
    ];
    let mut text =
        grid(&["figure", "value"], lines.map(|(name, value)| vec![name.to_owned(), value]).to_vec(), &[1]);
    for warning in &found.result.warnings {
        text += &format!("Warning: {warning}.\n");
    }
    text
}

fn row(found: &Limit) -> Row {
    [
        ("write_amplification", json!(found.result.write_amplification)),
        ("lower_bound", json!(found.lower_bound())),
        ("host_pages", json!(found.host_pages)),
        ("least_rewrites", json!(found.least_rewrites)),
        ("open_share", json!(found.open_share())),
        ("warnings", json!(found.result.warnings.join("; "))),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .to_vec()
}
