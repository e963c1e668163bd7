//! Statistics of a file system at the top of a stack.

use super::{count, grid};
use wearwell_nvmfs::stats::Stats;
use wearwell_nvmfs::top::TopReport;
use wearwell_stack::RunResult;

/// Returns the statistics of a run as a table, if its stack has a file system.
pub fn table(result: &RunResult) -> Option<String> {
    let report: TopReport = serde_json::from_value(result.top.clone()?).ok()?;
    let played = &report.played;
    let mut rows = vec![(
        "Played".to_owned(),
        format!(
            "{} operations after the set-up, {} MiB written, {} MiB read",
            count(played.operations),
            count(played.written_bytes >> 20),
            count(played.read_bytes >> 20)
        ),
    )];
    if !report.set_up {
        rows.push(("Set-up".into(), "the run ended before all files were made".into()));
    }
    rows.extend(stats_rows(&report.stats));
    let rows = rows.into_iter().map(|(name, value)| vec![name, value]).collect();
    Some(grid(&["NVMFS", ""], rows, &[]) + "\n")
}

/// Returns the state of a file system, line by line.
pub fn stats_rows(stats: &Stats) -> Vec<(String, String)> {
    let counts = &stats.counts;
    let rows = [
        (
            "Found on NVRAM",
            format!("{} of reads, {} of writes", share(stats.read_hit_ratio), share(stats.write_hit_ratio)),
        ),
        (
            "NVRAM",
            format!(
                "{} pages: {} dirty, of at most {}, {} clean, {} metadata, {} free",
                count(stats.pages.into()),
                count(stats.dirty_pages.into()),
                count(stats.dirty_list_pages.into()),
                count(stats.clean_pages.into()),
                count(stats.metadata_pages.into()),
                count(stats.free_pages.into())
            ),
        ),
        (
            "SSD",
            format!(
                "{} extents of 512 KiB, {} free; {} valid blocks, {} of what the extents in use hold",
                count(stats.extents.into()),
                count(stats.free_extents.into()),
                count(stats.ssd_valid_blocks),
                share(Some(stats.extent_fill))
            ),
        ),
        (
            "Traffic to the SSD",
            format!(
                "{} blocks written in {} requests, {} read for users, {} read to clean, {} trimmed",
                count(counts.ssd_written_blocks),
                count(counts.ssd_writes),
                count(counts.ssd_read_blocks),
                count(counts.cleaning_read_blocks),
                count(counts.trimmed_blocks)
            ),
        ),
        (
            "Recycling",
            format!(
                "{} blocks recycled, {} of them moved: cleaning efficiency {}",
                count(counts.recycled_blocks()),
                count(counts.moved_blocks),
                share(stats.cleaning_efficiency)
            ),
        ),
        ("Inodes", format!("{} of {}", count(stats.inodes.into()), count(stats.inode_limit.into()))),
        ("Data", format!("{} of {} blocks of 4 KiB", count(stats.used_blocks), count(stats.capacity_blocks))),
    ];
    rows.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "none".into(), |value| format!("{:.1} %", value * 100.0))
}
