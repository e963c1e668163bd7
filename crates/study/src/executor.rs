//! Who makes the runs of a study: the seam between what is to be run and where.
//!
//! A run is a function of its scenario alone, so that whoever makes it, in whatever order, the study comes to the same.

use rayon::prelude::*;
use std::fmt::Debug;
use std::ops::ControlFlow;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Observer, Progress, RunError, RunResult, run};

/// A run that is to be made.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Its place in the study.
    pub number: usize,
    /// What is run, with every default filled in.
    pub scenario: &'a Scenario,
    /// Whether its time series is wanted.
    pub keep_windows: bool,
}

/// Whom an executor asks and tells, from any thread.
pub trait Foreman: Sync {
    /// Run `number` is about to begin here.
    fn begin(&self, number: usize) -> ControlFlow<()>;

    /// Run `number` goes on here.
    fn progress(&self, number: usize, progress: &Progress) -> ControlFlow<()>;

    /// Whether to go on, asked many times a second by who waits for others.
    fn keep_going(&self) -> ControlFlow<()>;

    /// Run `number` has come to its end: its result, or what went wrong with it, which would again.
    fn done(&self, number: usize, outcome: Result<RunResult, String>) -> ControlFlow<()>;
}

/// Makes runs.
pub trait Executor: Sync + Debug {
    /// Makes `jobs` in any order, and returns once each is [`Foreman::done`], or the foreman said to stop.
    ///
    /// # Errors
    ///
    /// What kept runs from being made at all, and so is not their fault: a cluster that cannot be reached, workers of another
    /// version.
    fn execute(&self, jobs: &[Job<'_>], foreman: &dyn Foreman) -> Result<(), ExecutorError>;
}

/// Why runs could not be made, in one sentence.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{0}")]
pub struct ExecutorError(pub String);

/// Runs a scenario.
pub type RunScenario = fn(&Scenario, &mut dyn Observer) -> Result<RunResult, RunError>;

/// The threads of this process.
#[derive(Clone, Copy, Debug, Default)]
pub struct Threads {
    /// Runs at a time; as many as there are cores unless given.
    pub count: Option<usize>,
    /// What runs a scenario, for programs that have parts of their own; [`run`] unless given.
    pub run: Option<RunScenario>,
}

impl Executor for Threads {
    fn execute(&self, jobs: &[Job<'_>], foreman: &dyn Foreman) -> Result<(), ExecutorError> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(self.count.unwrap_or(0))
            .build()
            .map_err(|error| ExecutorError(format!("cannot start the threads of the study: {error}")))?;
        // Each idle thread takes the next job: neighbours are about equally long, and halves of the list are not.
        pool.install(|| {
            // An early end is the foreman's own wish.
            let _ = jobs.iter().par_bridge().try_for_each(|job| match self.one(job, foreman) {
                ControlFlow::Continue(()) => Ok(()),
                ControlFlow::Break(()) => Err(()),
            });
        });
        Ok(())
    }
}

impl Threads {
    fn one(&self, job: &Job<'_>, foreman: &dyn Foreman) -> ControlFlow<()> {
        foreman.begin(job.number)?;
        let mut observer = |progress: &Progress| foreman.progress(job.number, progress);
        match (self.run.unwrap_or(run))(job.scenario, &mut observer) {
            Err(RunError::Interrupted) => ControlFlow::Break(()),
            outcome => foreman.done(job.number, outcome.map_err(|error| error.to_string())),
        }
    }
}
