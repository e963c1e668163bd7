//! Tests of the environment and of signals, each in a separate process: missing or wrong variables, closed or full
//! streams, read-only folders, and every termination signal at several moments.

use super::CaseRandom;
use crate::common::{SMALL, repository, wait_until_handled};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Least number of cases.
pub const MIN_CASES: usize = 335;

/// The program in a temporary folder with a scenario and a trace.
struct WorkDir(tempfile::TempDir);

impl WorkDir {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("small.toml"), SMALL).expect("a file");
        let trace = repository().join("traces/samples/msr.csv");
        std::fs::copy(trace, folder.path().join("trace.csv")).expect("a file");
        WorkDir(folder)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin("wearwell"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Returns the files in the folder that were not there before.
    fn new_files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        names.filter(|name| name != "small.toml" && name != "trace.csv").collect()
    }
}

/// Commands for unusual environments: fast, of all kinds, with an output file each.
const COMMANDS: &[&[&str]] = &[
    &["run", "small.toml"],
    &["run", "small.toml", "--output", "new.json"],
    &["run", "small.toml", "--format", "csv"],
    &["sweep", "small.toml", "--vary", "seed=1,2", "--output", "new.csv"],
    &["list", "victims"],
    &["theory", "greedy"],
    &["model", "ftl"],
    &["trace", "describe", "trace.csv", "--trace-format", "msr"],
    &["trace", "convert", "trace.csv", "new.csv", "--trace-format", "msr", "--to", "wearwell-csv"],
    &["scenario", "check", "small.toml"],
    &["scenario", "schema"],
    &["completions", "bash"],
    &["--help"],
    &["run", "--help"],
    &["run", "no-such-file.toml"],
    &["run", "small.toml", "--no-such-option"],
];

/// Environment variables with unusual values.
const VARIABLES: &[(&str, &str)] = &[
    ("COLUMNS", "0"),
    ("COLUMNS", "-1"),
    ("COLUMNS", "nonsense"),
    ("COLUMNS", "99999999999"),
    ("COLUMNS", "1"),
    ("LINES", "0"),
    ("NO_COLOR", ""),
    ("CLICOLOR_FORCE", "1"),
    ("RUST_LOG", "trace"),
    ("RUST_BACKTRACE", "full"),
    ("RAYON_NUM_THREADS", "nonsense"),
    ("RAYON_NUM_THREADS", "0"),
    ("LANG", "nonsense"),
    ("LC_ALL", "tr_TR.UTF-8"),
    ("TERM", ""),
    ("TERM", "nonsense"),
    ("TMPDIR", "/no/such/folder"),
    ("HOME", "/no/such/folder"),
];

/// Returns the exit code; other ends are added to `complaints`.
fn exit_code(what: &str, output: &Output, complaints: &mut Vec<String>) -> Option<i32> {
    let err = String::from_utf8_lossy(&output.stderr);
    let code = output.status.code();
    if err.contains("panicked") || code.is_none_or(|code| !(0..=3).contains(&code)) {
        complaints.push(format!("{what}: {:?}\n{err}", output.status));
    }
    code
}

fn assert_no_complaints(count: usize, least: usize, complaints: &[String]) {
    println!("{count} hostile cases");
    assert!(count >= least, "only {count} cases");
    assert!(complaints.is_empty(), "{} of {count} cases:\n{}\n", complaints.len(), complaints.join("\n"));
}

#[test]
fn environment_variables_do_not_change_results() {
    let (mut count, mut complaints) = (0, Vec::new());
    let work_dir = WorkDir::new();
    // Eight commands per variable, in rotation, so that each command runs with some of the variables.
    for (at, (name, value)) in VARIABLES.iter().enumerate() {
        for turn in 0..8 {
            let arguments = COMMANDS[(at * 5 + turn * 3) % COMMANDS.len()];
            let baseline = work_dir.command(arguments).env("NO_COLOR", "1").output().expect("it runs");
            let output = work_dir.command(arguments).env(name, value).output().expect("it runs");
            count += 1;
            let what = format!("{name}={value} {arguments:?}");
            if exit_code(&what, &output, &mut complaints) != baseline.status.code() {
                complaints.push(format!("{what}: {:?} instead of {:?}", output.status, baseline.status));
            }
        }
    }
    for arguments in COMMANDS {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let output = work_dir.command(arguments).env_clear().env("PATH", path).output().expect("it runs");
        count += 1;
        exit_code(&format!("without any variable: {arguments:?}"), &output, &mut complaints);
    }
    assert_no_complaints(count, 150, &complaints);
}

#[test]
fn closed_full_and_unread_streams_end_commands_cleanly() {
    let (mut count, mut complaints) = (0, Vec::new());
    for arguments in COMMANDS {
        // Closed standard input, output or error, a full disk, and a pipe without a reader.
        for streams in [
            ">&-",
            "2>&-",
            ">&- 2>&-",
            "<&-",
            "<&- >&- 2>&-",
            "> /dev/full",
            "2> /dev/full",
            "> /dev/full 2>&1",
            "| true",
        ] {
            let work_dir = WorkDir::new();
            let program = assert_cmd::cargo::cargo_bin("wearwell");
            let script = format!("\"$0\" \"$@\" {streams}; exit ${{PIPESTATUS[0]}}");
            let mut shell = Command::new("bash");
            shell.args(["-c", &script]).arg(program).args(*arguments).current_dir(work_dir.0.path());
            let output = shell.output().expect("a shell");
            count += 1;
            let what = format!("{arguments:?} {streams}");
            let code = exit_code(&what, &output, &mut complaints);
            // `convert` prints its message about the new trace to standard error.
            let prints = arguments.get(1) != Some(&"convert");
            let has_no_message = output.stderr.is_empty() && !streams.contains("2>");
            if prints && streams.starts_with("> /dev/full") && code == Some(0) {
                complaints.push(format!("{what}: it is lost without a word"));
            } else if code != Some(0) && has_no_message {
                complaints.push(format!("{what}: it fails without a word"));
            }
            if work_dir.new_files().iter().any(|name| name.starts_with(".wearwell-")) {
                complaints.push(format!("{what}: it leaves {:?}", work_dir.new_files()));
            }
        }
    }
    assert_no_complaints(count, 120, &complaints);
}

/// True if file permissions apply to this user.
fn permissions_apply(folder: &Path) -> bool {
    std::fs::set_permissions(folder, Permissions::from_mode(0o555)).expect("our own");
    let holds = File::create(folder.join("try")).is_err();
    std::fs::set_permissions(folder, Permissions::from_mode(0o755)).expect("our own");
    let _ = std::fs::remove_file(folder.join("try"));
    holds
}

#[test]
fn unwritable_output_is_reported() {
    let (mut count, mut complaints) = (0, Vec::new());
    let holds = permissions_apply(WorkDir::new().0.path());
    if !holds {
        println!("skipped in part: this user may write anywhere");
    }
    for arguments in COMMANDS.iter().filter(|words| words.iter().any(|word| word.starts_with("new."))) {
        for target in ["no/folder", "read-only", "small.toml", "/proc/new", "/dev/full"] {
            let work_dir = WorkDir::new();
            let locked = work_dir.0.path().join("read-only");
            std::fs::create_dir(&locked).expect("a folder");
            std::fs::set_permissions(&locked, Permissions::from_mode(0o555)).expect("our own");
            if target == "read-only" && !holds {
                continue;
            }
            let into = |word: &&str| word.strip_prefix("new.").map(|end| format!("{target}/new.{end}"));
            let words: Vec<String> =
                arguments.iter().map(|word| into(word).unwrap_or((*word).into())).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = work_dir.command(&words).output().expect("it runs");
            count += 1;
            let what = format!("{words:?}");
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            if exit_code(&what, &output, &mut complaints) == Some(0) || !err.contains(target) {
                complaints.push(format!("{what}: {:?} {err}", output.status));
            }
        }
    }
    assert_no_complaints(count, 10, &complaints);
}

/// Commands that run long enough to receive a signal, and the files that they may leave.
const LONG_COMMANDS: &[(&[&str], &[&str])] = &[
    (&["run", "--output", "new.json", "--drive-writes", "100000"], &[]),
    (&["run", "small.toml", "--drive-writes", "1000000", "--progress"], &[]),
    (
        &["sweep", "--vary", "seed=1,2,3", "--drive-writes", "100000", "--output", "new.csv"],
        &["new.csv.runs"],
    ),
    (&["advise", "--output", "new.json"], &["new.json.runs"]),
    (&["theory", "double", "--spare-factor", "0.00002"], &[]),
    (&["check", "theory"], &[]),
    (
        &[
            "trace",
            "generate",
            "new.csv",
            "--to",
            "wearwell-csv",
            "--kind",
            "uniform",
            "--requests",
            "4000000000",
        ],
        &[],
    ),
    (&["trace", "check", "-", "--trace-format", "msr"], &[]),
    (&["trace", "columns", "fifo"], &[]),
    (&["run", "--trace", "fifo", "--trace-format", "msr"], &[]),
    (&["compare", "fifo", "fifo"], &[]),
];

/// Moments after the start, in milliseconds.
const MOMENTS_MS: &[u64] = &[20, 80, 200];

/// Time limit for an end on a busy machine; on an idle one it takes a second.
const END_TIMEOUT: Duration = Duration::from_secs(60);

/// Waits for the end of a process, and kills it after the limit.
fn wait_for_end(mut child: Child) -> (Duration, Output) {
    let begin = Instant::now();
    while begin.elapsed() < END_TIMEOUT && child.try_wait().expect("our own").is_none() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let elapsed = begin.elapsed();
    let _ = child.kill();
    (elapsed, child.wait_with_output().expect("our own"))
}

/// True if the parent process ignores the signal, as shells do with Ctrl-C for background jobs. The signal is then lost
/// until the command installs its handler.
fn is_ignored(signal: Signal) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal.as_raw() - 1) & 1 == 1)
}

#[test]
fn signals_end_commands_without_partial_files() {
    let (mut count, mut complaints, mut draws) = (0, Vec::new(), CaseRandom(5));
    for (arguments, may_leave) in LONG_COMMANDS {
        for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
            // Ctrl-C at all moments.
            let drawn = [*draws.choose(MOMENTS_MS)];
            for moment in if signal == Signal::INT { MOMENTS_MS } else { &drawn[..] } {
                count += 1;
                let work_dir = WorkDir::new();
                let mkfifo_status =
                    Command::new("mkfifo").arg("fifo").current_dir(work_dir.0.path()).status();
                assert!(mkfifo_status.expect("mkfifo").success());
                let mut command = work_dir.command(arguments);
                // Standard input stays open without data.
                let child =
                    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
                let child = child.expect("it runs");
                std::thread::sleep(Duration::from_millis(moment + draws.below(20) as u64));
                if is_ignored(signal) {
                    wait_until_handled(child.id(), signal.as_raw());
                }
                kill_process(Pid::from_child(&child), signal).expect("it is there");
                let (elapsed, output) = wait_for_end(child);
                let what = format!("{signal:?} after {moment} ms: {arguments:?}");
                // Before the handler is installed, the signal ends the process directly.
                let ends =
                    output.status.code() == Some(130) || output.status.signal() == Some(signal.as_raw());
                if elapsed >= END_TIMEOUT || !ends {
                    complaints.push(format!("{what}: {:?} after {elapsed:?}", output.status));
                }
                let partial_files: Vec<_> = work_dir
                    .new_files()
                    .into_iter()
                    .filter(|name| name != "fifo" && !may_leave.contains(&name.as_str()))
                    .collect();
                if !partial_files.is_empty() || String::from_utf8_lossy(&output.stderr).contains("panicked") {
                    complaints.push(format!("{what}: it leaves {partial_files:?}"));
                }
            }
        }
    }
    assert_no_complaints(count, 55, &complaints);
}
