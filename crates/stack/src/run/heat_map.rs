//! Erases by region of the drive and by interval of the run.

use super::snapshot::Snapshot;
use serde::{Deserialize, Serialize};

/// Maximum number of regions.
const MAX_REGIONS: usize = 64;
/// Maximum number of intervals; if there are more windows, an interval contains several neighbouring windows.
const MAX_INTERVALS: usize = 128;

/// Erases by region of the drive and interval of the run. Blocks are programmed once between erases, so the map also
/// shows where pages were written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EraseHeatMap {
    /// Neighbouring blocks in a region; the last region may have fewer.
    pub blocks_in_region: u32,
    /// Windows of the time series in an interval; the last interval may have fewer.
    #[serde(alias = "windows_in_stretch")]
    pub windows_per_interval: u32,
    /// Host pages written by the end of each interval, since the drive was new.
    pub host_pages: Vec<u64>,
    /// Erases in each interval, by region.
    pub erases: Vec<Vec<u64>>,
}

/// Heat map during a run.
pub(crate) struct HeatMapRecorder {
    blocks_in_region: usize,
    windows_per_interval: usize,
    windows: usize,
    intervals: Vec<(u64, Vec<u64>)>,
}

impl HeatMapRecorder {
    /// Returns an empty map for a drive of `blocks` blocks.
    pub fn of(blocks: usize) -> Self {
        let blocks_in_region = blocks.div_ceil(MAX_REGIONS).max(1);
        HeatMapRecorder { blocks_in_region, windows_per_interval: 1, windows: 0, intervals: Vec::new() }
    }

    /// Records a window that ended when the host had written `host_pages`.
    pub fn end_window(&mut self, before: &Snapshot, after: &Snapshot, host_pages: u64) {
        self.add(&before.nand().erase_counts, &after.nand().erase_counts, host_pages);
    }

    fn add(&mut self, before: &[u32], after: &[u32], host_pages: u64) {
        let sum = |(before, after): (&[u32], &[u32])| -> u64 {
            before.iter().zip(after).map(|(before, after)| u64::from(after - before)).sum()
        };
        let size = self.blocks_in_region;
        let erases: Vec<u64> = before.chunks(size).zip(after.chunks(size)).map(sum).collect();
        if self.windows.is_multiple_of(self.windows_per_interval) {
            self.merge_if_full();
        }
        match self.intervals.last_mut() {
            Some(last) if !self.windows.is_multiple_of(self.windows_per_interval) => {
                *last = merged(last, &(host_pages, erases));
            }
            _ => self.intervals.push((host_pages, erases)),
        }
        self.windows += 1;
    }

    /// Merges pairs of intervals if their number has reached the maximum.
    fn merge_if_full(&mut self) {
        if self.intervals.len() == MAX_INTERVALS {
            self.intervals = self.intervals.chunks(2).map(|pair| merged(&pair[0], &pair[1])).collect();
            self.windows_per_interval *= 2;
        }
    }

    /// Returns the heat map, or `None` if no window was completed.
    pub fn finish(self) -> Option<EraseHeatMap> {
        let (host_pages, erases): (Vec<_>, Vec<_>) = self.intervals.into_iter().unzip();
        let (blocks_in_region, windows_per_interval) =
            (self.blocks_in_region as u32, self.windows_per_interval as u32);
        let heat_map = EraseHeatMap { blocks_in_region, windows_per_interval, host_pages, erases };
        (!heat_map.erases.is_empty()).then_some(heat_map)
    }
}

/// Merges two neighbouring intervals.
fn merged(earlier: &(u64, Vec<u64>), later: &(u64, Vec<u64>)) -> (u64, Vec<u64>) {
    (later.0, earlier.1.iter().zip(&later.1).map(|(one, other)| one + other).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbouring_blocks_share_region() {
        let mut recorder = HeatMapRecorder::of(130);
        let mut after = vec![1; 130];
        after[129] = 5;
        recorder.add(&[1; 130], &after, 10);
        let found = recorder.finish().unwrap();
        assert_eq!((found.blocks_in_region, found.windows_per_interval, found.host_pages), (3, 1, vec![10]));
        assert_eq!(
            (found.erases[0].len(), found.erases[0][43], found.erases[0][..43].iter().sum()),
            (44, 4, 0)
        );
    }

    #[test]
    fn long_runs_merge_intervals_and_lose_no_erase() {
        for windows in [1, 127, 128, 129, 256, 257, 1000] {
            let mut recorder = HeatMapRecorder::of(2);
            for window in 0..windows {
                recorder.add(&[window, 0], &[window + 1, 0], 10 * u64::from(window + 1));
            }
            let found = recorder.finish().unwrap();
            let size = found.windows_per_interval;
            assert!(
                found.erases.len() <= MAX_INTERVALS && found.erases.len() as u32 == windows.div_ceil(size)
            );
            let (last, whole) = found.erases.split_last().unwrap();
            assert!(whole.iter().all(|erases| *erases == [u64::from(size), 0]), "{windows}: {whole:?}");
            assert_eq!(last[0], u64::from(windows - size * (windows.div_ceil(size) - 1)));
            assert_eq!(found.host_pages.last(), Some(&(10 * u64::from(windows))));
        }
        assert_eq!(HeatMapRecorder::of(2).finish(), None);
    }
}
