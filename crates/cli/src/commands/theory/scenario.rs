//! `wearwell theory --scenario`: theory applied to a scenario, without running it.

use super::answer::{Answer, OutputArgs};
use crate::exit::Failure;
use crate::report::table::{title, workload};
use crate::scenario_args::{Overrides, ScenarioArgs};
use serde_json::json;
use std::path::PathBuf;
use wearwell_stack::Draft;
use wearwell_study::{PredictionEffort, PredictionError, predict};

/// A scenario and changes to it.
#[derive(clap::Args)]
#[group(id = "scenario of theory")]
pub struct Args {
    /// Scenario to calculate (TOML or JSON), or a result whose scenario is used, where a model applies
    #[arg(long, value_name = "SCENARIO")]
    scenario: Option<PathBuf>,
    #[command(flatten)]
    overrides: Overrides,
    #[command(flatten)]
    output: OutputArgs,
}

/// Runs `theory --scenario`; without a file, uses the canonical scenario.
pub fn run(args: &Args) -> Result<(), Failure> {
    let source = ScenarioArgs { file: args.scenario.clone(), overrides: args.overrides.clone() };
    let draft = source.draft()?;
    let scenario = draft.scenario()?;
    let found = predict(&scenario, PredictionEffort::Full).map_err(|error| match error {
        PredictionError::Scenario(error) => draft.explain(&error).into(),
        PredictionError::NoModel(_) => Failure::run(error),
        PredictionError::Theory(error) => error.into(),
    })?;
    let mut answer = Answer::new("scenario", title(&scenario));
    answer.figure("Write amplification", format!("{:.4} of `{}`", found.write_amplification, found.layer));
    answer.figure("  very many blocks", format!("{:.4}", found.write_amplification_limit));
    answer.figure("Model", found.model.clone());
    let held_back = format!(
        "spare factor {:.4}, without {:.0} erased pages that wait while a victim is chosen",
        found.spare_factor, found.held_back_pages
    );
    answer.figure("Spare space", held_back);
    answer.figure("Workload", workload(&scenario));
    answer.sections.extend(found.notes.iter().map(|note| format!("Note: {note}.")));
    answer.value("write_amplification", json!(found.write_amplification));
    answer.value("write_amplification_limit", json!(found.write_amplification_limit));
    answer.value("layer", json!(found.layer));
    answer.value("theory_model", json!(found.model));
    answer.value("spare_factor", json!(found.spare_factor));
    answer.value("held_back_pages", json!(found.held_back_pages));
    answer.value("notes", json!(found.notes));
    answer.curve = curve(&draft, &args.output, found.spare_factor);
    answer.scenario = Some(json!(scenario));
    answer.finish(&args.output)
}

/// Key of a measure of spare space, with the functions that convert it from and to the spare factor.
type Measure = (&'static str, fn(f64) -> f64, fn(f64) -> f64);
const MEASURES: [Measure; 4] = [
    ("device.spare_factor", |factor| factor, |factor| factor),
    ("device.load", |factor| 1.0 - factor, |load| 1.0 - load),
    ("device.over_provisioning", |factor| factor / (1.0 - factor), |ratio| ratio / (1.0 + ratio)),
    ("device.alpha", |factor| 1.0 / (1.0 - factor), |alpha| 1.0 - 1.0 / alpha),
];

/// Returns the curve for the same scenario with other spare space; `default_spare` is the spare factor
/// available for cleaning.
fn curve(draft: &Draft, output: &OutputArgs, default_spare: f64) -> Option<Vec<(f64, f64)>> {
    let set_measure = MEASURES.iter().find_map(|measure| {
        let value = draft.get(measure.0)?.as_f64()?;
        Some((*measure, (measure.2)(value)))
    });
    let ((key, of_factor, _), own) = set_measure.unwrap_or((MEASURES[0], default_spare));
    output.curve_by(own, |spare_factor| {
        let mut changed = draft.clone();
        changed.set(key, json!(of_factor(spare_factor))).ok()?;
        Some(predict(&changed.scenario().ok()?, PredictionEffort::Full).ok()?.write_amplification)
    })
}
