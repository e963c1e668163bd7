//! Running a scenario, watched from Python.

use crate::errors::{self, Failure};
use crate::placement::PythonPlacement;
use crate::policy::PythonPolicy;
use crate::scenario;
use crate::workload::PythonWorkload;
use pyo3::prelude::*;
use std::ops::ControlFlow;
use wearwell_engine::victim::VictimPolicy;
use wearwell_nvmfs::top;
use wearwell_stack::{Observer, Parts, Phase, Progress};
use wearwell_study::beside;
use wearwell_workload::Workload;

/// Runs a scenario; the result as JSON.
#[pyfunction]
#[pyo3(signature = (scenario, *, victim=None, placement=None, workload=None, progress=None))]
pub fn run(
    py: Python<'_>,
    scenario: &str,
    victim: Option<&Bound<'_, PyAny>>,
    placement: Option<&Bound<'_, PyAny>>,
    workload: Option<&Bound<'_, PyAny>>,
    progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let scenario = scenario::parse(scenario)?;
    let failure = Failure::default();
    // Of a part of the caller's own theory knows nothing.
    let has_own_parts = victim.is_some() || placement.is_some() || workload.is_some();
    let victim =
        victim.map(|policy| PythonPolicy::new(policy, scenario.seed, failure.clone())).transpose()?;
    let workload = workload.map(|source| PythonWorkload::new(source, failure.clone())).transpose()?;
    let parts = Parts {
        victim: victim.map(|policy| Box::new(policy) as Box<dyn VictimPolicy>),
        placement: placement
            .map(|object| PythonPlacement::own(object, scenario.seed, failure.clone()))
            .transpose()?,
        workload: workload.map(|workload| {
            let make = move |logical_pages| Box::new(workload.on(logical_pages)) as Box<dyn Workload>;
            Box::new(make) as wearwell_stack::MakeWorkload
        }),
    };
    let mut watch = Watch { progress, failure: failure.clone() };
    let result = py.detach(|| top::run_with(&scenario, parts, &mut watch));
    // What went wrong in Python comes first: the run's own end is its consequence.
    if let Some(error) = failure.get(py) {
        return Err(error);
    }
    let mut result = result.map_err(|error| errors::from_run(&error))?;
    if !has_own_parts {
        py.detach(|| beside(&mut result));
    }
    Ok(serde_json::to_string(&result).expect("results are plain data"))
}

/// Passes progress on, and stops the run on Ctrl-C or when something in Python failed.
struct Watch {
    progress: Option<Py<PyAny>>,
    failure: Failure,
}

impl Watch {
    fn tell(&self, py: Python<'_>, progress: &Progress) -> PyResult<()> {
        py.check_signals()?;
        if let Some(callback) = &self.progress {
            let phase = match progress.phase {
                Phase::ReadTrace => "read_trace",
                Phase::Fill => "fill",
                Phase::Overwrite => "overwrite",
                Phase::WarmUp => "warm_up",
                Phase::Measure => "measure",
            };
            let arguments = (phase, progress.done, progress.drive_writes, progress.write_amplification);
            callback.call1(py, arguments)?;
        }
        Ok(())
    }
}

impl Observer for Watch {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        match Python::attach(|py| self.tell(py, progress)) {
            Ok(()) => ControlFlow::Continue(()),
            Err(error) => {
                self.failure.record(error);
                ControlFlow::Break(())
            }
        }
    }

    fn keep_going(&mut self) -> ControlFlow<()> {
        if self.failure.is_set() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
