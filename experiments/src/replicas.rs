//! Scenarios that run many times on all cores, each time with a different seed.

use crate::Failure;
use crate::interval::Interval;
use crate::session::{Interrupted, Session};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use wearwell_stack::{RunResult, Scenario, run};

/// Figures of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Replica {
    /// Write amplification during the measured part.
    pub write_amplification: f64,
    /// Share of the logical pages that held data, on average over the measured windows.
    pub mapped_share: f64,
    /// Number of pages that were written to a stream other than the chosen one because no erased block was left, as a
    /// share of all programs.
    pub spilled_share: f64,
}

impl Replica {
    fn from_result(result: &RunResult) -> Result<Self, Failure> {
        let measured = result.windows.iter().filter(|window| {
            matches!(window.phase, wearwell_stack::Phase::Measure) && window.window_host_pages > 0
        });
        let shares: Vec<f64> = measured.map(|window| window.mapped_share).collect();
        let spilled: u64 = result.layers.iter().map(|layer| layer.spilled_pages).sum();
        Ok(Replica {
            write_amplification: amplification(result)?,
            mapped_share: shares.iter().sum::<f64>() / shares.len() as f64,
            spilled_share: spilled as f64 / result.nand.programs as f64,
        })
    }
}

/// Returns the write amplification of a run; if the run has none, returns its warnings as an error.
pub fn amplification(result: &RunResult) -> Result<f64, Failure> {
    result.write_amplification.ok_or_else(|| result.warnings.join("; ").into())
}

/// Reads a scenario from TOML.
pub fn scenario(text: &str) -> Result<Scenario, Failure> {
    toml::from_str(text).map_err(|error| format!("{error}\nin the scenario\n{text}").into())
}

/// Returns the tables of a scenario, in TOML, by which the drive is overwritten at random, then warmed up and measured.
/// Warm-up and measurement each last `drive_writes` drive writes.
pub fn phases(random_overwrites: f64, drive_writes: f64) -> String {
    format!(
        r#"
        [precondition]
        random_overwrites = {random_overwrites:?}
        [measure]
        warm_up = {drive_writes:?}
        drive_writes = {drive_writes:?}
        window = 1.0
        "#
    )
}

fn to_toml(scenario: &Scenario) -> String {
    toml::to_string(scenario).unwrap_or_else(|error| format!("which cannot be shown: {error}"))
}

/// Runs each scenario with the seeds `1..=runs`; returns the replicas in the order of the scenarios and seeds.
pub fn run_all(session: &Session, scenarios: &[Scenario]) -> Result<Vec<Vec<Replica>>, Failure> {
    run_each(session, scenarios, "replica", Replica::from_result)
}

/// Runs the scenarios as [`run_all`] does, with figures that `extract` extracts from each run; `name` identifies
/// these figures.
pub fn run_each<T: Serialize + DeserializeOwned + Clone + Send>(
    session: &Session,
    scenarios: &[Scenario],
    name: &str,
    extract: impl Fn(&RunResult) -> Result<T, Failure> + Send + Sync,
) -> Result<Vec<Vec<T>>, Failure> {
    let with_seed = |scenario: &Scenario, seed| Scenario { seed, ..scenario.clone() };
    let seeds = |scenario| (1..=session.runs).map(move |seed| with_seed(scenario, seed));
    let points: Vec<Scenario> = scenarios.iter().flat_map(seeds).collect();
    let found = session.compute_each(name, &points, |scenario| {
        let result = run(scenario, &mut |_: &_| session.flow());
        match result {
            Err(_) if session.flow().is_break() => Err(Interrupted.into()),
            Err(error) => Err(format!("{error}\nin the scenario\n{}", to_toml(scenario)).into()),
            Ok(result) => extract(&result),
        }
    })?;
    Ok(found.chunks(session.runs as usize).map(<[T]>::to_vec).collect())
}

/// Returns the mean write amplification over the replicas, with its interval.
pub fn write_amplification(replicas: &[Replica]) -> Interval {
    Interval::from_values(&replicas.iter().map(|replica| replica.write_amplification).collect::<Vec<_>>())
}
