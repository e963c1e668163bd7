//! Sweeps: many runs over a grid of settings, by any executor, resumable after an interruption.

use super::axis::Axis;
use super::executor::{Executor, Job, RunListener, RunScenario, ThreadExecutor};
use super::points::{MAX_POINTS, Point, PointResult, StoreError, SweepError};
use super::prediction::add_prediction;
use super::store::{Store, identity};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wearwell_base::seed::Seed;
use wearwell_stack::RunResult;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Draft, DraftError};
use wearwell_stack::{Progress, RunError, resolve};

/// Number of bits of a replica's seed, so that programs that read JSON numbers as floating point keep it exact.
const SEED_BITS: u32 = 53;

/// Planned and validated runs that have not started.
#[derive(Clone, Debug)]
pub struct Sweep {
    points: Vec<Point>,
}

/// Observer of a sweep, called from several threads at once; it may stop the sweep.
pub trait SweepObserver: Sync {
    /// Notifies that run number `point` starts.
    fn begin(&self, point: usize) -> ControlFlow<()> {
        let _ = point;
        ControlFlow::Continue(())
    }

    /// Notifies of the progress of run number `point`.
    fn progress(&self, point: usize, progress: &Progress) -> ControlFlow<()>;

    /// Returns `Continue` unless the sweep should stop; called while runs execute elsewhere.
    fn keep_going(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// Notifies that a run, which the store did not hold, took `seconds` of a core.
    fn run_timed(&self, seconds: f64) {
        let _ = seconds;
    }

    /// Notifies that `finished` of `points` runs are done.
    fn finished(&self, finished: usize, points: usize);
}

/// Observer adapter that reports the runs of one round as part of all rounds.
pub struct RoundObserver<'a> {
    /// Observer that is notified.
    pub inner: &'a dyn SweepObserver,
    /// Number of runs finished in earlier rounds.
    pub finished: usize,
    /// Number of runs of all rounds.
    pub planned: usize,
}

impl SweepObserver for RoundObserver<'_> {
    fn begin(&self, point: usize) -> ControlFlow<()> {
        self.inner.begin(self.finished + point)
    }

    fn progress(&self, point: usize, progress: &Progress) -> ControlFlow<()> {
        self.inner.progress(self.finished + point, progress)
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.inner.keep_going()
    }

    fn run_timed(&self, seconds: f64) {
        self.inner.run_timed(seconds);
    }

    fn finished(&self, finished: usize, _: usize) {
        self.inner.finished(self.finished + finished, self.planned);
    }
}

/// Options for executing a sweep; they do not affect results.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepOptions<'a> {
    /// Store of finished runs; runs found there are not repeated.
    pub store: Option<&'a dyn Store>,
    /// Executor of the runs; defaults to threads of this process.
    pub executor: Option<&'a dyn Executor>,
    /// Number of concurrent runs in this process; defaults to the number of cores.
    pub threads: Option<usize>,
    /// True to keep the time series of results.
    pub keep_windows: bool,
    /// True to add the prediction of theory to results.
    pub with_prediction: bool,
    /// Function with which threads of this process run a scenario, for programs with their own components.
    pub run: Option<RunScenario>,
}

/// Result of a run, or its error.
pub type Outcome = Result<PointResult, String>;

impl Sweep {
    /// Plans all combinations of the axes' values, the last axis varying fastest, each with `replicas` seeds.
    ///
    /// Validates every scenario before the first one runs.
    pub fn plan(base: &Draft, axes: &[Axis], replicas: u32) -> Result<Sweep, SweepError> {
        for (at, axis) in axes.iter().enumerate() {
            if axes[..at].iter().any(|other| other.key == axis.key) {
                return Err(SweepError::DuplicateKey { key: axis.key.clone() });
            }
        }
        let combinations =
            axes.iter().try_fold(1u128, |product, axis| product.checked_mul(axis.values.len() as u128));
        let points = combinations.unwrap_or(u128::MAX).saturating_mul(u128::from(replicas));
        if points == 0 || points > MAX_POINTS as u128 {
            return Err(SweepError::GridSize { points });
        }
        let combinations = points as usize / replicas as usize;
        let points: Result<Vec<_>, _> =
            (0..combinations).map(|number| combination(base, axes, number, replicas)).collect();
        Ok(Sweep { points: points?.concat() })
    }

    /// Returns a sweep of runs that were planned elsewhere; their scenarios must be resolved.
    pub(super) fn of(points: Vec<Point>) -> Sweep {
        Sweep { points }
    }

    /// Returns the runs, in the order of their results.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Executes every run that the store does not hold.
    ///
    /// The results are in the order of [`Sweep::points`] and do not depend on the executor. A run that fails, for
    /// example because its drive wore out, yields its error and does not affect other runs.
    ///
    /// # Errors
    ///
    /// Returns an error for an interruption, for runs that cannot be stored, and for an executor that cannot continue.
    /// Finished runs remain in the store.
    pub fn run(
        &self,
        options: &SweepOptions<'_>,
        observer: &dyn SweepObserver,
    ) -> Result<Vec<Outcome>, SweepError> {
        if let Some(store) = options.store {
            store.declare_settings(&mut self.points.iter().map(|point| &point.settings));
        }
        let crew = SweepState {
            points: &self.points,
            observer,
            keep_windows: options.keep_windows,
            with_prediction: options.with_prediction,
            store: options.store,
            progress: Mutex::default(),
            stopped: AtomicBool::new(false),
        };
        // The store is read in parallel, because predictions that its results lack are computed here.
        let new: Vec<usize> =
            (0..self.points.len()).into_par_iter().filter(|&number| !crew.take_from_store(number)).collect();
        let keep_windows = options.keep_windows;
        let job = |number: usize| Job { number, scenario: &self.points[number].scenario, keep_windows };
        let jobs: Vec<Job<'_>> = new.into_iter().map(job).collect();
        let threads = ThreadExecutor { count: options.threads, run: options.run };
        let executor = options.executor.unwrap_or(&threads);
        let ended = if jobs.is_empty() { Ok(()) } else { executor.execute(&jobs, &crew) };
        let flushed = options.store.map_or(Ok(()), Store::flush);
        let stopped = crew.stopped.into_inner();
        let FinishedRuns { finished, results, problem } = crew.progress.into_inner().expect(POISON);
        let points = self.points.len();
        if let Some(error) = problem.or(flushed.err()) {
            return Err(SweepError::Store { error, finished, points });
        }
        if let Err(error) = ended {
            return Err(SweepError::Executor { problem: error.0, finished, points });
        }
        // Outcomes in the order of the points.
        let outcomes: Vec<_> = results.into_values().collect();
        match outcomes.len() {
            all if all == points => Ok(outcomes),
            _ if stopped => Err(SweepError::Interrupted { finished, points }),
            _ => {
                let problem = "whoever makes the runs ended before they were all made".into();
                Err(SweepError::Executor { problem, finished, points })
            }
        }
    }
}

/// Returns the runs of one combination of settings, one per replica.
fn combination(base: &Draft, axes: &[Axis], number: usize, replicas: u32) -> Result<Vec<Point>, SweepError> {
    let mut draft = base.clone();
    let mut settings = BTreeMap::new();
    let mut rest = number;
    let mut chosen: Vec<_> = axes
        .iter()
        .rev()
        .map(|axis| {
            let value = &axis.values[rest % axis.values.len()];
            rest /= axis.values.len();
            (axis, value)
        })
        .collect();
    chosen.reverse();
    let at_fault = |settings: &BTreeMap<String, Value>, error| SweepError::Draft {
        point: format_settings(settings),
        error: Box::new(error),
    };
    for (axis, value) in chosen {
        settings.insert(axis.key.clone(), value.clone());
        draft.set(&axis.key, value.clone()).map_err(|error| at_fault(&settings, error))?;
    }
    let scenario = resolve_draft(&draft).map_err(|error| at_fault(&settings, error))?;
    Ok((0..replicas).map(|replica| replicate(&scenario, &settings, replica)).collect())
}

/// Returns the scenario of `draft` with all defaults resolved, or an error with its place.
pub(super) fn resolve_draft(draft: &Draft) -> Result<Scenario, DraftError> {
    resolve(&draft.scenario()?).map_err(|error| match error {
        RunError::Config(error) => draft.explain(&error),
        other => DraftError { location: None, key: None, problem: other.to_string(), excerpt: None },
    })
}

fn format_settings(settings: &BTreeMap<String, Value>) -> String {
    let pairs: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { String::new() } else { format!("with {}: ", pairs.join(", ")) }
}

/// Returns one replica of a scenario; equal scenarios and replica numbers give equal seeds.
pub(super) fn replicate(scenario: &Scenario, settings: &BTreeMap<String, Value>, replica: u32) -> Point {
    let mut scenario = scenario.clone();
    if replica > 0 {
        scenario.seed =
            Seed(scenario.seed).derive(&format!("replica {replica}")).0 >> (u64::BITS - SEED_BITS);
    }
    Point { settings: settings.clone(), replica, scenario }
}

const POISON: &str = "no thread panics while it holds the lock";

/// Progress of a sweep.
#[derive(Default)]
struct FinishedRuns {
    finished: usize,
    results: BTreeMap<usize, Outcome>,
    /// Reason why finished runs cannot be stored.
    problem: Option<StoreError>,
}

/// State shared by the executors of a sweep's runs.
struct SweepState<'a> {
    points: &'a [Point],
    observer: &'a dyn SweepObserver,
    keep_windows: bool,
    with_prediction: bool,
    store: Option<&'a dyn Store>,
    progress: Mutex<FinishedRuns>,
    stopped: AtomicBool,
}

impl SweepState<'_> {
    /// Takes the result of run `number` from the store; returns true if the store holds the result.
    fn take_from_store(&self, number: usize) -> bool {
        let point = &self.points[number];
        let stored_result = self.store.and_then(|store| store.find(&identity(&point.scenario)));
        let Some(result) = stored_result.filter(|result| !self.keep_windows || !result.windows.is_empty())
        else {
            return false;
        };
        self.finish(number, Ok(self.to_point_result(point, result)));
        true
    }

    fn finish(&self, number: usize, outcome: Outcome) {
        let mut progress = self.progress.lock().expect(POISON);
        progress.finished += 1;
        progress.results.insert(number, outcome);
        self.observer.finished(progress.finished, self.points.len());
    }

    fn to_point_result(&self, point: &Point, mut result: RunResult) -> PointResult {
        if !self.keep_windows {
            result.drop_series();
        }
        if self.with_prediction && result.theory.is_none() {
            add_prediction(&mut result);
        }
        PointResult { settings: point.settings.clone(), replica: point.replica, result }
    }

    fn check_stop(&self, flow: ControlFlow<()>) -> ControlFlow<()> {
        if flow.is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if self.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl RunListener for SweepState<'_> {
    fn begin(&self, number: usize) -> ControlFlow<()> {
        self.check_stop(ControlFlow::Continue(()))?;
        self.check_stop(self.observer.begin(number))
    }

    fn progress(&self, number: usize, progress: &Progress) -> ControlFlow<()> {
        self.check_stop(self.observer.progress(number, progress))
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.check_stop(self.observer.keep_going())
    }

    fn done(&self, number: usize, outcome: Result<RunResult, String>) -> ControlFlow<()> {
        let outcome = outcome.map(|result| self.to_point_result(&self.points[number], result));
        if let Ok(point) = &outcome {
            self.observer.run_timed(point.result.performance.seconds);
            let stored = self.store.map_or(Ok(()), |store| store.put(point));
            if let Err(error) = stored {
                self.progress.lock().expect(POISON).problem.get_or_insert(error);
                return self.check_stop(ControlFlow::Break(()));
            }
        }
        self.finish(number, outcome);
        self.check_stop(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests;
