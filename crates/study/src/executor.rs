//! Execution of a study's runs: the interface between planned runs and the threads or machines that execute them.
//!
//! A run is a function of its scenario alone, so the result of a study does not depend on the executor or on the order
//! of runs.

use rayon::prelude::*;
use std::fmt::Debug;
use std::ops::ControlFlow;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Observer, Progress, RunError, RunResult, run};

/// Run to be executed.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Number of the run in the study.
    pub number: usize,
    /// Scenario to run, with all defaults resolved.
    pub scenario: &'a Scenario,
    /// True if the time series is needed.
    pub keep_windows: bool,
}

/// Receiver of an executor's notifications, called from any thread.
pub trait RunListener: Sync {
    /// Notifies that run `number` starts in this process.
    fn begin(&self, number: usize) -> ControlFlow<()>;

    /// Notifies of the progress of run `number`.
    fn progress(&self, number: usize, progress: &Progress) -> ControlFlow<()>;

    /// Returns `Continue` unless execution should stop; called many times per second while waiting for remote runs.
    fn keep_going(&self) -> ControlFlow<()>;

    /// Notifies that run `number` has finished, with its result or a deterministic error.
    fn done(&self, number: usize, outcome: Result<RunResult, String>) -> ControlFlow<()>;
}

/// Executor of runs.
pub trait Executor: Sync + Debug {
    /// Runs `jobs` in any order. Returns when [`RunListener::done`] was called for each job, or when `listener`
    /// requests a stop.
    ///
    /// # Errors
    ///
    /// Returns an error if runs could not be executed at all, for reasons outside the runs: an unreachable cluster, or
    /// workers of another version.
    fn execute(&self, jobs: &[Job<'_>], listener: &dyn RunListener) -> Result<(), ExecutorError>;
}

/// Reason why runs could not be executed, in one sentence.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ExecutorError(pub String);

/// Function that runs a scenario.
pub type RunScenario = fn(&Scenario, &mut dyn Observer) -> Result<RunResult, RunError>;

/// Executor with the threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct ThreadExecutor {
    /// Number of concurrent runs; defaults to the number of cores.
    pub count: Option<usize>,
    /// Function that runs a scenario, for calling programs with additional components; defaults to [`run`].
    pub run: Option<RunScenario>,
}

impl Executor for ThreadExecutor {
    fn execute(&self, jobs: &[Job<'_>], listener: &dyn RunListener) -> Result<(), ExecutorError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.count.unwrap_or(0))
            .build()
            .map_err(|error| ExecutorError(format!("cannot start the threads of the study: {error}")))?;
        // Each idle thread takes the next job. Halves of the list may take very different times, because only
        // neighbouring jobs are about equally long.
        pool.install(|| {
            // The listener itself requested an early end, which is not an error.
            let _ = jobs.iter().par_bridge().try_for_each(|job| match self.run_job(job, listener) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(()),
            });
        });
        Ok(())
    }
}

impl ThreadExecutor {
    fn run_job(&self, job: &Job<'_>, listener: &dyn RunListener) -> ControlFlow<()> {
        listener.begin(job.number)?;
        let mut observer = |progress: &Progress| listener.progress(job.number, progress);
        match (self.run.unwrap_or(run))(job.scenario, &mut observer) {
            Err(RunError::Interrupted) => ControlFlow::Break(()),
            outcome => listener.done(job.number, outcome.map_err(|error| error.to_string())),
        }
    }
}
