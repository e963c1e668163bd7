//! Session of a program: its settings, a folder for its results, and earlier finished points.

mod crew;
mod led;
mod settings;
mod watch;

pub use crew::{ExecutorLost, PointExecutor, PointOutcome, ProgramInputs};
pub(crate) use led::{DirectedRun, unreachable_point};
pub use settings::{Calculation, Sampling, Scale};
pub use watch::{Interrupted, ReproductionObserver};

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::{Journal, StoredPoint};
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Inputs of a program, and the destination of its results.
pub struct Session<'a> {
    /// Value of [`Sampling::runs`]; 2 if the program has no such setting.
    pub runs: u64,
    /// Value of [`Sampling::length`]; 1 if the program has no such setting.
    pub length: f64,
    settings: toml::Table,
    assumptions: &'a Assumptions,
    traces: Option<PathBuf>,
    points: SessionMode<'a>,
    watch: &'a dyn ReproductionObserver,
    published_tables: Mutex<Vec<String>>,
    used_assumptions: Mutex<BTreeSet<String>>,
    external_core_seconds: Mutex<f64>,
}

/// Treatment of the points and files in a session.
enum SessionMode<'a> {
    /// Points are computed and stored, and files are written.
    Stored(StoredRun<'a>),
    /// A single point is computed, and nothing is written.
    Directed(&'a DirectedRun<'a>),
}

struct StoredRun<'a> {
    folder: PathBuf,
    command: String,
    journal: &'a Journal,
    external: Option<ExternalExecutor<'a>>,
}

/// Executor of points outside of this process.
struct ExternalExecutor<'a> {
    executor: &'a dyn PointExecutor,
    program: &'a str,
    /// Results so far, with a list per request for points.
    earlier_results: Mutex<Vec<Vec<Value>>>,
    /// True if the program must run on this machine.
    is_local_only: AtomicBool,
}

const POISON: &str = "nothing panics while it holds the lock";

impl<'a> Session<'a> {
    /// Returns a session that writes its files to `folder`; the first line of each file is `command`.
    ///
    /// # Errors
    ///
    /// Returns an error for fewer than one run, or a length that is not above 0.
    pub fn new(
        settings: toml::Table,
        folder: &Path,
        command: &str,
        assumptions: &'a Assumptions,
        journal: &'a Journal,
        watch: &'a dyn ReproductionObserver,
    ) -> Result<Session<'a>, Failure> {
        let stored =
            StoredRun { folder: folder.to_owned(), command: command.to_owned(), journal, external: None };
        Session::of(settings, assumptions, SessionMode::Stored(stored), watch)
    }

    /// Returns a session whose program runs up to one point and writes nothing.
    ///
    /// # Errors
    ///
    /// The errors of [`Session::new`].
    pub(crate) fn directed(
        way: &ProgramInputs,
        assumptions: &'a Assumptions,
        directed: &'a DirectedRun<'a>,
        watch: &'a dyn ReproductionObserver,
    ) -> Result<Session<'a>, Failure> {
        let session = Session::of(way.settings.clone(), assumptions, SessionMode::Directed(directed), watch)?;
        Ok(session.with_traces(way.traces.clone()))
    }

    fn of(
        settings: toml::Table,
        assumptions: &'a Assumptions,
        points: SessionMode<'a>,
        watch: &'a dyn ReproductionObserver,
    ) -> Result<Session<'a>, Failure> {
        let number_or = |key: &str, fallback: f64| match settings.get(key) {
            None => Ok(fallback),
            Some(toml::Value::Integer(value)) => Ok(*value as f64),
            Some(toml::Value::Float(value)) => Ok(*value),
            Some(other) => Err(format!("`{key} = {other}`: a number is expected")),
        };
        let (runs, length) = (number_or("runs", 2.0)?, number_or("length", 1.0)?);
        let is_sensible = (1.0..1e6).contains(&runs) && length > 0.0 && length.is_finite();
        if !is_sensible {
            return Err("`runs` is 1 or more, `length` a number above 0".into());
        }
        Ok(Session {
            runs: runs as u64,
            length,
            settings,
            assumptions,
            traces: None,
            points,
            watch,
            published_tables: Mutex::default(),
            used_assumptions: Mutex::default(),
            external_core_seconds: Mutex::default(),
        })
    }

    /// Sets the folder of traces.
    #[must_use]
    pub fn with_traces(self, traces: Option<PathBuf>) -> Self {
        Session { traces, ..self }
    }

    /// Sets the executor of points, if there is one, for the program with this name.
    #[must_use]
    pub fn with_executor(mut self, executor: Option<&'a dyn PointExecutor>, program: &'a str) -> Self {
        if let SessionMode::Stored(stored) = &mut self.points {
            let (earlier, stays_here) = (Mutex::default(), AtomicBool::new(false));
            stored.external = executor.map(|crew| ExternalExecutor {
                executor: crew,
                program,
                earlier_results: earlier,
                is_local_only: stays_here,
            });
        }
        self
    }

    /// Returns the settings as the type that the program defines.
    ///
    /// # Errors
    ///
    /// Returns an error for unknown or missing keys, and for values of a wrong type.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        T::deserialize(toml::Value::Table(self.settings.clone()))
            .map_err(|error| format!("settings: {}", error.message()).into())
    }

    /// Returns the value of an assumption, by its name in the register.
    ///
    /// # Errors
    ///
    /// Returns an error if the register does not have the name.
    pub fn assumed_value(&self, name: &str) -> Result<f64, Failure> {
        let value = self.assumptions.value(name)?;
        self.used_assumptions.lock().expect(POISON).insert(name.to_owned());
        Ok(value)
    }

    /// Returns the names of the assumptions that were used.
    pub fn used_assumptions(&self) -> Vec<String> {
        self.used_assumptions.lock().expect(POISON).iter().cloned().collect()
    }

    /// Returns the folder of traces that were recorded elsewhere, if there is one.
    pub fn traces(&self) -> Option<&Path> {
        self.traces.as_deref()
    }

    /// Computes each of `keys` with `compute`, on all cores or by the executor, and returns the results in order. A
    /// result in the journal with the same `what` and key is reused, so the result of `compute` must depend on nothing
    /// else.
    ///
    /// # Errors
    ///
    /// [`Interrupted`]; [`ExecutorLost`]; an error of `compute`; a journal that cannot be written.
    pub fn compute_each<K, T>(
        &self,
        what: &str,
        keys: &[K],
        compute: impl Fn(&K) -> Result<T, Failure> + Send + Sync,
    ) -> Result<Vec<T>, Failure>
    where
        K: Serialize + Sync,
        T: Serialize + DeserializeOwned + Send,
    {
        let identity = |key: &K| Ok(format!("{what} {}", serde_json::to_string(key)?));
        let points = keys.iter().map(identity).collect::<serde_json::Result<Vec<String>>>()?;
        let stored = match &self.points {
            SessionMode::Directed(directed) => {
                return directed.compute_requested(&points, |at| compute(&keys[at]));
            }
            SessionMode::Stored(kept) => kept,
        };
        self.watch.announce_points(keys.len());
        let mut results: Vec<Option<T>> =
            points.iter().map(|point| self.stored_result(stored, point)).collect();
        let external = stored.external.as_ref();
        if let Some(elsewhere) = external.filter(|elsewhere| !elsewhere.is_local_only.load(Ordering::Relaxed))
        {
            self.compute_externally(stored, elsewhere, &points, &mut results)?;
        }
        let all = (&points, keys, results).into_par_iter().with_max_len(1).map(|(point, key, found)| {
            if let Some(found) = found {
                return Ok(found);
            }
            if self.flow().is_break() {
                return Err(Interrupted.into());
            }
            let started = ThreadTime::now();
            let found = compute(key)?;
            stored.journal.append(&StoredPoint::new(point, &found, started.elapsed().as_secs_f64())?)?;
            self.watch.point_finished(false);
            Ok(found)
        });
        let all = all.collect::<Result<Vec<T>, Failure>>()?;
        if let Some(elsewhere) = external {
            let values = all.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
            elsewhere.earlier_results.lock().expect(POISON).push(values);
        }
        Ok(all)
    }

    /// Returns the result of a point from an earlier session.
    fn stored_result<T: DeserializeOwned>(&self, stored: &StoredRun, point: &str) -> Option<T> {
        let result = stored.journal.find(point)?;
        let found = T::deserialize(&result.value).ok()?;
        *self.external_core_seconds.lock().expect(POISON) += result.core_seconds;
        self.watch.point_finished(true);
        Some(found)
    }

    /// Computes the points that have no result with the executor, and stores their results. A result that cannot be
    /// deserialised is computed again in this process, as for lines of the journal.
    fn compute_externally<T: DeserializeOwned>(
        &self,
        kept: &StoredRun,
        external: &ExternalExecutor,
        points: &[String],
        results: &mut [Option<T>],
    ) -> Result<(), Failure> {
        let missing: Vec<usize> = (0..points.len()).filter(|&at| results[at].is_none()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let requested: Vec<String> = missing.iter().map(|&at| points[at].clone()).collect();
        let way = ProgramInputs {
            program: external.program.to_owned(),
            settings: self.settings.clone(),
            assumptions: self.assumptions.overrides().clone(),
            traces: self.traces.clone(),
            earlier_results: external.earlier_results.lock().expect(POISON).clone(),
        };
        let (mut problem, mut finished) = (None, points.len() - missing.len());
        let mut store = |(number, outcome): PointOutcome| -> Result<(), Failure> {
            let answer = outcome?;
            kept.journal.append(&StoredPoint::new(
                &requested[number],
                &answer.value,
                answer.core_seconds,
            )?)?;
            finished += 1;
            if let Ok(value) = T::deserialize(&answer.value) {
                results[missing[number]] = Some(value);
                *self.external_core_seconds.lock().expect(POISON) += answer.core_seconds;
                self.watch.point_finished(false);
            }
            Ok(())
        };
        let ended = external.executor.answer(&way, &requested, &mut |ended| {
            problem = ended.and_then(|ended| store(ended).err());
            if problem.is_some() { ControlFlow::Break(()) } else { self.flow() }
        });
        match problem {
            _ if self.flow().is_break() => Err(Interrupted.into()),
            Some(problem) => Err(problem),
            None => ended.map_err(|ExecutorLost(problem)| {
                ExecutorLost(format!(
                    "{problem}; {finished} of {} points are finished and kept",
                    points.len()
                ))
                .into()
            }),
        }
    }

    /// Returns the core seconds of points that were computed earlier or in another process.
    pub fn external_core_seconds(&self) -> f64 {
        *self.external_core_seconds.lock().expect(POISON)
    }

    /// Declares that the program must run on this machine for `reason`: its points are computed here, even if there
    /// is an executor.
    pub fn require_local(&self, reason: &str) {
        if let SessionMode::Stored(StoredRun { external: Some(external), .. }) = &self.points
            && !external.is_local_only.swap(true, Ordering::Relaxed)
        {
            self.watch.computed_locally(reason);
        }
    }

    /// Returns `Continue` unless the program must end; long runs call this function regularly.
    pub fn flow(&self) -> ControlFlow<()> {
        self.watch.flow()
    }

    /// Declares that the program must clean up at the end, and therefore must not be killed.
    pub fn require_clean_up(&self) {
        self.watch.forbid_kill();
    }

    /// Writes a file with `text` to the folder of the item.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn write_file(&self, name: &str, extension: &str, text: &str) -> Result<(), Failure> {
        let SessionMode::Stored(stored) = &self.points else { return Ok(()) };
        let path = stored.folder.join(format!("{name}.{extension}"));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Returns the command that repeats the reproduction.
    pub fn command(&self) -> &str {
        match &self.points {
            SessionMode::Stored(kept) => &kept.command,
            SessionMode::Directed(_) => "",
        }
    }

    /// Marks the table `name` as meant for readers.
    pub fn mark_published(&self, name: &str) {
        let mut shown = self.published_tables.lock().expect(POISON);
        if !shown.iter().any(|other| other == name) {
            shown.push(name.to_owned());
        }
    }

    /// Returns the tables that are meant for readers, in the order in which they were written.
    pub fn published_tables(&self) -> Vec<String> {
        self.published_tables.lock().expect(POISON).clone()
    }
}

#[cfg(test)]
pub mod tests;
