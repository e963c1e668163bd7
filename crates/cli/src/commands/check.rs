//! `wearwell check`: checks of parts of Wearwell against each other.

use super::run::Format;
use crate::exit::Failure;
use crate::output::print;
use crate::progress::{ProgressArgs, with_progress};
use crate::report::{csv_rows, grid, ordered_json, wrap};
use crate::study_args::StudyArgs;
use serde_json::{Value, json};
use wearwell_study::Row;
use wearwell_study::theory_check::{self, BLOCK_SIZES, CheckError, CheckOptions, PointComparison};
use wearwell_theory::mean_field::Structure;

/// Checks parts of Wearwell against each other
#[derive(clap::Subcommand)]
pub enum Command {
    Theory(TheoryArgs),
}

/// Simulates random drives and compares them with the mean field
///
/// Each point is a drive with a random block size, spare space, number of choices and pair of temperatures; points
/// alternate between one and two write frontiers. Ends with exit code 1 if a point disagrees.
#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct TheoryArgs {
    /// Points of the grid
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    points: u32,
    /// Number of blocks of each drive
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(10..))]
    blocks: u32,
    /// Number of runs of each point, with seeds 1, 2, ...
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    runs: u32,
    /// Seed of the grid: another seed gives other points
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    study: StudyArgs,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Table, help_heading = "Output")]
    format: Format,
    #[command(flatten)]
    progress: ProgressArgs,
}

const HELP: &str = "\
What is compared: the mean over the runs with the mean field, which for two write frontiers is solved with the spare
space that the erased pages of the internal one leave. A point agrees if the difference is at most the half-width of
its interval plus one block of spare space, WA / (N S_f), for a finite number N of blocks. With an interval of 95 %
one point in twenty may lie outside by chance; the verdict therefore takes the interval that all points keep
together in 95 % of all cases (Sidak). `chance` marks points that only this wider interval holds.

Examples:
  wearwell check theory
  wearwell check theory --points 20 --blocks 2000 --seed 7
  wearwell check theory --format csv > points.csv";

/// Runs the command.
pub fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Theory(args) => theory(args),
    }
}

fn theory(args: &TheoryArgs) -> Result<(), Failure> {
    let points = theory_check::grid(args.points as usize, args.seed, BLOCK_SIZES);
    let study = args.study.open_resources(None)?;
    let options = CheckOptions { blocks: args.blocks, runs: args.runs, sweep: study.options(false, false) };
    let runs = points.len() * args.runs as usize;
    let outcome =
        with_progress(args.progress, runs, |display| theory_check::check(&points, &options, display));
    let compared = outcome.map_err(failure)?;
    print(&match args.format {
        Format::Table => wrap(&table(args, &compared)),
        Format::Json => json(args, &compared),
        Format::Csv => csv_rows(&compared.iter().map(row).collect::<Vec<_>>())?,
    })?;
    let apart = compared.iter().filter(|of| !of.agrees()).count();
    if apart > 0 {
        return Err(Failure::Run(format!("{apart} of {} points disagree", compared.len())));
    }
    Ok(())
}

fn failure(error: CheckError) -> Failure {
    match error {
        CheckError::Theory(error) => error.into(),
        CheckError::Measure(error) => error.into(),
        other => Failure::run(other),
    }
}

fn structure(comparison: &PointComparison) -> &'static str {
    match comparison.point.structure {
        Structure::Single => "single",
        Structure::Double => "double",
    }
}

fn verdict(comparison: &PointComparison) -> &'static str {
    match (comparison.agrees_alone(), comparison.agrees()) {
        (true, _) => "agrees",
        (false, true) => "chance",
        (false, false) => "DISAGREES",
    }
}

fn difference_percent(comparison: &PointComparison) -> f64 {
    100.0 * comparison.difference() / comparison.theory_finite
}

fn row(comparison: &PointComparison) -> Row {
    let point = &comparison.point;
    let fields: [(&str, Value); 17] = [
        ("structure", json!(structure(comparison))),
        ("pages_per_block", json!(point.pages_per_block)),
        ("spare_factor", json!(point.spare_factor)),
        ("choices", json!(point.choices)),
        ("hot_writes", json!(point.hot_writes)),
        ("hot_space", json!(point.hot_space)),
        ("drive_writes", json!(comparison.drive_writes)),
        ("theory", json!(comparison.theory)),
        ("theory_finite", json!(comparison.theory_finite)),
        ("simulated", json!(comparison.simulated)),
        ("simulated_ci95", json!(comparison.half_width)),
        ("simulated_ci_family", json!(comparison.family_half_width)),
        ("allowance", json!(comparison.allowance)),
        ("difference_percent", json!(difference_percent(comparison))),
        ("difference_in_ci95", json!(comparison.difference() / comparison.half_width)),
        ("difference_in_blocks_of_spare", json!(comparison.blocks_of_spare())),
        ("verdict", json!(verdict(comparison).to_lowercase())),
    ];
    fields.map(|(name, value)| (name.to_owned(), value)).to_vec()
}

fn json(args: &TheoryArgs, comparisons: &[PointComparison]) -> String {
    let points = comparisons.iter().map(|of| Value::Object(row(of).into_iter().collect()));
    let parameters = json!({
        "points": args.points, "blocks": args.blocks, "runs": args.runs, "seed": args.seed,
    });
    let fields = [
        ("version", json!(env!("CARGO_PKG_VERSION"))),
        ("mode", json!("check theory")),
        ("parameters", parameters),
        ("agree", json!(comparisons.iter().all(PointComparison::agrees))),
        ("points", points.collect()),
    ];
    ordered_json(fields.map(|(name, value)| (name.to_owned(), value)).to_vec())
}

fn table(args: &TheoryArgs, comparisons: &[PointComparison]) -> String {
    let rows = comparisons.iter().map(|of| {
        let point = &of.point;
        vec![
            structure(of).to_owned(),
            point.pages_per_block.to_string(),
            point.spare_factor.to_string(),
            point.choices.to_string(),
            point.hot_writes.to_string(),
            point.hot_space.to_string(),
            format!("{:.4}", of.theory),
            format!("{:.4}", of.theory_finite),
            format!("{:.4}", of.simulated),
            format!("{:.4}", of.half_width),
            format!("{:+.3}", difference_percent(of)),
            format!("{:+.2}", of.difference() / of.half_width),
            verdict(of).to_owned(),
        ]
    });
    let header = [
        "frontier",
        "b",
        "S_f",
        "d",
        "r",
        "f",
        "theory",
        "finite",
        "simulated",
        "± 95 %",
        "diff %",
        "diff / ±",
        "",
    ];
    let right: Vec<usize> = (1..12).collect();
    let mut text = grid(&header, rows.collect(), &right) + "\n";
    text += &summary(args, comparisons);
    text
}

fn summary(args: &TheoryArgs, comparisons: &[PointComparison]) -> String {
    let agree = comparisons.iter().filter(|of| of.agrees()).count();
    let alone = comparisons.iter().filter(|of| of.agrees_alone()).count();
    let (mean, worst) = comparisons.iter().fold((0.0, 0.0), |(sum, worst): (f64, f64), of| {
        (
            sum + difference_percent(of).abs() / comparisons.len() as f64,
            worst.max(difference_percent(of).abs()),
        )
    });
    format!(
        "{agree} of {} points agree at the level of all together, {alone} within their own 95 % interval and the \
         allowance.\nDifferences: {mean:.3} % on average, {worst:.3} % at most; drives of {} blocks, {} runs each, \
         seed {}.\n",
        comparisons.len(),
        args.blocks,
        args.runs,
        args.seed
    )
}
