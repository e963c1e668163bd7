//! `wearwell theory optimal-choices` and `solve-spare`: inverse problems.

use super::answer::{Answer, OutputArgs};
use super::options::{BlockArgs, DriveArgs, Frontiers, PolicyArgs};
use super::writes::{WriteArgs, WriteDistribution};
use crate::exit::Failure;
use clap::ValueEnum;
use serde_json::json;
use wearwell_theory::mean_field::{self, Structure};
use wearwell_theory::selection::{DChoices, Selection};
use wearwell_theory::{Drive, OptimalChoices, TheoryError, closed_forms};

/// Relative distance from the best that counts as equally good.
const FLATNESS_TOLERANCE: f64 = 1e-3;

/// Number of choices with the least write amplification
///
/// With one write frontier, more choices are always better. With two there is an optimum, typically near ten: with
/// more choices, pages move from victims with few valid pages and soon have to move again (Van Houdt 2013, section
/// 4.3).
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wearwell theory optimal-choices --hot-writes 0.8 --hot-space 0.2
  wearwell theory optimal-choices --pages-per-block 32 --max-choices 40 --format csv")]
pub struct ChoicesArgs {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    writes: WriteArgs,
    /// Number of write frontiers
    #[arg(long, value_enum, default_value_t = Frontiers::Double, help_heading = "Cleaning")]
    structure: Frontiers,
    /// Largest number of choices to try; all whole numbers from 1 are tried
    #[arg(long, value_name = "D", default_value_t = 150, help_heading = "Cleaning")]
    max_choices: u32,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `theory optimal-choices`.
pub fn optimal_choices(args: &ChoicesArgs) -> Result<(), Failure> {
    let (drive, writes) = (args.drive.drive()?, args.writes.writes()?);
    let structure = args.structure.structure();
    let found =
        match mean_field::optimal_choices(drive, &writes.classes(&drive)?, structure, args.max_choices) {
            // The model does not accept so many classes: each answer is extrapolated.
            Err(TheoryError::Parameter { parameter: "classes", .. }) => {
                wearwell_theory::scan_choices(args.max_choices, |choices| {
                    let selection = DChoices::new(f64::from(choices))?;
                    mean_field(drive, &writes, structure, &selection)
                })
            }
            found => found,
        }?;
    let name = Frontiers::name(structure);
    let title = format!("best number of choices, {name} write frontier");
    let mut answer = Answer::new("optimal-choices", title);
    let best = found.best;
    answer.figure("Best number of choices", best.choices.to_string());
    answer.figure("Write amplification", format!("{:.4}", best.write_amplification));
    answer.add_drive(&drive, Some(&writes));
    answer.parameter("structure", json!(name));
    answer.parameter("max_choices", json!(args.max_choices));
    let (low, high) = flat_range(&found);
    answer.figure("Within 0.1 % of it", format!("{low} to {high} choices"));
    let end = if found.is_at_scan_limit() {
        "the best is the last tried; more may be better still"
    } else {
        "the best lies inside"
    };
    answer.figure("Tried", format!("1 to {}; {end}", args.max_choices));
    answer.value("choices", json!(best.choices));
    answer.value("write_amplification", json!(best.write_amplification));
    answer.value("flat_from", json!(low));
    answer.value("flat_to", json!(high));
    answer.value("at_the_end", json!(found.is_at_scan_limit()));
    let scan = found.scan.iter().map(|choice| {
        let amplification = ("write_amplification".to_owned(), json!(choice.write_amplification));
        vec![("choices".to_owned(), json!(choice.choices)), amplification]
    });
    answer.rows = Some(scan.collect());
    answer.value("scan", found.scan.iter().map(|choice| json!(choice.write_amplification)).collect());
    answer.finish(&args.output)
}

/// Returns the unbroken range of choices around the best that are nearly as good.
fn flat_range(scan: &OptimalChoices) -> (u32, u32) {
    let limit = scan.best.write_amplification * (1.0 + FLATNESS_TOLERANCE);
    let best = scan.best.choices as usize - 1;
    let is_flat = |at: &usize| scan.scan[*at].write_amplification <= limit;
    let low = (0..=best).rev().take_while(is_flat).last().unwrap_or(best);
    let high = (best..scan.scan.len()).take_while(is_flat).last().unwrap_or(best);
    (scan.scan[low].choices, scan.scan[high].choices)
}

/// Returns the write amplification by the mean field.
fn mean_field(
    drive: Drive,
    writes: &WriteDistribution,
    structure: Structure,
    selection: &dyn Selection,
) -> Result<f64, TheoryError> {
    Ok(writes.solve(drive, structure, selection)?.write_amplification)
}

/// Spare space needed for a given write amplification
#[derive(clap::Args)]
#[command(after_help = "Examples:
  wearwell theory solve-spare --target-wa 2.5
  wearwell theory solve-spare --target-wa 2.5 --model double --hot-writes 0.8 --hot-space 0.2
  wearwell theory solve-spare --target-wa 3 --model greedy --pages-per-block 256")]
pub struct SpareArgs {
    /// Wanted write amplification, above 1
    #[arg(long, value_name = "WA", allow_negative_numbers = true)]
    target_wa: f64,
    /// Model to use
    #[arg(long, value_enum, default_value_t = Model::Single)]
    model: Model,
    #[command(flatten)]
    block: BlockArgs,
    #[command(flatten)]
    writes: WriteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    output: OutputArgs,
}

/// Models whose write amplification falls as spare space grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Model {
    /// Mean field of one write frontier
    Single,
    /// Mean field of two write frontiers
    Double,
    /// Cleaning in the order of writing
    Fifo,
    /// The fewest valid pages, uniform writes
    Greedy,
    /// Any block, any writes
    Random,
}

/// Runs `theory solve-spare`.
pub fn solve_spare(args: &SpareArgs) -> Result<(), Failure> {
    let (writes, selection) = (args.writes.writes()?, args.policy.selection()?);
    let is_mean_field = matches!(args.model, Model::Single | Model::Double);
    if !is_mean_field && args.policy.is_given() {
        return Err(Failure::Usage("--policy, --choices: only --model single and double have them".into()));
    }
    if args.model == Model::Greedy && !writes.is_uniform() {
        return Err(Failure::Usage("--model: greedy is known in closed form for uniform writes only".into()));
    }
    let amplification = |drive: Drive| match args.model {
        Model::Single => mean_field(drive, &writes, Structure::Single, &*selection),
        Model::Double => mean_field(drive, &writes, Structure::Double, &*selection),
        Model::Fifo => closed_forms::fifo(&drive, &writes.classes(&drive)?),
        Model::Greedy => closed_forms::greedy(&drive),
        Model::Random => closed_forms::random(&drive),
    };
    let drive = wearwell_theory::solve_spare(args.target_wa, args.block.pages_per_block, amplification)?;
    let name = args.model.to_possible_value().expect("no model is hidden").get_name().to_owned();
    let mut answer = Answer::new("solve-spare", format!("spare space for a write amplification, {name}"));
    answer.figure("Write amplification", format!("{:.4}, as wanted", args.target_wa));
    answer.add_drive(&drive, Some(&writes));
    answer.parameter("model", json!(name));
    answer.parameter("target_wa", json!(args.target_wa));
    if is_mean_field {
        answer.figure("Victim", selection.describe());
        answer.parameters(args.policy.parameters());
    }
    answer.value("write_amplification", json!(amplification(drive)?));
    answer.curve = args.output.curve(&drive, amplification);
    answer.finish(&args.output)
}
