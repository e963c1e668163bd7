//! Attribution of pages moved by cleaning to owners and causes: works on every FTL, adds up to the moved pages, and
//! changes no count.

use crate::common::{run_text, scenario, writable_ftls};
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::{Ability, LayerExt, Reports};
use wearwell_engine::seed::{Seed, random_below};
use wearwell_engine::units::Lpn;
use wearwell_stack::{LayerResult, build};

const DRIVE: &str = "[device]\nblocks_per_plane = 192\npages_per_block = 16\nspare_factor = 0.3\n";

/// Two logs and a tenant on the FTL, and two tenants on the first log.
const SHARED: &str = r#"
[[log]]
name = "upper"
on = "ftl"
share = 0.4
segment_blocks = 1
spare_factor = 0.3
[[log]]
name = "beside"
on = "ftl"
share = 0.3
segment_blocks = 2
spare_factor = 0.4
trim = false
[[tenant]]
name = "a"
on = "upper"
share = 0.5
workload = { kind = "uniform", trim_ratio = 0.05 }
[[tenant]]
name = "b"
on = "upper"
share = 0.5
rate = 2
workload = { kind = "zipf", exponent = 0.9 }
[[tenant]]
name = "c"
on = "beside"
workload = { kind = "hot_cold", hot_writes = 0.8, hot_space = 0.2 }
[[tenant]]
name = "d"
on = "ftl"
share = 0.3
workload = { kind = "uniform", request_pages = 3, read_ratio = 0.2, trim_ratio = 0.02 }
[measure]
warm_up = 2.0
drive_writes = 2.0
"#;

/// Checks that the moved pages of a shared layer, by owner and by cause, add up to the pages that its cleaning wrote.
fn assert_moved_pages_add_up(case: &str, layer: &LayerResult) {
    let moved = &layer.moved_pages;
    let users = layer.partitions.len();
    assert!(moved.len() == users && moved.iter().all(|owners| owners.len() == users), "{case}: {moved:?}");
    for (user, partition) in layer.partitions.iter().enumerate() {
        let owned: u64 = moved.iter().map(|owners| owners[user]).sum();
        let caused: u64 = moved[user].iter().sum();
        assert_eq!(
            (partition.moved_owned, partition.moved_caused),
            (Some(owned), Some(caused)),
            "{case}, {}",
            partition.name
        );
    }
    let owned: u64 = layer.partitions.iter().filter_map(|part| part.moved_owned).sum();
    let caused: u64 = layer.partitions.iter().filter_map(|part| part.moved_caused).sum();
    // Pages that fill the holes found by a merge have no owner.
    let padding = layer.ftl.as_ref().and_then(|ftl| ftl.counts.get("padding pages")).copied().unwrap_or(0);
    let cleaned = layer.outgoing["cleaning"]["write"] - padding;
    assert!(cleaned > 0, "{case}: nothing was moved");
    assert_eq!((owned, caused), (cleaned, cleaned), "{case}: {moved:?}");
}

#[test]
fn moved_pages_add_up_by_owner_and_by_cause_on_every_ftl() {
    for ftl in writable_ftls() {
        let result = run_text(&format!("ftl = \"{ftl}\"\n{DRIVE}{SHARED}"));
        let shared: Vec<&LayerResult> =
            result.layers.iter().filter(|layer| !layer.partitions.is_empty()).collect();
        let names: Vec<&str> = shared.iter().map(|layer| layer.name.as_str()).collect();
        assert_eq!(names, ["upper", "ftl"], "{ftl}");
        for layer in shared {
            assert_moved_pages_add_up(&format!("{ftl}, {}", layer.name), layer);
        }
    }
}

/// Returns all counts of the stack after some operations, with the moved pages of the topmost layer separately.
fn run_and_count(text: &str, is_divided: bool) -> (String, Vec<Vec<u64>>, u64) {
    let mut stack = build::<()>(&mut scenario(text)).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
    let layer = &mut stack.targets[0].layer;
    let pages = layer.logical_pages();
    assert!(layer.abilities().has(Ability::Attribution), "{text}");
    if is_divided {
        layer.set_partitions(&[pages / 3, pages / 2, pages]);
    }
    let mut random = Seed(17).random();
    for _ in 0..4 * pages {
        let first = random_below(&mut random, u64::from(pages)) as u32;
        let length = 1 + random_below(&mut random, 3) as u32;
        let run: Vec<Lpn> = (first..(first + length).min(pages)).map(Lpn).collect();
        match random_below(&mut random, 20) {
            0 => layer.trim(&run).unwrap(),
            1 => layer.read(&run, &mut Vec::new()).unwrap(),
            _ => layer.write(&run, &vec![(); run.len()], 0).unwrap(),
        }
    }
    layer.flush().unwrap();
    let mut reports = Reports::default();
    layer.describe(&mut reports);
    let moved = std::mem::take(&mut reports.layers[0].moved_pages);
    let cleaned = reports.layers[0].counters.outgoing(Cause::Cleaning, Operation::Write);
    (format!("{reports:#?}"), moved, cleaned)
}

#[test]
fn attribution_changes_no_count() {
    let log = "[[log]]\nname = \"store\"\nsegment_blocks = 2\nspare_factor = 0.25\n";
    let tree = "[[log]]\nname = \"store\"\nstructure = { kind = \"lsm\", memtable_size = \"64 KiB\", table_size = \"64 KiB\", write_ahead_log = \"128 KiB\" }\n";
    let below = "[workload]\nkind = \"uniform\"\n";
    for ftl in writable_ftls() {
        for above in ["", log, tree] {
            let text = format!("ftl = \"{ftl}\"\n{DRIVE}{above}{below}");
            let (undivided_counts, whole, _) = run_and_count(&text, false);
            let (divided_counts, moved, cleaned) = run_and_count(&text, true);
            assert!(
                undivided_counts == divided_counts,
                "{text}{}",
                first_different_line(&undivided_counts, &divided_counts)
            );
            assert!(whole.is_empty() && moved.len() == 4, "{text}{moved:?}");
            let sum: u64 = moved.iter().flatten().sum();
            assert!(sum > 0, "{text}: nothing was moved");
            assert_eq!(sum, cleaned, "{text}{moved:?}");
        }
    }
}

/// Returns the first line in which two texts differ.
fn first_different_line(one: &str, other: &str) -> String {
    let differs = one.lines().zip(other.lines()).find(|(line, with)| line != with);
    format!("{differs:?}")
}
