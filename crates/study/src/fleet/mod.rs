//! Fleets: thousands of drives with different models, ages, tenants and loads. Predicts when they wear out, and the
//! cost of what-if settings.
//!
//! The life of a drive is the endurance of its flash divided by host writes and write amplification. Models, loads and
//! ages are drawn at random (`config.rs`, `draw.rs`). Theory gives write amplification at a few points of the drawn
//! parameters; it is interpolated between them (`surface.rs`), so that a hundred thousand drives take seconds.
//! `check.rs` simulates a sample of the drives.

mod amplification;
mod check;
mod config;
mod distribution;
mod draw;
mod estimate;
mod plan;
mod scaled;
mod schedule;
mod smart_table;
mod summary;
mod surface;
#[cfg(test)]
mod tests;
mod totals;

pub use amplification::Basis;
pub use check::{CheckOptions, CheckRow, TOLERANCE, TheoryAccuracy, TheoryCheck};
pub use config::{Fleet, Group, Simulation, Tenant, WhatIf};
pub use distribution::{Distribution, Law};
pub use estimate::Estimate;
pub use plan::Plan;
pub use scaled::Scale;
pub use schedule::makespan;
pub use summary::{FleetResult, LifeRow, PartRow, WhatIfRow, YearRow};

use crate::measurement::MeasureError;
use crate::prediction::PredictionError;
use crate::sweep::{SweepObserver, SweepOptions};
use rayon::prelude::*;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_stack::{Draft, DraftError, RunError};

/// Reason why a fleet cannot be evaluated.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// Invalid setting.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Invalid setting, with its place in the file.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// No model applies, and simulation is not allowed.
    #[error("{of}: no model applies: {why}; with a table [simulation] some points are simulated instead")]
    NoModel {
        /// Affected drives.
        of: String,
        /// Reason why no model applies.
        why: String,
    },
    /// A model applies but has no solution.
    #[error("{of}: {error}")]
    Prediction {
        /// Affected drives.
        of: String,
        /// Reason why there is no solution.
        error: PredictionError,
    },
    /// A simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Simulations were not executed, or their results are unusable.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Options for evaluating a fleet.
#[derive(Clone, Copy, Debug, Default)]
pub struct FleetOptions<'a> {
    /// Sample of drives for which theory is compared with simulation.
    pub check: Option<CheckOptions>,
    /// Executor of simulations and number of threads. Results depend on neither.
    pub sweep: SweepOptions<'a>,
}

/// Reads the fleet of a TOML or JSON file, and the tables that the file names; paths of tables are relative to the
/// folder of the file.
///
/// # Errors
/// Returns an error with the place in the file for unreadable or invalid input.
pub fn from_file(path: &Path) -> Result<Plan, FleetError> {
    of_draft(&Draft::from_file(path)?, path.parent().unwrap_or(Path::new("")))
}

/// Returns the fleet that a draft describes; paths of tables are relative to `folder`.
///
/// # Errors
/// Returns an error with the place in the draft's file for invalid input.
pub fn of_draft(draft: &Draft, folder: &Path) -> Result<Plan, FleetError> {
    let explain = |error: ConfigError| FleetError::Draft(draft.explain(&error));
    let fleet = Fleet::read(draft.value()).map_err(explain)?;
    Plan::new(fleet, folder).map_err(|error| match error {
        FleetError::Config(error) => explain(error),
        other => other,
    })
}

/// Evaluates the fleet. The observer is notified of the runs of a check, and can stop the evaluation at any time.
///
/// # Errors
/// Returns an error for drives without a model, and for runs that failed.
pub fn evaluate(
    plan: &Plan,
    options: &FleetOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<FleetResult, FleetError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.sweep.threads.unwrap_or(0)).build()?;
    pool.install(|| {
        let models = amplification::template_models(plan, &options.sweep, observer)?;
        let surfaces: Vec<_> = models.iter().map(|model| model.surface.clone()).collect();
        let draw = |number: u32| match observer.begin(number as usize).is_break() {
            true => Err(RunError::Interrupted.into()),
            false => Ok(totals::draw_totals(plan, &surfaces, number)),
        };
        let draws =
            (0..plan.fleet.draws).into_par_iter().map(draw).collect::<Result<Vec<_>, FleetError>>()?;
        let check = options
            .check
            .map(|check| check::check_theory(plan, &models, check, &options.sweep, observer))
            .transpose()?;
        Ok(summary::summary(plan, &models, &draws, check))
    })
}
