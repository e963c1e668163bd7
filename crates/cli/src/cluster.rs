//! Execution of runs, and of points of reproductions, on a Dask cluster. Dask's protocol needs Python, so a Python
//! process connects the two.
//!
//! The process, `python3 -m wearwell._dask`, receives one line of JSON per job and answers with one line when the job ends.
//! `python3` is resolved in the current environment, so an activated environment decides which package and which Dask are used.

use crate::tell::tell;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use wearwell_stack::RunResult;
use wearwell_study::{Executor, ExecutorError, Foreman, Job};

/// Interval between checks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Address schemes of Dask schedulers.
const SCHEMES: [&str; 3] = ["tcp://", "tls://", "ucx://"];

/// A Dask cluster, named by the address of its scheduler.
#[derive(Debug)]
pub struct Dask {
    address: String,
    /// Numbers of workers and threads last shown to the user.
    told: Mutex<Option<(u64, u64)>>,
}

/// A job that has ended: its number, and its result or its error. An error is final: repeating the job gives the same error.
type Ended = (usize, Result<Value, String>);

/// Callback that receives each job that ends, and `None` at intervals while no job ends. It decides whether to
/// continue; an error ends the whole study.
type Heed<'a> = &'a mut dyn FnMut(Option<Ended>) -> Result<ControlFlow<()>, String>;

/// Messages of the Python process, one line of JSON each.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Said {
    /// The cluster is connected, with these numbers of workers and threads.
    Ready { workers: u64, threads: u64 },
    /// A job has ended.
    Done { number: usize, result: Option<Value>, error: Option<String> },
    /// No more jobs can run.
    Lost { problem: String },
}

impl Dask {
    /// Returns the cluster whose scheduler is at `address`.
    ///
    /// # Errors
    ///
    /// Returns a message if `address` is not the address of a scheduler.
    pub fn new(address: &str) -> Result<Dask, String> {
        let is_address =
            SCHEMES.iter().any(|scheme| address.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()));
        match is_address {
            true => Ok(Dask { address: address.into(), told: Mutex::default() }),
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

    /// Runs all `jobs`; `head` states their kind.
    fn make(
        &self,
        head: Value,
        jobs: impl ExactSizeIterator<Item = Value> + Send,
        heed: Heed,
    ) -> Result<(), ExecutorError> {
        let left = jobs.len();
        let mut child = self.start()?;
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (hand_on, heard) = channel();
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| hand_out(head, jobs, to));
            scope.spawn(move || hear(from, &hand_on));
            let ended = self.listen(&heard, left, heed);
            // Closing the pipes also ends both threads.
            let _ = child.kill();
            ended
        });
        let _ = child.wait();
        ended
    }

    /// Receives messages until all jobs that are `left` have ended or the process reports a failure.
    fn listen(&self, heard: &Receiver<String>, mut left: usize, heed: Heed) -> Result<(), ExecutorError> {
        while left > 0 {
            let line = match heard.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => match heed(None).map_err(|problem| self.failed(problem))? {
                    ControlFlow::Continue(()) => continue,
                    ControlFlow::Break(()) => return Ok(()),
                },
                Err(RecvTimeoutError::Disconnected) => {
                    let problem = "`python3 -m wearwell._dask` has ended; is the Python package wearwell installed where `python3` is?";
                    return Err(self.failed(problem));
                }
            };
            let said: Said = serde_json::from_str(&line).map_err(|error| {
                self.failed(format_args!("the process in between said what is not understood ({error})"))
            })?;
            match said {
                Said::Ready { workers, threads } => self.tell(workers, threads),
                Said::Lost { problem } => return Err(self.failed(problem)),
                Said::Done { number, result, error } => {
                    let outcome = match (result, error) {
                        (Some(result), None) => Ok(result),
                        (None, Some(error)) => Err(error),
                        _ => return Err(self.failed(format_args!("run {number} came back as nothing"))),
                    };
                    left -= 1;
                    if heed(Some((number, outcome))).map_err(|problem| self.failed(problem))?.is_break() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows the size of the cluster, unless it was already shown. The process reports the size at each start.
    fn tell(&self, workers: u64, threads: u64) {
        let now = Some((workers, threads));
        if self.told.lock().expect("nothing panics while it holds the lock").replace((workers, threads))
            != now
        {
            tell(format_args!("{}: {workers} workers, {threads} runs at a time", self.address));
        }
    }
}

/// Sends `jobs` as fast as the process reads them. A write error is ignored: the process reports its reason on its own output.
fn hand_out(mut head: Value, mut jobs: impl Iterator<Item = Value>, to: ChildStdin) {
    let mut to = BufWriter::new(to);
    head["version"] = json!(wearwell_study::BUILD);
    let mut write =
        |line: Value| serde_json::to_writer(&mut to, &line).is_ok() && to.write_all(b"\n").is_ok();
    let _ = write(head) && jobs.all(write) && to.flush().is_ok();
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
        let keep_windows = jobs.iter().any(|job| job.keep_windows);
        let head = json!({ "runs": { "windows": keep_windows } });
        let runs = jobs.iter().map(|job| json!({ "number": job.number, "scenario": job.scenario }));
        let ended = self.make(head, runs, &mut |ended| {
            let Some((number, outcome)) = ended else { return Ok(foreman.keep_going()) };
            let result = outcome.map(RunResult::read);
            let outcome = match result {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(_)) => return Err(format!("run {number} came back as no result")),
                Err(error) => Err(error),
            };
            Ok(foreman.done(number, outcome))
        });
        // Ctrl-C also ends the Python process; its end is then not an error.
        if foreman.keep_going().is_break() { Ok(()) } else { ended }
    }
}

#[cfg(all(target_os = "linux", feature = "reproduce"))]
mod points {
    //! Points run in the `wearwell` program of each worker, which must be of the same build.

    use super::Dask;
    use serde_json::json;
    use std::ops::ControlFlow;
    use wearwell_experiments::journal::{Answer, build};
    use wearwell_experiments::session::{Crew, Ended, Lost, Way};

    impl Crew for Dask {
        fn answer(
            &self,
            way: &Way,
            points: &[String],
            heed: &mut dyn FnMut(Option<Ended>) -> ControlFlow<()>,
        ) -> Result<(), Lost> {
            // Sent as text: Python forwards the value without parsing it.
            let way = serde_json::to_string(way).expect("plain data");
            let head = json!({ "points": { "build": build(), "way": way } });
            let asked = points.iter().enumerate();
            let asked = asked.map(|(number, point)| json!({ "number": number, "point": point }));
            let ended = self.make(head, asked, &mut |ended| {
                let Some((number, outcome)) = ended else { return Ok(heed(None)) };
                if number >= points.len() {
                    return Err(format!("there is no point {number}"));
                }
                let answer = outcome.map(serde_json::from_value::<Answer>);
                let outcome = match answer {
                    Ok(Ok(answer)) => Ok(answer),
                    Ok(Err(error)) => {
                        return Err(format!("{} came back as no answer: {error}", points[number]));
                    }
                    Err(error) => Err(error),
                };
                Ok(heed(Some((number, outcome))))
            });
            ended.map_err(|error| Lost(error.0))
        }
    }
}
