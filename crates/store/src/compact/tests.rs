use super::*;
use crate::rows::read;
use crate::store::ResultStore;
use crate::store::tests::{fill_store, names, points};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

/// Returns all runs of a store, in order.
fn contents(folder: &Path) -> Vec<PointResult> {
    let stored = read(folder).unwrap();
    assert_eq!(stored.inventory.unreadable, Vec::<String>::new());
    stored.points
}

#[test]
fn many_files_are_merged_into_one_with_equal_runs() {
    let folder = tempfile::tempdir().unwrap();
    fill_store(folder.path(), points());
    let before = contents(folder.path());
    let done = compact(folder.path()).unwrap();
    assert_eq!(done, CompactionResult { runs: 8, files_before: 8, files_after: 1 });
    assert_eq!(names(folder.path()).len(), 1);
    assert_eq!(contents(folder.path()), before);
    let store = ResultStore::open(folder.path()).unwrap();
    assert_eq!((store.identities().count(), store.inventory().rows), (8, 8));
    // A store with few files is not changed.
    let name = names(folder.path());
    assert_eq!(
        compact(folder.path()).unwrap(),
        CompactionResult { runs: 8, files_before: 1, files_after: 1 }
    );
    assert_eq!(names(folder.path()), name);
}

#[test]
fn interrupted_compaction_loses_no_runs() {
    let mut steps = 0;
    loop {
        let folder = tempfile::tempdir().unwrap();
        fill_store(folder.path(), &points()[..4]);
        let before = contents(folder.path());
        let mut remaining_steps = steps;
        compact_to_step(folder.path(), MAX_FILE_ROWS, &mut || {
            remaining_steps -= i32::from(remaining_steps >= 0);
            remaining_steps >= 0
        })
        .unwrap();
        assert_eq!(contents(folder.path()), before, "after {steps} steps");
        // The next compaction completes the work.
        let done = compact(folder.path()).unwrap();
        assert_eq!((done.runs, done.files_after), (4, 1), "after {steps} steps");
        assert_eq!(contents(folder.path()), before, "after {steps} steps");
        if remaining_steps > 0 {
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, 6, "a file that is written and four that are removed, and none to do");
}

#[test]
fn unknown_and_damaged_files_are_not_changed() {
    let folder = tempfile::tempdir().unwrap();
    fill_store(folder.path(), &points()[..3]);
    let before = names(folder.path());
    let bytes = fs::read(folder.path().join(&before[0])).unwrap();
    fs::write(folder.path().join(&before[0]), &bytes[..bytes.len() / 2]).unwrap();
    fs::write(folder.path().join("mine.parquet"), b"PAR1").unwrap();
    fs::write(folder.path().join("notes.txt"), b"mine").unwrap();
    let done = compact(folder.path()).unwrap();
    assert_eq!(done, CompactionResult { runs: 2, files_before: 3, files_after: 2 });
    let remaining = names(folder.path());
    assert!(
        ["mine.parquet", "notes.txt", &before[0]]
            .iter()
            .all(|name| remaining.iter().any(|remaining_name| remaining_name == name))
    );
    assert_eq!(fs::read(folder.path().join(&before[0])).unwrap(), &bytes[..bytes.len() / 2]);
    assert!(compact(&folder.path().join("none")).unwrap_err().to_string().contains("no such folder"));
}

#[test]
fn concurrent_readers_writers_and_compactions_lose_no_runs() {
    let folder = tempfile::tempdir().unwrap();
    fill_store(folder.path(), &points()[..4]);
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
            fill_store(folder.path(), std::slice::from_ref(point));
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
    fill_store(folder.path(), points());
    let sorted = contents(folder.path());
    for meanwhile in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        // The third and the fourth run share a file, as they would again if there were a file before the file of the
        // second run.
        fill_store(path, &sorted[2..4]);
        compact(path).unwrap();
        fill_store(path, &sorted[1..2]);
        fill_store(path, &sorted[2..3]);
        let mut steps = 0;
        compact_to_step(path, 2, &mut || {
            if steps == meanwhile {
                fill_store(path, &sorted[..1]);
                compact_to_step(path, 2, &mut || true).unwrap();
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
fn choice_between_copies_is_stable_at_every_step() {
    // Two sweeps executed the same run; one of them lists more of its settings.
    let one = &points()[0];
    let mut settings = one.settings.clone();
    settings.insert("seed".to_owned(), 1.into());
    let twin = PointResult { settings, ..one.clone() };
    for last in 0..4 {
        let folder = tempfile::tempdir().unwrap();
        for point in [one, &twin] {
            fill_store(folder.path(), std::slice::from_ref(point));
        }
        assert_eq!(names(folder.path()).len(), 2);
        let before = contents(folder.path());
        for _ in 0..8 {
            let mut remaining_steps = last;
            let mut keep_going = || {
                remaining_steps -= 1;
                remaining_steps >= 0
            };
            compact_to_step(folder.path(), MAX_FILE_ROWS, &mut keep_going).unwrap();
            assert!(contents(folder.path()) == before, "after {last} steps");
        }
    }
}
