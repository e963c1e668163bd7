//! `wearwell report` and `--report`: pages that show results.

use crate::common::{outcome, small};
use std::path::Path;
use std::process::Command;

/// The small scenario run with `arguments`; what it wrote is in the folder.
fn run(folder: &Path, scenario: &str, name: &str, arguments: &[&str]) -> String {
    let result = folder.join(format!("{name}.json")).display().to_string();
    let all: Vec<&str> =
        ["run", scenario, "--output", &result].into_iter().chain(arguments.iter().copied()).collect();
    outcome(&all, 0);
    result
}

/// The results in a page, as they were before they were shown.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("<script id=\"data\" type=\"application/json\">").expect("data");
    let (json, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn a_page_has_the_results_and_needs_nothing_else() {
    let (folder, scenario) = small();
    let [page, both, one] = ["page", "both", "one"].map(|name| folder.path().join(format!("{name}.html")));
    let greedy = run(folder.path(), &scenario, "greedy", &["--report", page.to_str().unwrap()]);
    let fifo = run(folder.path(), &scenario, "fifo", &["--victim", "fifo"]);
    outcome(&["compare", &greedy, &fifo, "--report", both.to_str().unwrap()], 0);
    outcome(&["report", &greedy, "--output", one.to_str().unwrap(), "--title", "a <b> & {{DATA}}"], 0);

    let read = |path: &Path| std::fs::read_to_string(path).unwrap();
    for (path, runs) in [(&page, 1), (&both, 2), (&one, 1)] {
        let text = read(path);
        assert!(text.len() < 2_000_000, "{} bytes", text.len());
        assert_eq!(data(&text)["runs"].as_array().unwrap().len(), runs);
        assert!(
            !text.contains("<script src") && !text.contains("<link ") && !text.contains("@import"),
            "something is fetched"
        );
    }
    let shown = &data(&read(&page))["runs"][0];
    let known = crate::common::json(Path::new(&greedy));
    assert_eq!(shown["name"], "small");
    assert_eq!(shown["result"]["write_amplification"], known["write_amplification"]);
    assert_eq!(shown["result"]["causes"], known["causes"]);
    assert!(read(&one).contains("<title>a &lt;b&gt; &amp; {{DATA}}</title>"));
}

#[test]
fn a_page_is_not_written_over_a_result() {
    let (folder, scenario) = small();
    let result = run(folder.path(), &scenario, "result", &[]);
    let (_, told) = outcome(&["report", &result, "--output", &result], 2);
    assert!(told.contains("name another file"), "{told}");
    let (_, told) = outcome(&["run", &scenario, "--report", "page.txt"], 2);
    assert!(told.contains("page.txt: a report ends in .html"), "{told}");
    let (_, told) =
        outcome(&["report", &scenario, "--output", folder.path().join("x.html").to_str().unwrap()], 2);
    assert!(told.contains("this is no JSON"), "{told}");
}

/// What writes by cause add up to is what flash programmed, in each window, and blocks of the histogram are those of the drive.
#[test]
fn what_is_drawn_adds_up() {
    let (folder, scenario) = small();
    let result = crate::common::json(Path::new(&run(folder.path(), &scenario, "result", &[])));
    let causes = result["causes"].as_array().unwrap();
    assert!(causes.len() >= 2, "{causes:?}");
    for (at, window) in result["windows"].as_array().unwrap().iter().enumerate() {
        let written: u64 = causes.iter().map(|series| series["pages"][at].as_u64().unwrap()).sum();
        assert_eq!(written, window["programs"].as_u64().unwrap(), "window {at}");
    }
    let histogram = result["wear"]["histogram"]["blocks"].as_array().unwrap();
    let blocks: u64 = histogram.iter().map(|blocks| blocks.as_u64().unwrap()).sum();
    assert_eq!(blocks, result["device"]["blocks"].as_u64().unwrap());
    assert_eq!(result["wear"]["map"]["erases"].as_array().unwrap().len() as u64, blocks);
}

/// Put behind the page's own script: does what a reader would, and says what came of it in the title.
const READER: &str = r#"<script>
const found = [];
addEventListener("error", (event) => found.push(event.message));
const figures = document.querySelectorAll("figure").length;
const drawn = () => document.querySelectorAll("figure .chart svg").length;
if (figures === 0 || drawn() !== figures) found.push(`${drawn()} of ${figures} figures are drawn`);
const was = document.documentElement.className;
document.getElementById("theme").click();
if (document.documentElement.className === was || drawn() !== figures) found.push("the theme does not change");
document.querySelectorAll("details").forEach((details) => { details.open = true; });
const empty = [...document.querySelectorAll("figure table")].filter((table) => table.rows.length < 2);
if (empty.length) found.push(`${empty.length} tables are empty`);
for (const chart of document.querySelectorAll(".chart svg")) {
  const { left, top, width, height } = chart.getBoundingClientRect();
  for (const kind of ["mousemove", "mousedown", "mousemove", "mouseup"]) {
    chart.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 }));
  }
}
document.title = `read: ${found.join("; ") || "all is well"}`;
</script>"#;

/// A browser that draws without a window, if there is one.
pub fn browser() -> Option<&'static str> {
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names
        .into_iter()
        .find(|name| Command::new(name).arg("--version").output().is_ok_and(|done| done.status.success()))
}

#[test]
fn a_browser_draws_every_figure() {
    let Some(browser) = browser() else {
        println!("NOT RUN: a page in a browser, as there is no Chromium");
        return;
    };
    let (folder, scenario) = small();
    let counted = run(folder.path(), &scenario, "counted", &[]);
    let timed = run(folder.path(), "scenarios/latency.toml", "timed", &["--set", "measure.drive_writes=0.5"]);
    let page = folder.path().join("page.html");
    outcome(&["report", &counted, &timed, "--output", page.to_str().unwrap()], 0);
    let text = std::fs::read_to_string(&page).unwrap().replace("</body>", &format!("{READER}</body>"));
    std::fs::write(&page, text).unwrap();
    let arguments = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"];
    let done =
        Command::new(browser).args(arguments).arg(format!("file://{}", page.display())).output().unwrap();
    let (dom, log) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    assert!(dom.contains("<title>read: all is well</title>"), "{}", dom.get(..600).unwrap_or(&dom));
    assert!(!log.contains("CONSOLE"), "{log}");
}
