//! Data sheets and SMART reports of drives, from Python.

use crate::errors::{self, ParameterError, ReportError};
use pyo3::prelude::*;
use serde::Serialize;
use wearwell_base::config::ConfigError;
use wearwell_stack::ByteSize;
use wearwell_study::drive::{self as core, DataSheet, DriveError, SmartReport};

/// Evaluates a data sheet; input and output are JSON.
#[pyfunction]
pub fn drive_sheet(py: Python<'_>, sheet: &str) -> PyResult<String> {
    let sheet = parse(sheet)?.resolve().map_err(from_sheet)?;
    let found = py.detach(|| core::summarize(&sheet));
    as_json(&found.map_err(from_drive)?)
}

/// Evaluates one SMART report, or two reports of the same drive, each given as a pair of name and text. Returns JSON.
#[pyfunction]
#[pyo3(signature = (sheet, later, earlier=None, days=None))]
pub fn drive_smart(
    py: Python<'_>,
    sheet: &str,
    later: (String, String),
    earlier: Option<(String, String)>,
    days: Option<f64>,
) -> PyResult<String> {
    let sheet = parse(sheet)?;
    let read = |(name, text): &(String, String)| SmartReport::read(name, text).map_err(from_report);
    let later = read(&later)?;
    let earlier = earlier.as_ref().map(read).transpose()?;
    if let Some(days) = days.filter(|days| !(*days > 0.0 && days.is_finite())) {
        return Err(errors::invalid_parameter("days", &format!("is {days}; it must be a number above 0")));
    }
    let found = py.detach(|| core::evaluate_reports(&sheet, earlier.as_ref(), &later, days));
    as_json(&found.map_err(from_drive)?)
}

/// Returns a scenario of the drive as TOML; if `scaled_to` (a size as JSON) is given, of a drive with that capacity.
#[pyfunction]
#[pyo3(signature = (sheet, scaled_to=None))]
pub fn drive_scenario(sheet: &str, scaled_to: Option<&str>) -> PyResult<String> {
    let shown: Option<ByteSize> = match scaled_to {
        Some(size) => Some(
            serde_json::from_str(size)
                .map_err(|error| errors::invalid_parameter("scaled_to", &error.to_string()))?,
        ),
        None => None,
    };
    let sheet = parse(sheet)?.resolve().map_err(from_sheet)?;
    core::scenario(&sheet, shown).map_err(from_sheet)
}

fn parse(sheet: &str) -> PyResult<DataSheet> {
    serde_json::from_str(sheet).map_err(|error| {
        // The position of the error is dropped, because it refers to a text that the user did not write.
        let text = error.to_string();
        let problem = text.split(" at line ").next().unwrap_or_default().to_owned();
        ParameterError::new_err((problem, Option::<String>::None))
    })
}

fn as_json(evaluation: &impl Serialize) -> PyResult<String> {
    Ok(serde_json::to_string(evaluation).expect("plain data"))
}

fn from_sheet(error: ConfigError) -> PyErr {
    ParameterError::new_err((error.to_string(), error.key))
}

fn from_report(error: core::ReportError) -> PyErr {
    let (text, core::ReportError { file, key, .. }) = (error.to_string(), error);
    ReportError::new_err((text, file, Some(key).filter(|key| !key.is_empty())))
}

fn from_drive(error: DriveError) -> PyErr {
    match error {
        DriveError::Sheet(error) => from_sheet(error),
        DriveError::Report(error) => from_report(error),
        DriveError::Theory(error) => errors::from_theory(&error, None),
    }
}
