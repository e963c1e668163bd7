//! Many runs over a grid of settings, on all cores, resumable after an interruption.

use super::axis::Axis;
use super::journal::Journal;
use super::points::{MOST_POINTS, Point, PointResult, SweepError, identity};
use super::prediction::beside;
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use wearwell_base::seed::Seed;
use wearwell_stack::RunResult;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Draft, DraftError};
use wearwell_stack::{Observer, Progress, RunError, resolve, run};

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

    /// `finished` of `points` runs are done.
    fn finished(&self, finished: usize, points: usize);
}

/// How a sweep is run; none of it changes a result.
#[derive(Clone, Copy, Debug, Default)]
pub struct SweepOptions<'a> {
    /// Where finished runs are kept; runs found there are not repeated.
    pub journal: Option<&'a Path>,
    /// Runs at a time; as many as there are cores unless given.
    pub threads: Option<usize>,
    /// Whether results keep their time series.
    pub keep_windows: bool,
    /// Whether results say what theory has for their scenarios.
    pub beside_theory: bool,
    /// What runs a scenario, for programs that have parts of their own; [`run`] unless given.
    pub run: Option<RunScenario>,
}

/// Runs a scenario.
pub type RunScenario = fn(&Scenario, &mut dyn Observer) -> Result<RunResult, RunError>;

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

    /// Runs every point that the journal does not hold yet.
    ///
    /// The results stand in the order of [`Sweep::points`] and do not depend on the number of threads; a run that
    /// failed, for example because its drive died, stands there as its error and hinders no other.
    pub fn run(
        &self,
        options: &SweepOptions<'_>,
        observer: &dyn SweepObserver,
    ) -> Result<Vec<Result<PointResult, RunError>>, SweepError> {
        let journal = options.journal.map(Journal::open).transpose()?;
        let pool = rayon::ThreadPoolBuilder::new().num_threads(options.threads.unwrap_or(0)).build()?;
        let crew = Crew {
            sweep: self,
            observer,
            keep_windows: options.keep_windows,
            beside_theory: options.beside_theory,
            run: options.run.unwrap_or(run),
            finished: Mutex::new(0),
            stopped: AtomicBool::new(false),
            journal,
        };
        // One point at a time to whoever is free: points differ much in length.
        let outcomes: Vec<_> = pool.install(|| {
            (0..self.points.len()).into_par_iter().with_max_len(1).map(|number| crew.point(number)).collect()
        });
        let finished = *crew.finished.lock().expect("no thread panics while it holds the lock");
        outcomes.into_iter().try_fold(Vec::new(), |mut results, outcome| match outcome {
            Err(PointError::Run(RunError::Interrupted)) => {
                Err(SweepError::Interrupted { finished, points: self.points.len() })
            }
            Err(PointError::Run(error)) => {
                results.push(Err(error));
                Ok(results)
            }
            Err(PointError::Journal(error)) => Err(error),
            Ok(result) => {
                results.push(Ok(result));
                Ok(results)
            }
        })
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

enum PointError {
    Run(RunError),
    Journal(SweepError),
}

/// What the threads of a sweep share.
struct Crew<'a> {
    sweep: &'a Sweep,
    observer: &'a dyn SweepObserver,
    keep_windows: bool,
    beside_theory: bool,
    run: RunScenario,
    finished: Mutex<usize>,
    stopped: AtomicBool,
    journal: Option<Journal<PointResult>>,
}

impl Crew<'_> {
    fn point(&self, number: usize) -> Result<PointResult, PointError> {
        let point = &self.sweep.points[number];
        let known = self.journal.as_ref().and_then(|journal| journal.find(&identity(&point.scenario)));
        let result = match known {
            Some(result) if !self.keep_windows || !result.windows.is_empty() => {
                self.labelled(point, result.clone())
            }
            _ => {
                let result = self.labelled(point, self.fresh(number, point)?);
                if let Some(journal) = &self.journal {
                    journal.keep(&result).map_err(|error| PointError::Journal(error.into()))?;
                }
                result
            }
        };
        let mut finished = lock(&self.finished);
        *finished += 1;
        self.observer.finished(*finished, self.sweep.points.len());
        Ok(result)
    }

    fn fresh(&self, number: usize, point: &Point) -> Result<RunResult, PointError> {
        if self.stopped.load(Ordering::Relaxed) || self.observer.begin(number).is_break() {
            self.stopped.store(true, Ordering::Relaxed);
            return Err(PointError::Run(RunError::Interrupted));
        }
        let mut observer = |progress: &Progress| {
            let flow = self.observer.progress(number, progress);
            if flow.is_break() {
                self.stopped.store(true, Ordering::Relaxed);
            }
            if self.stopped.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { flow }
        };
        (self.run)(&point.scenario, &mut observer).map_err(PointError::Run)
    }

    fn labelled(&self, point: &Point, mut result: RunResult) -> PointResult {
        if !self.keep_windows {
            result.windows = Vec::new();
            result.heat = None;
        }
        if self.beside_theory && result.theory.is_none() {
            beside(&mut result);
        }
        PointResult { settings: point.settings.clone(), replica: point.replica, result }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

#[cfg(test)]
mod tests;
