//! Directories: files whose blocks are metadata pages on NVRAM, filled with records.
//!
//! A position is an offset from the start of a directory in units of 8 bytes. Entries never move, so a position
//! identifies an entry as long as the entry exists. A block is freed together with its last entry, so any block may
//! be missing; a new block takes the first free block number.

use super::record::{self, HEAD_BYTES, Record};
use crate::api::{BLOCK_BYTES, Error, Ino, Kind, Result};
use crate::layout::{Field, MAX_DIRECTORY_BLOCKS, PageId};
use crate::nvram::Nvram;
use crate::store::Region;

/// Number of positions per block.
const POSITIONS: u32 = (BLOCK_BYTES / HEAD_BYTES) as u32;

/// Entry found by a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FoundEntry {
    /// Position of the entry in the directory.
    pub position: u32,
    /// Inode number of the file.
    pub ino: Ino,
}

/// Free record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    /// Position of the record in the directory.
    pub position: u32,
    /// Length of the record, bytes.
    pub bytes: usize,
}

/// Returns the position of the byte at offset `at` of a block.
pub(super) fn position(block: u32, at: usize) -> u32 {
    block * POSITIONS + (at / HEAD_BYTES) as u32
}

/// Returns the block that contains a position.
pub(super) fn block_of(position: u32) -> u32 {
    position / POSITIONS
}

/// Returns the byte offset of a position within its block.
pub(super) fn byte_of(position: u32) -> usize {
    (position % POSITIONS) as usize * HEAD_BYTES
}

/// Returns the number of blocks of a directory.
pub(super) fn blocks_of<N: Nvram>(region: &Region<N>, dir: Ino) -> Result<u32> {
    let size_bytes = region.word(region.field(dir, Field::Size)?);
    Ok((size_bytes / BLOCK_BYTES as u64).min(MAX_DIRECTORY_BLOCKS.into()) as u32)
}

/// Returns the page of a block of a directory.
pub(super) fn page_of<N: Nvram>(region: &Region<N>, dir: Ino, block: u32) -> Result<Option<PageId>> {
    match region.pointer_at(dir, block.into())? {
        Some(at) => region.pointer_page(at),
        None => Ok(None),
    }
}

/// Returns the first existing block in `from..end`, and its page.
pub(super) fn next_page<N: Nvram>(
    region: &Region<N>,
    dir: Ino,
    from: u32,
    end: u32,
) -> Result<Option<(u32, PageId)>> {
    let Some(block) = region.next_block(dir, from.into(), end.into(), true)? else { return Ok(None) };
    let block = block as u32;
    Ok(page_of(region, dir, block)?.map(|page| (block, page)))
}

fn damaged(dir: Ino, block: u32, at: usize) -> Error {
    Error::Damaged(format!("directory {} has a bad entry at byte {at} of block {block}", dir.0))
}

/// Returns the records of a directory page, up to the first malformed record. If the checksum of the page is wrong,
/// yields only an error.
pub(super) fn records_of<N: Nvram>(
    region: &Region<N>,
    dir: Ino,
    block: u32,
    page: PageId,
) -> impl Iterator<Item = Result<Record<'_>>> {
    let mut unsound = region.verified_page(page).err();
    let (bytes, inodes) = (region.page(page), region.inode_limit());
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= BLOCK_BYTES {
            return None;
        }
        let record = match unsound.take() {
            Some(error) => Err(error),
            None => record::record_at(bytes, at, inodes).map_err(|bad| damaged(dir, block, bad.at)),
        };
        at = record.as_ref().map_or(BLOCK_BYTES, |record| record.at + record.length);
        Some(record)
    })
}

/// Calls `each` for the records from position `from` on, until it returns a value.
pub(super) fn walk<N: Nvram, T>(
    region: &Region<N>,
    dir: Ino,
    from: u32,
    each: impl FnMut(u32, Record<'_>) -> Option<T>,
) -> Result<Option<T>> {
    let end = blocks_of(region, dir)?;
    walk_pages(region, dir, from, |next| next_page(region, dir, next, end), each)
}

/// Does what [`walk`] does, with a function `next_page` that finds the blocks: it returns the first existing block
/// from a given number on, and the page of this block.
fn walk_pages<N: Nvram, T>(
    region: &Region<N>,
    dir: Ino,
    from: u32,
    mut next_page: impl FnMut(u32) -> Result<Option<(u32, PageId)>>,
    mut each: impl FnMut(u32, Record<'_>) -> Option<T>,
) -> Result<Option<T>> {
    let mut next = block_of(from);
    while let Some((block, page)) = next_page(next)? {
        for record in records_of(region, dir, block, page) {
            let record = record?;
            let position = position(block, record.at);
            if position >= from
                && let Some(value) = each(position, record)
            {
                return Ok(Some(value));
            }
        }
        next = block + 1;
    }
    Ok(None)
}

/// Finds a name by a linear search.
pub(super) fn find<N: Nvram>(region: &Region<N>, dir: Ino, name: &[u8]) -> Result<Option<FoundEntry>> {
    walk(region, dir, 0, |position, record| {
        let (ino, _, _) = record.entry.filter(|(_, _, other)| *other == name)?;
        Some(FoundEntry { position, ino })
    })
}

/// Returns the first free record of at least `bytes` bytes, by a linear search.
pub(super) fn find_slot<N: Nvram>(region: &Region<N>, dir: Ino, bytes: usize) -> Result<Option<Slot>> {
    walk(region, dir, 0, |position, record| slot_of(position, record, bytes))
}

fn slot_of(position: u32, record: Record<'_>, bytes: usize) -> Option<Slot> {
    let is_slot = record.entry.is_none() && record.length >= bytes;
    is_slot.then_some(Slot { position, bytes: record.length })
}

/// Returns the first free record of at least `bytes` bytes in a block.
pub(super) fn slot_in<N: Nvram>(
    region: &Region<N>,
    dir: Ino,
    block: u32,
    bytes: usize,
) -> Result<Option<Slot>> {
    let Some(page) = page_of(region, dir, block)? else { return Ok(None) };
    for record in records_of(region, dir, block, page) {
        let record = record?;
        if let Some(slot) = slot_of(position(block, record.at), record, bytes) {
            return Ok(Some(slot));
        }
    }
    Ok(None)
}

/// Returns the size of the largest free record of a block, bytes; 0 if there is none.
pub(super) fn largest_free<N: Nvram>(region: &Region<N>, dir: Ino, block: u32) -> Result<u16> {
    let Some(page) = page_of(region, dir, block)? else { return Ok(0) };
    let mut largest = 0;
    for record in records_of(region, dir, block, page) {
        let record = record?;
        if record.entry.is_none() {
            largest = largest.max(record.length as u16);
        }
    }
    Ok(largest)
}

/// Returns the entry at a position, if it has the given name.
pub(super) fn entry_at<N: Nvram>(
    region: &Region<N>,
    dir: Ino,
    position: u32,
    name: &[u8],
) -> Result<Option<FoundEntry>> {
    let (block, at) = (block_of(position), byte_of(position));
    let Some(page) = page_of(region, dir, block)? else { return Ok(None) };
    let record = record::record_at(region.page(page), at, region.inode_limit())
        .map_err(|bad| damaged(dir, block, bad.at))?;
    let entry = record.entry.filter(|(_, _, other)| *other == name);
    Ok(entry.map(|(ino, _, _)| FoundEntry { position, ino }))
}

/// Returns the offset in NVRAM of the record at a position.
pub(crate) fn address<N: Nvram>(region: &Region<N>, dir: Ino, position: u32) -> Result<usize> {
    let block = block_of(position);
    let page = page_of(region, dir, block)?.ok_or_else(|| damaged(dir, block, byte_of(position)))?;
    Ok(region.areas.page(page) + byte_of(position))
}

/// Returns the run of free records that results from freeing the record at a position: the offset of the run within
/// the block, and its length.
pub(super) fn free_run<N: Nvram>(region: &Region<N>, dir: Ino, at_position: u32) -> Result<(usize, usize)> {
    let (block, offset) = (block_of(at_position), byte_of(at_position));
    let page = page_of(region, dir, block)?.ok_or_else(|| damaged(dir, block, offset))?;
    let (mut start, mut end) = (0, 0);
    for record in records_of(region, dir, block, page) {
        let record = record?;
        let is_free = record.entry.is_none() || record.at == offset;
        if is_free && record.at == end && end > start {
            end = record.at + record.length;
        } else if end > offset {
            break;
        } else if is_free {
            (start, end) = (record.at, record.at + record.length);
        } else {
            (start, end) = (0, 0);
        }
    }
    Ok((start, end - start))
}

/// Returns the number of blocks up to and including the last existing block before `end`.
pub(super) fn blocks_before<N: Nvram>(region: &Region<N>, dir: Ino, end: u32) -> Result<u32> {
    let last = region.last_block(dir, end.into())?;
    Ok(last.map_or(0, |block| block as u32 + 1))
}

/// Returns the blocks that contain only free, well-formed records.
pub(super) fn empty_blocks<N: Nvram>(region: &Region<N>, dir: Ino) -> Result<Vec<u32>> {
    let (mut empty, mut next) = (Vec::new(), 0);
    let end = blocks_of(region, dir)?;
    while let Some((block, page)) = next_page(region, dir, next, end)? {
        let is_free = |record: Result<Record<'_>>| record.is_ok_and(|record| record.entry.is_none());
        if records_of(region, dir, block, page).all(is_free) {
            empty.push(block);
        }
        next = block + 1;
    }
    Ok(empty)
}

/// True if a directory has no entries.
pub(crate) fn is_empty<N: Nvram>(region: &Region<N>, dir: Ino) -> Result<bool> {
    walk(region, dir, 0, |_, record| record.entry.map(|_| ())).map(|found| found.is_none())
}

/// Calls `each` for the entries from position `from` on, until `each` breaks.
pub(crate) fn list<N: Nvram>(
    region: &Region<N>,
    dir: Ino,
    from: u32,
    mut each: impl FnMut(u32, Ino, Kind, &[u8]) -> std::ops::ControlFlow<()>,
) -> Result<()> {
    let end = blocks_of(region, dir)?;
    list_pages(region, dir, from, |next| next_page(region, dir, next, end), &mut each)
}

/// Does what [`list`] does, with a function `next_page` that finds the blocks: it returns the first existing block
/// from a given number on, and the page of this block.
pub(crate) fn list_pages<N: Nvram>(
    region: &Region<N>,
    dir: Ino,
    from: u32,
    next_page: impl FnMut(u32) -> Result<Option<(u32, PageId)>>,
    mut each: impl FnMut(u32, Ino, Kind, &[u8]) -> std::ops::ControlFlow<()>,
) -> Result<()> {
    walk_pages(region, dir, from, next_page, |position, record| {
        let (ino, kind, name) = record.entry?;
        each(position, ino, kind, name).is_break().then_some(())
    })
    .map(|_| ())
}
