//! Record of the trims that a drive with a battery keeps in RAM.
//!
//! A drive with a battery may delay the effect of a trim without limit, because it writes all its state to flash when
//! power fails. A process that is killed cannot do that. Therefore the trims of such a drive are recorded here when
//! they are acknowledged, and repeated after the drive recovers.
//!
//! A file that was rewritten begins with a record of the page [`HEAD_PAGE`]. Its mark is the generation of the file,
//! times 2^32, plus the number of records at that time. The sync record of the flash has the generation and the number
//! of durable records, so a file that was removed or cut short is noticed.

use crate::error::ImageError;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wearwell_engine::flash_format::crc;

/// Name of the file.
const NAME: &str = "battery";
/// Bytes of a record: logical page, next content ID at the time of the trim (the mark), and checksum.
const RECORD_BYTES: usize = 16;
/// Page number in the first record of a file that was rewritten; no drive has this page.
const HEAD_PAGE: u32 = u32::MAX;
/// Maximum excess of obsolete records over valid ones before the file is rewritten.
const SPARE_RECORDS: usize = 4096;

/// Open file of trim records.
pub struct Battery {
    folder: PathBuf,
    file: File,
    /// Trimmed pages, each with its mark: content with an ID below the mark was written before the trim.
    trimmed: BTreeMap<u32, u64>,
    /// Number of times that the file was rewritten.
    generation: u32,
    records: usize,
    /// Highest mark of all records.
    highest_mark: u64,
}

/// Content of a file.
#[derive(Default)]
struct StoredRecords {
    trimmed: BTreeMap<u32, u64>,
    generation: u32,
    records: usize,
    highest_mark: u64,
}

/// Encodes the generation and the number of records of a file as one number.
fn extent(generation: u32, records: usize) -> u64 {
    u64::from(generation) << 32 | records as u64
}

impl StoredRecords {
    /// Decodes the records of a file. An error is a text about the damage.
    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let mut stored = StoredRecords::default();
        let mut least_records = 0;
        for (number, bytes) in (1..).zip(bytes.as_chunks::<RECORD_BYTES>().0) {
            let page = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let mark = u64::from_le_bytes(std::array::from_fn(|at| bytes[4 + at]));
            if encode_record(page, mark) != *bytes {
                return Err(format!("is damaged: the checksum of note {number} is another"));
            }
            if page == HEAD_PAGE {
                (stored.generation, least_records) = ((mark >> 32) as u32, mark as u32 as usize);
                continue;
            }
            stored.records += 1;
            stored.trimmed.insert(page, mark);
            stored.highest_mark = stored.highest_mark.max(mark);
        }
        match stored.records < least_records {
            true => Err(format!("is damaged: it has {} notes, of {least_records}", stored.records)),
            false => Ok(stored),
        }
    }

    /// Reads the file in `folder`, and returns its records with its length in bytes. See [`Battery::open`].
    fn read(folder: &Path, durable: u64, is_new: bool) -> Result<(Self, u64), ImageError> {
        let failed = |problem: String| ImageError::new(&folder.join(NAME), problem);
        let bytes = match std::fs::read(folder.join(NAME)) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound && is_new => Vec::new(),
            Err(error) => return Err(failed(error.to_string())),
        };
        let stored = StoredRecords::decode(&bytes).map_err(failed)?;
        if extent(stored.generation, stored.records) < durable {
            let problem = format!(
                "is damaged: it has {} notes of version {}, and {} of version {} were on disk",
                stored.records,
                stored.generation,
                durable as u32,
                durable >> 32
            );
            return Err(failed(problem));
        }
        Ok((stored, bytes.len() as u64))
    }
}

fn encode_record(page: u32, mark: u64) -> [u8; RECORD_BYTES] {
    let mut bytes = [0; RECORD_BYTES];
    bytes[..4].copy_from_slice(&page.to_le_bytes());
    bytes[4..12].copy_from_slice(&mark.to_le_bytes());
    let sum = crc(&bytes[..12]);
    bytes[12..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

impl Battery {
    /// Opens the records in `folder`, or creates an empty file for a drive that is new. An incomplete record at the end
    /// belongs to a trim that was not acknowledged, and is dropped. At least the part `durable` must be there, as
    /// returned by [`Battery::sync`].
    ///
    /// # Errors
    /// Fails if the file cannot be read or written, is missing or is damaged.
    pub(super) fn open(folder: &Path, durable: u64, is_new: bool) -> Result<Self, ImageError> {
        let io = |error: io::Error| ImageError::new(&folder.join(NAME), error.to_string());
        let (stored, bytes) = StoredRecords::read(folder, durable, is_new)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(folder.join(NAME)).map_err(io)?;
        if bytes == 0 {
            sync_folder(folder).map_err(io)?;
        }
        let whole = bytes - bytes % RECORD_BYTES as u64;
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::Start(whole))).map_err(io)?;
        let StoredRecords { trimmed, generation, records, highest_mark } = stored;
        Ok(Battery { folder: folder.to_owned(), file, trimmed, generation, records, highest_mark })
    }

    /// Verifies the file without changing it.
    ///
    /// # Errors
    /// The errors of [`Battery::open`].
    pub(super) fn check(folder: &Path, durable: u64, is_new: bool) -> Result<(), ImageError> {
        StoredRecords::read(folder, durable, is_new).map(drop)
    }

    /// True if there are no records.
    pub fn is_empty(&self) -> bool {
        self.trimmed.is_empty()
    }

    /// Returns the lowest content ID that new content may get; an ID below a mark belongs to content written before
    /// the trim of this mark.
    pub fn first_free_id(&self) -> u64 {
        self.highest_mark
    }

    /// Returns the pages that were trimmed after their last write. `newest_ids` has the content ID of each page's
    /// newest copy in flash. Records of other pages are dropped.
    pub fn trimmed_since_write(&mut self, newest_ids: &HashMap<u32, u64>) -> Vec<u32> {
        self.trimmed.retain(|page, mark| newest_ids.get(page).is_some_and(|id| id < mark));
        self.trimmed.keys().copied().collect()
    }

    /// Records that `pages` are about to be trimmed while the next content ID is `mark`.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn trim(&mut self, pages: impl Iterator<Item = u32>, mark: u64) -> io::Result<()> {
        self.highest_mark = self.highest_mark.max(mark);
        let mut bytes = Vec::new();
        for page in pages {
            bytes.extend(encode_record(page, mark));
            self.trimmed.insert(page, mark);
        }
        self.file.write_all(&bytes)?;
        self.records += bytes.len() / RECORD_BYTES;
        if self.records > 2 * self.trimmed.len() + SPARE_RECORDS { self.rewrite() } else { Ok(()) }
    }

    /// Drops the records of pages that were written.
    pub fn forget_written(&mut self, pages: Range<u32>) {
        if !self.trimmed.is_empty() {
            pages.for_each(|page| {
                self.trimmed.remove(&page);
            });
        }
    }

    /// Rewrites the file with the valid records only.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let (generation, records) = (self.generation + 1, self.trimmed.len());
        let mut bytes = encode_record(HEAD_PAGE, extent(generation, records)).to_vec();
        bytes.extend(self.trimmed.iter().flat_map(|(&page, &mark)| encode_record(page, mark)));
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        self.file = file.persist(self.folder.join(NAME))?;
        (self.generation, self.records) = (generation, records);
        sync_folder(&self.folder)
    }

    /// Makes the records durable, so that they survive a power cut of the host machine. Returns the durable part of the
    /// file: its generation and its number of records.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn sync(&self) -> io::Result<u64> {
        self.file.sync_data()?;
        Ok(extent(self.generation, self.records))
    }
}

/// Makes the names of the files in `folder` durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_since_write_omits_later_writes() {
        let folder = tempfile::tempdir().unwrap();
        let mut battery = Battery::open(folder.path(), 0, true).unwrap();
        battery.trim([3, 4, 5].into_iter(), 10).unwrap();
        battery.forget_written(4..5);
        drop(battery);
        let programs: HashMap<u32, u64> = [(3, 8), (4, 10), (5, 9), (6, 1)].into();
        let mut battery = Battery::open(folder.path(), 0, false).unwrap();
        assert_eq!(battery.first_free_id(), 10);
        assert_eq!(battery.trimmed_since_write(&programs), [3, 5]);
        battery.rewrite().unwrap();
        drop(battery);
        let path = folder.path().join(NAME);
        assert_eq!(path.metadata().unwrap().len(), 3 * RECORD_BYTES as u64);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend([1, 2, 3]);
        std::fs::write(&path, &bytes).unwrap();
        let mut battery = Battery::open(folder.path(), extent(1, 2), false).unwrap();
        assert_eq!(battery.trimmed_since_write(&programs), [3, 5]);
        bytes[1] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(Battery::open(folder.path(), 0, false).is_err());
    }

    #[test]
    fn removed_or_shortened_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(NAME);
        let is_refused = |durable| {
            let checked = Battery::check(folder.path(), durable, false);
            assert_eq!(checked.is_err(), Battery::open(folder.path(), durable, false).is_err());
            checked.is_err()
        };
        let mut battery = Battery::open(folder.path(), 0, true).unwrap();
        battery.trim(0..4, 10).unwrap();
        let durable = battery.sync().unwrap();
        assert_eq!(durable, extent(0, 4));
        battery.trim(4..5, 10).unwrap();
        let whole = std::fs::read(&path).unwrap();
        assert!(!is_refused(durable));
        std::fs::write(&path, &whole[..4 * RECORD_BYTES]).unwrap();
        assert!(!is_refused(durable), "a record that is not durable");
        std::fs::write(&path, &whole[..3 * RECORD_BYTES]).unwrap();
        assert!(is_refused(durable));
        std::fs::remove_file(&path).unwrap();
        assert!(is_refused(0), "the drive is not new");
        std::fs::write(&path, &whole).unwrap();
        let mut battery = Battery::open(folder.path(), durable, false).unwrap();
        battery.rewrite().unwrap();
        assert_eq!(battery.sync().unwrap(), extent(1, 5));
        assert!(!is_refused(durable), "a later generation");
        let whole = std::fs::read(&path).unwrap();
        std::fs::write(&path, &whole[..whole.len() - RECORD_BYTES]).unwrap();
        assert!(is_refused(durable), "fewer records than were rewritten");
        std::fs::write(&path, "").unwrap();
        assert!(is_refused(durable));
    }

    #[test]
    fn flipped_byte_of_any_record_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let mut battery = Battery::open(folder.path(), 0, true).unwrap();
        battery.trim([3, 0x0102_0304].into_iter(), 10).unwrap();
        drop(battery);
        let path = folder.path().join(NAME);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), 2 * RECORD_BYTES);
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, &flipped).unwrap();
            assert!(Battery::open(folder.path(), 0, false).is_err(), "byte {at}");
        }
    }
}
