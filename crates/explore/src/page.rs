//! HTML page: the drawing code of the reports, and a script that sends requests.

use super::controls::Control;
use serde_json::json;
use wearwell_report::{PageParts, render};
use wearwell_stack::Draft;

const STYLE: &str = include_str!("../assets/explore.css");
const SCRIPTS: [&str; 3] = [
    include_str!("../assets/state.js"),
    include_str!("../assets/answers.js"),
    include_str!("../assets/explore.js"),
];

/// Returns the HTML page of a scenario.
pub fn page(draft: &Draft, controls: &[Control]) -> String {
    let name = draft.get("name").and_then(|name| name.as_str()).unwrap_or("A drive");
    render(&PageParts {
        title: name,
        data: &json!({ "controls": controls }),
        style: STYLE,
        script: &SCRIPTS.concat(),
        has_server: true,
        has_charts: true,
    })
}
