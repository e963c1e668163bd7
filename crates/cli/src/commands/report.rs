//! `wearwell report`.

use crate::exit::Failure;
use crate::page::Page;
use crate::results::{names, read_all};
use std::path::PathBuf;

/// Draws results on a page: figures, their data as tables, warnings, scenarios
///
/// The page is one file, which needs nothing else and fetches nothing: any browser shows it, also without a network. Several
/// results stand side by side first, and each by itself after that.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// Results of `wearwell run --output RESULT.json`
    #[arg(value_name = "RESULT.json", required = true)]
    results: Vec<PathBuf>,
    /// The page: .html
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// What it is called; the names of the files unless given
    #[arg(long)]
    title: Option<String>,
}

const HELP: &str = "\
Examples:
  wearwell run scenarios/latency.toml --output latency.json
  wearwell report latency.json --output latency.html";

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    let page = Page::new(&args.output, &args.results)?;
    let results = read_all(&args.results)?;
    let names = names(&args.results);
    let title = args.title.clone().unwrap_or_else(|| names.join(", "));
    page.write(&title, names.iter().map(String::as_str).zip(&results))
}
