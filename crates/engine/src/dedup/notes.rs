//! Slot notes in the spare areas of the flash, which are stored together with the flash.

use super::SharedTables;
use super::map_log::Note;
use super::recover::SlotPage;
use crate::counters::Cause;
use crate::layer::{ContentId, Run};
use crate::nand::{MetadataNote, Spare, SpareStorage};
use crate::units::{BlockId, Lpn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct StoredNotes {
    pages_per_block: usize,
    /// Content of each page's spare area, if the page belongs to a slot.
    slot_pages: Vec<Option<SlotPage>>,
    /// Tables of the layer above, which supply the notes.
    sharing: Option<SharedTables>,
}

/// The notes in all spare areas. The flash has one handle, for storing notes, and recovery has another.
///
/// Memory: 48 bytes per page of flash.
#[derive(Clone)]
pub struct SpareNotes(Arc<Mutex<StoredNotes>>);

impl SpareNotes {
    /// Creates the notes of erased flash.
    pub fn new(blocks: u32, pages_per_block: u32) -> Self {
        let pages_per_block = pages_per_block as usize;
        let slot_pages = vec![None; blocks as usize * pages_per_block];
        SpareNotes(Arc::new(Mutex::new(StoredNotes { pages_per_block, slot_pages, sharing: None })))
    }

    /// Sets the tables that supply the notes from now on; `None` while power is off.
    pub fn set_source(&self, sharing: Option<&SharedTables>) {
        self.lock().sharing = sharing.cloned();
    }

    /// Returns the notes of all spare areas.
    pub fn slot_pages(&self) -> Vec<SlotPage> {
        self.lock().slot_pages.iter().flatten().copied().collect()
    }

    /// Both users run on one thread, one inside the other; the lock only satisfies the compiler.
    fn lock(&self) -> MutexGuard<'_, StoredNotes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpareNotes {
    /// Clears all notes before they are read again from flash.
    pub(super) fn clear(&self) {
        self.lock().slot_pages.fill(None);
    }

    /// Restores the note of a spare area that was read from flash.
    pub(super) fn restore(&self, block: BlockId, page: u32, spare: &Spare, note: Note, content: ContentId) {
        let mut stored = self.lock();
        let at = block.index() * stored.pages_per_block + page as usize;
        stored.slot_pages[at] =
            Some(SlotPage { slot: spare.owner.0, sequence: spare.sequence, note, content });
    }
}

impl SpareStorage<ContentId> for SpareNotes {
    fn describe(&self, owner: Lpn, cause: Cause, bytes: &mut [u8]) -> Result<Option<MetadataNote>, String> {
        let sharing = self.lock().sharing.clone();
        let is_store_metadata = matches!(cause, Cause::Translation | Cause::Validity);
        match sharing.filter(|_| !is_store_metadata) {
            Some(sharing) => sharing.describe(owner, cause, bytes).map_err(|error| error.0),
            None => Ok(None),
        }
    }

    fn written(&mut self, block: BlockId, page: u32, run: &Run<'_, ContentId>) {
        let mut stored = self.lock();
        let StoredNotes { pages_per_block, slot_pages, sharing } = &mut *stored;
        let from = block.index() * *pages_per_block + page as usize;
        let is_store_metadata = matches!(run.cause, Cause::Translation | Cause::Validity);
        let (Some(owners), Some(sharing), false) = (run.owners, sharing, is_store_metadata) else { return };
        for (at, (&owner, &content)) in owners.iter().zip(run.data).enumerate() {
            let (slot, sequence) = (owner.0, run.sequence + at as u64);
            slot_pages[from + at] =
                sharing.note(owner, run.cause).map(|note| SlotPage { slot, sequence, note, content });
        }
    }

    fn erased(&mut self, block: BlockId) {
        let mut stored = self.lock();
        let from = block.index() * stored.pages_per_block;
        let pages = from..from + stored.pages_per_block;
        stored.slot_pages[pages].fill(None);
    }
}
