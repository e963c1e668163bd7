//! Predictions of theory for a scenario: selects the model for the store that the host writes to, and computes its
//! value.
//!
//! To add a model of another policy, add a line in [`models::of`]; for another workload, in [`writes::of`].

mod dedup;
mod models;
#[cfg(test)]
mod tests;
mod writes;

use wearwell_stack::layers::Feature;
use wearwell_stack::{HostStore, ResolvedScenario, RunResult, Scenario, TheoryResult};
use wearwell_theory::{Drive, TheoryError};

/// Reason why there is no prediction.
#[derive(Debug, thiserror::Error)]
pub enum PredictionError {
    /// The scenario cannot be built.
    #[error(transparent)]
    Scenario(#[from] wearwell_base::config::ConfigError),
    /// No model covers the scenario.
    #[error("no model applies: {0}")]
    NoModel(String),
    /// A model applies but has no solution.
    #[error(transparent)]
    Theory(#[from] TheoryError),
}

/// Allowed effort of a prediction, in multiplications per evaluation of the equations for two classes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PredictionEffort {
    /// A few hundredths of a second, for callers with hundreds of predictions. Blocks of more than 128 pages are
    /// extrapolated from smaller ones; with two frontiers and two classes the error is up to 0.1 %.
    Minimal,
    /// A few tenths of a second, in addition to a run; larger blocks are extrapolated from smaller ones.
    Short,
    /// A few seconds.
    Full,
}

impl PredictionEffort {
    fn max_multiplications(self) -> f64 {
        match self {
            PredictionEffort::Minimal => 2.1e6,
            PredictionEffort::Short => 2e7,
            PredictionEffort::Full => 2e8,
        }
    }
}

/// Features of a store that do not affect its write amplification, or that models cover.
const SUPPORTED_FEATURES: &[Feature] = &[
    Feature::InPlace,
    Feature::FreePool,
    Feature::Watermarks,
    Feature::SeparateStreams,
    Feature::BlockDirectory,
    Feature::NoTrim,
    Feature::Unaligned,
    Feature::OnZones,
    Feature::Unheard,
    Feature::Tenant,
    Feature::Content,
    Feature::Timing,
    Feature::Power,
    Feature::PowerAtEnd,
    Feature::Superblocks,
];

/// Predicts the write amplification of `scenario`.
///
/// # Errors
///
/// Returns an error if the scenario cannot be built, if no model applies, with the reason, or if the model has no
/// solution.
pub fn predict(scenario: &Scenario, effort: PredictionEffort) -> Result<TheoryResult, PredictionError> {
    predict_with(scenario, effort, true)
}

/// Predicts only the value for the scenario, which also takes the place of the value for very many blocks. Without the
/// second value the cost is halved.
///
/// # Errors
///
/// Fails as [`predict`] does.
pub(crate) fn predict_alone(
    scenario: &Scenario,
    patience: PredictionEffort,
) -> Result<TheoryResult, PredictionError> {
    predict_with(scenario, patience, false)
}

fn predict_with(
    scenario: &Scenario,
    effort: PredictionEffort,
    with_limit: bool,
) -> Result<TheoryResult, PredictionError> {
    let resolved = ResolvedScenario::of(scenario.clone())?;
    let store = resolved.host_store().map_err(PredictionError::NoModel)?;
    let deduplicates = store.dedup.is_some_and(|dedup| !dedup.is_none());
    let supported = if deduplicates {
        [SUPPORTED_FEATURES, dedup::SUPPORTED_FEATURES].concat()
    } else {
        SUPPORTED_FEATURES.to_vec()
    };
    if let Some(feature) = store.first_unsupported_feature(&supported) {
        return Err(PredictionError::NoModel(format!("theory knows nothing of {feature}")));
    }
    let writes = writes::of(store.workload, store.logical_pages).map_err(PredictionError::NoModel)?;
    let units = writes.units_of(store.pages_per_block, store.keys.copy_order);
    let pages_per_block = units.map_err(PredictionError::NoModel)?;
    let model = models::of(&store, &writes).map_err(PredictionError::NoModel)?;
    let equal = dedup::of(&store, pages_per_block).map_err(PredictionError::NoModel)?;
    let held_back_pages = model.held_back_pages(&store);
    let limit = drive_of(&store, pages_per_block, 0.0)?;
    let drive = drive_of(&store, pages_per_block, held_back_pages)?;
    let solve = |drive: Drive| match &equal {
        None => Ok(model.solve(drive, &writes.classes, effort.max_multiplications())?),
        Some(equal) => {
            let stored = model.solve_dedup(drive, &writes.classes, equal, store.logical_pages)?;
            Ok::<_, PredictionError>((stored.write_amplification, vec![dedup::describe(&stored)]))
        }
    };
    let (write_amplification, mut notes) = solve(drive)?;
    let write_amplification_limit = if with_limit { solve(limit)?.0 } else { write_amplification };
    notes.splice(0..0, model.notes.iter().chain(&writes.notes).cloned());
    Ok(TheoryResult {
        layer: store.layer.to_owned(),
        model: model.name(),
        write_amplification,
        write_amplification_limit,
        spare_factor: drive.spare_factor(),
        held_back_pages,
        notes,
    })
}

/// Adds to `result` the prediction for its scenario, if one is available within a few tenths of a second.
pub fn add_prediction(result: &mut RunResult) {
    result.theory = predict(&result.scenario, PredictionEffort::Short).ok();
}

/// Returns the model's drive for the store, without the pages that are held back.
fn drive_of(store: &HostStore<'_>, pages_per_block: u32, held_back_pages: f64) -> Result<Drive, TheoryError> {
    let physical = f64::from(store.blocks) * f64::from(store.pages_per_block) - held_back_pages;
    Drive::new(pages_per_block, 1.0 - f64::from(store.logical_pages) / physical)
}
