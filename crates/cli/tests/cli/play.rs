//! Tests of `wearwell play`: films as pages, GIFs and pictures, and a page in a browser if one is installed.

use crate::browser;
use crate::common::{outcome, repository, small};
use std::path::Path;

/// Script that plays, steps and scrubs, by mouse and keyboard; errors are written to the title.
const READER: &str = r#"<script>
(async () => {
  const found = [];
  const byId = (id) => document.getElementById(id);
  const counter = () => Number(document.querySelector(".controls output").textContent.split(" ")[1]);
  const expect = (what, is, wanted) => { if (is !== wanted) found.push(`${what}: ${is}, not ${wanted}`); };
  const wait = (ms) => new Promise((done) => setTimeout(done, ms));
  const key = (name, target = document.body) => target.dispatchEvent(new KeyboardEvent("keydown", { key: name, bubbles: true, cancelable: true }));
  addEventListener("error", (event) => found.push(event.message));
  const { film } = JSON.parse(byId("data").textContent);
  const last = film.frames.length - 1;
  expect("at first", counter(), 0);
  expect("said", byId("happens").textContent, film.frames[0].text);
  byId("next").click();
  expect("a step on", counter(), 1);
  expect("said then", byId("happens").textContent, film.frames[1].text);
  const picture = () => [...document.querySelectorAll("svg[id=picture] g, svg[id=picture] text")].map((one) => `${one.getAttribute("class")} ${one.textContent}`).join();
  const one = picture();
  key("ArrowRight"); key("ArrowRight");
  expect("by key", counter(), Math.min(3, last));
  key("ArrowLeft", byId("scrub")); key("ArrowLeft");
  expect("back by key", counter(), 1);
  expect("the picture, from the other side", picture() === one, true);
  key("End");
  expect("the end", counter(), last);
  const end = picture();
  key("Home");
  expect("the beginning", counter(), 0);
  const middle = Math.floor(last / 2);
  byId("scrub").value = String(middle);
  byId("scrub").dispatchEvent(new Event("input", { bubbles: true }));
  expect("scrubbed", counter(), middle);
  byId("first").click();
  byId("speed").value = "30";
  byId("play").click();
  await wait(400);
  key(" ");
  const paused = counter();
  if (!(paused > 1 && paused <= last)) found.push(`it plays to ${paused}`);
  await wait(200);
  expect("paused", counter(), paused);
  byId("last").click();
  expect("the picture at the end", picture() === end, true);
  document.querySelectorAll("details").forEach((details) => { details.open = true; });
  await wait(100);
  expect("steps that are listed", document.querySelectorAll(".steps li").length, film.frames.length);
  document.querySelectorAll(".steps button")[1].click();
  expect("chosen from the list", counter(), 1);
  if (!document.querySelectorAll("details table td").length) found.push("no picture in words");
  byId("theme").click();
  if (document.querySelectorAll("[onclick]").length) found.push("a text became an element");
  const unnamed = [...document.querySelectorAll("button, input, select")].filter((one) => !(one.getAttribute("aria-label") || one.textContent.trim()));
  if (unnamed.length) found.push(`${unnamed.length} controls without a name`);
  document.title = `played: ${found.join("; ") || "all is well"}`;
})();
</script>"#;

/// Opens the page in a browser and runs the script.
fn open(page: &Path) {
    let text = std::fs::read_to_string(page).unwrap();
    assert!(text.len() < 2_000_000, "{}: {} bytes", page.display(), text.len());
    for fetched in ["<script src", "<link ", "@import", "url(", "<b onclick", "<img"] {
        assert!(!text.contains(fetched), "{}: {fetched}", page.display());
    }
    assert!(text.contains("default-src 'none'"));
    std::fs::write(page, text.replace("</body>", &format!("{READER}</body>"))).unwrap();
    let url = format!("file://{}", page.display());
    if let Some(title) = browser::title(&url, &["--virtual-time-budget=20000"]) {
        assert_eq!(title, "played: all is well", "{url}");
    }
}

#[test]
fn browser_plays_films_of_scenarios() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("film.html");
    let output = page.to_str().unwrap();
    outcome(&["play", "--output", output], 0);
    open(&page);
    let hostile = "--set=name='</script><b onclick=x>{{DATA}}</b>'";
    outcome(
        &["play", "scenarios/play.toml", hostile, "--steps", "60", "--from", "30", "--output", output],
        0,
    );
    open(&page);
}

#[test]
fn browser_plays_lessons() {
    let folder = tempfile::tempdir().unwrap();
    let (list, _) = outcome(&["play", "--list"], 0);
    for lesson in wearwell_play::LESSONS {
        assert!(list.contains(lesson.name), "{list}");
        let page = folder.path().join(format!("{}.html", lesson.name));
        outcome(&["play", "--lesson", lesson.name, "--output", page.to_str().unwrap()], 0);
        open(&page);
    }
}

#[test]
fn gifs_and_pictures_have_a_picture_for_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let path_of = |name: &str| folder.path().join(name).display().to_string();
    let output = assert_cmd::Command::cargo_bin("wearwell")
        .unwrap()
        .current_dir(repository())
        .args(["play", "--steps", "5", "--output", &path_of("film.gif")])
        .output()
        .unwrap();
    if String::from_utf8_lossy(&output.stderr).contains("there is no font") {
        println!("NOT RUN: pictures, as there is no font");
        return;
    }
    assert!(output.status.success());
    let gif = std::fs::read(path_of("film.gif")).unwrap();
    assert!(gif.starts_with(b"GIF89a"));
    outcome(&["play", "--steps", "5", "--output", &path_of("pictures/")], 0);
    let mut names: Vec<String> = std::fs::read_dir(path_of("pictures"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected: Vec<String> = (0..6).map(|step| format!("step-{step:04}.png")).collect();
    assert_eq!(names, expected);
    assert!(std::fs::read(path_of("pictures/step-0003.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn unplayable_input_is_refused_with_reason() {
    let (folder, scenario) = small();
    let page = folder.path().join("film.html").display().to_string();
    for (arguments, words) in [
        (&["play", "scenarios/explore.toml", "--output", &page][..], "a film has room for"),
        (&["play", "scenarios/latency.toml", "--output", &page], "a clock"),
        (&["play", "scenarios/rocksdb_on_f2fs.toml", "--output", &page], "only logs are looked at"),
        (&["play", &scenario, "--output", "film.txt"], "ends in .html or .gif"),
        (&["play", &scenario, "--output", &scenario], "ends in .html or .gif"),
        (&["play", "--lesson", "cagc-figure-8", "--seed", "3", "--output", &page], "a scenario of its own"),
        (&["play", "--lesson", "cagc-figure-9", "--output", &page], "cagc-figure-8"),
        (&["play", "--steps", "2000", "--output", "film.gif"], "--steps"),
        (&["play"], "--output"),
    ] {
        let (_, stderr) = outcome(arguments, 2);
        assert!(stderr.contains(words), "{arguments:?}: {stderr}");
    }
    assert!(!folder.path().join("film.html").exists());
}
