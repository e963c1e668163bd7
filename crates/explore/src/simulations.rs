//! Simulations on request: queueing, execution, progress and cancellation.

use serde::Serialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;
use wearwell_stack::{Observer, Phase, Progress, RunError, RunResult, Scenario};

/// Function that runs a scenario, independent of the top of its stack.
pub type Run = fn(&Scenario, &mut dyn Observer) -> Result<RunResult, RunError>;

/// Maximum number of waiting and running simulations; more are refused.
const MOST_UNFINISHED: usize = 128;
/// Maximum number of simulations kept; the oldest finished ones are dropped.
const MOST_KEPT: usize = 1024;

/// State of a simulation.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
enum State {
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
    /// The simulation could not start, or failed.
    Failed {
        problem: String,
    },
    Stopped,
}

impl State {
    fn is_unfinished(&self) -> bool {
        matches!(self, State::Waiting | State::Running { .. })
    }
}

/// All simulations of a page.
#[derive(Clone)]
pub struct Simulations {
    table: Arc<Mutex<Table>>,
    /// One permit per concurrent simulation.
    running: Arc<Semaphore>,
    run: Run,
}

#[derive(Default)]
struct Table {
    states: BTreeMap<u64, State>,
    last: u64,
}

impl Simulations {
    /// Returns an empty set; `run` executes simulations, `threads` at a time.
    pub fn new(run: Run, threads: usize) -> Self {
        Simulations { table: Arc::default(), running: Arc::new(Semaphore::new(threads)), run }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a simulation and returns its number.
    ///
    /// # Errors
    /// Returns an error if too many simulations are waiting.
    pub fn start(&self, scenario: Scenario) -> Result<u64, String> {
        let number = {
            let mut table = self.table();
            if table.states.values().filter(|state| state.is_unfinished()).count() >= MOST_UNFINISHED {
                return Err(format!("{MOST_UNFINISHED} simulations wait or run already; stop some"));
            }
            table.last += 1;
            let number = table.last;
            table.states.insert(number, State::Waiting);
            while table.states.len() > MOST_KEPT {
                let oldest = table.states.iter().find(|(_, state)| !state.is_unfinished());
                let Some(oldest) = oldest.map(|(number, _)| *number) else { break };
                table.states.remove(&oldest);
            }
            number
        };
        let ours = self.clone();
        tokio::spawn(async move {
            let Ok(_permit) = ours.running.clone().acquire_owned().await else { return };
            let table = ours.table.clone();
            if tokio::task::spawn_blocking(move || ours.work(number, &scenario)).await.is_err() {
                let problem = "the simulation panicked; please report the scenario".to_owned();
                let mut table = table.lock().unwrap_or_else(PoisonError::into_inner);
                table.states.insert(number, State::Failed { problem });
            }
        });
        Ok(number)
    }

    /// Runs a simulation to its end, unless it is stopped.
    fn work(&self, number: u64, scenario: &Scenario) {
        let mut watch = Watch { simulations: self, number };
        if watch.keep_going().is_break() {
            return;
        }
        let state = match (self.run)(scenario, &mut watch) {
            Ok(result) => State::Finished {
                write_amplification: result.write_amplification,
                ci95_half_width: result
                    .write_amplification_estimate
                    .and_then(|estimate| estimate.ci95_half_width),
                steady: result.course.steady,
                warnings: result.warnings,
            },
            Err(error) => State::Failed { problem: error.to_string() },
        };
        if let Some(standing) =
            self.table().states.get_mut(&number).filter(|standing| standing.is_unfinished())
        {
            *standing = state;
        }
    }

    /// Returns the states of the simulations with these numbers; unknown numbers are omitted.
    pub fn states(&self, numbers: &[u64]) -> BTreeMap<u64, Value> {
        let table = self.table();
        let known = numbers.iter().filter_map(|number| Some((*number, table.states.get(number)?)));
        known.map(|(number, state)| (number, serde_json::to_value(state).expect("plain data"))).collect()
    }

    /// Stops all waiting and running simulations.
    pub fn stop(&self) {
        for state in self.table().states.values_mut().filter(|state| state.is_unfinished()) {
            *state = State::Stopped;
        }
    }
}

/// Observer that records the progress of one simulation, and ends the run when it is stopped.
struct Watch<'a> {
    simulations: &'a Simulations,
    number: u64,
}

impl Observer for Watch<'_> {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        let state = State::Running { phase: progress.phase, done: progress.done };
        match self.simulations.table().states.get_mut(&self.number) {
            Some(standing) if standing.is_unfinished() => {
                *standing = state;
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Break(()),
        }
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        let table = self.simulations.table();
        let goes_on = table.states.get(&self.number).is_some_and(State::is_unfinished);
        if goes_on { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }
}
