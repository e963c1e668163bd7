//! Deferred cleaning, cleaning in idle time, and migration policies.

use super::drive::{Drive, SINGLE, config};
use crate::counters::Cause;
use crate::layer::LayerExt;
use crate::layer::{ContentId, Layer};
use crate::log::{Decision, MigrationPolicy, Reclaim, StoreConfig};
use crate::units::Lpn;
use std::sync::{Arc, Mutex};

fn pool(low: u32, high: u32) -> Reclaim {
    Reclaim::FreePool { low, high }
}

#[test]
fn cleaning_is_deferred_down_to_deferred_watermark() {
    // Cleaning starts at three erased blocks, or at one while the log above is cleaning.
    let config = StoreConfig { deferred_low: Some(1), ..config(6, pool(3, 3)) };
    let mut drive = Drive::new(7, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1]);
    assert_eq!(drive.reports().0.deferrals, Some(0));
    drive.store.notify_cleaning_above(true);
    drive.store.notify_cleaning_above(true);
    // First three and then two blocks are erased: cleaning is deferred each time.
    drive.write(&[2, 5, 3, 4]);
    assert_eq!((drive.cleaning_counts(), drive.reports().0.deferrals), ([0; 3], Some(2)));
    drive.store.notify_cleaning_above(false);
    drive.write(&[0, 1]);
    assert_eq!((drive.cleaning_counts(), drive.reports().0.deferrals), ([0; 3], Some(2)));
    // One erased block is left: cleaning does the minimum, one victim, which has no live pages by now.
    drive.write(&[2]);
    assert_eq!((drive.cleaning_counts(), drive.reports().0.deferrals), ([0, 0, 1], Some(2)));
    drive.store.notify_cleaning_above(false);
    drive.write(&[5, 3]);
    // The log above is not cleaning: the pool is refilled to four erased blocks.
    drive.write(&[4]);
    assert!(drive.cleaning_counts()[2] >= 3);
    drive.check();
    // A notification that cleaning ends has no effect if cleaning did not begin.
    drive.store.notify_cleaning_above(false);
    drive.write(&[0, 1, 2, 3, 4, 5]);
    assert_eq!(drive.reports().0.deferrals, Some(2));
}

#[test]
fn idle_cleaning_stops_at_idle_watermark() {
    let config = StoreConfig { idle_high: Some(3), ..config(6, pool(1, 1)) };
    let mut drive = Drive::new(6, config, SINGLE());
    assert_eq!(drive.store.clean_while_idle(), Ok(false), "six blocks wait");
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3]);
    assert_eq!(drive.store.clean_while_idle(), Ok(false), "three do");
    drive.write(&[4, 0, 1]);
    assert_eq!(drive.layout(), ["(0) (1) 2", "(3) (4) 5", "(0) (1) 3", "4 0 1", "- - -", "- - -"]);
    // Page 2 opens a block, so the number of erased blocks is unchanged. Page 5 then goes to the same block.
    assert_eq!(drive.store.clean_while_idle(), Ok(true));
    assert_eq!(drive.layout(), ["- - -", "(3) (4) 5", "(0) (1) 3", "4 0 1", "2 - -", "- - -"]);
    assert_eq!(drive.store.clean_while_idle(), Ok(true));
    assert_eq!(drive.layout(), ["- - -", "- - -", "(0) (1) 3", "4 0 1", "2 5 -", "- - -"]);
    assert_eq!(drive.store.clean_while_idle(), Ok(false));
    assert_eq!((drive.cleaning_counts(), drive.victims_by_valid_pages()), ([2, 2, 2], vec![0, 2, 0, 0]));
    drive.check();
    // Without the setting for idle time, nothing is cleaned.
    let mut plain = Drive::new(6, super::drive::config(6, pool(1, 1)), SINGLE());
    plain.write(&[0, 1, 2, 3, 4, 5, 0, 1, 3, 4, 0, 1]);
    assert_eq!(plain.store.clean_while_idle(), Ok(false));
}

#[test]
fn victim_without_gain_ends_idle_cleaning() {
    let config = StoreConfig { idle_high: Some(3), ..config(6, pool(1, 1)) };
    let mut drive = Drive::new(6, config, SINGLE());
    drive.write(&[0, 1, 2, 3, 4, 5, 0, 0, 0, 0]);
    drive.trim(&[0]);
    assert_eq!(drive.store.clean_while_idle(), Ok(true));
    assert_eq!(drive.layout(), ["- - -", "3 4 5", "(0) (0) (0)", "(0) 1 2", "- - -", "- - -"]);
    drive.write(&[0]);
    // Block 1 is full of live pages, so rewriting it gains no page.
    assert_eq!(drive.store.clean_while_idle(), Ok(false));
    assert_eq!(drive.victims_by_valid_pages(), [0, 0, 1, 1]);
    drive.check();
}

#[test]
fn left_valid_counts_other_valid_pages_of_blocks() {
    let mut drive = Drive::new(6, config(6, pool(1, 1)), SINGLE());
    assert_eq!(drive.store.left_valid(&[0, 1, 2, 3, 4, 5].map(Lpn)), 0.0, "nothing is stored");
    drive.write(&[0, 1, 2, 3, 4, 5, 0]);
    assert_eq!(drive.layout()[..3], ["(0) 1 2", "3 4 5", "0 - -"]);
    let left_valid =
        |first: u32, pages: u32| drive.store.left_valid(&(first..first + pages).map(Lpn).collect::<Vec<_>>());
    assert_eq!(left_valid(1, 1), 1.0 / 3.0);
    assert_eq!(left_valid(1, 2), 0.0);
    assert_eq!(left_valid(3, 1), 2.0 / 3.0);
    assert_eq!(left_valid(2, 2), (1.0 + 2.0) / 6.0);
    assert_eq!(left_valid(0, 1), 0.0, "alone in an open block");
    assert_eq!(left_valid(0, 2), 1.0 / 6.0);
    assert_eq!((left_valid(5, 1), left_valid(5, 0)), (2.0 / 3.0, 0.0));
}

/// A migration policy that follows a script and logs its calls.
struct ScriptedPolicy {
    decisions: Vec<Decision>,
    last_page: Option<(Lpn, ContentId)>,
    calls: Arc<Mutex<Vec<String>>>,
}

impl MigrationPolicy<ContentId> for ScriptedPolicy {
    fn decide(&mut self, pages: &[Lpn], data: &[ContentId], decisions: &mut Vec<Decision>) {
        let pages: Vec<u32> = pages.iter().map(|page| page.0).collect();
        let data: Vec<u64> = data.iter().map(|data| data.0).collect();
        self.calls.lock().unwrap().push(format!("judge {pages:?} {data:?}"));
        decisions.extend(self.decisions.drain(..pages.len()));
    }

    fn last_page(&mut self) -> Option<(Lpn, ContentId)> {
        self.last_page.take()
    }

    fn last_page_written(&mut self, cause: Cause) {
        assert_eq!(cause, Cause::Cleaning);
        self.calls.lock().unwrap().push("written".to_owned());
    }

    fn before_page(&mut self, at: usize) {
        self.calls.lock().unwrap().push(format!("reached {at}"));
    }
}

#[test]
fn migration_policy_decides_about_live_pages() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let moved = Decision::Move { references: 1 };
    // In the first victim, page 1 is dropped, page 2 is written as page 4, and page 0 is moved; page 5 is written
    // before the erase.
    let replaced = Decision::Replace { owner: Lpn(4), references: 1 };
    let decisions = vec![moved, Decision::Drop, replaced, moved];
    let policy =
        ScriptedPolicy { decisions, last_page: Some((Lpn(5), ContentId(77))), calls: Arc::clone(&calls) };
    let store = Drive::new(6, config(7, pool(1, 1)), SINGLE()).store;
    let mut drive = Drive::from_store(store.with_migration_policy(Box::new(policy)).unwrap());
    drive.write(&[0, 1, 2, 3, 4, 5, 6, 6, 6, 6, 6, 6]);
    assert_eq!(drive.layout(), ["0 1 2", "3 4 5", "(6) (6) (6)", "(6) (6) 6", "- - -", "- - -"]);
    drive.write(&[6, 6, 6]);
    assert_eq!(*calls.lock().unwrap(), Vec::<String>::new());
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
    assert_eq!(*calls.lock().unwrap(), expected);
    assert_eq!(drive.layout()[..2], ["3 6 -", "- - -"]);
    assert_eq!(drive.layout()[5], "0 4 5");
    assert_eq!(drive.cleaning_counts(), [4, 4, 2]);
    drive.store.check().unwrap();
    let mut read = Vec::new();
    drive.store.read(&[0, 1, 2, 3, 4, 5].map(Lpn), &mut read).unwrap();
    assert_eq!(read, [1, 0, 0, 4, 3, 77].map(ContentId));
    let in_place = Drive::new(6, config(7, Reclaim::InPlace), SINGLE()).store;
    let empty_policy = || ScriptedPolicy { decisions: vec![], last_page: None, calls: Arc::default() };
    assert_eq!(in_place.with_migration_policy(Box::new(empty_policy())).err().unwrap().key, "reclaim");
    let evict = StoreConfig { evicts: true, ..config(7, pool(1, 1)) };
    let evicting = Drive::new(6, evict, SINGLE()).store;
    assert_eq!(evicting.with_migration_policy(Box::new(empty_policy())).err().unwrap().key, "evict");
}
