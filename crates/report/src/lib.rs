//! Results as one self-contained HTML page: interactive figures, usable with mouse and keyboard, each with its data as
//! a table. Nothing is loaded from other hosts.
//!
//! A page shows [`Document`]s of different kinds. `kinds/` has one file per kind, which recognises documents of the
//! kind and selects their data for the page. `assets/kinds/` has a script of the same name that draws its figures.
//! `assets/base.js` has the common parts of all figures, and `page.js` arranges the documents. `charts.min.js.gz`
//! is built from ECharts by `charts/`; a page contains its code uncompressed.

mod document;
mod kinds;
mod old_fields;
mod windows;

pub use document::Document;
pub use kinds::reproduction::with_plots_and_tables as reproduction;
pub use kinds::sweep::guess_axes as axes;
pub use old_fields::rename_old_fields;

use flate2::read::GzDecoder;
use serde_json::{Value, json};
use std::io::Read;

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const CHARTS: &[u8] = include_bytes!("../assets/charts.min.js.gz");
const BASE: &str = include_str!("../assets/base.js");
const ORDER: &str = include_str!("../assets/page.js");

/// Maximum size in bytes of the data of one kind, so that an HTML page stays below 2 MB.
const MAX_KIND_BYTES: usize = 1_000_000;

/// Returns an HTML page that shows documents under their names. For a kind with several comparable documents, the page
/// begins with a comparison.
pub fn page(title: &str, documents: &[Document]) -> String {
    let documents: Vec<Value> = documents.iter().map(Document::page_data).collect();
    let data = json!({ "documents": documents });
    render(&PageParts {
        title,
        data: &data,
        style: "",
        script: &scripts(),
        has_server: false,
        has_charts: true,
    })
}

/// Parts of an HTML page, in addition to the style and chart code that all pages share.
pub struct PageParts<'a> {
    /// Title of the page.
    pub title: &'a str,
    /// Data for the scripts, in the element `data`.
    pub data: &'a Value,
    /// Style sheet in addition to the common style sheet.
    pub style: &'a str,
    /// Script that runs after the common script.
    pub script: &'a str,
    /// True if the page sends requests to its server; a page in a file cannot do so.
    pub has_server: bool,
    /// True if the page has charts.
    pub has_charts: bool,
}

/// Returns a self-contained HTML page.
pub fn render(frame: &PageParts<'_>) -> String {
    let parts = [
        ("TITLE", escape_html(frame.title)),
        ("VERSION", escape_html(env!("CARGO_PKG_VERSION"))),
        ("MAY_ASK", if frame.has_server { "; connect-src 'self'".to_owned() } else { String::new() }),
        ("STYLE", [STYLE, frame.style].concat()),
        ("CHARTS", if frame.has_charts { charts() } else { String::new() }),
        ("SCRIPT", [BASE, frame.script].concat()),
        ("DATA", escape_for_script(&frame.data.to_string())),
    ];
    fill_template(PAGE, &parts)
}

/// Returns the code of the charts.
fn charts() -> String {
    let mut code = String::new();
    GzDecoder::new(CHARTS).read_to_string(&mut code).expect("the code in the program is complete");
    code
}

/// Script that draws the figures of a run, for HTML pages that compute their results.
pub const RUN_FIGURES: &str = include_str!("../assets/kinds/run_figures.js");

/// Returns the scripts that draw documents: first the scripts of all kinds, which may use each other's figures, then
/// the script of the HTML page.
fn scripts() -> String {
    let kinds = kinds::KINDS.iter().flat_map(|kind| kind.scripts).copied();
    kinds.chain([ORDER]).collect()
}

/// Replaces the placeholders `{{NAME}}` of a template. Inserted text is not searched for placeholders.
fn fill_template(template: &str, parts: &[(&str, String)]) -> String {
    let mut parts_of_template = template.split("{{");
    let mut page = parts_of_template.next().unwrap_or_default().to_owned();
    for part in parts_of_template {
        let (name, rest) = part.split_once("}}").expect("a mark ends");
        let (_, text) = parts.iter().find(|(known, _)| *known == name).expect("a mark that is known");
        page.push_str(text);
        page.push_str(rest);
    }
    page
}

/// Escapes JSON so that no text in it can end its script element.
fn escape_for_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn escape_html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_in_inserted_text_are_not_replaced() {
        let parts = [("A", "{{B}}".to_owned()), ("B", "b".to_owned())];
        assert_eq!(fill_template("<{{A}}|{{B}}>", &parts), "<{{B}}|b>");
    }

    #[test]
    fn text_cannot_end_its_script_element() {
        let text = escape_for_script(&json!({ "name": "</script><script>alert(1)</script>" }).to_string());
        assert!(!text.contains('<'));
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], "</script><script>alert(1)</script>");
        assert_eq!(escape_html("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    }

    #[test]
    fn page_loads_no_external_resource() {
        let scripts = [BASE, &scripts()].concat();
        assert!(
            !scripts.contains("</script") && !scripts.contains("http") && !scripts.contains("innerHTML =")
        );
        assert!(!charts().contains("</script") && !STYLE.contains("url("));
        assert!(PAGE.contains("default-src 'none'"));
    }

    #[test]
    fn charts_are_complete_and_carry_their_licence() {
        let charts = charts();
        assert!(charts.starts_with("/*! Apache ECharts"));
        assert!(charts.contains("var echarts=") && charts.trim_end().ends_with("*/"));
    }

    #[test]
    fn every_kind_has_a_script() {
        for kind in kinds::KINDS {
            let known = format!("KINDS.{} = ", kind.name);
            assert!(kind.scripts.iter().any(|script| script.contains(&known)), "{known}");
        }
    }
}
