//! Who makes the runs of a study, and where finished ones are kept.

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

/// Who makes runs.
#[derive(clap::Args)]
pub struct CrewArgs {
    /// Runs at a time; as many as there are cores unless given
    #[arg(long, alias = "jobs", value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
    /// Make the runs on a Dask cluster, whose scheduler is at tcp://HOST:PORT; needs Python with wearwell and distributed
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads", help_heading = "Elsewhere")]
    dask: Option<String>,
}

impl CrewArgs {
    /// Runs at a time that were asked for.
    pub fn threads(&self) -> Option<usize> {
        self.threads.map(usize::from)
    }

    /// The cluster, if there is to be one.
    pub fn dask(&self) -> Result<Option<Dask>, Failure> {
        self.dask.as_deref().map(Dask::new).transpose().map_err(Failure::Usage)
    }
}

/// Options of commands that make many runs.
#[derive(clap::Args)]
pub struct StudyArgs {
    #[command(flatten)]
    crew: CrewArgs,
    /// Keep finished runs in a folder of Parquet files, and make none that is there
    #[arg(long, value_name = "DIR", help_heading = "Elsewhere")]
    store: Option<PathBuf>,
}

/// What the options come to.
pub struct StudyPlace {
    threads: Option<usize>,
    dask: Option<Dask>,
    store: Option<ResultStore>,
    /// A store that goes once its runs are in a table.
    transient: Option<PathBuf>,
}

impl StudyArgs {
    /// Whether the user named a store.
    pub fn has_store(&self) -> bool {
        self.store.is_some()
    }

    /// Makes ready what was asked for; without a store of the user's own, finished runs are kept in `beside` until
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
    /// As a study takes it.
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

    /// Removes the finished runs of a study that is complete and whose runs nobody else has.
    pub fn remove(self) {
        if let (Some(_), Some(store)) = (self.transient, self.store) {
            remove(store);
        }
    }

    /// Removes the finished runs of a study that is complete, `identities` of which are in a table now, unless there are others.
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

/// Runs that stay are no more than unneeded: the study is done.
fn remove(store: ResultStore) {
    if let Err(error) = store.remove() {
        tell(error);
    }
}

/// Finished runs beside the file at `output`.
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

/// What `store` held besides runs of these identities as it was opened, rows that nobody can read among it.
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

/// What stands in for stores in a program that was built without Parquet files.
#[cfg(not(feature = "parquet"))]
mod without {
    use serde_json::Value;
    use std::collections::BTreeMap;
    use wearwell_stack::RunResult;
    use wearwell_study::{PointResult, Store, StoreError};

    /// There is none.
    #[derive(Debug)]
    pub enum ResultStore {}

    impl ResultStore {
        /// Nothing is removed.
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
