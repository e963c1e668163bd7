//! Models of `wearwell_theory`, applied to columns of parameters.

mod models;
mod policy;
mod scenario;
mod states;
mod stop;
mod work;

use models::{Model, ParameterColumns};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use wearwell_theory::solve_spare;

pub use scenario::theory_of_scenario;
pub use states::{theory_many_classes, theory_steady_state, theory_transient, theory_zipf_classes};

/// Returns the write amplification for each row.
#[pyfunction]
pub fn theory_write_amplification<'py>(
    py: Python<'py>,
    model: &str,
    columns: ParameterColumns<'py>,
    policy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (model, policy) = Model::new(model, policy)?;
    let questions = work::raise(columns.queries(&policy)?)?;
    let answers = work::run_detached(py, &policy, model.is_short(questions.len()), |stop| {
        work::solve_all(&questions, &policy, stop, |question| {
            model.solve(&question.drive, question, &policy, stop)
        })
    })?;
    Ok(work::raise(answers)?.into_pyarray(py))
}

/// Returns the spare factor at which each row reaches its target; the spare factors of the rows are ignored.
#[pyfunction]
pub fn theory_solve_spare<'py>(
    py: Python<'py>,
    model: &str,
    columns: ParameterColumns<'py>,
    policy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (model, policy) = Model::new(model, policy)?;
    let questions = work::raise(columns.queries(&policy)?)?;
    let answers = work::run_detached(py, &policy, false, |stop| {
        work::solve_all(&questions, &policy, stop, |question| {
            let at = |drive| model.solve(&drive, question, &policy, stop);
            Ok(solve_spare(question.target_wa, question.drive.pages_per_block(), at)?.spare_factor())
        })
    })?;
    Ok(work::raise(answers)?.into_pyarray(py))
}
