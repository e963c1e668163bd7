//! Results as one page: figures that answer to the mouse and the keyboard, each with its data as a table, and nothing that is fetched
//! from elsewhere.
//!
//! A page shows [`Document`]s, each of a kind: `kinds/` says by what a kind is known and what of it is shown, one file a kind, and
//! `assets/kinds/` has the script of the same name that makes a list of figures of it. `assets/base.js` has what all figures share,
//! `page.js` puts documents one after the other. `charts.min.js` is made of ECharts by `charts/`.

mod document;
mod gather;
mod kinds;

pub use document::Document;
pub use kinds::reproduction::gathered as reproduction;
pub use kinds::sweep::guessed as axes;

use serde_json::{Value, json};

const PAGE: &str = include_str!("../assets/page.html");
const STYLE: &str = include_str!("../assets/page.css");
const CHARTS: &str = include_str!("../assets/charts.min.js");
const BASE: &str = include_str!("../assets/base.js");
const ORDER: &str = include_str!("../assets/page.js");

/// Bytes of data that a kind puts on a page at most, so that it stays below 2 MB whatever was found.
const MOST_BYTES: usize = 1_000_000;

/// A page that shows documents, each under its name, and before them, where there are several of a kind that can be compared, what
/// they have in common side by side.
pub fn page(title: &str, documents: &[Document]) -> String {
    let documents: Vec<Value> = documents.iter().map(Document::on_page).collect();
    let data = json!({ "documents": documents });
    framed(&Frame { title, data: &data, style: "", script: &scripts(), asks: false, charts: true })
}

/// What a page is made of, besides what all pages have: their look, and what draws charts.
pub struct Frame<'a> {
    /// Its title.
    pub title: &'a str,
    /// What its scripts find in the element `data`.
    pub data: &'a Value,
    /// Style beyond that of all pages.
    pub style: &'a str,
    /// What draws, behind the script that all pages have.
    pub script: &'a str,
    /// It asks the server that it came from, which a file cannot.
    pub asks: bool,
    /// It has charts.
    pub charts: bool,
}

/// A page that needs nothing but itself.
pub fn framed(frame: &Frame<'_>) -> String {
    let parts = [
        ("TITLE", escaped(frame.title)),
        ("VERSION", escaped(env!("CARGO_PKG_VERSION"))),
        ("MAY_ASK", if frame.asks { "; connect-src 'self'".to_owned() } else { String::new() }),
        ("STYLE", [STYLE, frame.style].concat()),
        ("CHARTS", if frame.charts { CHARTS.to_owned() } else { String::new() }),
        ("SCRIPT", [BASE, frame.script].concat()),
        ("DATA", in_script(&frame.data.to_string())),
    ];
    filled(PAGE, &parts)
}

/// What draws the figures of one run, for a page that makes its results itself.
pub const RUN_FIGURES: &str = include_str!("../assets/kinds/run_figures.js");

/// What draws documents: every kind, of which one may use the figures of another, and the page last.
fn scripts() -> String {
    let kinds = kinds::KINDS.iter().flat_map(|kind| kind.scripts).copied();
    kinds.chain([ORDER]).collect()
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
        let scripts = [BASE, &scripts()].concat();
        assert!(
            !scripts.contains("</script") && !scripts.contains("http") && !scripts.contains("innerHTML =")
        );
        assert!(!CHARTS.contains("</script") && !STYLE.contains("url("));
        assert!(PAGE.contains("default-src 'none'"));
    }

    #[test]
    fn every_kind_has_a_script_that_draws_it() {
        for kind in kinds::KINDS {
            let known = format!("KINDS.{} = ", kind.name);
            assert!(kind.scripts.iter().any(|script| script.contains(&known)), "{known}");
        }
    }
}
