//! Cost of a simulated page write, compared with the limits of the machine's memory.
//!
//!     cargo bench --bench engine -- [SUBSTRING] [--quick] [--check] [--prefetch on|off]
//!
//! Runs the cases whose name contains SUBSTRING (default: all, which takes about a quarter of an hour on a quiet
//! machine and 6 GB of memory). `--quick` runs only the small devices, with fewer chunks. `2TiB-full` is a whole
//! experiment: a fresh drive, sequential fill, steady state, three more drive writes. `--check` recounts every table
//! at the end; `--prefetch` overrides the engine's choice by table size.
//!
//! Columns of the output:
//!
//! - `WA` write amplification during the measurement; `ns/host` and `ns/page` cost of a host write (including the
//!   random page number) and of a page write (host and cleaning together); `M page/s` the inverse of `ns/page`.
//! - `G` the yardstick: ns for one random read-modify-write of a `u32` table as large as the logical map, prefetched 64
//!   ahead, with the same instructions in every build. One core gets at most about 110 M random lines per second from
//!   memory, so `page/G` and `host/G` show how far the engine is from this limit.
//! - `B/page` bytes of memory per physical page, including the bookkeeping of the flash; the goal is 8 with blocks of
//!   128 pages.
//! - `goal` the goal, with a mark if it is met.
//! - `state` a hash of every counter, every block's valid pages and erases, and every logical page's location. An
//!   optimisation that changes it is a defect: the hash depends only on the case and the mode (`--quick` does fewer
//!   writes), not on machine, prefetching or time.
//!
//! All times are CPU time of the thread, so that other processes disturb only through caches and memory. Chunks of
//! the case and of `G` alternate, and each value is the median over the chunks; ratios are medians of the ratios of
//! each chunk. On a shared machine, ns vary by half, ratios by a tenth.
//!
//! To compare with another simulator, give it the work of a case (`d_choices` with d = 10, uniform random page
//! writes, and the blocks, pages and utilisation listed in [`devices`]). Start from a sequential fill, wait until
//! write amplification agrees to the same digits, and divide CPU time by *page* writes, including cleaning: time per
//! host write would compare amplifications. SDCSIM, the fastest other simulator known to us, takes about 65 ns per
//! page write on such work.

mod yardstick;

use cpu_time::ThreadTime;
use std::time::{Duration, Instant};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Layer, Reports, no_data};
use wearwell_engine::log::{BlockTable, Directory, LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{Frontiers, Placement};
use wearwell_engine::victim::{VictimConfig, VictimPolicy, VictimVisitor};
use yardstick::Yardstick;

/// Number of pages written by each call of the store.
const BATCH: usize = 4096;
/// Host writes and table updates in each measured chunk.
const CHUNK: u64 = 1 << 20;

/// Goal of a case.
#[derive(Clone, Copy)]
enum Goal {
    None,
    PagePerG(f64),
    HostPerG(f64),
    PageNs(f64),
    HostNs(f64),
}

/// Write frontiers and directory of a store.
#[derive(Clone, Copy, PartialEq)]
enum StoreKind {
    /// One frontier for the host and one for cleaning; page table.
    Double,
    /// One frontier; page table.
    Single,
    /// One frontier; block table.
    SingleBlock,
}

#[derive(Clone)]
struct Case {
    name: String,
    blocks: u32,
    pages_per_block: u32,
    load: f64,
    /// Overwrites of the logical space before the measurement.
    warm_up: f64,
    victim: &'static str,
    kind: StoreKind,
    goal: Goal,
    large: bool,
}

/// Name, blocks, pages per block, utilisation, overwrites before the measurement.
fn devices() -> [(&'static str, u32, u32, f64, f64); 7] {
    [
        ("small", 500, 32, 0.9, 50.0),
        ("paper", 10_000, 32, 0.9, 8.0),
        ("8GiB", 1 << 14, 128, 0.7, 3.0),
        ("8GiB-b32", 1 << 16, 32, 0.7, 3.0),
        ("8GiB-full", 1 << 14, 128, 0.9, 6.0),
        ("256GiB", 1 << 19, 128, 0.7, 1.0),
        ("2TiB", 1 << 22, 128, 0.7, 0.5),
    ]
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (device, blocks, pages_per_block, load, warm_up) in devices() {
        for victim in ["d_choices", "greedy", "fifo"] {
            for (kind, label) in [
                (StoreKind::Double, "double"),
                (StoreKind::Single, "single"),
                (StoreKind::SingleBlock, "single-block"),
            ] {
                let goal = match (device, victim, kind) {
                    ("paper", "d_choices", StoreKind::Double) => Goal::PageNs(10.0),
                    ("paper", "d_choices", StoreKind::SingleBlock) => Goal::HostNs(20.0),
                    ("256GiB", "d_choices", StoreKind::SingleBlock) => Goal::HostPerG(1.7),
                    ("8GiB" | "256GiB" | "2TiB", "d_choices", StoreKind::Double) => Goal::PagePerG(2.5),
                    _ => Goal::None,
                };
                let (name, large) = (format!("{device} {victim} {label}"), blocks > 1 << 17);
                cases.push(Case { name, blocks, pages_per_block, load, warm_up, victim, kind, goal, large });
            }
        }
    }
    cases
}

/// A store whose whole state can be hashed.
trait BenchStore: Layer<()> {
    fn state_hash(&self) -> u64;

    fn reports(&self) -> Reports {
        let mut reports = Reports::default();
        self.describe(&mut reports);
        reports
    }
}

impl<D: Directory, V: VictimPolicy, P: Placement> BenchStore for LogStore<Nand<()>, D, V, P> {
    fn state_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut add = |value: u64| hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
        let reports = self.reports();
        let layer = &reports.layers[0];
        for operation in Operation::ALL {
            add(layer.counters.incoming(operation));
            Cause::ALL.iter().for_each(|&cause| add(layer.counters.outgoing(cause, operation)));
        }
        layer.victim_valid_pages.iter().for_each(|&victims| add(victims));
        (0..self.blocks().len()).for_each(|block| {
            let block = wearwell_base::units::BlockId(block);
            add(u64::from(self.blocks().valid_pages(block)));
            add(u64::from(self.written(block)));
        });
        reports.nand.unwrap().erase_counts.iter().for_each(|&count| add(u64::from(count)));
        for page in (0..self.logical_pages()).map(Lpn) {
            let block = self.directory().block_of(page).map_or(u64::MAX, |block| u64::from(block.0));
            add(block << 20 | self.directory().page_in_block(page).map_or(0, u64::from));
        }
        hash
    }
}

struct StoreBuilder<'a> {
    case: &'a Case,
    logical_pages: u32,
    prefetch: Option<bool>,
}

impl VictimVisitor for StoreBuilder<'_> {
    type Output = Box<dyn BenchStore>;

    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Box<dyn BenchStore> {
        let Case { blocks, pages_per_block, kind: form, .. } = *self.case;
        let logical_pages = self.logical_pages;
        let nand = Nand::<()>::new(Geometry::flat(blocks, pages_per_block, 4096), Wear::default(), Seed(1));
        let config = StoreConfig {
            prefetch: self.prefetch,
            ..StoreConfig::new(logical_pages, Reclaim::InPlace, Seed(1))
        };
        let placement = if form == StoreKind::Double { Frontiers::double() } else { Frontiers::single() };
        if form == StoreKind::SingleBlock {
            let directory = BlockTable::new(logical_pages);
            Box::new(LogStore::new(config, nand, directory, victim, placement).unwrap())
        } else {
            let directory = PageTable::new(logical_pages, blocks, pages_per_block);
            Box::new(LogStore::new(config, nand, directory, victim, placement).unwrap())
        }
    }
}

/// A store with its stream of uniform random writes.
struct BenchRun {
    store: Box<dyn BenchStore>,
    batch: Vec<Lpn>,
    random: Random,
}

impl BenchRun {
    /// Creates a store for the case, filled once from the first page to the last.
    fn new(case: &Case, prefetch: Option<bool>) -> Self {
        let pages = f64::from(case.blocks) * f64::from(case.pages_per_block);
        let logical_pages = (pages * case.load).round() as u32;
        let Case { blocks, pages_per_block, .. } = *case;
        let size = StoreSize { blocks, pages_per_block, logical_pages, seed: Seed(1) };
        let victim: VictimConfig =
            serde_json::from_value(serde_json::json!({"policy": case.victim})).unwrap();
        let store = victim.visit(&size, StoreBuilder { case, logical_pages, prefetch }).unwrap();
        let mut run = BenchRun { store, batch: Vec::with_capacity(BATCH), random: Seed(2).random() };
        for first in (0..logical_pages).step_by(BATCH) {
            run.batch.clear();
            run.batch.extend((first..logical_pages.min(first + BATCH as u32)).map(Lpn));
            run.store.write(&run.batch, no_data(run.batch.len()), 0).unwrap();
        }
        run
    }

    /// Writes `pages` random pages, rounded up to whole batches; returns the number written.
    fn write(&mut self, pages: u64) -> u64 {
        let logical_pages = u64::from(self.store.logical_pages());
        let batches = pages.div_ceil(BATCH as u64);
        for _ in 0..batches {
            let draw = || Lpn(random_below(&mut self.random, logical_pages) as u32);
            self.batch.clear();
            self.batch.extend(std::iter::repeat_with(draw).take(BATCH));
            self.store.write(&self.batch, no_data(BATCH), 0).unwrap();
        }
        batches * BATCH as u64
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[derive(Default)]
struct Chunks {
    host: Vec<f64>,
    page: Vec<f64>,
    yardstick: Vec<f64>,
    host_per_g: Vec<f64>,
    page_per_g: Vec<f64>,
}

/// Measures `chunks` chunks of the run, each between two measurements of the yardstick.
fn measure(run: &mut BenchRun, chunks: u32) -> (Chunks, f64) {
    let mut yardstick = Yardstick::new(run.store.logical_pages() as usize);
    let mut result = Chunks::default();
    let first = run.store.reports().layers[0].counters;
    let mut before = first;
    let mut g_before = yardstick.measure(CHUNK);
    for _ in 0..chunks {
        let start = ThreadTime::now();
        let host = run.write(CHUNK) as f64;
        let time = start.elapsed().as_nanos() as f64;
        let after = run.store.reports().layers[0].counters;
        let pages = after.since(&before).outgoing_total(Operation::Write) as f64;
        let g_after = yardstick.measure(CHUNK);
        let g = (g_before + g_after) / 2.0;
        result.host.push(time / host);
        result.page.push(time / pages);
        result.yardstick.push(g);
        result.host_per_g.push(time / host / g);
        result.page_per_g.push(time / pages / g);
        (before, g_before) = (after, g_after);
    }
    (result, before.since(&first).write_amplification().expect("pages were written"))
}

fn goal_result(goal: Goal, page: f64, host: f64, page_per_g: f64, host_per_g: f64) -> String {
    let (label, reached, limit) = match goal {
        Goal::None => return String::from("-"),
        Goal::PagePerG(wanted) => ("page/G", page_per_g, wanted),
        Goal::HostPerG(wanted) => ("host/G", host_per_g, wanted),
        Goal::PageNs(wanted) => ("ns/page", page, wanted),
        Goal::HostNs(wanted) => ("ns/host", host, wanted),
    };
    format!("{label}<={limit} {}", if reached <= limit { "met" } else { "missed" })
}

fn benchmark(case: &Case, options: &Options) {
    let mut run = BenchRun::new(case, options.prefetch);
    let warm_up = case.warm_up * if options.quick { 0.5 } else { 1.0 };
    run.write((f64::from(run.store.logical_pages()) * warm_up) as u64);
    let (chunks, wa) = measure(&mut run, if options.quick { 5 } else { 15 });
    let reports = run.store.reports();
    let memory = reports.layers[0].memory_bytes + reports.nand.as_ref().map_or(0, |nand| nand.memory_bytes);
    let per_page = memory as f64 / reports.layers[0].physical_pages as f64;
    let [host, page, g, host_per_g, page_per_g] =
        [chunks.host, chunks.page, chunks.yardstick, chunks.host_per_g, chunks.page_per_g].map(median);
    println!(
        "{:<32} {wa:7.4} {host:8.1} {page:8.2} {:9.1} {g:6.2} {page_per_g:7.2} {host_per_g:7.2} {per_page:7.2} {:<20} {:016x}",
        case.name,
        1e3 / page,
        goal_result(case.goal, page, host, page_per_g, host_per_g),
        run.store.state_hash(),
    );
    if options.check {
        run.store.check().unwrap();
    }
}

/// Runs a whole experiment on 2 TiB, to measure the time that a user waits.
fn full_experiment(options: &Options) {
    let name = "2TiB d_choices double";
    let case = cases().into_iter().find(|case| case.name == name).expect("in the list");
    let (cpu, wall) = (ThreadTime::now(), Instant::now());
    let report = |phase: &str, wa: Option<f64>| {
        let wa = wa.map_or(String::new(), |wa| format!("WA {wa:.4}"));
        let seconds = |time: Duration| time.as_secs_f64();
        println!(
            "  {phase:<24} {wa:<12} CPU {:6.1} s  wall {:6.1} s",
            seconds(cpu.elapsed()),
            seconds(wall.elapsed())
        );
    };
    println!("2TiB-full: {name}, goal: 300 s of CPU time");
    let mut run = BenchRun::new(&case, options.prefetch);
    report("sequential fill", None);
    let mut before = run.store.reports().layers[0].counters;
    let mut drive_write = |phase: String| {
        run.write(u64::from(run.store.logical_pages()));
        let counters = run.store.reports().layers[0].counters;
        let wa = counters.since(&before).write_amplification().expect("pages were written");
        before = counters;
        report(&phase, Some(wa));
        wa
    };
    // Steady state: amplification changes by less than 1 % from one drive write to the next.
    let (mut last, mut writes) = (0.0, 0);
    loop {
        let wa = drive_write(format!("warm-up {}", writes + 1));
        writes += 1;
        if (wa - last).abs() < 0.01 * wa {
            break;
        }
        last = wa;
    }
    for write in 1..=3 {
        drive_write(format!("drive write {write}"));
    }
    let result = if cpu.elapsed().as_secs() < 300 { "met" } else { "missed" };
    println!("  goal {result}, state {:016x}", run.store.state_hash());
}

struct Options {
    filter: String,
    quick: bool,
    check: bool,
    prefetch: Option<bool>,
}

impl Options {
    fn parse() -> Self {
        let mut options = Options { filter: String::new(), quick: false, check: false, prefetch: None };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "--bench" => {}
                "--quick" => options.quick = true,
                "--check" => options.check = true,
                "--prefetch" => match arguments.next().as_deref() {
                    Some("on") => options.prefetch = Some(true),
                    Some("off") => options.prefetch = Some(false),
                    other => panic!("--prefetch takes on or off, not {other:?}"),
                },
                option if option.starts_with("--") => {
                    panic!("{option} is none of --quick, --check, --prefetch")
                }
                filter => options.filter = filter.into(),
            }
        }
        options
    }
}

fn main() {
    let options = Options::parse();
    yardstick::check();
    println!(
        "{:<32} {:>7} {:>8} {:>8} {:>9} {:>6} {:>7} {:>7} {:>7} {:<20} state",
        "case", "WA", "ns/host", "ns/page", "M page/s", "G", "page/G", "host/G", "B/page", "goal"
    );
    for case in cases() {
        if case.name.contains(&options.filter) && !(options.quick && case.large) {
            benchmark(&case, &options);
        }
    }
    if "2TiB-full".contains(&options.filter) && !options.quick {
        full_experiment(&options);
    }
}
