//! Cost of a simulated page write beside G, the cost of a prefetched random read-modify-write on a table of the
//! same footprint, measured in the same minute.
//!
//!     cargo bench --bench engine -- [CASE-SUBSTRING] [--seconds S]

use std::time::Instant;
use wearwell_core::config::StoreSize;
use wearwell_core::layer::{Layer, Reports, no_data};
use wearwell_core::log::{BlockTable, CopyOrder, LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_core::nand::{Geometry, Nand, Wear};
use wearwell_core::placement::Frontiers;
use wearwell_core::seed::{Random, Seed, below};
use wearwell_core::units::Lpn;
use wearwell_core::victim::{VictimConfig, VictimPolicy, VictimVisitor};

const BATCH: usize = 4096;

struct Case {
    name: &'static str,
    blocks: u32,
    pages_per_block: u32,
    load: f64,
    frontiers: u8,
    victim: &'static str,
    block_table: bool,
    fill: f64,
}

fn gups(entries: usize, updates: u64) -> f64 {
    const DISTANCE: usize = 64;
    let mut table = vec![0u32; entries];
    let mut random = Seed(7).random();
    let mut ring = [0usize; DISTANCE];
    let draw = |random: &mut Random| below(random, entries as u64) as usize;
    ring.fill_with(|| draw(&mut random));
    table.fill(1);
    let start = Instant::now();
    for at in 0..updates as usize {
        let index = std::mem::replace(&mut ring[at % DISTANCE], draw(&mut random));
        #[cfg(target_arch = "x86_64")]
        unsafe {
            use std::arch::x86_64::*;
            _mm_prefetch::<_MM_HINT_ET0>(table.as_ptr().add(ring[at % DISTANCE]).cast());
        }
        table[index] = table[index].wrapping_add(at as u32);
    }
    let time = start.elapsed();
    std::hint::black_box(&table);
    time.as_nanos() as f64 / updates as f64
}

struct Build<'a> {
    case: &'a Case,
    size: StoreSize,
}

impl VictimVisitor for Build<'_> {
    type Output = Box<dyn Layer<()>>;
    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Box<dyn Layer<()>> {
        let Case { blocks, pages_per_block, frontiers, block_table, .. } = *self.case;
        let logical_pages = self.size.logical_pages;
        let nand = Nand::<()>::new(Geometry::flat(blocks, pages_per_block, 4096), Wear::default(), Seed(1));
        let prefetch = 4 * logical_pages as usize
            + if block_table { 0 } else { 4 * blocks as usize * pages_per_block as usize }
            > 12 << 20;
        let config = StoreConfig {
            logical_pages,
            reclaim: Reclaim::InPlace,
            copy_order: CopyOrder::Oldest,
            prefetch,
            seed: Seed(1),
        };
        let placement = if frontiers == 1 { Frontiers::single() } else { Frontiers::double() };
        if block_table {
            Box::new(LogStore::new(config, nand, BlockTable::new(logical_pages), victim, placement).unwrap())
        } else {
            Box::new(
                LogStore::new(
                    config,
                    nand,
                    PageTable::new(logical_pages, blocks, pages_per_block),
                    victim,
                    placement,
                )
                .unwrap(),
            )
        }
    }
}

fn run(case: &Case, seconds: f64) {
    let pages = u64::from(case.blocks) * u64::from(case.pages_per_block);
    let logical_pages = (pages as f64 * case.load).round() as u32;
    let size = StoreSize {
        blocks: case.blocks,
        pages_per_block: case.pages_per_block,
        logical_pages,
        seed: Seed(1),
    };
    let victim: VictimConfig = serde_json::from_value(serde_json::json!({"policy": case.victim})).unwrap();
    let mut store = victim.visit(&size, Build { case, size }).unwrap();
    let mut batch = Vec::with_capacity(BATCH);
    for first in (0..logical_pages).step_by(BATCH) {
        batch.clear();
        batch.extend((first..logical_pages.min(first + BATCH as u32)).map(Lpn));
        store.write(&batch, no_data(batch.len()), 0).unwrap();
    }
    let mut random = Seed(2).random();
    let mut drive = |store: &mut Box<dyn Layer<()>>, pages: u64| {
        let mut left = pages;
        while left > 0 {
            batch.clear();
            batch.extend((0..BATCH).map(|_| Lpn(below(&mut random, u64::from(logical_pages)) as u32)));
            store.write(&batch, no_data(BATCH), 0).unwrap();
            left = left.saturating_sub(BATCH as u64);
        }
    };
    drive(&mut store, (f64::from(logical_pages) * case.fill) as u64);
    let reports = |store: &dyn Layer<()>| {
        let mut reports = Reports::default();
        store.describe(&mut reports);
        reports
    };
    let before = reports(&*store);
    let start = Instant::now();
    let mut host = 0u64;
    while start.elapsed().as_secs_f64() < seconds {
        drive(&mut store, 1 << 18);
        host += 1 << 18;
    }
    let elapsed = start.elapsed().as_nanos() as f64;
    let after = reports(&*store);
    let wa = after.layers[0].counters.since(&before.layers[0].counters).write_amplification().unwrap();
    let g = gups(logical_pages as usize, 20_000_000);
    let per_host = elapsed / host as f64;
    let per_page = per_host / wa;
    let memory = (after.layers[0].memory_bytes + after.nand.unwrap().memory_bytes) as f64 / pages as f64;
    println!(
        "{:<28} WA {wa:7.4}  host {per_host:6.1} ns ({:5.1} M/s)  page {per_page:5.2} ns ({:5.1} M/s)  G {g:5.2} ns  page/G {:4.2}  host/G {:4.2}  {memory:.2} B/page",
        case.name,
        1e3 / per_host,
        1e3 / per_page,
        per_page / g,
        per_host / g
    );
    if std::env::args().any(|arg| arg == "--check") {
        store.check().unwrap();
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    let filter = args.iter().find(|arg| !arg.starts_with("--")).cloned().unwrap_or_default();
    let cases = [
        ("paper", 10_000, 32, 0.9, 6.0),
        ("8GiB-b128-l70", 1 << 14, 128, 0.7, 3.0),
        ("8GiB-b128-l90", 1 << 14, 128, 0.9, 5.0),
        ("256GiB-b128-l70", 1 << 19, 128, 0.7, 1.0),
        ("2TiB-b128-l70", 1 << 22, 128, 0.7, 0.5),
    ];
    for (size, blocks, pages_per_block, load, fill) in cases {
        for victim in ["d_choices", "greedy", "fifo"] {
            for (frontiers, block_table, form) in
                [(2, false, "double"), (1, false, "single"), (1, true, "single/block")]
            {
                let name: &'static str = format!("{size} {victim} {form}").leak();
                let case = Case { name, blocks, pages_per_block, load, frontiers, victim, block_table, fill };
                if name.contains(&filter) {
                    run(&case, 2.0);
                }
            }
        }
    }
}
