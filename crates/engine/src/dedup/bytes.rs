//! Byte encoding of the map log and of the slot notes in spare areas, for flash that is stored outside the simulation.

use super::SharedTables;
use super::map_log::{MapImage, MapLog, MapPage, Note, Record};
use super::notes::SpareNotes;
use crate::counters::Cause;
use crate::flash_format::{
    FormatError, MapRecord, PageType, decode_checkpoint, decode_dedup_note, decode_records,
    encode_checkpoint, encode_dedup_note, encode_records,
};
use crate::layer::ContentId;
use crate::nand::{Flash, MetadataNote, PageState, StoredFlash, StoredFlashError};
use crate::units::{BlockId, Lpn};

/// Encoding of "no slot".
const NONE: u32 = u32::MAX;

impl SharedTables {
    /// Returns the note of the page of the store below that is programmed for this cause, and writes its content to
    /// `bytes` if it is a page of the log. Returns `None` for pages unknown to the layer, such as those of an index
    /// in flash, which is rebuilt.
    pub(super) fn describe(
        &self,
        page: Lpn,
        cause: Cause,
        bytes: &mut [u8],
    ) -> Result<Option<MetadataNote>, FormatError> {
        if let Some(Note { page, number }) = self.note(page, cause) {
            return Ok(Some(encode_dedup_note(page.0, number)));
        }
        let tables = self.lock();
        let Some(log_page) = page.0.checked_sub(tables.first_log_page()) else { return Ok(None) };
        let page = tables.log.as_ref().and_then(|log| log.page(log_page));
        page.map(|page| encode(&page, bytes)).transpose()
    }
}

fn encode(page: &MapPage, bytes: &mut [u8]) -> Result<MetadataNote, FormatError> {
    match page {
        MapPage::Records(records) => {
            let record = |record: &Record| MapRecord {
                page: record.note.page.0,
                slot: record.slot.unwrap_or(NONE),
                number: record.note.number,
            };
            encode_records(&records.iter().map(record).collect::<Vec<_>>(), bytes)
        }
        MapPage::Checkpoint { first, number, slots } => encode_checkpoint(*first, *number, slots, bytes),
    }
}

/// Reads the notes of all slots in `flash`, and the newest copy of each page of the log.
///
/// # Errors
/// Fails if a page of the log cannot be read, or belongs to another map.
pub(super) fn read_map_image<F: Flash<Payload = ContentId>>(
    empty: &SharedTables,
    notes: &SpareNotes,
    flash: &F,
    stored: &mut dyn StoredFlash,
) -> Result<MapImage, StoredFlashError> {
    let (mut image, first) = (empty.map_image(), empty.lock().first_log_page());
    notes.clear();
    let mut newest: Vec<Option<(u64, BlockId, u32)>> = Vec::new();
    for block in (0..flash.blocks()).map(BlockId) {
        for page in 0..flash.next_page(block).unwrap_or(0) {
            let PageState::Written(spare) = flash.spare(block, page) else { continue };
            let Some((note, name)) = stored.page_note(block, page) else { continue };
            if let Some((logical_page, number)) = decode_dedup_note(&note) {
                notes.restore(block, page, &spare, Note { page: Lpn(logical_page), number }, ContentId(name));
            } else if note.class == PageType::Records as u8 || note.class == PageType::Checkpoint as u8 {
                let at = spare.owner.0.checked_sub(first).map(|at| at as usize);
                let at = at.filter(|at| *at < image.pages());
                let at =
                    at.ok_or_else(|| StoredFlashError::page(block, page, "is no page of this map's log"))?;
                newest.resize(newest.len().max(at + 1), None);
                if newest[at].is_none_or(|(sequence, ..)| sequence < spare.sequence) {
                    newest[at] = Some((spare.sequence, block, page));
                }
            }
        }
    }
    let page_bytes = empty.lock().log.as_ref().map_or(0, MapLog::page_bytes);
    let mut bytes = vec![0; page_bytes];
    for (at, newest_copy) in newest.into_iter().enumerate() {
        let Some((_, block, page)) = newest_copy else { continue };
        let note = stored.read_metadata_page(block, page, &mut bytes)?;
        let page = decode(&note, &bytes)
            .and_then(|decoded| image.restore(at, decoded).map_err(FormatError::new))
            .map_err(|error| StoredFlashError::page(block, page, error.0));
        page?;
    }
    Ok(image)
}

fn decode(note: &MetadataNote, bytes: &[u8]) -> Result<MapPage, FormatError> {
    if note.class == PageType::Checkpoint as u8 {
        let (first, number, slots) = decode_checkpoint(note, bytes)?;
        return Ok(MapPage::Checkpoint { first, number, slots });
    }
    let record = |record: MapRecord| Record {
        note: Note { page: Lpn(record.page), number: record.number },
        slot: Some(record.slot).filter(|slot| *slot != NONE),
    };
    Ok(MapPage::Records(decode_records(note, bytes)?.into_iter().map(record).collect()))
}
