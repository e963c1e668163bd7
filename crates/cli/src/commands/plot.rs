//! `wearwell plot`.

use crate::exit::Failure;
use crate::output::{check_can_create, check_not_input, write_bytes};
use crate::results::json;
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::path::PathBuf;
use wearwell_plot::figures::{self, FIGURES};
use wearwell_report::rename_old_fields;

/// Draws a figure of a result for a paper: SVG, PDF or PNG
///
/// Figures are static, on white, and identical files for identical results. `wearwell report` makes an
/// interactive page.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// JSON that `run`, `sweep`, `limit` or `theory` wrote or printed
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// Figure to draw
    #[arg(long, value_name = "NAME", value_parser = names())]
    figure: String,
    /// Output file: .svg, .pdf or .png
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

const HELP: &str = "\
Examples:
  wearwell run scenarios/demo.toml --output demo.json
  wearwell plot demo.json --figure course --output course.svg
  wearwell plot demo.json --figure causes --output causes.pdf";

/// Converts an SVG to the contents of a file.
type Converter = fn(&str) -> Result<Vec<u8>, wearwell_plot::Failure>;

/// Kinds of files, by the endings of their names.
const KINDS: [(&str, Converter); 3] =
    [("svg", |svg| Ok(svg.as_bytes().to_vec())), ("pdf", wearwell_plot::pdf), ("png", wearwell_plot::png)];

fn names() -> PossibleValuesParser {
    FIGURES.iter().map(|figure| PossibleValue::new(figure.name).help(figure.help)).collect::<Vec<_>>().into()
}

/// Runs the command.
pub fn run(args: &Args) -> Result<(), Failure> {
    check_not_input(&args.output, std::slice::from_ref(&args.result))?;
    let ending = args.output.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let Some((_, make)) = KINDS.iter().find(|(known, _)| *known == ending) else {
        let problem = "a figure ends in .svg, .pdf or .png";
        return Err(Failure::Usage(format!("{}: {problem}", args.output.display())));
    };
    check_can_create(&args.output)?;
    let figure = figures::named(&args.figure).map_err(Failure::Usage)?;
    let of = |problem: wearwell_plot::Failure| format!("{}: {problem}", args.result.display());
    let mut result = json(&args.result)?;
    rename_old_fields(&mut result);
    let svg = figure.svg(&result).map_err(|problem| Failure::Usage(of(problem)))?;
    write_bytes(&args.output, &make(&svg).map_err(|problem| Failure::Run(of(problem)))?)
}
