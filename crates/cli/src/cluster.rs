//! Execution of runs, and of points of reproductions, on a Dask cluster. Dask's protocol needs Python, so a Python
//! process connects the two.
//!
//! The process, `python3 -m wearwell._dask`, receives one line of JSON per job and answers with one line when the job
//! ends. `python3` is resolved in the current environment, so an activated environment decides which package and which
//! Dask are used.

use crate::messages::print_message;
use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::ControlFlow;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;
use wearwell_stack::RunResult;
use wearwell_study::{Executor, ExecutorError, Job, RunListener};

/// Interval between checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Address schemes of Dask schedulers.
const SCHEMES: [&str; 3] = ["tcp://", "tls://", "ucx://"];

/// A Dask cluster, named by the address of its scheduler.
#[derive(Debug)]
pub struct Dask {
    address: String,
    /// Numbers of workers and threads last shown to the user.
    shown_size: Mutex<Option<(u64, u64)>>,
}

/// A job that has ended: its number, and its result or its error. An error is final: repeating the job gives the same
/// error.
type EndedJob = (usize, Result<Value, String>);

/// Callback that receives each job that ends, and `None` at intervals while no job ends. It decides whether to
/// continue; an error ends the whole study.
type JobCallback<'a> = &'a mut dyn FnMut(Option<EndedJob>) -> Result<ControlFlow<()>, String>;

/// Messages of the Python process, one line of JSON each.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum WorkerMessage {
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
            true => Ok(Dask { address: address.into(), shown_size: Mutex::default() }),
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

    /// Runs all `jobs`; `header` states their kind.
    fn run_jobs(
        &self,
        header: Value,
        jobs: impl ExactSizeIterator<Item = Value> + Send,
        on_job: JobCallback,
    ) -> Result<(), ExecutorError> {
        let remaining = jobs.len();
        let mut child = self.start()?;
        let (to, from) = (child.stdin.take().expect("piped"), child.stdout.take().expect("piped"));
        let (sender, receiver) = channel();
        let ended = std::thread::scope(|scope| {
            scope.spawn(|| send_jobs(header, jobs, to));
            scope.spawn(move || read_messages(from, &sender));
            let ended = self.receive(&receiver, remaining, on_job);
            // Closing the pipes also ends both threads.
            let _ = child.kill();
            ended
        });
        let _ = child.wait();
        ended
    }

    /// Receives messages until all jobs that are `remaining` have ended or the process reports a failure.
    fn receive(
        &self,
        receiver: &Receiver<String>,
        mut remaining: usize,
        on_job: JobCallback,
    ) -> Result<(), ExecutorError> {
        while remaining > 0 {
            let line = match receiver.recv_timeout(POLL_INTERVAL) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    match on_job(None).map_err(|problem| self.failed(problem))? {
                        ControlFlow::Continue(()) => continue,
                        ControlFlow::Break(()) => return Ok(()),
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    let problem = "`python3 -m wearwell._dask` has ended; is the Python package wearwell installed where `python3` is?";
                    return Err(self.failed(problem));
                }
            };
            let message: WorkerMessage = serde_json::from_str(&line).map_err(|error| {
                self.failed(format_args!("the process in between said what is not understood ({error})"))
            })?;
            match message {
                WorkerMessage::Ready { workers, threads } => self.show_size(workers, threads),
                WorkerMessage::Lost { problem } => return Err(self.failed(problem)),
                WorkerMessage::Done { number, result, error } => {
                    let outcome = match (result, error) {
                        (Some(result), None) => Ok(result),
                        (None, Some(error)) => Err(error),
                        _ => return Err(self.failed(format_args!("run {number} came back as nothing"))),
                    };
                    remaining -= 1;
                    if on_job(Some((number, outcome))).map_err(|problem| self.failed(problem))?.is_break() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Shows the size of the cluster, unless it was already shown. The process reports the size at each start.
    fn show_size(&self, workers: u64, threads: u64) {
        let size = Some((workers, threads));
        if self.shown_size.lock().expect("nothing panics while it holds the lock").replace((workers, threads))
            != size
        {
            print_message(format_args!("{}: {workers} workers, {threads} runs at a time", self.address));
        }
    }
}

/// Sends `jobs` as fast as the process reads them. A write error is ignored: the process reports its reason on its own
/// output.
fn send_jobs(mut header: Value, mut jobs: impl Iterator<Item = Value>, to: ChildStdin) {
    let mut to = BufWriter::new(to);
    header["version"] = json!(wearwell_study::BUILD);
    let mut write =
        |line: Value| serde_json::to_writer(&mut to, &line).is_ok() && to.write_all(b"\n").is_ok();
    let _ = write(header) && jobs.all(write) && to.flush().is_ok();
}

fn read_messages(from: ChildStdout, sender: &Sender<String>) {
    for line in BufReader::new(from).lines() {
        let Ok(line) = line else { return };
        if sender.send(line).is_err() {
            return;
        }
    }
}

impl Executor for Dask {
    fn execute(&self, jobs: &[Job<'_>], listener: &dyn RunListener) -> Result<(), ExecutorError> {
        let keep_windows = jobs.iter().any(|job| job.keep_windows);
        let header = json!({ "runs": { "windows": keep_windows } });
        let runs = jobs.iter().map(|job| json!({ "number": job.number, "scenario": job.scenario }));
        let ended = self.run_jobs(header, runs, &mut |ended| {
            let Some((number, outcome)) = ended else { return Ok(listener.keep_going()) };
            let result = outcome.map(RunResult::read);
            let outcome = match result {
                Ok(Ok(result)) => Ok(result),
                Ok(Err(_)) => return Err(format!("run {number} came back as no result")),
                Err(error) => Err(error),
            };
            Ok(listener.done(number, outcome))
        });
        // Ctrl-C also ends the Python process; its end is then not an error.
        if listener.keep_going().is_break() { Ok(()) } else { ended }
    }
}

#[cfg(all(target_os = "linux", feature = "reproduce"))]
mod points {
    //! Points run in the `wearwell` program of each worker, which must be of the same build.

    use super::Dask;
    use serde_json::json;
    use std::ops::ControlFlow;
    use wearwell_experiments::journal::{PointResult, build};
    use wearwell_experiments::session::{ExecutorLost, PointExecutor, PointOutcome, ProgramInputs};

    impl PointExecutor for Dask {
        fn answer(
            &self,
            inputs: &ProgramInputs,
            points: &[String],
            on_answer: &mut dyn FnMut(Option<PointOutcome>) -> ControlFlow<()>,
        ) -> Result<(), ExecutorLost> {
            // The inputs are sent as text, because Python forwards text without parsing it.
            let inputs_text = serde_json::to_string(inputs).expect("plain data");
            let header = json!({ "points": { "build": build(), "way": inputs_text } });
            let numbered = points.iter().enumerate();
            let requests = numbered.map(|(number, point)| json!({ "number": number, "point": point }));
            let ended = self.run_jobs(header, requests, &mut |ended| {
                let Some((number, outcome)) = ended else { return Ok(on_answer(None)) };
                if number >= points.len() {
                    return Err(format!("there is no point {number}"));
                }
                let answer = outcome.map(serde_json::from_value::<PointResult>);
                let outcome = match answer {
                    Ok(Ok(answer)) => Ok(answer),
                    Ok(Err(error)) => {
                        return Err(format!("{} came back as no answer: {error}", points[number]));
                    }
                    Err(error) => Err(error),
                };
                Ok(on_answer(Some((number, outcome))))
            });
            ended.map_err(|error| ExecutorLost(error.0))
        }
    }
}
