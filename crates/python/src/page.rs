//! HTML pages of results.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use wearwell_report::Document;

/// Returns an HTML page of JSON documents, each given with its name.
#[pyfunction]
pub fn page(py: Python<'_>, title: &str, documents: Vec<(String, String)>) -> PyResult<String> {
    let page = py.detach(|| {
        let read = |(name, text): &(String, String)| {
            let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
            Document::read(name, value)
        };
        let documents: Result<Vec<Document>, String> = documents.iter().map(read).collect();
        Ok(wearwell_report::page(title, &documents?))
    });
    page.map_err(|problem: String| PyValueError::new_err(problem))
}
