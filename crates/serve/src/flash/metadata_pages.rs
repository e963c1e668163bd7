//! Metadata pages of an FTL, read from the files of an image.

use super::files::Files;
use wearwell_engine::flash_format::{PageType, SpareRecord, UNREADABLE, crc};
use wearwell_engine::nand::{MetadataNote, StoredFlashError};
use wearwell_engine::units::BlockId;

/// Reads a page with data of the FTL.
pub fn read_own(
    files: &Files,
    block: BlockId,
    page: u32,
    bytes: &mut [u8],
) -> Result<MetadataNote, StoredFlashError> {
    let slot = u64::from(block.0) * u64::from(files.shape.pages_per_block) + u64::from(page);
    let damaged = |problem: String| StoredFlashError::page(block, page, problem);
    let spare = files.read_spare(slot).map_err(|error| damaged(error.to_string()))?;
    let spare = SpareRecord::decode(&spare).map_err(|error| damaged(error.to_string()))?;
    let spare = spare.ok_or_else(|| damaged("is erased".into()))?;
    if spare.ftl_note.class == UNREADABLE {
        return Err(damaged("was left torn".into()));
    }
    PageType::from_number(spare.ftl_note.class).map_err(|error| damaged(error.to_string()))?;
    let mut whole = vec![0; files.shape.page_bytes as usize];
    files.read_page(slot, &mut whole).map_err(|error| damaged(error.to_string()))?;
    if crc(&whole) != spare.page_crc {
        return Err(damaged("the checksum of its bytes is another".into()));
    }
    if bytes.len() > whole.len() {
        return Err(damaged(format!("has {} bytes, and {} are needed", whole.len(), bytes.len())));
    }
    bytes.copy_from_slice(&whole[..bytes.len()]);
    Ok(spare.ftl_note)
}

/// Returns the note and the content ID in the spare area of a programmed page.
pub fn spare_note(files: &Files, block: BlockId, page: u32) -> Option<(MetadataNote, u64)> {
    let slot = u64::from(block.0) * u64::from(files.shape.pages_per_block) + u64::from(page);
    let spare = SpareRecord::decode(&files.read_spare(slot).ok()?).ok()??;
    (spare.ftl_note.class != UNREADABLE).then_some((spare.ftl_note, spare.content_id))
}
