//! Layers other than the log-structured store: their counts, their effects, and refusals.

use crate::common::{error_of, run_text};
use wearwell_base::config::StoreSize;
use wearwell_base::seed::Seed;
use wearwell_engine::layer::{Layer, Reports, no_data};
use wearwell_engine::log::{LogStore, PageTable, Reclaim, StoreConfig};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::placement::Frontiers;
use wearwell_engine::victim::VictimConfig;
use wearwell_stack::{FTLS, LayerResult, RunResult};
use wearwell_workload::{PageBatch, WorkloadConfig};

const DRIVE: &str = "[device]\nblocks_per_plane = 160\npages_per_block = 16\nspare_factor = 0.15\n";
const UNIFORM: &str = "[workload]\nkind = \"uniform\"\ntrim_ratio = 0.05\nread_ratio = 0.1\n";
const MEASURE: &str = "[measure]\nwarm_up = 2.0\ndrive_writes = 3.0\n";

fn layer<'a>(result: &'a RunResult, name: &str) -> &'a LayerResult {
    result.layers.iter().find(|layer| layer.name == name).expect("a layer of this name")
}

fn outgoing(layer: &LayerResult, cause: &str, operation: &str) -> u64 {
    layer.outgoing.get(cause).and_then(|amounts| amounts.get(operation)).copied().unwrap_or(0)
}

/// A stack with one layer equals the bare FTL: the same workload, applied by hand to a store on flash, gives the same
/// counts.
#[test]
fn single_layer_equals_bare_ftl() {
    let text = format!("seed = 7\n{DRIVE}{UNIFORM}{MEASURE}[precondition]\nfill = \"none\"\n");
    let result = run_text(&text);
    let nand = Nand::<()>::new(Geometry::flat(160, 16, 4096), Wear::default(), Seed(7));
    let config = StoreConfig::new(
        result.device.logical_pages,
        Reclaim::FreePool { low: 3, high: 3 },
        Seed(7).derive("ftl"),
    );
    let size = StoreSize {
        blocks: 160,
        pages_per_block: 16,
        logical_pages: config.logical_pages,
        seed: config.seed,
    };
    let victim = VictimConfig::default().build_boxed(&size).unwrap();
    let table = PageTable::new(config.logical_pages, 160, 16);
    let mut store = LogStore::new(config, nand, table, victim, Frontiers::double()).unwrap();
    let workload: WorkloadConfig =
        serde_json::from_value(serde_json::json!({"kind": "uniform", "trim_ratio": 0.05, "read_ratio": 0.1}))
            .unwrap();
    let mut workload = workload.build(config.logical_pages, Seed(7).derive("workload")).unwrap();
    let host_pages = result.windows.last().unwrap().host_pages;
    let mut batch = PageBatch::default();
    let mut written = 0;
    while written < host_pages {
        batch.clear();
        workload.fill(&mut batch, 1);
        for (run, pages) in batch.iter() {
            match run.op {
                wearwell_trace::Op::Write => {
                    store.write(pages, no_data(pages.len()), run.hint).unwrap();
                    written += pages.len() as u64;
                }
                wearwell_trace::Op::Trim => store.trim(pages).unwrap(),
                _ => store.read(pages, &mut Vec::new()).unwrap(),
            }
        }
    }
    let mut reports = Reports::default();
    store.describe(&mut reports);
    let nand = reports.nand.unwrap();
    let programs: u64 = result.windows.iter().map(|window| window.programs).sum();
    let erases: u64 = result.windows.iter().map(|window| window.erases).sum();
    assert_eq!((written, nand.programs, nand.erases), (host_pages, programs, erases));
    let (mean, max) = (result.wear.erases_mean, result.wear.erases_max);
    assert_eq!(max, nand.erase_counts.iter().copied().max().unwrap());
    assert!((mean - nand.erases as f64 / 160.0).abs() < 1e-9);
}

/// Returns the result without the layer's own entries and without the time that the run took.
fn without_top_layer(mut result: RunResult) -> RunResult {
    let top = result.layers.remove(0);
    result.causes.retain(|series| series.layer != top.name);
    let below = &mut result.layers[0];
    (below.arrivals, below.moved_again_pages) = (None, None);
    result.performance = Default::default();
    result
}

#[test]
fn pass_through_layer_changes_no_count() {
    let bare = run_text(&format!("{DRIVE}{UNIFORM}{MEASURE}"));
    let through = |structures: &str| run_text(&format!("{DRIVE}{structures}{UNIFORM}{MEASURE}"));
    let one = "[[log]]\nstructure = \"pass_through\"\n";
    let stacked = through(one);
    assert_eq!(stacked.layers[0].write_amplification, Some(1.0));
    assert_eq!(stacked.layers[0].mapped_share, stacked.layers[1].mapped_share);
    let mut stacked = without_top_layer(stacked);
    stacked.scenario = bare.scenario.clone();
    let mut twice = without_top_layer(without_top_layer(through(&format!("{one}{one}"))));
    twice.scenario = bare.scenario.clone();
    let mut bare = bare;
    bare.performance = Default::default();
    assert_eq!(stacked, bare);
    assert_eq!(twice, bare);
}

#[test]
fn log_on_zones_equals_log_on_large_blocks() {
    let log = "[[log]]\nname = \"log\"\nsegment_blocks = 1\nspare_factor = 0.25\n";
    let zoned = run_text(&format!(
        "[device]\nblocks_per_plane = 160\npages_per_block = 16\n[ftl]\nstructure = {{ kind = \"zones\", zone_blocks = 2 }}\n{log}{UNIFORM}{MEASURE}"
    ));
    // A store with equal settings and seed, on a drive whose blocks are as large as the zones.
    let large = run_text(&format!(
        "[device]\nblocks_per_plane = 80\npages_per_block = 32\n[ftl]\nstructure = \"zones\"\n{log}{UNIFORM}{MEASURE}"
    ));
    let (log, ftl) = (layer(&zoned, "log"), layer(&zoned, "ftl"));
    assert_eq!(log, layer(&large, "log"));
    assert_eq!(ftl.write_amplification, Some(1.0));
    assert_eq!(ftl.reserve_share, 0.0);
    assert_eq!(zoned.nand.erases, 2 * outgoing(log, "cleaning", "erase"));
    assert_eq!(zoned.nand.programs, large.nand.programs);
    assert_eq!(zoned.write_amplification, log.write_amplification);
}

#[test]
fn settings_that_zones_do_not_support_are_refused() {
    let zoned = |ftl: &str, log: &str| {
        error_of(&format!(
            "[device]\nblocks_per_plane = 160\npages_per_block = 16\n[ftl]\nstructure = \"zones\"\n{ftl}\n{log}{UNIFORM}"
        ))
    };
    let log = |keys: &str| format!("[[log]]\n{keys}\nspare_factor = 0.2\n");
    assert!(zoned("", "").starts_with("ftl.structure: is \"zones\", which a workload cannot write"));
    assert!(
        zoned("", &log("segment_size = \"100 KiB\"")).contains("must be a multiple of the zone of 64.0 KiB")
    );
    assert!(zoned("", &log("segment_blocks = 1\ntrim = false")).starts_with("log[0].trim: must be true"));
    assert!(zoned("victim = \"fifo\"", &log("segment_blocks = 1")).starts_with("ftl.victim: means nothing"));
    let few = error_of(&format!(
        "[device]\nblocks_per_plane = 160\npages_per_block = 16\n[ftl]\nstructure = {{ kind = \"zones\", max_open_zones = 1 }}\n[[log]]\nsegment_blocks = 1\nspare_factor = 0.2\n{UNIFORM}"
    ));
    assert!(few.starts_with("ftl.structure.max_open_zones: is 1; the logs above hold 2"), "{few}");
    let spare =
        error_of(&format!("{DRIVE}[ftl]\nstructure = \"zones\"\n[[log]]\nsegment_blocks = 1\n{UNIFORM}"));
    assert!(spare.starts_with("device.spare_factor: is for drives that clean"), "{spare}");
}

#[test]
fn persistent_trim_costs_a_page_unless_batched() {
    let sparse = |trims: u32| {
        run_text(&format!(
            "{DRIVE}[[log]]\nname = \"space\"\nstructure = {{ kind = \"sparse\", trims_per_write = {trims} }}\n{UNIFORM}{MEASURE}"
        ))
    };
    for trims in [1, 8] {
        let result = sparse(trims);
        let space = layer(&result, "space");
        let records = space.metadata.unwrap().trim_record_pages;
        assert_eq!(records, outgoing(space, "log_metadata", "write"));
        assert_eq!(outgoing(space, "host", "write"), space.incoming["write"]);
        // Requests are of one page, so that each trimmed page is a range; each page of 256 records costs one more
        // write.
        let ranges = space.incoming["trim"];
        let expected = ranges / u64::from(trims) + ranges / 256;
        assert!(records.abs_diff(expected) <= 2 + ranges / 256, "{records} for {ranges} trims");
        assert_eq!(
            space.map_bytes,
            Some(8 * (space.mapped_share * f64::from(result.device.logical_pages - 64)).round() as u64)
        );
    }
    let in_place = "[ftl]\nreclaim = \"in_place\"\n";
    let error = error_of(&format!("{DRIVE}{in_place}[[log]]\nstructure = \"sparse\"\n{UNIFORM}"));
    assert!(error.starts_with("log[0].structure: needs atomic writes"), "{error}");
}

/// Hot and cold pages are contiguous: an object has the temperature of its pages, which the drive receives as a hint.
#[test]
fn object_layer_separates_hot_data() {
    let hot = "[workload]\nkind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1\nscatter = false\n";
    let run = |objects: &str| {
        let text = format!(
            "{DRIVE}[ftl]\nplacement = {{ kind = \"host_hint\", streams = 4 }}\n{objects}{hot}{MEASURE}"
        );
        run_text(&text)
    };
    let without_objects = run("");
    let with_objects =
        run("[[log]]\nname = \"objects\"\nstructure = { kind = \"objects\", object_size = \"64 KiB\" }\n");
    let ratio = with_objects.write_amplification.unwrap() / without_objects.write_amplification.unwrap();
    assert!(ratio < 0.9, "{ratio}");
    assert_eq!(layer(&with_objects, "objects").write_amplification, Some(1.0));
}

#[test]
fn merge_trees_run_in_scenarios() {
    let tree = "structure = { kind = \"lsm\", memtable_size = \"64 KiB\", table_size = \"64 KiB\", write_ahead_log = \"128 KiB\" }";
    let result = run_text(&format!("{DRIVE}[[log]]\nname = \"tree\"\n{tree}\n{UNIFORM}{MEASURE}"));
    let tree = layer(&result, "tree");
    let lsm = tree.lsm.as_ref().expect("a merge tree");
    assert!(lsm.flushes > 0 && lsm.compactions > 0 && lsm.levels.len() > 1);
    let page_bytes = u64::from(result.device.page_bytes);
    assert!(lsm.levels.iter().all(|level| level.bytes == page_bytes * level.pages), "{lsm:?}");
    let written: u64 = lsm.levels.iter().map(|level| level.written_bytes).sum();
    let tables = outgoing(tree, "host", "write") + outgoing(tree, "cleaning", "write");
    assert!(written > page_bytes * tables, "tables have indexes: {written}");
    assert!(written < page_bytes * tables * 3 / 2, "{written}");
    assert!(tree.write_amplification.unwrap() > 1.0);
    assert!(outgoing(tree, "log_metadata", "write") >= tree.incoming["write"], "the write-ahead log");
    // A reserve that is too small is refused with a sufficient value.
    let max_spare = 1.0 - f64::from(tree_pages(&result)) / f64::from(result.device.logical_pages);
    let tight = format!(
        "{DRIVE}[[log]]\nstructure = {{ kind = \"lsm\", memtable_size = \"64 KiB\", table_size = \"64 KiB\", write_ahead_log = \"128 KiB\" }}\nspare_factor = {}\n{UNIFORM}",
        max_spare - 0.05
    );
    let error = error_of(&tight);
    assert!(
        error.starts_with("log[0].spare_factor: is ") && error.contains("the tree needs at least"),
        "{error}"
    );
    let silt = run_text(&format!(
        "{DRIVE}[[log]]\nname = \"silt\"\nstructure = {{ kind = \"silt\", log_store_size = \"64 KiB\", hash_stores = 4, table_size = \"64 KiB\" }}\n{UNIFORM}{MEASURE}"
    ));
    assert!(layer(&silt, "silt").write_amplification.unwrap() > 2.0, "log store and hash store");
}

fn tree_pages(result: &RunResult) -> u32 {
    let host_pages = result.windows.last().unwrap().host_pages as f64;
    let course = &result.phases;
    let drive_writes =
        course.precondition_drive_writes + course.warm_up_drive_writes + course.measured_drive_writes;
    (host_pages / drive_writes).round() as u32
}

#[test]
fn log_keys_are_refused_in_other_structures() {
    for (structure, key, value) in [
        ("pass_through", "segment_size", "\"1 MiB\""),
        ("pass_through", "victim", "\"fifo\""),
        ("objects", "spare_factor", "0.2"),
        ("sparse", "trim", "true"),
        ("lsm", "metadata", "\"f2fs\""),
        ("silt", "free_blocks_low", "4"),
    ] {
        let text = format!("{DRIVE}[[log]]\nstructure = \"{structure}\"\n{key} = {value}\n{UNIFORM}");
        let error = error_of(&text);
        let expected = format!("log[0].{key}: means nothing with structure = \"{structure}\"; leave it out");
        assert!(error.starts_with(&expected) && error.contains("(its keys are align, name, on"), "{error}");
    }
    let ftl = error_of(&format!("{DRIVE}[ftl]\nstructure = \"lsm\"\n{UNIFORM}"));
    let kinds: Vec<&str> = FTLS.iter().map(|entry| entry.name).collect();
    assert_eq!(ftl, format!("ftl.structure: is \"lsm\"; an FTL can be {}", kinds.join(", ")));
    let log = error_of(&format!("{DRIVE}[[log]]\nstructure = \"zones\"\n{UNIFORM}"));
    assert!(log.starts_with("log[0].structure: is \"zones\", which only the FTL can be"), "{log}");
}
