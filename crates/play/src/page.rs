//! Film as a self-contained web page.

use crate::film::Film;
use crate::layout::Layout;
use serde_json::json;
use wearwell_report::{PageParts, render};

const STYLE: &str = include_str!("../assets/play.css");
const SCRIPT: &str = include_str!("../assets/play.js");

/// Returns a web page that plays the film.
pub fn page(film: &Film) -> String {
    render(&PageParts {
        title: &film.title,
        data: &json!({ "film": film, "layout": Layout::of(film) }),
        style: STYLE,
        script: SCRIPT,
        has_server: false,
        has_charts: false,
    })
}
