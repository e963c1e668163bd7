//! `wearwell report`.

use crate::exit::Failure;
use crate::page::Page;
use crate::results::{documents, names};
use std::path::PathBuf;

/// Draws results on a page: figures, their data as tables, warnings, scenarios
///
/// The page is one self-contained file, which any browser shows without a network. Takes the JSON of `run`, `sweep`,
/// `advise`, `power` and `theory`, and folders of `reproduce`. Several runs are shown side by side first, then one by one.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// JSON that a command wrote or printed (`--output RESULT.json`, `--format json`), or a folder that `wearwell reproduce` left
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// Output file: .html
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Title of the page; the names of the files unless given
    #[arg(long)]
    title: Option<String>,
}

const HELP: &str = "\
Examples:
  wearwell run scenarios/latency.toml --output latency.json
  wearwell report latency.json --output latency.html
  wearwell report experiments/results/hot_cold --output hot_cold.html";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let page = Page::new(&args.output, &args.results)?;
    let title = args.title.clone().unwrap_or_else(|| names(&args.results).join(", "));
    page.write(&title, &documents(&args.results)?)
}
