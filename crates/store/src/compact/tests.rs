use super::*;
use crate::rows::read;
use crate::store::ResultStore;
use crate::store::tests::{filled, names, points};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Returns all runs of a store, in order.
fn contents(folder: &Path) -> Vec<PointResult> {
    let stored = read(folder).unwrap();
    assert_eq!(stored.found.unreadable, Vec::<String>::new());
    stored.points
}

#[test]
fn many_files_are_merged_into_one_with_equal_runs() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), points());
    let before = contents(folder.path());
    let done = compact(folder.path()).unwrap();
    assert_eq!(done, Compacted { runs: 8, files_before: 8, files_after: 1 });
    assert_eq!(names(folder.path()).len(), 1);
    assert_eq!(contents(folder.path()), before);
    let store = ResultStore::open(folder.path()).unwrap();
    assert_eq!((store.known().count(), store.found().rows), (8, 8));
    // A store with few files is not changed.
    let name = names(folder.path());
    assert_eq!(compact(folder.path()).unwrap(), Compacted { runs: 8, files_before: 1, files_after: 1 });
    assert_eq!(names(folder.path()), name);
}

#[test]
fn interrupted_compaction_loses_no_runs() {
    let mut steps = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        filled(folder.path(), &points()[..4]);
        let before = contents(folder.path());
        let mut left = steps;
        compact_until(folder.path(), MOST_ROWS, &mut || {
            left -= i32::from(left >= 0);
            left >= 0
        })
        .unwrap();
        assert_eq!(contents(folder.path()), before, "after {steps} steps");
        // The next compaction completes the work.
        let done = compact(folder.path()).unwrap();
        assert_eq!((done.runs, done.files_after), (4, 1), "after {steps} steps");
        assert_eq!(contents(folder.path()), before, "after {steps} steps");
        if left > 0 {
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, 6, "a file that is written and four that are removed, and none to do");
}

#[test]
fn unknown_and_damaged_files_are_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), &points()[..3]);
    let whole = names(folder.path());
    let bytes = fs::read(folder.path().join(&whole[0])).unwrap();
    fs::write(folder.path().join(&whole[0]), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(folder.path().join("mine.parquet"), b"PAR1").unwrap();
    fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
    let done = compact(folder.path()).unwrap();
    assert_eq!(done, Compacted { runs: 2, files_before: 3, files_after: 2 });
    let left = names(folder.path());
    assert!(["mine.parquet", "notes.txt", &whole[0]].iter().all(|name| left.iter().any(|left| left == name)));
    assert_eq!(fs::read(folder.path().join(&whole[0])).unwrap(), &bytes[..bytes.len() / 2]);
    assert!(compact(&folder.path().join("none")).unwrap_err().to_string().contains("no such folder"));
}

#[test]
fn concurrent_readers_writers_and_compactions_lose_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), &points()[..4]);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let compacts = || {
            while !is_over.load(SeqCst) {
                compact(folder.path()).unwrap();
            }
        };
        scope.spawn(compacts);
        scope.spawn(compacts);
        for point in points().iter().cycle().skip(4).take(40) {
            filled(folder.path(), std::slice::from_ref(point));
            assert!(contents(folder.path()).len() >= 5);
        }
        is_over.store(true, SeqCst);
    });
    compact(folder.path()).unwrap();
    assert_eq!((contents(folder.path()).len(), names(folder.path()).len()), (8, 1));
}

#[test]
fn concurrent_compactions_lose_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    filled(folder.path(), points());
    let sorted = contents(folder.path());
    for meanwhile in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        // The third and fourth run share a file, as they would again if a file before the second existed.
        filled(path, &sorted[2..4]);
        compact(path).unwrap();
        filled(path, &sorted[1..2]);
        filled(path, &sorted[2..3]);
        let mut steps = 0;
        compact_until(path, 2, &mut || {
            if steps == meanwhile {
                filled(path, &sorted[..1]);
                compact_until(path, 2, &mut || true).unwrap();
            }
            steps += 1;
            true
        })
        .unwrap();
        assert_eq!(steps, 5, "two files are written, and three removed");
        assert!(contents(path) == sorted[..4], "another came before step {meanwhile}");
    }
}

#[test]
fn choice_between_two_copies_is_stable_at_any_step() {
    // Two sweeps made the same run; one of them lists more of its settings.
    let one = &points()[0];
    let mut settings = one.settings.clone();
    settings.insert("seed".to_owned(), 1.into());
    let other = PointResult { settings, ..one.clone() };
    for last in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        for point in [one, &other] {
            filled(folder.path(), std::slice::from_ref(point));
        }
        assert_eq!(names(folder.path()).len(), 2);
        let before = contents(folder.path());
        for _ in 0..8 {
            let mut left = last;
            let mut goes_on = || {
                left -= 1;
                left >= 0
            };
            compact_until(folder.path(), MOST_ROWS, &mut goes_on).unwrap();
            assert!(contents(folder.path()) == before, "after {last} steps");
        }
    }
}
