//! Equal pages stored once: in front of a log-structured store stands a map of logical pages to slots of content.
//!
//! [`Dedup`] is a layer over a store, be it a [`crate::log::LogStore`] or an FTL, whose logical pages are the slots. As in CA-FTL (Chen, Luo and Zhang,
//! FAST 2011) the map has two levels: a logical page points to a slot, and the store's own map says where the slot's page
//! is, so that a page that cleaning moves changes one entry however many logical pages share it. As many slots as logical
//! pages are always enough; [`Dedup`] and its store are one layer in reports.
//!
//! Who looks for equal pages, and when, is a [`DedupConfig`]. Those on the write path find them when [`Dedup`] is written; CAGC
//! finds them while cleaning, through a [`crate::log::Migration`] that [`Sharing::migration`] gives to the store.
//!
//! What is told of CA-FTL and CA-SSD is from memory of the papers, and where this differs, its place says so.
//!
//! # What a power cut leaves
//!
//! The spare area of each page names its slot and carries a sequence number, from which the store's own map can be rebuilt.
//! To rebuild the map above it, a drive must also keep there a [`Note`]: the logical page that the slot's page was written
//! for and the number of that change of the map, 8 bytes together, which cleaning copies; and the fingerprint, for the index.
//! A write that is stored then needs nothing else. What no spare area tells of needs a [`Record`] in a log of the map, of 12
//! bytes: a hit, each page redirected by a merge, and a trim. [`crate::layer::DedupReport::map_log_records`] counts them.
//! With `map_log` they are also written, and [`recover`] rebuilds all tables:
//!
//! - Records gather in RAM until they fill a page, or the layer is flushed. A slot that a page left by a hit or a trim is
//!   neither given up nor written anew before the record of it is on flash: after a power cut the page would point there
//!   again. So many slots more are needed as a page takes records, and the pages of those that wait count as live below.
//! - Merging happens while a victim is cleaned, and its page is gone with the victim. What was merged is therefore written
//!   before the victim is erased, in the place of one of the pages that it saved ([`Migration::last_page`]). A slot with more
//!   references than the page has room for is moved as it is.
//! - Each page of the log is followed by a page of the checkpoint of the whole map, in turn, so that a ring of pages is
//!   enough, and that two pages are written for each that the records fill.
//! - No groups are written with a log: a hit would have to come with the pages stored.
//!
//! The pages of the log are written and timed like any other. What they hold is kept in [`MapImage`], a page's content
//! being but a name here, and what the spare areas hold beyond [`crate::nand::Spare`] in [`SpareNotes`]. The
//! number takes 8 bytes in memory and is not shortened as 12 bytes a record and 8 a note demand.

mod abilities;
mod buckets;
mod bytes;
mod cleaner;
mod config;
mod durable;
mod index;
mod layer;
mod lru;
mod maplog;
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
pub use maplog::{MapImage, Note, Record};
pub use notes::SpareNotes;
pub use recover::{Found, Recovered, recover};
pub use restart::{DedupRemains, DedupSettings};

use crate::config::ConfigError;
use crate::counters::Cause;
use crate::layer::Content;
use crate::log::Migration;
use crate::timing::Journal;
use crate::units::Lpn;
use cleaner::Cleaner;
use index::Index;
use maplog::MapLog;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tables::Tables;

/// The tables that a [`Dedup`] and the cleaning of its store share.
///
/// Both run on one thread, one inside the other; the lock only proves it.
#[derive(Clone)]
pub struct Sharing(Arc<Mutex<Tables>>);

impl Sharing {
    /// Tables for a layer that shows `logical_pages` and writes groups of up to `atomic_pages` pages, all or none; 0 where
    /// no groups are written. Fails with the setting that means nothing, or that does not go with groups.
    pub fn new(config: &DedupConfig, logical_pages: u32, atomic_pages: u32) -> Result<Self, ConfigError> {
        config.check()?;
        let log = config.map_log_page_records();
        if log.is_some() && atomic_pages > 0 {
            let problem = format!("does not go with groups of {atomic_pages} pages written atomically");
            return Err(ConfigError::new("map_log", problem));
        }
        let more = atomic_pages.max(log.unwrap_or(0));
        let slots = logical_pages.checked_add(more).filter(|slots| *slots < 1 << 31);
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
        Ok(Sharing(Arc::new(Mutex::new(tables))))
    }

    /// Logical pages that the store below must have: the slots and, behind them, the pages of an index in flash, then those of
    /// the map's checkpoint and log.
    pub fn store_pages(&self) -> u32 {
        let tables = self.lock();
        tables.first_of_log() + tables.log.as_ref().map_or(0, MapLog::pages)
    }

    /// What the store below must ask when it cleans. `None` if it may move all live pages alike; a placement that
    /// `wants_references` needs to be told of them in any case.
    pub fn migration(
        &self,
        journal: Option<Journal>,
        wants_references: bool,
    ) -> Option<Box<dyn Migration<Content>>> {
        let looks = matches!(self.lock().detect, Detect::Cleaning { .. });
        (looks || wants_references).then(|| Box::new(Cleaner::new(self.clone(), journal)) as _)
    }

    /// The slot that the page points to, how many pages share it, and its content as far as the index knows it.
    pub fn slot_of(&self, page: Lpn) -> Option<(u32, u32, Content)> {
        let tables = self.lock();
        tables.slot_of(page).map(|slot| (slot, tables.references(slot), tables.content(slot)))
    }

    /// What goes into the spare area of a page of the store besides its number, as it is programmed: of a slot's page, if the
    /// map's log is written.
    pub fn note(&self, page: Lpn, cause: Cause) -> Option<Note> {
        let tables = self.lock();
        let log = tables.log.as_ref().filter(|_| page.0 < tables.slots())?;
        Some(log.note(page.0, cause == Cause::Host))
    }

    /// What the map's log and checkpoint hold on flash; nothing where they are not written.
    pub fn map_image(&self) -> MapImage {
        self.lock().log.as_ref().map_or_else(MapImage::default, |log| log.image().clone())
    }

    /// Recounts all tables; an error is a defect.
    pub fn check(&self) -> Result<(), String> {
        self.lock().check()
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
