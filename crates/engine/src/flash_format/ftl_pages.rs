//! Metadata pages of an FTL, except those of a validity store: pages of the translation table and of the deduplication
//! map.

use super::numbers::{Reader, Writer};
use super::spare::{DATA, FormatError};
use crate::nand::MetadataNote;
use crate::units::Slot;

/// Types of an FTL's metadata pages, with their numbers in the spare area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum PageType {
    /// A version of a translation page.
    Translation = 2,
    /// A node of a tree over translation pages.
    Node = 3,
    /// A page of the validity bitmap in flash.
    Bitmap = 4,
    /// A page of the page-validity log.
    Log = 5,
    /// A page of a run of Logarithmic Gecko.
    Gecko = 6,
    /// A page of a validity bitmap in RAM, saved at a power failure.
    Image = 7,
    /// A page of the log of the deduplication map.
    Records = 8,
    /// A page of a checkpoint of the deduplication map.
    Checkpoint = 9,
}

impl PageType {
    /// All types.
    pub const ALL: [PageType; 8] = [
        PageType::Translation,
        PageType::Node,
        PageType::Bitmap,
        PageType::Log,
        PageType::Gecko,
        PageType::Image,
        PageType::Records,
        PageType::Checkpoint,
    ];

    /// Returns the type with this number.
    ///
    /// # Errors
    /// Fails if there is no such type.
    pub fn from_number(number: u8) -> Result<Self, FormatError> {
        let found = PageType::ALL.into_iter().find(|class| *class as u8 == number);
        found.ok_or_else(|| FormatError(format!("its spare area names class {number}, which there is not")))
    }

    /// Returns the name of the type for messages.
    pub fn name(self) -> &'static str {
        match self {
            PageType::Translation => "translation page",
            PageType::Node => "node of the translation tree",
            PageType::Bitmap => "validity bitmap",
            PageType::Log => "validity log",
            PageType::Gecko => "run of Logarithmic Gecko",
            PageType::Image => "saved validity bitmap",
            PageType::Records => "log of the map of equal pages",
            PageType::Checkpoint => "checkpoint of the map of equal pages",
        }
    }
}

/// Writes a sequence of addresses, which must fit.
fn write_slots(slots: &[Slot], page: &mut [u8]) -> Result<(), FormatError> {
    if 4 * slots.len() > page.len() {
        return Err(FormatError(format!("{} addresses do not fit in {} bytes", slots.len(), page.len())));
    }
    page.fill(0);
    for (target, slot) in page.chunks_exact_mut(4).zip(slots) {
        target.copy_from_slice(&slot.0.to_le_bytes());
    }
    Ok(())
}

/// Reads `count` addresses, of a drive with `pages` pages.
fn read_slots(count: usize, pages: u32, page: &[u8]) -> Result<Vec<Slot>, FormatError> {
    if 4 * count > page.len() {
        return Err(FormatError(format!("{count} addresses do not fit in {} bytes", page.len())));
    }
    let (numbers, _) = page.as_chunks::<4>();
    let slots: Vec<Slot> = numbers[..count].iter().map(|bytes| Slot(u32::from_le_bytes(*bytes))).collect();
    match slots.iter().find(|slot| **slot != Slot::NONE && slot.0 >= pages) {
        Some(slot) => Err(FormatError(format!("it has address {} on a drive of {pages} pages", slot.0))),
        None => Ok(slots),
    }
}

/// Encodes a version of a translation page: as many addresses as fit.
///
/// # Errors
/// Fails if there are more entries than fit.
pub fn encode_translation(entries: &[Slot], page: &mut [u8]) -> Result<MetadataNote, FormatError> {
    write_slots(entries, page)?;
    Ok(MetadataNote::new(PageType::Translation as u8))
}

/// Decodes a translation page of `entries` entries, on a drive of `pages` pages.
///
/// # Errors
/// Fails for a page of another type, or for invalid addresses.
pub fn decode_translation(
    note: &MetadataNote,
    page: &[u8],
    entries: u32,
    pages: u32,
) -> Result<Vec<Slot>, FormatError> {
    check_type(note, PageType::Translation)?;
    read_slots(entries as usize, pages, page)
}

/// Encodes a node: its children's addresses, whose keys follow from the node's number.
///
/// # Errors
/// Fails if there are more children than fit.
pub fn encode_node(children: &[Slot], page: &mut [u8]) -> Result<MetadataNote, FormatError> {
    write_slots(children, page)?;
    let mut note = MetadataNote::new(PageType::Node as u8);
    Writer(&mut note.bytes).u32(children.len() as u32);
    Ok(note)
}

/// Decodes a node, on a drive of `pages` pages.
///
/// # Errors
/// Fails for a page of another type, or for invalid addresses.
pub fn decode_node(note: &MetadataNote, page: &[u8], pages: u32) -> Result<Vec<Slot>, FormatError> {
    check_type(note, PageType::Node)?;
    read_slots(Reader(&note.bytes).u32() as usize, pages, page)
}

/// Rejects a page of another type.
fn check_type(note: &MetadataNote, expected: PageType) -> Result<(), FormatError> {
    let found = PageType::from_number(note.class)?;
    if found == expected {
        return Ok(());
    }
    Err(FormatError(format!("it is a {}, where a {} should be", found.name(), expected.name())))
}

/// Bytes of a change of the deduplication map: logical page, slot, and the change's number minus the lowest number in
/// its page.
const RECORD_BYTES: usize = 12;

/// A change of the deduplication map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapRecord {
    /// The logical page.
    pub page: u32,
    /// The new slot; [`u32::MAX`] for none.
    pub slot: u32,
    /// Number of the change among all changes.
    pub number: u64,
}

/// Encodes a page of the log of the deduplication map.
///
/// # Errors
/// Fails if there are more changes than fit, or if their numbers differ too much.
pub fn encode_records(records: &[MapRecord], page: &mut [u8]) -> Result<MetadataNote, FormatError> {
    if records.len() * RECORD_BYTES > page.len() {
        return Err(FormatError(format!("{} changes do not fit in {} bytes", records.len(), page.len())));
    }
    page.fill(0);
    let lowest = records.iter().map(|record| record.number).min().unwrap_or(0);
    for (target, record) in page.chunks_exact_mut(RECORD_BYTES).zip(records) {
        let offset = u32::try_from(record.number - lowest)
            .map_err(|_| FormatError::new("the changes of a page are too far from each other"))?;
        let mut writer = Writer(target);
        [record.page, record.slot, offset].into_iter().for_each(|number| writer.u32(number));
    }
    let mut note = MetadataNote::new(PageType::Records as u8);
    let mut writer = Writer(&mut note.bytes);
    writer.u32(records.len() as u32);
    writer.u64(lowest);
    Ok(note)
}

/// Decodes a page of the log of the deduplication map.
///
/// # Errors
/// Fails for a page of another type, or for more changes than fit.
pub fn decode_records(note: &MetadataNote, page: &[u8]) -> Result<Vec<MapRecord>, FormatError> {
    check_type(note, PageType::Records)?;
    let mut reader = Reader(&note.bytes);
    let (count, lowest) = (reader.u32() as usize, reader.u64());
    if count * RECORD_BYTES > page.len() {
        return Err(FormatError(format!("{count} changes do not fit in {} bytes", page.len())));
    }
    let record = |bytes: &[u8]| {
        let mut reader = Reader(bytes);
        let (page, slot) = (reader.u32(), reader.u32());
        MapRecord { page, slot, number: lowest.saturating_add(reader.u32().into()) }
    };
    Ok(page.chunks_exact(RECORD_BYTES).take(count).map(record).collect())
}

/// Encodes a page of a checkpoint of the deduplication map: the slots of logical pages from `first` on, as of change
/// `number`.
///
/// # Errors
/// Fails if there are more slots than fit.
pub fn encode_checkpoint(
    first: u32,
    number: u64,
    slots: &[u32],
    page: &mut [u8],
) -> Result<MetadataNote, FormatError> {
    if 4 * slots.len() > page.len() {
        return Err(FormatError(format!("{} slots do not fit in {} bytes", slots.len(), page.len())));
    }
    page.fill(0);
    for (target, slot) in page.chunks_exact_mut(4).zip(slots) {
        target.copy_from_slice(&slot.to_le_bytes());
    }
    let mut note = MetadataNote::new(PageType::Checkpoint as u8);
    let mut writer = Writer(&mut note.bytes);
    writer.u32(first);
    writer.u32(slots.len() as u32);
    writer.u64(number);
    Ok(note)
}

/// Decodes a page of a checkpoint: first page, number, slots.
///
/// # Errors
/// Fails for a page of another type, or for more slots than fit.
pub fn decode_checkpoint(note: &MetadataNote, page: &[u8]) -> Result<(u32, u64, Vec<u32>), FormatError> {
    check_type(note, PageType::Checkpoint)?;
    let mut reader = Reader(&note.bytes);
    let (first, count, number) = (reader.u32(), reader.u32() as usize, reader.u64());
    if 4 * count > page.len() {
        return Err(FormatError(format!("{count} slots do not fit in {} bytes", page.len())));
    }
    let (numbers, _) = page.as_chunks::<4>();
    Ok((first, number, numbers[..count].iter().map(|bytes| u32::from_le_bytes(*bytes)).collect()))
}

/// Encodes the note in the spare area of a user page with deduplication: the logical page for which it was written,
/// and the number of the map change.
pub fn encode_dedup_note(page: u32, number: u64) -> MetadataNote {
    let mut note = MetadataNote::new(DATA);
    let mut writer = Writer(&mut note.bytes);
    writer.u32(1);
    writer.u32(page);
    writer.u64(number);
    note
}

/// Decodes the note of [`encode_dedup_note`]: page and number; `None` for a page without this note.
pub fn decode_dedup_note(note: &MetadataNote) -> Option<(u32, u64)> {
    let mut reader = Reader(&note.bytes);
    let (has_note, page, number) = (reader.u32(), reader.u32(), reader.u64());
    (note.class == DATA && has_note == 1).then_some((page, number))
}
