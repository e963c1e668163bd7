//! Many runs over a grid of settings, by whichever executor, resumable after an interruption.

use super::axis::Axis;
use super::executor::{Executor, Foreman, Job, RunScenario, Threads};
use super::kept::{Store, identity};
use super::points::{MOST_POINTS, Point, PointResult, StoreError, SweepError};
use super::prediction::beside;
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

/// Bits of a replica's seed, few enough for every program that reads JSON numbers as floating point.
const SEED_BITS: u32 = 53;

/// Runs that are planned and checked, but not begun.
#[derive(Clone, Debug)]
pub struct Sweep {
    points: Vec<Point>,
}

/// Is told how a sweep goes on, from several threads at once, and may stop it.
pub trait SweepObserver: Sync {
    /// Run number `point` is about to begin.
    fn begin(&self, point: usize) -> ControlFlow<()> {
        let _ = point;
        ControlFlow::Continue(())
    }

    /// Run number `point` goes on.
    fn progress(&self, point: usize, progress: &Progress) -> ControlFlow<()>;

    /// Whether to go on, asked while runs are made elsewhere.
    fn keep_going(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// A run that was made now took `seconds` of a core.
    fn took(&self, seconds: f64) {
        let _ = seconds;
    }

    /// `finished` of `points` runs are done.
    fn finished(&self, finished: usize, points: usize);
}

/// Tells of the runs of a round as of those of all rounds.
pub struct Shifted<'a> {
    /// Who is told.
    pub inner: &'a dyn SweepObserver,
    /// Runs finished in rounds before.
    pub finished: usize,
    /// Runs of all rounds.
    pub planned: usize,
}

impl SweepObserver for Shifted<'_> {
    fn begin(&self, point: usize) -> ControlFlow<()> {
        self.inner.begin(self.finished + point)
    }

    fn progress(&self, point: usize, progress: &Progress) -> ControlFlow<()> {
        self.inner.progress(self.finished + point, progress)
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.inner.keep_going()
    }

    fn took(&self, seconds: f64) {
        self.inner.took(seconds);
    }

    fn finished(&self, finished: usize, _: usize) {
        self.inner.finished(self.finished + finished, self.planned);
    }
}

/// How a sweep is run; none of it changes a result.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepOptions<'a> {
    /// Where finished runs are kept; runs found there are not repeated.
    pub store: Option<&'a dyn Store>,
    /// Who makes the runs; threads of this process unless given.
    pub executor: Option<&'a dyn Executor>,
    /// Runs at a time, of such threads; as many as there are cores unless given.
    pub threads: Option<usize>,
    /// Whether results keep their time series.
    pub keep_windows: bool,
    /// Whether results say what theory has for their scenarios.
    pub beside_theory: bool,
    /// What such threads run a scenario with, in programs that have parts of their own.
    pub run: Option<RunScenario>,
}

/// The result of a run, or what went wrong with it.
pub type Outcome = Result<PointResult, String>;

impl Sweep {
    /// All combinations of the axes' values, the last axis varying fastest, each `replicas` times with seeds of its own.
    ///
    /// Every scenario is checked here, before the first one runs.
    pub fn plan(base: &Draft, axes: &[Axis], replicas: u32) -> Result<Sweep, SweepError> {
        for (at, axis) in axes.iter().enumerate() {
            if axes[..at].iter().any(|other| other.key == axis.key) {
                return Err(SweepError::Twice { key: axis.key.clone() });
            }
        }
        let combinations =
            axes.iter().try_fold(1u128, |product, axis| product.checked_mul(axis.values.len() as u128));
        let points = combinations.unwrap_or(u128::MAX).saturating_mul(u128::from(replicas));
        if points == 0 || points > MOST_POINTS as u128 {
            return Err(SweepError::Size { points });
        }
        let combinations = points as usize / replicas as usize;
        let points: Result<Vec<_>, _> =
            (0..combinations).map(|number| combination(base, axes, number, replicas)).collect();
        Ok(Sweep { points: points?.concat() })
    }

    /// Runs that were planned elsewhere; their scenarios must be resolved.
    pub(super) fn of(points: Vec<Point>) -> Sweep {
        Sweep { points }
    }

    /// The runs, in the order of their results.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// Runs every point that the store does not hold yet.
    ///
    /// The results stand in the order of [`Sweep::points`] and do not depend on who makes them; a run that failed, for example
    /// because its drive died, stands there as its error and hinders no other.
    ///
    /// # Errors
    ///
    /// An interruption, runs that cannot be kept, and an executor that cannot go on. What was finished is in the store.
    pub fn run(
        &self,
        options: &SweepOptions<'_>,
        observer: &dyn SweepObserver,
    ) -> Result<Vec<Outcome>, SweepError> {
        if let Some(store) = options.store {
            store.expect(&mut self.points.iter().map(|point| &point.settings));
        }
        let crew = Crew {
            points: &self.points,
            observer,
            keep_windows: options.keep_windows,
            beside_theory: options.beside_theory,
            store: options.store,
            progress: Mutex::default(),
            stopped: AtomicBool::new(false),
        };
        // In parallel, for what theory says of results is worked out where it is missing.
        let new: Vec<usize> =
            (0..self.points.len()).into_par_iter().filter(|&number| !crew.is_known(number)).collect();
        let keep_windows = options.keep_windows;
        let job = |number: usize| Job { number, scenario: &self.points[number].scenario, keep_windows };
        let jobs: Vec<Job<'_>> = new.into_iter().map(job).collect();
        let threads = Threads { count: options.threads, run: options.run };
        let executor = options.executor.unwrap_or(&threads);
        let ended = if jobs.is_empty() { Ok(()) } else { executor.execute(&jobs, &crew) };
        let flushed = options.store.map_or(Ok(()), Store::flush);
        let stopped = crew.stopped.into_inner();
        let Done { finished, results, problem } = crew.progress.into_inner().expect(POISON);
        let points = self.points.len();
        if let Some(error) = problem.or(flushed.err()) {
            return Err(SweepError::Store { error, finished, points });
        }
        if let Err(error) = ended {
            return Err(SweepError::Executor { problem: error.0, finished, points });
        }
        // In the order of the points.
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

/// The settings of one combination, and its replicas.
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
        point: shown(settings),
        error: Box::new(error),
    };
    for (axis, value) in chosen {
        settings.insert(axis.key.clone(), value.clone());
        draft.set(&axis.key, value.clone()).map_err(|error| at_fault(&settings, error))?;
    }
    let scenario = resolved(&draft).map_err(|error| at_fault(&settings, error))?;
    Ok((0..replicas).map(|replica| replicate(&scenario, &settings, replica)).collect())
}

/// The scenario of `draft` with every default filled in, or what is wrong with it and where.
pub(super) fn resolved(draft: &Draft) -> Result<Scenario, DraftError> {
    resolve(&draft.scenario()?).map_err(|error| match error {
        RunError::Config(error) => draft.explain(&error),
        other => DraftError { place: None, key: None, problem: other.to_string(), excerpt: None },
    })
}

fn shown(settings: &BTreeMap<String, Value>) -> String {
    let pairs: Vec<_> = settings.iter().map(|(key, value)| format!("{key}={value}")).collect();
    if pairs.is_empty() { String::new() } else { format!("with {}: ", pairs.join(", ")) }
}

/// One replica of a scenario; the same number draws the same seed from equal seeds.
pub(super) fn replicate(scenario: &Scenario, settings: &BTreeMap<String, Value>, replica: u32) -> Point {
    let mut scenario = scenario.clone();
    if replica > 0 {
        scenario.seed = Seed(scenario.seed).of(&format!("replica {replica}")).0 >> (u64::BITS - SEED_BITS);
    }
    Point { settings: settings.clone(), replica, scenario }
}

const POISON: &str = "no thread panics while it holds the lock";

/// What has come of a sweep so far.
#[derive(Default)]
struct Done {
    finished: usize,
    results: BTreeMap<usize, Outcome>,
    /// Why finished runs cannot be kept.
    problem: Option<StoreError>,
}

/// What those who make the runs of a sweep share.
struct Crew<'a> {
    points: &'a [Point],
    observer: &'a dyn SweepObserver,
    keep_windows: bool,
    beside_theory: bool,
    store: Option<&'a dyn Store>,
    progress: Mutex<Done>,
    stopped: AtomicBool,
}

impl Crew<'_> {
    /// Takes the result of run `number` from the store, if it is there.
    fn is_known(&self, number: usize) -> bool {
        let point = &self.points[number];
        let known = self.store.and_then(|store| store.find(&identity(&point.scenario)));
        let Some(result) = known.filter(|result| !self.keep_windows || !result.windows.is_empty()) else {
            return false;
        };
        self.finish(number, Ok(self.labelled(point, result)));
        true
    }

    fn finish(&self, number: usize, outcome: Outcome) {
        let mut progress = self.progress.lock().expect(POISON);
        progress.finished += 1;
        progress.results.insert(number, outcome);
        self.observer.finished(progress.finished, self.points.len());
    }

    fn labelled(&self, point: &Point, mut result: RunResult) -> PointResult {
        if !self.keep_windows {
            result.forget_series();
        }
        if self.beside_theory && result.theory.is_none() {
            beside(&mut result);
        }
        PointResult { settings: point.settings.clone(), replica: point.replica, result }
    }

    fn heed(&self, flow: ControlFlow<()>) -> ControlFlow<()> {
        if flow.is_break() {
            self.stopped.store(true, Ordering::Relaxed);
        }
        if self.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Foreman for Crew<'_> {
    fn begin(&self, number: usize) -> ControlFlow<()> {
        self.heed(ControlFlow::Continue(()))?;
        self.heed(self.observer.begin(number))
    }

    fn progress(&self, number: usize, progress: &Progress) -> ControlFlow<()> {
        self.heed(self.observer.progress(number, progress))
    }

    fn keep_going(&self) -> ControlFlow<()> {
        self.heed(self.observer.keep_going())
    }

    fn done(&self, number: usize, outcome: Result<RunResult, String>) -> ControlFlow<()> {
        let outcome = outcome.map(|result| self.labelled(&self.points[number], result));
        if let Ok(point) = &outcome {
            self.observer.took(point.result.performance.seconds);
            let kept = self.store.map_or(Ok(()), |store| store.keep(point));
            if let Err(error) = kept {
                self.progress.lock().expect(POISON).problem.get_or_insert(error);
                return self.heed(ControlFlow::Break(()));
            }
        }
        self.finish(number, outcome);
        self.heed(ControlFlow::Continue(()))
    }
}

#[cfg(test)]
mod tests;
