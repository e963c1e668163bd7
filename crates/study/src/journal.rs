//! The finished runs of a sweep on disk, one JSON line each, so that an interrupted sweep can go on.

use super::points::{PointResult, SweepError};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Seek, Write};
use std::path::Path;
use wearwell_stack::RunResult;
use wearwell_stack::scenario::Scenario;

/// How every line begins; a file that begins otherwise is somebody else's and is left alone.
const BEGINNING: &[u8] = b"{\"settings\":";

/// An open journal.
pub(super) struct Journal {
    path: String,
    file: File,
    /// Results by their resolved scenario, which says all about a run.
    known: HashMap<String, RunResult>,
}

impl Journal {
    /// Opens or creates the journal at `path`.
    ///
    /// A last line that was cut off, as an interruption in the midst of writing leaves it, is removed. Results of
    /// other scenarios stay in the file and are of no interest; those of another version are not trusted.
    pub fn open(path: &Path) -> Result<Journal, SweepError> {
        let failed = |source| SweepError::Journal { path: path.display().to_string(), source };
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let mut journal = Journal { path: path.display().to_string(), file, known: HashMap::new() };
        journal.read().map_err(failed)?;
        Ok(journal)
    }

    fn read(&mut self) -> io::Result<()> {
        let mut reader = BufReader::new(&self.file);
        let (mut line, mut whole) = (Vec::new(), 0);
        let mut number = 0;
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            number += 1;
            let result = result_of(&line).map_err(|error| {
                let problem = format!("line {number} is no result of a sweep ({error}); name another file");
                io::Error::new(io::ErrorKind::InvalidData, problem)
            })?;
            if result.version == env!("CARGO_PKG_VERSION") {
                self.known.insert(identity(&result.scenario), result);
            }
            whole += line.len() as u64;
            line.clear();
        }
        drop(reader);
        if !line.starts_with(BEGINNING) && !BEGINNING.starts_with(&line) {
            let problem = "this is no file of a sweep's results; name another one";
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        }
        self.file.set_len(whole)?;
        self.file.seek(io::SeekFrom::End(0)).map(|_| ())
    }

    /// The result of `scenario`, if it is here.
    pub fn take(&mut self, scenario: &Scenario) -> Option<RunResult> {
        self.known.remove(&identity(scenario))
    }

    /// Adds a finished run.
    pub fn append(&mut self, point: &PointResult) -> Result<(), SweepError> {
        let mut line = serde_json::to_vec(point).expect("results are plain data");
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.flush());
        written.map_err(|source| SweepError::Journal { path: self.path.clone(), source })
    }
}

/// The result in a line.
fn result_of(line: &[u8]) -> serde_json::Result<RunResult> {
    let mut point: Value = serde_json::from_slice(line)?;
    RunResult::read(point["result"].take())
}

fn identity(scenario: &Scenario) -> String {
    serde_json::to_string(scenario).expect("scenarios are plain data")
}
