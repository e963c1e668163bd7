//! Options of a study: executor of the runs, and store of finished runs.

use crate::cluster::Dask;
use crate::exit::Failure;
use crate::messages::print_message;
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
pub struct ExecutorArgs {
    /// Runs at a time; number of cores unless given
    #[arg(long, alias = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Run on a Dask cluster with its scheduler at tcp://HOST:PORT; needs Python with wearwell and distributed
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads", help_heading = "Elsewhere")]
    dask: Option<String>,
}

impl ExecutorArgs {
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
    executor: ExecutorArgs,
    /// Keep finished runs in a folder of Parquet files, and skip runs that are there
    #[arg(long, value_name = "DIR", help_heading = "Elsewhere")]
    store: Option<PathBuf>,
}

/// Resources for a study, opened as the options request.
pub struct StudyResources {
    threads: Option<usize>,
    dask: Option<Dask>,
    store: Option<ResultStore>,
    /// Store that is removed once its runs are in a table.
    temporary_store: Option<PathBuf>,
}

impl StudyArgs {
    /// True if the user named a store.
    pub fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// Opens the requested resources. Without a store named by the user, finished runs are kept in `temporary_store`
    /// until [`StudyResources::remove_if_complete`].
    pub fn open_resources(&self, temporary_store: Option<&Path>) -> Result<StudyResources, Failure> {
        let dask = self.executor.dask()?;
        let transient = if self.store.is_some() { None } else { temporary_store.map(Path::to_owned) };
        let store = match (&self.store, &transient) {
            (Some(folder), _) => Some(open(folder)?),
            (None, Some(folder)) if cfg!(feature = "parquet") => Some(open(folder)?),
            _ => None,
        };
        Ok(StudyResources { threads: self.executor.threads(), dask, store, temporary_store: transient })
    }
}

impl StudyResources {
    /// Returns the options for a study.
    pub fn options(&self, with_prediction: bool, keep_windows: bool) -> SweepOptions<'_> {
        SweepOptions {
            store: self.store.as_ref().map(|store| store as &dyn Store),
            executor: self.dask.as_ref().map(|dask| dask as &dyn Executor),
            threads: self.threads,
            keep_windows,
            with_prediction,
            run: Some(top::run),
        }
    }

    /// Removes the temporary store of a complete study, whether or not its runs are in a table.
    pub fn remove(self) {
        if let (Some(_), Some(store)) = (self.temporary_store, self.store) {
            remove(store);
        }
    }

    /// Removes the temporary store of a complete study, unless it holds runs other than `identities`.
    pub fn remove_if_complete(self, identities: &[String]) {
        let (Some(folder), Some(store)) = (self.temporary_store, self.store) else { return };
        let foreign_runs = count_foreign_runs(&store, identities);
        if foreign_runs == 0 {
            return remove(store);
        }
        print_message(format_args!(
            "{} stays: it holds {foreign_runs} finished runs of another study, which goes on from there",
            folder.display()
        ));
    }
}

/// Removes the store. An error is only reported, because the study is complete and the runs are no longer needed.
fn remove(store: ResultStore) {
    if let Err(error) = store.remove() {
        print_message(error);
    }
}

/// Returns the path of the store next to the file at `output`.
pub fn runs_folder(output: &Path) -> PathBuf {
    let mut folder = output.as_os_str().to_owned();
    folder.push(".runs");
    folder.into()
}

#[cfg(feature = "parquet")]
fn open(folder: &Path) -> Result<ResultStore, Failure> {
    let store = ResultStore::open(folder).map_err(Failure::run)?;
    store.inventory().messages().into_iter().for_each(print_message);
    Ok(store)
}

/// Returns the number of runs in `store`, as it was opened, other than `identities`; unreadable rows count.
#[cfg(feature = "parquet")]
fn count_foreign_runs(store: &ResultStore, identities: &[String]) -> usize {
    let found = store.inventory();
    let known_identities: HashSet<&str> = identities.iter().map(String::as_str).collect();
    let unknown = store.identities().filter(|known| !known_identities.contains(known)).count();
    unknown + found.rows_of_other_builds.values().sum::<usize>() + found.unreadable.len()
}

#[cfg(not(feature = "parquet"))]
fn open(folder: &Path) -> Result<ResultStore, Failure> {
    let problem = "this program was built without Parquet files; `make build` builds it with them";
    Err(Failure::Usage(format!("{}: {problem}", folder.display())))
}

#[cfg(not(feature = "parquet"))]
fn count_foreign_runs(_: &ResultStore, _: &[String]) -> usize {
    0
}

/// Replacement for stores in a program that was built without Parquet files.
#[cfg(not(feature = "parquet"))]
mod without {
    use serde_json::Value;
    use std::collections::BTreeMap;
    use wearwell_stack::RunResult;
    use wearwell_study::{PointResult, Store, StoreError};

    /// Type without values, so that no store can be opened.
    #[derive(Debug)]
    pub enum ResultStore {}

    impl ResultStore {
        /// Never called, because the type has no values.
        pub fn remove(self) -> Result<(), StoreError> {
            match self {}
        }
    }

    impl Store for ResultStore {
        fn declare_settings(&self, _: &mut dyn Iterator<Item = &BTreeMap<String, Value>>) {
            match *self {}
        }

        fn find(&self, _: &str) -> Option<RunResult> {
            match *self {}
        }

        fn put(&self, _: &PointResult) -> Result<(), StoreError> {
            match *self {}
        }

        fn flush(&self) -> Result<(), StoreError> {
            match *self {}
        }
    }
}
