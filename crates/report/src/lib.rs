//! Results of runs as one page: figures that answer to the mouse and the keyboard, each with its data as a table, and nothing that
//! is fetched from elsewhere.
//!
//! The page carries the results as JSON, and `assets/` draws them: `base.js` has what all figures share, `figures.js` and
//! `latency.js` a function for each figure, `page.js` their order. `charts.min.js` is made of ECharts by `charts/`.

mod gather;

use gather::gathered;
use serde_json::{Value, json};
use wearwell_stack::RunResult;

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const CHARTS: &str = include_str!("../assets/charts.min.js");
const BASE: &str = include_str!("../assets/base.js");
const SCRIPTS: [&str; 3] = [
    include_str!("../assets/figures.js"),
    include_str!("../assets/latency.js"),
    include_str!("../assets/page.js"),
];

/// A page that shows results, each under its name, and where there are several, what they have in common side by side.
///
/// Long time series are gathered, so that a page stays below 2 MB whatever ran.
pub fn page(title: &str, runs: &[(&str, &RunResult)]) -> String {
    let runs: Vec<Value> =
        runs.iter().map(|(name, result)| json!({ "name": name, "result": shown(result) })).collect();
    let data = json!({ "runs": runs });
    framed(&Frame { title, data: &data, style: "", scripts: &SCRIPTS, asks: false })
}

/// What a page is made of, besides what all pages have: their look, and what draws charts.
pub struct Frame<'a> {
    /// Its title.
    pub title: &'a str,
    /// What its scripts find in the element `data`.
    pub data: &'a Value,
    /// Style beyond that of all pages.
    pub style: &'a str,
    /// Scripts, which run one after the other behind those of all pages.
    pub scripts: &'a [&'a str],
    /// It asks the server that it came from, which a file cannot.
    pub asks: bool,
}

/// A page that needs nothing but itself.
pub fn framed(frame: &Frame<'_>) -> String {
    let parts = [
        ("TITLE", escaped(frame.title)),
        ("VERSION", escaped(env!("CARGO_PKG_VERSION"))),
        ("MAY_ASK", if frame.asks { "; connect-src 'self'".to_owned() } else { String::new() }),
        ("STYLE", [STYLE, frame.style].concat()),
        ("CHARTS", CHARTS.to_owned()),
        ("SCRIPT", [BASE].iter().chain(frame.scripts).copied().collect()),
        ("DATA", in_script(&frame.data.to_string())),
    ];
    filled(PAGE, &parts)
}

/// The template with its marks, `{{NAME}}`, replaced. What is put in is not looked at again, whatever it contains.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut pieces = template.split("{{");
    let mut page = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (name, rest) = piece.split_once("}}").expect("a mark ends");
        let (_, text) = parts.iter().find(|(known, _)| *known == name).expect("a mark that is known");
        page.push_str(text);
        page.push_str(rest);
    }
    page
}

/// What the page shows of a result.
fn shown(result: &RunResult) -> Value {
    let mut value = serde_json::to_value(gathered(result)).expect("results are plain data");
    // The counts of all response times are most of a timed result, and the figures show percentiles.
    if let Some(requests) = value.pointer_mut("/timing/requests").and_then(Value::as_object_mut) {
        requests.values_mut().filter_map(Value::as_object_mut).for_each(|request| {
            request.remove("histogram");
        });
    }
    value
}

/// JSON that stays in its script element, whatever texts are in it.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_in_what_is_put_in_are_left_alone() {
        let parts = [("A", "{{B}}".to_owned()), ("B", "b".to_owned())];
        assert_eq!(filled("<{{A}}|{{B}}>", &parts), "<{{B}}|b>");
    }

    #[test]
    fn no_text_ends_its_script() {
        let text = in_script(&json!({ "name": "</script><script>alert(1)</script>" }).to_string());
        assert!(!text.contains('<'));
        let back: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(back["name"], "</script><script>alert(1)</script>");
        assert_eq!(escaped("a<b>&\"c\""), "a&lt;b&gt;&amp;&quot;c&quot;");
    }

    #[test]
    fn the_page_fetches_nothing() {
        for script in SCRIPTS.into_iter().chain([BASE]) {
            assert!(!script.contains("</script") && !script.contains("http"));
        }
        assert!(!CHARTS.contains("</script") && !STYLE.contains("url("));
        assert!(PAGE.contains("default-src 'none'"));
    }
}
