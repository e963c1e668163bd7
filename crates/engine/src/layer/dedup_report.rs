//! Report of deduplication.

use super::RamPart;
use serde::{Deserialize, Serialize};

/// RAM of a map entry from a logical page to a slot, in bytes.
const MAP_ENTRY_BYTES: u64 = 4;

/// Statistics of a deduplicating layer: duplicates found, and the cost of finding them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DedupReport {
    /// Written pages whose content was already stored: only the map changed.
    pub hits: u64,
    /// Written pages that were stored.
    pub misses: u64,
    /// Pages hashed when the host wrote them.
    pub host_hashed_pages: u64,
    /// Pages hashed when cleaning read them.
    pub cleaning_hashed_pages: u64,
    /// Pages hashed with the weak hash that precedes the full hash.
    pub pre_hashed_pages: u64,
    /// Pages hashed in idle time, which delays no request.
    pub idle_hashed_pages: u64,
    /// Pages read to compare their content with a written page of the same fingerprint.
    pub verify_reads: u64,
    /// Equal fingerprints of different contents. With verification, each costs a read; without verification, the
    /// written page is corrupted.
    pub collisions: u64,
    /// Pages that cleaning did not move because an equal page was stored.
    pub merged_pages: u64,
    /// Pages that cleaning rewrote in the cold region because they became shared.
    pub promoted_pages: u64,
    /// Fingerprints in the index at the end.
    pub index_entries: u64,
    /// RAM that the modelled drive needs for the index, in bytes; for an index in flash, its cached pages.
    pub index_bytes: u64,
    /// Memory that the simulation uses for the index, in bytes.
    pub index_memory_bytes: u64,
    /// Fingerprints evicted from the index.
    pub index_evictions: u64,
    /// Pages of the index read from flash.
    pub index_reads: u64,
    /// Pages of the index written to flash.
    pub index_writes: u64,
    /// Records written to the map log: map changes that no spare area records.
    pub map_log_records: u64,
    /// Pages written with these records.
    pub map_log_pages: u64,
    /// Pages of map checkpoints written.
    pub map_checkpoint_pages: u64,
    /// Ratio of logical pages that hold data to stored pages; 1 if no page is shared, `None` if none is stored.
    pub sharing_ratio: Option<f64>,
    /// Number of stored contents by reference count: 1, 2, 3, more.
    pub live_by_references: [u64; 4],
    /// Number of contents that are no longer referenced, by their highest reference count: 1, 2, 3, more.
    #[serde(alias = "died_by_references")]
    pub invalidated_by_references: [u64; 4],
}

impl DedupReport {
    /// Returns the RAM that the modelled drive needs for the map from `logical_pages` logical pages to slots, in
    /// bytes.
    pub fn map_bytes(logical_pages: u32) -> u64 {
        MAP_ENTRY_BYTES * u64::from(logical_pages)
    }

    /// Returns the RAM that the modelled drive needs for deduplication, in addition to its other RAM.
    pub fn ram(&self, logical_pages: u32) -> [RamPart; 2] {
        [
            RamPart { name: "map of slots", bytes: DedupReport::map_bytes(logical_pages) },
            RamPart { name: "fingerprint index", bytes: self.index_bytes },
        ]
    }

    /// Adds the counts of `earlier` power cycles; values that describe the current state are unchanged.
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
            invalidated_by_references: died_by_references,
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
        for (count, more) in self.invalidated_by_references.iter_mut().zip(died_by_references) {
            *count += more;
        }
    }

    /// Returns the counts since `earlier`; values that describe the current state are unchanged.
    pub fn since(&self, earlier: &DedupReport) -> DedupReport {
        let mut died_by_references = self.invalidated_by_references;
        for (count, before) in died_by_references.iter_mut().zip(earlier.invalidated_by_references) {
            *count -= before;
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
            invalidated_by_references: died_by_references,
            ..*self
        }
    }
}
