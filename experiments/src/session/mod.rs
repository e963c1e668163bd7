//! Session of a program: its settings, a folder for its results, and earlier finished points.

mod crew;
mod led;
mod settings;
mod watch;

pub use crew::{Crew, Ended, Lost, Way};
pub(crate) use led::{Led, astray};
pub use settings::{Calculation, Sampling, Scale};
pub use watch::{Interrupted, Watch};

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::{Finished, Journal};
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
    /// [`Sampling::runs`], 2 where the program has no such setting.
    pub runs: u64,
    /// [`Sampling::length`], 1 where the program has no such setting.
    pub length: f64,
    settings: toml::Table,
    assumptions: &'a Assumptions,
    traces: Option<PathBuf>,
    points: Points<'a>,
    watch: &'a dyn Watch,
    shown: Mutex<Vec<String>>,
    assumes: Mutex<BTreeSet<String>>,
    seconds_besides: Mutex<f64>,
}

/// Treatment of the points and files of a session.
enum Points<'a> {
    /// Points are computed and stored, and files are written.
    Kept(Kept<'a>),
    /// A single point is computed, and nothing is written.
    Led(&'a Led<'a>),
}

struct Kept<'a> {
    folder: PathBuf,
    command: String,
    journal: &'a Journal,
    elsewhere: Option<Elsewhere<'a>>,
}

/// Executor of points outside of this process.
struct Elsewhere<'a> {
    crew: &'a dyn Crew,
    program: &'a str,
    /// Results so far: a list per request for points.
    earlier: Mutex<Vec<Vec<Value>>>,
    /// True if the program must run on this machine.
    stays_here: AtomicBool,
}

const POISON: &str = "nothing panics while it holds the lock";

impl<'a> Session<'a> {
    /// Returns a session that writes its files to `folder`, each with `command` on its first line.
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
        watch: &'a dyn Watch,
    ) -> Result<Session<'a>, Failure> {
        let kept = Kept { folder: folder.to_owned(), command: command.to_owned(), journal, elsewhere: None };
        Session::of(settings, assumptions, Points::Kept(kept), watch)
    }

    /// Returns a session whose program runs up to one point and writes nothing.
    ///
    /// # Errors
    ///
    /// As for [`Session::new`].
    pub(crate) fn led(
        way: &Way,
        assumptions: &'a Assumptions,
        led: &'a Led<'a>,
        watch: &'a dyn Watch,
    ) -> Result<Session<'a>, Failure> {
        let session = Session::of(way.settings.clone(), assumptions, Points::Led(led), watch)?;
        Ok(session.with_traces(way.traces.clone()))
    }

    fn of(
        settings: toml::Table,
        assumptions: &'a Assumptions,
        points: Points<'a>,
        watch: &'a dyn Watch,
    ) -> Result<Session<'a>, Failure> {
        let number = |key: &str, otherwise: f64| match settings.get(key) {
            None => Ok(otherwise),
            Some(toml::Value::Integer(value)) => Ok(*value as f64),
            Some(toml::Value::Float(value)) => Ok(*value),
            Some(other) => Err(format!("`{key} = {other}`: a number is expected")),
        };
        let (runs, length) = (number("runs", 2.0)?, number("length", 1.0)?);
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
            shown: Mutex::default(),
            assumes: Mutex::default(),
            seconds_besides: Mutex::default(),
        })
    }

    /// Sets the folder of traces.
    #[must_use]
    pub fn with_traces(self, traces: Option<PathBuf>) -> Self {
        Session { traces, ..self }
    }

    /// Sets the executor of points, if there is one, for the program called `program`.
    #[must_use]
    pub fn answered_by(mut self, crew: Option<&'a dyn Crew>, program: &'a str) -> Self {
        if let Points::Kept(kept) = &mut self.points {
            let (earlier, stays_here) = (Mutex::default(), AtomicBool::new(false));
            kept.elsewhere = crew.map(|crew| Elsewhere { crew, program, earlier, stays_here });
        }
        self
    }

    /// Returns the settings as the program's own type.
    ///
    /// # Errors
    ///
    /// Returns an error for unknown or missing keys and for values of another type.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        T::deserialize(toml::Value::Table(self.settings.clone()))
            .map_err(|error| format!("settings: {}", error.message()).into())
    }

    /// Returns the value of an assumption, by its name in the register.
    ///
    /// # Errors
    ///
    /// Returns an error if the register does not have the name.
    pub fn assumed(&self, name: &str) -> Result<f64, Failure> {
        let value = self.assumptions.value(name)?;
        self.assumes.lock().expect(POISON).insert(name.to_owned());
        Ok(value)
    }

    /// Returns the names of the assumptions that were used.
    pub fn assumes(&self) -> Vec<String> {
        self.assumes.lock().expect(POISON).iter().cloned().collect()
    }

    /// Returns the folder of traces that were recorded elsewhere, if there is one.
    pub fn traces(&self) -> Option<&Path> {
        self.traces.as_deref()
    }

    /// Computes each of `keys` with `answer`, on all cores or by the executor, and returns the results in order. A
    /// result in the journal with the same `what` and key is reused; `answer` must depend on nothing else.
    ///
    /// # Errors
    ///
    /// [`Interrupted`]; [`Lost`]; an error of `answer`; a journal that cannot be written.
    pub fn each<K, T>(
        &self,
        what: &str,
        keys: &[K],
        answer: impl Fn(&K) -> Result<T, Failure> + Send + Sync,
    ) -> Result<Vec<T>, Failure>
    where
        K: Serialize + Sync,
        T: Serialize + DeserializeOwned + Send,
    {
        let identity = |key: &K| Ok(format!("{what} {}", serde_json::to_string(key)?));
        let points = keys.iter().map(identity).collect::<serde_json::Result<Vec<String>>>()?;
        let kept = match &self.points {
            Points::Led(led) => return led.each(&points, |at| answer(&keys[at])),
            Points::Kept(kept) => kept,
        };
        self.watch.expect(keys.len());
        let mut found: Vec<Option<T>> = points.iter().map(|point| self.known(kept, point)).collect();
        let elsewhere = kept.elsewhere.as_ref();
        if let Some(elsewhere) = elsewhere.filter(|elsewhere| !elsewhere.stays_here.load(Ordering::Relaxed)) {
            self.ask(kept, elsewhere, &points, &mut found)?;
        }
        let all = (&points, keys, found).into_par_iter().with_max_len(1).map(|(point, key, found)| {
            if let Some(found) = found {
                return Ok(found);
            }
            if self.flow().is_break() {
                return Err(Interrupted.into());
            }
            let began = ThreadTime::now();
            let found = answer(key)?;
            kept.journal.keep(&Finished::new(point, &found, began.elapsed().as_secs_f64())?)?;
            self.watch.finished(false);
            Ok(found)
        });
        let all = all.collect::<Result<Vec<T>, Failure>>()?;
        if let Some(elsewhere) = elsewhere {
            let values = all.iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
            elsewhere.earlier.lock().expect(POISON).push(values);
        }
        Ok(all)
    }

    /// Returns the result of a point from an earlier session.
    fn known<T: DeserializeOwned>(&self, kept: &Kept, point: &str) -> Option<T> {
        let known = kept.journal.find(point)?;
        let found = T::deserialize(&known.found).ok()?;
        *self.seconds_besides.lock().expect(POISON) += known.core_seconds;
        self.watch.finished(true);
        Some(found)
    }

    /// Computes the points without a result with the executor, and stores their results. A result that cannot be
    /// deserialised is left to be computed in this process, as for lines of the journal.
    fn ask<T: DeserializeOwned>(
        &self,
        kept: &Kept,
        elsewhere: &Elsewhere,
        points: &[String],
        found: &mut [Option<T>],
    ) -> Result<(), Failure> {
        let left: Vec<usize> = (0..points.len()).filter(|&at| found[at].is_none()).collect();
        if left.is_empty() {
            return Ok(());
        }
        let asked: Vec<String> = left.iter().map(|&at| points[at].clone()).collect();
        let way = Way {
            program: elsewhere.program.to_owned(),
            settings: self.settings.clone(),
            assumptions: self.assumptions.changed().clone(),
            traces: self.traces.clone(),
            earlier: elsewhere.earlier.lock().expect(POISON).clone(),
        };
        let (mut problem, mut finished) = (None, points.len() - left.len());
        let mut take = |(number, outcome): Ended| -> Result<(), Failure> {
            let answer = outcome?;
            kept.journal.keep(&Finished::new(&asked[number], &answer.found, answer.core_seconds)?)?;
            finished += 1;
            if let Ok(value) = T::deserialize(&answer.found) {
                found[left[number]] = Some(value);
                *self.seconds_besides.lock().expect(POISON) += answer.core_seconds;
                self.watch.finished(false);
            }
            Ok(())
        };
        let ended = elsewhere.crew.answer(&way, &asked, &mut |ended| {
            problem = ended.and_then(|ended| take(ended).err());
            if problem.is_some() { ControlFlow::Break(()) } else { self.flow() }
        });
        match problem {
            _ if self.flow().is_break() => Err(Interrupted.into()),
            Some(problem) => Err(problem),
            None => ended.map_err(|Lost(problem)| {
                Lost(format!("{problem}; {finished} of {} points are finished and kept", points.len())).into()
            }),
        }
    }

    /// Returns the core seconds of points that were computed earlier or elsewhere, not by this process.
    pub fn seconds_besides(&self) -> f64 {
        *self.seconds_besides.lock().expect(POISON)
    }

    /// Declares that the program must run on this machine for `reason`: its points are computed here, even if there is an executor.
    pub fn stays_here(&self, reason: &str) {
        if let Points::Kept(Kept { elsewhere: Some(elsewhere), .. }) = &self.points
            && !elsewhere.stays_here.swap(true, Ordering::Relaxed)
        {
            self.watch.stays_here(reason);
        }
    }

    /// Returns whether to continue, for runs that check regularly.
    pub fn flow(&self) -> ControlFlow<()> {
        self.watch.flow()
    }

    /// Declares that the program must clean up and must not be killed.
    pub fn has_to_undo(&self) {
        self.watch.be_patient();
    }

    /// Writes a file with `text` to the item's folder.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn leave(&self, name: &str, extension: &str, text: &str) -> Result<(), Failure> {
        let Points::Kept(kept) = &self.points else { return Ok(()) };
        let path = kept.folder.join(format!("{name}.{extension}"));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// Returns the command that repeats the reproduction.
    pub fn command(&self) -> &str {
        match &self.points {
            Points::Kept(kept) => &kept.command,
            Points::Led(_) => "",
        }
    }

    /// Marks the table `name` as one for people.
    pub fn show(&self, name: &str) {
        let mut shown = self.shown.lock().expect(POISON);
        if !shown.iter().any(|other| other == name) {
            shown.push(name.to_owned());
        }
    }

    /// Returns the tables for people, in the order in which they were written.
    pub fn shown(&self) -> Vec<String> {
        self.shown.lock().expect(POISON).clone()
    }
}

#[cfg(test)]
pub mod tests;
