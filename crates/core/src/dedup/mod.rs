//! Equal pages stored once: in front of a log-structured store stands a map of logical pages to slots of content.
//!
//! [`Dedup`] is a layer over a [`crate::log::LogStore`] whose logical pages are the slots. As in CA-FTL (Chen, Luo and Zhang,
//! FAST 2011) the map has two levels: a logical page points to a slot, and the store's own map says where the slot's page
//! is, so that a page that cleaning moves changes one entry however many logical pages share it. As many slots as logical
//! pages are always enough; [`Dedup`] and its store are one layer in reports.
//!
//! Who looks for equal pages, and when, is a [`DedupConfig`]. Those on the write path find them in [`Dedup::write`]; CAGC
//! finds them while cleaning, through a [`crate::log::Migration`] that [`Sharing::migration`] gives to the store.
//!
//! What is told of CA-FTL and CA-SSD is from memory of the papers, and where this differs, its place says so.
//!
//! # What a power cut leaves
//!
//! The spare area of each page names its slot and carries a sequence number, from which the store's own map can be rebuilt.
//! To rebuild the map above it, a drive must also keep there the logical page that it was written for, and its fingerprint,
//! for the index. A write that is stored then needs nothing else. What no spare area tells of needs a record of its own in a log of
//! the map, of logical page, slot and sequence number, 12 bytes together: a hit, each page redirected by a merge, and a trim.
//! [`crate::layer::DedupReport::map_log_records`] counts them; they are neither written nor timed, and nothing here
//! rebuilds a map.

mod cleaner;
mod config;
mod index;
mod layer;
mod lru;
mod pages;
mod sharers;
mod tables;

pub use config::{
    Cagc, DEDUP_ALIASES, DEDUPS, DedupConfig, DedupKind, Detect, IndexSettings, Inline, NoDedup, Paged,
    PreHashed, Promotion, Sampled,
};
pub use index::ENTRY_BYTES;
pub use layer::Dedup;

use crate::config::ConfigError;
use crate::layer::Content;
use crate::log::Migration;
use crate::timing::Journal;
use crate::units::Lpn;
use cleaner::Cleaner;
use index::Index;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tables::Tables;

/// The tables that a [`Dedup`] and the cleaning of its store share.
///
/// Both run on one thread, one inside the other; the lock only proves it.
#[derive(Clone)]
pub struct Sharing(Arc<Mutex<Tables>>);

impl Sharing {
    /// Tables for a layer that shows `logical_pages` and writes groups of up to `atomic_pages` pages, all or none; 0 where
    /// no groups are written. Fails with the setting that means nothing.
    pub fn new(config: &DedupConfig, logical_pages: u32, atomic_pages: u32) -> Result<Self, ConfigError> {
        config.check()?;
        let slots = logical_pages.checked_add(atomic_pages).filter(|slots| *slots < 1 << 31);
        let Some(slots) = slots else {
            return Err(ConfigError::new(
                "kind",
                format!("is not possible with {logical_pages} logical pages"),
            ));
        };
        let (detect, settings) = (config.detect(), config.index());
        let weak_bits = if let Detect::PreHash { bits, .. } = detect { Some(bits) } else { None };
        let index = Index::new(settings, slots, weak_bits);
        let tables = Tables::new(detect, settings.verify, index, logical_pages, slots);
        Ok(Sharing(Arc::new(Mutex::new(tables))))
    }

    /// Logical pages that the store below must have: the slots and, behind them, the pages of an index in flash.
    pub fn store_pages(&self) -> u32 {
        let tables = self.lock();
        tables.slots() + tables.index.cache.as_ref().map_or(0, |cache| cache.pages())
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
        tables.slot_of(page).map(|slot| (slot, tables.references(slot), tables.index.content(slot)))
    }

    fn lock(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
