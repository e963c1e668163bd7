//! Cleaning in idle time.

use crate::naive::cases::{Op, ops};
use crate::naive::rig::{Setup, Stamp, Streams};
use proptest::prelude::*;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::{Bytes, Layer, LayerExt};
use wearwell_engine::log::Reclaim;

type Page = Bytes<8>;

const LOGICAL_PAGES: u32 = 60;

proptest! {
    /// Cleaning in idle time loses no data, terminates, and has no effect unless configured.
    #[test]
    fn cleaning_ahead_preserves_stored_pages(
        ops in ops(30), idle in 2..6u32, every in 1..4usize,
        victim in prop::sample::select(&["fifo", "greedy", "random", "cost_benefit"][..]), seed in any::<u64>(),
    ) {
        let reclaim = Reclaim::FreePool { low: 1, high: 2 };
        let (streams, logical_pages) = (Streams::Double, LOGICAL_PAGES);
        let setup = Setup { victim, seed, streams, reclaim, logical_pages, idle_high: Some(idle), ..Setup::default() };
        let mut store = setup.engine::<Page>();
        let mut shadow = vec![Page::default(); LOGICAL_PAGES as usize];
        let mut version = 0;
        for (at, op) in ops.iter().enumerate() {
            let pages = op.pages(LOGICAL_PAGES);
            match op {
                Op::Trim(_) | Op::TrimAll => {
                    store.trim(&pages).unwrap();
                    pages.iter().for_each(|page| shadow[page.index()] = Page::default());
                }
                Op::Read(_) | Op::Flush => {}
                _ => {
                    let data: Vec<Page> = (version + 1..).take(pages.len()).map(Page::stamp).collect();
                    version += pages.len() as u64;
                    store.write(&pages, &data, op.hint()).unwrap();
                    pages.iter().zip(&data).for_each(|(page, data)| shadow[page.index()] = *data);
                }
            }
            if at % every == 0 {
                // Each victim except the last gains at least one page.
                let max_victims = setup.blocks * setup.pages_per_block;
                let cleaned = (0..=max_victims).take_while(|_| LayerExt::clean_while_idle(&mut store).unwrap()).count();
                prop_assert!(cleaned <= max_victims as usize);
                store.check().unwrap();
            }
            let mut read = Vec::new();
            store.read(&(0..LOGICAL_PAGES).map(Lpn).collect::<Vec<_>>(), &mut read).unwrap();
            prop_assert_eq!(&read, &shadow);
        }
        let mut unconfigured = Setup { idle_high: None, ..setup }.engine::<Page>();
        prop_assert!(!LayerExt::clean_while_idle(&mut unconfigured).unwrap());
    }
}
