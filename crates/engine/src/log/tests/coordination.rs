//! Deferred cleaning, cleaning in idle time, and migration policies.

use super::drive::{Drive, SINGLE, config};
use crate::counters::Cause;
use crate::layer::LayerExt;
use crate::layer::{Content, Layer};
use crate::log::{Migration, Reclaim, StoreConfig, Verdict};
use crate::units::Lpn;
use std::sync::{Arc, Mutex};

fn pool(low: u32, high: u32) -> Reclaim {
    Reclaim::FreePool { low, high }
}

#[test]
fn cleaning_is_deferred_down_to_the_deferred_mark() {
    // Cleaning starts at three erased blocks, or at one while the log above is cleaning.
    let config = StoreConfig { deferred_low: Some(1), ..config(6, pool(3, 3)) };
    let mut drive = Drive::new(7, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1]);
    assert_eq!(drive.reports().0.deferrals, Some(0));
    drive.store.cleaning_above(true);
    drive.store.cleaning_above(true);
    // Three blocks are erased, and then two: cleaning is deferred each time.
    drive.write(&[2, 5, 3, 4]);
    assert_eq!((drive.cleaned(), drive.reports().0.deferrals), ([0; 3], Some(2)));
    drive.store.cleaning_above(false);
    drive.write(&[0, 1]);
    assert_eq!((drive.cleaned(), drive.reports().0.deferrals), ([0; 3], Some(2)));
    // One erased block is left: cleaning does the minimum, one victim, which has no live pages by now.
    drive.write(&[2]);
    assert_eq!((drive.cleaned(), drive.reports().0.deferrals), ([0, 0, 1], Some(2)));
    drive.store.cleaning_above(false);
    drive.write(&[5, 3]);
    // The log above is not cleaning: the pool is refilled to four erased blocks.
    drive.write(&[4]);
    assert!(drive.cleaned()[2] >= 3);
    drive.check();
    // A surplus end of cleaning has no effect.
    drive.store.cleaning_above(false);
    drive.write(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(drive.reports().0.deferrals, Some(2));
}

#[test]
fn idle_cleaning_stops_at_the_idle_mark() {
    let config = StoreConfig { idle_high: Some(3), ..config(6, pool(1, 1)) };
    let mut drive = Drive::new(6, config, SINGLE());
    assert_eq!(drive.store.clean_ahead(), Ok(false), "six blocks wait");
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3]);
    assert_eq!(drive.store.clean_ahead(), Ok(false), "three do");
    drive.write(&[4, 0, 1]);
    assert_eq!(drive.layout(), ["(0) (1) 2", "(3) (4) 5", "(0) (1) 3", "4 0 1", "- - -", "- - -"]);
    // Page 2 opens a block, so the number of erased blocks is unchanged. Page 5 then goes to the same block.
    assert_eq!(drive.store.clean_ahead(), Ok(true));
    assert_eq!(drive.layout(), ["- - -", "(3) (4) 5", "(0) (1) 3", "4 0 1", "2 - -", "- - -"]);
    assert_eq!(drive.store.clean_ahead(), Ok(true));
    assert_eq!(drive.layout(), ["- - -", "- - -", "(0) (1) 3", "4 0 1", "2 5 -", "- - -"]);
    assert_eq!(drive.store.clean_ahead(), Ok(false));
    assert_eq!((drive.cleaned(), drive.victims()), ([2, 2, 2], vec![0, 2, 0, 0]));
    drive.check();
    // Without the setting, nothing happens.
    let mut plain = Drive::new(6, super::drive::config(6, pool(1, 1)), SINGLE());
    plain.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1]);
    assert_eq!(plain.store.clean_ahead(), Ok(false));
}

#[test]
fn victim_without_gain_ends_idle_cleaning() {
    let config = StoreConfig { idle_high: Some(3), ..config(6, pool(1, 1)) };
    let mut drive = Drive::new(6, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 0, 0, 0]);
    drive.trim(&[0]);
    assert_eq!(drive.store.clean_ahead(), Ok(true));
    assert_eq!(drive.layout(), ["- - -", "3 4 5", "(0) (0) (0)", "(0) 1 2", "- - -", "- - -"]);
    drive.write(&[0]);
    // Block 1 is full of live pages, so rewriting it gains nothing.
    assert_eq!(drive.store.clean_ahead(), Ok(false));
    assert_eq!(drive.victims(), [0, 0, 1, 1]);
    drive.check();
}

#[test]
fn left_valid_counts_other_valid_pages_of_the_blocks() {
    let mut drive = Drive::new(6, config(6, pool(1, 1)), SINGLE());
    assert_eq!(drive.store.left_valid(&[0, 1, 2, 3, 4, 5].map(Lpn)), 0.0, "nothing is stored");
    drive.write(&[0, 1, 2, 3, 4, 5, 0]);
    assert_eq!(drive.layout()[..3], ["(0) 1 2", "3 4 5", "0 - -"]);
    let left =
        |first: u32, pages: u32| drive.store.left_valid(&(first..first + pages).map(Lpn).collect::<Vec<_>>());
    assert_eq!(left(1, 1), 1.0 / 3.0);
    assert_eq!(left(1, 2), 0.0);
    assert_eq!(left(3, 1), 2.0 / 3.0);
    assert_eq!(left(2, 2), (1.0 + 2.0) / 6.0);
    assert_eq!(left(0, 1), 0.0, "alone in an open block");
    assert_eq!(left(0, 2), 1.0 / 6.0);
    assert_eq!((left(5, 1), left(5, 0)), (2.0 / 3.0, 0.0));
}

/// A migration policy that follows a script and logs its calls.
struct Script {
    verdicts: Vec<Verdict>,
    last: Option<(Lpn, Content)>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Migration<Content> for Script {
    fn judge(&mut self, pages: &[Lpn], data: &[Content], verdicts: &mut Vec<Verdict>) {
        let pages: Vec<u32> = pages.iter().map(|page| page.0).collect();
        let data: Vec<u64> = data.iter().map(|data| data.0).collect();
        self.asked.lock().unwrap().push(format!("judge {pages:?} {data:?}"));
        verdicts.extend(self.verdicts.drain(..pages.len()));
    }

    fn last_page(&mut self) -> Option<(Lpn, Content)> {
        self.last.take()
    }

    fn last_page_written(&mut self, cause: Cause) {
        assert_eq!(cause, Cause::Cleaning);
        self.asked.lock().unwrap().push("written".to_owned());
    }

    fn reached(&mut self, at: usize) {
        self.asked.lock().unwrap().push(format!("reached {at}"));
    }
}

#[test]
fn migration_policy_decides_about_live_pages() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let moved = Verdict::Move { references: 1 };
    // In the first victim, page 1 is dropped, page 2 is written as page 4, and page 0 is moved; page 5 is written
    // before the erase.
    let replaced = Verdict::Replace { owner: Lpn(4), references: 1 };
    let verdicts = vec![moved, Verdict::Drop, replaced, moved];
    let script = Script { verdicts, last: Some((Lpn(5), Content(77))), asked: Arc::clone(&asked) };
    let store = Drive::new(6, config(7, pool(1, 1)), SINGLE()).store;
    let mut drive = Drive::of(store.with_migration(Box::new(script)).unwrap());
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6]);
    assert_eq!(drive.layout(), ["0 1 2", "3 4 5", "(6) (6) (6)", "(6) (6) 6", "- - -", "- - -"]);
    drive.write(&[6, 6, 6]);
    assert_eq!(*asked.lock().unwrap(), Vec::<String>::new());
    drive.write(&[6]);
    // These pages fill the last erased block, so that the policy is also consulted about a second victim.
    let expected = [
        "judge [0, 1, 2] [1, 2, 3]",
        "reached 0",
        "reached 1",
        "reached 2",
        "written",
        "judge [3] [4]",
        "reached 0",
    ];
    assert_eq!(*asked.lock().unwrap(), expected);
    assert_eq!(drive.layout()[..2], ["3 6 -", "- - -"]);
    assert_eq!(drive.layout()[5], "0 4 5");
    assert_eq!(drive.cleaned(), [4, 4, 2]);
    drive.store.check().unwrap();
    let mut read = Vec::new();
    drive.store.read(&[0, 1, 2, 3, 4, 5].map(Lpn), &mut read).unwrap();
    assert_eq!(read, [1, 0, 0, 4, 3, 77].map(Content));
    let in_place = Drive::new(6, config(7, Reclaim::InPlace), SINGLE()).store;
    let script = || Script { verdicts: vec![], last: None, asked: Arc::default() };
    assert_eq!(in_place.with_migration(Box::new(script())).err().unwrap().key, "reclaim");
    let evict = StoreConfig { evict: true, ..config(7, pool(1, 1)) };
    let evicting = Drive::new(6, evict, SINGLE()).store;
    assert_eq!(evicting.with_migration(Box::new(script())).err().unwrap().key, "evict");
}
