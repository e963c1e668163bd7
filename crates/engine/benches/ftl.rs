//! Cost of a host write in FTLs with tables in flash: `cargo bench --bench ftl [-- LOG2_BLOCKS [KIND...]]`.
//!
//! A drive of 2^LOG2_BLOCKS blocks (default 2^16) of 128 pages of 4 KiB, 70 percent of them logical, with one cached
//! mapping entry per 717 logical pages as in GeckoFTL's section 5. Its 2 TiB are 2^22 blocks, which need about 8 GiB
//! of memory. The drive is filled in order and then written uniformly at random. Prints CPU time of the thread by
//! chunk: the best and the median; goal: 1.5 million writes per second at 2^22. Then power is cut; prints the time of
//! the simulated recovery, and its cost on the drive.

use cpu_time::ThreadTime;
use serde_json::json;
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::{BlockId, Lpn};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::Restart;
use wearwell_engine::ftl::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use wearwell_engine::layer::{Layer, Medium, Reports, no_data};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::validity::ValidityConfig;

const PAGES_PER_BLOCK: u32 = 128;
const PAGE_BYTES: u32 = 4096;
const BATCH: usize = 4096;
const KINDS: [&str; 5] = ["gecko", "dftl", "mu_ftl", "lazyftl", "ib_ftl"];

fn validity(name: &str) -> ValidityConfig {
    serde_json::from_value(json!(name)).expect("a name from the table")
}

fn settings(kind: &'static str, blocks: u32) -> PagedSettings {
    let logical_pages = (f64::from(blocks) * f64::from(PAGES_PER_BLOCK) * 0.7) as u32;
    let cache_entries = (logical_pages / 717).max(64);
    let tree = DirectoryConfig::Tree { cached_nodes: None };
    let plain = PagedConfig {
        kind,
        logical_pages,
        page_bytes: PAGE_BYTES,
        cache_entries,
        dirty_entries: None,
        eager: false,
        directory: DirectoryConfig::Global,
        validity: validity("ram_bitmap"),
        cleans_metadata: true,
        checkpoints: false,
        durability: Durability::Battery,
        free_blocks: Default::default(),
        counters: Default::default(),
        wear: Default::default(),
        seed: Seed(1),
    };
    let limited = PagedConfig {
        dirty_entries: Some(cache_entries / 10),
        durability: Durability::Synchronised,
        ..plain.clone()
    };
    let config = match kind {
        "dftl" => PagedConfig { eager: true, ..plain },
        "mu_ftl" => PagedConfig { eager: true, directory: tree, validity: validity("flash_bitmap"), ..plain },
        "lazyftl" => limited,
        "ib_ftl" => PagedConfig { directory: tree, validity: validity("log"), ..limited },
        _ => PagedConfig {
            validity: validity("gecko"),
            cleans_metadata: false,
            checkpoints: true,
            durability: Durability::Deferred { skips_older_pages: true },
            ..plain
        },
    };
    let greedy = serde_json::from_value(json!("greedy")).expect("a policy");
    let single = serde_json::from_value(json!("single")).expect("a placement");
    PagedSettings { config, victim: greedy, placement: single }
}

/// Returns a hash of all counts, wear and the translation table: an optimisation that changes it is a bug.
fn state(ftl: &PagedFtl<Nand<()>>, reports: &Reports) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |value: u64| hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    let layer = &reports.layers[0];
    for operation in Operation::ALL {
        add(layer.counters.incoming(operation));
        Cause::ALL.iter().for_each(|&cause| add(layer.counters.outgoing(cause, operation)));
    }
    layer.victim_valid_pages.iter().for_each(|&victims| add(victims));
    let report = layer.ftl.as_ref().expect("an FTL");
    report.counts.iter().for_each(|&(_, count)| add(count));
    report.spare_reads.iter().for_each(|&reads| add(reads));
    let nand = reports.nand.as_ref().expect("flash");
    [nand.programs, nand.reads, nand.spare_reads, nand.erases].into_iter().for_each(&mut add);
    nand.erase_counts.iter().for_each(|&erases| add(u64::from(erases)));
    (0..ftl.flash().blocks()).for_each(|block| {
        ftl.flash().spare_area().expect("spare areas").block(BlockId(block)).iter().for_each(|spare| {
            add(u64::from(spare.owner.0) << 32 | spare.sequence & 0xffff_ffff);
        });
    });
    hash
}

fn report(ftl: &PagedFtl<Nand<()>>, writes: u64) {
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    println!("    state {:016x}", state(ftl, &reports));
    let layer = &reports.layers[0];
    let memory = layer.memory_bytes + reports.nand.as_ref().expect("flash").memory_bytes;
    let per_write = |cause, operation| layer.counters.outgoing(cause, operation) as f64 / writes as f64;
    for cause in [Cause::Host, Cause::Cleaning, Cause::Translation, Cause::Validity] {
        println!(
            "    {:<12} {:.4} writes, {:.4} reads for each of the host's",
            cause.name(),
            per_write(cause, Operation::Write),
            per_write(cause, Operation::Read)
        );
    }
    println!("    {:.2} GiB of memory", memory as f64 / (1u64 << 30) as f64);
}

fn run(kind: &'static str, blocks: u32, chunks: u64) {
    let settings = settings(kind, blocks);
    let logical_pages = settings.config.logical_pages;
    let nand = Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, PAGE_BYTES), Wear::default(), Seed(1));
    let mut ftl = settings.build(nand.with_spare_area()).expect("settings that fit");
    let mut batch = Vec::with_capacity(BATCH);
    let start = ThreadTime::now();
    let mut filled = 0;
    while filled < logical_pages {
        batch.clear();
        batch.extend((filled..logical_pages.min(filled + BATCH as u32)).map(Lpn));
        filled += batch.len() as u32;
        ftl.write(&batch, no_data(batch.len()), 0).expect("room");
    }
    println!("{kind}: filled in {:.1} s", start.elapsed().as_secs_f64());
    let mut random = Seed(2).random();
    let batches = (u64::from(logical_pages) / BATCH as u64 / chunks).max(1);
    let mut times = Vec::new();
    for _ in 0..chunks {
        let start = ThreadTime::now();
        for _ in 0..batches {
            batch.clear();
            batch.extend((0..BATCH).map(|_| Lpn(random_below(&mut random, u64::from(logical_pages)) as u32)));
            ftl.write(&batch, no_data(BATCH), 0).expect("room");
        }
        times.push(start.elapsed().as_secs_f64() / (batches * BATCH as u64) as f64 * 1e9);
    }
    let second_half = times.split_off(times.len() / 2);
    let mut sorted = second_half.clone();
    sorted.sort_by(f64::total_cmp);
    println!(
        "  {:.0} ns a write at best, {:.0} in the median: {:.2} million a second",
        sorted[0],
        sorted[sorted.len() / 2],
        1e3 / sorted[sorted.len() / 2]
    );
    report(&ftl, u64::from(logical_pages) + chunks * batches * BATCH as u64);
    ftl.save().expect("a battery that lasts");
    let start = ThreadTime::now();
    let (_, recovery) =
        PagedFtl::restart(&settings, ftl.into_flash()).map_err(|(error, _)| error).expect("power");
    println!("  recovery simulated in {:.1} s:", start.elapsed().as_secs_f64());
    for step in recovery.steps {
        let seconds = (3.0 * step.spare_reads as f64
            + 100.0 * step.page_reads as f64
            + 1000.0 * step.page_writes as f64)
            / 1e6;
        println!("    {:<26} {seconds:>8.2} s", step.name);
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let log2 = args.first().and_then(|arg| arg.parse().ok()).unwrap_or(16);
    for kind in KINDS {
        if args.len() < 2 || args[1..].iter().any(|arg| arg == kind) {
            run(kind, 1 << log2, 10);
        }
    }
}
