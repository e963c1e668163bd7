//! Tests of drives whose image is a journal.

use crate::common::{ReferenceDisk, SMALL, page_steps, run_step, scenario};
use std::path::Path;
use wearwell_serve::device::check_journal;
use wearwell_serve::image::ReplayCounts;
use wearwell_serve::{Device, Speed};

fn open(at: &Path, text: &str) -> Result<(Device, ReplayCounts), String> {
    Device::in_journal(&scenario(text), at, Speed::Full).map_err(|error| error.to_string())
}

/// After an end at any moment, content and counters are restored.
#[test]
fn journal_restores_drive_without_clean_shutdown() {
    for ftl in ["", "[ftl]\nstructure = \"dftl\"\n", "[ftl]\ndedup = \"cagc\"\n"] {
        let (folder, text) = (tempfile::tempdir().unwrap(), format!("{SMALL}{ftl}"));
        let mut naive = None;
        for round in 0..3 {
            let (mut device, counts) = open(folder.path(), &text).unwrap();
            assert_eq!((counts.requests > 0, counts.torn_bytes), (round > 0, 0));
            let naive = naive.get_or_insert_with(|| ReferenceDisk(vec![0; device.bytes() as usize]));
            let mut all = vec![0; naive.0.len()];
            device.read(0, &mut all).unwrap();
            assert!(all == naive.0, "{text}");
            for step in page_steps(device.bytes(), 1500, round) {
                assert_eq!(run_step(&mut device, &step).unwrap(), naive.apply(&step), "{text}");
            }
            device.write(0, &[round as u8; 4096]).unwrap();
            naive.0[..4096].fill(round as u8);
            let before = device.status().snapshot.reports().nand.clone().unwrap();
            drop(device);
            let again =
                open(folder.path(), &text).unwrap().0.status().snapshot.reports().nand.clone().unwrap();
            assert_eq!(
                (before.programs, &before.erase_counts),
                (again.programs, &again.erase_counts),
                "{text}"
            );
        }
    }
}

#[test]
fn incomplete_entry_at_end_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (mut device, _) = open(folder.path(), SMALL).unwrap();
    device.write(0, &[1; 4096]).unwrap();
    device.write(0, &[2; 4096]).unwrap();
    drop(device);
    let journal = folder.path().join("requests");
    let length = journal.metadata().unwrap().len();
    std::fs::File::options().write(true).open(&journal).unwrap().set_len(length - 5).unwrap();
    let (mut device, counts) = open(folder.path(), SMALL).unwrap();
    assert_eq!((counts.requests, counts.torn_bytes), (1, 16 + 20 + 4 - 5));
    let mut out = [0; 4096];
    device.read(0, &mut out).unwrap();
    assert_eq!(out, [1; 4096]);
}

#[test]
fn damaged_or_foreign_images_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (mut device, _) = open(folder.path(), SMALL).unwrap();
    device.write(0, &[1; 8192]).unwrap();
    device.flush().unwrap();
    assert!(open(folder.path(), SMALL).map(|_| ()).unwrap_err().contains("in use"));
    drop(device);
    let refused = || open(folder.path(), SMALL).map(|_| ()).unwrap_err();
    assert!(
        open(folder.path(), &format!("seed = 5\n{SMALL}"))
            .map(|_| ())
            .unwrap_err()
            .contains("another scenario")
    );
    let path = folder.path().join("requests");
    let whole = std::fs::read(&path).unwrap();
    let step = (whole.len() / 97).max(1);
    for at in (0..whole.len()).step_by(step) {
        let mut damaged = whole.clone();
        damaged[at] ^= 0x10;
        std::fs::write(&path, &damaged).unwrap();
        let told = refused();
        assert!(told.starts_with(&folder.path().display().to_string()), "{told}");
        assert!(check_journal(folder.path()).is_err(), "byte {at}");
    }
    std::fs::write(&path, &whole).unwrap();
    // An image without a part of its pages is refused, and found by a check.
    let path = folder.path().join("pages");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..4096]).unwrap();
    assert!(refused().contains("is missing"));
    assert!(check_journal(folder.path()).unwrap_err().to_string().contains("is missing"));
    std::fs::write(&path, &whole).unwrap();
    open(folder.path(), SMALL).unwrap();
    let other = tempfile::tempdir().unwrap();
    std::fs::write(other.path().join("mine"), "").unwrap();
    assert!(open(other.path(), SMALL).map(|_| ()).unwrap_err().contains("not empty"));
}

/// A damaged page fails alone: the other pages can be read, and a write repairs it.
#[test]
fn damaged_page_of_journal_is_refused_until_it_is_written() {
    for ftl in ["", "[ftl]\ndedup = \"inline\"\n"] {
        let (folder, text) = (tempfile::tempdir().unwrap(), format!("{SMALL}{ftl}"));
        let (mut device, _) = open(folder.path(), &text).unwrap();
        for page in 0..4 {
            device.write(page * 4096, &[1 + page as u8; 4096]).unwrap();
        }
        device.flush().unwrap();
        drop(device);
        assert_eq!(check_journal(folder.path()).unwrap().problems, [""; 0]);
        let path = folder.path().join("pages");
        let mut bytes = std::fs::read(&path).unwrap();
        let slot = bytes.chunks(4096).position(|page| page[0] == 3).unwrap();
        bytes[slot * 4096 + 77] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        let problems = check_journal(folder.path()).unwrap().problems;
        assert!(problems.len() == 1 && problems[0].contains(&format!("slot {slot}")), "{problems:?}");
        let (mut device, counts) = open(folder.path(), &text).unwrap();
        assert_eq!(counts.damaged_slots, 1);
        let mut found = [0; 4096];
        for page in 0..4 {
            match device.read(page * 4096, &mut found) {
                Ok(()) => assert_eq!(found, [1 + page as u8; 4096], "{text}"),
                Err(error) => {
                    assert!(page == 2 && error.to_string().contains("damaged"), "page {page}: {error}")
                }
            }
        }
        assert!(device.read(2 * 4096, &mut found).is_err(), "{text}");
        device.write(2 * 4096, &[3; 4096]).unwrap();
        device.read(2 * 4096, &mut found).unwrap();
        assert_eq!(found, [3; 4096], "{text}");
    }
}

/// The pages are on a full disk for a while.
#[test]
fn journal_on_full_disk_returns_storage_full_until_there_is_space() {
    let folder = tempfile::tempdir().unwrap();
    drop(open(folder.path(), SMALL).unwrap());
    let pages = folder.path().join("pages");
    std::fs::remove_file(&pages).unwrap();
    std::os::unix::fs::symlink("/dev/full", &pages).unwrap();
    let (mut device, _) = open(folder.path(), SMALL).unwrap();
    for _ in 0..2 {
        assert!(device.write(0, &[1; 4096]).unwrap_err().is_full());
    }
    assert!(device.failure().unwrap().contains("a write has failed"));
    let problems = device.take_problems();
    assert!(problems.len() == 1 && problems[0].contains("make room"), "{problems:?}");
    drop(device);
    std::fs::remove_file(&pages).unwrap();
    let (mut device, counts) = open(folder.path(), SMALL).unwrap();
    assert_eq!(counts.requests, 0);
    device.write(0, &[1; 4096]).unwrap();
    assert_eq!(device.failure(), None);
}
