//! Fleets: thousands of drives with different models, ages, tenants and loads; when they wear out, and what it would cost otherwise.
//!
//! A drive's life is what its flash endures over what is written to it and the write amplification. Models, loads and ages are drawn
//! (`config.rs`, `draw.rs`); write amplification is known from theory at a few points of what is drawn, and from there interpolated
//! (`surface.rs`), so that a hundred thousand drives take seconds; `check.rs` simulates some of them.

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
mod tally;
#[cfg(test)]
mod tests;

pub use amplification::Basis;
pub use check::{Check, CheckOptions, CheckRow, TOLERANCE, Verdict};
pub use config::{Fleet, Group, Simulation, Tenant, WhatIf};
pub use distribution::{Distribution, Law};
pub use estimate::Estimate;
pub use plan::Plan;
pub use scaled::Scale;
pub use schedule::makespan;
pub use summary::{FleetResult, LifeRow, PartRow, WhatIfRow, YearRow};

use crate::measured::MeasureError;
use crate::prediction::PredictionError;
use crate::sweep::{SweepObserver, SweepOptions};
use rayon::prelude::*;
use std::path::Path;
use wearwell_base::config::ConfigError;
use wearwell_stack::{Draft, DraftError, RunError};

/// Why nothing can be said of a fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A setting that cannot be.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The same, with its place in the file.
    #[error(transparent)]
    Draft(#[from] DraftError),
    /// There is no model, and nothing may be simulated.
    #[error("{of}: no model applies: {why}; with a table [simulation] some points are simulated instead")]
    NoModel {
        /// The drives in question.
        of: String,
        /// Why there is none.
        why: String,
    },
    /// A model applies, and has no answer.
    #[error("{of}: {error}")]
    Prediction {
        /// The drives in question.
        of: String,
        /// Why there is no answer.
        error: PredictionError,
    },
    /// A simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Simulations that were not made, or say nothing.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// How a fleet is worked out.
#[derive(Clone, Copy, Debug, Default)]
pub struct FleetOptions<'a> {
    /// Drives of which theory is held against simulation.
    pub check: Option<CheckOptions>,
    /// Who makes the simulations, and with how many threads the rest is done. Results do not depend on it.
    pub sweep: SweepOptions<'a>,
}

/// The fleet of a file, TOML or JSON, with the tables that it names, which count from its folder.
///
/// # Errors
/// What cannot be read or cannot be, with its place in the file.
pub fn from_file(path: &Path) -> Result<Plan, FleetError> {
    of_draft(&Draft::from_file(path)?, path.parent().unwrap_or(Path::new("")))
}

/// The fleet that a draft describes; tables that it names count from `folder`.
///
/// # Errors
/// What cannot be, with its place in the file that the draft was read from.
pub fn of_draft(draft: &Draft, folder: &Path) -> Result<Plan, FleetError> {
    let explain = |error: ConfigError| FleetError::Draft(draft.explain(&error));
    let fleet = Fleet::read(draft.value()).map_err(explain)?;
    Plan::new(fleet, folder).map_err(|error| match error {
        FleetError::Config(error) => explain(error),
        other => other,
    })
}

/// What becomes of the fleet. The observer is shown the runs of a check, and may stop at any point.
///
/// # Errors
/// Drives of which nothing is known; runs that failed.
pub fn foresee(
    plan: &Plan,
    options: &FleetOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<FleetResult, FleetError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.sweep.threads.unwrap_or(0)).build()?;
    pool.install(|| {
        let known = amplification::known(plan, &options.sweep, observer)?;
        let surfaces: Vec<_> = known.iter().map(|known| known.surface.clone()).collect();
        let draw = |number: u32| match observer.begin(number as usize).is_break() {
            true => Err(RunError::Interrupted.into()),
            false => Ok(tally::tally(plan, &surfaces, number)),
        };
        let tallies =
            (0..plan.fleet.draws).into_par_iter().map(draw).collect::<Result<Vec<_>, FleetError>>()?;
        let check = options
            .check
            .map(|check| check::check(plan, &known, check, &options.sweep, observer))
            .transpose()?;
        Ok(summary::summary(plan, &known, &tallies, check))
    })
}
