//! A drive that outlives its process: a folder with the content of its pages and a journal of all requests.
//!
//! A stack is a function of its scenario and its requests, so the journal is the complete state. Opening an image
//! replays all requests and reproduces the same tables, the same wear and the same next victim. The file `pages` has
//! the content of pages in slots. The file `requests` has a head and then entries, each with its checksum:
//!
//! ```text
//! head   magic 8 · version u32 · bytes of a page u32 · length of the scenario u32 · scenario, JSON · CRC-32 of all that
//! note   kind u16 · stream hint of a write u16 · first page u32 · pages u32 · CRC-32 of these;
//!        for a write, per page: name u64 · slot u32 · checksum u64; and the CRC-32 of the pages
//! ```
//!
//! Numbers are little endian. The bytes of a write go to unused slots first; then its entry is written, before the
//! request reaches the simulated flash. So `kill -9` at any instruction leaves at most one incomplete entry at the
//! end, which belongs to a request that was not acknowledged.

use crate::contents::StoredContent;
use crate::error::ImageError;
use rustix::fs::{FlockOperation, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use wearwell_stack::Scenario;

const MAGIC: [u8; 8] = *b"WEARWELL";
/// Version of the format and of the engine's behaviour. It must be increased if the format changes, or if the same
/// requests lead to another state.
const VERSION: u32 = 1;
/// Bytes of an entry, not including the pages of a write.
const ENTRY_BYTES: usize = 16;
/// Bytes for each page in the entry of a write.
const PAGE_BYTES: usize = 20;
/// Maximum size of buffered read entries in bytes. Other entries are written immediately.
const MAX_BUFFERED: usize = 1 << 16;
/// Length limit of the scenario in bytes.
const MAX_SCENARIO_BYTES: u32 = 1 << 24;

/// Bit position of the stream hint in the first number of an entry.
const HINT_SHIFT: u32 = 16;

const WRITE: u32 = 1;
const READ: u32 = 2;
const TRIM: u32 = 3;
const FLUSH: u32 = 4;
const FINISH: u32 = 5;

/// Page of a write in the journal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenPage {
    /// ID under which the flash stores the content of the page.
    pub content_id: u64,
    /// Slot that holds the bytes.
    pub slot: u32,
    /// Checksum of the bytes.
    pub sum: u64,
}

/// Request recorded in the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JournalEntry<'a> {
    /// Write of pages from the given first page on, with a stream hint.
    Write(u32, u16, &'a [WrittenPage]),
    /// Read of pages.
    Read(Range<u32>),
    /// Trim of pages.
    Trim(Range<u32>),
    /// Flush.
    Flush,
    /// Finish of the zone that consists of these pages.
    Finish(Range<u32>),
}

/// Counts of the replay when an image is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplayCounts {
    /// Number of requests that were replayed.
    pub requests: u64,
    /// Bytes of an incomplete entry at the end of the journal.
    pub torn_bytes: u64,
    /// Number of slots in the file of pages whose bytes are damaged.
    pub damaged_slots: u64,
}

/// Open image of a drive.
pub struct Image {
    folder: PathBuf,
    requests: File,
    pages: File,
    /// Bytes of complete entries in the journal.
    length: u64,
    buffered: Vec<u8>,
    /// Pages of the current write, encoded.
    current_write: Vec<u8>,
    /// True if the journal could neither be written nor truncated to its old length, or a sync has failed.
    is_broken: bool,
}

/// Counts of the entries of a journal.
#[derive(Clone, Debug)]
pub struct JournalCounts {
    /// Scenario of the drive.
    pub scenario: Scenario,
    /// Number of entries for writes, reads, trims, flushes and finished zones.
    pub entries: [u64; 5],
    /// Number of pages written.
    pub written_pages: u64,
    /// Bytes of an incomplete entry at the end of the journal.
    pub torn_bytes: u64,
    /// Bytes of the journal and of the file of pages.
    pub bytes: [u64; 2],
}

/// Reads the journal in the folder `at` without changing it, and calls `visit` for every entry.
///
/// # Errors
/// Fails if the journal is missing, in use or damaged. Errors of `visit` are returned.
pub fn read_journal<E: From<ImageError>>(
    at: &Path,
    mut visit: impl FnMut(&JournalEntry<'_>) -> Result<(), E>,
) -> Result<JournalCounts, E> {
    let failed = |problem: String| ImageError::new(&at.join("requests"), problem);
    let io = |error: io::Error| failed(error.to_string());
    let mut file = File::open(at.join("requests")).map_err(io)?;
    flock(&file, FlockOperation::NonBlockingLockShared)
        .map_err(|_| failed("is in use by another process".into()))?;
    let head = read_head(&mut file).map_err(failed)?;
    let scenario = serde_json::from_slice(&head[20..head.len() - 4])
        .map_err(|error| failed(format!("has no scenario that this program knows: {error}")))?;
    let bytes = file.metadata().map_err(io)?.len();
    let pages = std::fs::metadata(at.join("pages")).map_err(io)?.len();
    let mut census =
        JournalCounts { scenario, entries: [0; 5], written_pages: 0, torn_bytes: 0, bytes: [bytes, pages] };
    let mut reader = EntryReader { source: BufReader::with_capacity(1 << 20, file), pages: Vec::new() };
    let mut remaining = bytes - head.len() as u64;
    while remaining > 0 {
        let number = census.entries.iter().sum::<u64>() + 1;
        let read = reader.next(remaining).map_err(io)?;
        let Some((entry, length)) =
            read.map_err(|problem| failed(format!("is damaged: note {number}: {problem}")))?
        else {
            census.torn_bytes = remaining;
            break;
        };
        let kind = match &entry {
            JournalEntry::Write(_, _, pages) => {
                census.written_pages += pages.len() as u64;
                0
            }
            JournalEntry::Read(_) => 1,
            JournalEntry::Trim(_) => 2,
            JournalEntry::Flush => 3,
            JournalEntry::Finish(_) => 4,
        };
        census.entries[kind] += 1;
        visit(&entry)?;
        remaining -= length;
    }
    Ok(census)
}

/// Image whose journal was not replayed yet.
pub struct UnreplayedImage(Image);

impl Image {
    /// True if the folder has a journal.
    pub fn exists(folder: &Path) -> bool {
        folder.join("requests").exists()
    }

    /// Opens the image for a drive of `scenario` in the folder `at`, or creates it. Also returns the file with its
    /// pages.
    ///
    /// # Errors
    /// Fails if the folder contains other files, or if the image belongs to another scenario or version, is in use,
    /// or is damaged.
    pub fn open(
        at: &Path,
        scenario: &Scenario,
        page_bytes: u32,
    ) -> Result<(UnreplayedImage, File), ImageError> {
        let failed = |name: &str, problem: String| ImageError::new(&at.join(name), problem);
        let io = |name: &'static str| move |error: io::Error| failed(name, error.to_string());
        let is_new = !Image::exists(at);
        if is_new {
            std::fs::create_dir_all(at).map_err(io(""))?;
            if std::fs::read_dir(at).map_err(io(""))?.next().is_some() {
                return Err(failed("", "is no image of a drive, and not empty".into()));
            }
        }
        let file = |name: &str| {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(at.join(name))
        };
        // The journal is created last: a folder without a journal is not yet an image.
        let pages = file("pages").map_err(io("pages"))?;
        let head = head(scenario, page_bytes);
        if is_new {
            begin(at, &head).map_err(io("requests"))?;
        }
        let mut requests = file("requests").map_err(io("requests"))?;
        flock(&requests, FlockOperation::NonBlockingLockExclusive)
            .map_err(|_| failed("requests", "is in use by another process".into()))?;
        check_head(&mut requests, &head).map_err(|problem| failed("requests", problem))?;
        let image = Image {
            folder: at.to_owned(),
            requests,
            pages: pages.try_clone().map_err(io("pages"))?,
            length: head.len() as u64,
            buffered: Vec::new(),
            current_write: Vec::new(),
            is_broken: false,
        };
        Ok((UnreplayedImage(image), pages))
    }

    /// Builds the error for a file that could not be read or written.
    pub fn failed(&self, error: io::Error) -> ImageError {
        ImageError::new(&self.folder, error.to_string())
    }

    /// Builds the error for a damaged image.
    pub fn damaged(&self, problem: impl std::fmt::Display) -> ImageError {
        ImageError::new(&self.folder, format!("is damaged: {problem}"))
    }

    /// Returns the length in bytes of the file with the pages.
    ///
    /// # Errors
    /// Fails if the file's metadata cannot be read.
    pub fn page_file_bytes(&self) -> Result<u64, ImageError> {
        self.pages.metadata().map(|of| of.len()).map_err(|error| self.failed(error))
    }

    /// Begins a write, whose pages follow in calls of [`Image::add_page`].
    pub fn begin_write(&mut self) {
        self.current_write.clear();
    }

    /// Adds a page to the current write.
    pub fn add_page(&mut self, content_id: u64, stored: &StoredContent) {
        self.current_write.extend(content_id.to_le_bytes());
        self.current_write.extend(stored.slot.to_le_bytes());
        self.current_write.extend(stored.sum.to_le_bytes());
    }

    /// Records the write of the added pages to the logical pages from `first` on, with a stream hint.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub fn record_write(&mut self, first: u32, hint: u16) -> io::Result<()> {
        let pages = (self.current_write.len() / PAGE_BYTES) as u32;
        self.buffered.extend(encode_entry(WRITE | u32::from(hint) << HINT_SHIFT, first, pages));
        self.buffered.extend(&self.current_write);
        self.buffered.extend(crc32fast::hash(&self.current_write).to_le_bytes());
        self.write_buffered()
    }

    /// Records a read. Reads affect only statistics, so their entries are buffered until an entry of another type is
    /// written.
    pub fn record_read(&mut self, pages: Range<u32>) {
        self.buffered.extend(encode_entry(READ, pages.start, pages.end - pages.start));
        if self.buffered.len() >= MAX_BUFFERED {
            // Recording a read may fail silently: the next write reports the error.
            let _ = self.write_buffered();
        }
    }

    /// Records a request other than a write.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub fn record(&mut self, entry: JournalEntry<'_>) -> io::Result<()> {
        match entry {
            JournalEntry::Write(..) => unreachable!("writes are noted page by page"),
            JournalEntry::Read(pages) => self.record_read(pages),
            JournalEntry::Trim(pages) => {
                self.buffered.extend(encode_entry(TRIM, pages.start, pages.end - pages.start))
            }
            JournalEntry::Flush => self.buffered.extend(encode_entry(FLUSH, 0, 0)),
            JournalEntry::Finish(pages) => {
                self.buffered.extend(encode_entry(FINISH, pages.start, pages.end - pages.start))
            }
        }
        self.write_buffered()
    }

    /// Writes either all buffered entries or none.
    fn write_buffered(&mut self) -> io::Result<()> {
        if self.is_broken {
            return Err(io::Error::other("the journal of the image could not be written before"));
        }
        let written = self.requests.write_all(&self.buffered);
        match written {
            Ok(()) => self.length += self.buffered.len() as u64,
            Err(_) => {
                let cut = self.requests.set_len(self.length);
                let restored = self.requests.seek(SeekFrom::Start(self.length));
                self.is_broken = cut.is_err() || restored.is_err();
            }
        }
        self.buffered.clear();
        written
    }

    /// Makes the journal durable, so that it survives a power cut of the host machine.
    ///
    /// # Errors
    /// Fails if the journal cannot be written.
    pub fn sync(&mut self) -> io::Result<()> {
        if !self.buffered.is_empty() {
            self.write_buffered()?;
        }
        self.requests.sync_data().inspect_err(|_| self.is_broken = true)
    }

    /// Refuses all later entries: after a failed sync, the host may have dropped writes, and a later sync that succeeds
    /// would hide this.
    pub fn close(&mut self) {
        self.is_broken = true;
    }
}

impl UnreplayedImage {
    /// Replays the journal: calls `repeat` for every entry.
    ///
    /// # Errors
    /// Fails if the journal is damaged or `repeat` refuses an entry.
    pub fn replay(
        self,
        mut repeat: impl FnMut(JournalEntry<'_>) -> Result<(), String>,
    ) -> Result<(Image, ReplayCounts), ImageError> {
        let UnreplayedImage(mut image) = self;
        let bytes = image.requests.metadata().map_err(|error| image.failed(error))?.len();
        let reader = image.requests.try_clone().map_err(|error| image.failed(error))?;
        let mut reader = EntryReader { source: BufReader::with_capacity(1 << 20, reader), pages: Vec::new() };
        let mut counts = ReplayCounts::default();
        let at = |image: &Image, counts: &ReplayCounts, problem: String| {
            image.damaged(format!("note {} of `requests`: {problem}", counts.requests + 1))
        };
        while image.length < bytes {
            let remaining = bytes - image.length;
            let read = reader.next(remaining).map_err(|error| image.failed(error))?;
            match read.map_err(|problem| at(&image, &counts, problem.into()))? {
                Some((entry, length)) => {
                    repeat(entry).map_err(|problem| at(&image, &counts, problem))?;
                    image.length += length;
                    counts.requests += 1;
                }
                None => {
                    counts.torn_bytes = remaining;
                    image.requests.set_len(image.length).map_err(|error| image.failed(error))?;
                    break;
                }
            }
        }
        image.requests.seek(SeekFrom::Start(image.length)).map_err(|error| image.failed(error))?;
        Ok((image, counts))
    }
}

/// Reader of entries.
struct EntryReader<R> {
    source: R,
    pages: Vec<WrittenPage>,
}

impl<R: Read> EntryReader<R> {
    /// Returns the next entry and its length in bytes; `None` if the last `remaining` bytes are an incomplete entry.
    fn next(&mut self, remaining: u64) -> io::Result<Result<Option<(JournalEntry<'_>, u64)>, &'static str>> {
        if remaining < ENTRY_BYTES as u64 {
            return Ok(Ok(None));
        }
        let mut head = [0; ENTRY_BYTES];
        self.source.read_exact(&mut head)?;
        let [kind, first, count, sum] = numbers(&head);
        let hint = (kind >> HINT_SHIFT) as u16;
        if crc32fast::hash(&head[..12]) != sum {
            return Ok(Err("its checksum is another"));
        }
        let Some(end) = first.checked_add(count) else { return Ok(Err("it has too many pages")) };
        let entry = match kind & !(u32::MAX << HINT_SHIFT) {
            kind if hint != 0 && kind != WRITE => return Ok(Err("it has a hint and is no write")),
            READ => JournalEntry::Read(first..end),
            TRIM => JournalEntry::Trim(first..end),
            FLUSH => JournalEntry::Flush,
            FINISH => JournalEntry::Finish(first..end),
            WRITE => {
                let body = u64::from(count) * PAGE_BYTES as u64 + 4;
                if remaining < ENTRY_BYTES as u64 + body {
                    return Ok(Ok(None));
                }
                if !self.read_pages(count)? {
                    return Ok(Err("the checksum of its pages is another"));
                }
                return Ok(Ok(Some((
                    JournalEntry::Write(first, hint, &self.pages),
                    ENTRY_BYTES as u64 + body,
                ))));
            }
            _ => return Ok(Err("its kind is unknown")),
        };
        Ok(Ok(Some((entry, ENTRY_BYTES as u64))))
    }

    /// Reads the pages of a write. Returns false if their checksum is wrong.
    fn read_pages(&mut self, count: u32) -> io::Result<bool> {
        self.pages.clear();
        let mut hash = crc32fast::Hasher::new();
        for _ in 0..count {
            let mut page = [0; PAGE_BYTES];
            self.source.read_exact(&mut page)?;
            hash.update(&page);
            let [low, high, slot, sum_low, sum_high] = numbers(&page);
            let long = |low, high| u64::from(low) | u64::from(high) << 32;
            self.pages.push(WrittenPage { content_id: long(low, high), slot, sum: long(sum_low, sum_high) });
        }
        let mut sum = [0; 4];
        self.source.read_exact(&mut sum)?;
        Ok(hash.finalize() == u32::from_le_bytes(sum))
    }
}

/// Decodes 32-bit numbers from `bytes`.
fn numbers<const N: usize>(bytes: &[u8]) -> [u32; N] {
    let (numbers, _) = bytes.as_chunks::<4>();
    std::array::from_fn(|at| u32::from_le_bytes(numbers[at]))
}

fn encode_entry(kind: u32, first: u32, pages: u32) -> [u8; ENTRY_BYTES] {
    let mut bytes = [0; ENTRY_BYTES];
    for (place, number) in bytes.chunks_exact_mut(4).zip([kind, first, pages]) {
        place.copy_from_slice(&number.to_le_bytes());
    }
    let sum = crc32fast::hash(&bytes[..12]);
    bytes[12..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn head(scenario: &Scenario, page_bytes: u32) -> Vec<u8> {
    let scenario = serde_json::to_vec(scenario).expect("scenarios are plain data");
    let mut head = MAGIC.to_vec();
    for number in [VERSION, page_bytes, scenario.len() as u32] {
        head.extend(number.to_le_bytes());
    }
    head.extend(scenario);
    head.extend(crc32fast::hash(&head).to_le_bytes());
    head
}

/// Creates a journal without entries. The file gets its name only after it is complete.
fn begin(folder: &Path, head: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    file.write_all(head)?;
    file.as_file().sync_all()?;
    file.persist_noclobber(folder.join("requests"))?;
    File::open(folder)?.sync_all()
}

/// Reads the head of a journal.
fn read_head(requests: &mut File) -> Result<Vec<u8>, String> {
    let read = |requests: &mut File, bytes: &mut [u8]| {
        requests.read_exact(bytes).map_err(|_| "is damaged: its head is cut short".to_owned())
    };
    let mut head = vec![0; 20];
    read(requests, &mut head)?;
    if head[..8] != MAGIC {
        return Err("is no journal of a drive".into());
    }
    let [version, _, length] = numbers(&head[8..]);
    if version != VERSION {
        return Err(format!("is of version {version}; this program knows version {VERSION}"));
    }
    if length > MAX_SCENARIO_BYTES {
        return Err("is damaged: its scenario is too long".into());
    }
    head.resize(20 + length as usize + 4, 0);
    read(requests, &mut head[20..])?;
    let (text, sum) = head.split_at(20 + length as usize);
    if crc32fast::hash(text).to_le_bytes() != sum {
        return Err("is damaged: the checksum of its head is another".into());
    }
    Ok(head)
}

/// Reads the head of a journal and compares it with the expected head.
fn check_head(requests: &mut File, expected: &[u8]) -> Result<(), String> {
    if read_head(requests)? != expected {
        return Err("is of another scenario; name the one that it was made with, or another folder".into());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
