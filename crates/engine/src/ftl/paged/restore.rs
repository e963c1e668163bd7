//! Restoration of dirty mapping entries after power loss, from the spare areas of the most recently written pages
//! (paper, sec. 4.3 and App. C, steps 6 and 7).

use super::config::Durability;
use super::recover::{BlockScan, Version};
use super::store::PagedFtl;
use crate::counters::Cause;
use crate::layer::LayerError;
use crate::mapping::Mapping;
use crate::nand::{Flash, PageState};
use crate::units::{Lpn, Slot};
use crate::validity::ValidityConfig;
use std::collections::{BTreeMap, BTreeSet};

/// Contents of the most recently written spare areas.
#[derive(Default)]
pub(super) struct RecentPages {
    /// The newest version of each page found, oldest first: sequence number, page, location.
    newest: Vec<(u64, Lpn, Slot)>,
    /// Locations of other versions.
    older: Vec<Slot>,
}

/// Returns the newest version of each translation page that has one.
fn newest_versions(versions: &[Version]) -> BTreeMap<u32, Version> {
    // The newest version of each translation page comes first in the list, so in reverse it is inserted last.
    versions.iter().rev().map(|&version| (version.number, version)).collect()
}

impl<F: Flash> PagedFtl<F> {
    /// Reads the spare areas of user pages from the newest back to the recovery horizon.
    ///
    /// The paper reads back two checkpoints. This finds every dirty entry, but not every page whose report was lost
    /// with the validity store's buffer: if a page was overwritten while its entry was dirty, the translation table
    /// never contained its location. Such entries were dirty when the store last wrote its buffer, or later. The scan
    /// therefore goes back to the horizon of that time, which is noted in the store's newest page.
    pub(super) fn scan_recent(
        &mut self,
        scan: &BlockScan,
        noted_horizon: u64,
    ) -> Result<RecentPages, LayerError> {
        let mut recent = RecentPages::default();
        let horizon = match self.config.validity {
            ValidityConfig::RamBitmap(_) => self.space.horizon,
            _ => self.space.horizon.min(noted_horizon),
        };
        let mut pages = Vec::new();
        let streams = self.space.user_streams() as u8;
        for blocks in scan.streams.range(..streams).map(|(_, blocks)| blocks) {
            for &(first, block) in blocks.iter().rev() {
                for page in 0..self.space.pages_per_block() {
                    let at = self.space.slot(block, page);
                    match self.space.read_spare(at, Cause::Host) {
                        PageState::Erased => break,
                        PageState::Unreadable => {}
                        PageState::Written(spare) => pages.push((spare.owner, spare.sequence, at)),
                    }
                }
                if first <= horizon {
                    break;
                }
            }
        }
        pages.sort_unstable_by_key(|&(page, sequence, _)| (page, std::cmp::Reverse(sequence)));
        for (at, &(page, sequence, slot)) in pages.iter().enumerate() {
            if at > 0 && pages[at - 1].0 == page {
                recent.older.push(slot);
            } else {
                recent.newest.push((sequence, page, slot));
            }
        }
        recent.newest.sort_unstable();
        Ok(recent)
    }

    /// Reports versions that are invalid because a newer version was found. Also reports pages that were trimmed after
    /// the validity store last wrote its buffer, as recorded in their translation pages.
    pub(super) fn report_overwritten(
        &mut self,
        recent: &RecentPages,
        versions: &[Version],
        reported_before: u64,
    ) -> Result<(), LayerError> {
        recent.older.iter().try_for_each(|&at| self.report_again(at))?;
        let newest = newest_versions(versions);
        let mut read = BTreeSet::new();
        for &(sequence, page, slot) in &recent.newest {
            let number = self.translation_page(page);
            let Some(version) = newest.get(&number).filter(|version| version.sequence >= reported_before)
            else {
                continue;
            };
            if sequence > version.sequence {
                continue;
            }
            if read.insert(number) {
                self.space.read_metadata(version.at, Cause::Translation)?;
            }
            let entry = self.space.contents.entry_of(page);
            if self.space.contents.entry(number, version.at, entry) != slot {
                self.report_again(slot)?;
            }
        }
        Ok(())
    }

    /// Steps 6 and 7: inserts entries for the most recently written pages, all of which are assumed to be dirty.
    pub(super) fn restore_entries(&mut self, recent: &RecentPages, versions: &[Version]) {
        let skips_older_pages =
            !matches!(self.config.durability, Durability::Deferred { skips_older_pages: false });
        let newest = newest_versions(versions);
        let is_newer = |&&(sequence, page, _): &&(u64, Lpn, Slot)| {
            let version_sequence =
                newest.get(&self.translation_page(page)).map_or(0, |version| version.sequence);
            !skips_older_pages || sequence > version_sequence
        };
        let restored: Vec<(u64, Lpn, Slot)> = recent.newest.iter().filter(is_newer).copied().collect();
        let capacity = self.config.cache_entries as usize;
        for &(_, page, slot) in &restored[restored.len().saturating_sub(capacity)..] {
            let mapping =
                Mapping { dirty: true, unidentified: true, uncertain: true, ..Mapping::clean(slot) };
            self.cache.insert(page, mapping);
        }
    }

    /// Writes all data that is only in RAM to flash, as a battery permits at a power failure.
    ///
    /// # Errors
    ///
    /// Fails if a page cannot be written.
    pub fn save(&mut self) -> Result<(), LayerError> {
        if self.config.durability != Durability::Battery {
            return Ok(());
        }
        loop {
            self.gain_space()?;
            let Some(oldest) = self.cache.oldest_dirty() else { break };
            self.synchronise(self.translation_page(self.cache.page(oldest)))?;
        }
        self.validity.save(&mut self.space)
    }

    /// Synchronises every dirty entry before any other operation, as LazyFTL and IB-FTL do.
    pub(super) fn synchronise_all(&mut self) -> Result<(), LayerError> {
        for number in 0..self.space.contents.translation_pages() {
            self.synchronise(number)?;
        }
        Ok(())
    }
}
