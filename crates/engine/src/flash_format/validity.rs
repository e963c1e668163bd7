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

/// Bytes of an entry of the page-validity log: the page, how long after the earliest of its log page it was put in, and how many entries
/// before this one that of the same block is.
const LOG_ENTRY_BYTES: usize = 12;

/// In the note of a run's page: it is the first.
const FIRST: u32 = 1;
/// In the note of a run's page: it is the last.
const LAST: u32 = 2;

/// How things stood when a page was written, as the FTL notes it with each page of its validity store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValidityNote {
    /// What was to be reported because of pages older than this one had been reported.
    pub settled: u64,
    /// No mapping entry was dirty that is older than this page.
    pub horizon: u64,
}

/// What it takes to write and to read the pages of a drive's validity store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidityCodec {
    /// Of a store of runs.
    pub gecko: Option<GeckoConfig>,
    /// Pages of the drive.
    pub pages: u32,
    /// Bytes of each.
    pub page_bytes: u32,
}

/// A page that was read. Of a run, its places and first keys follow from its pages, which `complete` works out.
#[derive(Clone, Debug, PartialEq)]
pub struct DecodedRun {
    /// Pages of the run, on the last page.
    pub pages: u32,
    /// Checksum of the places of the pages before the last, as they were when that was written.
    pub places_crc: u32,
}

impl ValidityCodec {
    /// Writes a page.
    ///
    /// # Errors
    /// What does not fit, or cannot be said in so few bytes.
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

    /// Number of the first entry of a page of the log.
    fn first_entry(&self, number: u32) -> u64 {
        u64::from(number) * (self.page_bytes as usize / LOG_ENTRY_BYTES) as u64
    }

    /// Reads a page whose spare area names `label` for its owner; of the last page of a run, what there is to complete it with.
    ///
    /// # Errors
    /// What no store has written.
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

/// Writes the entries of a page of the log, of which the earliest was put in at that time.
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
        // What is so far back is before the log's first page, where nobody looks.
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

/// What a run's page says of itself: its place and its number of entries; on the first page what the run holds; on the last one that
/// again, how many pages it has, and a checksum of where the others are.
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

/// Checksum of places.
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
    // The lists are put in when all pages of the run are known.
    let nothing = Postamble { preamble: of_run, first_keys: Box::default(), slots: Box::default() };
    page.postamble = Some(Box::new(nothing));
    Ok((page, Some(DecodedRun { pages, places_crc })))
}

impl DecodedRun {
    /// The lists that the last page of a run has in the simulation: its first keys and where its other pages were, from the pages that
    /// were found, in the order of their index: the key that each begins with, and the places that it is at. Of a run whose pages are
    /// not where they were when the last one was written, nobody can say where that was, and nobody asks but whether it is so: its
    /// places are all none.
    pub fn lists(&self, first_keys: &[Option<u64>], places: &[Slot]) -> (Box<[u64]>, Box<[Slot]>) {
        let key = |at: usize| first_keys.get(at).copied().flatten().unwrap_or(0);
        let keys = (0..self.pages as usize).map(key).collect();
        let before = self.pages as usize - 1;
        let unmoved = places.len() == before && places_crc(places) == self.places_crc;
        let slots = if unmoved { places.into() } else { vec![Slot::NONE; before].into() };
        (keys, slots)
    }
}
