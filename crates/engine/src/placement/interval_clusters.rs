//! Placement by clusters of host writes with similar rewrite intervals.

use super::classes::{require_nonzero, separate_cleaning_stream};
use super::clock::LastWrites;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the clusters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of clusters of host writes, 1 or more; cleaned pages have one more stream.
    #[schemars(range(min = 1))]
    pub clusters: u8,
    /// Number of blocks that the host fills between two adjustments, which split and merge clusters; 1 or more.
    #[schemars(range(min = 1))]
    pub adjust_blocks: u32,
}

impl Default for Config {
    fn default() -> Self {
        Config { clusters: 5, adjust_blocks: 256 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "interval_clusters",
        help: "host writes clustered by their rewrite intervals, cleaned pages apart (WARCIP)",
        source: "Yang, Pei and Yang, SYSTOR 2019",
    };
    type Placement = IntervalClusters;

    fn build(&self, context: PlacementContext<'_>) -> Result<IntervalClusters, ConfigError> {
        require_nonzero(self.adjust_blocks.into(), "adjust_blocks")?;
        let logical_pages = context.size.logical_pages;
        let block_pages = u64::from(context.size.pages_per_block);
        Ok(IntervalClusters {
            cleaned_stream: separate_cleaning_stream(self.clusters, "clusters")?,
            block_pages,
            adjust_after: block_pages * u64::from(self.adjust_blocks),
            written: 0,
            clusters: vec![Cluster { is_used: true, ..Cluster::default() }; usize::from(self.clusters)],
            last_writes: LastWrites::new(logical_pages),
            penalties: vec![0; logical_pages as usize],
            penalty_unit: u64::from(logical_pages).div_ceil(1 << 16).max(1),
        })
    }
}

/// Pages with similar intervals, and the open block that they fill.
#[derive(Clone, Copy, Debug, Default)]
struct Cluster {
    /// Mean interval of the pages of the open block, host pages.
    centre: f64,
    /// Pages in the open block.
    in_block: u64,
    /// Pages since clusters were last adjusted.
    written: u64,
    is_used: bool,
    /// True if the cluster ends when its block is full.
    is_ending: bool,
}

/// Online k-means: a host write goes to the cluster whose centre is nearest to its rewrite interval, the host pages
/// written since the page was last written. A centre is the mean over the pages in the cluster's open block. Stream
/// `c` is cluster `c`; the last stream takes cleaned pages.
///
/// A page that was cleaned lived longer than expected for its cluster: at its next write, the age at which it was
/// cleaned is added to its interval. A first write has an interval of 0. After every 256 filled blocks, a cluster that
/// took more than half of the writes is split, if a cluster is unused; the new cluster begins half way to the next
/// lower centre. Otherwise the first cluster that took less than a block ends when its block is full.
///
/// The paper was not available; rules and numbers are those of the simulator of Wang et al. (FAST 2022), which
/// measures intervals in microseconds. Block boundaries are derived from page counts: after a spill or a failed block
/// they are slightly off. A trimmed page counts as new when it is rewritten.
pub struct IntervalClusters {
    cleaned_stream: StreamId,
    block_pages: u64,
    adjust_after: u64,
    /// Number of host pages since the clusters were last adjusted.
    written: u64,
    clusters: Vec<Cluster>,
    last_writes: LastWrites,
    /// For each page, the age at which it was last cleaned since its last write, in units of `penalty_unit` host pages.
    penalties: Vec<u32>,
    penalty_unit: u64,
}

impl IntervalClusters {
    /// Returns the used cluster with the nearest centre; among equals the cluster with the highest number.
    fn nearest(&self, interval: f64) -> usize {
        let used = self.clusters.iter().enumerate().filter(|(_, cluster)| cluster.is_used);
        let distance = |cluster: &Cluster| (cluster.centre - interval).abs();
        let nearest = used.rev().min_by(|(_, a), (_, b)| distance(a).total_cmp(&distance(b)));
        nearest.map_or(0, |(at, _)| at)
    }

    fn place_host(&mut self, page: Lpn, now: u64) -> StreamId {
        if self.written == self.adjust_after {
            self.adjust();
        }
        let age = self.last_writes.record_write(page, now);
        let penalty = u64::from(std::mem::take(&mut self.penalties[page.index()])) * self.penalty_unit;
        let interval = age.map_or(0.0, |age| (age + penalty) as f64);
        let at = self.nearest(interval);
        let cluster = &mut self.clusters[at];
        cluster.centre =
            (cluster.centre * cluster.in_block as f64 + interval) / (cluster.in_block + 1) as f64;
        cluster.in_block += 1;
        cluster.written += 1;
        self.written += 1;
        if cluster.in_block == self.block_pages {
            cluster.in_block = 0;
            cluster.is_used = !std::mem::take(&mut cluster.is_ending);
        }
        StreamId(at as u8)
    }

    fn adjust(&mut self) {
        let busiest = self.clusters.iter().position(|cluster| cluster.written * 2 > self.written);
        let free = self.clusters.iter().position(|cluster| !cluster.is_used);
        if let (Some(busy), Some(free)) = (busiest, free) {
            let centre = self.clusters[busy].centre;
            let lower = self.clusters.iter().filter(|other| other.is_used && other.centre < centre);
            let next = lower.map(|other| other.centre).fold(0.0, f64::max);
            self.clusters[free] =
                Cluster { centre: f64::midpoint(centre, next), is_used: true, ..Cluster::default() };
        } else if !self.clusters.iter().any(|cluster| cluster.is_ending) {
            let used = self.clusters.iter().filter(|cluster| cluster.is_used).count();
            let idle = |cluster: &&mut Cluster| cluster.is_used && cluster.written < self.block_pages;
            if used > 1
                && let Some(cluster) = self.clusters.iter_mut().find(idle)
            {
                cluster.is_ending = cluster.in_block > 0;
                cluster.is_used = cluster.is_ending;
            }
        }
        self.written = 0;
        self.clusters.iter_mut().for_each(|cluster| cluster.written = 0);
    }
}

impl Placement for IntervalClusters {
    fn streams(&self) -> u8 {
        self.cleaned_stream.0 + 1
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause == Cause::Host {
            return self.place_host(context.page, context.now);
        }
        let age = self.last_writes.age(context.page, context.now).unwrap_or(0);
        self.penalties[context.page.index()] = (age / self.penalty_unit).min(u64::from(u32::MAX)) as u32;
        self.cleaned_stream
    }

    fn trimmed(&mut self, page: Lpn) {
        self.last_writes.clear(page);
        self.penalties[page.index()] = 0;
    }

    fn memory_bytes(&self) -> usize {
        self.last_writes.memory_bytes() + size_of_val(&*self.penalties)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use crate::config::StoreSize;
    use crate::seed::Seed;
    use serde_json::json;

    #[test]
    fn writes_go_to_the_nearest_centre_and_move_it() {
        let mut placement = try_build(json!({"kind": "warcip", "clusters": 2}), 100).unwrap();
        let mut write = |page, now| placement.place(&host(page, now)).0;
        // The first write of a page has an interval of 0. All centres are 0; of equally near centres, the last is
        // selected.
        assert_eq!([write(1, 0), write(2, 1)], [1, 1]);
        // For an interval of 30, both centres are equally near, and the last is selected; the mean of 0, 0 and 30 is
        // 10.
        assert_eq!(write(1, 30), 1);
        // An interval of 4 is nearer to 0 and moves the centre of cluster 0 to 4; an interval of 6 is nearer to 4 and
        // moves this centre to 5.
        assert_eq!([write(1, 34), write(1, 40)], [0, 0]);
        // An interval of 7 is nearer to 5, and an interval of 9 is nearer to 10.
        assert_eq!([write(1, 47), write(1, 56)], [0, 1]);
        assert_eq!(placement.place(&cleaned(1, 60, 1)), StreamId(2));
        // The page was cleaned at an age of 4, and is written at an age of 5: an interval of 9.
        assert_eq!(placement.place(&host(1, 61)), StreamId(1));
        // The page was not cleaned since its last write, so the interval is 5.
        assert_eq!(placement.place(&host(1, 66)), StreamId(0));
        placement.trimmed(Lpn(1));
        assert_eq!(placement.place(&host(1, 70)), StreamId(0), "new again: 0 is nearest to the lower centre");
        assert_eq!((placement.streams(), placement.memory_bytes()), (3, 800));
    }

    #[test]
    fn idle_clusters_end_and_busy_ones_are_split() {
        // Blocks of 32 pages; the clusters are adjusted after every two filled blocks.
        let config = Config { clusters: 3, adjust_blocks: 2 };
        let size = StoreSize { blocks: 200, pages_per_block: 32, logical_pages: 1000, seed: Seed(1) };
        let mut placement =
            config.build(PlacementContext { size: &size, temperature: None, foresight: None }).unwrap();
        let used = |placement: &IntervalClusters| -> Vec<bool> {
            placement.clusters.iter().map(|cluster| cluster.is_used).collect()
        };
        // If all pages are new, they are written to cluster 2. Cluster 0 received no page and ends at once; cluster 1
        // ends at the next adjustment.
        let write = |placement: &mut IntervalClusters, pages: std::ops::Range<u32>| {
            pages.for_each(|page| assert_eq!(placement.place(&host(page, u64::from(page))), StreamId(2)));
        };
        write(&mut placement, 0..65);
        assert_eq!(used(&placement), [false, true, true]);
        write(&mut placement, 65..129);
        // Cluster 2 took more than half of the writes and is split into the free cluster instead.
        assert_eq!(used(&placement), [true, true, true]);
        assert_eq!(placement.clusters[0].centre, 0.0);
    }

    #[test]
    fn settings_that_make_no_clusters_are_refused() {
        for (value, key) in [
            (json!({"kind": "interval_clusters", "clusters": 0}), "clusters"),
            (json!({"kind": "interval_clusters", "clusters": 255}), "clusters"),
            (json!({"kind": "interval_clusters", "adjust_blocks": 0}), "adjust_blocks"),
        ] {
            assert_eq!(try_build(value, 10).err().unwrap().key, key);
        }
    }
}
