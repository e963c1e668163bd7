//! Scenarios run many times, each time with another seed, on all cores.

use crate::Failure;
use crate::interval::Interval;
use rayon::prelude::*;
use std::ops::ControlFlow;
use wearwell_stack::{RunResult, Scenario, run};

/// What the experiments keep of one run.
#[derive(Clone, Debug)]
pub struct Replica {
    /// Write amplification over the measured part.
    pub write_amplification: f64,
    /// Share of the logical pages that held data, on average over the measured windows.
    pub mapped_share: f64,
    /// Pages that left their stream because no erased block was left, as a share of all programs.
    pub spilled_share: f64,
    /// Page writes simulated, over the whole run.
    pub page_writes: f64,
    /// Seconds it took.
    pub seconds: f64,
}

impl Replica {
    fn from_result(result: &RunResult) -> Result<Self, Failure> {
        let write_amplification = result.write_amplification.ok_or_else(|| result.warnings.join("; "))?;
        let measured = result.windows.iter().filter(|window| {
            matches!(window.phase, wearwell_stack::Phase::Measure) && window.window_host_pages > 0
        });
        let shares: Vec<f64> = measured.map(|window| window.mapped_share).collect();
        let spilled: u64 = result.layers.iter().map(|layer| layer.spilled_pages).sum();
        let performance = &result.performance;
        Ok(Replica {
            write_amplification,
            mapped_share: shares.iter().sum::<f64>() / shares.len() as f64,
            spilled_share: spilled as f64 / result.nand.programs as f64,
            page_writes: performance.seconds * performance.page_writes_per_second,
            seconds: performance.seconds,
        })
    }
}

/// Reads a scenario from TOML.
pub fn scenario(text: &str) -> Result<Scenario, Failure> {
    toml::from_str(text).map_err(|error| format!("{error}\nin the scenario\n{text}").into())
}

/// Runs each scenario with the seeds `1..=runs`; the replicas in the order of the scenarios and seeds.
pub fn run_all(scenarios: &[Scenario], runs: u64) -> Result<Vec<Vec<Replica>>, Failure> {
    run_each(scenarios, runs, Replica::from_result)
}

/// The same with what `keep` takes from each run.
pub fn run_each<T: Clone + Send>(
    scenarios: &[Scenario],
    runs: u64,
    keep: impl Fn(&RunResult) -> Result<T, Failure> + Send + Sync,
) -> Result<Vec<Vec<T>>, Failure> {
    let jobs: Vec<(usize, u64)> =
        (0..scenarios.len()).flat_map(|at| (1..=runs).map(move |seed| (at, seed))).collect();
    let kept: Vec<T> = jobs
        .par_iter()
        .with_max_len(1)
        .map(|&(at, seed)| {
            let scenario = Scenario { seed, ..scenarios[at].clone() };
            let result = run(&scenario, &mut |_: &_| ControlFlow::Continue(()))
                .map_err(|error| format!("scenario {at}, seed {seed}: {error}"))?;
            keep(&result)
        })
        .collect::<Result<_, Failure>>()?;
    Ok(kept.chunks(runs as usize).map(<[T]>::to_vec).collect())
}

/// Write amplification over replicas.
pub fn write_amplification(replicas: &[Replica]) -> Interval {
    Interval::of(&replicas.iter().map(|replica| replica.write_amplification).collect::<Vec<_>>())
}

/// Says on the standard error how much was simulated, and how fast one core was.
pub fn report_speed(title: &str, replicas: &[Vec<Replica>]) {
    let all = || replicas.iter().flatten();
    let writes: f64 = all().map(|replica| replica.page_writes).sum();
    let seconds: f64 = all().map(|replica| replica.seconds).sum();
    eprintln!(
        "{title}: {:.1} billion page writes, {:.1} ns each, {seconds:.0} s of one core",
        writes / 1e9,
        seconds / writes * 1e9
    );
}
