//! Effect and cost of wear levelling: DFTL and GeckoFTL with each kind, until the first block wears out.

use crate::Failure;
use crate::session::Session;
use crate::statements::Statements;
use crate::table::{Fields, Table};
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Random, Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::ftl::paged::{DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings};
use wearwell_engine::layer::{Layer, Reports, no_data};
use wearwell_engine::nand::{Geometry, Nand, Wear};
use wearwell_engine::validity::{GeckoSettings, RamBitmapSettings, ValidityConfig};
use wearwell_engine::wear::{ScanConfig, StartGapConfig, WearConfig};

const BLOCKS: u32 = 512;
const PAGES_PER_BLOCK: u32 = 32;
const PAGE_BYTES: u32 = 1024;
/// Number of logical pages at the load of 0.7 in the paper.
const LOGICAL_PAGES: u32 = 11_469;
const CACHE_ENTRIES: u32 = 512;
/// Number of erases that each block endures.
const ENDURANCE_CYCLES: u32 = 1000;
/// Share of the pages that are hot.
const HOT_SPACE: f64 = 0.1;
/// Drive writes after which the costs of all runs are compared.
const COMPARED_DRIVE_WRITES: u64 = 60;
/// Number of host pages written between checks of the drive.
const BATCH: usize = 2048;

/// Shares of the writes that go to hot pages.
const LOADS: [(&str, f64); 2] = [("90:10", 0.9), ("static", 1.0)];

struct LevellingKind {
    name: &'static str,
    wear: WearConfig,
}

fn kinds() -> Vec<LevellingKind> {
    let scan =
        |threshold, dynamic| WearConfig::Scan(ScanConfig { threshold, dynamic, ..ScanConfig::default() });
    let start_gap = |interval| WearConfig::StartGap(StartGapConfig { interval });
    vec![
        LevellingKind { name: "none", wear: WearConfig::default() },
        LevellingKind { name: "scan", wear: scan(8, true) },
        LevellingKind { name: "scan, static only", wear: scan(8, false) },
        LevellingKind { name: "scan, threshold 32", wear: scan(32, true) },
        LevellingKind { name: "start_gap", wear: start_gap(100) },
        LevellingKind { name: "start_gap, interval 10", wear: start_gap(10) },
    ]
}

fn config(ftl: &'static str, wear: WearConfig) -> PagedConfig {
    let dftl = PagedConfig {
        kind: ftl,
        logical_pages: LOGICAL_PAGES,
        page_bytes: PAGE_BYTES,
        cache_entries: CACHE_ENTRIES,
        dirty_entries: None,
        eager: true,
        directory: DirectoryConfig::Global,
        validity: ValidityConfig::RamBitmap(RamBitmapSettings::default()),
        counters: Default::default(),
        cleans_metadata: true,
        checkpoints: false,
        durability: Durability::Battery,
        free_blocks: Default::default(),
        wear,
        seed: Seed(1),
    };
    if ftl == "dftl" {
        return dftl;
    }
    PagedConfig {
        eager: false,
        cleans_metadata: false,
        checkpoints: true,
        durability: Durability::Deferred { skips_older_pages: true },
        validity: ValidityConfig::Gecko(GeckoSettings::default()),
        ..dftl
    }
}

/// State of a drive.
#[derive(Clone, Default, Serialize, Deserialize)]
struct DriveState {
    write_amplification: f64,
    moved_share: f64,
    spare_reads_per_write: f64,
    min: u32,
    max: u32,
    /// Coefficient of variation of the erase counts of the blocks.
    variation: f64,
    /// Mean erase count as a share of the endurance.
    #[serde(rename = "used")]
    used_endurance: f64,
    worn_out: bool,
}

fn state_of(ftl: &PagedFtl<Nand<()>>) -> Result<DriveState, Failure> {
    let mut reports = Reports::default();
    ftl.describe(&mut reports);
    let nand = reports.nand.ok_or("no report of the flash")?;
    let layer = reports.layers.first().ok_or("no report of the FTL")?;
    let spare_reads = layer.ftl.as_ref().map_or(0, |ftl| ftl.spare_reads[Cause::WearLevelling as usize]);
    let counters = &layer.counters;
    let host = counters.incoming(Operation::Write) as f64;
    let counts = nand.erase_counts.iter().map(|&erases| f64::from(erases));
    let mean = counts.clone().sum::<f64>() / counts.len() as f64;
    let variance = counts.clone().map(|erases| (erases - mean).powi(2)).sum::<f64>() / counts.len() as f64;
    Ok(DriveState {
        write_amplification: counters.write_amplification().ok_or("nothing was written")?,
        moved_share: counters.outgoing(Cause::WearLevelling, Operation::Write) as f64 / host,
        spare_reads_per_write: spare_reads as f64 / host,
        min: nand.erase_counts.iter().copied().min().unwrap_or(0),
        max: nand.erase_counts.iter().copied().max().unwrap_or(0),
        variation: variance.sqrt() / mean,
        used_endurance: mean / f64::from(ENDURANCE_CYCLES),
        worn_out: nand.worn_out_blocks > 0,
    })
}

#[derive(Serialize, Deserialize)]
struct Run {
    ftl: String,
    load: String,
    kind: String,
    /// State after [`COMPARED_DRIVE_WRITES`] drive writes.
    #[serde(rename = "compared")]
    state_at_comparison: DriveState,
    /// Drive writes until the first block was worn out.
    #[serde(rename = "life")]
    lifetime_drive_writes: f64,
    /// State when the first block was worn out.
    #[serde(rename = "end")]
    end_state: DriveState,
}

fn draw(random: &mut Random, hot_writes: f64, pages: &mut [Lpn]) {
    const UNIT: u64 = 1 << 32;
    let hot_pages = (f64::from(LOGICAL_PAGES) * HOT_SPACE) as u64;
    let share = (hot_writes * UNIT as f64) as u64;
    for page in pages {
        let is_hot = random_below(random, UNIT) < share;
        *page = Lpn(if is_hot {
            random_below(random, hot_pages)
        } else {
            hot_pages + random_below(random, u64::from(LOGICAL_PAGES) - hot_pages)
        } as u32);
    }
}

fn wear_out(
    ftl: &'static str,
    (load, hot_writes): (&'static str, f64),
    kind: &LevellingKind,
) -> Result<Run, Failure> {
    let wear = Wear { endurance_cycles: Some(ENDURANCE_CYCLES), ..Wear::default() };
    let geometry = Geometry::flat(BLOCKS, PAGES_PER_BLOCK, PAGE_BYTES);
    let settings = PagedSettings {
        config: config(ftl, kind.wear.clone()),
        victim: serde_json::from_str("\"greedy\"")?,
        placement: serde_json::from_str("\"double\"")?,
    };
    let mut drive = settings.build(Nand::<()>::new(geometry, wear, Seed(1)).with_spare_area())?;
    let mut random = Seed(1).derive("load").random();
    for page in 0..LOGICAL_PAGES {
        drive.write(&[Lpn(page)], no_data(1), 0)?;
    }
    let mut pages = [Lpn(0); BATCH];
    let mut written = u64::from(LOGICAL_PAGES);
    let mut compared = None;
    let end = loop {
        draw(&mut random, hot_writes, &mut pages);
        drive.write(&pages, no_data(BATCH), 0)?;
        written += BATCH as u64;
        let standing = state_of(&drive)?;
        if compared.is_none() && written >= COMPARED_DRIVE_WRITES * u64::from(LOGICAL_PAGES) {
            compared = Some(standing.clone());
        }
        if standing.worn_out {
            break standing;
        }
    };
    drive.check()?;
    let life = written as f64 / f64::from(LOGICAL_PAGES);
    Ok(Run {
        ftl: ftl.to_owned(),
        load: load.to_owned(),
        kind: kind.name.to_owned(),
        state_at_comparison: compared.unwrap_or_else(|| end.clone()),
        lifetime_drive_writes: life,
        end_state: end,
    })
}

pub fn run(session: &Session) -> Result<(), Failure> {
    let kinds = kinds();
    let cases: Vec<_> = ["dftl", "geckoftl"]
        .into_iter()
        .flat_map(|ftl| LOADS.map(move |load| (ftl, load)))
        .flat_map(|(ftl, load)| (0..kinds.len()).map(move |kind| (ftl, load, kind)))
        .collect();
    let runs = session
        .compute_each("life of a drive", &cases, |&(ftl, load, kind)| wear_out(ftl, load, &kinds[kind]))?;
    table(&runs).publish(session, "data")?;
    check(&runs).publish(session)
}

fn table(runs: &[Run]) -> Table {
    let mut table = Table::default();
    for Run { ftl, load, kind, state_at_comparison: compared, lifetime_drive_writes: life, end_state: end } in
        runs
    {
        let names = [ftl, load, kind].map(|name| name.replace(',', ";"));
        table.add(
            Fields::default()
                .text("ftl", &names[0])
                .text("load", &names[1])
                .text("levelling", &names[2])
                .number("write_amplification", compared.write_amplification, 3)
                .number("moved_for_wear", compared.moved_share, 3)
                .number("spare_reads", compared.spare_reads_per_write, 3)
                .number("life_drive_writes", *life, 0)
                .text("erases_min", end.min)
                .text("erases_max", end.max)
                .number("erases_variation", end.variation, 3)
                .number("endurance_used", end.used_endurance, 3),
        );
    }
    table
}

fn check(runs: &[Run]) -> Statements {
    // Each kind is compared with no wear levelling, on the same FTL under the same load.
    let pairs: Vec<(&Run, &Run)> = runs
        .chunks(kinds().len())
        .flat_map(|chunk| chunk[1..].iter().map(|levelled| (levelled, &chunk[0])))
        .collect();
    let mut statements = Statements::default();
    let mut check = |statement: &str, reference: &str, holds: &dyn Fn(&Run, &Run) -> bool| {
        let cases = pairs.iter().filter(|(levelled, _)| levelled.kind.starts_with(reference));
        let name = |run: &Run| format!("{} {} {}", run.ftl, run.load, run.kind);
        statements.check(statement, cases.map(|&(levelled, none)| (name(levelled), holds(levelled, none))));
    };
    check("the scan lengthens life", "scan", &|levelled, none| {
        levelled.lifetime_drive_writes > none.lifetime_drive_writes
    });
    check("the rotation lengthens life", "start_gap", &|levelled, none| {
        levelled.lifetime_drive_writes > none.lifetime_drive_writes
    });
    check("the scan evens out wear", "scan", &|levelled, none| {
        levelled.end_state.variation < none.end_state.variation
    });
    check("the rotation evens out wear", "start_gap", &|levelled, none| {
        levelled.end_state.variation < none.end_state.variation
    });
    check("levelling costs writes", "", &|levelled, none| {
        levelled.state_at_comparison.write_amplification > none.state_at_comparison.write_amplification
    });
    check("the scan writes at most 5 % more", "scan", &|levelled, none| {
        levelled.state_at_comparison.write_amplification
            <= 1.05 * none.state_at_comparison.write_amplification
    });
    statements
}
