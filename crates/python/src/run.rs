//! Execution of a scenario, with progress and Ctrl-C for Python.

use crate::errors::{self, FirstException};
use crate::placement::PythonPlacement;
use crate::policy::PythonPolicy;
use crate::scenario;
use crate::workload::PythonWorkload;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wearwell_engine::victim::VictimPolicy;
use wearwell_nvmfs::top;
use wearwell_stack::{CustomParts, Observer, Phase, Progress};
use wearwell_study::add_prediction;
use wearwell_workload::Workload;

/// Runs a scenario and returns the result as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, *, victim=None, placement=None, workload=None, progress=None, windows=true))]
pub fn run(
    py: Python<'_>,
    scenario: &str,
    victim: Option<&Bound<'_, PyAny>>,
    placement: Option<&Bound<'_, PyAny>>,
    workload: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
    windows: bool,
) -> PyResult<String> {
    let scenario = scenario::parse(scenario)?;
    let failure = FirstException::default();
    // Theory has no model of parts that the caller wrote.
    let has_own_parts = victim.is_some() || placement.is_some() || workload.is_some();
    let victim =
        victim.map(|policy| PythonPolicy::new(policy, scenario.seed, failure.clone())).transpose()?;
    let workload = workload.map(|source| PythonWorkload::new(source, failure.clone())).transpose()?;
    let parts = CustomParts {
        victim: victim.map(|policy| Box::new(policy) as Box<dyn VictimPolicy>),
        placement: placement
            .map(|object| PythonPlacement::custom(object, scenario.seed, failure.clone()))
            .transpose()?,
        workload: workload.map(|workload| {
            let build_workload =
                move |logical_pages| Box::new(workload.for_logical_pages(logical_pages)) as Box<dyn Workload>;
            Box::new(build_workload) as wearwell_stack::WorkloadFactory
        }),
    };
    let watch = Arc::new(ProgressReporter::new(progress, failure.clone()));
    let waiting = watch.clone();
    let result = py.detach(|| {
        let may_continue = move || waiting.may_continue();
        wearwell_trace::with_wait_callback(may_continue, || {
            top::run_with(&scenario, parts, &mut RunObserver(watch))
        })
    });
    // An exception in Python has priority: the error of the run is its consequence.
    if let Some(error) = failure.get(py) {
        return Err(error);
    }
    let mut result = result.map_err(|error| errors::from_run(&error))?;
    if !windows {
        result.drop_series();
    }
    if !has_own_parts {
        py.detach(|| add_prediction(&mut result));
    }
    Ok(serde_json::to_string(&result).expect("results are plain data"))
}

/// Reports progress to Python, and stops the run on Ctrl-C or after an exception in Python.
struct ProgressReporter {
    progress: Option<Py<PyAny>>,
    failure: FirstException,
    /// Progress that was last reported.
    last: Mutex<Progress>,
}

impl ProgressReporter {
    fn new(progress: Option<Py<PyAny>>, failure: FirstException) -> Self {
        let begin = Progress {
            phase: Phase::ReadTrace,
            fraction_done: 0.0,
            drive_writes: 0.0,
            write_amplification: None,
        };
        ProgressReporter { progress, failure, last: Mutex::new(begin) }
    }

    fn last(&self) -> MutexGuard<'_, Progress> {
        // The progress is valid even if a thread panicked while it held the lock.
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns true if the run may continue. Called while the run waits; there is no new progress, but the callback
    /// may end the run.
    fn may_continue(&self) -> bool {
        let last = *self.last();
        self.failure.attempt(|py| self.report(py, &last)).is_some()
    }

    fn report(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        py.check_signals()?;
        if let Some(callback) = &self.progress {
            let phase = match progress.phase {
                Phase::ReadTrace => "read_trace",
                Phase::Fill => "fill",
                Phase::Overwrite => "overwrite",
                Phase::WarmUp => "warm_up",
                Phase::Measure => "measure",
            };
            let arguments =
                (phase, progress.fraction_done, progress.drive_writes, progress.write_amplification);
            callback.call1(py, arguments)?;
        }
        Ok(())
    }
}

struct RunObserver(Arc<ProgressReporter>);

impl Observer for RunObserver {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        *self.0.last() = *progress;
        match Python::attach(|py| self.0.report(py, progress)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.0.failure.record(error);
                ControlFlow::Break(())
            }
        }
    }

    fn should_continue(&mut self) -> ControlFlow<()> {
        if self.0.failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
