//! The tutorials for developers, `docs/adding-*.md`, followed literally.
//!
//! The sentence before a block names the file that the block belongs to, in backquotes and with a colon at the end of
//! the line, as in "Write `crates/engine/src/victim/new.rs`:".
//!
//! - A block of `diff` changes the file; `@@` separates hunks. The unchanged and removed lines of a hunk occur once in
//!   the file.
//! - A block after the word *Append* is added at the end of the file.
//! - Any other block is a new file.
//! - Blocks without a file are explanations and are not applied.
//!
//! Blocks of `sh` are commands. Those with the mark [`FOLLOWED`] are run by `make tutorials`, in a copy of the
//! repository with the files of all tutorials, so that one build serves all. `make test` only checks that all blocks
//! apply and that all names exist.

use crate::common::root;
use crate::tidy::{assert_no_complaints, files, sources};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Mark of the blocks of commands that are run here, which the test of all documents leaves out.
const FOLLOWED: &str = "<!-- not run: by `make tutorials`, in a copy of the repository -->";

/// Folder of the copy and of its build, from the root of the repository.
const FOLDER: &str = "target/tutorials";

/// Settings of the build of the copy: the commands run only briefly, so no crate of the project is optimised.
const UNOPTIMISED: &str = "[profile.dev.package]\n\
    wearwell-base = { opt-level = 0 }\nwearwell-trace = { opt-level = 0 }\nwearwell-theory = { opt-level = 0 }\n\
    wearwell-workload = { opt-level = 0 }\nwearwell-engine = { opt-level = 0 }\nwearwell-study = { opt-level = 0 }\n";

/// Change of a file by a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Write,
    Append,
    Diff,
}

/// Block of a tutorial.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Block {
    /// Line number of the opening fence, from 1.
    line: usize,
    language: String,
    text: String,
    /// HTML comment in the line before the block, such as [`FOLLOWED`]; empty if there is none.
    mark: String,
    /// Changed file.
    file: Option<(Change, String)>,
}

/// Returns the file that a paragraph names at its end.
fn named_file(paragraph: &str, language: &str) -> Option<(Change, String)> {
    let (before, path) = paragraph.strip_suffix("`:")?.rsplit_once('`')?;
    let change = match language {
        "diff" => Change::Diff,
        _ if before.contains("Append") => Change::Append,
        _ => Change::Write,
    };
    Some((change, path.to_owned()))
}

/// Returns the blocks of a tutorial.
fn blocks(page: &str) -> Vec<Block> {
    let (mut found, mut open, mut paragraph, mut mark) =
        (Vec::new(), None::<Block>, String::new(), String::new());
    for (at, line) in page.lines().enumerate() {
        if let Some(mut block) = open.take() {
            if line == "```" {
                found.push(block);
                paragraph.clear();
            } else {
                block.text += &format!("{line}\n");
                open = Some(block);
            }
        } else if let Some(language) = line.strip_prefix("```") {
            let file = named_file(paragraph.trim_end(), language);
            let (language, mark) = (language.to_owned(), std::mem::take(&mut mark));
            open = Some(Block { line: at + 1, language, text: String::new(), mark, file });
        } else if line.starts_with("<!--") {
            mark = line.to_owned();
        } else if !line.is_empty() {
            paragraph = if paragraph.ends_with("\n\n") { String::new() } else { paragraph };
            paragraph += &format!("{line}\n");
        } else {
            paragraph += "\n";
        }
    }
    found
}

/// Returns the unchanged and removed lines of a hunk in a diff, and the lines that replace them.
fn sides(place: &str) -> [String; 2] {
    ['+', '-'].map(|other| {
        let lines = place.lines().filter(|line| !line.starts_with(other));
        lines.map(|line| format!("{}\n", line.get(1..).unwrap_or_default())).collect()
    })
}

/// Replaces whole lines that occur once.
fn replaced(text: &str, old: &str, new: &str) -> Result<String, String> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let old_lines: Vec<&str> = old.split_inclusive('\n').collect();
    let starts: Vec<usize> = (0..lines.len()).filter(|&at| lines[at..].starts_with(&old_lines)).collect();
    match starts[..] {
        [start] => Ok([&lines[..start].concat(), new, &lines[start + old_lines.len()..].concat()].concat()),
        _ => Err(format!("these lines occur {} times, not once:\n{old}", starts.len())),
    }
}

/// Returns the file after the change.
fn changed(text: Option<&str>, change: Change, block: &str) -> Result<String, String> {
    match (change, text) {
        (Change::Write, None) => Ok(block.to_owned()),
        (Change::Write, Some(_)) => Err("the file exists already".into()),
        (_, None) => Err("there is no such file".into()),
        (Change::Append, Some(text)) => Ok(format!("{text}\n{block}")),
        (Change::Diff, Some(text)) => block.split("@@\n").try_fold(text.to_owned(), |text, place| {
            let [old, new] = sides(place);
            replaced(&text, &old, &new)
        }),
    }
}

/// A tutorial.
struct Page {
    name: String,
    text: String,
    blocks: Vec<Block>,
}

impl Page {
    /// Returns the files that the tutorial creates, with their content.
    fn new_files(&self) -> impl Iterator<Item = (&str, &str)> {
        let written = |block: &'_ Block| matches!(block.file, Some((Change::Write, _)));
        self.blocks
            .iter()
            .filter(move |block| written(block))
            .filter_map(|block| Some((block.file.as_ref()?.1.as_str(), block.text.as_str())))
    }

    /// True if the repository has the files of the tutorial, as the copy of `make tutorials` has.
    fn is_followed(&self) -> bool {
        self.new_files()
            .all(|(path, text)| fs::read_to_string(root().join(path)).is_ok_and(|held| held == text))
    }

    /// Applies the blocks of the tutorial to `changes`, the files changed so far; returns the problems.
    fn apply(&self, changes: &mut BTreeMap<String, String>) -> Vec<String> {
        let mut problems = Vec::new();
        for block in &self.blocks {
            let Some((change, path)) = &block.file else { continue };
            let held = changes.get(path).cloned().or_else(|| fs::read_to_string(root().join(path)).ok());
            match changed(held.as_deref(), *change, &block.text) {
                Ok(text) => drop(changes.insert(path.clone(), text)),
                Err(problem) => problems.push(format!("{}:{}: {path}: {problem}", self.name, block.line)),
            }
        }
        problems
    }

    /// Returns the commands with the mark [`FOLLOWED`].
    fn commands(&self) -> impl Iterator<Item = &str> {
        let followed = self.blocks.iter().filter(|block| block.language == "sh" && block.mark == FOLLOWED);
        followed.flat_map(|block| block.text.lines())
    }
}

/// Returns all tutorials.
fn pages() -> Vec<Page> {
    let is_tutorial = |path: &Path| {
        let name = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("adding-"));
        path.starts_with("docs") && name && path.extension().is_some_and(|extension| extension == "md")
    };
    let paths = files().into_iter().filter(|path| is_tutorial(path));
    let page = |path: std::path::PathBuf| {
        let text = fs::read_to_string(root().join(&path)).unwrap();
        Page { name: path.display().to_string(), blocks: blocks(&text), text }
    };
    paths.map(page).collect()
}

/// Applies all tutorials to the files of the repository, in memory; returns the changed files.
fn all_applied() -> BTreeMap<String, String> {
    let mut changes = BTreeMap::new();
    assert_no_complaints(&pages().iter().flat_map(|page| page.apply(&mut changes)).collect::<Vec<_>>());
    changes
}

#[test]
fn blocks_are_found_with_their_files() {
    let page = "Write\n`a.rs`:\n\n```rust\na\n\nb\n```\n\nIn `b.rs`:\n\n```diff\n c\n+d\n```\n\nAppend to `c.rs`:\n\n\
                ```rust\ne\n```\n\nExample of `d.rs`.\n\n<!-- mark -->\n```sh\nf\n```\n";
    let found = blocks(page);
    let files: Vec<_> = found.iter().map(|block| block.file.clone()).collect();
    let file = |change, path: &str| Some((change, path.to_owned()));
    let expected =
        [file(Change::Write, "a.rs"), file(Change::Diff, "b.rs"), file(Change::Append, "c.rs"), None];
    assert_eq!(files, expected);
    assert_eq!((found[0].line, &*found[0].text, &*found[0].mark), (4, "a\n\nb\n", ""));
    assert_eq!((&*found[3].language, &*found[3].mark), ("sh", "<!-- mark -->"));
}

#[test]
fn diff_applies_to_whole_lines_that_occur_once() {
    let of = |text: &str, block: &str| changed(Some(text), Change::Diff, block);
    assert_eq!(of("a\nb\nc\n", " a\n+x\n b\n@@\n-c\n+d\n").unwrap(), "a\nx\nb\nd\n");
    assert!(of("a\na\n", " a\n+x\n").unwrap_err().contains("occur 2 times"));
    assert!(of("ab\n", " b\n+x\n").unwrap_err().contains("occur 0 times"));
    assert_eq!(changed(Some("a\n"), Change::Append, "b\n").unwrap(), "a\n\nb\n");
    assert!(changed(Some(""), Change::Write, "a").is_err() && changed(None, Change::Append, "a").is_err());
}

#[test]
fn tutorials_apply_alone_and_together() {
    let pages = pages();
    assert!(pages.len() >= 5, "of a policy, a placement, a trace format, a layer and a command");
    if pages.iter().all(Page::is_followed) {
        return;
    }
    for page in &pages {
        assert!(page.new_files().count() > 0 && page.commands().count() > 0, "{}", page.name);
        assert_no_complaints(&page.apply(&mut BTreeMap::new()));
    }
    assert!(all_applied().len() > pages.len());
}

/// Returns the pieces of code in the prose of a tutorial.
fn code_in_prose(page: &str) -> Vec<&str> {
    let mut in_block = false;
    let prose = page.lines().filter(|line| {
        let is_fence = line.starts_with("```");
        in_block ^= is_fence;
        !in_block && !is_fence && !line.starts_with("<!--")
    });
    prose.flat_map(|line| line.split('`').skip(1).step_by(2)).collect()
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| !word.is_empty())
}

/// Returns complaints about packages, test targets and filters that a `cargo` command names and that do not exist.
fn missing_in_command(command: &str, known: &BTreeSet<&str>) -> Vec<String> {
    let arguments: Vec<&str> = command.split_whitespace().skip_while(|word| *word != "cargo").collect();
    let value = |option: &str| {
        let at = arguments.iter().position(|word| *word == option)?;
        arguments.get(at + 1).copied()
    };
    let Some(package) = value("-p") else { return Vec::new() };
    let folder = format!("crates/{}", package.strip_prefix("wearwell-").unwrap_or("cli"));
    let exists = |path: &str| root().join(&folder).join(path).exists();
    let mut complaints = Vec::new();
    if !exists("Cargo.toml") {
        complaints.push(format!("no package {package}: {command}"));
    }
    if let Some(target) = value("--test").filter(|target| !exists(&format!("tests/{target}"))) {
        complaints.push(format!("no test target {target}: {command}"));
    }
    let is_filter = arguments.get(1) == Some(&"test");
    let filter =
        arguments.last().filter(|word| is_filter && Some(**word) != value("--test") && **word != "--lib");
    complaints.extend(
        filter
            .filter(|filter| words(filter).any(|word| !known.contains(word)))
            .map(|filter| format!("no test {filter}: {command}")),
    );
    complaints
}

#[test]
fn names_in_tutorials_exist() {
    let mut changes = BTreeMap::new();
    let pages = pages();
    pages.iter().filter(|page| !page.is_followed()).for_each(|page| drop(page.apply(&mut changes)));
    let (sources, documents) = (sources(), ["Makefile", "ARCHITECTURE.md"]);
    let documents = documents.map(|path| fs::read_to_string(root().join(path)).unwrap());
    let texts = sources.iter().map(|(_, text)| text).chain(changes.values()).chain(&documents);
    let paths = files().into_iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join("\n");
    let known: BTreeSet<&str> = texts.flat_map(|text| words(text)).chain(words(&paths)).collect();
    let mut complaints = Vec::new();
    for page in &pages {
        for code in code_in_prose(&page.text) {
            let is_path = code.contains('/') && code.contains('.') && !code.contains(' ');
            if code.contains("cargo ") {
                complaints.extend(missing_in_command(code, &known));
            } else if is_path
                && !code.contains('<')
                && !changes.contains_key(code)
                && !root().join(code).exists()
            {
                complaints.push(format!("{}: no file {code}", page.name));
            } else if let Some(word) = words(code).find(|word| !known.contains(word)) {
                complaints.push(format!("{}: nothing is called {word}: `{code}`", page.name));
            }
        }
        complaints.extend(page.commands().flat_map(|command| missing_in_command(command, &known)));
    }
    assert_no_complaints(&complaints);
}

/// Writes a file of the copy unless it is equal, so that nothing unchanged is compiled again.
fn renew(path: &Path, content: &[u8]) {
    if fs::read(path).is_ok_and(|held| held == content) {
        return;
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Makes `copy` equal to the repository with `changes`.
fn copy_with(copy: &Path, changes: &BTreeMap<String, String>) {
    let mut wanted: BTreeSet<String> = changes.keys().cloned().collect();
    wanted.extend(files().iter().map(|path| path.display().to_string()));
    // Hidden files that the house rules read.
    wanted.extend([".gitignore", "fuzz/.gitignore"].map(str::to_owned));
    for path in &wanted {
        let content = changes.get(path).map(|text| text.as_bytes().to_vec());
        renew(&copy.join(path), &content.unwrap_or_else(|| fs::read(root().join(path)).unwrap()));
    }
    let listed = Command::new("find")
        .args([".", "-type", "f", "-not", "-path", "./target/*"])
        .current_dir(copy)
        .output();
    for path in String::from_utf8(listed.unwrap().stdout).unwrap().lines() {
        let path = path.trim_start_matches("./");
        if !wanted.contains(path) && path != ".cargo/config.toml" {
            fs::remove_file(copy.join(path)).unwrap();
        }
    }
    renew(&copy.join(".cargo/config.toml"), UNOPTIMISED.as_bytes());
}

/// Runs a command line in the copy, without the variables that cargo sets for this test.
fn run(copy: &Path, command: &str) -> Result<(), String> {
    println!("{command}");
    let mut shell = Command::new("bash");
    shell.args(["-o", "pipefail", "-c", command]).current_dir(copy);
    let of_cargo =
        ["CARGO_MANIFEST", "CARGO_PKG_", "CARGO_BIN", "CARGO_CRATE_", "CARGO_PRIMARY_", "CARGO_TARGET_"];
    for (name, _) in std::env::vars() {
        if of_cargo.iter().any(|prefix| name.starts_with(prefix)) {
            shell.env_remove(name);
        }
    }
    let output = shell.env("CARGO_TARGET_DIR", root().join(FOLDER).join("build")).output().expect("a shell");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{command}\n{}\n{}", text(&output.stdout), text(&output.stderr))),
    }
}

#[test]
#[ignore = "compiles for minutes; `make tutorials` runs it"]
fn tutorials_can_be_followed() {
    let copy = root().join(FOLDER).join("copy");
    copy_with(&copy, &all_applied());
    let (pages, mut seen) = (pages(), BTreeSet::new());
    let commands = pages.iter().flat_map(Page::commands).filter(|command| seen.insert(*command));
    // A command may need a file that a command of a later tutorial writes, because all tutorials are applied together.
    let failed: Vec<&str> = commands.filter(|command| run(&copy, command).is_err()).collect();
    let problems: Vec<String> = failed.iter().filter_map(|command| run(&copy, command).err()).collect();
    assert!(seen.len() >= 5);
    assert_no_complaints(&problems);
}
