use super::*;
use crate::file::{StoredRow, parse};
use crate::rows::read;
use proptest::prelude::*;
use std::fs;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use wearwell_stack::{Draft, Progress};
use wearwell_study::{Axis, Outcome, Sweep, SweepError, SweepObserver, SweepOptions};

const TOML: &str = r#"
[device]
blocks_per_plane = 100
pages_per_block = 16
load = 0.8

[workload]
kind = "uniform"

[measure]
warm_up = 2.0
drive_writes = 2.0
"#;

/// Observer that allows this many runs to start.
struct InterruptAfter(usize);

impl SweepObserver for InterruptAfter {
    fn begin(&self, _: usize) -> ControlFlow<()> {
        if self.0 > 0 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    }

    fn progress(&self, _: usize, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    fn finished(&self, _: usize, _: usize) {}
}

fn plan() -> Sweep {
    let base = Draft::from_toml(TOML, "base.toml").unwrap();
    let axes = ["device.spare_factor=0.1,0.2", "ftl.victim=greedy,{policy=\"d_choices\",choices=3}"];
    Sweep::plan(&base, &axes.map(|axis| Axis::parse(axis).unwrap()), 2).unwrap()
}

fn run(store: Option<&ResultStore>, max_runs: usize) -> Result<Vec<Outcome>, SweepError> {
    let store = store.map(|store| store as &dyn Store);
    plan().run(&SweepOptions { store, threads: Some(1), ..Default::default() }, &InterruptAfter(max_runs))
}

/// Returns eight finished runs.
pub(crate) fn points() -> &'static [PointResult] {
    static POINTS: OnceLock<Vec<PointResult>> = OnceLock::new();
    POINTS.get_or_init(|| run(None, 1).unwrap().into_iter().map(Result::unwrap).collect())
}

/// Creates a store with some runs, one file per run.
pub(crate) fn fill_store(folder: &Path, points: &[PointResult]) {
    let store = ResultStore::open(folder).unwrap();
    let plan = plan();
    store.declare_settings(&mut plan.points().iter().map(|point| &point.settings));
    for point in points {
        store.put(point).unwrap();
        store.flush().unwrap();
    }
}

pub(crate) fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn stored_runs_are_found_and_not_repeated() {
    let folder = tempfile::tempdir().unwrap();
    fill_store(folder.path(), points());
    let store = ResultStore::open(folder.path()).unwrap();
    assert_eq!((store.inventory().rows, store.inventory().messages()), (8, vec![]));
    // No run is allowed to start.
    let repeated: Vec<_> = run(Some(&store), 0).unwrap().into_iter().map(Result::unwrap).collect();
    assert_eq!(repeated, points());
    assert_eq!(read(folder.path()).unwrap().points.len(), 8);
}

#[test]
fn file_is_written_after_one_second_of_work() {
    let folder = tempfile::tempdir().unwrap();
    let store = ResultStore::open(folder.path()).unwrap();
    let mut point = points()[0].clone();
    for (at, seconds) in [(1, 0.5), (2, 0.4), (3, 0.2), (4, 0.1)] {
        point.result.performance.seconds = seconds;
        store.put(&point).unwrap();
        assert_eq!(names(folder.path()).len(), usize::from(at >= 3), "after {at}");
    }
    store.flush().unwrap();
    store.flush().unwrap();
    let [first, second] = &names(folder.path())[..] else { panic!("{:?}", names(folder.path())) };
    let rows =
        [first, second].map(|name| parse(fs::read(folder.path().join(name)).unwrap().into()).unwrap().len());
    assert_eq!(rows.iter().sum::<usize>(), 4);
}

#[test]
fn damaged_files_are_reported_and_their_runs_repeated() {
    let folder = tempfile::tempdir().unwrap();
    fill_store(folder.path(), &points()[..5]);
    let all = names(folder.path());
    let bytes = fs::read(folder.path().join(&all[0])).unwrap();
    fs::write(folder.path().join(&all[0]), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(folder.path().join(&all[1]), b"").unwrap();
    let mut bytes = fs::read(folder.path().join(&all[2])).unwrap();
    bytes[100] ^= 1;
    fs::write(folder.path().join(&all[2]), bytes).unwrap();
    // The folder contains a file that Wearwell did not write, and an unfinished file as a power failure leaves it.
    fs::write(folder.path().join("mine.parquet"), b"PAR1").unwrap();
    fs::write(folder.path().join(".wearwell-x.tmp"), b"PAR1").unwrap();
    fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
    let store = ResultStore::open(folder.path()).unwrap();
    assert_eq!(store.inventory().rows, 2);
    let complaints = store.inventory().messages();
    assert_eq!(complaints.len(), 4, "{complaints:?}");
    for (name, problem) in all[..3]
        .iter()
        .map(|name| (name.as_str(), "is damaged"))
        .chain([("mine.parquet", "was not written by a store")])
    {
        let complaint = complaints.iter().find(|complaint| complaint.contains(name)).unwrap();
        assert!(complaint.contains(problem) && complaint.ends_with("it is left out"), "{complaint}");
    }
    let outcomes = run(Some(&store), 1).unwrap();
    assert_eq!(outcomes.len(), 8);
    assert_eq!(ResultStore::open(folder.path()).unwrap().inventory().rows, 8);
    assert_eq!(fs::read(folder.path().join("notes.txt")).unwrap(), b"mine");
}

#[test]
fn runs_of_other_versions_are_not_reused() {
    let folder = tempfile::tempdir().unwrap();
    let other_versions: Vec<_> = points()
        .iter()
        .take(3)
        .cloned()
        .map(|mut point| {
            point.result.version = "0.0.9".into();
            point
        })
        .collect();
    fill_store(folder.path(), &other_versions);
    let store = ResultStore::open(folder.path()).unwrap();
    assert_eq!(store.identities().count(), 0);
    let messages = store.inventory().messages().join("\n");
    assert!(messages.starts_with("3 runs of version 0.0.9 are not taken for done by "), "{messages}");
    assert!(matches!(run(Some(&store), 0), Err(SweepError::Interrupted { finished: 0, points: 8 })));
    assert!(read(folder.path()).unwrap().points.is_empty());
}

#[test]
fn result_under_a_foreign_identity_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let mut swapped = points()[0].clone();
    swapped.result.scenario = points()[1].result.scenario.clone();
    let store = ResultStore::open(folder.path()).unwrap();
    let mut columns = columns(&[points()[0].clone()], &BTreeMap::new());
    let text = serde_json::to_string(&swapped.result).unwrap();
    columns.iter_mut().find(|(name, _)| name == RESULT).unwrap().1 = Column::Text(vec![Some(text)]);
    drop(store);
    write_file(folder.path(), &columns);
    let store = ResultStore::open(folder.path()).unwrap();
    assert_eq!(store.find(&identity(&points()[0].result.scenario)), None);
    assert_eq!(read(folder.path()).unwrap().inventory.unreadable.len(), 1);
}

fn write_file(folder: &Path, columns: &[(String, Column)]) {
    let mut bytes = Vec::new();
    parquet::write(&mut bytes, columns, &[]).unwrap();
    fs::write(folder.join(file_name_of(&bytes)), bytes).unwrap();
}

#[test]
fn unexpected_columns_are_refused_by_name() {
    let text = |text: &str| Column::Text(vec![Some(text.into())]);
    let valid_columns = || {
        vec![
            (IDENTITY.to_owned(), text("0")),
            (VERSION.to_owned(), text(BUILD)),
            (SETTINGS.to_owned(), text("{}")),
            (REPLICA.to_owned(), Column::Count(vec![Some(0)])),
            (RESULT.to_owned(), text("{}")),
        ]
    };
    for name in [IDENTITY, VERSION, SETTINGS, REPLICA, RESULT] {
        let index = valid_columns().iter().position(|(own, _)| own == name).unwrap();
        let mut missing = valid_columns();
        missing.remove(index);
        let mut changed = valid_columns();
        changed[index].1 = Column::Number(vec![Some(1.5)]);
        let mut absent = valid_columns();
        absent[index].1 = if name == REPLICA { Column::Count(vec![None]) } else { Column::Text(vec![None]) };
        for columns in [missing, changed, absent] {
            let folder = tempfile::tempdir().unwrap();
            write_file(folder.path(), &columns);
            let found = ResultStore::open(folder.path()).unwrap().inventory;
            assert!(
                found.unreadable.len() == 1 && found.unreadable[0].contains(&format!("`{name}`")),
                "{found:?}"
            );
        }
    }
    let folder = tempfile::tempdir().unwrap();
    write_file(folder.path(), &valid_columns());
    let found = ResultStore::open(folder.path()).unwrap().inventory;
    assert_eq!((found.rows, found.unreadable.len()), (1, 0));
}

#[test]
fn concurrent_writers_and_readers_see_whole_files() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::thread::scope(|scope| {
        for half in points().chunks(2) {
            scope.spawn(move || fill_store(path, half));
        }
        // Several threads write the same run.
        for _ in 0..3 {
            scope.spawn(|| fill_store(folder.path(), &points()[..1]));
        }
        // A concurrent reader never sees a partial file.
        scope.spawn(|| {
            for _ in 0..50 {
                assert_eq!(ResultStore::open(folder.path()).unwrap().inventory().messages(), [""; 0]);
            }
        });
    });
    let stored = read(folder.path()).unwrap();
    assert_eq!((stored.points.len(), stored.inventory.unreadable.len()), (8, 0));
    assert!(names(folder.path()).iter().all(|name| name.ends_with(".parquet")));
}

#[test]
fn column_has_one_type_in_all_files() {
    let folder = tempfile::tempdir().unwrap();
    let mut odd = points()[0].clone();
    odd.result.write_amplification = None;
    fill_store(folder.path(), &[&[odd][..], points()].concat());
    let schemas: Vec<String> = names(folder.path())
        .iter()
        .map(|name| {
            use ::parquet::file::reader::{FileReader, SerializedFileReader};
            let file = fs::File::open(folder.path().join(name)).unwrap();
            format!("{:?}", SerializedFileReader::new(file).unwrap().metadata().file_metadata().schema())
        })
        .collect();
    assert_eq!(schemas.len(), 9);
    assert!(schemas.iter().all(|schema| *schema == schemas[0]));
}

#[test]
fn foreign_files_remain_when_the_store_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    fill_store(&runs, points());
    fs::write(runs.join(".wearwell-half.tmp"), "half").unwrap();
    ResultStore::open(&runs).unwrap().remove().unwrap();
    assert!(!runs.exists(), "nothing else was in it");
    fill_store(&runs, points());
    let foreign_files = ["mine.parquet", "notes.txt"];
    foreign_files.iter().for_each(|name| fs::write(runs.join(name), "mine").unwrap());
    ResultStore::open(&runs).unwrap().remove().unwrap();
    let mut remaining: Vec<_> =
        fs::read_dir(&runs).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    remaining.sort();
    assert_eq!(remaining, foreign_files);
}

#[test]
fn file_in_place_of_the_folder_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.jsonl");
    fs::write(&file, "mine").unwrap();
    let error = ResultStore::open(&file).unwrap_err().to_string();
    assert!(error.contains("runs.jsonl: is a file"), "{error}");
    assert!(read(&file).unwrap_err().to_string().contains("is a file"));
    assert!(read(&folder.path().join("nowhere")).unwrap_err().to_string().contains("no such folder"));
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

fn file_with_one_run() -> &'static [u8] {
    static FILE: OnceLock<Vec<u8>> = OnceLock::new();
    FILE.get_or_init(|| {
        let mut bytes = Vec::new();
        parquet::write(&mut bytes, &columns(&points()[..2], &BTreeMap::new()), &[]).unwrap();
        bytes
    })
}

#[test]
fn corrupt_footer_bytes_never_panic() {
    let valid_file = file_with_one_run();
    for offset in valid_file.len() * 3 / 4..valid_file.len() {
        let mut bytes = valid_file.to_vec();
        // The value is odd, which encodes a negative number.
        bytes[offset] = 133;
        let entries: Result<Vec<StoredRow>, _> = parse(bytes.into());
        assert!(entries.is_err() || entries.is_ok_and(|entries| entries.len() <= 1000), "byte {offset}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged file may have a name that matches its content: reading it fails or succeeds, but never panics.
    #[test]
    fn hostile_files_never_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        near_the_end in any::<bool>(),
        cut in prop::option::of(any::<prop::sample::Index>()),
    ) {
        let mut bytes = file_with_one_run().to_vec();
        let begin = if near_the_end { bytes.len() * 3 / 4 } else { 0 };
        for (position, value) in changes {
            let offset = begin + position.index(bytes.len() - begin);
            bytes[offset] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let entries: Result<Vec<StoredRow>, _> = parse(bytes.into());
        if let Ok(entries) = entries {
            prop_assert!(entries.len() <= 1000);
        }
    }
}
