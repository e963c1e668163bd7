//! Cost of an invalidation in a validity store: `cargo bench --bench validity [-- --quick] [kind ...]`.
//!
//! A drive of 2^22 blocks (2^16 with `--quick`) of 128 pages of 4 KiB. Random pages become invalid, and one update in
//! 51 is the erase of a random block. Prints updates per second (goal for Gecko: 10 million), flash writes and reads
//! per update, and pages in flash. Times are CPU time of the thread: the best of the chunks and their median. `state`
//! is a hash of the answers: an optimisation that changes it is a defect.

use cpu_time::ThreadTime;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::{BlockId, Slot};
use wearwell_engine::validity::{
    FlashBitmap, Gecko, GeckoConfig, LogConfig, MemoryFlash, PageSet, PageValidity, ValidityFlash,
    ValidityLog,
};

const PAGES_PER_BLOCK: u32 = 128;
const PAGE_BYTES: u32 = 4096;
const UPDATES_PER_ERASE: u64 = 50;

/// Returns a store of this kind, and the number of updates per chunk.
fn build(kind: &str, blocks: u32) -> (Box<dyn PageValidity>, u64) {
    let gecko = GeckoConfig::new(blocks, PAGES_PER_BLOCK, PAGE_BYTES);
    let spare_pages = u64::from(blocks) * u64::from(PAGES_PER_BLOCK) * 3 / 10;
    let log = LogConfig::new(blocks, PAGES_PER_BLOCK, PAGE_BYTES, spare_pages);
    match kind {
        "gecko" => (Box::new(Gecko::new(gecko).expect("settings that fit")), 1 << 22),
        "gecko two-way" => {
            let config = GeckoConfig { multiway: false, ..gecko };
            (Box::new(Gecko::new(config).expect("settings that fit")), 1 << 22)
        }
        "log" => (Box::new(ValidityLog::new(log).expect("settings that fit")), 1 << 20),
        "flash bitmap" => (Box::new(FlashBitmap::new(blocks, PAGES_PER_BLOCK, PAGE_BYTES)), 1 << 14),
        other => panic!("no such kind: {other}"),
    }
}

fn update(
    store: &mut dyn PageValidity,
    flash: &mut MemoryFlash,
    random: &mut Random,
    blocks: u32,
    updates: u64,
) {
    for at in 0..updates {
        if at % (UPDATES_PER_ERASE + 1) == UPDATES_PER_ERASE {
            let block = BlockId(random_below(random, u64::from(blocks)) as u32);
            store.record_erase(block, flash).expect("room");
        } else {
            let page = random_below(random, u64::from(blocks) * u64::from(PAGES_PER_BLOCK));
            store.invalidate(Slot(page as u32), flash).expect("room");
        }
        flash.advance(1);
    }
}

/// Returns a hash (FNV-1a) of the store's answers for some blocks.
fn state(store: &dyn PageValidity, flash: &dyn ValidityFlash, blocks: u32) -> u64 {
    let mut invalid = PageSet::new(PAGES_PER_BLOCK);
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for block in (0..blocks).step_by(97).map(BlockId) {
        invalid.clear();
        store.peek(block, flash, &mut invalid);
        for word in invalid.words() {
            hash = (hash ^ word).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|name| !name.starts_with("--")).collect();
    let quick = std::env::args().any(|argument| argument == "--quick");
    let blocks = if quick { 1 << 16 } else { 1 << 22 };
    println!(
        "{:14} {:>12} {:>12} {:>10} {:>10} {:>10} {:>16}",
        "kind", "best/s", "median/s", "writes", "reads", "pages", "state"
    );
    for kind in ["gecko", "gecko two-way", "log", "flash bitmap"] {
        if !arguments.is_empty() && !arguments.iter().any(|name| name == kind) {
            continue;
        }
        let mut flash = MemoryFlash::new();
        let (mut store, chunk) = build(kind, blocks);
        let mut random = Seed(1).derive("bench").random();
        // The runs reach their final sizes when almost every part of every block has an entry.
        update(&mut *store, &mut flash, &mut random, blocks, chunk * if quick { 4 } else { 8 });
        let (writes, reads) = (flash.appends(), flash.reads());
        let chunks = 8;
        let mut speeds: Vec<f64> = (0..chunks)
            .map(|_| {
                let start = ThreadTime::now();
                update(&mut *store, &mut flash, &mut random, blocks, chunk);
                chunk as f64 / start.elapsed().as_secs_f64()
            })
            .collect();
        speeds.sort_by(f64::total_cmp);
        let updates = (chunks * chunk) as f64;
        println!(
            "{kind:14} {:12.0} {:12.0} {:10.5} {:10.5} {:10} {:016x}",
            speeds[speeds.len() - 1],
            speeds[speeds.len() / 2],
            (flash.appends() - writes) as f64 / updates,
            (flash.reads() - reads) as f64 / updates,
            store.flash_pages(),
            state(&*store, &flash, blocks),
        );
    }
}
