//! Jobs on a mounted file system, each in a separate process, and their reports.

use crate::Failure;
use crate::nvmfs::recorder::Recorder;
use crate::nvmfs::stop::{self, StopGuard};
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use wearwell_base::seed::Seed;
use wearwell_nvmfs::workload::FileWorkloadConfig;
use wearwell_nvmfs::workload::play::{Contents, DirectoryTarget, PlayCounts, PlayOptions, Player, Target};

/// Time that a job waits for the cleaner of a full file system before it gives up.
const SPACE_TIMEOUT: Duration = Duration::from_secs(30);

/// Default time limit of a job, seconds.
const LIMIT_SECONDS: u32 = 600;

/// Number of operations between two checks of the written bytes.
const OPERATIONS_PER_CHECK: u64 = 64;

/// Line which reports that the files of a job are made and synced.
pub const SET_UP_LINE: &str = "job: set up";
/// Prefix of the line with the report.
pub const REPORT: &str = "job: report ";
/// Placeholder in a command for the directory of the job.
const ROOT: &str = "{root}";

/// Workload in the form in which it is passed to the process that runs it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeneratedJob {
    /// The workload.
    pub workload: FileWorkloadConfig,
    /// Number of bytes to which the `utilisation` of the workload refers.
    pub capacity_bytes: u64,
    /// Seed of the workload.
    pub seed: u64,
    /// Number of bytes that the main phase writes: the phase ends at the first check at which this number is reached.
    pub main_bytes: u64,
    /// Number of bytes after which everything is synced, in place of the time-based write-back of a kernel; only at
    /// the end unless given.
    #[serde(default)]
    pub sync_bytes: Option<u64>,
    /// True if all written pages differ, for drives that inspect page content; zeros are faster to make.
    #[serde(rename = "unlike", default)]
    pub unique_pages: bool,
}

/// Report of a job about its main phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// Counts of operations.
    pub counts: PlayCounts,
    /// Duration in seconds, including the final sync.
    pub seconds: f64,
    /// Time spent waiting for free space, in seconds.
    pub waited_seconds: f64,
}

/// A command that runs in a mounted file system.
#[derive(Clone, Debug)]
pub struct Job {
    /// The command; `{root}` is its working directory.
    command: Vec<String>,
    /// Time limit, seconds.
    pub limit_seconds: u32,
}

/// Work of the cleaner of a log-structured file system.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CleanerWork {
    /// Number of segments freed.
    pub segments: u64,
    /// Number of 4 KiB blocks in these segments, the paper's "recycled blocks" (section IV-D).
    pub recycled_blocks: u64,
    /// Number of valid file blocks among these blocks, which were moved.
    pub moved_blocks: u64,
}

impl CleanerWork {
    /// Returns "1 - (moved_valid_blocks / total_recycled_blocks)" (section IV-D); `None` if nothing was recycled.
    pub fn efficiency(&self) -> Option<f64> {
        (self.recycled_blocks > 0).then(|| 1.0 - self.moved_blocks as f64 / self.recycled_blocks as f64)
    }
}

/// Results of observing a job.
#[derive(Clone, Debug, Default)]
pub struct JobOutput {
    /// Number of requests before the main phase.
    pub set_up_requests: usize,
    /// Report of the job.
    pub report: Option<JobReport>,
    /// Work of the cleaner in the main phase, if there is a cleaner.
    pub cleaner_work: Option<CleanerWork>,
    /// All other lines of output.
    pub lines: Vec<String>,
}

impl Job {
    /// Returns a job that runs a generated workload. The job starts this program with the arguments `entry`, which make
    /// it call [`play`]. The description of the job is written to `scratch`.
    pub fn generated(job: &GeneratedJob, entry: &[&str], scratch: &Path) -> Result<Job, Failure> {
        let path = scratch.join("job.toml");
        std::fs::write(&path, toml::to_string(job)?)?;
        let program = std::env::current_exe()?;
        let (program, path) = (program.to_string_lossy(), path.to_string_lossy());
        let command = [&[&*program], entry, &[&*path, ROOT]].concat();
        let command = command.into_iter().map(str::to_owned).collect();
        Ok(Job { command, limit_seconds: LIMIT_SECONDS })
    }

    /// Returns the command for the directory `root`.
    pub fn command(&self, root: &str) -> Vec<String> {
        self.command.iter().map(|part| part.replace(ROOT, root)).collect()
    }
}

/// Runs a generated job in the directory `root`, and reports its progress on standard output.
pub fn play(job: &Path, root: &Path) -> Result<(), Failure> {
    let job: GeneratedJob = toml::from_str(&std::fs::read_to_string(job)?)?;
    let mut workload = job.workload.build(job.capacity_bytes, Seed(job.seed))?;
    let contents = if job.unique_pages { Contents::Unique } else { Contents::Zeros };
    let options = PlayOptions { contents, ..PlayOptions::default() };
    let mut player = Player::new(DirectoryTarget::new(root).with_space_timeout(SPACE_TIMEOUT), options);
    player.set_up(&mut *workload)?;
    player.target.sync_all()?;
    print_line(SET_UP_LINE)?;
    player.reset_counts();
    let waited = player.target.waited();
    let started = Instant::now();
    let mut next_sync_bytes = job.sync_bytes.unwrap_or(u64::MAX);
    while player.counts().written_bytes < job.main_bytes
        && player.play(&mut *workload, OPERATIONS_PER_CHECK)? == OPERATIONS_PER_CHECK
    {
        if player.counts().written_bytes >= next_sync_bytes {
            player.target.sync_all()?;
            next_sync_bytes += job.sync_bytes.unwrap_or(u64::MAX);
        }
    }
    player.target.sync_all()?;
    let report = JobReport {
        counts: player.counts(),
        seconds: started.elapsed().as_secs_f64(),
        waited_seconds: (player.target.waited() - waited).as_secs_f64(),
    };
    print_line(&format!("{REPORT}{}", serde_json::to_string(&report)?))
}

/// Prints a line and flushes it.
fn print_line(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Returns the first part of a command that ends after this number of seconds, together with all its children.
pub fn timeout_command(seconds: u32) -> Command {
    let mut command = Command::new("timeout");
    command.args(["-k", "10", &seconds.to_string()]);
    command
}

/// Runs a [`timeout_command`] command that runs a job, directly or in a machine, and observes its output. Calls
/// `set_up` as soon as the files of the job are made.
pub fn run_job(
    command: &mut Command,
    recorder: &Recorder,
    mut set_up: impl FnMut(),
) -> Result<JobOutput, Failure> {
    let mut output = JobOutput::default();
    let ended = run_with_lines(command, &mut |line| {
        if line == SET_UP_LINE {
            output.set_up_requests = recorder.len();
            set_up();
        } else if let Some(report) = line.strip_prefix(REPORT) {
            output.report = Some(serde_json::from_str(report)?);
        } else {
            output.lines.push(line.to_owned());
        }
        Ok(())
    })?;
    if ended {
        return Ok(output);
    }
    let last = &output.lines[output.lines.len().saturating_sub(20)..];
    Err(format!("{command:?} did not end well:\n{}", last.join("\n")).into())
}

/// Runs a [`timeout_command`] command and calls `on_line` immediately for each line of its output; returns true if
/// the command succeeded. The command is ended if this program is asked to stop.
///
/// # Errors
///
/// The request to stop; errors of `on_line`, which is nevertheless called for all lines.
pub fn run_with_lines(
    command: &mut Command,
    on_line: &mut dyn FnMut(&str) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let stoppable = StopGuard::new(&child);
    let stdout = child.stdout.take().expect("asked for above");
    let mut line_result = Ok(());
    for line in BufReader::new(stdout).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
        line_result = line_result.and(on_line(&line));
    }
    let status = child.wait()?;
    drop(stoppable);
    if stop::is_stop_requested() {
        return Err("asked to stop".into());
    }
    line_result.map(|()| status.success())
}
