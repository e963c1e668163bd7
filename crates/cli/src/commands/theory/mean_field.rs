//! `wearwell theory single` and `double`.

use super::answer::{Answer, OutputArgs};
use super::distributions;
use super::options::{DriveArgs, Frontiers, PolicyArgs};
use super::writes::WriteArgs;
use crate::exit::Failure;
use crate::report::grid;
use serde_json::json;
use wearwell_theory::mean_field::{SteadyState, Structure};
use wearwell_theory::{ClassMerging, Classes};

#[derive(clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    #[command(flatten)]
    drive: DriveArgs,
    #[command(flatten)]
    writes: WriteArgs,
    #[command(flatten)]
    policy: PolicyArgs,
    #[command(flatten)]
    output: OutputArgs,
}

const HELP: &str = "\
The model: Van Houdt, Performance Evaluation 70 (2013), with any number of classes. Its drive has very many blocks,
cleans in place, and takes pages of a victim at random.

Examples:
  wearwell theory single --pages-per-block 32 --spare-factor 0.07 --choices 9 --hot-writes 0.81 --hot-space 0.06
  wearwell theory double --alpha 1.2 --policy greedy-limit
  wearwell theory double --format json | jq .victim_valid_pages";

/// Runs the command.
pub fn run(structure: Structure, args: &Args) -> Result<(), Failure> {
    let (drive, writes, selection) = (args.drive.drive()?, args.writes.writes()?, args.policy.selection()?);
    let solved = writes.solve(drive, structure, &*selection)?;
    let (classes, state) = (&solved.classes, &solved.state);
    let name = Frontiers::name(structure);
    let title = format!("mean field, {name} write frontier");
    let mut answer = Answer::for_drive(name, title, &drive, Some(&writes), solved.write_amplification);
    if solved.merging != ClassMerging::None {
        let (merged, count) = (state.write_amplification, classes.count());
        let what = match solved.merging {
            ClassMerging::WithoutExtrapolation => "blocks are too large for more, and it may be 4 % off",
            _ => "extrapolated to all",
        };
        answer.figure(
            "Merged",
            format!("{merged:.4} with {count} classes, {what}; what follows is for {count}"),
        );
        answer.value("write_amplification_merged", json!(merged));
        answer.value("merged_classes", json!(count));
        answer.value("extrapolated", json!(solved.merging == ClassMerging::Extrapolated));
    }
    answer.parameters(args.policy.parameters());
    answer.figure("Victim", selection.describe());
    let (block, victim) =
        (distributions::mean(&state.valid_pages), distributions::mean(&state.victim_valid_pages));
    answer.figure("Valid pages, mean", format!("{block:.4} of a block, {victim:.4} of a victim"));
    answer.figure(
        "Equations",
        format!("hold to {:.0e} after {} evaluations", state.residual, state.evaluations),
    );
    answer.sections.push(distributions::table(&state.valid_pages, &state.victim_valid_pages));
    if classes.count() > 1 {
        answer.sections.push(class_table(classes, state));
    }
    answer.value("host_pages_per_victim", json!(state.host_pages_per_victim));
    answer.value("valid_pages_mean", json!(block));
    answer.value("victim_valid_pages_mean", json!(victim));
    answer.value("valid_pages", json!(state.valid_pages));
    answer.value("victim_valid_pages", json!(state.victim_valid_pages));
    answer.value("moved_shares", json!(state.moved_shares));
    answer.value("residual", json!(state.residual));
    answer.value("evaluations", json!(state.evaluations));
    answer.curve = args
        .output
        .curve(&drive, |drive| Ok(writes.solve(drive, structure, &*selection)?.write_amplification));
    answer.finish(&args.output)
}

/// Returns a table of the classes, hottest first: their shares and the cost of writing to each.
fn class_table(classes: &Classes, state: &SteadyState) -> String {
    let percent = |share: f64| format!("{:.2} %", 100.0 * share);
    let rows = classes.as_slice().iter().zip(&state.moved_shares).map(|(class, &moved)| {
        let class_amplification = 1.0 + (state.write_amplification - 1.0) * moved / class.write_share;
        vec![
            percent(class.write_share),
            percent(class.space_share),
            percent(moved),
            format!("{class_amplification:.4}"),
        ]
    });
    let head =
        ["writes to class", "its logical pages", "its share of moved pages", "its write amplification"];
    grid(&head, rows.collect(), &[0, 1, 2, 3])
}
