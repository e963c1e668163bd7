//! Cost of a page write with deduplication: `cargo bench --bench dedup [-- --quick] [kind ...]`.
//!
//! A drive of 12 million logical pages (1 million with `--quick`) whose index fills with most of them; half of the
//! written pages are duplicates. Prints page writes per second (goal: 1.5 million), fingerprints in the index, and
//! bytes of simulation memory per fingerprint. Times are CPU time of the thread: the best of the chunks and their
//! median. `state` is a hash of the layer's report: an optimisation that changes it is a defect.

use cpu_time::ThreadTime;
use wearwell_base::config::StoreSize;
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::dedup::{Dedup, DedupConfig, SharedTables};
use wearwell_engine::layer::{ContentId, DedupReport, Layer, Reports};
use wearwell_engine::log::{BoxedLayer, LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::{PlacementConfig, PlacementContext};
use wearwell_engine::victim::VictimConfig;

const PAGES_PER_BLOCK: u32 = 128;
const BATCH: usize = 4096;
const CHUNK: usize = 1 << 18;

fn build(kind: &str, logical_pages: u32) -> Dedup {
    let config: DedupConfig = serde_json::from_value(serde_json::json!(kind)).expect("a kind");
    let sharing = SharedTables::new(&config, logical_pages, 0).expect("settings that fit");
    let pages = sharing.store_pages();
    let blocks = (f64::from(pages) * 1.15) as u32 / PAGES_PER_BLOCK;
    let size = StoreSize { blocks, pages_per_block: PAGES_PER_BLOCK, logical_pages: pages, seed: Seed(1) };
    let victim: VictimConfig = serde_json::from_value(serde_json::json!("greedy")).expect("a policy");
    let placement: PlacementConfig =
        serde_json::from_value(serde_json::json!("references")).expect("a placement");
    let placement =
        placement.build_boxed(PlacementContext { size: &size, temperature: None, foresight: None });
    let config = StoreConfig::new(pages, Reclaim::FreePool { low: 3, high: 3 }, Seed(1));
    let nand = Nand::new(Geometry::flat(blocks, PAGES_PER_BLOCK, 4096), Wear::default(), Seed(1));
    let table = PageTable::new(pages, blocks, PAGES_PER_BLOCK);
    let victim = victim.build_boxed(&size).expect("a policy that fits");
    let store =
        LogStore::new(config, nand, table, victim, placement.expect("one that fits")).expect("a store");
    let store = match sharing.migration_policy(None, false) {
        Some(migration) => store.with_migration_policy(migration).expect("a pool"),
        None => store,
    };
    let store: BoxedLayer<ContentId> = Box::new(store);
    Dedup::new(sharing, store, None).expect("a layer")
}

/// Writes `writes` pages; every second write duplicates an existing page.
fn write(layer: &mut Dedup, random: &mut Random, version: &mut u64, writes: usize, sequential: bool) {
    let logical = u64::from(layer.logical_pages());
    let (mut pages, mut data) = (Vec::with_capacity(BATCH), Vec::with_capacity(BATCH));
    let mut done = 0;
    while done < writes {
        pages.clear();
        data.clear();
        for at in done..(done + BATCH).min(writes) {
            let page = if sequential { at as u64 } else { random_below(random, logical) };
            pages.push(Lpn(page as u32));
            *version += 1;
            let repeated = !sequential && *version & 1 == 0;
            let earlier = version.saturating_sub(1 + random_below(random, logical)).max(1);
            data.push(ContentId(if repeated { earlier } else { *version }));
        }
        layer.write(&pages, &data, 0).expect("room");
        done += pages.len();
    }
}

/// Returns a hash (FNV-1a) of the layer's report, except the memory used by the simulation.
fn state(layer: &Dedup) -> u64 {
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    let layer_report = &reports.layers[0];
    let dedup = layer_report.dedup.map(|dedup| DedupReport { index_memory_bytes: 0, ..dedup });
    let text = format!("{:?} {:?} {dedup:?}", layer_report.counters, layer_report.victim_valid_pages);
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let logical_pages = if quick { 1_000_000 } else { 12_000_000 };
    println!(
        "{:10} {:>12} {:>12} {:>12} {:>12} {:>8} {:>6} {:>16}",
        "kind", "best/s", "median/s", "entries", "bytes/entry", "goal/s", "WA", "state"
    );
    let kinds = ["inline", "sampled", "pre_hashed", "cagc"];
    let selected: Vec<String> =
        std::env::args().filter(|argument| kinds.contains(&argument.as_str())).collect();
    for kind in
        kinds.into_iter().filter(|kind| selected.is_empty() || selected.iter().any(|name| name == kind))
    {
        let mut layer = build(kind, logical_pages);
        let (mut random, mut version) = (Seed(2).random(), 0);
        write(&mut layer, &mut random, &mut version, logical_pages as usize, true);
        write(&mut layer, &mut random, &mut version, logical_pages as usize / 4, false);
        let chunks = if quick { 8 } else { 16 };
        let mut times: Vec<f64> = (0..chunks)
            .map(|_| {
                let begin = ThreadTime::now();
                write(&mut layer, &mut random, &mut version, CHUNK, false);
                CHUNK as f64 / begin.elapsed().as_secs_f64()
            })
            .collect();
        times.sort_by(f64::total_cmp);
        let mut reports = Reports::default();
        layer.describe(&mut reports);
        let dedup = reports.layers[0].dedup.expect("a deduplicating layer");
        println!(
            "{kind:10} {:12.0} {:12.0} {:12} {:12.1} {:>8} {:6.2} {:016x}",
            times[times.len() - 1],
            times[times.len() / 2],
            dedup.index_entries,
            dedup.index_memory_bytes as f64 / dedup.index_entries.max(1) as f64,
            "1500000",
            reports.layers[0].counters.write_amplification().unwrap_or(f64::NAN),
            state(&layer),
        );
    }
}
