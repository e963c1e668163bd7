//! Pages of validity stores.

use super::numbers::{Reader, Writer};
use super::own::Class;
use super::packed::{pack, unpack};
use super::spare::{FormatError, crc};
use crate::nand::OwnNote;
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
    pub settled: u64,
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
    pub places_crc: u32,
}

impl ValidityCodec {
    /// Encodes a page.
    ///
    /// # Errors
    /// Fails for data that does not fit or cannot be represented.
    pub fn encode(
        &self,
        page: &ValidityPage,
        stood: ValidityNote,
        bytes: &mut [u8],
    ) -> Result<OwnNote, FormatError> {
        let class = match page {
            ValidityPage::Bitmap(_) => Class::Bitmap,
            ValidityPage::Log(_) => Class::Log,
            ValidityPage::Gecko(_) => Class::Gecko,
            ValidityPage::Image(_) => Class::Image,
        };
        let mut note = OwnNote::new(class as u8);
        let mut writer = Writer(&mut note.bytes);
        writer.u64(stood.settled);
        writer.u64(stood.horizon);
        match page {
            ValidityPage::Bitmap(page) => put_words(&page.words, bytes)?,
            ValidityPage::Image(page) => {
                writer.u64(page.image);
                writer.u32(page.pages);
                put_words(&page.words, bytes)?;
            }
            ValidityPage::Log(page) => {
                writer.u32(page.oldest);
                writer.u64(page.written);
                writer.u32(page.entries.len() as u32);
                let earliest = page.entries.iter().map(|entry| entry.time).min().unwrap_or(0);
                writer.u64(earliest);
                put_log(page, earliest, bytes)?;
            }
            ValidityPage::Gecko(page) => {
                let config = self.gecko.ok_or_else(|| FormatError::new("the store has no runs"))?;
                let entries = pack(&config, &page.entries, bytes)?;
                put_run(page, entries, &mut writer);
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
        note: &OwnNote,
        label: u32,
        bytes: &mut [u8],
    ) -> Result<(ValidityPage, ValidityNote, Option<DecodedRun>), FormatError> {
        let mut reader = Reader(&note.bytes);
        let stood = ValidityNote { settled: reader.u64(), horizon: reader.u64() };
        let mut run = None;
        let page = match Class::of(note.class)? {
            Class::Bitmap => ValidityPage::Bitmap(BitmapPage { index: label, words: self.words(bytes)? }),
            Class::Image => {
                let (image, pages) = (reader.u64(), reader.u32());
                if label >= pages {
                    return Err(FormatError(format!("page {label} of a bitmap of {pages} pages")));
                }
                ValidityPage::Image(ImagePage { image, index: label, pages, words: self.words(bytes)? })
            }
            Class::Log => {
                let (oldest, written) = (reader.u32(), reader.u64());
                let (entries, earliest) = (reader.u32(), reader.u64());
                let entries = self.log_entries(label, earliest, entries, bytes)?;
                ValidityPage::Log(LogPage { number: label, oldest, written, entries })
            }
            Class::Gecko => {
                let config = self.gecko.ok_or_else(|| FormatError::new("the store has no runs"))?;
                let (page, last) = take_run(&config, label, &mut reader, bytes)?;
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
        Ok((page, stood, run))
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
            let (page, later, back) = (Slot(reader.u32()), reader.u32(), reader.u32());
            let time = earliest.checked_add(later.into()).filter(|_| page.0 < self.pages);
            let time =
                time.ok_or_else(|| FormatError::new("an entry of the log is of no page or no time"))?;
            let previous = match back {
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
fn put_log(page: &LogPage, earliest: u64, bytes: &mut [u8]) -> Result<(), FormatError> {
    let (entries, room) = (page.entries.len(), bytes.len());
    if entries * LOG_ENTRY_BYTES > room {
        return Err(FormatError(format!("{entries} entries do not fit in {room} bytes")));
    }
    bytes.fill(0);
    let numbered = (page.entries.first()..).zip(page.entries.iter());
    for (place, (number, entry)) in bytes.chunks_exact_mut(LOG_ENTRY_BYTES).zip(numbered) {
        let later = u32::try_from(entry.time - earliest)
            .map_err(|_| FormatError::new("the entries of a page of the log are too far from each other"))?;
        // An entry so far back is before the log's first page, and is never needed.
        let back = number.checked_sub(entry.previous).and_then(|back| u32::try_from(back).ok());
        let mut writer = Writer(place);
        [entry.page.0, later, back.unwrap_or(0)].into_iter().for_each(|number| writer.u32(number));
    }
    Ok(())
}

fn put_words(words: &[u64], bytes: &mut [u8]) -> Result<(), FormatError> {
    if words.len() != bytes.len().div_ceil(8) {
        return Err(FormatError(format!("{} words do not fill {} bytes", words.len(), bytes.len())));
    }
    for (place, word) in bytes.chunks_mut(8).zip(words) {
        place.copy_from_slice(&word.to_le_bytes()[..place.len()]);
    }
    Ok(())
}

/// Writes the note of a run's page: its index and number of entries. The first and the last page also have the run's
/// preamble. The last page also has the number of pages and a checksum of the other pages' locations.
fn put_run(page: &GeckoPage, entries: u32, writer: &mut Writer<'_>) {
    let preamble = page.preamble.or(page.postamble.as_ref().map(|last| last.preamble));
    let flags =
        if page.preamble.is_some() { FIRST } else { 0 } | if page.postamble.is_some() { LAST } else { 0 };
    [page.index, entries, flags].into_iter().for_each(|number| writer.u32(number));
    let Some(Preamble { level, created, covers }) = preamble else { return };
    writer.u32(level);
    [created, covers.0, covers.1].into_iter().for_each(|number| writer.u64(number));
    if let Some(last) = &page.postamble {
        writer.u32(last.first_keys.len() as u32);
        writer.u32(places_crc(&last.slots));
    }
}

/// Returns the checksum of locations.
fn places_crc(slots: &[Slot]) -> u32 {
    let bytes: Vec<u8> = slots.iter().flat_map(|slot| slot.0.to_le_bytes()).collect();
    crc(&bytes)
}

fn take_run(
    config: &GeckoConfig,
    run: u32,
    reader: &mut Reader<'_>,
    bytes: &mut [u8],
) -> Result<(GeckoPage, Option<DecodedRun>), FormatError> {
    let (index, entries, flags) = (reader.u32(), reader.u32(), reader.u32());
    let entries = unpack(config, entries, bytes)?.into();
    let of_run =
        Preamble { level: reader.u32(), created: reader.u64(), covers: (reader.u64(), reader.u64()) };
    if u64::from(index) > config.most_entries() || of_run.covers.0 > of_run.covers.1 {
        return Err(FormatError(format!("page {index} of a run that holds flushes {:?}", of_run.covers)));
    }
    let preamble = (flags & FIRST != 0).then_some(of_run);
    let (pages, places_crc) = (reader.u32(), reader.u32());
    let mut page = GeckoPage { run, index, preamble, postamble: None, entries };
    if flags & LAST == 0 {
        return Ok((page, None));
    }
    if pages != index + 1 {
        return Err(FormatError(format!("page {index} is the last of a run of {pages}")));
    }
    // The lists are added when all pages of the run are known.
    let nothing = Postamble { preamble: of_run, first_keys: Box::default(), slots: Box::default() };
    page.postamble = Some(Box::new(nothing));
    Ok((page, Some(DecodedRun { pages, places_crc })))
}

impl DecodedRun {
    /// Returns the lists that the last page of a run has in the simulation: the first keys and the locations of the
    /// other pages. `first_keys` and `places` are those of the pages found, in the order of their index. If pages have
    /// moved since the last page was written, the old locations are unknown, and all are returned as [`Slot::NONE`];
    /// only this fact is needed.
    pub fn lists(&self, first_keys: &[Option<u64>], places: &[Slot]) -> (Box<[u64]>, Box<[Slot]>) {
        let key = |at: usize| first_keys.get(at).copied().flatten().unwrap_or(0);
        let keys = (0..self.pages as usize).map(key).collect();
        let before = self.pages as usize - 1;
        let unmoved = places.len() == before && places_crc(places) == self.places_crc;
        let slots = if unmoved { places.into() } else { vec![Slot::NONE; before].into() };
        (keys, slots)
    }
}
