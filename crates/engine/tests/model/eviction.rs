//! A cache that drops the live pages of its victims instead of moving them.

use crate::naive::cases::{Op, ops};
use crate::naive::observe::reports;
use crate::naive::rig::{Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Bytes, Layer};
use wearwell_engine::log::Reclaim;

type Page = Bytes<8>;

proptest! {
    /// A present page has its newest version, an absent page was evicted or trimmed, and no page is ever moved.
    #[test]
    fn page_is_the_newest_version_or_evicted(
        ops in ops(30), victim in prop::sample::select(&["fifo", "greedy", "random"][..]), seed in any::<u64>(),
    ) {
        let setup = Setup {
            victim, seed, evict: true, streams: Streams::Double, reclaim: Reclaim::FreePool { low: 1, high: 2 },
            logical_pages: 84, ..Setup::default()
        };
        let mut store = setup.engine::<Page>();
        let mut shadow = vec![Page::default(); 84];
        let (mut version, mut lost_versions, mut replaced) = (0, 0u64, 0u64);
        for op in &ops {
            let pages = op.pages(84);
            match op {
                Op::Trim(_) | Op::TrimAll => {
                    store.trim(&pages).unwrap();
                    pages.iter().for_each(|page| shadow[page.index()] = Page::default());
                }
                Op::Read(_) | Op::Flush => {}
                _ => {
                    // Pages are written one by one, to distinguish the pages that a write evicts from the pages that it
                    // writes.
                    for page in pages {
                        version += 1;
                        replaced += u64::from(shadow[page.index()] != Page::default());
                        store.write(&[page], &[Page::stamp(version)], op.hint()).unwrap();
                        shadow[page.index()] = Page::stamp(version);
                        let all: Vec<Lpn> = (0..84).map(Lpn).collect();
                        let mut read = Vec::new();
                        store.read(&all, &mut read).unwrap();
                        for (expected, found) in shadow.iter_mut().zip(&read) {
                            prop_assert!(found == expected || *found == Page::default());
                            lost_versions += u64::from(found != expected);
                            *expected = *found;
                        }
                    }
                }
            }
            store.check().unwrap();
        }
        let report = &reports(&store).layers[0];
        // A write may evict the version that it replaces; this does not count as an absent page.
        let evicted = report.evicted_pages.unwrap();
        prop_assert!((lost_versions..=lost_versions + replaced).contains(&evicted), "{} evicted, {} gone", evicted, lost_versions);
        prop_assert_eq!(report.counters.outgoing(Cause::Cleaning, Operation::Write), 0);
        prop_assert_eq!(report.counters.outgoing(Cause::Cleaning, Operation::Read), 0);
    }
}

#[test]
fn in_place_store_refuses_eviction() {
    let setup = Setup { evict: true, ..Setup::default() };
    assert_eq!(setup.engine_on(setup.nand::<()>()).err().expect("in place").key, "evict");
}
