//! HTML page of a live drive: the figures of run reports, and a script that updates them.

use crate::history::Sample;
use serde_json::json;
use wearwell_report::{PageParts, RUN_FIGURES, render};
use wearwell_serve::Reading;

const STYLE: &str = include_str!("../assets/live.css");
const SCRIPT: &str = include_str!("../assets/live.js");

/// Builds the HTML page of a drive from its current reading and its history.
pub fn page(reading: &Reading, history: &[Sample]) -> String {
    render(&PageParts {
        title: reading.name.as_deref().unwrap_or("A live drive"),
        data: &json!({ "reading": reading, "history": history }),
        style: STYLE,
        script: &[RUN_FIGURES, SCRIPT].concat(),
        has_server: true,
        has_charts: true,
    })
}
