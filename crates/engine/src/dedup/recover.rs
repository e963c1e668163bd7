//! Recovery of the map after a power cut, from the state on flash.

use super::SharedTables;
use super::config::DedupConfig;
use super::map_log::{MapImage, NO_NOTE, Note, Record};
use crate::config::ConfigError;
use crate::layer::ContentId;
use crate::units::Lpn;

/// A slot's page on flash, described by its spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotPage {
    /// The slot.
    pub slot: u32,
    /// Sequence number of the store: of several copies of a slot's page, the copy with the highest number is valid.
    pub sequence: u64,
    /// Logical page that the slot's page was written for, and the number of this change.
    pub note: Note,
    /// Content of the page; on a real drive, the fingerprint in the spare area.
    pub content: ContentId,
}

/// The map after a power cut.
pub struct RecoveredMap {
    /// The tables, with map, references, lists of sharers and index.
    pub sharing: SharedTables,
    /// Number of logical pages whose slot is not on flash; these are unmapped. 0 unless flash lost pages: a restart
    /// then fails.
    pub lost_pages: u32,
    /// Slots with a page on flash that no logical page refers to; the store below may still map them.
    pub unused_slots: Vec<Lpn>,
}

/// Rebuilds the tables of a layer of `logical_pages` from all pages found on flash and from the log of the map.
///
/// The log of the map continues from its state on flash. For each logical page, the change with the highest number is
/// valid, whether it is in a spare area, a record or the checkpoint. Stored pages enter the index in the order in which
/// the host wrote them. Fails like [`SharedTables::new`].
pub fn recover(
    config: &DedupConfig,
    logical_pages: u32,
    found: impl IntoIterator<Item = SlotPage>,
    image: &MapImage,
) -> Result<RecoveredMap, ConfigError> {
    let sharing = SharedTables::new(config, logical_pages, 0)?;
    let mut tables = sharing.lock();
    let mut newest: Vec<Option<SlotPage>> = vec![None; tables.slots() as usize];
    for page in found {
        let Some(newest_copy) = newest.get_mut(page.slot as usize) else { continue };
        if newest_copy.is_none_or(|known| known.sequence < page.sequence) {
            *newest_copy = Some(page);
        }
    }
    let stored = newest.iter().flatten().map(|page| Record { note: page.note, slot: Some(page.slot) });
    let mut last = vec![Record { note: NO_NOTE, slot: None }; logical_pages as usize];
    for record in stored.chain(image.records()) {
        let last_change = &mut last[record.note.page.index()];
        if last_change.note.number < record.note.number {
            *last_change = record;
        }
    }
    let mut lost_pages = 0;
    for (page, Record { note, slot }) in (0..).map(Lpn).zip(last) {
        let Some(slot) = slot else { continue };
        // A page that was written to the slot later has different content.
        match newest[slot as usize] {
            Some(stored) if stored.note.number <= note.number => tables.restore(page, slot),
            _ => lost_pages += 1,
        }
    }
    if let Some(log) = &mut tables.log {
        log.resume(image.clone(), newest.iter().flatten().map(|page| (page.slot, page.note)));
    }
    let unused = newest.iter().flatten().map(|page| page.slot).filter(|slot| tables.references(*slot) == 0);
    let unused_slots = unused.map(Lpn).collect();
    let mut live: Vec<SlotPage> = newest.into_iter().flatten().collect();
    live.sort_unstable_by_key(|page| page.note.number);
    tables.restore_index(live.into_iter().map(|page| (page.slot, page.content)));
    drop(tables);
    Ok(RecoveredMap { sharing, lost_pages, unused_slots })
}
