//! Scenarios that are truncated or damaged.

use super::{Case, CaseRandom};
use crate::common::repository;

/// Returns scenarios of the repository without comments; comments would make most cuts harmless.
fn shipped_scenarios() -> Vec<(String, String)> {
    let folder = std::fs::read_dir(repository().join("scenarios")).expect("scenarios");
    let mut paths: Vec<_> = folder.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let read = |path: &std::path::PathBuf| {
        let text = std::fs::read_to_string(path).expect("text");
        let lines = text.lines().map(|line| line.split(" #").next().unwrap_or_default().trim_end());
        let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
        (
            path.file_name().expect("a name").to_string_lossy().into_owned(),
            lines.map(|line| format!("{line}\n")).collect(),
        )
    };
    paths.iter().map(read).collect()
}

/// Distance in bytes between truncation points, except for the first few.
const TRUNCATION_STEP: usize = 9;

/// Text that is inserted into the middle of a scenario.
const INSERTED_TEXT: &[&str] = &[
    "=",
    "[",
    "]",
    "[[",
    "\"",
    "'''",
    "{",
    "}",
    "\0",
    "\u{feff}",
    "\u{7f}",
    "#",
    ".",
    "..",
    ",",
    "\r",
    "\t",
    "😀",
    "[device]\n",
    "[[tenant]]\n",
    "seed = 2\n",
    "a.b.c = 1\n",
    "\"\" = 1\n",
    "x = 1e999\n",
    "x = 99999999999999999999\n",
    "x = \"\\ud800\"\n",
];

/// Replacements for values.
const VALUES: &[&str] =
    &["-1", "nan", "[]", "{}", "''", "'x'", "true", "1e300", "18446744073709551615", "", "1 2", "0"];

fn case(what: String, content: impl Into<Vec<u8>>) -> Case {
    Case::new(what, ["scenario", "check", "bad.toml"])
        .file("bad.toml", content)
        .expect_words(["bad.toml", "blkparse", "trace"])
}

/// Adds whole files that are not scenarios.
fn add_foreign_files(cases: &mut Vec<Case>) {
    let text = &shipped_scenarios()[0].1;
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let kinds: Vec<(&str, Vec<u8>)> = vec![
        ("UTF-16", utf_16.clone()),
        ("UTF-16 with its mark", [vec![0xff, 0xfe], utf_16].concat()),
        ("empty", Vec::new()),
        ("blanks", b" \n\t\n".to_vec()),
        ("zeros", vec![0; 5000]),
        ("every byte", (0..=255).collect()),
        ("gzip", [vec![0x1f, 0x8b, 8, 0], vec![7; 100]].concat()),
        ("JSON", b"{\"device\": {}}".to_vec()),
        ("a list", b"[1, 2]".to_vec()),
        ("deep lists", format!("x = {}{}", "[".repeat(100_000), "]".repeat(100_000)).into_bytes()),
        ("deep tables", format!("x = {}", "{a=".repeat(100_000)).into_bytes()),
        ("a deep key", format!("{} = 1", vec!["a"; 50_000].join(".")).into_bytes()),
        ("a long line", format!("name = \"{}\"", "x".repeat(1 << 20)).into_bytes()),
        ("many tables", "[[tenant]]\nshare = 0.1\n".repeat(3000).into_bytes()),
        ("many logs", "[[log]]\nname = \"x\"\n".repeat(300).into_bytes()),
    ];
    for (what, content) in kinds {
        cases.push(case(what.to_owned(), content.clone()));
        for command in ["run", "power", "advise"] {
            let all = [command, "bad.toml"];
            cases.push(
                Case::new(format!("{command}: {what}"), all)
                    .file("bad.toml", content.clone())
                    .expect_words(["bad.toml"])
                    .expect_failure(),
            );
        }
        let as_json = Case::new(format!("as JSON: {what}"), ["scenario", "check", "bad.json"])
            .file("bad.json", content);
        cases.push(as_json.expect_words(["bad.json"]));
    }
}

/// Returns all cases.
pub fn cases() -> Vec<Case> {
    let (mut cases, mut draws) = (Vec::new(), CaseRandom(3));
    for (index, (name, text)) in shipped_scenarios().iter().enumerate() {
        let step = if index < 3 { 1 } else { TRUNCATION_STEP };
        for end in (0..text.len()).step_by(step) {
            cases.push(case(format!("{name} cut at {end}"), &text.as_bytes()[..end]));
        }
        let lines: Vec<&str> = text.lines().collect();
        for at in 0..lines.len() {
            let with_line = |line: &str| [&lines[..at], &[line], &lines[at + 1..]].concat().join("\n");
            cases.push(case(format!("{name} without line {at}"), with_line("")));
            let repeated = format!("{0}\n{0}", lines[at]);
            cases.push(case(format!("{name} with line {at} twice"), with_line(&repeated)));
            if let Some((key, _)) = lines[at].split_once('=') {
                let value = draws.choose(VALUES);
                cases
                    .push(case(format!("{name}, line {at}: {value}"), with_line(&format!("{key}= {value}"))));
            }
        }
        for number in 0..20 {
            let mut bytes = text.clone().into_bytes();
            let at = draws.below(bytes.len());
            let rubbish = *draws.choose(INSERTED_TEXT);
            bytes.splice(at..at, rubbish.bytes());
            cases.push(case(format!("{name}: {rubbish:?} at {at} ({number})"), bytes));
        }
    }
    add_foreign_files(&mut cases);
    cases
}
