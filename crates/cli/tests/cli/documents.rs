//! Runs every command in README, docs and the heads of scenarios, in the order of the text, as a reader with a checkout
//! would, and compares the printed output with the output shown.
//!
//! A comment in the line before a block, invisible in the rendered page, marks special blocks:
//!
//! - `<!-- not run: WHY -->`: needs something that a test does not have, or builds the project.
//! - `<!-- slow: WHY -->`: run by `make docs-commands` only; the text must tell readers how long it takes.
//! - `<!-- fuse: WHY -->`: run where file systems can be mounted.
//! - `<!-- part of: COMMAND -->`: the command prints these lines, in this order.

use crate::common::repository;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Environment variable that also enables slow blocks.
const SLOW_VARIABLE: &str = "WEARWELL_SLOW_DOCS";

/// Trace that documents use and that readers must supply, and its substitute in the test.
const OWN_TRACE: (&str, &str) = ("my-trace.csv.gz", "traces/samples/msr.csv");
/// Table that documents use and that readers must supply, and its substitute in the test.
const OWN_TABLE: (&str, &str) = ("my-own.csv", "traces/samples/table.csv");
/// Scenario that documents use and that readers must supply, and its substitute in the test.
const OWN_SCENARIO: (&str, &str) = ("my.toml", "scenarios/log_on_ftl.toml");
/// Trace with named columns that documents use and that readers must supply, and its content in the test.
const OWN_COLUMNS: (&str, &str) =
    ("my-trace.csv", "ts,type,lba,len\n0,W,0,4096\n5,R,8,4096\n9,W,64,16384\n12,W,0,4096\n");

/// Mark of a block, which decides how to run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockMark {
    None,
    NotRun,
    Slow,
    Fuse,
}

/// A block of commands, or of output.
#[derive(Debug)]
struct CodeBlock {
    /// Name of the document and number of the block's first line.
    location: String,
    mark: BlockMark,
    /// Command that prints this output.
    printed_by: Option<String>,
    /// Language of the block, such as `sh`.
    language: String,
    lines: Vec<String>,
}

/// Returns the blocks of a document.
fn blocks(name: &str, text: &str) -> Vec<CodeBlock> {
    let (mut found, mut open, mut before): (Vec<CodeBlock>, Option<CodeBlock>, &str) = (Vec::new(), None, "");
    for (at, line) in text.lines().enumerate() {
        match (&mut open, line.strip_prefix("```")) {
            (Some(_), Some(_)) => found.extend(open.take()),
            (Some(block), None) => block.lines.push(line.to_owned()),
            (None, Some(language)) => {
                let comment = before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                let (mark, argument) = comment.and_then(|text| text.split_once(": ")).unwrap_or_default();
                let location = format!("{name}:{}", at + 1);
                let part_of = (mark == "part of").then(|| argument.to_owned());
                let mark = match mark {
                    "not run" => BlockMark::NotRun,
                    "slow" => BlockMark::Slow,
                    "fuse" => BlockMark::Fuse,
                    _ => BlockMark::None,
                };
                let language = language.trim().to_owned();
                open = Some(CodeBlock { location, mark, printed_by: part_of, language, lines: Vec::new() });
            }
            (None, None) => {}
        }
        before = if line.trim().is_empty() { before } else { line };
    }
    found
}

/// Returns the texts of all documents with their paths from the root.
fn documents() -> Vec<(String, String)> {
    let root = repository();
    let mut paths =
        vec![PathBuf::from("README.md"), "experiments/README.md".into(), "traces/README.md".into()];
    for folder in ["docs", "docs/design", "docs/how-to"] {
        let entries = std::fs::read_dir(root.join(folder)).expect("documents");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        paths.extend(names.into_iter().map(|name| Path::new(folder).join(name)));
    }
    let documents = paths.into_iter().filter(|path| path.extension().is_some_and(|end| end == "md"));
    documents
        .map(|path| (path.display().to_string(), std::fs::read_to_string(root.join(&path)).expect("text")))
        .collect()
}

#[test]
fn all_document_folders_are_checked() {
    let has_documents = |folder: &Path| {
        let entries = std::fs::read_dir(folder).expect("documents");
        entries
            .map(|entry| entry.expect("an entry").path())
            .any(|path| path.extension().is_some_and(|end| end == "md"))
    };
    let entries = std::fs::read_dir(repository().join("docs")).expect("documents");
    let folders = entries
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_dir() && has_documents(path));
    let mut names: Vec<_> = folders.map(|path| path.file_name().expect("a name").to_owned()).collect();
    names.sort();
    assert_eq!(names, ["design", "how-to"], "documents() in this file has to name them");
}

/// Returns the head of each scenario as a block: its commands follow `#` and spaces.
fn scenario_heads() -> Vec<CodeBlock> {
    let entries = std::fs::read_dir(repository().join("scenarios")).expect("scenarios");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    let head = |path: &PathBuf| {
        let text = std::fs::read_to_string(path).expect("text");
        let lines = text.lines().filter_map(|line| line.strip_prefix("#  ")).map(str::trim_start);
        let lines = lines.filter(|line| line.starts_with("wearwell ")).map(str::to_owned).collect();
        let location = format!("scenarios/{}", path.file_name().expect("a name").to_string_lossy());
        CodeBlock { location, mark: BlockMark::None, printed_by: None, language: "sh".to_owned(), lines }
    };
    paths.iter().map(head).collect()
}

/// Returns the commands of a block, with continued lines joined.
fn commands(block: &CodeBlock) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut is_continued = false;
    for line in block.lines.iter().filter(|line| !line.trim().is_empty()) {
        match found.last_mut() {
            Some(last) if is_continued => {
                *last = format!("{}{}", last.trim_end_matches('\\'), line.trim_start())
            }
            _ => found.push(line.clone()),
        }
        is_continued = line.ends_with('\\');
    }
    found
}

/// A copy of the checkout for one reader, with private temporary directories.
struct Checkout {
    folder: tempfile::TempDir,
    /// Replaces /dev/shm and /tmp.
    memory: tempfile::TempDir,
    home: tempfile::TempDir,
}

impl Checkout {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["scenarios", "traces", "docs"] {
            std::os::unix::fs::symlink(repository().join(name), folder.path().join(name)).expect("a link");
        }
        let write = |name: &str, content: &[u8]| {
            std::fs::write(folder.path().join(name), content).expect("a file of the reader's own");
        };
        let shipped = |path: &str| std::fs::read(repository().join(path)).expect("a sample");
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&shipped(OWN_TRACE.1)).expect("memory");
        write(OWN_TRACE.0, &gzip.finish().expect("memory"));
        write(OWN_TABLE.0, &shipped(OWN_TABLE.1));
        write(OWN_COLUMNS.0, OWN_COLUMNS.1.as_bytes());
        write(OWN_SCENARIO.0, &shipped(OWN_SCENARIO.1));
        let memory = if Path::new("/dev/shm").is_dir() {
            tempfile::tempdir_in("/dev/shm")
        } else {
            tempfile::tempdir()
        };
        let memory = memory.expect("a folder");
        std::fs::create_dir(memory.path().join("mnt")).expect("a folder");
        Checkout { folder, memory, home: tempfile::tempdir().expect("a folder") }
    }

    /// Runs a shell command line.
    fn run(&self, command: &str) -> Output {
        let memory = self.memory.path().display().to_string();
        let command =
            command.replace("/dev/shm/", &format!("{memory}/")).replace("/tmp/", &format!("{memory}/"));
        let command = command.replace(" /mnt", &format!(" {memory}/mnt"));
        let mut shell = Command::new("bash");
        let program = assert_cmd::cargo::cargo_bin("wearwell");
        let mut path = program.parent().expect("a folder").as_os_str().to_owned();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap_or_default());
        shell.args(["-o", "pipefail", "-c", &command]).current_dir(self.folder.path());
        shell.env("PATH", path).env("HOME", self.home.path()).env_remove("COLUMNS").stdin(Stdio::null());
        if command.contains("nvmfs mount") && !command.contains("--background") {
            return self.run_in_foreground(shell);
        }
        // A process in the background would keep standard error open.
        let is_background = command.contains("--background");
        if is_background {
            shell.stderr(Stdio::null());
            let status = shell.stdout(Stdio::null()).status().expect("a shell");
            return Output { status, stdout: Vec::new(), stderr: Vec::new() };
        }
        shell.output().expect("a shell")
    }

    /// Runs a mount in the foreground, waits until it is mounted, and sends Ctrl-C.
    fn run_in_foreground(&self, mut shell: Command) -> Output {
        let mounted = || {
            let mounts = std::fs::read_to_string("/proc/mounts").unwrap_or_default();
            mounts.contains(&self.memory.path().display().to_string())
        };
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell");
        let begin = Instant::now();
        while !mounted() && begin.elapsed() < Duration::from_secs(120) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it is there");
        let _ = child.stdin.take();
        child.wait_with_output().expect("it ends")
    }
}

/// True if file systems can be mounted.
fn can_mount() -> bool {
    std::fs::OpenOptions::new().read(true).write(true).open("/dev/fuse").is_ok()
}

/// True if the programs after a pipe are installed.
fn has_programs(command: &str) -> bool {
    let command = command.split(" #").next().unwrap_or_default();
    let path = std::env::var("PATH").unwrap_or_default();
    let programs = command.split(" | ").skip(1).filter_map(|part| part.split_whitespace().next());
    programs.into_iter().all(|program| path.split(':').any(|folder| Path::new(folder).join(program).exists()))
}

/// Skipped blocks, failures, and times of commands.
#[derive(Default)]
struct RunSummary {
    run: usize,
    skipped: Vec<String>,
    slowest: Vec<(Duration, String)>,
    complaints: Vec<String>,
}

impl RunSummary {
    fn print_and_check(mut self) {
        self.slowest.sort_by_key(|(time, _)| Reverse(*time));
        println!("{} commands were run; those that took longest:", self.run);
        self.slowest
            .iter()
            .take(12)
            .for_each(|(time, command)| println!("  {:.1} s  {command}", time.as_secs_f64()));
        self.skipped.iter().for_each(|skipped| println!("NOT RUN: {skipped}"));
        assert!(self.complaints.is_empty(), "\n{}\n", self.complaints.join("\n"));
    }

    /// Runs the blocks of all documents in parallel, each document in its own copy of the checkout.
    fn run_documents(documents: Vec<Vec<CodeBlock>>) -> RunSummary {
        let queue = Mutex::new(documents.into_iter());
        let run_queued = || {
            let mut summary = RunSummary::default();
            let next = || queue.lock().expect("nobody panics with it").next();
            while let Some(document) = next() {
                summary.run_document(&document);
            }
            summary
        };
        std::thread::scope(|scope| {
            let readers = std::thread::available_parallelism().map_or(1, usize::from);
            let readers: Vec<_> = (0..readers).map(|_| scope.spawn(run_queued)).collect();
            let mut all = RunSummary::default();
            for summary in readers.into_iter().map(|reader| reader.join().expect("a reader")) {
                all.run += summary.run;
                all.skipped.extend(summary.skipped);
                all.slowest.extend(summary.slowest);
                all.complaints.extend(summary.complaints);
            }
            all
        })
    }

    /// Runs the blocks of a document in one copy of the checkout.
    fn run_document(&mut self, blocks: &[CodeBlock]) {
        let checkout = Checkout::new();
        let mut printed: BTreeMap<String, String> = BTreeMap::new();
        for block in blocks {
            if matches!(block.language.as_str(), "sh" | "console" | "bash") {
                self.run_block(&checkout, block, &mut printed);
            } else if let Some(command) = &block.printed_by {
                let output = printed
                    .get(command)
                    .cloned()
                    .unwrap_or_else(|| self.run(&checkout, &block.location, command).unwrap_or_default());
                self.compare(block, &output, &block.lines);
            } else if let Some(command) = block.lines.first().and_then(|line| line.strip_prefix("$ ")) {
                let output = self.run(&checkout, &block.location, command).unwrap_or_default();
                self.compare(block, &output, &block.lines[1..]);
            }
        }
    }

    fn run_block(&mut self, checkout: &Checkout, block: &CodeBlock, printed: &mut BTreeMap<String, String>) {
        let slow = std::env::var_os(SLOW_VARIABLE).is_some();
        let is_run = match block.mark {
            BlockMark::None => true,
            BlockMark::NotRun => false,
            BlockMark::Slow => slow,
            BlockMark::Fuse => can_mount(),
        };
        for command in commands(block) {
            if block.mark == BlockMark::Slow && !command.contains("minute") {
                self.complaints.push(format!(
                    "{}: readers are not told that this takes minutes: {command}",
                    block.location
                ));
            }
            if !is_run || !has_programs(&command) {
                self.skipped.push(format!("{} ({:?}): {command}", block.location, block.mark));
            } else if let Some(out) = self.run(checkout, &block.location, &command) {
                let without_comment = command.split(" #").next().unwrap_or_default().trim().to_owned();
                printed.insert(without_comment, out);
            }
        }
    }

    /// Runs a command and returns its output; a failure is recorded.
    fn run(&mut self, checkout: &Checkout, location: &str, command: &str) -> Option<String> {
        let begin = Instant::now();
        let output = checkout.run(command);
        self.slowest.push((begin.elapsed(), command.to_owned()));
        self.run += 1;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code();
        // A mount in the foreground was ended on purpose.
        if code == Some(0) || (code == Some(130) && command.contains("mount")) {
            return Some(text(&output.stdout));
        }
        self.complaints.push(format!("{location}: {command}\n{:?}\n{}", output.status, text(&output.stderr)));
        None
    }

    /// Checks that the printed lines contain these lines in this order.
    fn compare(&mut self, block: &CodeBlock, printed: &str, lines: &[String]) {
        let mut printed_lines = printed.lines().map(str::trim_end);
        for line in lines.iter().map(|line| line.trim_end()) {
            if !printed_lines.any(|other| other == line) {
                self.complaints.push(format!(
                    "{}: it is not, or not here, printed:\n{line}\nin\n{printed}",
                    block.location
                ));
                return;
            }
        }
    }
}

#[test]
fn every_command_of_the_documents_runs() {
    let all = documents().into_iter().map(|(name, text)| blocks(&name, &text));
    let summary = RunSummary::run_documents(all.collect());
    assert!(summary.run >= 40, "only {} commands were found", summary.run);
    summary.print_and_check();
}

#[test]
fn every_command_in_the_heads_of_scenarios_runs() {
    // Heads that repeat a command of a document are tested with the document.
    let all = documents();
    let in_documents: BTreeSet<String> =
        all.iter().flat_map(|(name, text)| blocks(name, text)).flat_map(|block| commands(&block)).collect();
    let blocks_of_head = |mut block: CodeBlock| {
        block.lines.retain(|line| !in_documents.contains(line));
        // A command whose comment mentions minutes is slow.
        let (slow, quick) = block.lines.iter().cloned().partition(|line| line.contains("minute"));
        let of = |mark, lines| CodeBlock {
            location: block.location.clone(),
            mark,
            printed_by: None,
            language: "sh".into(),
            lines,
        };
        vec![of(BlockMark::None, quick), of(BlockMark::Slow, slow)]
    };
    let summary = RunSummary::run_documents(scenario_heads().into_iter().map(blocks_of_head).collect());
    assert!(summary.run >= 20, "only {} commands were found", summary.run);
    summary.print_and_check();
}

#[test]
fn makefile_has_documented_targets() {
    let makefile = std::fs::read_to_string(repository().join("Makefile")).expect("a Makefile");
    let mut targets_found = 0;
    for (name, text) in documents() {
        for command in blocks(&name, &text).iter().flat_map(commands) {
            let Some(rest) = command.strip_prefix("make ") else { continue };
            let targets = rest.split_whitespace().take_while(|word| !word.contains('=') && *word != "#");
            for target in targets {
                assert!(makefile.contains(&format!("\n{target}:")), "{name}: make {target}");
                targets_found += 1;
            }
        }
    }
    assert!(targets_found >= 2);
}
