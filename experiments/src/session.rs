//! What a program is given: its settings, a folder for what it finds, and the points that were finished before.

use crate::Failure;
use crate::assumptions::Assumptions;
use crate::journal::{Finished, Journal};
use cpu_time::ThreadTime;
use rayon::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// Who watches a reproduction, and may end it.
pub trait Watch: Sync {
    /// So many points are known to be ahead.
    fn expect(&self, _points: usize) {}

    /// One of them is finished; `again` if it was found finished.
    fn finished(&self, _again: bool) {}

    /// Whether to go on.
    fn flow(&self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// From now on the process is not to be ended from outside: what runs ends by itself soon after [`Watch::flow`] says so, and has to
    /// undo what it did.
    fn be_patient(&self) {}
}

/// The reproduction was ended by who watches it; finished points are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl std::fmt::Display for Interrupted {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("interrupted; finished points are kept, and the same command goes on")
    }
}

impl std::error::Error for Interrupted {}

/// Sizes of the drives of a program that simulates few and large ones: logarithms of their numbers of blocks to the base 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Of those that are swept.
    pub swept: u32,
    /// Of the largest one, of which there are few.
    pub largest: u32,
}

/// Settings of a program that runs scenarios with several seeds.
#[derive(Clone, Copy, Debug, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Runs of each scenario, with the seeds 1, 2, …; intervals need two.
    pub runs: u64,
    /// Warm-up and measurement as a multiple of the program's own rule.
    pub length: f64,
}

/// Settings of a program that only calculates: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calculation {}

/// What a program is given.
pub struct Session<'a> {
    /// [`Sampling::runs`], 2 where the program has no such setting.
    pub runs: u64,
    /// [`Sampling::length`], 1 where the program has no such setting.
    pub length: f64,
    settings: toml::Table,
    folder: PathBuf,
    command: String,
    assumptions: &'a Assumptions,
    journal: &'a Journal,
    watch: &'a dyn Watch,
    shown: Mutex<Vec<String>>,
    assumes: Mutex<BTreeSet<String>>,
    seconds_before: Mutex<f64>,
}

impl<'a> Session<'a> {
    /// A session that leaves its files in `folder`, each with `command` on its first line.
    ///
    /// # Errors
    ///
    /// Fewer runs than one, and a length that is not above 0.
    pub fn new(
        settings: toml::Table,
        folder: &Path,
        command: &str,
        assumptions: &'a Assumptions,
        journal: &'a Journal,
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
            folder: folder.to_owned(),
            command: command.to_owned(),
            assumptions,
            journal,
            watch,
            shown: Mutex::default(),
            assumes: Mutex::default(),
            seconds_before: Mutex::default(),
        })
    }

    /// The settings as the program's own type.
    ///
    /// # Errors
    ///
    /// Unknown or missing keys and values of another type.
    pub fn settings<T: DeserializeOwned>(&self) -> Result<T, Failure> {
        T::deserialize(toml::Value::Table(self.settings.clone()))
            .map_err(|error| format!("settings: {}", error.message()).into())
    }

    /// The value of an assumption, by its name in the register.
    ///
    /// # Errors
    ///
    /// A name that is not in the register.
    pub fn assumed(&self, name: &str) -> Result<f64, Failure> {
        let value = self.assumptions.value(name)?;
        self.assumes.lock().expect("nothing panics while it notes a name").insert(name.to_owned());
        Ok(value)
    }

    /// The names of the assumptions that were asked for.
    pub fn assumes(&self) -> Vec<String> {
        self.assumes.lock().expect("nothing panics while it notes a name").iter().cloned().collect()
    }

    /// Answers each of `keys` with `answer`, on all cores, in their order. An answer that was found before, by `what` and its
    /// key, is taken from the journal; `answer` must depend on nothing else.
    ///
    /// # Errors
    ///
    /// [`Interrupted`]; what `answer` fails with; a journal that cannot be written.
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
        self.watch.expect(keys.len());
        keys.par_iter()
            .with_max_len(1)
            .map(|key| {
                if self.flow().is_break() {
                    return Err(Interrupted.into());
                }
                let identity = format!("{what} {}", serde_json::to_string(key)?);
                let known = self.journal.find(&identity);
                let known =
                    known.and_then(|known| Some((T::deserialize(&known.found).ok()?, known.core_seconds)));
                let again = known.is_some();
                let found = match known {
                    Some((found, core_seconds)) => {
                        *self.seconds_before.lock().expect("nothing panics while it adds") += core_seconds;
                        found
                    }
                    None => {
                        let began = ThreadTime::now();
                        let found = answer(key)?;
                        let core_seconds = began.elapsed().as_secs_f64();
                        self.journal.keep(&Finished::new(&identity, &found, core_seconds)?)?;
                        found
                    }
                };
                self.watch.finished(again);
                Ok(found)
            })
            .collect()
    }

    /// What the points took of a core that were found in the journal, and so not now.
    pub fn seconds_before(&self) -> f64 {
        *self.seconds_before.lock().expect("nothing panics while it adds")
    }

    /// Whether to go on, for runs that ask now and then.
    pub fn flow(&self) -> ControlFlow<()> {
        self.watch.flow()
    }

    /// What runs has to undo what it did, and is not to be ended from outside.
    pub fn has_to_undo(&self) {
        self.watch.be_patient();
    }

    /// Leaves a file with `text` in the item's folder.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn leave(&self, name: &str, extension: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(format!("{name}.{extension}"));
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()).into())
    }

    /// The command that makes the same again.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// Notes that the table `name` is one for people.
    pub fn show(&self, name: &str) {
        let mut shown = self.shown.lock().expect("nothing panics while it notes a name");
        if !shown.iter().any(|other| other == name) {
            shown.push(name.to_owned());
        }
    }

    /// The tables for people, in the order in which they were written.
    pub fn shown(&self) -> Vec<String> {
        self.shown.lock().expect("nothing panics while it notes a name").clone()
    }
}

/// For the tests of what programs share.
#[cfg(test)]
pub mod tests {
    use super::*;

    /// Nobody who watches.
    pub struct Unwatched;

    impl Watch for Unwatched {}

    /// Calls `of` with a session in a folder of its own.
    pub fn with_session<T>(runs: u64, length: f64, of: impl FnOnce(&Session) -> T) -> T {
        with_settings(toml::toml! { runs = (runs as i64) length = length }, |session, _| of(session))
    }

    /// Calls `of` with a session of these settings, and its folder.
    pub fn with_settings<T>(settings: toml::Table, of: impl FnOnce(&Session, &Path) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("points.jsonl")).unwrap();
        let assumptions = Assumptions::register();
        let session = Session::new(settings, folder.path(), "", &assumptions, &journal, &Unwatched).unwrap();
        of(&session, folder.path())
    }

    #[test]
    fn points_are_answered_once_and_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let calls = std::sync::atomic::AtomicU32::new(0);
        let answer = |key: &u32| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(f64::from(*key) / 3.0)
        };
        let assumptions = Assumptions::register();
        for keys in [&[1, 2][..], &[1, 2, 5]] {
            let journal = Journal::open(&path).unwrap();
            let session =
                Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &Unwatched)
                    .unwrap();
            let wanted: Vec<f64> = keys.iter().map(|key| f64::from(*key) / 3.0).collect();
            assert_eq!(session.each("third", keys, answer).unwrap(), wanted);
            assert_eq!(session.seconds_before() > 0.0, keys.len() > 2, "the first two of the second sitting");
        }
        assert_eq!(calls.into_inner(), 3);
    }

    #[test]
    fn an_interruption_keeps_what_is_finished() {
        struct After(std::sync::atomic::AtomicU32);
        impl Watch for After {
            fn flow(&self) -> ControlFlow<()> {
                match self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
                    0 => ControlFlow::Continue(()),
                    _ => ControlFlow::Break(()),
                }
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let (assumptions, journal) = (Assumptions::register(), Journal::open(&path).unwrap());
        let watch = After(0.into());
        let session =
            Session::new(toml::Table::new(), folder.path(), "", &assumptions, &journal, &watch).unwrap();
        let stopped = session.each("same", &[7, 8, 9], |key: &u32| Ok(*key)).unwrap_err();
        assert!(stopped.is::<Interrupted>());
        drop(journal);
        let kept = std::fs::read_to_string(path).unwrap();
        assert_eq!(kept.lines().count(), 1, "{kept}");
    }

    #[test]
    fn settings_are_read_and_refused() {
        let folder = tempfile::tempdir().unwrap();
        let journal = Journal::open(&folder.path().join("points.jsonl")).unwrap();
        let assumptions = Assumptions::register();
        let new = |settings| {
            Session::new(settings, Path::new("."), "", &assumptions, &journal, &Unwatched)
                .map_err(|error| error.to_string())
        };
        let session = new(toml::toml! { swept = 12 largest = 14 }).unwrap();
        assert_eq!(session.settings::<Scale>().unwrap(), Scale { swept: 12, largest: 14 });
        assert!(session.settings::<Sampling>().unwrap_err().to_string().contains("unknown field"));
        assert!(new(toml::toml! { runs = 0 }).is_err());
        assert!(new(toml::toml! { length = "long" }).err().unwrap().contains("`length = \"long\"`"));
    }
}
