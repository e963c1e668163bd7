//! Record of the trims that a drive with a battery keeps in RAM.
//!
//! A drive with a battery may delay the effect of a trim without limit, because it writes all its state to flash when
//! power fails. A process that is killed cannot do that. Therefore the trims of such a drive are recorded here when
//! they are acknowledged, and repeated after the drive recovers.

use crate::error::ImageError;
use std::collections::{BTreeMap, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use wearwell_engine::flash_format::crc;

/// Name of the file.
const NAME: &str = "battery";
/// Bytes of a record: logical page, next content ID at the time of the trim (the mark), and checksum.
const RECORD_BYTES: usize = 16;
/// Maximum excess of obsolete records over valid ones before the file is rewritten.
const SPARE_RECORDS: usize = 4096;

/// Open file of trim records.
pub struct Battery {
    folder: PathBuf,
    file: File,
    /// Trimmed pages, each with its mark: content with an ID below the mark was written before the trim.
    trimmed: BTreeMap<u32, u64>,
    records: usize,
    /// Highest mark of all records.
    highest_mark: u64,
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
    /// Opens the records in `folder`, or creates an empty file. An incomplete record at the end belongs to a trim
    /// that was not acknowledged, and is dropped.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written, or is damaged.
    pub(super) fn open(folder: &Path) -> Result<Self, ImageError> {
        let failed = |problem: String| ImageError::new(&folder.join(NAME), problem);
        let io = |error: io::Error| failed(error.to_string());
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(folder.join(NAME)).map_err(io)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let (records, rest) = bytes.as_chunks::<RECORD_BYTES>();
        let (mut trimmed, mut highest_mark) = (BTreeMap::new(), 0);
        for (number, bytes) in (1..).zip(records) {
            let page = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
            let mark: [u8; 8] = std::array::from_fn(|at| bytes[4 + at]);
            if encode_record(page, u64::from_le_bytes(mark)) != *bytes {
                return Err(failed(format!("is damaged: the checksum of note {number} is another")));
            }
            trimmed.insert(page, u64::from_le_bytes(mark));
            highest_mark = highest_mark.max(u64::from_le_bytes(mark));
        }
        let whole = (bytes.len() - rest.len()) as u64;
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::Start(whole))).map_err(io)?;
        Ok(Battery { folder: folder.to_owned(), file, trimmed, records: records.len(), highest_mark })
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
    pub fn forget_written(&mut self, pages: std::ops::Range<u32>) {
        if !self.trimmed.is_empty() {
            pages.for_each(|page| {
                self.trimmed.remove(&page);
            });
        }
    }

    /// Rewrites the file with the valid records only.
    fn rewrite(&mut self) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        let bytes: Vec<u8> =
            self.trimmed.iter().flat_map(|(&page, &mark)| encode_record(page, mark)).collect();
        file.write_all(&bytes)?;
        file.as_file().sync_all()?;
        self.file = file.persist(self.folder.join(NAME))?;
        self.records = self.trimmed.len();
        Ok(())
    }

    /// Makes the records durable, so that they survive a power cut of the host machine.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_since_write_omits_later_writes() {
        let folder = tempfile::tempdir().unwrap();
        let mut battery = Battery::open(folder.path()).unwrap();
        battery.trim([3, 4, 5].into_iter(), 10).unwrap();
        battery.forget_written(4..5);
        drop(battery);
        let programs: HashMap<u32, u64> = [(3, 8), (4, 10), (5, 9), (6, 1)].into();
        let mut battery = Battery::open(folder.path()).unwrap();
        assert_eq!(battery.first_free_id(), 10);
        assert_eq!(battery.trimmed_since_write(&programs), [3, 5]);
        battery.rewrite().unwrap();
        drop(battery);
        let path = folder.path().join(NAME);
        assert_eq!(path.metadata().unwrap().len(), 2 * RECORD_BYTES as u64);
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.extend([1, 2, 3]);
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Battery::open(folder.path()).unwrap().trimmed_since_write(&programs), [3, 5]);
        bytes[1] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        assert!(Battery::open(folder.path()).is_err());
    }

    #[test]
    fn flipped_byte_of_any_record_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let mut battery = Battery::open(folder.path()).unwrap();
        battery.trim([3, 0x0102_0304].into_iter(), 10).unwrap();
        drop(battery);
        let path = folder.path().join(NAME);
        let whole = std::fs::read(&path).unwrap();
        assert_eq!(whole.len(), 2 * RECORD_BYTES);
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0x10;
            std::fs::write(&path, &flipped).unwrap();
            assert!(Battery::open(folder.path()).is_err(), "byte {at}");
        }
    }
}
