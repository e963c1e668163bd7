//! Tests of `wearwell report` and `--report`: pages that show results.

use crate::browser;
use crate::common::{outcome, small};
use std::path::Path;

/// Runs the small scenario with `arguments`; the outputs are in the folder.
fn run(folder: &Path, scenario: &str, name: &str, arguments: &[&str]) -> String {
    let result = folder.join(format!("{name}.json")).display().to_string();
    let all: Vec<&str> =
        ["run", scenario, "--output", &result].into_iter().chain(arguments.iter().copied()).collect();
    outcome(&all, 0);
    result
}

/// Returns the results embedded in a page.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("<script id=\"data\" type=\"application/json\">").expect("data");
    let (json, _) = rest.split_once("</script>").expect("an end");
    serde_json::from_str(json).expect("JSON")
}

#[test]
fn page_contains_results_and_is_self_contained() {
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
        assert_eq!(data(&text)["documents"].as_array().unwrap().len(), runs);
        assert!(
            !text.contains("<script src") && !text.contains("<link ") && !text.contains("@import"),
            "something is fetched"
        );
    }
    let shown = &data(&read(&page))["documents"][0];
    let known = crate::common::json(Path::new(&greedy));
    assert_eq!(shown["name"], "small");
    assert_eq!(shown["data"]["write_amplification"], known["write_amplification"]);
    assert_eq!(shown["data"]["causes"], known["causes"]);
    assert!(read(&one).contains("<title>a &lt;b&gt; &amp; {{DATA}}</title>"));
}

#[test]
fn page_does_not_overwrite_a_result() {
    let (folder, scenario) = small();
    let result = run(folder.path(), &scenario, "result", &[]);
    let (_, stderr) = outcome(&["report", &result, "--output", &result], 2);
    assert!(stderr.contains("name another file"), "{stderr}");
    let (_, stderr) = outcome(&["run", &scenario, "--report", "page.txt"], 2);
    assert!(stderr.contains("page.txt: a report ends in .html"), "{stderr}");
    let (_, stderr) =
        outcome(&["report", &scenario, "--output", folder.path().join("x.html").to_str().unwrap()], 2);
    assert!(stderr.contains("this is no JSON"), "{stderr}");
}

/// Checks that writes by cause add up to the flash programs in each window, and that the histogram counts all blocks of
/// the drive.
#[test]
fn drawn_figures_add_up() {
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
    let heat = &result["erase_heat_map"];
    let stretch = heat["windows_per_interval"].as_u64().unwrap() as usize;
    let windows = result["windows"].as_array().unwrap();
    let sum = |list: &[serde_json::Value]| list.iter().map(|erases| erases.as_u64().unwrap()).sum::<u64>();
    let rows = heat["erases"].as_array().unwrap();
    assert_eq!(rows.len(), windows.len().div_ceil(stretch));
    for (row, of) in rows.iter().zip(windows.chunks(stretch)) {
        let erased: u64 = of.iter().map(|window| window["erases"].as_u64().unwrap()).sum();
        assert_eq!(sum(row.as_array().unwrap()), erased);
    }
    let region = heat["blocks_in_region"].as_u64().unwrap() as usize;
    let map = result["wear"]["map"]["erases"].as_array().unwrap();
    for (at, of) in map.chunks(region).enumerate() {
        let erased: f64 = of.iter().map(|erases| erases.as_f64().unwrap()).sum();
        let heated: u64 = rows.iter().map(|row| row[at].as_u64().unwrap()).sum();
        assert_eq!(heated as f64, erased, "region {at}");
    }
}

/// Script appended to the script of the HTML page: it acts like a reader and writes the result to the title.
const READER: &str = r#"<script>
const found = [];
addEventListener("error", (event) => found.push(event.message));
const all = (what) => [...document.querySelectorAll(what)];
const undrawn = () => all("figure .chart").filter((chart) => !chart.querySelector("svg path")).length;
const look = (when) => { if (undrawn()) found.push(`${undrawn()} of ${all("figure .chart").length} figures are not drawn ${when}`); };
if (all("figure").length === 0) found.push("there is no figure");
look("at first");
const was = document.documentElement.className;
document.getElementById("theme").click();
if (document.documentElement.className === was) found.push("the theme does not change");
look("in the other theme");
const lacking = all("figure").filter((figure) => ![...figure.querySelectorAll("table")].some((table) => table.rows.length > 1) && !figure.querySelector("img"));
if (lacking.length) found.push(`${lacking.length} figures have no table`);
if (all("img").some((image) => !image.src.startsWith("data:"))) found.push("an image is fetched");
(async () => {
  for (const select of all("select")) {
    for (const option of select.options) {
      select.value = option.value;
      select.dispatchEvent(new Event("change"));
      await null;
      look(`after ${option.value}`);
    }
  }
  all("details").forEach((details) => { details.open = true; });
  all(".copy").forEach((button) => button.click());
  for (const chart of all(".chart svg")) {
    const { left, top, width, height } = chart.getBoundingClientRect();
    for (const kind of ["mousemove", "mousedown", "mousemove", "mouseup"]) {
      chart.dispatchEvent(new MouseEvent(kind, { bubbles: true, clientX: left + width / 2, clientY: top + height / 2 }));
    }
  }
  if (all("[onclick]").length) found.push("a text became an element");
  document.title = `read: ${found.join("; ") || "all is well"}`;
})();
</script>"#;

/// A name that would break the HTML page wherever the name is not escaped.
const HOSTILE: &str = "</script><b onclick=x>HOSTILE</b>{{DATA}}\u{2028}'\"&";

/// Opens the page in a browser. Without a browser, only checks that the page is self-contained.
fn open(page: &Path) {
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.len() < 2_000_000, "{}: {} bytes", page.display(), text.len());
    assert!(!text.contains("<b onclick") && !text.contains("<script src") && !text.contains("<link "));
    assert!(!data(&text)["documents"].as_array().unwrap().is_empty());
    std::fs::write(page, text.replace("</body>", &format!("{READER}</body>"))).unwrap();
    let url = format!("file://{}", page.display());
    if let Some(title) = browser::title(&url, &[]) {
        assert_eq!(title, "read: all is well", "{url}");
    }
}

/// Creates the small scenario with the hostile name.
fn hostile() -> (tempfile::TempDir, String) {
    let (folder, scenario) = small();
    let text = std::fs::read_to_string(&scenario).unwrap();
    // A JSON string is also a TOML string.
    let name = serde_json::to_string(HOSTILE).unwrap();
    std::fs::write(&scenario, text.replace("name = \"small\"", &format!("name = {name}"))).unwrap();
    (folder, scenario)
}

#[test]
fn browser_draws_every_figure_of_runs() {
    let (folder, scenario) = hostile();
    let counted = run(folder.path(), &scenario, "counted", &[]);
    let timed = run(folder.path(), "scenarios/latency.toml", "timed", &["--set", "measure.drive_writes=0.5"]);
    let page = folder.path().join("page.html");
    outcome(&["report", &counted, &timed, "--output", page.to_str().unwrap(), "--title", HOSTILE], 0);
    open(&page);
    let cut = folder.path().join("cut.html");
    outcome(&["power", "scenarios/power.toml", "--report", cut.to_str().unwrap()], 0);
    open(&cut);
}

#[test]
fn browser_draws_every_figure_of_sweeps() {
    let (folder, scenario) = hostile();
    let [one, two, three] = ["one", "two", "three"].map(|name| folder.path().join(format!("{name}.html")));
    let [victims, spares, streams] =
        ["ftl.victim=greedy,fifo", "device.load=0.7,0.8", "ftl.placement=single,double"];
    let vary = |page: &Path, axes: &[&str], more: &[&str]| {
        let axes = axes.iter().flat_map(|axis| ["--vary", axis]);
        let all: Vec<&str> = ["sweep", &scenario, "--report", page.to_str().unwrap()]
            .into_iter()
            .chain(axes)
            .chain(more.iter().copied())
            .collect();
        outcome(&all, 0);
    };
    let table = folder.path().join("table.json");
    vary(&one, &[spares], &["--output", table.to_str().unwrap(), "--replicas", "2"]);
    vary(&two, &[victims, spares], &[]);
    vary(&three, &[victims, spares, streams], &[]);
    let shown = data(&std::fs::read_to_string(&two).unwrap());
    assert_eq!(shown["documents"][0]["data"]["axes"], serde_json::json!(["ftl.victim", "device.load"]));
    assert_eq!(shown["documents"][0]["name"], HOSTILE);
    let second_page = folder.path().join("again.html");
    outcome(&["report", table.to_str().unwrap(), "--output", second_page.to_str().unwrap()], 0);
    for page in [&one, &two, &three, &second_page] {
        open(page);
    }
}

#[test]
fn browser_draws_every_figure_of_theory() {
    let (folder, scenario) = hostile();
    let page = folder.path().join("page.html");
    let hot = ["--hot-writes", "0.8", "--hot-space", "0.2"];
    let questions: [&[&str]; 7] = [
        &["double", "--hot-writes", "0.8", "--hot-space", "0.2"],
        &["fifo"],
        &["windowed", "--window-share", "0.5"],
        &["optimal-choices", "--max-choices", "20"],
        &["transient", "--from", "fresh", "--points", "10"],
        &["solve-spare", "--target-wa", "2.5", "--model", "fifo"],
        &["--scenario", &scenario],
    ];
    for question in questions {
        outcome(&[&["theory"], question, &["--report", page.to_str().unwrap()]].concat(), 0);
        let shown = data(&std::fs::read_to_string(&page).unwrap());
        assert_eq!(shown["documents"][0]["kind"], "theory", "{question:?}");
        open(&page);
    }
    let (text, _) = outcome(&[&["theory", "single", "--format", "json"], &hot[..]].concat(), 0);
    let saved = folder.path().join("single.json");
    std::fs::write(&saved, text).unwrap();
    outcome(&["report", saved.to_str().unwrap(), "--output", page.to_str().unwrap()], 0);
    open(&page);
}

#[test]
fn browser_draws_every_figure_of_advice_limits_and_papers() {
    let (folder, scenario) = hostile();
    let [advice, saved, again, papers] =
        ["a.html", "a.json", "b.html", "c.html"].map(|name| folder.path().join(name));
    let [advice_path, saved_path, again_path, papers_path] =
        [&advice, &saved, &again, &papers].map(|path| path.to_str().unwrap());
    let options =
        ["--quick", "--only", "victim", "--replicas", "2", "--report", advice_path, "--output", saved_path];
    outcome(&[&["advise", &scenario], &options[..]].concat(), 0);
    outcome(&["report", saved_path, "--output", again_path], 0);
    let limit_page = folder.path().join("limit.html");
    let options = ["--placements", "single,oracle", "--victims", "fifo", "--quick", "--report"];
    outcome(&[&["limit", &scenario], &options[..], &[limit_page.to_str().unwrap()]].concat(), 0);
    outcome(
        &[
            "report",
            "experiments/results/geckoftl",
            "experiments/results/hot_cold/figure-1/item.json",
            "--output",
            papers_path,
        ],
        0,
    );
    for page in [&advice, &again, &papers, &limit_page] {
        open(page);
    }
}

#[test]
fn every_plot_figure_is_drawn_from_results_with_its_data() {
    let (folder, scenario) = hostile();
    let path_of = |name: &str| folder.path().join(name).display().to_string();
    let counted = run(folder.path(), &scenario, "counted", &[]);
    let timed = run(folder.path(), "scenarios/latency.toml", "timed", &["--set", "measure.drive_writes=0.5"]);
    let (table, path) = (path_of("table.json"), path_of("path.json"));
    let axes = ["--vary", "ftl.victim=greedy,fifo", "--vary", "device.load=0.7,0.8"];
    outcome(&[&["sweep", &scenario, "--output", &table], &axes[..]].concat(), 0);
    let (answer, _) = outcome(&["theory", "transient", "--points", "5", "--format", "json"], 0);
    std::fs::write(&path, answer).unwrap();
    let limit = path_of("limit.json");
    let few = ["--quick", "--placements", "double", "--victims", "fifo", "--output", &limit];
    outcome(&[&["limit", &scenario][..], &few].concat(), 0);
    for (result, figures) in [
        (&counted, &["course", "causes", "erases", "victims"][..]),
        (&timed, &["course", "response-times"]),
        (&table, &["points", "map"]),
        (&path, &["curve"]),
        (&limit, &["limit"]),
    ] {
        for figure in figures {
            let svg = path_of("figure.svg");
            outcome(&["plot", result, "--figure", figure, "--output", &svg], 0);
            let text = std::fs::read_to_string(&svg).unwrap();
            assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{figure}");
            assert!(text.matches("<circle").count() + text.matches("<rect").count() > 2, "{figure}");
        }
    }
    let (_, stderr) = outcome(&["plot", &table, "--figure", "course", "--output", &path_of("x.svg")], 2);
    assert!(
        stderr.contains(
            "table.json: there is nothing in it for the figure `course`; it has data for points, map"
        ),
        "{stderr}"
    );
    let (_, stderr) = outcome(&["plot", &table, "--figure", "curse", "--output", &path_of("x.svg")], 2);
    assert!(stderr.contains("course, causes"), "{stderr}");
    let (_, stderr) = outcome(&["plot", &table, "--figure", "map", "--output", &path_of("x.gif")], 2);
    assert!(stderr.contains("x.gif: a figure ends in .svg, .pdf or .png"), "{stderr}");
}

#[test]
fn non_result_files_are_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html").display().to_string();
    for (name, text, expected) in [
        ("foreign.json", "{\"a\": 1}", "this is nothing that a page shows"),
        ("cut.json", "[{\"replicas\": 1", "this is no JSON"),
        (
            "rows.json",
            "[{\"replicas\": 1, \"steady\": 3, \"write_amplification\": 2}]",
            "`rows[0].steady` is 3",
        ),
        (
            "old.json",
            "{\"version\": \"0.0.9\", \"mode\": \"theory\", \"model\": 1, \"parameters\": {}}",
            "Wearwell 0.0.9 made it",
        ),
        ("run.json", "{\"scenario\": {}, \"phases\": 1, \"layers\": []}", "this is no whole result"),
        ("advice.json", "{\"base\": {}, \"changes\": 1, \"combinations\": []}", "this is no whole advice"),
        (
            "limit.json",
            "{\"lower_bound\": 1, \"min_rewrites\": 0, \"rows\": 1}",
            "this is no whole drive beside its limit",
        ),
    ] {
        let path = folder.path().join(name).display().to_string();
        std::fs::write(&path, text).unwrap();
        let (_, stderr) = outcome(&["report", &path, "--output", &page], 2);
        assert!(stderr.contains(&path) && stderr.contains(expected), "{stderr}");
    }
    let (_, stderr) = outcome(&["report", folder.path().to_str().unwrap(), "--output", &page], 2);
    assert!(stderr.contains("no item.json"), "{stderr}");
    assert!(!Path::new(&page).exists());
}
