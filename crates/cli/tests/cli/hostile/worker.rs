//! Worker process that runs many commands within itself, which saves a process per case. If a case ends or hangs the
//! worker, the test can name the case.

use super::CLASSES;
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::stdio::{dup2_stderr, dup2_stdin, dup2_stdout};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use wearwell_cli::Program;

/// Environment variable with the class of cases.
const CLASS_VARIABLE: &str = "WEARWELL_HOSTILE_CLASS";

/// Time limit of a case, generous for a busy machine.
const CASE_TIMEOUT: Duration = Duration::from_secs(300);

/// Memory limit of a worker: larger requests must be refused by the program, otherwise they end the worker.
const MEMORY_BYTES: u64 = 2 << 30;

/// A link to a device that is always full.
const FULL_DEVICE_LINK: &str = "full";

/// Stack size of a program's main thread.
const STACK_BYTES: usize = 8 << 20;

/// Outcome of a command.
#[derive(Debug, Serialize, Deserialize)]
pub struct CommandOutcome {
    /// Exit code.
    pub code: u8,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// New files in the working directory.
    #[serde(rename = "left")]
    pub new_files: Vec<String>,
}

/// Handle of a worker process.
pub struct Worker {
    child: Child,
    requests: ChildStdin,
    answers: Receiver<String>,
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Worker {
    /// Starts a worker for the cases of a class.
    pub fn start(class: &str) -> Self {
        let mut child = Command::new(std::env::current_exe().expect("this program"))
            .args([
                "--exact",
                "hostile::worker::worker_serves_cases",
                "--ignored",
                "--nocapture",
                "--test-threads=1",
            ])
            .env(CLASS_VARIABLE, class)
            .env("NO_COLOR", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a worker starts");
        let questions = child.stdin.take().expect("a pipe");
        let lines = BufReader::new(child.stderr.take().expect("a pipe")).lines();
        let (sender, answers) = mpsc::channel();
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Worker { child, requests: questions, answers }
    }

    /// Runs the case with this number in the worker; returns an error that describes how the worker ended, if it ended.
    pub fn run_case(&mut self, number: usize) -> Result<CommandOutcome, String> {
        let sent = writeln!(self.requests, "{number}");
        match self.answers.recv_timeout(CASE_TIMEOUT) {
            Ok(line) => serde_json::from_str(&line).map_err(|error| format!("{error}: {line}")),
            Err(mpsc::RecvTimeoutError::Timeout) => Err(format!("it hangs for more than {CASE_TIMEOUT:?}")),
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                let status = self.child.wait();
                Err(format!("it ends the process: {status:?} {sent:?}"))
            }
        }
    }
}

#[test]
#[ignore = "the worker that the tests of hostile cases start"]
fn worker_serves_cases() {
    let Ok(class) = std::env::var(CLASS_VARIABLE) else { return };
    let serve = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(move || serve(&class));
    serve.expect("a thread").join().expect("it serves").expect("its files are there");
}

/// File that captures an output stream.
struct CapturedStream(File);

impl CapturedStream {
    fn new() -> io::Result<Self> {
        let file = rustix::fs::memfd_create("captured", rustix::fs::MemfdFlags::CLOEXEC)?;
        Ok(CapturedStream(File::from(file)))
    }

    /// Returns the text written since the last call.
    fn take(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        self.0.set_len(0)?;
        self.0.rewind()?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn serve(class: &str) -> io::Result<()> {
    let cases = CLASSES.iter().find(|(name, ..)| *name == class).expect("a class").2();
    let questions = BufReader::new(File::from(rustix::io::dup(io::stdin())?));
    let mut answers = File::from(rustix::io::dup(io::stderr())?);
    let (mut out, mut err) = (CapturedStream::new()?, CapturedStream::new()?);
    dup2_stdin(File::open("/dev/null")?)?;
    dup2_stdout(&out.0)?;
    dup2_stderr(&err.0)?;
    setrlimit(Resource::As, Rlimit { current: Some(MEMORY_BYTES), maximum: Some(MEMORY_BYTES) })?;
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
    let mut program = Program::default();
    for line in questions.lines() {
        let case = &cases[line?.parse::<usize>().expect("a number")];
        let case_folder = folder.path().join("case");
        std::fs::create_dir(&case_folder)?;
        std::env::set_current_dir(&case_folder)?;
        // A link, because a program with root privileges could delete the device itself.
        std::os::unix::fs::symlink("/dev/full", case_folder.join(FULL_DEVICE_LINK))?;
        for (name, content) in &case.files {
            if let Some((folder, _)) = name.rsplit_once('/') {
                std::fs::create_dir_all(case_folder.join(folder))?;
            }
            std::fs::write(case_folder.join(name), content)?;
        }
        out.take()?;
        err.take()?;
        let words = std::iter::once("wearwell".into()).chain(case.arguments.iter().cloned());
        let code = program.run(words);
        io::stdout().flush()?;
        let mut new_files = Vec::new();
        collect_paths(&case_folder, "", &mut new_files)?;
        new_files.retain(|name| name != FULL_DEVICE_LINK && case.files.iter().all(|(own, _)| own != name));
        let answer = CommandOutcome { code, out: out.take()?, err: err.take()?, new_files };
        std::env::set_current_dir(folder.path())?;
        std::fs::remove_dir_all(&case_folder)?;
        writeln!(answers, "{}", serde_json::to_string(&answer).expect("plain data"))?;
    }
    Ok(())
}

/// Collects all paths in a folder, folders with a final slash.
fn collect_paths(folder: &Path, before: &str, found: &mut Vec<String>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            found.push(format!("{name}/"));
            collect_paths(&entry.path(), &format!("{name}/"), found)?;
        } else {
            found.push(name);
        }
    }
    Ok(())
}
