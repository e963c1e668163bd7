//! Complete solutions: steady states, paths, many classes.

use super::models::{Single, structure};
use super::policy::Policy;
use super::work;
use crate::errors;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use wearwell_theory::mean_field::{Beginning, MeanField, SteadyState};
use wearwell_theory::{Class, Classes, Drive, ManyClasses, TheoryError};

type Column<'py> = Bound<'py, PyArray1<f64>>;

/// A number of classes, and the steady state as a dictionary.
type Numbered<'py> = (usize, Bound<'py, PyDict>);

fn refuse(error: &TheoryError) -> PyErr {
    errors::from_theory(error, None)
}

fn beginning(name: &str) -> PyResult<Beginning> {
    match name {
        "fresh" => Ok(Beginning::Fresh),
        "sequential" => Ok(Beginning::Sequential),
        "mixed" => Ok(Beginning::Mixed),
        _ => Err(errors::no_such("from_", name, &["fresh", "sequential", "mixed"])),
    }
}

fn pairs(classes: &Classes) -> Vec<(f64, f64)> {
    classes.as_slice().iter().map(|class: &Class| (class.write_share, class.space_share)).collect()
}

/// Converts a steady state to a dictionary.
fn parts<'py>(
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
    question: Single,
    policy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (structure, policy) = (self::structure(structure)?, Policy::new(policy)?);
    let asked = question.question()?;
    let state = work::detached(py, &policy, false, |stop| {
        let selection = policy.selection(asked.choices, stop)?;
        MeanField::new(asked.drive, asked.classes.clone(), structure, &*selection)?.steady_state()
    })?;
    parts(py, state.map_err(|error| refuse(&error))?, &asked.drive, &asked.classes)
}

/// Returns the path from an initial state, as named columns.
#[pyfunction]
pub fn theory_transient<'py>(
    py: Python<'py>,
    structure: &str,
    from_: &str,
    drive_writes: f64,
    points: usize,
    question: Single,
    policy: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let (structure, from) = (self::structure(structure)?, beginning(from_)?);
    let policy = Policy::new(policy)?;
    let asked = question.question()?;
    let path = work::detached(py, &policy, false, |stop| {
        let selection = policy.selection(asked.choices, stop)?;
        let model = MeanField::new(asked.drive, asked.classes.clone(), structure, &*selection)?;
        model.transient(from, drive_writes, points)
    })?;
    let path = path.map_err(|error| refuse(&error))?;
    let mean = |levels: &[f64]| levels.iter().enumerate().map(|(pages, share)| pages as f64 * share).sum();
    let columns = PyDict::new(py);
    let column = |name: &str, values: Vec<f64>| columns.set_item(name, values.into_pyarray(py));
    column("drive_writes", path.iter().map(|point| point.drive_writes).collect())?;
    column("write_amplification", path.iter().map(|point| point.write_amplification).collect())?;
    column("erased", path.iter().map(|point| point.erased).collect())?;
    column("mean_valid_pages", path.iter().map(|point| mean(&point.valid_pages)).collect())?;
    Ok(columns)
}

/// Returns the write amplification for many classes, and the steady states that it is based on, by number of classes.
#[pyfunction]
pub fn theory_many_classes<'py>(
    py: Python<'py>,
    structure: &str,
    question: Single,
    policy: &Bound<'py, PyAny>,
) -> PyResult<(f64, Vec<Numbered<'py>>)> {
    let (structure, policy) = (self::structure(structure)?, Policy::new(policy)?);
    let asked = question.question()?;
    let found = work::detached(py, &policy, false, |stop| {
        let selection = policy.selection(asked.choices, stop)?;
        ManyClasses::solve(asked.drive, &asked.classes, structure, &*selection)
    })?;
    let found = found.map_err(|error| refuse(&error))?;
    let mut merged = Vec::new();
    for (count, state) in found.merged {
        let classes = asked.classes.merged(count, &asked.drive).map_err(|error| refuse(&error))?;
        merged.push((count, parts(py, state, &asked.drive, &classes)?));
    }
    Ok((found.write_amplification, merged))
}

/// Returns Zipf's law as classes: write shares and space shares, hottest first.
#[pyfunction]
pub fn theory_zipf_classes<'py>(
    py: Python<'py>,
    exponent: f64,
    logical_pages: u64,
) -> PyResult<[Column<'py>; 2]> {
    let classes = py.detach(|| Classes::zipf(exponent, logical_pages)).map_err(|error| refuse(&error))?;
    let space = classes.as_slice().iter().map(|class| class.space_share).collect::<Vec<f64>>();
    Ok([classes.write_shares().into_pyarray(py), space.into_pyarray(py)])
}
