//! Complete solutions: steady states, paths, many classes.

use super::models::{SingleQuery, parse_structure};
use super::policy::Policy;
use super::work;
use crate::errors;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wearwell_theory::mean_field::{InitialState, MeanField, SteadyState};
use wearwell_theory::{Class, Classes, Drive, ManyClasses, TheoryError};

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// A number of classes with its steady state as a dictionary.
type NumberedState<'py> = (usize, Bound<'py, PyDict>);

fn to_exception(error: &TheoryError) -> PyErr {
    errors::from_theory(error, None)
}

fn parse_initial_state(name: &str) -> PyResult<InitialState> {
    match name {
        "fresh" => Ok(InitialState::Fresh),
        "sequential" => Ok(InitialState::Sequential),
        "mixed" => Ok(InitialState::Mixed),
        _ => Err(errors::unknown_name("from_", name, &["fresh", "sequential", "mixed"])),
    }
}

fn pairs(classes: &Classes) -> Vec<(f64, f64)> {
    classes.as_slice().iter().map(|class: &Class| (class.write_share, class.space_share)).collect()
}

/// Converts a steady state to a dictionary.
fn state_dict<'py>(
    py: Python<'py>,
    state: SteadyState,
    drive: &Drive,
    classes: &Classes,
) -> PyResult<Bound<'py, PyDict>> {
    let over = drive.over_provisioning();
    let measures = PyDict::new(py);
    measures.set_item("alpha", over.alpha)?;
    measures.set_item("spare_factor", over.spare_factor)?;
    measures.set_item("over_provisioning", over.over_provisioning)?;
    measures.set_item("load", over.load)?;
    let parts = PyDict::new(py);
    parts.set_item("write_amplification", state.write_amplification)?;
    parts.set_item("host_pages_per_victim", state.host_pages_per_victim)?;
    parts.set_item("valid_pages", state.valid_pages.into_pyarray(py))?;
    parts.set_item("victim_valid_pages", state.victim_valid_pages.into_pyarray(py))?;
    parts.set_item("moved_shares", state.moved_shares.into_pyarray(py))?;
    parts.set_item("classes", pairs(classes))?;
    parts.set_item("over_provisioning", measures)?;
    parts.set_item("residual", state.residual)?;
    parts.set_item("evaluations", state.evaluations)?;
    Ok(parts)
}

/// Returns a steady state.
#[pyfunction]
pub fn theory_steady_state<'py>(
    py: Python<'py>,
    structure: &str,
    question: SingleQuery,
    policy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (structure, policy) = (self::parse_structure(structure)?, Policy::new(policy)?);
    let query = question.query()?;
    let state = work::run_detached(py, &policy, false, |stop| {
        let selection = policy.selection(query.choices, stop)?;
        MeanField::new(query.drive, query.classes.clone(), structure, &*selection)?.steady_state()
    })?;
    state_dict(py, state.map_err(|error| to_exception(&error))?, &query.drive, &query.classes)
}

/// Returns the path from an initial state, as columns with names.
#[pyfunction]
pub fn theory_transient<'py>(
    py: Python<'py>,
    structure: &str,
    from_: &str,
    drive_writes: f64,
    points: usize,
    question: SingleQuery,
    policy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (structure, from) = (self::parse_structure(structure)?, parse_initial_state(from_)?);
    let policy = Policy::new(policy)?;
    let query = question.query()?;
    let path = work::run_detached(py, &policy, false, |stop| {
        let selection = policy.selection(query.choices, stop)?;
        let model = MeanField::new(query.drive, query.classes.clone(), structure, &*selection)?;
        model.transient(from, drive_writes, points)
    })?;
    let path = path.map_err(|error| to_exception(&error))?;
    let mean = |levels: &[f64]| levels.iter().enumerate().map(|(pages, share)| pages as f64 * share).sum();
    let columns = PyDict::new(py);
    let column = |name: &str, values: Vec<f64>| columns.set_item(name, values.into_pyarray(py));
    column("drive_writes", path.iter().map(|point| point.drive_writes).collect())?;
    column("write_amplification", path.iter().map(|point| point.write_amplification).collect())?;
    column("erased", path.iter().map(|point| point.erased).collect())?;
    column("mean_valid_pages", path.iter().map(|point| mean(&point.valid_pages)).collect())?;
    Ok(columns)
}

/// Returns the write amplification for many classes, and the steady states from which it is extrapolated, by number
/// of classes.
#[pyfunction]
pub fn theory_many_classes<'py>(
    py: Python<'py>,
    structure: &str,
    question: SingleQuery,
    policy: &Bound<'py, PyAny>,
) -> PyResult<(f64, Vec<NumberedState<'py>>)> {
    let (structure, policy) = (self::parse_structure(structure)?, Policy::new(policy)?);
    let query = question.query()?;
    let found = work::run_detached(py, &policy, false, |stop| {
        let selection = policy.selection(query.choices, stop)?;
        ManyClasses::solve(query.drive, &query.classes, structure, &*selection)
    })?;
    let found = found.map_err(|error| to_exception(&error))?;
    let mut merged = Vec::new();
    for (count, state) in found.merged {
        let classes = query.classes.merged(count, &query.drive).map_err(|error| to_exception(&error))?;
        merged.push((count, state_dict(py, state, &query.drive, &classes)?));
    }
    Ok((found.write_amplification, merged))
}

/// Returns Zipf's law as classes with write shares and space shares, the most frequently written class first.
#[pyfunction]
pub fn theory_zipf_classes<'py>(
    py: Python<'py>,
    exponent: f64,
    logical_pages: u64,
) -> PyResult<[Column<'py>; 2]> {
    let classes =
        py.detach(|| Classes::zipf(exponent, logical_pages)).map_err(|error| to_exception(&error))?;
    let space = classes.as_slice().iter().map(|class| class.space_share).collect::<Vec<f64>>();
    Ok([classes.write_shares().into_pyarray(py), space.into_pyarray(py)])
}
