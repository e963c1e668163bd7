//! Status of a mounted NVMFS.

use crate::commands::nvmfs::report;
use serde_json::Value;
use std::path::Path;
use wearwell_nvmfs::stats::Stats;
use wearwell_serve::RequestReading;
use wearwell_watch::top::{View, Wear, Writes};

/// Bytes of a block of the file system.
const BLOCK_BYTES: u64 = 4096;

/// Returns the statistics, as `wearwell nvmfs stats --json` prints them.
pub fn value(directory: &Path) -> Result<Value, String> {
    let stats = stats(directory)?;
    Ok(serde_json::to_value(stats).expect("plain data"))
}

/// Returns the view of a mounted file system.
pub fn view(directory: &Path) -> Result<View, String> {
    Ok(build_view(directory.display().to_string(), &stats(directory)?))
}

fn stats(directory: &Path) -> Result<Stats, String> {
    report(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

/// Builds the view. Host pages are the blocks that users wrote, to NVRAM; amplification is below one if data is
/// overwritten in NVRAM before it reaches the SSD. Without a simulated drive, the view ends at the SSD.
fn build_view(title: String, stats: &Stats) -> View {
    let counts = &stats.counts;
    let sent = Writes { layer: "nvmfs".into(), cause: "host".into(), pages: counts.ssd_written_blocks };
    let below = stats.drive.iter().flat_map(|drive| &drive.layers).flat_map(|layer| {
        let writes = layer.writes_below.iter();
        writes.map(|(cause, pages)| Writes { layer: layer.name.clone(), cause: cause.clone(), pages: *pages })
    });
    let blocks = |blocks| RequestReading {
        requests: blocks,
        bytes: blocks * BLOCK_BYTES,
        ..RequestReading::default()
    };
    let requests = [("read", counts.read_blocks), ("write", counts.written_blocks)];
    let part_of_whole = |part: u64, whole: u64| format!("{part} of {whole}");
    let facts = [
        ("NVRAM pages dirty", part_of_whole(stats.dirty_pages.into(), stats.pages.into())),
        ("  clean", part_of_whole(stats.clean_pages.into(), stats.pages.into())),
        ("blocks in use", part_of_whole(stats.used_blocks, stats.capacity_blocks)),
    ];
    View {
        title,
        failure: None,
        writes: std::iter::once(sent).chain(below).collect(),
        host_pages: counts.written_blocks,
        page_bytes: BLOCK_BYTES,
        programs: stats.drive.as_ref().map_or(counts.ssd_written_blocks, |drive| drive.programs),
        erases: stats.drive.as_ref().map_or(0, |drive| drive.erases),
        free: vec![("nvmfs's extents".into(), stats.free_extents.into())],
        wear: stats.drive.as_ref().map(|drive| Wear {
            min: drive.min_erases,
            mean: drive.mean_erases,
            max: drive.max_erases,
            ..Wear::default()
        }),
        requests: requests.map(|(name, count)| (name.to_owned(), blocks(count))).into(),
        facts: facts.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_nvmfs::ssd::{Drive, DriveLayer};

    #[test]
    fn writes_absorbed_by_nvram_give_amplification_below_one() {
        let layer = DriveLayer {
            name: "ftl".into(),
            written_pages: 40,
            writes_below: [("host".to_owned(), 40), ("cleaning".to_owned(), 10)].into(),
        };
        let mut stats = Stats {
            drive: Some(Drive { layers: vec![layer], programs: 50, ..Drive::default() }),
            ..Stats::default()
        };
        (stats.counts.written_blocks, stats.counts.ssd_written_blocks) = (100, 40);
        let view = build_view("/mnt".into(), &stats);
        assert_eq!((view.host_pages, view.programs), (100, 50));
        let writes: Vec<(&str, &str, u64)> =
            view.writes.iter().map(|one| (&*one.layer, &*one.cause, one.pages)).collect();
        assert_eq!(writes, [("nvmfs", "host", 40), ("ftl", "cleaning", 10), ("ftl", "host", 40)]);
        stats.drive = None;
        assert_eq!(build_view("/mnt".into(), &stats).programs, 40);
    }
}
