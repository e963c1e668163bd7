//! Whose content is where: logical page to slot, and what is known of each slot.

use super::config::Detect;
use super::index::Index;
use super::sharers::Sharers;
use crate::layer::DedupReport;
use crate::table::{filled, prefetch};
use crate::units::Lpn;

/// A logical page that holds nothing.
const NONE: u32 = u32::MAX;

/// The highest reference count that is told apart.
const MANY: u32 = 4;
/// Bits of a slot's mark that hold the most references it ever had, up to [`MANY`].
const PEAK: u8 = 7;
/// The slot's page was written to the cold region.
const COLD: u8 = 0x80;

/// Two-level mapping as in CA-FTL: logical pages point to slots, and the store below knows where each slot's page is. A
/// page that moves changes one entry below, however many share it.
///
/// Cost: 9 bytes a logical page and the index; 12 more where cleaning merges pages and must find who shares one.
pub(super) struct Tables {
    /// The slot of each logical page.
    map: Vec<u32>,
    /// References of each slot, those promised by a write in hand included.
    counts: Vec<u32>,
    marks: Vec<u8>,
    /// Slots that hold nothing; the last is taken first.
    free: Vec<u32>,
    /// Who refers to each slot, where pages are merged.
    sharers: Option<Sharers>,
    /// Slots of the write in hand. Their pages are not merged: what they hold is about to change.
    pinned: Vec<u32>,
    pub index: Index,
    pub verify: bool,
    /// Slots whose pages are to be read for comparison, where that cannot be done at once.
    pub to_verify: Vec<Lpn>,
    pub detect: Detect,
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
    pub fn new(detect: Detect, verify: bool, index: Index, logical_pages: u32, slots: u32) -> Self {
        Tables {
            map: filled(logical_pages as usize, NONE),
            counts: filled(slots as usize, 0),
            marks: filled(slots as usize, 0),
            free: (0..slots).rev().collect(),
            sharers: matches!(detect, Detect::Cleaning { .. }).then(|| Sharers::new(logical_pages, slots)),
            pinned: Vec::new(),
            index,
            verify,
            to_verify: Vec::new(),
            detect,
            report: DedupReport::default(),
        }
    }

    pub fn logical_pages(&self) -> u32 {
        self.map.len() as u32
    }

    pub fn slots(&self) -> u32 {
        self.counts.len() as u32
    }

    /// The slot that the page points to.
    #[inline]
    pub fn slot_of(&self, page: Lpn) -> Option<u32> {
        Some(self.map[page.index()]).filter(|slot| *slot != NONE)
    }

    pub fn references(&self, slot: u32) -> u32 {
        self.counts[slot as usize]
    }

    pub fn is_cold(&self, slot: u32) -> bool {
        self.marks[slot as usize] & COLD != 0
    }

    pub fn set_cold(&mut self, slot: u32, cold: bool) {
        let mark = &mut self.marks[slot as usize];
        *mark = *mark & PEAK | if cold { COLD } else { 0 };
    }

    /// Whether the slot's page is one that a write in hand replaces, or that nobody refers to.
    pub fn is_settled(&self, slot: u32) -> bool {
        slot < self.slots() && self.counts[slot as usize] > 0 && !self.pinned.contains(&slot)
    }

    /// Brings what a write will touch into the cache: far ahead the map, nearer what it points to. A hint: no effect on any
    /// result.
    #[inline(always)]
    pub fn prefetch(&self, far: Option<&Lpn>, near: Option<&Lpn>) {
        if let Some(far) = far {
            prefetch(self.map.as_ptr().wrapping_add(far.index()));
        }
        if let Some(slot) = near.and_then(|near| self.slot_of(*near)) {
            self.prefetch_slot(slot);
        }
    }

    /// The same for what is known of a slot, if it is one.
    #[inline(always)]
    pub fn prefetch_slot(&self, slot: u32) {
        prefetch(self.counts.as_ptr().wrapping_add(slot as usize));
        self.index.prefetch(slot);
    }

    /// The page will share `slot`.
    pub fn plan_sharing(&mut self, page: Lpn, slot: u32) -> Planned {
        self.counts[slot as usize] += 1;
        Planned { page, slot, way: Way::Shared }
    }

    /// The page will be stored: in its own slot again, if it has it to itself and `may_replace`, else in a new one.
    ///
    /// A page that keeps its slot keeps its name in the store below, and what that knows of it.
    pub fn plan_storing(&mut self, page: Lpn, may_replace: bool) -> Planned {
        let own = self.slot_of(page).filter(|&slot| may_replace && self.counts[slot as usize] == 1);
        let slot = match own {
            Some(slot) => {
                self.index.remove(slot);
                slot
            }
            None => {
                let slot = self.free.pop().expect("a slot for each logical page and each page in hand");
                self.counts[slot as usize] = 1;
                slot
            }
        };
        self.pinned.push(slot);
        Planned { page, slot, way: if own.is_some() { Way::InPlace } else { Way::New } }
    }

    /// What was planned is stored. Slots that nobody refers to any more are appended to `dead`.
    pub fn commit(&mut self, planned: &[Planned], dead: &mut Vec<Lpn>) {
        self.pinned.clear();
        for &Planned { page, slot, way } in planned {
            if way == Way::InPlace {
                self.note_death(slot);
                self.marks[slot as usize] = 1;
                continue;
            }
            let changes = self.slot_of(page) != Some(slot);
            self.report.map_log_records += u64::from(changes && way == Way::Shared);
            self.unlink(page, dead);
            self.map[page.index()] = slot;
            if let Some(sharers) = &mut self.sharers {
                sharers.insert(slot, page.0);
            }
            self.note_peak(slot);
        }
    }

    /// What was planned was not stored. New slots are appended to `dead`.
    pub fn cancel(&mut self, planned: &[Planned], dead: &mut Vec<Lpn>) {
        self.pinned.clear();
        for &Planned { slot, way, .. } in planned {
            if way == Way::InPlace {
                self.index.remove(slot);
                continue;
            }
            self.counts[slot as usize] -= 1;
            if self.counts[slot as usize] == 0 {
                self.index.remove(slot);
                dead.push(Lpn(slot));
            }
        }
    }

    /// The page holds nothing any more; its slot is appended to `dead` if it was the last to refer to it.
    pub fn unlink(&mut self, page: Lpn, dead: &mut Vec<Lpn>) {
        let Some(slot) = self.slot_of(page) else { return };
        self.map[page.index()] = NONE;
        if let Some(sharers) = &mut self.sharers {
            sharers.remove(slot, page.0);
        }
        self.counts[slot as usize] -= 1;
        if self.counts[slot as usize] == 0 {
            self.note_death(slot);
            self.index.remove(slot);
            dead.push(Lpn(slot));
        }
    }

    /// The slots are erased below and can be taken again.
    pub fn release(&mut self, dead: &[Lpn]) {
        for slot in dead {
            self.marks[slot.index()] = 0;
            self.free.push(slot.0);
        }
    }

    /// All who refer to slot `from` refer to `into` from now on, which holds the same. The store below forgets `from`.
    pub fn merge(&mut self, from: u32, into: u32) {
        let sharers = self.sharers.as_mut().expect("kept where pages are merged");
        let map = &mut self.map;
        sharers.hand_over(from, into, |page| map[page as usize] = into);
        let moved = std::mem::take(&mut self.counts[from as usize]);
        self.counts[into as usize] += moved;
        self.report.map_log_records += u64::from(moved);
        self.report.merged_pages += 1;
        // A page still to be read for comparison may be merged in turn; one that holds the same is read instead.
        self.to_verify.iter_mut().filter(|page| page.0 == from).for_each(|page| page.0 = into);
        self.note_peak(into);
        self.index.remove(from);
        self.release(&[Lpn(from)]);
    }

    fn note_peak(&mut self, slot: u32) {
        let (count, mark) = (self.counts[slot as usize].min(MANY) as u8, &mut self.marks[slot as usize]);
        *mark = *mark & COLD | (*mark & PEAK).max(count);
    }

    fn note_death(&mut self, slot: u32) {
        let peak = (self.marks[slot as usize] & PEAK).max(1);
        self.report.died_by_references[usize::from(peak) - 1] += 1;
    }

    /// What is known now, the index's size excepted.
    pub fn live_by_references(&self) -> [u64; 4] {
        let mut live = [0; 4];
        for &count in self.counts.iter().filter(|count| **count > 0) {
            live[count.min(MANY) as usize - 1] += 1;
        }
        live
    }

    /// Logical pages that hold anything.
    pub fn mapped_pages(&self) -> u32 {
        self.map.iter().filter(|slot| **slot != NONE).count() as u32
    }

    pub fn memory_bytes(&self) -> usize {
        let sharers = self.sharers.as_ref().map_or(0, Sharers::memory_bytes);
        4 * (self.map.len() + self.counts.len() + self.free.capacity()) + self.marks.len() + sharers
    }

    /// Recounts everything.
    pub fn check(&self) -> Result<(), String> {
        let mut counts = vec![0u32; self.counts.len()];
        self.map.iter().filter(|slot| **slot != NONE).for_each(|&slot| counts[slot as usize] += 1);
        if let Some(slot) = (0..counts.len()).find(|&slot| counts[slot] != self.counts[slot]) {
            let (found, counted) = (counts[slot], self.counts[slot]);
            return Err(format!("slot {slot}: {counted} references counted, {found} found"));
        }
        let mut is_free = vec![false; counts.len()];
        self.free.iter().for_each(|&slot| is_free[slot as usize] = true);
        let live = counts.iter().filter(|count| **count > 0).count();
        let wrong = (0..counts.len()).find(|&slot| is_free[slot] == (counts[slot] > 0));
        if wrong.is_some() || live + self.free.len() != counts.len() {
            return Err(format!(
                "{live} slots in use, {} free, {wrong:?} is both or neither",
                self.free.len()
            ));
        }
        if let Some(sharers) = &self.sharers {
            sharers.check(&self.map, &self.counts)?;
        }
        self.index.check(|slot| self.counts[slot as usize] > 0)
    }
}
