//! Byte encoding of the map's log and of the slot notes in spare areas, for flash kept outside the simulation.

use super::Sharing;
use super::maplog::{MapImage, MapLog, MapPage, Note, Record};
use super::notes::SpareNotes;
use crate::counters::Cause;
use crate::flash_format::{
    Class, FormatError, MapRecord, decode_checkpoint, decode_records, decode_stored, encode_checkpoint,
    encode_records, encode_stored,
};
use crate::layer::Content;
use crate::nand::{Flash, KeptError, KeptFlash, OwnNote, PageState};
use crate::units::{BlockId, Lpn};

/// Encoding of "no slot".
const NONE: u32 = u32::MAX;

impl Sharing {
    /// Returns the note of the page of the store below that is programmed for this cause, and writes its content to
    /// `bytes` if it is a page of the log. Returns `None` for pages unknown to the layer, such as those of an index
    /// in flash, which is rebuilt.
    pub(super) fn describe(
        &self,
        page: Lpn,
        cause: Cause,
        bytes: &mut [u8],
    ) -> Result<Option<OwnNote>, FormatError> {
        if let Some(Note { page, number }) = self.note(page, cause) {
            return Ok(Some(encode_stored(page.0, number)));
        }
        let tables = self.lock();
        let Some(of_log) = page.0.checked_sub(tables.first_of_log()) else { return Ok(None) };
        let page = tables.log.as_ref().and_then(|log| log.page(of_log));
        page.map(|page| encode(&page, bytes)).transpose()
    }
}

fn encode(page: &MapPage, bytes: &mut [u8]) -> Result<OwnNote, FormatError> {
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
pub(super) fn reread<F: Flash<Payload = Content>>(
    empty: &Sharing,
    notes: &SpareNotes,
    flash: &F,
    kept: &mut dyn KeptFlash,
) -> Result<MapImage, KeptError> {
    let (mut image, first) = (empty.map_image(), empty.lock().first_of_log());
    notes.forget();
    let mut newest: Vec<Option<(u64, BlockId, u32)>> = Vec::new();
    for block in (0..flash.blocks()).map(BlockId) {
        for page in 0..flash.next_page(block).unwrap_or(0) {
            let PageState::Written(spare) = flash.spare(block, page) else { continue };
            let Some((note, name)) = kept.noted(block, page) else { continue };
            if let Some((of, number)) = decode_stored(&note) {
                notes.restore(block, page, &spare, Note { page: Lpn(of), number }, Content(name));
            } else if note.class == Class::Records as u8 || note.class == Class::Checkpoint as u8 {
                let at = spare.owner.0.checked_sub(first).map(|at| at as usize);
                let at = at.filter(|at| *at < image.pages());
                let at = at.ok_or_else(|| KeptError::page(block, page, "is no page of this map's log"))?;
                newest.resize(newest.len().max(at + 1), None);
                if newest[at].is_none_or(|(sequence, ..)| sequence < spare.sequence) {
                    newest[at] = Some((spare.sequence, block, page));
                }
            }
        }
    }
    let page_bytes = empty.lock().log.as_ref().map_or(0, MapLog::page_bytes);
    let mut bytes = vec![0; page_bytes];
    for (at, found) in newest.into_iter().enumerate() {
        let Some((_, block, page)) = found else { continue };
        let note = kept.read_own(block, page, &mut bytes)?;
        let page = decode(&note, &bytes)
            .and_then(|decoded| image.restore(at, decoded).map_err(FormatError::new))
            .map_err(|error| KeptError::page(block, page, error.0));
        page?;
    }
    Ok(image)
}

fn decode(note: &OwnNote, bytes: &[u8]) -> Result<MapPage, FormatError> {
    if note.class == Class::Checkpoint as u8 {
        let (first, number, slots) = decode_checkpoint(note, bytes)?;
        return Ok(MapPage::Checkpoint { first, number, slots });
    }
    let record = |record: MapRecord| Record {
        note: Note { page: Lpn(record.page), number: record.number },
        slot: Some(record.slot).filter(|slot| *slot != NONE),
    };
    Ok(MapPage::Records(decode_records(note, bytes)?.into_iter().map(record).collect()))
}
