//! All or none of the pages of a group survive a power cut at any moment.

use crate::naive::cases::{Op, ops, setup};
use crate::naive::rig::{Setup, Stamp};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::Cause;
use wearwell_engine::layer::{
    Bytes, Group, InvalidationListener, Layer, LayerBelow, LayerError, LayerExt, Medium, MediumError, Pages,
    Reports, Run,
};
use wearwell_engine::log::Reclaim;
use wearwell_engine::nand::Nand;

type Page = Bytes<8>;

/// Flash whose power fails after a number of pages: the current run is interrupted there, and every later operation
/// fails.
struct FailingFlash {
    nand: Nand<Page>,
    pages_left: Option<usize>,
}

impl FailingFlash {
    fn has_failed(&self) -> bool {
        self.pages_left == Some(0)
    }
}

const POWER_FAILED: MediumError = MediumError::BadBlock { block: u32::MAX };

impl Medium for FailingFlash {
    type Payload = Page;
    const STORES_GROUPS: bool = true;
    const READS_BY_PAGE: bool = true;

    fn blocks(&self) -> u32 {
        self.nand.blocks()
    }

    fn pages_per_block(&self) -> u32 {
        self.nand.pages_per_block()
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, Page>) -> Result<(), MediumError> {
        let Some(left) = self.pages_left else { return self.nand.program(block, page, run) };
        let written = left.min(run.data.len());
        self.pages_left = Some(left - written);
        if written == run.data.len() {
            return self.nand.program(block, page, run);
        }
        if written > 0 {
            // The written pages of an interrupted group must not look complete.
            let group = if run.group == Group::None { Group::None } else { Group::Continues };
            let owners = run.owners.map(|owners| &owners[..written]);
            self.nand.program(block, page, Run { owners, data: &run.data[..written], group, ..run })?;
        }
        Err(POWER_FAILED)
    }

    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError> {
        if self.has_failed() { Err(POWER_FAILED) } else { self.nand.erase(block, cause) }
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<Page>,
    ) -> Result<(), MediumError> {
        self.nand.read(block, pages, cause, out)
    }

    fn count_reads(&mut self, pages: u64) {
        self.nand.count_reads(pages);
    }

    fn prefetch_block(&self, block: BlockId) {
        self.nand.prefetch_block(block);
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.nand.flush()
    }

    fn retire(&mut self, block: BlockId) {
        self.nand.retire(block);
    }

    fn take_disturbed(&mut self) -> Option<BlockId> {
        self.nand.take_disturbed()
    }

    fn reads_before_refresh(&self, block: BlockId) -> u32 {
        self.nand.reads_before_refresh(block)
    }

    fn read_wear(&mut self, block: BlockId) {
        self.nand.read_wear(block);
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.nand.is_bad(block)
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.nand.erases(block)
    }

    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener> {
        None
    }

    fn layer_below(&self) -> Option<&dyn LayerBelow> {
        None
    }

    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow> {
        None
    }

    fn describe(&self, reports: &mut Reports) {
        self.nand.describe(reports);
    }

    fn check(&self) -> Result<(), String> {
        self.nand.check()
    }
}

/// Returns the contents of the flash according to the spare areas alone: the newest copy of each page, except for a
/// group at the end of the log whose last page is missing.
fn rebuild(nand: &mut Nand<Page>) -> BTreeMap<Lpn, Page> {
    let mut log = BTreeMap::new();
    let blocks = nand.blocks();
    let spare = nand.spare_area().expect("kept");
    for block in (0..blocks).map(BlockId) {
        for (page, entry) in (0..).zip(spare.block(block)) {
            log.insert(entry.sequence, (entry, block, page));
        }
    }
    while log.last_key_value().is_some_and(|(_, (entry, ..))| entry.group_continues) {
        log.pop_last();
    }
    let mut found = BTreeMap::new();
    for (entry, block, page) in log.into_values() {
        let mut content = Vec::new();
        nand.read(block, Pages::Listed(&[page]), Cause::Host, &mut content).expect("programmed");
        found.insert(entry.owner, content[0]);
    }
    found
}

/// Returns the contents before and after a group of `pages`, and the contents found after a power cut when `cut` pages
/// of the group were written; `None` if the cut came later.
fn cut_in_group(setup: &Setup, ops: &[Op], pages: &[Lpn], cut: usize) -> Option<[BTreeMap<Lpn, Page>; 3]> {
    let medium = FailingFlash { nand: setup.nand::<Page>().with_spare_area(), pages_left: None };
    let mut store = setup.engine_on(medium).expect("a setup within the documented limits");
    let (mut before, mut version) = (BTreeMap::new(), 0);
    for op in ops {
        let pages = op.pages(setup.logical_pages);
        let data: Vec<Page> = (version + 1..).take(pages.len()).map(Page::stamp).collect();
        version += pages.len() as u64;
        store.write(&pages, &data, op.hint()).unwrap();
        before.extend(pages.into_iter().zip(data));
    }
    let data: Vec<Page> = (version + 1..).take(pages.len()).map(Page::stamp).collect();
    let mut after = before.clone();
    after.extend(pages.iter().copied().zip(data.iter().copied()));
    store.medium_mut().pages_left = Some(cut);
    let done = store.write_atomic(pages, &data, 0);
    if done.is_ok() {
        return None;
    }
    let found = rebuild(&mut store.medium_mut().nand);
    Some([before, after, found])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn group_survives_completely_or_not_at_all(
        setup in setup(), ops in ops(10), first in any::<u32>(), length in any::<u32>(), step in 1..7u32,
    ) {
        let setup = Setup { reclaim: Reclaim::FreePool { low: 1, high: 2 }, blocks: setup.blocks + 4, ..setup };
        let ops: Vec<Op> = ops.into_iter().filter(|op| !matches!(op, Op::Trim(_) | Op::TrimAll | Op::Read(_))).collect();
        let length = 1 + length % setup.pages_per_block.min(setup.logical_pages);
        let page = |at: u32| Lpn(first.wrapping_add(at * step) % setup.logical_pages);
        let pages: Vec<Lpn> = (0..length).map(page).collect();
        for cut in 0.. {
            let Some([before, after, found]) = cut_in_group(&setup, &ops, &pages, cut) else { break };
            prop_assert!(found == before || found == after, "cut after {} pages", cut);
            prop_assert!(cut > 0 || found == before);
        }
    }
}

#[test]
fn group_longer_than_a_block_is_refused_and_changes_nothing() {
    let setup = Setup { reclaim: Reclaim::FreePool { low: 1, high: 2 }, blocks: 24, ..Setup::default() };
    let mut store = setup.engine::<Page>();
    let pages: Vec<Lpn> = (0..8).map(Lpn).collect();
    assert_eq!(store.atomic_pages(), 7);
    let refused = store.write_atomic(&pages, &[Page::stamp(1); 8], 0);
    assert_eq!(refused, Err(LayerError::NotAtomic { pages: 8, longest: 7 }));
    let mut read = Vec::new();
    store.read(&pages, &mut read).unwrap();
    assert!(read.iter().all(|page| *page == Page::default()));
}

#[test]
fn store_with_in_place_reclaim_supports_no_groups() {
    let mut store = Setup::default().engine::<Page>();
    assert_eq!(store.atomic_pages(), 0);
    assert!(matches!(store.write_atomic(&[Lpn(0)], &[Page::stamp(1)], 0), Err(LayerError::NotAtomic { .. })));
}
