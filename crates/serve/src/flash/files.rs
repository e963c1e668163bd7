//! Files of an image, and their layout.

use super::records::{BlockRecord, RECORD_BYTES, SyncRecord};
use crate::error::ImageError;
use rustix::fs::{FallocateFlags, FlockOperation, fallocate, flock};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use wearwell_engine::flash_format::{FormatError, SPARE_BYTES, VERSION, crc};
use wearwell_stack::{Scenario, StoredFlashPlan};

/// Name of the file with the head, by which a folder is recognised as a flash image.
pub const HEAD: &str = "flash";
const PAGES: &str = "pages";
const SPARES: &str = "spares";
const BLOCKS: &str = "blocks";

const MAGIC: [u8; 8] = *b"WEARFLSH";
/// Bytes of a head in front of the scenario.
const HEAD_BYTES: usize = 32;
/// Length limit of the scenario in bytes.
const MAX_SCENARIO_BYTES: u32 = 1 << 24;
/// Number of sync records in front of the records of blocks; the newer one is valid.
const SYNC_RECORDS: u64 = 2;

/// Size of a drive's flash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Number of erase blocks.
    pub blocks: u32,
    /// Number of pages per block.
    pub pages_per_block: u32,
    /// Bytes per page.
    pub page_bytes: u32,
}

impl Shape {
    /// Returns the size for the drive of `plan`.
    pub fn from_plan(plan: &StoredFlashPlan) -> Self {
        let &StoredFlashPlan { blocks, pages_per_block, page_bytes, .. } = plan;
        Shape { blocks, pages_per_block, page_bytes }
    }

    /// Returns the number of pages of all blocks.
    pub fn pages(self) -> u64 {
        u64::from(self.blocks) * u64::from(self.pages_per_block)
    }
}

/// True if the folder has a flash image.
pub fn is_flash(folder: &Path) -> bool {
    folder.join(HEAD).exists()
}

/// Open files of an image.
pub struct Files {
    folder: PathBuf,
    pub shape: Shape,
    head: File,
    pages: File,
    spares: File,
    blocks: File,
    /// Index of the older sync record.
    older_sync_record: u64,
    /// Durable part of the battery's file, see [`SyncRecord::battery`].
    pub battery: u64,
    /// True if writes of pages fail as on a full disk.
    #[cfg(test)]
    pub is_disk_full: bool,
}

fn failed(folder: &Path, name: &str, problem: impl ToString) -> ImageError {
    ImageError::new(&folder.join(name), problem.to_string())
}

impl Files {
    /// Opens the image in `folder`, or creates it for the drive of `plan`, with exclusive access.
    ///
    /// # Errors
    /// Fails if the folder contains other files, or if the image belongs to another scenario or version, is in use,
    /// or is damaged.
    pub fn open(folder: &Path, plan: &StoredFlashPlan) -> Result<Self, ImageError> {
        let head = head(&plan.scenario, Shape::from_plan(plan));
        if !is_flash(folder) {
            begin(folder, &head).map_err(|problem| failed(folder, "", problem))?;
        }
        let files = Files::open_in(folder, true)?;
        let found = read_head(&files.head).map_err(|problem| failed(folder, HEAD, problem))?;
        if found.bytes != head {
            let problem = "is of another scenario; name the one that it was made with, or another folder";
            return Err(failed(folder, HEAD, problem));
        }
        Ok(files)
    }

    /// Opens an image for reading. Also returns the scenario in its head.
    ///
    /// # Errors
    /// The errors of [`Files::open`].
    pub fn read_only(folder: &Path) -> Result<(Self, Scenario), ImageError> {
        let files = Files::open_in(folder, false)?;
        let found = read_head(&files.head).map_err(|problem| failed(folder, HEAD, problem))?;
        let scenario = serde_json::from_slice(&found.scenario).map_err(|error| {
            failed(folder, HEAD, format!("has no scenario that this program knows: {error}"))
        })?;
        Ok((files, scenario))
    }

    fn open_in(folder: &Path, writes: bool) -> Result<Self, ImageError> {
        let file = |name: &str| {
            let mut options = OpenOptions::new();
            options.read(true).write(writes).create(writes).truncate(false).mode(0o600);
            options.open(folder.join(name)).map_err(|error| failed(folder, name, error))
        };
        let head = File::open(folder.join(HEAD)).map_err(|error| failed(folder, HEAD, error))?;
        let lock = if writes {
            FlockOperation::NonBlockingLockExclusive
        } else {
            FlockOperation::NonBlockingLockShared
        };
        flock(&head, lock).map_err(|_| failed(folder, HEAD, "is in use by another process"))?;
        let shape = read_head(&head).map_err(|problem| failed(folder, HEAD, problem))?.shape;
        let (pages, spares, blocks) = (file(PAGES)?, file(SPARES)?, file(BLOCKS)?);
        check_lengths(folder, shape, [&pages, &spares, &blocks], writes)?;
        let folder = folder.to_owned();
        Ok(Files {
            folder,
            shape,
            head,
            pages,
            spares,
            blocks,
            older_sync_record: 0,
            battery: 0,
            #[cfg(test)]
            is_disk_full: false,
        })
    }

    /// Clones the open files, for a new scan.
    ///
    /// # Errors
    /// Fails if too many files are open.
    pub fn try_clone(&self) -> Result<Self, ImageError> {
        let again = |file: &File| file.try_clone().map_err(|error| self.failed(&error));
        Ok(Files {
            folder: self.folder.clone(),
            shape: self.shape,
            head: again(&self.head)?,
            pages: again(&self.pages)?,
            spares: again(&self.spares)?,
            blocks: again(&self.blocks)?,
            older_sync_record: self.older_sync_record,
            battery: self.battery,
            #[cfg(test)]
            is_disk_full: self.is_disk_full,
        })
    }

    /// Builds the error for files that could not be read or written.
    pub fn failed(&self, error: &io::Error) -> ImageError {
        ImageError::new(&self.folder, error.to_string())
    }

    /// Builds the error for a damaged image.
    pub fn damaged(&self, problem: impl std::fmt::Display) -> ImageError {
        ImageError::new(&self.folder, format!("is damaged: {problem}"))
    }

    /// Reads the page at `slot`.
    pub fn read_page(&self, slot: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.pages.read_exact_at(bytes, slot * u64::from(self.shape.page_bytes))
    }

    /// Writes the page at `slot`.
    pub fn write_page(&self, slot: u64, bytes: &[u8]) -> io::Result<()> {
        #[cfg(test)]
        if self.is_disk_full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.pages.write_all_at(bytes, slot * u64::from(self.shape.page_bytes))
    }

    /// Reads the spare area of the page at `slot`.
    pub fn read_spare(&self, slot: u64) -> io::Result<[u8; SPARE_BYTES]> {
        let mut bytes = [0; SPARE_BYTES];
        self.spares.read_exact_at(&mut bytes, slot * SPARE_BYTES as u64)?;
        Ok(bytes)
    }

    /// Writes the spare area of the page at `slot`, which makes the page programmed.
    pub fn write_spare(&self, slot: u64, bytes: &[u8; SPARE_BYTES]) -> io::Result<()> {
        self.spares.write_all_at(bytes, slot * SPARE_BYTES as u64)
    }

    /// Reads the spare areas of all pages of `block`, one after the other.
    pub fn read_spares(&self, block: u32, bytes: &mut Vec<u8>) -> io::Result<()> {
        let length = self.shape.pages_per_block as usize * SPARE_BYTES;
        bytes.resize(length, 0);
        self.spares.read_exact_at(bytes, u64::from(block) * length as u64)
    }

    /// Erases all pages of `block` and releases their disk space.
    pub fn erase_pages(&self, block: u32) -> io::Result<()> {
        let spares = u64::from(self.shape.pages_per_block) * SPARE_BYTES as u64;
        self.spares.write_all_at(&vec![0; spares as usize], u64::from(block) * spares)?;
        let bytes = u64::from(self.shape.pages_per_block) * u64::from(self.shape.page_bytes);
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        // A file system without holes does not release the space; the old bytes are never read.
        let _ = fallocate(&self.pages, hole, u64::from(block) * bytes, bytes);
        Ok(())
    }

    fn record_at(block: u32) -> u64 {
        (SYNC_RECORDS + u64::from(block)) * RECORD_BYTES as u64
    }

    /// Reads the record of `block`.
    pub fn read_block(&self, block: u32) -> io::Result<[u8; RECORD_BYTES]> {
        let mut bytes = [0; RECORD_BYTES];
        self.blocks.read_exact_at(&mut bytes, Files::record_at(block))?;
        Ok(bytes)
    }

    /// Writes the record of `block`.
    pub fn write_block(&self, block: u32, record: &BlockRecord) -> io::Result<()> {
        self.blocks.write_all_at(&record.encode(), Files::record_at(block))
    }

    /// Makes the records of blocks durable, so that they survive a power cut of the host machine.
    pub fn sync_blocks(&self) -> io::Result<()> {
        self.blocks.sync_data()
    }

    /// Returns the last operation up to which all operations are durable.
    ///
    /// # Errors
    /// Fails if the files cannot be read. The inner result fails if both sync records are damaged.
    pub fn last_synced(&mut self) -> io::Result<Result<u64, FormatError>> {
        let mut records = [[0; RECORD_BYTES]; SYNC_RECORDS as usize];
        for (at, record) in (0..).zip(&mut records) {
            self.blocks.read_exact_at(record, at * RECORD_BYTES as u64)?;
        }
        let [first, second] = records.map(|bytes| SyncRecord::decode(&bytes));
        let (newest, older) = match (first, second) {
            (Ok(first), Ok(second)) => (first.max(second), u64::from(second <= first)),
            // The other record was being written when the host machine stopped.
            (Ok(whole), Err(_)) => (whole, 1),
            (Err(_), Ok(whole)) => (whole, 0),
            (Err(error), Err(_)) => return Ok(Err(error)),
        };
        (self.older_sync_record, self.battery) = (older, newest.battery);
        Ok(Ok(newest.operation))
    }

    /// Makes all files durable, so that they survive a power cut of the host machine, and records `operation` as the
    /// last durable operation.
    pub fn sync(&mut self, operation: u64) -> io::Result<()> {
        self.pages.sync_data()?;
        self.spares.sync_data()?;
        self.blocks.sync_data()?;
        let record = SyncRecord { operation, battery: self.battery };
        self.blocks.write_all_at(&record.encode(), self.older_sync_record * RECORD_BYTES as u64)?;
        self.older_sync_record = 1 - self.older_sync_record;
        Ok(())
    }

    /// Returns the disk space of the files in bytes.
    pub fn bytes(&self) -> io::Result<u64> {
        let files = [&self.head, &self.pages, &self.spares, &self.blocks];
        files.into_iter().map(|file| Ok(file.metadata()?.blocks() * 512)).sum()
    }
}

/// Refuses files that are missing or have another length than those of a drive of `shape`. If nothing was ever written to
/// the files `pages`, `spares` and `blocks`, and `may_create` is true, sets the lengths of new files.
fn check_lengths(folder: &Path, shape: Shape, files: [&File; 3], may_create: bool) -> Result<(), ImageError> {
    let lengths = [
        shape.pages() * u64::from(shape.page_bytes),
        shape.pages() * SPARE_BYTES as u64,
        (SYNC_RECORDS + u64::from(shape.blocks)) * RECORD_BYTES as u64,
    ];
    let metadata: io::Result<Vec<_>> = files.iter().map(|file| file.metadata()).collect();
    let metadata = metadata.map_err(|error| failed(folder, "", error))?;
    let is_new = may_create && metadata.iter().all(|metadata| metadata.blocks() == 0);
    for (at, name) in [PAGES, SPARES, BLOCKS].into_iter().enumerate() {
        let (length, found) = (lengths[at], metadata[at].len());
        if found == 0 && is_new {
            files[at].set_len(length).map_err(|error| failed(folder, name, error))?;
        } else if found != length {
            return Err(failed(folder, name, format!("is damaged: it has {found} bytes, and not {length}")));
        }
    }
    Ok(())
}

/// Parsed head of an image.
struct Head {
    bytes: Vec<u8>,
    shape: Shape,
    scenario: Vec<u8>,
}

fn head(scenario: &Scenario, shape: Shape) -> Vec<u8> {
    let scenario = serde_json::to_vec(scenario).expect("scenarios are plain data");
    let mut head = MAGIC.to_vec();
    let Shape { blocks, pages_per_block, page_bytes } = shape;
    let numbers = [VERSION.into(), page_bytes, SPARE_BYTES as u32, pages_per_block, blocks];
    numbers.into_iter().for_each(|number| head.extend(number.to_le_bytes()));
    head.extend((scenario.len() as u32).to_le_bytes());
    head.extend(scenario);
    head.extend(crc(&head).to_le_bytes());
    head
}

fn read_head(mut file: &File) -> Result<Head, String> {
    let mut bytes = Vec::new();
    let most = u64::from(MAX_SCENARIO_BYTES) + HEAD_BYTES as u64 + 4;
    file.seek(SeekFrom::Start(0)).map_err(|error| error.to_string())?;
    file.take(most + 1).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() < HEAD_BYTES || bytes[..8] != MAGIC {
        return Err("is no image of flash".into());
    }
    let number = |at: usize| {
        let mut number = [0; 4];
        number.copy_from_slice(&bytes[at..at + 4]);
        u32::from_le_bytes(number)
    };
    let [version, page_bytes, spare_bytes, pages_per_block, blocks, length] =
        [8, 12, 16, 20, 24, 28].map(number);
    if version != u32::from(VERSION) {
        return Err(format!("is of version {version}; this program knows version {VERSION}"));
    }
    let end = HEAD_BYTES + length as usize;
    if length > MAX_SCENARIO_BYTES || bytes.len() != end + 4 || crc(&bytes[..end]) != number(end) {
        return Err("is damaged: the checksum of the head is another".into());
    }
    if spare_bytes as usize != SPARE_BYTES || page_bytes == 0 || pages_per_block == 0 || blocks == 0 {
        return Err("is damaged: it has no pages, or spare areas of another size".into());
    }
    let shape = Shape { blocks, pages_per_block, page_bytes };
    let scenario = bytes[HEAD_BYTES..end].to_vec();
    Ok(Head { bytes, shape, scenario })
}

/// Creates an empty image. The file of the head gets its name only after it is complete.
fn begin(folder: &Path, head: &[u8]) -> Result<(), String> {
    let create = || -> io::Result<bool> {
        std::fs::create_dir_all(folder)?;
        if std::fs::read_dir(folder)?.next().is_some() {
            return Ok(false);
        }
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(head)?;
        file.as_file().sync_all()?;
        file.persist_noclobber(folder.join(HEAD))?;
        File::open(folder)?.sync_all()?;
        Ok(true)
    };
    match create() {
        Ok(true) => Ok(()),
        Ok(false) => Err("is no image of a drive, and not empty".into()),
        Err(error) => Err(error.to_string()),
    }
}
