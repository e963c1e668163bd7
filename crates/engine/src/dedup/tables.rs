//! The map from logical pages to slots, and the state of the slots.

use super::config::Detect;
use super::index::Index;
use super::map_log::MapLog;
use super::pages::PageCache;
use super::sharers::Sharers;
use super::slots::Slots;
use crate::layer::{ContentId, DedupReport};
use crate::table::{filled, prefetch};
use crate::units::Lpn;

/// Slot of a logical page without data.
const NONE: u32 = u32::MAX;

/// Two-level mapping as in CA-FTL: logical pages point to slots, and the store below locates each slot's page. A page
/// that moves changes one entry below, regardless of the number of sharers.
///
/// Memory: 24 bytes per logical page, and the index; 12 more bytes per logical page if cleaning merges pages and must
/// find the sharers of a slot.
pub(super) struct Tables {
    /// Slot of each logical page.
    map: Vec<u32>,
    /// Number of logical pages with data.
    mapped: u32,
    slots: Slots,
    /// Free slots; the last is taken first.
    free: Vec<u32>,
    /// Logical pages of each slot, if pages are merged.
    sharers: Option<Sharers>,
    /// Slots of the current write. Their pages are not merged, because their content is about to change.
    pinned: Vec<u32>,
    index: Index,
    pub verify: bool,
    /// Slots whose pages must be read later for comparison.
    pub to_verify: Vec<Lpn>,
    pub detect: Detect,
    /// True while merging is suspended.
    pub merging_suspended: bool,
    /// The log of the map, if it is written.
    pub log: Option<MapLog>,
    /// Counters; values that can be computed at any time are left 0.
    pub report: DedupReport,
}

/// Effect of a write on the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlannedWrite {
    pub page: Lpn,
    /// Slot that holds, or will hold, the content.
    pub slot: u32,
    pub mode: WriteMode,
}

/// Way in which content is stored in its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteMode {
    /// The slot holds the content already.
    Shared,
    /// The content is written to a free slot.
    New,
    /// The content overwrites a slot that only this page refers to.
    InPlace,
}

impl Tables {
    pub fn new(
        detect: Detect,
        verify: bool,
        index: Index,
        log: Option<MapLog>,
        logical_pages: u32,
        slots: u32,
    ) -> Self {
        Tables {
            log,
            map: filled(logical_pages as usize, NONE),
            mapped: 0,
            slots: Slots::new(slots),
            free: (0..slots).rev().collect(),
            sharers: matches!(detect, Detect::Cleaning { .. }).then(|| Sharers::new(logical_pages, slots)),
            pinned: Vec::new(),
            index,
            verify,
            to_verify: Vec::new(),
            detect,
            merging_suspended: false,
            report: DedupReport::default(),
        }
    }

    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    pub fn slots(&self) -> u32 {
        self.slots.len()
    }

    /// Returns the slot that the page points to.
    #[inline]
    pub fn slot_of(&self, page: Lpn) -> Option<u32> {
        Some(self.map[page.index()]).filter(|slot| *slot != NONE)
    }

    pub fn references(&self, slot: u32) -> u32 {
        self.slots.references(slot)
    }

    pub fn is_cold(&self, slot: u32) -> bool {
        self.slots.is_cold(slot)
    }

    pub fn set_cold(&mut self, slot: u32, cold: bool) {
        self.slots.set_cold(slot, cold);
    }

    /// Returns the content of the slot, as far as the index knows it.
    pub fn content(&self, slot: u32) -> ContentId {
        self.slots.content(slot)
    }

    /// Returns the slot with the fingerprint of `content`.
    pub fn find(&mut self, content: ContentId) -> Option<u32> {
        self.index.find(&self.slots, content)
    }

    /// Marks the slot, which is in the index, as used.
    pub fn touch(&mut self, slot: u32) {
        self.index.touch(&self.slots, slot);
    }

    /// Adds the slot, which is not in the index, with `content`.
    pub fn add_to_index(&mut self, slot: u32, content: ContentId) {
        self.index.insert(&mut self.slots, slot, content);
    }

    pub fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the page cache of an index in flash.
    pub fn cache(&mut self) -> Option<&mut PageCache> {
        self.index.cache.as_mut()
    }

    /// True if the slot is referenced and not part of the current write.
    pub fn is_settled(&self, slot: u32) -> bool {
        slot < self.slots() && self.slots.references(slot) > 0 && !self.pinned.contains(&slot)
    }

    /// Prefetches, at the largest distance, the lines of the map and of the index that a write of `page` will access.
    /// This and the next two functions do not affect any result.
    #[inline(always)]
    pub fn prefetch_page(&self, page: Lpn, content: ContentId) {
        prefetch(self.map.as_ptr().wrapping_add(page.index()));
        match &self.sharers {
            // No lookup follows in this case.
            Some(sharers) => sharers.prefetch_page(page.0),
            None => self.index.prefetch(content),
        }
    }

    /// Prefetches, at the middle distance, the page's current slot, which is returned, and the slot that it may get.
    #[inline(always)]
    pub fn prefetch_slots(&self, page: Lpn, content: ContentId) -> Option<u32> {
        let slot = self.slot_of(page);
        slot.into_iter().for_each(|slot| self.slots.prefetch(slot));
        match (&self.sharers, slot) {
            (Some(sharers), Some(slot)) => sharers.prefetch_slot(slot),
            (Some(_), None) => {}
            (None, _) => {
                self.index.likely_slot(content).into_iter().for_each(|found| self.slots.prefetch(found))
            }
        }
        slot
    }

    /// Prefetches the index line that is freed if no other page refers to the page's slot. Returns the slot.
    #[inline(always)]
    pub fn prefetch_old_content(&self, page: Lpn) -> Option<u32> {
        let slot = self.slot_of(page)?;
        let content = self.slots.content(slot);
        if content != ContentId::UNKNOWN && self.slots.references(slot) == 1 {
            self.index.prefetch(content);
        }
        Some(slot)
    }

    /// Prefetches the slot that the write `ahead` writes after this one will use, if no slot is freed before. Returns
    /// the slot.
    #[inline(always)]
    pub fn prefetch_free(&self, ahead: usize) -> Option<u32> {
        let slot = *self.free.get(self.free.len().checked_sub(1 + ahead)?)?;
        self.slots.prefetch(slot);
        Some(slot)
    }

    /// Prefetches the data that cleaning needs for a slot's page with this content: on the first call all data except
    /// the slot with equal content, and on the second call (`again`) this slot.
    #[inline(always)]
    pub fn prefetch_live(&self, slot: u32, content: ContentId, again: bool) {
        if !again {
            self.slots.prefetch(slot);
            self.index.prefetch(content);
            if let Some(sharers) = &self.sharers {
                sharers.prefetch_slot(slot);
            }
        } else if let Some(found) = self.index.likely_slot(content).filter(|found| *found != slot) {
            self.slots.prefetch(found);
            if let Some(sharers) = &self.sharers {
                sharers.prefetch_slot(found);
                sharers.first(slot).into_iter().for_each(|page| sharers.prefetch_page(page));
            }
        }
    }

    /// Plans a write by which the page will share `slot`.
    pub fn plan_sharing(&mut self, page: Lpn, slot: u32) -> PlannedWrite {
        self.slots.set_references(slot, self.slots.references(slot) + 1);
        PlannedWrite { page, slot, mode: WriteMode::Shared }
    }

    /// Plans a write of the page: into its own slot, if no other page shares it and `may_replace`, otherwise into a
    /// new slot.
    ///
    /// If the page keeps its slot, the store below keeps its knowledge about the page.
    pub fn plan_storing(&mut self, page: Lpn, may_replace: bool) -> PlannedWrite {
        let own_slot = self
            .slot_of(page)
            .filter(|&slot| may_replace && self.slots.references(slot) == 1 && !self.slots.is_retained(slot));
        let slot = match own_slot {
            Some(slot) => {
                self.index.remove(&mut self.slots, slot);
                slot
            }
            None => {
                let slot = self.free.pop().expect("a slot for each logical page and each page in hand");
                self.slots.set_references(slot, 1);
                slot
            }
        };
        self.pinned.push(slot);
        if let Some(log) = &mut self.log {
            log.begin_store(slot, page);
        }
        PlannedWrite {
            page,
            slot,
            mode: if own_slot.is_some() { WriteMode::InPlace } else { WriteMode::New },
        }
    }

    /// Commits the plan after the store. Slots that no page refers to now are appended to `unreferenced`.
    pub fn commit(&mut self, planned: &[PlannedWrite], unreferenced: &mut Vec<Lpn>) {
        self.pinned.clear();
        self.log.iter_mut().for_each(|log| log.end_store(true));
        for &PlannedWrite { page, slot, mode } in planned {
            if mode == WriteMode::InPlace {
                self.count_invalidation(slot);
                self.slots.clear_marks(slot);
                self.slots.update_peak(slot);
                continue;
            }
            let changes = self.slot_of(page) != Some(slot);
            if changes && mode == WriteMode::Shared {
                self.record(page, Some(slot));
            }
            self.unlink(page, unreferenced);
            self.map[page.index()] = slot;
            self.mapped += 1;
            if let Some(sharers) = &mut self.sharers {
                sharers.insert(slot, page.0);
            }
            self.slots.update_peak(slot);
        }
    }

    /// Cancels the plan after a failed store. New slots are appended to `unreferenced`.
    pub fn cancel(&mut self, planned: &[PlannedWrite], unreferenced: &mut Vec<Lpn>) {
        self.pinned.clear();
        self.log.iter_mut().for_each(|log| log.end_store(false));
        for &PlannedWrite { slot, mode, .. } in planned {
            if mode == WriteMode::InPlace {
                self.index.remove(&mut self.slots, slot);
                continue;
            }
            self.slots.set_references(slot, self.slots.references(slot) - 1);
            if self.slots.references(slot) == 0 {
                self.index.remove(&mut self.slots, slot);
                unreferenced.push(Lpn(slot));
            }
        }
    }

    /// Appends a record of a change that no spare area contains. The page's old slot is kept on flash until the record
    /// is on flash, because a power cut before that would make the page point to the old slot again.
    fn record(&mut self, page: Lpn, slot: Option<u32>) {
        self.report.map_log_records += 1;
        let old_slot = self.slot_of(page);
        let Some(log) = &mut self.log else { return };
        log.push(page, slot);
        if let Some(slot) = old_slot.filter(|left| !self.slots.is_retained(*left)) {
            self.slots.set_retained(slot, true);
            log.retained.push(slot);
        }
    }

    /// Trims the page. As in [`Tables::unlink`], a slot without references is appended to `unreferenced`.
    pub fn trim(&mut self, page: Lpn, unreferenced: &mut Vec<Lpn>) {
        if self.slot_of(page).is_some() {
            self.record(page, None);
            self.unlink(page, unreferenced);
        }
    }

    /// If all records are on flash, releases the slots that only waited for records, and appends unreferenced ones to
    /// `unreferenced`.
    pub fn release_retained(&mut self, unreferenced: &mut Vec<Lpn>) {
        if let Some(log) = self.log.as_mut().filter(|log| log.is_settled()) {
            log.retained.drain(..).for_each(|slot| self.slots.set_retained(slot, false));
            unreferenced.append(&mut log.unreferenced);
        }
    }

    /// Begins to write the checkpoint page that is due, if any.
    pub fn begin_checkpoint(&mut self) -> Option<u32> {
        self.log.as_mut()?.begin_checkpoint(&self.map)
    }

    /// Returns the first page of the log below, after the slots and the index.
    pub fn first_log_page(&self) -> u32 {
        self.slots() + self.index.cache.as_ref().map_or(0, PageCache::pages)
    }

    /// Marks slots as being read. Their pages must not be merged during the read, in which the store may clean.
    pub fn set_being_read(&mut self, slots: &[Lpn], being_read: bool) {
        slots.iter().for_each(|slot| self.slots.set_being_read(slot.0, being_read));
    }

    /// True if a slot can be merged into another now: it is not being read, and the log has space for its records.
    pub fn may_merge(&self, slot: u32) -> bool {
        !self.merging_suspended
            && !self.slots.is_being_read(slot)
            && self.log.as_ref().is_none_or(|log| self.references(slot) as usize <= log.room())
    }

    /// Maps an unmapped page to the slot, during recovery.
    pub fn restore(&mut self, page: Lpn, slot: u32) {
        self.map[page.index()] = slot;
        self.mapped += 1;
        if let Some(sharers) = &mut self.sharers {
            sharers.insert(slot, page.0);
        }
        self.slots.set_references(slot, self.references(slot) + 1);
        self.slots.update_peak(slot);
    }

    /// Adds the contents of slots to the index, during recovery, when all pages point to their slots. `contents` are in
    /// the order in which they were stored.
    pub fn restore_index(&mut self, contents: impl Iterator<Item = (u32, ContentId)>) {
        for (slot, content) in contents {
            if self.references(slot) > 0 && self.content(slot) == ContentId::UNKNOWN {
                self.add_to_index(slot, content);
            }
        }
        let slots = &self.slots;
        self.free.retain(|slot| slots.references(*slot) == 0);
    }

    /// Removes the page's data; its slot is appended to `unreferenced` if no other page refers to it.
    pub fn unlink(&mut self, page: Lpn, unreferenced: &mut Vec<Lpn>) {
        let Some(slot) = self.slot_of(page) else { return };
        self.map[page.index()] = NONE;
        self.mapped -= 1;
        if let Some(sharers) = &mut self.sharers {
            sharers.remove(slot, page.0);
        }
        self.slots.set_references(slot, self.slots.references(slot) - 1);
        if self.slots.references(slot) == 0 {
            self.count_invalidation(slot);
            self.index.remove(&mut self.slots, slot);
            match &mut self.log {
                Some(log) if self.slots.is_retained(slot) => log.unreferenced.push(Lpn(slot)),
                _ => unreferenced.push(Lpn(slot)),
            }
        }
    }

    /// Frees slots that were trimmed below.
    pub fn release(&mut self, unreferenced: &[Lpn]) {
        for slot in unreferenced {
            self.slots.clear_marks(slot.0);
            self.free.push(slot.0);
        }
    }

    /// Redirects all pages of slot `from` to `into`, which has equal content. The store below unmaps `from`.
    pub fn merge(&mut self, from: u32, into: u32) {
        let sharers = self.sharers.as_mut().expect("kept where pages are merged");
        let map = &mut self.map;
        let log = &mut self.log;
        sharers.move_all(from, into, |page| {
            map[page as usize] = into;
            log.iter_mut().for_each(|log| log.push(Lpn(page), Some(into)));
        });
        log.iter_mut().for_each(|log| log.urgent = true);
        let references = self.slots.references(from);
        self.slots.set_references(from, 0);
        self.slots.set_references(into, self.slots.references(into) + references);
        self.report.map_log_records += u64::from(references);
        self.report.merged_pages += 1;
        // A page that is still to be read for comparison may be merged; the page with equal content is read instead.
        self.to_verify.iter_mut().filter(|page| page.0 == from).for_each(|page| page.0 = into);
        self.slots.update_peak(into);
        self.index.remove(&mut self.slots, from);
        self.release(&[Lpn(from)]);
    }

    fn count_invalidation(&mut self, slot: u32) {
        self.report.invalidated_by_references[self.slots.peak(slot) - 1] += 1;
    }

    /// Returns the number of stored contents by reference count: 1, 2, 3, more.
    pub fn live_by_references(&self) -> [u64; 4] {
        self.slots.live_by_references()
    }

    /// Returns the number of logical pages with data.
    pub fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    /// Returns the bytes of the index, including the contents of its entries.
    pub fn index_memory_bytes(&self) -> usize {
        self.index.memory_bytes() + size_of::<ContentId>() * self.slots() as usize
    }

    /// Returns the bytes of all tables.
    pub fn memory_bytes(&self) -> usize {
        let sharers = self.sharers.as_ref().map_or(0, Sharers::memory_bytes);
        let maps = 4 * (self.map.len() + self.free.capacity());
        let log = self.log.as_ref().map_or(0, MapLog::memory_bytes);
        maps + self.slots.memory_bytes() + sharers + self.index.memory_bytes() + log
    }

    /// Recounts all tables; an error is a bug.
    pub fn check(&self) -> Result<(), String> {
        let mut counts = vec![0u32; self.slots() as usize];
        self.map.iter().filter(|slot| **slot != NONE).for_each(|&slot| counts[slot as usize] += 1);
        for (slot, &found) in (0..).zip(&counts) {
            let counted = self.references(slot);
            if counted != found {
                return Err(format!("slot {slot}: {counted} references counted, {found} found"));
            }
        }
        let mapped = self.map.iter().filter(|slot| **slot != NONE).count();
        if mapped != self.mapped as usize {
            return Err(format!("{mapped} pages hold something, {} are counted", self.mapped));
        }
        let mut is_free = vec![false; counts.len()];
        self.free.iter().for_each(|&slot| is_free[slot as usize] = true);
        let retained = self.log.as_ref().map_or(&[][..], |log| &log.unreferenced);
        retained.iter().for_each(|slot| is_free[slot.index()] = true);
        let live = counts.iter().filter(|count| **count > 0).count();
        let wrong = (0..counts.len()).find(|&slot| is_free[slot] == (counts[slot] > 0));
        if wrong.is_some() || live + self.free.len() + retained.len() != counts.len() {
            return Err(format!(
                "{live} slots in use, {} free, {} kept, {wrong:?} is both or neither",
                self.free.len(),
                retained.len()
            ));
        }
        if let Some(sharers) = &self.sharers {
            sharers.check(&self.map, &self.slots)?;
        }
        self.slots.check()?;
        self.index.check(&self.slots)
    }
}

#[cfg(test)]
mod tests;
