//! A log-structured merge tree on an FTL, compared with a naive tree that copies lists and ignores extents.

use crate::naive::cases::{Op, ops};
use crate::naive::observe::reports;
use crate::naive::rig::{Engine, Setup, Stamp};
use proptest::prelude::*;
use std::collections::BTreeMap;
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Counters, Operation};
use wearwell_engine::layer::{Bytes, Layer, LayerError};
use wearwell_engine::log::{LevelSizes, LsmConfig, LsmTree, Shape};
use wearwell_engine::nand::{Nand, Wear};

/// A key with its version, or with `None` for a tombstone.
type Entry = (u32, Option<u64>);
type Table = Vec<Entry>;
type Run = Vec<Table>;

struct Naive {
    config: LsmConfig,
    /// Content of the memtable or the log store.
    memtable: BTreeMap<u32, Option<u64>>,
    /// Number of pages in the log, and number of tombstones not yet in the log.
    log: (u32, u32),
    /// Runs of each level, the newest first.
    levels: Vec<Vec<Run>>,
    targets: Vec<usize>,
    next: Vec<u32>,
    content: BTreeMap<u32, u64>,
    counters: Counters,
    trimmed: u64,
    moved: u64,
}

fn range(table: &[Entry]) -> (u32, u32) {
    (table[0].0, table[table.len() - 1].0)
}

fn overlaps(table: &[Entry], keys: (u32, u32)) -> bool {
    range(table).0 <= keys.1 && keys.0 <= range(table).1
}

fn tombstones(table: &[Entry]) -> usize {
    table.iter().filter(|(_, version)| version.is_none()).count()
}

impl Naive {
    fn new(config: LsmConfig) -> Self {
        let mut naive = Naive {
            config,
            memtable: BTreeMap::new(),
            log: (0, 0),
            levels: Vec::new(),
            targets: Vec::new(),
            next: Vec::new(),
            content: BTreeMap::new(),
            counters: Counters::default(),
            trimmed: 0,
            moved: 0,
        };
        let (all, memtable) = (config.logical_pages as usize, config.memtable_pages as usize);
        let mut levels = 2;
        match config.shape {
            Shape::Leveled { level0_runs, ratio, sizes } => {
                let (base, ratio) = (level0_runs as usize * memtable, ratio as usize);
                let last = (1..).find(|&level| base * ratio.pow(level - 1) >= all).unwrap();
                levels = last as usize + 1;
                let mut size = all;
                let mut targets = vec![0; levels];
                for level in (1..levels).rev() {
                    targets[level] = match sizes {
                        LevelSizes::FromTop => base * ratio.pow(level as u32 - 1),
                        LevelSizes::FromBottom => size,
                    };
                    targets[level] = targets[level].div_ceil(config.table_pages as usize);
                    size = size.div_ceil(ratio);
                }
                naive.targets = targets;
            }
            Shape::Tiered { runs } => {
                levels =
                    (1..).find(|&levels| memtable * (runs as usize).pow(levels) >= all).unwrap() as usize;
            }
            Shape::Silt { .. } => {}
        }
        naive.levels = vec![Vec::new(); levels];
        naive.next = vec![0; levels];
        naive
    }

    fn is_silt(&self) -> bool {
        matches!(self.config.shape, Shape::Silt { .. })
    }

    fn tombstones_per_page(&self) -> usize {
        self.config.page_bytes as usize / 16
    }

    fn pages(&self, table: &[Entry]) -> usize {
        table.len() - tombstones(table) + tombstones(table).div_ceil(self.tombstones_per_page())
    }

    fn index_pages(&self, table: &[Entry]) -> usize {
        let bytes = self.pages(table) * self.config.index_bytes_per_page as usize;
        bytes.div_ceil(self.config.page_bytes as usize)
    }

    fn count(&mut self, cause: Cause, operation: Operation, amount: usize) {
        self.counters.add_outgoing(cause, operation, amount as u64);
    }

    /// Cuts sorted entries into tables and counts their writes.
    fn write_run(&mut self, entries: impl IntoIterator<Item = Entry>, cause: Cause) -> Run {
        let mut run = Run::new();
        for entry in entries {
            if let Some(table) = run.last_mut() {
                table.push(entry);
                if self.pages(run.last().unwrap()) <= self.config.table_pages as usize {
                    continue;
                }
                run.last_mut().unwrap().pop();
            }
            run.push(vec![entry]);
        }
        for table in &run {
            self.count(cause, Operation::Write, self.pages(table));
            self.count(Cause::LogMetadata, Operation::Write, self.index_pages(table));
        }
        run
    }

    /// Merges runs, the newest first.
    fn merge(&mut self, runs: &[Run], keep_tombstones: bool) -> Run {
        let mut entries = BTreeMap::new();
        for table in runs.iter().rev().flatten() {
            entries.extend(table.iter().copied());
            self.count(Cause::Cleaning, Operation::Read, self.pages(table));
            self.count(Cause::Cleaning, Operation::Erase, 1);
            self.trimmed += (self.pages(table) + self.index_pages(table)) as u64;
        }
        entries.retain(|_, version| keep_tombstones || version.is_some());
        self.write_run(entries, Cause::Cleaning)
    }

    fn add_run(&mut self, level: usize, run: Run) {
        if !run.is_empty() {
            self.levels[level].insert(0, run);
        }
    }

    fn has_data_below(&self, level: usize) -> bool {
        self.levels[level + 1..].iter().any(|runs| !runs.is_empty())
    }

    fn write(&mut self, key: u32, version: u64) {
        self.counters.add_incoming(Operation::Write, 1);
        self.memtable.insert(key, Some(version));
        self.content.insert(key, version);
        self.append_to_log();
        self.flush_memtable_if_full();
    }

    fn append_to_log(&mut self) {
        match self.is_silt() {
            true => self.count(Cause::Host, Operation::Write, 1),
            false if self.config.wal_pages.is_some() => self.count(Cause::LogMetadata, Operation::Write, 1),
            false => return,
        }
        self.log.0 += 1;
    }

    fn trim(&mut self, key: u32) {
        self.counters.add_incoming(Operation::Trim, 1);
        self.memtable.insert(key, None);
        self.content.remove(&key);
        self.log.1 += 1;
        if self.log.1 as usize == self.tombstones_per_page() {
            self.append_to_log();
            self.log.1 = 0;
        }
        self.flush_memtable_if_full();
    }

    fn flush(&mut self) {
        self.counters.add_incoming(Operation::Flush, 1);
        if !self.is_silt() && self.config.wal_pages.is_none() {
            if !self.memtable.is_empty() {
                self.flush_memtable();
            }
        } else if self.log.1 > 0 {
            self.append_to_log();
            self.log.1 = 0;
            self.flush_memtable_if_full();
        }
    }

    fn flush_memtable_if_full(&mut self) {
        let memtable: Vec<Entry> = self.memtable.clone().into_iter().collect();
        let is_full = !self.is_silt() && self.pages(&memtable) >= self.config.memtable_pages as usize;
        let log_limit = if self.is_silt() { Some(self.config.memtable_pages) } else { self.config.wal_pages };
        if is_full || log_limit.is_some_and(|room| self.log.0 >= room) {
            self.flush_memtable();
        }
    }

    fn flush_memtable(&mut self) {
        let memtable: Vec<Entry> = std::mem::take(&mut self.memtable).into_iter().collect();
        let mut cause = Cause::Host;
        if self.is_silt() {
            cause = Cause::Cleaning;
            self.count(cause, Operation::Read, memtable.len() - tombstones(&memtable));
            self.count(cause, Operation::Erase, self.log.0.div_ceil(self.config.table_pages) as usize);
        }
        self.trimmed += u64::from(self.log.0);
        self.log = (0, 0);
        let run = self.write_run(memtable, cause);
        self.add_run(0, run);
        match self.config.shape {
            Shape::Leveled { level0_runs, .. } => self.compact_leveled(level0_runs as usize),
            Shape::Tiered { runs } => self.compact_tiered(runs as usize),
            Shape::Silt { hash_stores } if self.levels[0].len() == hash_stores as usize => {
                let runs: Vec<Run> = self.levels.iter_mut().flat_map(std::mem::take).collect();
                let run = self.merge(&runs, false);
                self.add_run(1, run);
            }
            Shape::Silt { .. } => {}
        }
    }

    fn compact_tiered(&mut self, max_runs: usize) {
        for level in 0..self.levels.len() {
            if self.levels[level].len() >= max_runs {
                let to = (level + 1).min(self.levels.len() - 1);
                let runs = std::mem::take(&mut self.levels[level]);
                let keep_tombstones = self.levels[to..].iter().any(|runs| !runs.is_empty());
                let run = self.merge(&runs, keep_tombstones);
                self.add_run(to, run);
            }
        }
    }

    fn compact_leveled(&mut self, level0_runs: usize) {
        loop {
            let last = self.levels.len() - 1;
            let size = |level: &usize| self.levels[*level].first().map_or(0, Run::len);
            if self.levels[0].len() >= level0_runs {
                self.empty_level0();
            } else if let Some(level) = (1..last).find(|level| size(level) > self.targets[*level]) {
                let run = &self.levels[level][0];
                let at = run.iter().position(|table| range(table).0 >= self.next[level]).unwrap_or(0);
                let table = self.levels[level][0].remove(at);
                self.levels[level].retain(|run| !run.is_empty());
                self.next[level] = range(&table).1 + 1;
                self.push_down(vec![vec![table]], level + 1);
            } else {
                return;
            }
        }
    }

    fn empty_level0(&mut self) {
        let oldest = self.levels[0].last().unwrap();
        let keys = (range(&oldest[0]).0, range(&oldest[oldest.len() - 1]).1);
        let newer_runs = self.levels[0].len() - 1;
        let is_disjoint = self.levels[0][..newer_runs].iter().flatten().all(|table| !overlaps(table, keys));
        let level1_is_disjoint = self.levels[1].iter().flatten().all(|table| !overlaps(table, keys));
        let runs = match is_disjoint
            && level1_is_disjoint
            && (self.has_data_below(1) || oldest.iter().all(|t| tombstones(t) == 0))
        {
            true => vec![self.levels[0].pop().unwrap()],
            false => std::mem::take(&mut self.levels[0]),
        };
        self.push_down(runs, 1);
    }

    /// Merges runs with the overlapping tables of a level; a single run without overlap moves unchanged.
    fn push_down(&mut self, mut runs: Vec<Run>, to: usize) {
        let keys = runs.iter().flatten().map(|table| range(table));
        let keys = keys.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))).unwrap();
        let below = self.levels[to].pop().unwrap_or_default();
        let (overlapping, mut unaffected): (Run, Run) =
            below.into_iter().partition(|table| overlaps(table, keys));
        let keep_tombstones = self.has_data_below(to);
        if runs.len() == 1
            && overlapping.is_empty()
            && (keep_tombstones || runs[0].iter().all(|table| tombstones(table) == 0))
        {
            self.moved += runs[0].len() as u64;
            unaffected.append(&mut runs[0]);
        } else {
            runs.push(overlapping);
            let merged = self.merge(&runs, keep_tombstones);
            unaffected.extend(merged);
        }
        unaffected.sort_by_key(|table| table[0].0);
        self.add_run(to, unaffected);
    }

    /// Returns the content of a page and counts the read.
    fn read(&mut self, key: u32) -> u64 {
        self.counters.add_incoming(Operation::Read, 1);
        let below = self.is_silt() || !self.memtable.contains_key(&key);
        let version = self.content.get(&key).copied();
        self.count(Cause::Host, Operation::Read, usize::from(below && version.is_some()));
        version.unwrap_or(0)
    }
}

type Stack<P> = (LsmTree<P>, Naive);

/// Creates an FTL with more space than the tree needs, so that the last level is never limited by its size.
fn lower<P: Stamp>(wear: Wear) -> Engine<Nand<P>> {
    Setup { blocks: 520, pages_per_block: 12, logical_pages: 6000, wear, ..Setup::default() }.engine()
}

fn stack<P: Stamp>(config: LsmConfig) -> Stack<P> {
    (LsmTree::new(config, Box::new(lower(Wear::default()))).unwrap(), Naive::new(config))
}

fn step<P: Stamp>((tree, naive): &mut Stack<P>, op: &Op, version: &mut u64) -> Result<(), LayerError> {
    let pages = op.pages(tree.logical_pages());
    match op {
        Op::Trim(_) | Op::TrimAll => {
            tree.trim(&pages)?;
            pages.iter().for_each(|page| naive.trim(page.0));
        }
        Op::Read(_) => read(tree, naive, &pages)?,
        Op::Flush => {
            tree.flush()?;
            naive.flush();
        }
        _ => {
            let data: Vec<P> = (*version + 1..).take(pages.len()).map(P::stamp).collect();
            tree.write(&pages, &data, op.hint())?;
            for page in &pages {
                *version += 1;
                naive.write(page.0, *version);
            }
        }
    }
    Ok(())
}

fn read<P: Stamp>(tree: &mut LsmTree<P>, naive: &mut Naive, pages: &[Lpn]) -> Result<(), LayerError> {
    let mut data = Vec::new();
    tree.read(pages, &mut data)?;
    let expected: Vec<P> = pages.iter().map(|page| P::stamp(naive.read(page.0))).collect();
    assert_eq!(data, expected, "contents");
    Ok(())
}

fn compare<P: Stamp>((tree, naive): &mut Stack<P>) {
    let all: Vec<Lpn> = (0..tree.logical_pages()).map(Lpn).collect();
    read(tree, naive, &all).unwrap();
    tree.check().unwrap();
    let reports = reports(tree);
    let [above, below] = &reports.layers[..] else { panic!("two layers") };
    assert_eq!(above.counters, naive.counters);
    assert_eq!(above.mapped_pages as usize, naive.content.len());
    let lsm = above.lsm.as_ref().unwrap();
    let levels: Vec<_> =
        lsm.levels.iter().map(|level| (level.runs as usize, level.tables as usize, level.pages)).collect();
    let pages = |runs: &Vec<Run>| runs.iter().flatten().map(|table| naive.pages(table) as u64).sum();
    let tables = |runs: &Vec<Run>| runs.iter().map(Run::len).sum();
    let expected: Vec<_> = naive.levels.iter().map(|runs| (runs.len(), tables(runs), pages(runs))).collect();
    assert_eq!(levels, expected, "runs, tables and pages of each level");
    assert_eq!((lsm.trivial_moves, lsm.squeezes), (naive.moved, 0));
    let trimmed = if naive.config.trim { naive.trimmed } else { 0 };
    assert_eq!((above.trims.sent_pages, below.counters.incoming(Operation::Trim)), (trimmed, trimmed));
    for operation in [Operation::Write, Operation::Read] {
        assert_eq!(above.counters.outgoing_total(operation), below.counters.incoming(operation));
    }
}

fn shape() -> impl Strategy<Value = Shape> {
    let leveled = (1..4u32, 2..4u32, any::<bool>()).prop_map(|(level0_runs, ratio, top)| {
        let sizes = if top { LevelSizes::FromTop } else { LevelSizes::FromBottom };
        Shape::Leveled { level0_runs, ratio, sizes }
    });
    let tiered = (2..5u32).prop_map(|runs| Shape::Tiered { runs });
    prop_oneof![2 => leveled, 1 => tiered, 1 => (1..4u32).prop_map(|hash_stores| Shape::Silt { hash_stores })]
}

prop_compose! {
    fn configs()(
        shape in shape(),
        logical_pages in 1..90u32,
        page_bytes in 16..80u32,
        memtable_pages in 1..14u32,
        table_pages in 2..9u32,
        index_bytes_per_page in 0..20u32,
        wal_pages in prop::option::of(1..40u32),
        trim in any::<bool>(),
    ) -> LsmConfig {
        let wal_pages = wal_pages.filter(|_| !matches!(shape, Shape::Silt { .. }));
        LsmConfig { logical_pages, page_bytes, memtable_pages, table_pages, index_bytes_per_page, wal_pages, trim, shape }
    }
}

fn drive<P: Stamp>(config: LsmConfig, ops: &[Op]) -> Stack<P> {
    let mut stack = stack::<P>(config);
    let mut version = 0;
    for op in ops {
        step(&mut stack, op, &mut version).unwrap();
        compare(&mut stack);
    }
    stack
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn tree_agrees_with_a_naive_tree(config in configs(), ops in ops(10)) {
        drive::<Bytes<8>>(config, &ops);
        drive::<()>(config, &ops);
    }
}

/// Verifies the property test: trees must merge down to their last level.
#[test]
fn every_shape_fills_its_last_level() {
    let leveled = |sizes| Shape::Leveled { level0_runs: 2, ratio: 3, sizes };
    let silt = Shape::Silt { hash_stores: 2 };
    for shape in
        [leveled(LevelSizes::FromTop), leveled(LevelSizes::FromBottom), Shape::Tiered { runs: 3 }, silt]
    {
        let config = LsmConfig {
            logical_pages: 120,
            page_bytes: 64,
            memtable_pages: 6,
            table_pages: 5,
            index_bytes_per_page: 4,
            wal_pages: (shape != silt).then_some(9),
            trim: true,
            shape,
        };
        let ops = [Op::Sequence(0, 1000), Op::Burst(5, 6000, true), Op::TrimAll, Op::Burst(6, 3000, false)];
        let (tree, naive) = drive::<Bytes<8>>(config, &ops);
        assert!(naive.levels.iter().rev().take(2).any(|runs| !runs.is_empty()));
        let report = reports(&tree).layers[0].lsm.clone().unwrap();
        assert!(report.levels.last().unwrap().pages > 40, "{report:?}");
        assert!(report.compactions > 50 || matches!(shape, Shape::Tiered { .. } | Shape::Silt { .. }));
    }
}

#[test]
fn tree_on_a_failing_drive_keeps_its_data() {
    let config = LsmConfig {
        logical_pages: 200,
        page_bytes: 64,
        memtable_pages: 10,
        table_pages: 10,
        index_bytes_per_page: 0,
        wal_pages: None,
        trim: true,
        shape: Shape::Leveled { level0_runs: 2, ratio: 3, sizes: LevelSizes::FromBottom },
    };
    let wear = Wear { endurance_cycles: Some(4), ..Wear::default() };
    let mut tree: LsmTree<Bytes<8>> = LsmTree::new(config, Box::new(lower(wear))).unwrap();
    let mut written = BTreeMap::new();
    let error = (0..).find_map(|version: u64| {
        let page = Lpn((version * 77 % 200) as u32);
        let done = tree.write(&[page], &[Bytes::stamp(version)], 0);
        written.insert(page, version);
        done.err()
    });
    assert!(error.unwrap().is_end_of_life());
    tree.check().unwrap();
    for (page, version) in written {
        let mut data = Vec::new();
        tree.read(&[page], &mut data).unwrap();
        assert_eq!(data, [Bytes::stamp(version)]);
    }
}
