//! Cost of merges in hybrid FTLs, compared with closed forms where available, and with a model that only counts.

use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wearwell_base::seed::Seed;
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::ftl::hybrid::{HybridConfig, HybridFtl, HybridKind};
use wearwell_engine::layer::{Bytes, Layer, LayerError, LayerReport, Medium, Reports};
use wearwell_engine::nand::{Faults, Geometry, Nand, Wear};

type Page = Bytes<8>;
const KINDS: [HybridKind; 2] = [HybridKind::Bast, HybridKind::Fast];

fn flash(blocks: u32, pages_per_block: u32) -> Nand<Page> {
    Nand::new(Geometry::flat(blocks, pages_per_block, 4096), Wear::default(), Seed(1)).with_spare_area()
}

/// Creates an FTL with whole logical blocks.
fn ftl(
    kind: HybridKind,
    logical_blocks: u32,
    log_blocks: u32,
    pages_per_block: u32,
) -> HybridFtl<Nand<Page>> {
    let config = HybridConfig { kind, log_blocks, logical_pages: logical_blocks * pages_per_block };
    HybridFtl::new(config, flash(logical_blocks + log_blocks + 1, pages_per_block)).unwrap()
}

fn write(ftl: &mut HybridFtl<Nand<Page>>, pages: impl IntoIterator<Item = u32>) {
    for page in pages {
        ftl.write(&[Lpn(page)], &[Bytes(u64::from(page).to_le_bytes())], 0).unwrap();
    }
}

fn report(ftl: &impl Layer<Page>) -> LayerReport {
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    let (layer, nand) = (reports.layers.remove(0), reports.nand.unwrap());
    assert_eq!(layer.counters.outgoing_total(Operation::Write), nand.programs);
    assert_eq!(layer.counters.outgoing_total(Operation::Read), nand.reads);
    assert_eq!(layer.counters.outgoing_total(Operation::Erase), nand.erases);
    layer
}

fn count(report: &LayerReport, name: &str) -> u64 {
    let counts = &report.ftl.as_ref().unwrap().counts;
    counts.iter().find(|(known, _)| *known == name).unwrap_or_else(|| panic!("no {name}")).1
}

/// Returns the numbers of switch, partial and full merges.
fn merges(report: &LayerReport) -> [u64; 3] {
    ["switch merges", "partial merges", "full merges"].map(|name| count(report, name))
}

/// Returns the number of pages written by the host and by merges since `earlier`.
fn writes(report: &LayerReport, earlier: &Counters) -> (u64, u64) {
    let since = report.counters.since(earlier);
    (since.outgoing(Cause::Host, Operation::Write), since.outgoing(Cause::Cleaning, Operation::Write))
}

#[test]
fn sequential_overwrites_cause_only_switch_merges() {
    for kind in KINDS {
        let (blocks, size) = (10, 8);
        let mut ftl = ftl(kind, blocks, 3, size);
        for _ in 0..5 {
            write(&mut ftl, 0..blocks * size);
        }
        let report = report(&ftl);
        // The first pass fills the data blocks.
        assert_eq!(merges(&report), [4 * u64::from(blocks), 0, 0], "{kind:?}");
        assert_eq!(report.counters.write_amplification(), Some(1.0), "{kind:?}");
    }
}

#[test]
fn bast_round_robin_updates_need_a_full_merge_each() {
    let (blocks, size) = (10, 8);
    let mut ftl = ftl(HybridKind::Bast, blocks, 3, size);
    write(&mut ftl, 0..blocks * size);
    let before = report(&ftl);
    // Each update must evict the log of another logical block, which holds one page; only the first few find a free
    // log block.
    let updates = 500;
    write(&mut ftl, (0..updates).map(|at| at % blocks * size + 1 + at % (size - 1)));
    let after = report(&ftl);
    let full = u64::from(updates) - 3;
    assert_eq!(merges(&after), [0, 0, full]);
    assert_eq!(writes(&after, &before.counters), (u64::from(updates), full * u64::from(size)));
}

#[test]
fn updates_of_first_pages_cause_partial_merges() {
    for kind in KINDS {
        let (blocks, size) = (10, 8);
        let mut ftl = ftl(kind, blocks, 2, size);
        write(&mut ftl, 0..blocks * size);
        let before = report(&ftl);
        write(&mut ftl, (0..100).map(|at| at % blocks * size));
        let after = report(&ftl);
        // FAST can fill one log block sequentially, BAST all its log blocks; these blocks are not merged at the end.
        let partial = 100 - if kind == HybridKind::Bast { 2 } else { 1 };
        assert_eq!(merges(&after), [0, partial, 0], "{kind:?}");
        assert_eq!(writes(&after, &before.counters), (100, partial * u64::from(size - 1)), "{kind:?}");
    }
}

#[test]
fn fast_merges_all_logical_blocks_of_the_oldest_log_block() {
    let (blocks, size) = (40, 4);
    let mut ftl = ftl(HybridKind::Fast, blocks, 3, size);
    write(&mut ftl, 0..blocks * size);
    let before = report(&ftl);
    // Every page of a log block belongs to another logical block: each merge of a log block takes as many full merges
    // as it has pages.
    let updates = 400;
    write(&mut ftl, (0..updates).map(|at| at % blocks * size + 1));
    let after = report(&ftl);
    let full = u64::from(updates - 2 * size);
    assert_eq!(merges(&after), [0, 0, full]);
    assert_eq!(writes(&after, &before.counters), (u64::from(updates), full * u64::from(size)));
}

/// Naive model that only counts merges and writes.
#[derive(Clone, Debug, Default)]
struct Naive {
    is_fast: bool,
    size: u32,
    log_blocks: usize,
    time: u64,
    mapped: BTreeSet<u32>,
    /// Number of pages written to each data block.
    data: BTreeMap<u32, u32>,
    /// Offsets in the log of each logical block, and the time of its last write.
    logs: BTreeMap<u32, (Vec<u32>, u64)>,
    /// Shared log blocks by number, and their pages.
    shared_blocks: VecDeque<(u64, Vec<u32>)>,
    /// The shared log block of each page whose newest copy is in a shared log block.
    newest: BTreeMap<u32, u64>,
    merges: [u64; 3],
    host_writes: u64,
    merge_writes: u64,
}

impl Naive {
    fn new(is_fast: bool, size: u32, log_blocks: u32) -> Self {
        Naive { is_fast, size, log_blocks: log_blocks as usize, ..Naive::default() }
    }

    fn end_of(&self, block: u32) -> u32 {
        let offset = |page: &u32| page % self.size + 1;
        let of_block = |page: &&u32| **page / self.size == block;
        self.mapped.iter().filter(of_block).map(offset).max().unwrap_or(0)
    }

    fn full_merge(&mut self, block: u32) {
        let end = self.end_of(block);
        self.logs.remove(&block);
        self.newest.retain(|page, _| page / self.size != block);
        self.data.insert(block, end);
        self.merges[2] += 1;
        self.merge_writes += u64::from(end);
    }

    fn merge_log(&mut self, block: u32) {
        let (log, _) = &self.logs[&block];
        let length = log.len() as u32;
        if !log.iter().copied().eq(0..length) {
            return self.full_merge(block);
        }
        let end = if length == self.size { length } else { self.end_of(block).max(length + 1) };
        self.merges[usize::from(length < self.size)] += 1;
        self.merge_writes += u64::from(end - length);
        self.logs.remove(&block);
        self.newest.retain(|page, _| page / self.size != block || page % self.size < length);
        self.data.insert(block, end);
    }

    fn append_to_log(&mut self, page: u32) {
        let (log, used) = self.logs.entry(page / self.size).or_default();
        log.push(page % self.size);
        *used = self.time;
        let in_order = log.len() as u32 == self.size && log.iter().copied().eq(0..self.size);
        self.newest.remove(&page);
        if in_order {
            self.merge_log(page / self.size);
        }
    }

    fn write(&mut self, page: u32) {
        self.time += 1;
        self.host_writes += 1;
        let (block, offset) = (page / self.size, page % self.size);
        loop {
            let written = self.data.get(&block).copied();
            if !self.logs.contains_key(&block)
                && (written == Some(offset) || written.is_none() && offset == 0)
            {
                self.data.insert(block, offset + 1);
                self.newest.remove(&page);
                break;
            }
            if if self.is_fast { self.write_fast(page) } else { self.write_bast(page) } {
                break;
            }
        }
        self.mapped.insert(page);
    }

    fn write_bast(&mut self, page: u32) -> bool {
        let block = page / self.size;
        match self.logs.get(&block) {
            Some((log, _)) if log.len() as u32 == self.size => {
                self.merge_log(block);
                return false;
            }
            None if self.logs.len() == self.log_blocks => {
                let oldest = *self.logs.iter().min_by_key(|(_, (_, used))| *used).unwrap().0;
                self.merge_log(oldest);
            }
            _ => {}
        }
        // The page must count as mapped, because this write may complete the log.
        self.mapped.insert(page);
        self.append_to_log(page);
        true
    }

    fn write_fast(&mut self, page: u32) -> bool {
        let (block, offset) = (page / self.size, page % self.size);
        let sequential = self.logs.iter().next().map(|(block, (log, _))| (*block, log.len() as u32));
        if sequential == Some((block, offset)) || sequential.is_none() && offset == 0 {
            self.mapped.insert(page);
            self.append_to_log(page);
            return true;
        }
        if offset == 0 {
            self.merge_log(sequential.unwrap().0);
            return false;
        }
        if self.shared_blocks.back().is_none_or(|(_, pages)| pages.len() as u32 == self.size) {
            if self.shared_blocks.len() + 1 == self.log_blocks {
                let (number, pages) = self.shared_blocks[0].clone();
                for page in pages {
                    if self.newest.get(&page) == Some(&number) {
                        self.full_merge(page / self.size);
                    }
                }
                self.shared_blocks.pop_front();
            }
            self.shared_blocks.push_back((self.time, Vec::new()));
        }
        let (number, pages) = self.shared_blocks.back_mut().unwrap();
        pages.push(page);
        self.newest.insert(page, *number);
        true
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(800))]

    #[test]
    fn merges_match_the_naive_model(
        fast: bool,
        size in 1u32..=6,
        blocks in 1u32..=8,
        log_blocks in 2u32..=4,
        // First page and length of each sequential part of the writes.
        stretches in prop::collection::vec((0u32..48, 1u32..10), 1..80),
    ) {
        let mut ftl = ftl(KINDS[usize::from(fast)], blocks, log_blocks, size);
        let mut naive = Naive::new(fast, size, log_blocks);
        let pages = blocks * size;
        let mut written = BTreeSet::new();
        for (first, length) in stretches {
            for page in (first % pages..).take(length as usize).map(|page| page % pages) {
                write(&mut ftl, [page]);
                naive.write(page);
                written.insert(page);
            }
            ftl.check().unwrap();
            let report = report(&ftl);
            prop_assert_eq!(merges(&report), naive.merges);
            prop_assert_eq!(writes(&report, &Counters::default()), (naive.host_writes, naive.merge_writes));
            prop_assert_eq!(report.mapped_pages as usize, written.len());
        }
        let mut read = Vec::new();
        ftl.read(&(0..pages).map(Lpn).collect::<Vec<_>>(), &mut read).unwrap();
        let stored = |page| if written.contains(&page) { u64::from(page) } else { 0 };
        prop_assert!((0..pages).map(|page| Bytes(stored(page).to_le_bytes())).eq(read));
    }
}

#[test]
fn trim_of_a_logical_block_frees_its_blocks() {
    for kind in KINDS {
        let (blocks, size) = (6, 4);
        let mut ftl = ftl(kind, blocks, 2, size);
        write(&mut ftl, 0..blocks * size);
        write(&mut ftl, [0, 1]);
        ftl.trim(&(0..size).map(Lpn).collect::<Vec<_>>()).unwrap();
        ftl.check().unwrap();
        let report = report(&ftl);
        // The reads cover the data block and the log block of the two pages.
        assert_eq!(report.counters.outgoing(Cause::Cleaning, Operation::Erase), 2, "{kind:?}");
        assert_eq!(report.mapped_pages, (blocks - 1) * size);
        let mut read = Vec::new();
        ftl.read(&[Lpn(0), Lpn(size)], &mut read).unwrap();
        assert_eq!(read, [Bytes::default(), Bytes(u64::from(size).to_le_bytes())]);
    }
}

#[test]
fn disturbed_blocks_are_rewritten() {
    for kind in KINDS {
        let faults = Faults { program_failure_rate: 0.0, read_disturb_limit: Some(100) };
        let config = HybridConfig { kind, log_blocks: 2, logical_pages: 24 };
        let mut ftl = HybridFtl::new(config, flash(9, 4).with_faults(faults, Seed(1))).unwrap();
        write(&mut ftl, 0..24);
        for _ in 0..99 {
            ftl.read(&[Lpn(5)], &mut Vec::new()).unwrap();
        }
        assert_eq!(count(&report(&ftl), "refreshes"), 0);
        ftl.read(&[Lpn(5)], &mut Vec::new()).unwrap();
        let report = report(&ftl);
        assert_eq!(count(&report, "refreshes"), 1);
        let moved = |operation| report.counters.outgoing(Cause::WearLevelling, operation);
        let counted = [Operation::Read, Operation::Write, Operation::Erase].map(moved);
        assert_eq!(counted, [4, 4, 1], "{kind:?}");
        ftl.check().unwrap();
    }
}

#[test]
fn failing_blocks_are_retired_without_data_loss() {
    for kind in KINDS {
        let faults = Faults { program_failure_rate: 0.002, read_disturb_limit: None };
        let config = HybridConfig { kind, log_blocks: 3, logical_pages: 80 };
        let mut ftl = HybridFtl::new(config, flash(60, 8).with_faults(faults, Seed(4))).unwrap();
        let mut newest = [0u64; 80];
        let mut end = None;
        for version in 1..20_000u64 {
            let page = (version * version % 80) as usize;
            match ftl.write(&[Lpn(page as u32)], &[Bytes(version.to_le_bytes())], 0) {
                Ok(()) => newest[page] = version,
                Err(error) => {
                    end = Some(error);
                    break;
                }
            }
        }
        assert!(matches!(end, Some(LayerError::EndOfLife { .. })), "{end:?}");
        ftl.check().unwrap();
        let failures = count(&report(&ftl), "program failures");
        let bad = (0..60).filter(|&block| ftl.flash().is_bad(BlockId(block))).count() as u64;
        assert!(bad > 40 && (bad..=bad + 1).contains(&failures), "{bad} of {failures}");
        let mut read = Vec::new();
        ftl.read(&(0..80).map(Lpn).collect::<Vec<_>>(), &mut read).unwrap();
        assert!(newest.iter().map(|version| Bytes(version.to_le_bytes())).eq(read));
    }
}

#[test]
fn recovery_reads_first_pages_ends_and_logs() {
    for kind in KINDS {
        let (blocks, size) = (40, 16);
        let mut ftl = ftl(kind, blocks, 4, size);
        write(&mut ftl, 0..blocks * size);
        write(&mut ftl, (0..300).map(|at| at * 7 % (blocks * size)));
        let config = HybridConfig { kind, log_blocks: 4, logical_pages: blocks * size };
        let flash = wearwell_engine::ftl::Restart::into_flash(ftl);
        let (mut ftl, report) = HybridFtl::recover(config, flash, None).map_err(|(error, _)| error).unwrap();
        ftl.check().unwrap();
        let reads = |name| report.steps.iter().find(|step| step.name == name).unwrap().spare_reads;
        assert_eq!(reads("first pages"), 45, "one of every block");
        // A binary search in a block of 16 pages takes 4 or 5 reads, plus a read of the last page.
        assert!((40 * 5..=45 * 6).contains(&reads("ends of blocks")), "{report:?}");
        assert_eq!(reads("padding"), 0, "there is none");
        assert!(reads("log pages") <= 64 && reads("places of log pages") <= reads("log pages"), "{report:?}");
        let total: u64 = report.steps.iter().map(|step| step.spare_reads).sum();
        assert!(total < 45 * u64::from(size), "less than all pages");
        let mut read = Vec::new();
        ftl.read(&(0..blocks * size).map(Lpn).collect::<Vec<_>>(), &mut read).unwrap();
        assert!((0..u64::from(blocks * size)).map(|page| Bytes(page.to_le_bytes())).eq(read));
    }
}

#[test]
fn ram_is_reported_by_part() {
    let ftl = ftl(HybridKind::Fast, 100, 5, 16);
    let report = report(&ftl);
    let ram: Vec<_> = report.ftl.unwrap().ram.iter().map(|part| (part.name, part.bytes)).collect();
    let parts =
        [("block map", 400), ("write pointers", 400), ("log map", 4 * 5 * 16), ("trimmed pages", 200)];
    assert_eq!(ram, parts);
    assert_eq!(report.map_bytes, Some(1320));
}

#[test]
fn invalid_settings_are_refused_by_key() {
    let error_of = |log_blocks, logical_pages, blocks| {
        let config = HybridConfig { kind: HybridKind::Bast, log_blocks, logical_pages };
        HybridFtl::new(config, flash(blocks, 4)).map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(error_of(1, 8, 10), "log_blocks: is 1; at least 2 are needed");
    assert_eq!(error_of(2, 0, 10), "logical_pages: is 0; at least one page is needed");
    let message = error_of(2, 29, 10);
    assert!(message.starts_with("logical_pages: 29 logical pages") && message.contains("11 blocks"));
    assert_eq!([10, 99, 1000].map(HybridConfig::default_log_blocks), [2, 2, 30]);
}
