//! What deduplication reports of itself.

use super::RamPart;
use serde::{Deserialize, Serialize};

/// RAM of an entry of the map from logical pages to slots, bytes.
const MAP_ENTRY_BYTES: u64 = 4;

/// What a layer that stores equal pages once found, and what looking cost it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DedupReport {
    /// Pages written whose content was there already: only the map changed.
    pub hits: u64,
    /// Pages written that were stored.
    pub misses: u64,
    /// Pages hashed as the host wrote them.
    pub host_hashed_pages: u64,
    /// Pages hashed as cleaning read them.
    pub cleaning_hashed_pages: u64,
    /// Pages given the weak hash that comes before the full one.
    pub pre_hashed_pages: u64,
    /// Pages hashed when the drive had nothing else to do, which delays nobody.
    pub idle_hashed_pages: u64,
    /// Pages read to be compared with one of the same fingerprint.
    pub verify_reads: u64,
    /// Fingerprints found that belonged to other content. Verified, they cost a read; if not, the page is corrupt.
    pub collisions: u64,
    /// Pages that cleaning did not move because an equal one was stored.
    pub merged_pages: u64,
    /// Pages that cleaning wrote again, in the cold region, because they became shared.
    pub promoted_pages: u64,
    /// Fingerprints in the index at the end.
    pub index_entries: u64,
    /// RAM that the modelled drive needs for the index, bytes: its cached pages, if it lives in flash.
    pub index_bytes: u64,
    /// Bytes that the simulation takes for the index.
    pub index_memory_bytes: u64,
    /// Fingerprints that left the index for others.
    pub index_evictions: u64,
    /// Pages of the index read from flash.
    pub index_reads: u64,
    /// Pages of the index written to flash.
    pub index_writes: u64,
    /// Records of changes to the map that no spare area tells of; written only where there is a log of the map.
    pub map_log_records: u64,
    /// Pages of these records written.
    pub map_log_pages: u64,
    /// Pages of the map's checkpoint written.
    pub map_checkpoint_pages: u64,
    /// Logical pages that hold data over the stored pages that they share; 1 where nothing is shared, `None` where nothing
    /// is stored.
    pub sharing_ratio: Option<f64>,
    /// Stored contents by their references: 1, 2, 3, more.
    pub live_by_references: [u64; 4],
    /// Contents that nobody refers to any more, by the most references that they ever had: 1, 2, 3, more.
    pub died_by_references: [u64; 4],
}

impl DedupReport {
    /// RAM that the modelled drive needs for the map of so many logical pages to slots, bytes.
    pub fn map_bytes(logical_pages: u32) -> u64 {
        MAP_ENTRY_BYTES * u64::from(logical_pages)
    }

    /// RAM that the modelled drive needs for it beside what it needs without.
    pub fn ram(&self, logical_pages: u32) -> [RamPart; 2] {
        [
            RamPart { name: "map of slots", bytes: DedupReport::map_bytes(logical_pages) },
            RamPart { name: "fingerprint index", bytes: self.index_bytes },
        ]
    }

    /// Adds what was done in `earlier` lives; what says how things stand is left as it is.
    pub fn add(&mut self, earlier: &DedupReport) {
        let DedupReport {
            hits,
            misses,
            host_hashed_pages,
            cleaning_hashed_pages,
            pre_hashed_pages,
            idle_hashed_pages,
            verify_reads,
            collisions,
            merged_pages,
            promoted_pages,
            index_entries: _,
            index_bytes: _,
            index_memory_bytes: _,
            index_evictions,
            index_reads,
            index_writes,
            map_log_records,
            map_log_pages,
            map_checkpoint_pages,
            sharing_ratio: _,
            live_by_references: _,
            died_by_references,
        } = *earlier;
        let counts = [
            (&mut self.hits, hits),
            (&mut self.misses, misses),
            (&mut self.host_hashed_pages, host_hashed_pages),
            (&mut self.cleaning_hashed_pages, cleaning_hashed_pages),
            (&mut self.pre_hashed_pages, pre_hashed_pages),
            (&mut self.idle_hashed_pages, idle_hashed_pages),
            (&mut self.verify_reads, verify_reads),
            (&mut self.collisions, collisions),
            (&mut self.merged_pages, merged_pages),
            (&mut self.promoted_pages, promoted_pages),
            (&mut self.index_evictions, index_evictions),
            (&mut self.index_reads, index_reads),
            (&mut self.index_writes, index_writes),
            (&mut self.map_log_records, map_log_records),
            (&mut self.map_log_pages, map_log_pages),
            (&mut self.map_checkpoint_pages, map_checkpoint_pages),
        ];
        counts.into_iter().for_each(|(count, more)| *count += more);
        for (died, more) in self.died_by_references.iter_mut().zip(died_by_references) {
            *died += more;
        }
    }

    /// What was done since `earlier`; what says how things stand is left as it is.
    pub fn since(&self, earlier: &DedupReport) -> DedupReport {
        let mut died_by_references = self.died_by_references;
        for (died, before) in died_by_references.iter_mut().zip(earlier.died_by_references) {
            *died -= before;
        }
        DedupReport {
            hits: self.hits - earlier.hits,
            misses: self.misses - earlier.misses,
            host_hashed_pages: self.host_hashed_pages - earlier.host_hashed_pages,
            cleaning_hashed_pages: self.cleaning_hashed_pages - earlier.cleaning_hashed_pages,
            pre_hashed_pages: self.pre_hashed_pages - earlier.pre_hashed_pages,
            idle_hashed_pages: self.idle_hashed_pages - earlier.idle_hashed_pages,
            verify_reads: self.verify_reads - earlier.verify_reads,
            collisions: self.collisions - earlier.collisions,
            merged_pages: self.merged_pages - earlier.merged_pages,
            promoted_pages: self.promoted_pages - earlier.promoted_pages,
            index_evictions: self.index_evictions - earlier.index_evictions,
            index_reads: self.index_reads - earlier.index_reads,
            index_writes: self.index_writes - earlier.index_writes,
            map_log_records: self.map_log_records - earlier.map_log_records,
            map_log_pages: self.map_log_pages - earlier.map_log_pages,
            map_checkpoint_pages: self.map_checkpoint_pages - earlier.map_checkpoint_pages,
            died_by_references,
            ..*self
        }
    }
}
