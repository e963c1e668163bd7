//! Simulations on request: queue, execution, progress and cancellation.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use wearwell_stack::{Observer, Phase, Progress, RunError, RunResult, Scenario};

/// Function that runs a scenario. With it, this crate does not depend on the layers on top of a stack, such as NVMFS.
pub type RunFunction = fn(&Scenario, &mut dyn Observer) -> Result<RunResult, RunError>;

/// Maximum number of waiting and running simulations; further simulations are refused.
const MAX_UNFINISHED: usize = 128;
/// Maximum number of simulations whose state is kept; the oldest finished simulations are dropped.
const MAX_KEPT: usize = 1024;

/// State of a simulation.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum SimulationState {
    Waiting,
    Running {
        phase: Phase,
        done: f64,
    },
    Finished {
        write_amplification: Option<f64>,
        ci95_half_width: Option<f64>,
        steady: bool,
        warnings: Vec<String>,
    },
    /// The simulation could not start, or it failed.
    Failed {
        problem: String,
    },
    Stopped,
}

impl SimulationState {
    fn is_unfinished(&self) -> bool {
        matches!(self, SimulationState::Waiting | SimulationState::Running { .. })
    }
}

/// All simulations that an HTML page has requested.
#[derive(Clone)]
pub struct Simulations {
    table: Arc<Mutex<SimulationTable>>,
    /// One permit per concurrent simulation.
    run_permits: Arc<Semaphore>,
    run: RunFunction,
}

#[derive(Default)]
struct SimulationTable {
    states: BTreeMap<u64, SimulationState>,
    last_number: u64,
}

impl Simulations {
    /// Returns an empty set of simulations; `run` executes them, at most `threads` at a time.
    pub fn new(run: RunFunction, threads: usize) -> Self {
        Simulations { table: Arc::default(), run_permits: Arc::new(Semaphore::new(threads)), run }
    }

    fn table(&self) -> MutexGuard<'_, SimulationTable> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a simulation and returns its number.
    ///
    /// # Errors
    /// Returns an error if too many simulations are waiting.
    pub fn start(&self, scenario: Scenario) -> Result<u64, String> {
        let number = {
            let mut table = self.table();
            if table.states.values().filter(|state| state.is_unfinished()).count() >= MAX_UNFINISHED {
                return Err(format!("{MAX_UNFINISHED} simulations wait or run already; stop some"));
            }
            table.last_number += 1;
            let number = table.last_number;
            table.states.insert(number, SimulationState::Waiting);
            while table.states.len() > MAX_KEPT {
                let oldest = table.states.iter().find(|(_, state)| !state.is_unfinished());
                let Some(oldest) = oldest.map(|(number, _)| *number) else { break };
                table.states.remove(&oldest);
            }
            number
        };
        let simulations = self.clone();
        tokio::spawn(async move {
            let Ok(_permit) = simulations.run_permits.clone().acquire_owned().await else { return };
            let table = simulations.table.clone();
            if tokio::task::spawn_blocking(move || simulations.run_simulation(number, &scenario))
                .await
                .is_err()
            {
                let problem = "the simulation panicked; please report the scenario".to_owned();
                let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
                table.states.insert(number, SimulationState::Failed { problem });
            }
        });
        Ok(number)
    }

    /// Runs a simulation to its end, unless simulations are stopped.
    fn run_simulation(&self, number: u64, scenario: &Scenario) {
        let mut watch = ProgressObserver { simulations: self, number };
        if watch.should_continue().is_break() {
            return;
        }
        let state = match (self.run)(scenario, &mut watch) {
            Ok(result) => SimulationState::Finished {
                write_amplification: result.write_amplification,
                ci95_half_width: result
                    .write_amplification_estimate
                    .and_then(|estimate| estimate.ci95_half_width),
                steady: result.phases.steady,
                warnings: result.warnings,
            },
            Err(error) => SimulationState::Failed { problem: error.to_string() },
        };
        if let Some(current) =
            self.table().states.get_mut(&number).filter(|standing| standing.is_unfinished())
        {
            *current = state;
        }
    }

    /// Returns the states of the simulations with these numbers; an unknown number is omitted.
    pub fn states(&self, numbers: &[u64]) -> BTreeMap<u64, Value> {
        let table = self.table();
        let known = numbers.iter().filter_map(|number| Some((*number, table.states.get(number)?)));
        known.map(|(number, state)| (number, serde_json::to_value(state).expect("plain data"))).collect()
    }

    /// Stops all waiting and running simulations.
    pub fn stop(&self) {
        for state in self.table().states.values_mut().filter(|state| state.is_unfinished()) {
            *state = SimulationState::Stopped;
        }
    }
}

/// Observer that records the progress of a simulation, and ends the run when the simulation is stopped.
struct ProgressObserver<'a> {
    simulations: &'a Simulations,
    number: u64,
}

impl Observer for ProgressObserver<'_> {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        let state = SimulationState::Running { phase: progress.phase, done: progress.fraction_done };
        match self.simulations.table().states.get_mut(&self.number) {
            Some(current) if current.is_unfinished() => {
                *current = state;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    }

    fn should_continue(&mut self) -> ControlFlow<()> {
        let table = self.simulations.table();
        let is_unfinished = table.states.get(&self.number).is_some_and(SimulationState::is_unfinished);
        if is_unfinished { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
