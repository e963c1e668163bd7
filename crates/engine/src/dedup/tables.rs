//! Whose content is where: logical page to slot, and what is known of each slot.

use super::config::Detect;
use super::index::Index;
use super::maplog::MapLog;
use super::pages::PageCache;
use super::sharers::Sharers;
use super::slots::Slots;
use crate::layer::{Content, DedupReport};
use crate::table::{filled, prefetch};
use crate::units::Lpn;

/// A logical page that holds nothing.
const NONE: u32 = u32::MAX;

/// Two-level mapping as in CA-FTL: logical pages point to slots, and the store below knows where each slot's page is. A
/// page that moves changes one entry below, however many share it.
///
/// Cost: 24 bytes a logical page and the index; 12 more where cleaning merges pages and must find who shares one.
pub(super) struct Tables {
    /// The slot of each logical page.
    map: Vec<u32>,
    /// Logical pages that hold anything.
    mapped: u32,
    slots: Slots,
    /// Slots that hold nothing; the last is taken first.
    free: Vec<u32>,
    /// Who refers to each slot, where pages are merged.
    sharers: Option<Sharers>,
    /// Slots of the write in hand. Their pages are not merged: what they hold is about to change.
    pinned: Vec<u32>,
    index: Index,
    pub verify: bool,
    /// Slots whose pages are to be read for comparison, where that cannot be done at once.
    pub to_verify: Vec<Lpn>,
    pub detect: Detect,
    /// Whether nothing is merged for now.
    pub rests: bool,
    /// The log of the map, where it is written.
    pub log: Option<MapLog>,
    /// Counts so far; what can be counted at any time is left 0.
    pub report: DedupReport,
}

/// What a write does to the map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Planned {
    pub page: Lpn,
    /// Where the content is, or will be.
    pub slot: u32,
    pub way: Way,
}

/// How content gets to its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// It is there.
    Shared,
    /// It is written to a slot that held nothing.
    New,
    /// It is written over what the page alone referred to.
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
            rests: false,
            report: DedupReport::default(),
        }
    }

    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    pub fn slots(&self) -> u32 {
        self.slots.len()
    }

    /// The slot that the page points to.
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

    /// What the slot holds, as far as the index knows.
    pub fn content(&self, slot: u32) -> Content {
        self.slots.content(slot)
    }

    /// The slot with the fingerprint of `content`.
    pub fn find(&mut self, content: Content) -> Option<u32> {
        self.index.find(&self.slots, content)
    }

    /// The slot, which is in the index, is looked up by its own content.
    pub fn touch(&mut self, slot: u32) {
        self.index.touch(&self.slots, slot);
    }

    /// The slot, which is not in the index, holds `content` now.
    pub fn learn(&mut self, slot: u32, content: Content) {
        self.index.insert(&mut self.slots, slot, content);
    }

    pub fn index(&self) -> &Index {
        &self.index
    }

    /// The pages of an index in flash.
    pub fn cache(&mut self) -> Option<&mut PageCache> {
        self.index.cache.as_mut()
    }

    /// Whether the slot's page is one that a write in hand replaces, or that nobody refers to.
    pub fn is_settled(&self, slot: u32) -> bool {
        slot < self.slots() && self.slots.references(slot) > 0 && !self.pinned.contains(&slot)
    }

    /// Brings what a write of `page` will touch into the cache, furthest ahead: its line of the map, and that of the index. A
    /// hint, as the next two: no effect on any result.
    #[inline(always)]
    pub fn prefetch_page(&self, page: Lpn, content: Content) {
        prefetch(self.map.as_ptr().wrapping_add(page.index()));
        match &self.sharers {
            // Nothing is looked up then.
            Some(sharers) => sharers.prefetch_page(page.0),
            None => self.index.prefetch(content),
        }
    }

    /// Then, nearer, what these lines point to: the slot that the page has, which is returned, and the one it may get.
    #[inline(always)]
    pub fn prefetch_slots(&self, page: Lpn, content: Content) -> Option<u32> {
        let slot = self.slot_of(page);
        slot.into_iter().for_each(|slot| self.slots.prefetch(slot));
        match (&self.sharers, slot) {
            (Some(sharers), Some(slot)) => sharers.prefetch_slot(slot),
            (Some(_), None) => {}
            (None, _) => self.index.guess(content).into_iter().for_each(|found| self.slots.prefetch(found)),
        }
        slot
    }

    /// At last the line of the index that the page's slot leaves if nobody else refers to it. Returns the slot.
    #[inline(always)]
    pub fn prefetch_former(&self, page: Lpn) -> Option<u32> {
        let slot = self.slot_of(page)?;
        let content = self.slots.content(slot);
        if content != Content::UNKNOWN && self.slots.references(slot) == 1 {
            self.index.prefetch(content);
        }
        Some(slot)
    }

    /// The slot that the write after so many more will be stored in, if none of them frees one.
    #[inline(always)]
    pub fn prefetch_free(&self, ahead: usize) -> Option<u32> {
        let slot = *self.free.get(self.free.len().checked_sub(1 + ahead)?)?;
        self.slots.prefetch(slot);
        Some(slot)
    }

    /// Brings what cleaning asks of a slot's page with this content into the cache; first everything but the slot that holds
    /// the same, then `again` that.
    #[inline(always)]
    pub fn prefetch_live(&self, slot: u32, content: Content, again: bool) {
        if !again {
            self.slots.prefetch(slot);
            self.index.prefetch(content);
            if let Some(sharers) = &self.sharers {
                sharers.prefetch_slot(slot);
            }
        } else if let Some(found) = self.index.guess(content).filter(|found| *found != slot) {
            self.slots.prefetch(found);
            if let Some(sharers) = &self.sharers {
                sharers.prefetch_slot(found);
                sharers.first(slot).into_iter().for_each(|page| sharers.prefetch_page(page));
            }
        }
    }

    /// The page will share `slot`.
    pub fn plan_sharing(&mut self, page: Lpn, slot: u32) -> Planned {
        self.slots.set_references(slot, self.slots.references(slot) + 1);
        Planned { page, slot, way: Way::Shared }
    }

    /// The page will be stored: in its own slot again, if it has it to itself and `may_replace`, else in a new one.
    ///
    /// A page that keeps its slot keeps its name in the store below, and what that knows of it.
    pub fn plan_storing(&mut self, page: Lpn, may_replace: bool) -> Planned {
        let own = self
            .slot_of(page)
            .filter(|&slot| may_replace && self.slots.references(slot) == 1 && !self.slots.is_left(slot));
        let slot = match own {
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
        Planned { page, slot, way: if own.is_some() { Way::InPlace } else { Way::New } }
    }

    /// What was planned is stored. Slots that nobody refers to any more are appended to `dead`.
    pub fn commit(&mut self, planned: &[Planned], dead: &mut Vec<Lpn>) {
        self.pinned.clear();
        self.log.iter_mut().for_each(|log| log.end_store(true));
        for &Planned { page, slot, way } in planned {
            if way == Way::InPlace {
                self.note_death(slot);
                self.slots.forget_marks(slot);
                self.slots.note_peak(slot);
                continue;
            }
            let changes = self.slot_of(page) != Some(slot);
            if changes && way == Way::Shared {
                self.record(page, Some(slot));
            }
            self.unlink(page, dead);
            self.map[page.index()] = slot;
            self.mapped += 1;
            if let Some(sharers) = &mut self.sharers {
                sharers.insert(slot, page.0);
            }
            self.slots.note_peak(slot);
        }
    }

    /// What was planned was not stored. New slots are appended to `dead`.
    pub fn cancel(&mut self, planned: &[Planned], dead: &mut Vec<Lpn>) {
        self.pinned.clear();
        self.log.iter_mut().for_each(|log| log.end_store(false));
        for &Planned { slot, way, .. } in planned {
            if way == Way::InPlace {
                self.index.remove(&mut self.slots, slot);
                continue;
            }
            self.slots.set_references(slot, self.slots.references(slot) - 1);
            if self.slots.references(slot) == 0 {
                self.index.remove(&mut self.slots, slot);
                dead.push(Lpn(slot));
            }
        }
    }

    /// A change that no spare area will tell of. What the page pointed to stays on flash until the record is there, because by
    /// then it would point there again after a power cut.
    fn record(&mut self, page: Lpn, slot: Option<u32>) {
        self.report.map_log_records += 1;
        let left = self.slot_of(page);
        let Some(log) = &mut self.log else { return };
        log.push(page, slot);
        if let Some(left) = left.filter(|left| !self.slots.is_left(*left)) {
            self.slots.set_left(left, true);
            log.left.push(left);
        }
    }

    /// The page is trimmed; as [`Tables::unlink`].
    pub fn trim(&mut self, page: Lpn, dead: &mut Vec<Lpn>) {
        if self.slot_of(page).is_some() {
            self.record(page, None);
            self.unlink(page, dead);
        }
    }

    /// If all records are on flash, slots that only they kept are appended to `dead`.
    pub fn give_up(&mut self, dead: &mut Vec<Lpn>) {
        if let Some(log) = self.log.as_mut().filter(|log| log.is_settled()) {
            log.left.drain(..).for_each(|slot| self.slots.set_left(slot, false));
            dead.append(&mut log.dead);
        }
    }

    /// Begins to write the page of the checkpoint that is due, if one is.
    pub fn begin_checkpoint(&mut self) -> Option<u32> {
        self.log.as_mut()?.begin_checkpoint(&self.map)
    }

    /// The first page of the log below: behind the slots and the index.
    pub fn first_of_log(&self) -> u32 {
        self.slots() + self.index.cache.as_ref().map_or(0, PageCache::pages)
    }

    /// Whether the pages of these slots are being read, in the middle of which they must not be merged: a store may clean to
    /// read.
    pub fn hold(&mut self, slots: &[Lpn], held: bool) {
        slots.iter().for_each(|slot| self.slots.set_held(slot.0, held));
    }

    /// Whether a slot can be merged into another now: nobody reads there, and the log has room for its records.
    pub fn may_merge(&self, slot: u32) -> bool {
        !self.rests
            && !self.slots.is_held(slot)
            && self.log.as_ref().is_none_or(|log| self.references(slot) as usize <= log.room())
    }

    /// After a power cut: the page, of which nothing was known, points to the slot.
    pub fn restore(&mut self, page: Lpn, slot: u32) {
        self.map[page.index()] = slot;
        self.mapped += 1;
        if let Some(sharers) = &mut self.sharers {
            sharers.insert(slot, page.0);
        }
        self.slots.set_references(slot, self.references(slot) + 1);
        self.slots.note_peak(slot);
    }

    /// After a power cut, when all pages point to their slots: what these hold, those stored first before the others.
    pub fn restore_index(&mut self, contents: impl Iterator<Item = (u32, Content)>) {
        for (slot, content) in contents {
            if self.references(slot) > 0 && self.content(slot) == Content::UNKNOWN {
                self.learn(slot, content);
            }
        }
        let slots = &self.slots;
        self.free.retain(|slot| slots.references(*slot) == 0);
    }

    /// The page holds nothing any more; its slot is appended to `dead` if it was the last to refer to it.
    pub fn unlink(&mut self, page: Lpn, dead: &mut Vec<Lpn>) {
        let Some(slot) = self.slot_of(page) else { return };
        self.map[page.index()] = NONE;
        self.mapped -= 1;
        if let Some(sharers) = &mut self.sharers {
            sharers.remove(slot, page.0);
        }
        self.slots.set_references(slot, self.slots.references(slot) - 1);
        if self.slots.references(slot) == 0 {
            self.note_death(slot);
            self.index.remove(&mut self.slots, slot);
            match &mut self.log {
                Some(log) if self.slots.is_left(slot) => log.dead.push(Lpn(slot)),
                _ => dead.push(Lpn(slot)),
            }
        }
    }

    /// The slots are erased below and can be taken again.
    pub fn release(&mut self, dead: &[Lpn]) {
        for slot in dead {
            self.slots.forget_marks(slot.0);
            self.free.push(slot.0);
        }
    }

    /// All who refer to slot `from` refer to `into` from now on, which holds the same. The store below forgets `from`.
    pub fn merge(&mut self, from: u32, into: u32) {
        let sharers = self.sharers.as_mut().expect("kept where pages are merged");
        let map = &mut self.map;
        let log = &mut self.log;
        sharers.hand_over(from, into, |page| {
            map[page as usize] = into;
            log.iter_mut().for_each(|log| log.push(Lpn(page), Some(into)));
        });
        log.iter_mut().for_each(|log| log.urgent = true);
        let moved = self.slots.references(from);
        self.slots.set_references(from, 0);
        self.slots.set_references(into, self.slots.references(into) + moved);
        self.report.map_log_records += u64::from(moved);
        self.report.merged_pages += 1;
        // A page still to be read for comparison may be merged in turn; one that holds the same is read instead.
        self.to_verify.iter_mut().filter(|page| page.0 == from).for_each(|page| page.0 = into);
        self.slots.note_peak(into);
        self.index.remove(&mut self.slots, from);
        self.release(&[Lpn(from)]);
    }

    fn note_death(&mut self, slot: u32) {
        self.report.died_by_references[self.slots.peak(slot) - 1] += 1;
    }

    /// Stored contents by their references: 1, 2, 3, more.
    pub fn live_by_references(&self) -> [u64; 4] {
        self.slots.live_by_references()
    }

    /// Logical pages that hold anything.
    pub fn mapped_pages(&self) -> u32 {
        self.mapped
    }

    /// Bytes for the index, the contents of its entries included.
    pub fn index_memory_bytes(&self) -> usize {
        self.index.memory_bytes() + size_of::<Content>() * self.slots() as usize
    }

    /// Bytes for all.
    pub fn memory_bytes(&self) -> usize {
        let sharers = self.sharers.as_ref().map_or(0, Sharers::memory_bytes);
        let maps = 4 * (self.map.len() + self.free.capacity());
        let log = self.log.as_ref().map_or(0, MapLog::memory_bytes);
        maps + self.slots.memory_bytes() + sharers + self.index.memory_bytes() + log
    }

    /// Recounts everything.
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
        let kept = self.log.as_ref().map_or(&[][..], |log| &log.dead);
        kept.iter().for_each(|slot| is_free[slot.index()] = true);
        let live = counts.iter().filter(|count| **count > 0).count();
        let wrong = (0..counts.len()).find(|&slot| is_free[slot] == (counts[slot] > 0));
        if wrong.is_some() || live + self.free.len() + kept.len() != counts.len() {
            return Err(format!(
                "{live} slots in use, {} free, {} kept, {wrong:?} is both or neither",
                self.free.len(),
                kept.len()
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
