//! Options of a study: executor of the runs, and store of finished runs.

use crate::cluster::Dask;
use crate::exit::Failure;
use crate::tell::tell;
use crate::top;
#[cfg(feature = "parquet")]
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use wearwell_study::{Executor, Store, SweepOptions};

#[cfg(feature = "parquet")]
pub use wearwell_store::ResultStore;
#[cfg(not(feature = "parquet"))]
pub use without::ResultStore;

/// Options that select the executor of runs.
#[derive(clap::Args)]
pub struct CrewArgs {
    /// Runs at a time; number of cores unless given
    #[arg(long, alias = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Run on a Dask cluster with its scheduler at tcp://HOST:PORT; needs Python with wearwell and distributed
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads", help_heading = "Elsewhere")]
    dask: Option<String>,
}

impl CrewArgs {
    /// Returns the requested number of parallel runs.
    pub fn threads(&self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// Returns the cluster, if one was requested.
    pub fn dask(&self) -> Result<Option<Dask>, Failure> {
        self.dask.as_deref().map(Dask::new).transpose().map_err(Failure::Usage)
    }
}

/// Options of commands that make many runs.
#[derive(clap::Args)]
pub struct StudyArgs {
    #[command(flatten)]
    crew: CrewArgs,
    /// Keep finished runs in a folder of Parquet files, and skip runs that are there
    #[arg(long, value_name = "DIR", help_heading = "Elsewhere")]
    store: Option<PathBuf>,
}

/// Resources for a study, opened as the options request.
pub struct StudyPlace {
    threads: Option<usize>,
    dask: Option<Dask>,
    store: Option<ResultStore>,
    /// Store that is removed once its runs are in a table.
    transient: Option<PathBuf>,
}

impl StudyArgs {
    /// True if the user named a store.
    pub fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// Opens the requested resources. Without a store of the user's own, finished runs are kept in `beside` until
    /// [`StudyPlace::tidy`].
    pub fn place(&self, beside: Option<&Path>) -> Result<StudyPlace, Failure> {
        let dask = self.crew.dask()?;
        let transient = if self.store.is_some() { None } else { beside.map(Path::to_owned) };
        let store = match (&self.store, &transient) {
            (Some(folder), _) => Some(open(folder)?),
            (None, Some(folder)) if cfg!(feature = "parquet") => Some(open(folder)?),
            _ => None,
        };
        Ok(StudyPlace { threads: self.crew.threads(), dask, store, transient })
    }
}

impl StudyPlace {
    /// Returns the options for a study.
    pub fn options(&self, beside_theory: bool, keep_windows: bool) -> SweepOptions<'_> {
        SweepOptions {
            store: self.store.as_ref().map(|store| store as &dyn Store),
            executor: self.dask.as_ref().map(|dask| dask as &dyn Executor),
            threads: self.threads,
            keep_windows,
            beside_theory,
            run: Some(top::run),
        }
    }

    /// Removes the temporary store of a complete study, whether or not its runs are in a table.
    pub fn remove(self) {
        if let (Some(_), Some(store)) = (self.transient, self.store) {
            remove(store);
        }
    }

    /// Removes the temporary store of a complete study, unless it holds runs other than `identities`.
    pub fn tidy(self, identities: &[String]) {
        let (Some(folder), Some(store)) = (self.transient, self.store) else { return };
        let others = others(&store, identities);
        if others == 0 {
            return remove(store);
        }
        tell(format_args!(
            "{} stays: it holds {others} finished runs of another study, which goes on from there",
            folder.display()
        ));
    }
}

/// Removes the store. An error is only reported, because the study is complete and the runs are no longer needed.
fn remove(store: ResultStore) {
    if let Err(error) = store.remove() {
        tell(error);
    }
}

/// Returns the path of the store next to the file at `output`.
pub fn beside(output: &Path) -> PathBuf {
    let mut folder = output.as_os_str().to_owned();
    folder.push(".runs");
    folder.into()
}

#[cfg(feature = "parquet")]
fn open(folder: &Path) -> Result<ResultStore, Failure> {
    let store = ResultStore::open(folder).map_err(Failure::run)?;
    store.found().complaints().into_iter().for_each(tell);
    Ok(store)
}

/// Returns the number of runs in `store`, as it was opened, other than `identities`; unreadable rows count.
#[cfg(feature = "parquet")]
fn others(store: &ResultStore, identities: &[String]) -> usize {
    let found = store.found();
    let own: HashSet<&str> = identities.iter().map(String::as_str).collect();
    let unknown = store.known().filter(|known| !own.contains(known)).count();
    unknown + found.others.values().sum::<usize>() + found.unreadable.len()
}

#[cfg(not(feature = "parquet"))]
fn open(folder: &Path) -> Result<ResultStore, Failure> {
    let problem = "this program was built without Parquet files; `make build` builds it with them";
    Err(Failure::Usage(format!("{}: {problem}", folder.display())))
}

#[cfg(not(feature = "parquet"))]
fn others(_: &ResultStore, _: &[String]) -> usize {
    0
}

/// Replacement for stores in a program that was built without Parquet files.
#[cfg(not(feature = "parquet"))]
mod without {
    use serde_json::Value;
    use std::collections::BTreeMap;
    use wearwell_stack::RunResult;
    use wearwell_study::{PointResult, Store, StoreError};

    /// Type without values.
    #[derive(Debug)]
    pub enum ResultStore {}

    impl ResultStore {
        /// Never called.
        pub fn remove(self) -> Result<(), StoreError> {
            match self {}
        }
    }

    impl Store for ResultStore {
        fn expect(&self, _: &mut dyn Iterator<Item = &BTreeMap<String, Value>>) {
            match *self {}
        }

        fn find(&self, _: &str) -> Option<RunResult> {
            match *self {}
        }

        fn keep(&self, _: &PointResult) -> Result<(), StoreError> {
            match *self {}
        }

        fn flush(&self) -> Result<(), StoreError> {
            match *self {}
        }
    }
}
