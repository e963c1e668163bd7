//! Tables I and II of the CAGC paper: the drive of its experiments, and the synthetic substitutes of its traces.

use crate::Failure;
use crate::cagc::TRACES;
use crate::session::Session;
use crate::table::{Table, number};
use wearwell_base::request::Op;
use wearwell_base::seed::Seed;
use wearwell_engine::nand::Preset;
use wearwell_workload::{ContentConfig, FIU_TRACES, PageBatch, WorkloadConfig};

/// Number of pages in the space that the synthetic traces write.
const LOGICAL_PAGES: u32 = 50_000;
/// Number of drive writes that are counted, and also number of drive writes before these, which are not counted.
const DRIVE_WRITES: u64 = 6;

/// Table II as printed, by trace: write ratio, deduplication ratio, and KiB per request. The row of Web-vm is missing
/// in our copy.
const PRINTED: [(&str, [f64; 3]); 2] = [("mail", [0.698, 0.893, 14.8]), ("homes", [0.805, 0.300, 13.1])];

pub fn run(session: &Session) -> Result<(), Failure> {
    table_1(session)?;
    table_2(session)
}

fn table_1(session: &Session) -> Result<(), Failure> {
    let preset = Preset::find("z_nand").ok_or("the preset is there")?;
    let mut table = Table::new(&["what", "unit", "printed", "ours"]);
    let rows = [
        ("page", "KiB", 4.0, f64::from(preset.page_bytes) / 1024.0),
        ("block", "KiB", 256.0, f64::from(preset.page_bytes * preset.pages_per_block) / 1024.0),
        ("over-provisioning", "share", 0.07, preset.over_provisioning),
        ("watermark", "share", 0.2, preset.gc_watermark.unwrap_or(0.0)),
        ("read", "us", 12.0, preset.read_us),
        ("write", "us", 16.0, preset.program_us),
    ];
    for (what, unit, printed, ours) in rows {
        table.push(vec![what.to_owned(), unit.to_owned(), number(printed, 3), number(ours, 3)]);
    }
    table.publish(session, "drive")
}

fn table_2(session: &Session) -> Result<(), Failure> {
    let mut table = Table::new(&["trace", "what", "printed", "ours"]);
    for (trace, _) in TRACES {
        let counted = TraceCounts::count(trace)?;
        let printed = PRINTED.iter().find(|(name, _)| *name == trace).map(|(_, printed)| printed);
        let ours = [counted.write_ratio, counted.dedup_ratio, counted.request_kib];
        for (at, what) in ["write ratio", "deduplication ratio", "request, KiB"].into_iter().enumerate() {
            let printed = printed.map_or(String::new(), |printed| number(printed[at], 3));
            table.push(vec![trace.to_owned(), what.to_owned(), printed, number(ours[at], 3)]);
        }
    }
    table.publish(session, "traces")
}

/// Counts of a synthetic trace.
struct TraceCounts {
    write_ratio: f64,
    dedup_ratio: f64,
    request_kib: f64,
}

impl TraceCounts {
    fn count(trace: &str) -> Result<Self, Failure> {
        let is_shipped = FIU_TRACES.iter().any(|known| known.entry.name == trace);
        assert!(is_shipped, "a trace of the table");
        let workload: WorkloadConfig = toml::from_str(&format!("kind = \"fiu\"\ntrace = \"{trace}\""))?;
        let mut workload = workload.build(LOGICAL_PAGES, Seed(1))?;
        let mut contents = ContentConfig::preset(trace)?.build(LOGICAL_PAGES, Seed(1))?;
        let mut batch = PageBatch::default();
        let mut seen_contents = std::collections::HashSet::new();
        let (mut requests, mut writes, mut pages, mut written, mut equal) =
            (0_u64, 0_u64, 0_u64, 0_u64, 0_u64);
        let mut all_written = 0;
        while all_written < 2 * DRIVE_WRITES * u64::from(LOGICAL_PAGES) {
            batch.clear();
            workload.fill(&mut batch, 4096);
            contents.add_contents(&mut batch);
            let counts = all_written >= DRIVE_WRITES * u64::from(LOGICAL_PAGES);
            let mut named = batch.contents.iter();
            for (run, of) in batch.iter() {
                let is_write = run.op == Op::Write;
                let of_run = of.len() as u64 / u64::from(run.request_pages.max(1));
                let repeated = of
                    .iter()
                    .filter(|_| !seen_contents.insert(*named.next().expect("a content a page")))
                    .count();
                all_written += if is_write { of.len() as u64 } else { 0 };
                if counts {
                    requests += of_run;
                    pages += of.len() as u64;
                    writes += if is_write { of_run } else { 0 };
                    written += if is_write { of.len() as u64 } else { 0 };
                    equal += if is_write { repeated as u64 } else { 0 };
                }
            }
        }
        let share = |part: u64, of: u64| part as f64 / of as f64;
        Ok(TraceCounts {
            write_ratio: share(writes, requests),
            dedup_ratio: share(equal, written),
            request_kib: 4.0 * share(pages, requests),
        })
    }
}
