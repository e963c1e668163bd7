//! Deduplication: a map from logical pages to slots, on top of a log-structured store, which stores equal pages once.
//!
//! [`Dedup`] is a layer over a store, which is a [`crate::log::LogStore`] or an FTL; the store's logical pages are
//! the slots. As in CA-FTL (Chen, Luo and Zhang, FAST 2011) the map has two levels. A logical page points to a slot,
//! and the store's own map locates the slot's page. A page that cleaning moves thus changes one entry, regardless of
//! the number of logical pages that share it. As many slots as logical pages are always enough. [`Dedup`] and its
//! store are one layer in reports.
//!
//! A [`DedupConfig`] selects the method that detects equal pages. Methods on the write path detect them when
//! [`Dedup`] is written. CAGC detects them while cleaning, through a [`crate::log::MigrationPolicy`] that
//! [`SharedTables::migration_policy`] provides to the store.
//!
//! Of CA-FTL and CA-SSD only the abstracts, and their description in CAGC (Wu et al., IPDPS 2021), were read again.
//! Details that go beyond these are assumed; known differences are noted where they occur.
//!
//! # Power cuts
//!
//! The spare area of each page names its slot and carries a sequence number, from which the store's own map can be
//! rebuilt. To rebuild the map above the store, a spare area must also contain a [`Note`] and the fingerprint. The note
//! holds the logical page that the slot's page was written for, and the number of this change of the map: 8 bytes
//! together, which cleaning copies. The fingerprint is needed for the index. A stored write then needs no other record.
//! Changes that no spare area records (hits, pages redirected by a merge, and trims) need a [`Record`] of 12 bytes each
//! in a log of the map. [`crate::layer::DedupReport::map_log_records`] counts these records. With `map_log` the records
//! are also written, and [`recover`] rebuilds all tables:
//!
//! - Records gather in RAM until they fill a page, or the layer is flushed. A slot released by a hit or a trim
//!   remains allocated until its record is on flash, because after a power cut the page would point to that slot
//!   again. Therefore the number of slots is increased by the number of records per page, and the retained pages
//!   count as live below.
//! - A merge happens while a victim is cleaned, and the merged page disappears with the victim. The records of the
//!   merge are therefore written before the victim is erased, in place of one of the pages that the merge saved
//!   ([`MigrationPolicy::last_page`]). A slot with more references than fit on the page is moved without merging.
//! - After each page of the log, a page of the checkpoint of the whole map is written, in turn. A ring of pages is
//!   therefore enough, at the cost of two page writes for each full page of records.
//! - There are no atomic groups with a log: a hit would have to be part of the atomic page writes.
//!
//! The pages of the log are written and timed like any other page. Their contents are stored in [`MapImage`], because
//! the simulation represents page contents only by identifiers. The contents of spare areas beyond
//! [`crate::nand::Spare`] are in [`SpareNotes`]. The change number takes 8 bytes in memory; it is not shortened to the
//! size assumed by 12 bytes per record and 8 per note.

mod abilities;
mod buckets;
mod bytes;
mod config;
mod hashes;
mod index;
mod layer;
mod log_writes;
mod lru;
mod map_log;
mod migration;
mod notes;
mod pages;
mod recover;
mod restart;
mod sharers;
mod slots;
mod tables;
#[cfg(test)]
mod tests;

pub use config::{
    Cagc, DEDUP_ALIASES, DEDUPS, DedupConfig, DedupKind, Detect, ENTRY_BYTES, IndexSettings, Inline, NoDedup,
    Paged, PreHashed, Promotion, Sampled,
};
pub use layer::Dedup;
pub use map_log::{MapImage, Note, Record};
pub use notes::SpareNotes;
pub use recover::{RecoveredMap, SlotPage, recover};
pub use restart::{DedupSettings, SurvivingDedup};

use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::ContentId;
use crate::log::MigrationPolicy;
use crate::timing::Journal;
use crate::units::Lpn;
use index::Index;
use map_log::MapLog;
use migration::DedupMigration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tables::Tables;

/// Tables that a [`Dedup`] and the cleaning of its store share.
///
/// Both run on one thread, one inside the other; the lock only satisfies the compiler.
#[derive(Clone)]
pub struct SharedTables(Arc<Mutex<Tables>>);

impl SharedTables {
    /// Creates tables for a layer of `logical_pages` that writes atomic groups of up to `atomic_pages` pages; 0 for no
    /// groups. An error names a setting that is invalid or incompatible with groups.
    pub fn new(config: &DedupConfig, logical_pages: u32, atomic_pages: u32) -> Result<Self, ConfigError> {
        config.check()?;
        let log = config.map_log_page_records();
        if log.is_some() && atomic_pages > 0 {
            let problem = format!("does not go with groups of {atomic_pages} pages written atomically");
            return Err(ConfigError::new("map_log", problem));
        }
        let extra_slots = atomic_pages.max(log.unwrap_or(0));
        let slots = logical_pages.checked_add(extra_slots).filter(|slots| *slots < 1 << 31);
        let Some(slots) = slots else {
            return Err(ConfigError::new(
                "kind",
                format!("is not possible with {logical_pages} logical pages"),
            ));
        };
        let (detect, settings) = (config.detect(), config.index());
        let weak_bits = if let Detect::PreHash { bits, .. } = detect { Some(bits) } else { None };
        let index = Index::new(settings, slots, weak_bits);
        let log = log.map(|records| MapLog::new(records, logical_pages, slots));
        let tables = Tables::new(detect, settings.verify, index, log, logical_pages, slots);
        Ok(SharedTables(Arc::new(Mutex::new(tables))))
    }

    /// Returns the number of logical pages that the store below must have: the slots, the pages of an index in flash,
    /// and those of the map's checkpoint and log.
    pub fn store_pages(&self) -> u32 {
        let tables = self.lock();
        tables.first_log_page() + tables.log.as_ref().map_or(0, MapLog::pages)
    }

    /// Returns the migration policy for cleaning in the store below. `None` if all live pages are moved alike and the
    /// placement does not need reference counts (`needs_references`).
    pub fn migration_policy(
        &self,
        journal: Option<Journal>,
        needs_references: bool,
    ) -> Option<Box<dyn MigrationPolicy<ContentId>>> {
        let merges_in_cleaning = matches!(self.lock().detect, Detect::Cleaning { .. });
        (merges_in_cleaning || needs_references)
            .then(|| Box::new(DedupMigration::new(self.clone(), journal)) as _)
    }

    /// Returns the slot that the page points to, its reference count, and its content as far as the index knows it.
    pub fn slot_of(&self, page: Lpn) -> Option<(u32, u32, ContentId)> {
        let tables = self.lock();
        tables.slot_of(page).map(|slot| (slot, tables.references(slot), tables.content(slot)))
    }

    /// Returns the note to program into the spare area of a page of the store, if it is a slot's page and the map's
    /// log is written.
    pub fn note(&self, page: Lpn, cause: Cause) -> Option<Note> {
        let tables = self.lock();
        let log = tables.log.as_ref().filter(|_| page.0 < tables.slots())?;
        Some(log.note(page.0, cause == Cause::Host))
    }

    /// Returns the flash content of the map's log and checkpoint; empty without a log.
    pub fn map_image(&self) -> MapImage {
        self.lock().log.as_ref().map_or_else(MapImage::default, |log| log.image().clone())
    }

    /// Recounts all tables; an error is a bug.
    pub fn check(&self) -> Result<(), String> {
        self.lock().check()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
