//! What deduplication saved, over the measured part of a run.

use crate::layer::DedupReport;
use serde::{Deserialize, Serialize};

/// What deduplication did and what it cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct DedupResult {
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
    /// Fingerprints found that belonged to other content: without `verify` such a page is corrupt.
    pub collisions: u64,
    /// Pages that cleaning did not move because an equal one was stored.
    pub merged_pages: u64,
    /// Pages that cleaning wrote again, in the cold region, because they became shared.
    pub promoted_pages: u64,
    /// Fingerprints in the index at the end.
    pub index_entries: u64,
    /// RAM that the modelled drive needs for the index, bytes.
    pub index_bytes: u64,
    /// Bytes of memory that the simulation takes for the index.
    pub index_memory_bytes: u64,
    /// Fingerprints that left the index for others.
    pub index_evictions: u64,
    /// Pages of the index read from flash.
    pub index_reads: u64,
    /// Pages of the index written to flash.
    pub index_writes: u64,
    /// Records of changes to the map that no spare area tells of; written only with `map_log`.
    pub map_log_records: u64,
    /// Pages of these records written.
    pub map_log_pages: u64,
    /// Pages of the map's checkpoint written.
    pub map_checkpoint_pages: u64,
    /// Logical pages that hold data over the stored pages that they share, at the end; 1 where nothing is shared.
    pub sharing_ratio: Option<f64>,
    /// Stored contents at the end, by their references: 1, 2, 3, more.
    pub live_by_references: [u64; 4],
    /// Contents that lost their last reference, by the most references that they ever had: 1, 2, 3, more.
    pub died_by_references: [u64; 4],
}

impl DedupResult {
    /// The difference of two reports of a layer with `mapped_pages` logical pages that hold data at the end.
    pub(super) fn between(before: &DedupReport, after: &DedupReport, mapped_pages: u32) -> Self {
        let mut died_by_references = after.died_by_references;
        for (after, before) in died_by_references.iter_mut().zip(before.died_by_references) {
            *after -= before;
        }
        let stored: u64 = after.live_by_references.iter().sum();
        DedupResult {
            hits: after.hits - before.hits,
            misses: after.misses - before.misses,
            host_hashed_pages: after.host_hashed_pages - before.host_hashed_pages,
            cleaning_hashed_pages: after.cleaning_hashed_pages - before.cleaning_hashed_pages,
            pre_hashed_pages: after.pre_hashed_pages - before.pre_hashed_pages,
            idle_hashed_pages: after.idle_hashed_pages - before.idle_hashed_pages,
            verify_reads: after.verify_reads - before.verify_reads,
            collisions: after.collisions - before.collisions,
            merged_pages: after.merged_pages - before.merged_pages,
            promoted_pages: after.promoted_pages - before.promoted_pages,
            index_entries: after.index_entries,
            index_bytes: after.index_bytes,
            index_memory_bytes: after.index_memory_bytes,
            index_evictions: after.index_evictions - before.index_evictions,
            index_reads: after.index_reads - before.index_reads,
            index_writes: after.index_writes - before.index_writes,
            map_log_records: after.map_log_records - before.map_log_records,
            map_log_pages: after.map_log_pages - before.map_log_pages,
            map_checkpoint_pages: after.map_checkpoint_pages - before.map_checkpoint_pages,
            sharing_ratio: (stored > 0).then(|| f64::from(mapped_pages) / stored as f64),
            live_by_references: after.live_by_references,
            died_by_references,
        }
    }
}
