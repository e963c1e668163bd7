//! What is run on a mounted file system, in a process of its own, and what it tells.

use crate::Failure;
use crate::nvmfs::recorder::Recorder;
use serde::{Deserialize, Serialize};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use wearwell_core::seed::Seed;
use wearwell_nvmfs::workload::FileWorkloadConfig;
use wearwell_nvmfs::workload::play::{OnDirectory, PlayCounts, PlayOptions, Player, Target};

/// The line with which a job says that its files are made and synced.
const SET_UP_LINE: &str = "job: set up";
/// What stands in front of the report.
const REPORT: &str = "job: report ";
/// What stands for the directory of the job in a command.
const ROOT: &str = "{root}";

/// A workload, as it is handed to the process that plays it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct GeneratedJob {
    /// The workload.
    pub workload: FileWorkloadConfig,
    /// Bytes that its `utilisation` is a share of.
    pub capacity_bytes: u64,
    /// The seed.
    pub seed: u64,
    /// After so many writes a file is synced; never unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sync_every: Option<u64>,
}

/// What a job says of its main phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobReport {
    /// What it did.
    pub counts: PlayCounts,
    /// How long that took, the final sync included, seconds.
    pub seconds: f64,
}

/// A command to be run in a file system.
#[derive(Clone, Debug)]
pub struct Job {
    /// The command; `{root}` is the directory that it works in.
    command: Vec<String>,
    /// Files that it reads, beside what is installed.
    _files: Vec<PathBuf>,
}

/// What was seen of a job.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// Requests before its main phase; 0 for a job that does not say when it begins.
    pub set_up_requests: usize,
    /// Its report, of generated jobs.
    pub report: Option<JobReport>,
    /// All other lines.
    pub lines: Vec<String>,
}

impl Job {
    /// Plays a generated workload, by this program's own `play`. Its description is written to `scratch`.
    pub fn generated(job: &GeneratedJob, scratch: &Path) -> Result<Job, Failure> {
        let path = scratch.join("job.toml");
        std::fs::write(&path, toml::to_string(job)?)?;
        let program = std::env::current_exe()?;
        let command = [&*program.to_string_lossy(), "play", &*path.to_string_lossy(), ROOT];
        Ok(Job { command: command.map(str::to_owned).to_vec(), _files: vec![path] })
    }

    /// The packaged PostMark with `files` files and as many transactions as given, other settings as they are.
    pub fn postmark(files: u32, transactions: u64, scratch: &Path) -> Result<Job, Failure> {
        let path = scratch.join("postmark.conf");
        std::fs::write(
            &path,
            format!(
                "set number {files}\nset transactions {transactions}\nset read 4096\nset write 4096\nrun\nquit\n"
            ),
        )?;
        let line = format!("cd {ROOT} && postmark {}", path.display());
        Ok(Job { command: vec!["sh".into(), "-c".into(), line], _files: vec![path] })
    }

    /// The packaged fio: `updates` random writes of 4 KiB in `files` files of 256 KiB.
    pub fn fio(files: u32, updates: u64) -> Job {
        let command = format!(
            "fio --name=update --directory={ROOT} --rw=randwrite --bs=4k --nrfiles={files} --openfiles=64 \
             --file_service_type=random:1 --filesize=256k --io_size={} --ioengine=psync --randseed=1 --end_fsync=1 \
             --output-format=terse",
            updates * 4096
        );
        Job { command: command.split_whitespace().map(str::to_owned).collect(), _files: Vec::new() }
    }

    /// The command in the directory `root`.
    pub fn command(&self, root: &str) -> Vec<String> {
        self.command.iter().map(|part| part.replace(ROOT, root)).collect()
    }
}

/// Plays a generated job in the directory `root`, and tells on the standard output how it goes.
pub fn play(job: &Path, root: &Path) -> Result<(), Failure> {
    let job: GeneratedJob = toml::from_str(&std::fs::read_to_string(job)?)?;
    let mut workload = job.workload.build(job.capacity_bytes, Seed(job.seed))?;
    let options = PlayOptions { sync_every: job.sync_every, ..PlayOptions::default() };
    let mut player = Player::new(OnDirectory::new(root), options);
    player.set_up(&mut *workload)?;
    player.target.sync_all()?;
    say(SET_UP_LINE)?;
    player.reset_counts();
    let began = Instant::now();
    player.play(&mut *workload, u64::MAX)?;
    player.target.sync_all()?;
    let report = JobReport { counts: player.counts(), seconds: began.elapsed().as_secs_f64() };
    say(&format!("{REPORT}{}", serde_json::to_string(&report)?))
}

/// A line that is seen at once.
fn say(line: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

/// Runs a command that plays a job, or that runs a machine which does, and watches what it says.
pub fn watch(command: &mut Command, recorder: &Recorder) -> Result<Seen, Failure> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let mut seen = Seen::default();
    let stdout = child.stdout.take().expect("asked for above");
    for line in BufReader::new(stdout).split(b'\n') {
        let line = String::from_utf8_lossy(&line?).trim_end().to_owned();
        if line == SET_UP_LINE {
            seen.set_up_requests = recorder.len();
        } else if let Some(report) = line.strip_prefix(REPORT) {
            seen.report = Some(serde_json::from_str(report)?);
        } else {
            seen.lines.push(line);
        }
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(seen);
    }
    let last = &seen.lines[seen.lines.len().saturating_sub(20)..];
    Err(format!("{command:?}: {status}\n{}", last.join("\n")).into())
}
