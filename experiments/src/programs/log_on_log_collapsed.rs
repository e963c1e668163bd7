//! Yang et al. (2014), sec. 6: the same load on a log stacked on an FTL, and on alternatives that replace one of the
//! two layers.

use crate::Failure;
use crate::chart::{Chart, Series};
use crate::log_on_log::SkewedLoad;
use crate::session::Session;
use crate::stacks::{
    Column, Stack, StackRuns, erases_per_thousand, find, ftl_amplification, metadata, run_stacks, steady,
    table, total_amplification, upper_amplification, user_pages,
};
use crate::statements::Statements;
use wearwell_stack::RunResult;

/// Flash of each stack, in MiB.
const FLASH_MIB: u32 = 640;

/// User capacity as a share of the flash, unless the structure needs more space.
const USER_SHARE: f64 = 0.8;

/// Spare factor of an FTL below a log.
const FTL_SPARE: f64 = 0.1;

/// Spare factors of the log that give the same user capacity: without metadata, and with the metadata of F2FS, whose
/// area takes some of the segments.
const LOG_SPARES: [f64; 2] = [0.1111, 0.1071];

/// Spare factor of an FTL that has nothing to clean, and spare factor of the log above it that gives the same user
/// capacity.
const MIN_FTL_SPARE: f64 = 0.02;
const MIN_FTL_LOG_SPARE: f64 = 0.1801;

const LOADS: [(&str, &str); 4] = [
    ("uniform", "kind = \"uniform\""),
    ("zipf", "kind = \"zipf\"\nexponent = ZIPF\nscatter = true"),
    ("zipf in place", "kind = \"zipf\"\nexponent = ZIPF"),
    ("hot and cold", "kind = \"hot_cold\"\nhot_writes = 0.9\nhot_space = 0.1"),
];

/// Settings of requests that delete: one request in a hundred deletes a file of 16 pages.
const DELETIONS: &str = "trim_ratio = 0.01\ntrim_pages = 16";

/// A stack: its name, its FTL and the layers above the FTL.
struct StackShape {
    name: &'static str,
    block_pages: u32,
    /// Spare factor of the device, unless the device is zoned.
    spare: Option<f64>,
    ftl: &'static str,
    log: String,
}

const SINGLE: &str = "placement = \"single\"";
const DOUBLE: &str = "placement = \"double\"";

fn log(spare: f64, placement: &str, metadata: &str) -> String {
    format!(
        "[[log]]\nsegment_size = \"2 MiB\"\nplacement = {placement}\nspare_factor = {spare:?}\n\
         free_blocks_low = 3\n{metadata}\n"
    )
}

/// Metadata settings of F2FS for a log that cannot overwrite in place: its tables are written into the segments.
const APPENDED_METADATA: &str =
    "metadata = { preset = \"f2fs\", summary = \"in_segment\", tables = \"in_log\" }";

fn shapes() -> Vec<StackShape> {
    let [plain, with] = LOG_SPARES;
    let f2fs = "metadata = \"f2fs\"";
    let total_spare = 1.0 - USER_SHARE;
    let shape = |name, spare: f64, ftl, log: String| StackShape {
        name,
        block_pages: 256,
        spare: Some(spare),
        ftl,
        log,
    };
    let structure = |text: &str| format!("[[log]]\nstructure = {text}\n");
    let keep = "placement = { kind = \"host_hint\", streams = 2, cleaned = \"keep\" }";
    let separate_cleaned = "placement = { kind = \"host_hint\", streams = 2, cleaned = \"apart\" }";
    let four = "placement = { kind = \"host_hint\", streams = 4, cleaned = \"keep\" }";
    let six =
        "placement = { kind = \"host_hint\", streams = 6, excess_hints = \"last\", cleaned = \"keep\" }";
    let zones = "structure = { kind = \"zones\", zone_blocks = 2 }";
    let zoned = |name, log| StackShape { name, block_pages: 256, spare: None, ftl: zones, log };
    let coarse = |shape: StackShape| StackShape { block_pages: 1024, ..shape };
    vec![
        shape("stack without metadata", FTL_SPARE, SINGLE, log(plain, "\"double\"", "")),
        shape("stack", FTL_SPARE, SINGLE, log(with, "\"double\"", f2fs)),
        shape("stack on two streams", FTL_SPARE, DOUBLE, log(with, "\"double\"", f2fs)),
        shape("stack on handles kept", FTL_SPARE, keep, log(with, "\"double\"", f2fs)),
        shape("stack on handles apart", FTL_SPARE, separate_cleaned, log(with, "\"double\"", f2fs)),
        coarse(shape("stack on 4 MiB", FTL_SPARE, SINGLE, log(with, "\"double\"", f2fs))),
        coarse(shape("stack on 4 MiB handles kept", FTL_SPARE, keep, log(with, "\"double\"", f2fs))),
        shape("stack with spare above", MIN_FTL_SPARE, SINGLE, log(MIN_FTL_LOG_SPARE, "\"double\"", f2fs)),
        zoned("zones without metadata", log(total_spare, "\"double\"", "")),
        zoned("zones", log(ZONED_SPARE, "\"double\"", APPENDED_METADATA)),
        zoned("zones with 6 streams", log(ZONED_SPARE, "\"age_classes\"", APPENDED_METADATA)),
        shape("sparse", total_spare, DOUBLE, structure("\"sparse\"")),
        shape("objects", total_spare, four, structure("\"objects\"")),
        shape("bare FTL", total_spare, DOUBLE, String::new()),
        coarse(shape("bare FTL of 4 MiB", total_spare, DOUBLE, String::new())),
        shape("bare FTL 6 streams", total_spare, "placement = \"age_classes\"", String::new()),
        shape("merge tree leveled", FTL_SPARE, six, structure("\"lsm\"")),
        shape(
            "merge tree tiered",
            FTL_SPARE,
            six,
            structure("{ kind = \"lsm\", compaction = { shape = \"tiered\", runs = 4 } }"),
        ),
        shape("SILT", FTL_SPARE, SINGLE, structure("\"silt\"")),
    ]
}

/// Spare factor of a log on zones with metadata in its segments.
const ZONED_SPARE: f64 = 0.1973;

pub fn run(session: &Session) -> Result<(), Failure> {
    let shapes = shapes();
    let (assumed, mut stacks) = (SkewedLoad::from_session(session)?, Vec::new());
    for load in LOADS {
        for deletions in ["no", "yes"] {
            stacks.extend(shapes.iter().map(|shape| stack(&assumed, load, deletions, shape, session.length)));
        }
    }
    let runs = run_stacks(session, stacks)?;
    publish(session, &runs)?;
    let mut statements = Statements::default();
    check(&mut statements, &runs);
    statements.publish(session)
}

fn stack(
    assumed: &SkewedLoad,
    (load, workload): (&str, &str),
    deletions: &str,
    shape: &StackShape,
    length: f64,
) -> Stack {
    let toml = format!(
        r#"
        [device]
        raw_capacity = "{FLASH_MIB} MiB"
        {spare}
        pages_per_block = {block_pages}
        [ftl]
        {ftl}
        {log}
        [workload]
        {workload}
        request_pages = 2
        {deleted}
        {end}
        "#,
        spare = shape.spare.map_or(String::new(), |spare| format!("spare_factor = {spare:?}")),
        block_pages = shape.block_pages,
        ftl = shape.ftl,
        log = shape.log,
        deleted = if deletions == "yes" { DELETIONS } else { "" },
        workload = assumed.workload(workload),
        end = steady(length, assumed.warm_up),
    );
    Stack { keys: [load, deletions, shape.name].map(str::to_owned).to_vec(), toml }
}

/// Returns the total size of all maps in bytes; NaN if a layer does not report its map.
fn map_bytes(result: &RunResult) -> f64 {
    result.layers.iter().map(|layer| layer.map_bytes.map_or(f64::NAN, |bytes| bytes as f64)).sum()
}

/// Returns the reserve and the metadata of the layers above the FTL, as a share of the flash.
fn upper_reserve_share(result: &RunResult) -> f64 {
    let logs = &result.layers[..result.layers.len() - 1];
    let taken = |layer: &wearwell_stack::LayerResult| {
        layer.reserve_share + layer.metadata.as_ref().map_or(0.0, |metadata| metadata.metadata_share)
    };
    logs.iter().map(taken).sum()
}

fn ftl_reserve_share(result: &RunResult) -> f64 {
    result.layers.last().map_or(0.0, |ftl| ftl.reserve_share)
}

fn user_share(result: &RunResult) -> f64 {
    user_pages(result) / result.device.physical_pages as f64
}

fn publish(session: &Session, runs: &[StackRuns]) -> Result<(), Failure> {
    let columns: [Column; 9] = [
        ("upper_wa", upper_amplification),
        ("device_wa", ftl_amplification),
        ("erases_per_1000", erases_per_thousand),
        ("metadata_pages", metadata),
        ("user_share", user_share),
        ("held_above", upper_reserve_share),
        ("held_below", ftl_reserve_share),
        ("map_kib", |result| map_bytes(result) / 1024.0),
        ("mapped_share", |result| result.layers[0].mapped_share),
    ];
    let keys = ["load", "deletions", "stack"];
    let out = "data";
    table(&keys, ("tcwa", total_amplification), &columns, runs).publish(session, out)?;
    for deletions in ["no", "yes"] {
        let runs_of = |load: &str| {
            let shown = runs.iter().filter(|runs| runs.has_keys(&[load, deletions]));
            let points =
                (0..).map(f64::from).zip(shown.map(|runs| runs.interval(total_amplification))).collect();
            Series { name: load.to_owned(), points, has_line: true }
        };
        let series: Vec<Series> = LOADS.iter().map(|(load, _)| runs_of(load)).collect();
        let title = if deletions == "yes" { "TCWA by stack, with deletions" } else { "TCWA by stack" };
        let x = "stacks: 0 to 6, 7 with spare above; 8 to 10 zones; 11 sparse, 12 objects, 13 to 15 bare; 16, 17 merge \
                 trees, 18 SILT";
        let name = format!("deletions_{deletions}");
        Chart { title, x, y: "TCWA" }.draw(session, &name, &series)?;
    }
    Ok(())
}

/// Stacks that merge the two logs into one.
const COLLAPSED: [&str; 4] = ["zones", "sparse", "objects", "bare FTL"];

/// Runs of all stacks under one load.
struct LoadRuns<'a> {
    load: &'a str,
    deletions: &'a str,
    runs: &'a [StackRuns],
}

impl LoadRuns<'_> {
    fn runs_of(&self, stack: &str) -> &StackRuns {
        find(self.runs, &[self.load, self.deletions, stack])
    }
}

fn check(statements: &mut Statements, runs: &[StackRuns]) {
    let each = |holds: &dyn Fn(&LoadRuns) -> bool| -> Vec<(String, bool)> {
        let cases = LOADS.iter().flat_map(|(load, _)| ["no", "yes"].map(|deletions| (*load, deletions)));
        let results = cases.map(|(load, deletions)| {
            (format!("{load}; deletions {deletions}"), holds(&LoadRuns { load, deletions, runs }))
        });
        results.collect()
    };
    let lower =
        |first: &StackRuns, second: &StackRuns, field: fn(&RunResult) -> f64| second.exceeds(first, field);
    for name in COLLAPSED {
        let less = each(&|place| lower(place.runs_of(name), place.runs_of("stack"), total_amplification));
        statements.check(&format!("collapsing pays: {name} has a lower TCWA than the stack"), less);
    }
    for name in COLLAPSED {
        let less = each(&|place| {
            lower(place.runs_of(name), place.runs_of("stack on handles kept"), total_amplification)
        });
        statements.check(&format!("ours: … than the stack with handles kept: {name}"), less);
    }
    let above = each(&|place| {
        lower(place.runs_of("stack"), place.runs_of("stack with spare above"), total_amplification)
    });
    statements.check("ours: all spare space above costs the stack more than halves", above);
    let equal = each(&|place| {
        COLLAPSED
            .iter()
            .chain(&["stack", "stack with spare above"])
            .all(|name| (place.runs_of(name).mean(user_share) - USER_SHARE).abs() < 0.004)
    });
    statements.check("ours: all have the same user capacity within 0.4 % of the flash", equal);
    for (best, other) in [("zones", "sparse"), ("objects", "sparse"), ("zones with 6 streams", "objects")] {
        let less = each(&|place| lower(place.runs_of(best), place.runs_of(other), total_amplification));
        statements.check(&format!("ours: {best} has a lower TCWA than {other}"), less);
    }
    for name in COLLAPSED {
        let map = each(&|place| place.runs_of(name).mean(map_bytes) < place.runs_of("stack").mean(map_bytes));
        statements.check(&format!("collapsing spares RAM for maps: {name} has less than the stack"), map);
    }
    let coarse = each(&|place| place.runs_of("stack on 4 MiB").mean(ftl_amplification) > 1.01);
    statements.check("ours: the stack pays below too where blocks are larger than segments", coarse);
    let matched = each(&|place| place.runs_of("stack").mean(ftl_amplification) > 1.01);
    statements.check("ours: … and where they are smaller", matched);
}
