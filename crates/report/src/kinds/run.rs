//! Result of a run.

use super::{Kind, has_keys};
use crate::windows::merge_windows;
use serde_json::Value;
use wearwell_stack::RunResult;

pub const KIND: Kind = Kind {
    name: "run",
    title: "result",
    command: "`wearwell run --output RESULT.json`",
    matches: |value| has_keys(value, &["scenario", "phases", "layers"]),
    page_data: |value| {
        RunResult::read(value).map(|result| page_data(&result)).map_err(|error| error.to_string())
    },
    scripts: &[
        crate::RUN_FIGURES,
        include_str!("../../assets/kinds/run_latency.js"),
        include_str!("../../assets/kinds/run.js"),
    ],
};

/// Returns the data of a result for the HTML page. In these data, long time series are merged.
pub fn page_data(result: &RunResult) -> Value {
    let mut value = serde_json::to_value(merge_windows(result)).expect("results are plain data");
    // Histograms of response times are the largest part of a timed result, but the figures show only percentiles.
    if let Some(requests) = value.pointer_mut("/timing/requests").and_then(Value::as_object_mut) {
        requests.values_mut().filter_map(Value::as_object_mut).for_each(|request| {
            request.remove("histogram");
        });
    }
    value
}
