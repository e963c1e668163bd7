//! Pages of validity stores.

use super::ftl_pages::PageType;
use super::numbers::{Reader, Writer};
use super::packed::{pack, unpack};
use super::spare::{FormatError, crc};
use crate::nand::MetadataNote;
use crate::units::Slot;
use crate::validity::{
    BitmapPage, GeckoConfig, GeckoPage, ImagePage, LogEntries, LogEntry, LogPage, Postamble, Preamble,
    ValidityPage,
};

/// Bytes of an entry of the page-validity log: the page, its time minus the earliest time in its log page, and the
/// distance to the previous entry of the same block.
const LOG_ENTRY_BYTES: usize = 12;

/// Flag in the note of a run's page: it is the first.
const FIRST: u32 = 1;
/// Flag in the note of a run's page: it is the last.
const LAST: u32 = 2;

/// State of the FTL when a page of its validity store was written, stored with the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidityNote {
    /// All reports caused by pages older than this sequence number had been made.
    pub reported_before: u64,
    /// No dirty mapping entry referred to a page older than this sequence number.
    pub horizon: u64,
}

/// Parameters for encoding and decoding the pages of a drive's validity store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidityCodec {
    /// Configuration of a store of runs (Logarithmic Gecko).
    pub gecko: Option<GeckoConfig>,
    /// Number of pages of the drive.
    pub pages: u32,
    /// Bytes per page.
    pub page_bytes: u32,
}

/// Data of a run's last page that is needed to reconstruct the run's locations and first keys from its other pages.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedRun {
    /// Number of pages in the run.
    pub pages: u32,
    /// Checksum of the locations of all pages before the last, at the time when the last page was written.
    pub slots_crc: u32,
}

impl ValidityCodec {
    /// Encodes a page.
    ///
    /// # Errors
    /// Fails for data that does not fit or cannot be represented.
    pub fn encode(
        &self,
        page: &ValidityPage,
        state: ValidityNote,
        bytes: &mut [u8],
    ) -> Result<MetadataNote, FormatError> {
        let class = match page {
            ValidityPage::Bitmap(_) => PageType::Bitmap,
            ValidityPage::Log(_) => PageType::Log,
            ValidityPage::Gecko(_) => PageType::Gecko,
            ValidityPage::Image(_) => PageType::Image,
        };
        let mut note = MetadataNote::new(class as u8);
        let mut writer = Writer(&mut note.bytes);
        writer.u64(state.reported_before);
        writer.u64(state.horizon);
        match page {
            ValidityPage::Bitmap(page) => write_words(&page.words, bytes)?,
            ValidityPage::Image(page) => {
                writer.u64(page.image);
                writer.u32(page.pages);
                write_words(&page.words, bytes)?;
            }
            ValidityPage::Log(page) => {
                writer.u32(page.oldest);
                writer.u64(page.written);
                writer.u32(page.entries.len() as u32);
                let earliest = page.entries.iter().map(|entry| entry.time).min().unwrap_or(0);
                writer.u64(earliest);
                write_log(page, earliest, bytes)?;
            }
            ValidityPage::Gecko(page) => {
                let config = self.gecko.ok_or_else(|| FormatError::new("the store has no runs"))?;
                let entries = pack(&config, &page.entries, bytes)?;
                write_run_note(page, entries, &mut writer);
            }
        }
        Ok(note)
    }

    /// Returns the number of the first entry of a page of the log.
    fn first_entry(&self, number: u32) -> u64 {
        u64::from(number) * (self.page_bytes as usize / LOG_ENTRY_BYTES) as u64
    }

    /// Decodes a page whose spare area contains `label` as owner; for the last page of a run, also returns the data
    /// to complete it.
    ///
    /// # Errors
    /// Fails for contents that no store writes.
    pub fn decode(
        &self,
        note: &MetadataNote,
        label: u32,
        bytes: &mut [u8],
    ) -> Result<(ValidityPage, ValidityNote, Option<DecodedRun>), FormatError> {
        let mut reader = Reader(&note.bytes);
        let state = ValidityNote { reported_before: reader.u64(), horizon: reader.u64() };
        let mut run = None;
        let page = match PageType::from_number(note.class)? {
            PageType::Bitmap => ValidityPage::Bitmap(BitmapPage { index: label, words: self.words(bytes)? }),
            PageType::Image => {
                let (image, pages) = (reader.u64(), reader.u32());
                if label >= pages {
                    return Err(FormatError(format!("page {label} of a bitmap of {pages} pages")));
                }
                ValidityPage::Image(ImagePage { image, index: label, pages, words: self.words(bytes)? })
            }
            PageType::Log => {
                let (oldest, written) = (reader.u32(), reader.u64());
                let (entries, earliest) = (reader.u32(), reader.u64());
                let entries = self.log_entries(label, earliest, entries, bytes)?;
                ValidityPage::Log(LogPage { number: label, oldest, written, entries })
            }
            PageType::Gecko => {
                let config = self.gecko.ok_or_else(|| FormatError::new("the store has no runs"))?;
                let (page, last) = read_run(&config, label, &mut reader, bytes)?;
                run = last;
                ValidityPage::Gecko(page)
            }
            other => {
                return Err(FormatError(format!(
                    "it is a {}, where a page of a validity store should be",
                    other.name()
                )));
            }
        };
        Ok((page, state, run))
    }

    fn words(&self, bytes: &[u8]) -> Result<Box<[u64]>, FormatError> {
        let bits = 8 * u64::from(self.page_bytes);
        if bytes.len() != self.page_bytes as usize {
            return Err(FormatError(format!("a bitmap of {} bytes", bytes.len())));
        }
        let mut words = vec![0; bits.div_ceil(64) as usize];
        for (at, byte) in bytes.iter().enumerate() {
            words[at / 8] |= u64::from(*byte) << (8 * (at % 8));
        }
        Ok(words.into())
    }

    fn log_entries(
        &self,
        number: u32,
        earliest: u64,
        entries: u32,
        bytes: &[u8],
    ) -> Result<LogEntries, FormatError> {
        if entries as usize * LOG_ENTRY_BYTES > bytes.len() {
            return Err(FormatError(format!("{entries} entries do not fit in {} bytes", bytes.len())));
        }
        let first = self.first_entry(number);
        let entry = |(number, bytes): (u64, &[u8])| {
            let mut reader = Reader(bytes);
            let (page, time_offset, distance) = (Slot(reader.u32()), reader.u32(), reader.u32());
            let time = earliest.checked_add(time_offset.into()).filter(|_| page.0 < self.pages);
            let time =
                time.ok_or_else(|| FormatError::new("an entry of the log is of no page or no time"))?;
            let previous = match distance {
                0 => u64::MAX,
                back => number
                    .checked_sub(back.into())
                    .ok_or_else(|| FormatError::new("an entry of the log follows none"))?,
            };
            Ok(LogEntry { page, time, previous })
        };
        let bytes = bytes.chunks_exact(LOG_ENTRY_BYTES).take(entries as usize);
        let entries: Result<Vec<LogEntry>, FormatError> = (first..).zip(bytes).map(entry).collect();
        Ok(LogEntries::new(first, &entries?))
    }
}

/// Writes the entries of a page of the log; `earliest` is the earliest time of an entry.
fn write_log(page: &LogPage, earliest: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
    let (entries, capacity) = (page.entries.len(), bytes.len());
    if entries * LOG_ENTRY_BYTES > capacity {
        return Err(FormatError(format!("{entries} entries do not fit in {capacity} bytes")));
    }
    bytes.fill(0);
    let numbered = (page.entries.first()..).zip(page.entries.iter());
    for (entry_bytes, (number, entry)) in bytes.chunks_exact_mut(LOG_ENTRY_BYTES).zip(numbered) {
        let time_offset = u32::try_from(entry.time - earliest)
            .map_err(|_| FormatError::new("the entries of a page of the log are too far from each other"))?;
        // An entry at this distance is before the log's first page and is never needed.
        let distance = number.checked_sub(entry.previous).and_then(|back| u32::try_from(back).ok());
        let mut writer = Writer(entry_bytes);
        [entry.page.0, time_offset, distance.unwrap_or(0)].into_iter().for_each(|number| writer.u32(number));
    }
    Ok(())
}

fn write_words(words: &[u64], bytes: &mut [u8]) -> Result<(), FormatError> {
    if words.len() != bytes.len().div_ceil(8) {
        return Err(FormatError(format!("{} words do not fill {} bytes", words.len(), bytes.len())));
    }
    for (word_bytes, word) in bytes.chunks_mut(8).zip(words) {
        word_bytes.copy_from_slice(&word.to_le_bytes()[..word_bytes.len()]);
    }
    Ok(())
}

/// Writes the note of a run's page: its index and number of entries. The first and the last page also have the run's
/// preamble. The last page also has the number of pages and a checksum of the other pages' locations.
fn write_run_note(page: &GeckoPage, entries: u32, writer: &mut Writer<'_>) {
    let preamble = page.preamble.or(page.postamble.as_ref().map(|last| last.preamble));
    let flags =
        if page.preamble.is_some() { FIRST } else { 0 } | if page.postamble.is_some() { LAST } else { 0 };
    [page.index, entries, flags].into_iter().for_each(|number| writer.u32(number));
    let Some(Preamble { level, created, flushes: covers }) = preamble else { return };
    writer.u32(level);
    [created, covers.0, covers.1].into_iter().for_each(|number| writer.u64(number));
    if let Some(last) = &page.postamble {
        writer.u32(last.first_keys.len() as u32);
        writer.u32(slots_crc(&last.slots));
    }
}

/// Returns the checksum of locations.
fn slots_crc(slots: &[Slot]) -> u32 {
    let bytes: Vec<u8> = slots.iter().flat_map(|slot| slot.0.to_le_bytes()).collect();
    crc(&bytes)
}

fn read_run(
    config: &GeckoConfig,
    run: u32,
    reader: &mut Reader<'_>,
    bytes: &mut [u8],
) -> Result<(GeckoPage, Option<DecodedRun>), FormatError> {
    let (index, entries, flags) = (reader.u32(), reader.u32(), reader.u32());
    let entries = unpack(config, entries, bytes)?.into();
    let run_preamble =
        Preamble { level: reader.u32(), created: reader.u64(), flushes: (reader.u64(), reader.u64()) };
    if u64::from(index) > config.max_entries() || run_preamble.flushes.0 > run_preamble.flushes.1 {
        return Err(FormatError(format!(
            "page {index} of a run that holds flushes {:?}",
            run_preamble.flushes
        )));
    }
    let preamble = (flags & FIRST != 0).then_some(run_preamble);
    let (pages, slots_crc) = (reader.u32(), reader.u32());
    let mut page = GeckoPage { run, index, preamble, postamble: None, entries };
    if flags & LAST == 0 {
        return Ok((page, None));
    }
    if pages != index + 1 {
        return Err(FormatError(format!("page {index} is the last of a run of {pages}")));
    }
    // The lists are added when all pages of the run are known.
    let empty_postamble =
        Postamble { preamble: run_preamble, first_keys: Box::default(), slots: Box::default() };
    page.postamble = Some(Box::new(empty_postamble));
    Ok((page, Some(DecodedRun { pages, slots_crc })))
}

impl DecodedRun {
    /// Returns the lists that the last page of a run has in the simulation: the first keys and the locations of the
    /// other pages. `first_keys` and `found_slots` are those of the pages found, in the order of their index. If pages
    /// have moved since the last page was written, the old locations are unknown, and all locations are returned as
    /// [`Slot::NONE`]; callers only need to know that pages have moved.
    pub fn postamble_lists(
        &self,
        first_keys: &[Option<u64>],
        found_slots: &[Slot],
    ) -> (Box<[u64]>, Box<[Slot]>) {
        let key = |at: usize| first_keys.get(at).copied().flatten().unwrap_or(0);
        let keys = (0..self.pages as usize).map(key).collect();
        let before = self.pages as usize - 1;
        let is_unmoved = found_slots.len() == before && slots_crc(found_slots) == self.slots_crc;
        let slots = if is_unmoved { found_slots.into() } else { vec![Slot::NONE; before].into() };
        (keys, slots)
    }
}
