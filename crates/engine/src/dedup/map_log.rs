//! The map log: map changes that no spare area records. They are written to flash before the data that they depend on
//! is released.

use crate::counters::Cause;
use crate::units::Lpn;

/// Bytes of a record: logical page, slot, and change number relative to a base stored in its page, 4 bytes each.
pub(super) const RECORD_BYTES: u32 = 12;
/// Number of slots in a checkpoint page per record in a log page: a checkpoint entry is smaller, because it needs no
/// page and no change number.
const SLOTS_PER_RECORD: u32 = RECORD_BYTES / 4;
/// Encoding of "no slot".
const NONE: u32 = u32::MAX;

/// Content of a slot page's spare area in addition to the slot and the store's sequence number. Cleaning copies the
/// note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Note {
    /// Logical page that the slot's page was written for.
    pub page: Lpn,
    /// Number of this write among all changes of the map, from 1.
    pub number: u64,
}

/// Note before the first change.
pub(super) const NO_NOTE: Note = Note { page: Lpn(0), number: 0 };

/// A change of the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Of all changes of a page, the one with the highest number is valid.
    pub note: Note,
    /// New slot of the page; `None` if it was trimmed.
    pub slot: Option<u32>,
}

/// A page of the checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
struct CheckpointPage {
    /// First logical page that this page of the checkpoint covers.
    first: u32,
    /// Number of map changes before this page was written.
    number: u64,
    slots: Vec<u32>,
}

/// A page of the log or of its checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MapPage {
    /// Changes of the map.
    Records(Vec<Record>),
    /// Slots of consecutive logical pages from `first`, as of change `number`.
    Checkpoint { first: u32, number: u64, slots: Vec<u32> },
}

/// Flash content of the pages of the log and of its checkpoint. The contents are stored here, because the simulation
/// represents page contents only by identifiers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapImage {
    log: Vec<Option<Vec<Record>>>,
    checkpoint: Vec<Option<CheckpointPage>>,
}

impl MapImage {
    /// Returns all records and checkpoint entries, in no particular order.
    pub fn records(&self) -> impl Iterator<Item = Record> + '_ {
        let of_page = |page: &CheckpointPage| {
            let number = page.number;
            let each = move |(page, slot): (u32, u32)| Record {
                note: Note { page: Lpn(page), number },
                slot: Some(slot).filter(|slot| *slot != NONE),
            };
            (page.first..).zip(page.slots.clone()).map(each).collect::<Vec<_>>()
        };
        let log = self.log.iter().flatten().flatten().copied();
        log.chain(self.checkpoint.iter().flatten().flat_map(of_page))
    }

    /// Returns true for each page that is on flash, and false for each other page: first the pages of the checkpoint,
    /// then the pages of the ring.
    pub(super) fn stored(&self) -> impl Iterator<Item = bool> + '_ {
        let checkpoint = self.checkpoint.iter().map(Option::is_some);
        checkpoint.chain(self.log.iter().map(Option::is_some))
    }

    /// Returns the number of pages: those of the checkpoint and those of the ring.
    pub(super) fn pages(&self) -> usize {
        self.checkpoint.len() + self.log.len()
    }

    /// Returns the content of page `at`.
    fn page(&self, at: usize) -> Option<MapPage> {
        match at.checked_sub(self.checkpoint.len()) {
            None => self.checkpoint[at].as_ref().map(MapPage::from),
            Some(at) => self.log.get(at)?.clone().map(MapPage::Records),
        }
    }

    /// Restores the content of page `at`; fails if the content cannot belong there.
    pub(super) fn restore(&mut self, at: usize, page: MapPage) -> Result<(), &'static str> {
        let checkpoint_pages = self.checkpoint.len();
        match (page, at.checked_sub(checkpoint_pages)) {
            (MapPage::Checkpoint { first, number, slots }, None) => {
                self.checkpoint[at] = Some(CheckpointPage { first, number, slots });
            }
            (MapPage::Records(records), Some(at)) => self.log[at] = Some(records),
            _ => return Err("it is a page of the checkpoint among those of the log, or the other way round"),
        }
        Ok(())
    }

    fn stored_pages(&self) -> u64 {
        (self.log.iter().flatten().count() + self.checkpoint.iter().flatten().count()) as u64
    }
}

impl From<&CheckpointPage> for MapPage {
    fn from(page: &CheckpointPage) -> Self {
        MapPage::Checkpoint { first: page.first, number: page.number, slots: page.slots.clone() }
    }
}

/// A page of the log that is being written.
struct PendingLogPage {
    at: usize,
    records: Vec<Record>,
}

/// The log: two halves of a ring of pages, and a checkpoint of the whole map.
///
/// After each page of the log, one page of the checkpoint is rewritten, in turn. When all pages of the checkpoint have
/// been rewritten, the checkpoint covers the records of the other half, which is then overwritten. A page of the log is
/// written once, even if it is not full.
pub(super) struct MapLog {
    page_records: usize,
    /// Pages in half of the ring.
    half: u32,
    checkpoint_pages: u32,
    slots_per_page: u32,
    /// Number of map changes so far.
    number: u64,
    /// Note of each slot's content.
    notes: Vec<Note>,
    /// Slot whose page is being written, and the logical page that the slot's page is written for.
    pending_store: Option<(u32, Lpn)>,
    /// Records in RAM, which a power cut loses.
    records: Vec<Record>,
    /// Pages that are being written. Writes are nested: the one that began last ends first.
    pending_pages: Vec<PendingLogPage>,
    /// Checkpoint page being written.
    pending_checkpoint: Option<CheckpointPage>,
    /// True if records must be on flash before the current victim is erased.
    pub urgent: bool,
    in_second_half: bool,
    /// Numbers of pages of the log and of the checkpoint that were begun in this half.
    written: u32,
    checkpointed: u32,
    image: MapImage,
    /// Slots that a page left by a record that is still in RAM.
    pub retained: Vec<u32>,
    /// Slots in `retained` that no page refers to.
    pub unreferenced: Vec<Lpn>,
    /// Pages of the log that were written while other pages were moved, by the cause of the move.
    pub moving_pages: [u64; Cause::ALL.len()],
}

impl MapLog {
    /// Creates an empty log with `page_records` records per page.
    pub fn new(page_records: u32, logical_pages: u32, slots: u32) -> Self {
        let slots_per_page = page_records.saturating_mul(SLOTS_PER_RECORD);
        let checkpoint_pages = logical_pages.div_ceil(slots_per_page);
        let half = checkpoint_pages.max(2);
        MapLog {
            page_records: page_records as usize,
            half,
            checkpoint_pages,
            slots_per_page,
            number: 0,
            notes: vec![NO_NOTE; slots as usize],
            pending_store: None,
            records: Vec::new(),
            pending_pages: Vec::new(),
            pending_checkpoint: None,
            urgent: false,
            in_second_half: false,
            written: 0,
            checkpointed: 0,
            image: MapImage {
                log: vec![None; 2 * half as usize],
                checkpoint: vec![None; checkpoint_pages as usize],
            },
            retained: Vec::new(),
            unreferenced: Vec::new(),
            moving_pages: [0; Cause::ALL.len()],
        }
    }

    /// Resumes after a power cut, from the state on flash: `image`, and the notes of the slots' pages.
    ///
    /// The half being filled is the half with the highest change number. A checkpoint page counts as rewritten in this
    /// half if it covers all changes of the other half, which is the condition for overwriting the other half.
    pub fn resume(&mut self, image: MapImage, notes: impl Iterator<Item = (u32, Note)>) {
        for (slot, note) in notes {
            self.notes[slot as usize] = note;
            self.number = self.number.max(note.number);
        }
        if image.log.is_empty() {
            return;
        }
        self.number = image.records().fold(self.number, |number, record| number.max(record.note.number));
        let newest = |page: &Option<Vec<Record>>| {
            page.iter().flatten().map(|record| record.note.number).max().unwrap_or(0)
        };
        let (first, second) = image.log.split_at(self.half as usize);
        let [newest_in_first, newest_in_second] =
            [first, second].map(|half| half.iter().map(newest).max().unwrap_or(0));
        self.in_second_half = newest_in_second > newest_in_first;
        let (filled, newest_in_other) =
            if self.in_second_half { (second, newest_in_first) } else { (first, newest_in_second) };
        let last = filled.iter().rposition(|page| newest(page) > newest_in_other);
        self.written = last.map_or(0, |last| last as u32 + 1);
        let covers_other_half =
            |page: &&Option<CheckpointPage>| page.as_ref().is_some_and(|page| page.number >= newest_in_other);
        let covering = image.checkpoint.iter().take_while(covers_other_half).count() as u32;
        self.checkpointed = covering.min(self.written);
        self.image = image;
    }

    /// Returns the number of pages needed in the store below: the checkpoint and the ring.
    pub fn pages(&self) -> u32 {
        self.checkpoint_pages + 2 * self.half
    }

    /// Returns the bytes of a page of the log that records occupy.
    pub fn page_bytes(&self) -> usize {
        self.page_records * RECORD_BYTES as usize
    }

    pub fn stored_pages(&self) -> u64 {
        self.image.stored_pages()
    }

    pub fn image(&self) -> &MapImage {
        &self.image
    }

    /// Appends a record of a change that is recorded nowhere else.
    pub fn push(&mut self, page: Lpn, slot: Option<u32>) {
        self.number += 1;
        self.records.push(Record { note: Note { page, number: self.number }, slot });
    }

    /// Begins a write of the slot's page for `page`.
    pub fn begin_store(&mut self, slot: u32, page: Lpn) {
        self.pending_store = Some((slot, page));
    }

    /// Ends the write that [`MapLog::begin_store`] began; `is_stored` is true if the write succeeded.
    pub fn end_store(&mut self, is_stored: bool) {
        if let (Some((slot, page)), true) = (self.pending_store.take(), is_stored) {
            self.number += 1;
            self.notes[slot as usize] = Note { page, number: self.number };
        }
    }

    /// Returns the note for the spare area of the slot's page: of a new page from the host, or of a moved page.
    pub fn note(&self, slot: u32, is_new: bool) -> Note {
        match self.pending_store {
            Some((pending_slot, page)) if is_new && pending_slot == slot => {
                Note { page, number: self.number + 1 }
            }
            _ => self.notes[slot as usize],
        }
    }

    /// Returns the content to program for page `at`: the page being written or, otherwise, the stored page, which is
    /// being moved. A page being written replaces the stored page and contains all of its relevant content. It may
    /// therefore also be written in place of the stored page if that page is being moved.
    pub fn page(&self, at: u32) -> Option<MapPage> {
        let new = match at.checked_sub(self.checkpoint_pages) {
            Some(at) => {
                let pending = self.pending_pages.iter().rfind(|sealed| sealed.at == at as usize);
                pending.map(|sealed| MapPage::Records(sealed.records.clone()))
            }
            None => {
                let pending = self.pending_checkpoint.as_ref();
                pending.filter(|page| page.first / self.slots_per_page == at).map(MapPage::from)
            }
        };
        new.or_else(|| self.image.page(at as usize))
    }

    /// Returns the number of records that fit before a checkpoint page must be written.
    pub fn room(&self) -> usize {
        if self.written == self.half { 0 } else { self.page_records - self.records.len() }
    }

    pub fn is_full(&self) -> bool {
        self.records.len() >= self.page_records
    }

    /// True if all changes are on flash.
    pub fn is_settled(&self) -> bool {
        self.records.is_empty() && self.pending_pages.is_empty()
    }

    /// Begins to write the records in RAM. Returns the number of the page to write, counted from the first page of the
    /// checkpoint. Returns `None` if there are no records or no free page.
    pub fn begin_page(&mut self) -> Option<u32> {
        if self.records.is_empty() || self.written == self.half {
            return None;
        }
        let at = self.written + if self.in_second_half { self.half } else { 0 };
        self.written += 1;
        self.urgent = false;
        self.pending_pages
            .push(PendingLogPage { at: at as usize, records: std::mem::take(&mut self.records) });
        Some(self.checkpoint_pages + at)
    }

    /// Records that the page whose write began last is on flash.
    pub fn end_page(&mut self) {
        let PendingLogPage { at, records } = self.pending_pages.pop().expect("it was begun");
        self.image.log[at] = Some(records);
    }

    /// Begins to write the checkpoint page that is due, from the current `map`. Returns its number, or `None` if no
    /// page is due. If the half is full and its checkpoint complete, switches to the other half.
    pub fn begin_checkpoint(&mut self, map: &[u32]) -> Option<u32> {
        if self.checkpointed == self.written.min(self.checkpoint_pages) {
            if self.written == self.half {
                (self.in_second_half, self.written, self.checkpointed) = (!self.in_second_half, 0, 0);
            }
            return None;
        }
        let page = self.checkpointed;
        self.checkpointed += 1;
        let first = page * self.slots_per_page;
        let end = first.saturating_add(self.slots_per_page).min(map.len() as u32);
        let slots = map[first as usize..end as usize].to_vec();
        self.pending_checkpoint = Some(CheckpointPage { first, number: self.number, slots });
        Some(page)
    }

    /// Records that the checkpoint page is on flash.
    pub fn end_checkpoint(&mut self) {
        if let Some(page) = self.pending_checkpoint.take() {
            let at = page.first / self.slots_per_page;
            self.image.checkpoint[at as usize] = Some(page);
        }
    }

    pub fn memory_bytes(&self) -> usize {
        let records: usize = self.image.log.iter().flatten().map(Vec::capacity).sum();
        let slots: usize = self.image.checkpoint.iter().flatten().map(|page| page.slots.len()).sum();
        size_of_val(&self.notes[..]) + size_of::<Record>() * records + 4 * slots
    }
}

#[cfg(test)]
mod tests;
