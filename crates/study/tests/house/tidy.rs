//! House rules that can be checked automatically.

use crate::common::{assert_file_equals, root};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use wearwell_engine::placement::{PLACEMENT_ALIASES, PLACEMENTS};
use wearwell_engine::victim::{VICTIM_ALIASES, VICTIMS};
use wearwell_workload::WORKLOADS;

/// Crates in dependency order: each may depend on crates in rows above its own.
///
/// `theory` is in a low row because it must not depend on the simulator with which it is compared.
const ORDER_OF_CRATES: &[&[&str]] = &[
    &["base", "fuse"],
    &["trace", "theory", "workload", "engine"],
    &["stack"],
    &["study", "report", "nvmfs"],
    &["plot", "mount", "web", "store", "serve"],
    &["explore", "watch"],
    &["play"],
    &["experiments"],
    &["cli", "python"],
];

/// Modules of the lowest crate: each may import modules in rows above its own.
const ORDER_OF_BASE: &[&[&str]] = &[
    &["units", "table", "memory", "seed", "content", "request"],
    &["config", "temperature"],
    &["foresight"],
];

/// Modules of the engine: each may import modules in rows above its own. The first row lists modules of the lowest
/// crate that the engine re-exports.
const ORDER: &[&[&str]] = &[
    &["config", "foresight", "request", "seed", "table", "temperature", "units"],
    &["counters", "named_config_tests", "queues"],
    &["layer"],
    &["nand", "victim", "placement", "wear", "validity", "mapping"],
    &["timing", "pool", "checked", "flash_format"],
    &["log"],
    &["ftl"],
    &["dedup"],
    &["instances"],
];

/// Modules of the stack: each may import modules in rows above its own.
const ORDER_OF_STACK: &[&[&str]] = &[
    &["size"],
    &["device"],
    &["layers"],
    &["scenario"],
    &["build", "stored_flash"],
    &["run"],
    &["report"],
    &["simulation", "observed", "live_stack"],
];

/// Modules of the file system: each may import modules in rows above its own.
const ORDER_OF_NVMFS: &[&[&str]] = &[
    &["api", "backing", "placement"],
    &["layout", "nvram", "ssd", "workload"],
    &["options", "stats"],
    &["store"],
    &["names"],
    &["fs"],
    &["top"],
];

/// Source folders whose modules are ordered.
const ORDERED: &[(&str, &[&[&str]])] = &[
    ("crates/base/src/", ORDER_OF_BASE),
    ("crates/engine/src/", ORDER),
    ("crates/stack/src/", ORDER_OF_STACK),
    ("crates/nvmfs/src/", ORDER_OF_NVMFS),
];

/// Maximum number of lines of a file.
const FILE_LINES: usize = 500;
/// Maximum number of lines of a function.
const FUNCTION_LINES: usize = 70;

/// Files that may have more than `FILE_LINES` lines. Keep this list empty.
const LONG_FILES: &[&str] = &[];

/// Returns the files and folders at fixed places that are not part of the repository, relative to its root.
pub(crate) fn ignored() -> Vec<String> {
    let read = |path| fs::read_to_string(root().join(path)).unwrap();
    let (here, fuzz) = (read(".gitignore"), read("fuzz/.gitignore"));
    let here = here.lines().filter_map(|line| line.strip_prefix('/')).map(str::to_owned);
    here.chain(fuzz.lines().map(|line| format!("fuzz/{line}"))).collect()
}

/// Returns the paths of all files of the repository, relative to its root.
pub(crate) fn files() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap()).collect();
        entries.sort_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_folder = entry.file_type().unwrap().is_dir();
            // Build output of Python among the sources does not count either.
            let is_built = name == "__pycache__" || name.ends_with(".egg-info") || name.ends_with(".so");
            let is_ours = !name.starts_with('.') && !is_built;
            if is_folder && is_ours && name != "target" {
                walk(&entry.path(), found);
            } else if !is_folder && is_ours {
                found.push(entry.path());
            }
        }
    }
    let mut found = Vec::new();
    walk(&root(), &mut found);
    let relative = found.iter().map(|path| path.strip_prefix(root()).unwrap().to_owned());
    let ignored = ignored();
    relative.filter(|path| !ignored.iter().any(|place| path.starts_with(place))).collect()
}

/// Returns the path and the text of all sources.
pub(crate) fn sources() -> Vec<(String, String)> {
    let rust = files().into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    rust.map(|path| (path.display().to_string(), fs::read_to_string(root().join(&path)).unwrap())).collect()
}

/// Fails with a list of all complaints.
pub(crate) fn assert_no_complaints(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn row_of(order: &[&[&str]], module: &str) -> Option<usize> {
    order.iter().position(|row| row.contains(&module))
}

/// Returns the modules of the crate that a line of code names.
///
/// Besides `crate::x`, a `super::x` at the top of a file names a module if it reaches the root.
fn imports(line: &str, depth: usize) -> Vec<&str> {
    let code = line.split("//").next().unwrap_or_default();
    let mut after_crate: Vec<&str> = code.split("crate::").skip(1).collect();
    let climb = "super::".repeat(depth);
    if let Some(rest) = code.strip_prefix("use ").and_then(|path| path.strip_prefix(climb.as_str())) {
        after_crate.push(rest);
    }
    after_crate
        .into_iter()
        .map(|rest| {
            let end = rest.find(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
            &rest[..end.unwrap_or(rest.len())]
        })
        .filter(|module| *module != "super")
        .collect()
}

#[test]
fn imports_are_found() {
    assert_eq!(imports("use crate::units::Lpn;", 2), ["units"]);
    assert_eq!(imports("    crate::seed::Seed(crate::config::x)", 2), ["seed", "config"]);
    assert_eq!(imports("/// See [`crate::log`].", 2), [""; 0]);
    assert_eq!(imports("use super::super::log::Store;", 2), ["log"]);
    assert_eq!(imports("use super::log::Store;", 2), [""; 0]);
    assert_eq!(imports("use crate::{log, nand};", 1), [""]);
}

#[test]
fn dependencies_run_one_way() {
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        let ordered = ORDERED.iter().find_map(|(folder, order)| Some((path.strip_prefix(folder)?, *order)));
        let Some((inner, order)) = ordered.filter(|(inner, _)| *inner != "lib.rs") else {
            continue;
        };
        // Tests of a module may build their fixtures with the modules above it.
        if inner.ends_with("/tests.rs") {
            continue;
        }
        let parts: Vec<&str> = inner.trim_end_matches(".rs").trim_end_matches("/mod").split('/').collect();
        let Some(own_row) = row_of(order, parts[0]) else {
            complaints
                .push(format!("{path}: the module {} has no row in ORDER of tests/house/tidy.rs", parts[0]));
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            for module in imports(line, parts.len()) {
                let allowed = module == parts[0] || row_of(order, module).is_some_and(|row| row < own_row);
                if !allowed {
                    let location = format!("{path}:{}", number + 1);
                    complaints
                        .push(format!("{location}: {} may not import \"{module}\", see ORDER", parts[0]));
                }
            }
        }
    }
    assert_no_complaints(&complaints);
}

/// Returns the project's crates that a manifest depends on, without dev-dependencies.
fn dependencies(manifest: &str) -> Vec<String> {
    let manifest: toml::Table = manifest.parse().unwrap();
    let names =
        manifest.get("dependencies").and_then(toml::Value::as_table).into_iter().flat_map(toml::Table::keys);
    names.filter_map(|name| name.strip_prefix("wearwell-")).map(str::to_owned).collect()
}

#[test]
fn crates_depend_one_way() {
    let mut complaints = Vec::new();
    for path in files().into_iter().filter(|path| path.ends_with("Cargo.toml") && !path.starts_with("fuzz")) {
        let Some(name) = path.parent().and_then(Path::file_name) else { continue };
        let name = name.to_string_lossy();
        let text = fs::read_to_string(root().join(&path)).unwrap();
        let Some(own_row) = row_of(ORDER_OF_CRATES, &name) else {
            complaints.push(format!(
                "{}: the crate has no row in ORDER_OF_CRATES of tests/house/tidy.rs",
                path.display()
            ));
            continue;
        };
        for below in dependencies(&text) {
            if row_of(ORDER_OF_CRATES, &below).is_none_or(|row| row >= own_row) {
                complaints
                    .push(format!("{}: may not depend on {below}, see ORDER_OF_CRATES", path.display()));
            }
        }
    }
    assert_no_complaints(&complaints);
}

/// Returns the names of all `ENTRY` constants in a folder of the engine.
fn entries_in(folder: &str) -> Vec<(String, String)> {
    let of_folder = sources().into_iter().filter(|(path, _)| path.starts_with(folder));
    let mut found = Vec::new();
    for (path, text) in of_folder {
        let blocks = text.split("const ENTRY: Entry = Entry {").skip(1);
        for block in blocks {
            let name = block.split("name: \"").nth(1).and_then(|rest| rest.split('"').next());
            found.push((path.clone(), name.expect("an entry has a name").to_owned()));
        }
    }
    found
}

#[test]
fn every_policy_is_in_table_docs_and_golden_file() {
    let docs = fs::read_to_string(root().join("docs/policies.md")).unwrap_or_default();
    let golden =
        fs::read_to_string(root().join("crates/stack/tests/golden/policies.toml")).unwrap_or_default();
    let golden: toml::Table = golden.parse().unwrap();
    let mut complaints = Vec::new();
    for (part, listed) in [("victim", VICTIMS), ("placement", PLACEMENTS)] {
        let entries = entries_in(&format!("crates/engine/src/{part}/"));
        assert!(entries.len() >= listed.len(), "{part}: {entries:?}");
        for (path, name) in entries {
            let places = [
                ("the table", listed.iter().any(|entry| entry.name == name)),
                ("docs/policies.md", docs.contains(&format!("| `{name}` |"))),
                ("the golden file", golden[part]["hot_cold"].get(&name).is_some()),
            ];
            let missing = places.iter().filter(|(_, found)| !found);
            complaints.extend(missing.map(|(place, _)| format!("{path}: {name} is not in {place}")));
        }
    }
    for entry in WORKLOADS.iter().filter(|entry| golden["workload"].get(entry.name).is_none()) {
        complaints.push(format!("the workload {} is not in the golden file", entry.name));
    }
    assert_no_complaints(&complaints);
}

/// Formats a table of the documentation.
fn listing(title: &str, key: &str, lines: &[(&str, &str, &str)], aliases: &[(&str, &str)]) -> String {
    let mut text = format!("\n## {title}\n\n| `{key}` | | source |\n|---|---|---|\n");
    for (name, help, source) in lines {
        let second = aliases.iter().find(|(_, canonical)| canonical == name);
        let second = second.map_or_else(String::new, |(alias, _)| format!(" (also `{alias}`)"));
        let _ = writeln!(text, "| `{name}` | {help}{second} | {source} |");
    }
    text
}

#[test]
fn docs_list_exactly_the_policies() {
    let line = |entry: &wearwell_base::config::Entry| (entry.name, entry.help, entry.source);
    let victims: Vec<_> = VICTIMS.iter().map(line).collect();
    let placements: Vec<_> = PLACEMENTS.iter().map(line).collect();
    let workloads: Vec<_> = WORKLOADS.iter().map(|entry| (entry.name, entry.help, entry.source)).collect();
    let mut text = String::from(
        "# Policies and workloads\n\nWritten by a test from the tables in the code; to renew it, run\n\
         `WEARWELL_BLESS=1 cargo test -p wearwell-study --test house`.\n",
    );
    text += &listing("Victim policies", "victim", &victims, VICTIM_ALIASES);
    text += &listing("Placements", "placement", &placements, PLACEMENT_ALIASES);
    text += &listing("Workloads", "kind", &workloads, &[]);
    assert_file_equals("docs/policies.md", &text);
}

/// Returns the start and length of each function in lines: rustfmt closes it with a brace in the column where it
/// starts.
fn functions(text: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words: Vec<&str> = code.split_whitespace().take_while(|word| *word != "fn").collect();
        let modifiers = ["const", "unsafe", "async", "extern", "pub", "pub(super)", "pub(crate)"];
        let is_function = words.len() < code.split_whitespace().count()
            && words.iter().all(|word| modifiers.contains(word));
        if !is_function || line.ends_with(['}', ';']) {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let closes = |line: &&&str| line.strip_prefix(indent).is_some_and(|rest| rest.starts_with(')'));
        // A declaration in a trait has no body.
        if lines[start + 1..].iter().find(closes).is_some_and(|line| line.ends_with(';'))
            && line.ends_with('(')
        {
            continue;
        }
        let end = format!("{indent}}}");
        let length = lines[start..].iter().position(|line| *line == end);
        found.extend(length.map(|length| (start + 1, length + 1)));
    }
    found
}

#[test]
fn files_and_functions_stay_within_length_limits() {
    assert_eq!(functions("fn a() {\n    1\n}\n    pub(super) fn b(\n    ) {\n    }\n"), [(1, 3), (4, 3)]);
    assert_eq!(functions("    fn a(\n        b: u32,\n    ) -> u32;\n    fn c() {\n    }\n"), [(4, 2)]);
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > FILE_LINES && !LONG_FILES.contains(&path.as_str()) {
            complaints.push(format!("{path}: {lines} lines, more than {FILE_LINES}"));
        }
        for (start, lines) in functions(&text).into_iter().filter(|(_, lines)| *lines > FUNCTION_LINES) {
            complaints
                .push(format!("{path}:{start}: a function of {lines} lines, more than {FUNCTION_LINES}"));
        }
    }
    assert_no_complaints(&complaints);
}

#[test]
fn sources_have_no_todo_marks() {
    // The words are split, so that this file does not match itself.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X"), concat!("db", "g!")];
    let macros = [concat!("to", "do!("), concat!("unimple", "mented!(")];
    let marks: Vec<&str> = marks.into_iter().chain(macros).collect();
    let mut complaints = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            let found = marks.iter().filter(|mark| line.contains(**mark));
            complaints.extend(found.map(|mark| format!("{path}:{}: {mark}", number + 1)));
        }
    }
    assert_no_complaints(&complaints);
}

#[test]
fn files_have_no_local_paths() {
    let local_path = concat!("/wo", "rk/");
    let mut complaints = Vec::new();
    for path in files() {
        let content = fs::read(root().join(&path)).unwrap();
        if content.windows(local_path.len()).any(|window| window == local_path.as_bytes()) {
            complaints.push(format!("{}: names a place on one machine, {local_path}", path.display()));
        }
    }
    assert_no_complaints(&complaints);
}

/// Returns the start lines of examples in the doc comments of a file: code fences without a language.
fn examples(text: &str) -> Vec<usize> {
    let lines = text.lines().map(str::trim_start).enumerate();
    let fences = lines.filter_map(|(at, line)| {
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"))?;
        comment.trim_start().strip_prefix("```").map(|kind| (at + 1, kind))
    });
    let opening = fences.enumerate().filter(|(number, _)| number % 2 == 0).map(|(_, fence)| fence);
    opening.filter(|(_, kind)| kind.is_empty()).map(|(line, _)| line).collect()
}

/// Doc tests compile a crate once more, so they are disabled in crates without examples.
#[test]
fn every_example_is_tested() {
    assert_eq!(examples("//! ```\n//! code\n//! ```\n/// ```text\n/// ```\n    /// ```\n"), [1, 6]);
    let mut complaints = Vec::new();
    let sources = sources();
    for folder in fs::read_dir(root().join("crates")).unwrap() {
        let manifest = fs::read_to_string(folder.as_ref().unwrap().path().join("Cargo.toml")).unwrap();
        let home = format!("crates/{}/src/", folder.unwrap().file_name().display());
        let of_crate = sources.iter().filter(|(path, _)| path.starts_with(&home));
        let found: Vec<String> = of_crate
            .flat_map(|(path, text)| examples(text).into_iter().map(move |line| format!("{path}:{line}")))
            .collect();
        match (found.as_slice(), manifest.contains("doctest = false")) {
            ([], false) if home != "crates/cli/src/" => {
                complaints.push(format!("{home} has no example to test"))
            }
            ([first, ..], true) => complaints.push(format!("{first} is an example and not tested")),
            _ => {}
        }
    }
    assert_no_complaints(&complaints);
}

/// The default build omits the fuzz targets, which include modules of tests that may move.
#[test]
fn included_modules_exist() {
    let mut complaints = Vec::new();
    let mut found = 0;
    for (file, text) in sources() {
        let paths =
            text.lines().filter_map(|line| line.trim().strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        for path in paths {
            found += 1;
            let folder = root().join(&file).parent().unwrap().to_owned();
            if !folder.join(path).exists() {
                complaints.push(format!("{file}: {path} is not there"));
            }
        }
    }
    assert!(found > 3, "{found}");
    assert_no_complaints(&complaints);
}
