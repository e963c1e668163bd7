//! Slot notes in the spare areas of the flash, kept together with the flash.

use super::Sharing;
use super::maplog::Note;
use super::recover::Found;
use crate::counters::Cause;
use crate::layer::{Content, Run};
use crate::nand::{OwnNote, Spare, SpareKeeper};
use crate::units::{BlockId, Lpn};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

struct Kept {
    pages_per_block: usize,
    /// Content of each page's spare area, if the page belongs to a slot.
    found: Vec<Option<Found>>,
    /// Tables of the layer above, which supply the notes.
    sharing: Option<Sharing>,
}

/// The notes in all spare areas. The flash holds one handle, to store notes; recovery holds the other.
///
/// Memory: 48 bytes per page of flash.
#[derive(Clone)]
pub struct SpareNotes(Arc<Mutex<Kept>>);

impl SpareNotes {
    /// Creates the notes of erased flash.
    pub fn new(blocks: u32, pages_per_block: u32) -> Self {
        let pages_per_block = pages_per_block as usize;
        let found = vec![None; blocks as usize * pages_per_block];
        SpareNotes(Arc::new(Mutex::new(Kept { pages_per_block, found, sharing: None })))
    }

    /// Sets the tables that supply the notes from now on; `None` while power is off.
    pub fn follow(&self, sharing: Option<&Sharing>) {
        self.lock().sharing = sharing.cloned();
    }

    /// Returns the notes of all spare areas.
    pub fn found(&self) -> Vec<Found> {
        self.lock().found.iter().flatten().copied().collect()
    }

    /// Both users run on one thread, one inside the other; the lock only satisfies the compiler.
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SpareNotes {
    /// Clears all notes before they are read again from flash.
    pub(super) fn forget(&self) {
        self.lock().found.fill(None);
    }

    /// Restores the note of a spare area that was read from flash.
    pub(super) fn restore(&self, block: BlockId, page: u32, spare: &Spare, note: Note, content: Content) {
        let mut kept = self.lock();
        let at = block.index() * kept.pages_per_block + page as usize;
        kept.found[at] = Some(Found { slot: spare.owner.0, sequence: spare.sequence, note, content });
    }
}

impl SpareKeeper<Content> for SpareNotes {
    fn describe(&self, owner: Lpn, cause: Cause, bytes: &mut [u8]) -> Result<Option<OwnNote>, String> {
        let sharing = self.lock().sharing.clone();
        let of_store = matches!(cause, Cause::Translation | Cause::Validity);
        match sharing.filter(|_| !of_store) {
            Some(sharing) => sharing.describe(owner, cause, bytes).map_err(|error| error.0),
            None => Ok(None),
        }
    }

    fn written(&mut self, block: BlockId, page: u32, run: &Run<'_, Content>) {
        let mut kept = self.lock();
        let Kept { pages_per_block, found, sharing } = &mut *kept;
        let from = block.index() * *pages_per_block + page as usize;
        let of_store = matches!(run.cause, Cause::Translation | Cause::Validity);
        let (Some(owners), Some(sharing), false) = (run.owners, sharing, of_store) else { return };
        for (at, (&owner, &content)) in owners.iter().zip(run.data).enumerate() {
            let (slot, sequence) = (owner.0, run.sequence + at as u64);
            found[from + at] =
                sharing.note(owner, run.cause).map(|note| Found { slot, sequence, note, content });
        }
    }

    fn erased(&mut self, block: BlockId) {
        let mut kept = self.lock();
        let from = block.index() * kept.pages_per_block;
        let pages = from..from + kept.pages_per_block;
        kept.found[pages].fill(None);
    }
}
