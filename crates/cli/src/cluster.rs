//! Runs on a Dask cluster, by a Python process that stands between: Dask's protocol is Python's.
//!
//! The process, `python3 -m wearwell._dask`, gets a line of JSON for each run and answers with one as each ends. It is of the
//! environment that `python3` means here, so that an activated one decides which package and which Dask are used.

use crate::tell::tell;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use wearwell_stack::RunResult;
use wearwell_study::{Executor, ExecutorError, Foreman, Job};

/// Between two looks at Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Schemes of addresses that Dask's schedulers have.
const SCHEMES: [&str; 3] = ["tcp://", "tls://", "ucx://"];

/// A cluster.
#[derive(Debug)]
pub struct Dask {
    address: String,
}

/// What the process says, a line of JSON each.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    /// The cluster is there, with so many workers and threads.
    Ready { workers: u64, threads: u64 },
    /// A run has come to its end.
    Done { number: usize, result: Option<Value>, error: Option<String> },
    /// Nothing goes on.
    Lost { problem: String },
}

impl Dask {
    /// The cluster whose scheduler is at `address`.
    ///
    /// # Errors
    ///
    /// What is no address, in one sentence.
    pub fn new(address: &str) -> Result<Dask, String> {
        let is_address =
            SCHEMES.iter().any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        match is_address {
            true => Ok(Dask { address: address.into() }),
            false => Err(format!(
                "--dask: {address:?} is no address of a scheduler; write tcp://HOST:PORT (or tls://, ucx://)"
            )),
        }
    }

    fn failed(&self, problem: impl std::fmt::Display) -> ExecutorError {
        ExecutorError(format!("--dask {}: {problem}", self.address))
    }

    fn start(&self) -> Result<Child, ExecutorError> {
        let mut command = Command::new("python3");
        command.args(["-m", "wearwell._dask", &self.address]);
        let started = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        started
            .map_err(|error| self.failed(format_args!("cannot start `python3 -m wearwell._dask`: {error}")))
    }

    /// Listens until all of `left` runs have ended, or nothing goes on.
    fn listen(
        &self,
        heard: &Receiver<String>,
        mut left: usize,
        foreman: &dyn Foreman,
    ) -> Result<(), ExecutorError> {
        while left > 0 {
            if foreman.keep_going().is_break() {
                return Ok(());
            }
            let line = match heard.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => {
                    let problem = "`python3 -m wearwell._dask` has ended; is the Python package wearwell installed where `python3` is?";
                    return Err(self.failed(problem));
                }
            };
            let said: Said = serde_json::from_str(&line).map_err(|error| {
                self.failed(format_args!("the process in between said what is not understood ({error})"))
            })?;
            match said {
                Said::Ready { workers, threads } => {
                    tell(format_args!("{}: {workers} workers, {threads} runs at a time", self.address));
                }
                Said::Lost { problem } => return Err(self.failed(problem)),
                Said::Done { number, result, error } => {
                    let outcome = match (result.map(RunResult::read), error) {
                        (Some(Ok(result)), None) => Ok(result),
                        (None, Some(error)) => Err(error),
                        _ => return Err(self.failed(format_args!("run {number} came back as no result"))),
                    };
                    left -= 1;
                    if foreman.done(number, outcome).is_break() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }
}

/// Hands out `jobs`, as fast as they are taken. Who no longer takes them says why on its other line.
fn hand_out(jobs: &[Job<'_>], to: ChildStdin) {
    let mut to = BufWriter::new(to);
    let keep_windows = jobs.iter().any(|job| job.keep_windows);
    let head = json!({ "version": env!("CARGO_PKG_VERSION"), "windows": keep_windows });
    let mut write =
        |line: Value| serde_json::to_writer(&mut to, &line).is_ok() && to.write_all(b"\n").is_ok();
    let _ = write(head)
        && jobs.iter().all(|job| write(json!({ "number": job.number, "scenario": job.scenario })))
        && to.flush().is_ok();
}

fn hear(from: ChildStdout, hand_on: &Sender<String>) {
    for line in BufReader::new(from).lines() {
        let Ok(line) = line else { return };
        if hand_on.send(line).is_err() {
            return;
        }
    }
}

impl Executor for Dask {
    fn execute(&self, jobs: &[Job<'_>], foreman: &dyn Foreman) -> Result<(), ExecutorError> {
        let mut child = self.start()?;
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (hand_on, heard) = channel();
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| hand_out(jobs, to));
            scope.spawn(move || hear(from, &hand_on));
            let ended = self.listen(&heard, jobs.len(), foreman);
            // Ends the threads as well, which wait for it.
            let _ = child.kill();
            ended
        });
        let _ = child.wait();
        // Ctrl-C ends the process in between as well, which is then not what went wrong.
        if foreman.keep_going().is_break() { Ok(()) } else { ended }
    }
}
