//! Execution of file operations on any file system.
//!
//! A [`Player`] splits operations into requests, generates the content of the requests, and counts the requests. It
//! works on a [`Target`]: [`FileSystemTarget`] is a file system of this crate, [`DirectoryTarget`] a directory of a
//! mounted file system.

mod content;
mod directory;
mod file_system;

pub use content::fill;
pub use directory::DirectoryTarget;
pub use file_system::FileSystemTarget;

use super::{DirectoryId, FileId, FileOp, FileWorkload};
use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// Destination of operations. Files and directories are identified by the numbers of the workload.
pub trait Target {
    /// Error of an operation.
    type Error: std::error::Error + 'static;

    /// Sets the time of the following operations, ns since 1970. File systems with a clock of their own ignore it.
    fn set_time(&mut self, now_ns: i64) {
        let _ = now_ns;
    }

    /// Creates a directory in `parent`; if `parent` is `None`, in the root.
    fn make_directory(&mut self, new: DirectoryId, parent: Option<DirectoryId>) -> Result<(), Self::Error>;

    /// Creates an empty file.
    fn create(&mut self, file: FileId, directory: Option<DirectoryId>) -> Result<(), Self::Error>;

    /// Removes a file.
    fn delete(&mut self, file: FileId) -> Result<(), Self::Error>;

    /// Reads a file's attributes.
    fn stat(&mut self, file: FileId) -> Result<(), Self::Error>;

    /// Opens a file, to which the following requests go until it is closed. At most one file is open.
    fn open(&mut self, file: FileId) -> Result<(), Self::Error>;

    /// Writes all of `data` to the open file.
    fn write(&mut self, offset_bytes: u64, data: &[u8]) -> Result<(), Self::Error>;

    /// Fills all of `out` from the open file.
    fn read(&mut self, offset_bytes: u64, out: &mut [u8]) -> Result<(), Self::Error>;

    /// Makes earlier writes to the open file durable.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Closes the open file.
    fn close(&mut self) -> Result<(), Self::Error>;

    /// Makes all earlier writes durable.
    fn sync_all(&mut self) -> Result<(), Self::Error>;
}

/// Content of writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// Zeros, which cost nothing to generate.
    #[default]
    Zeros,
    /// Bytes that depend on the file and the offset, see [`fill`]; reads are verified.
    Marked,
    /// Bytes that depend on the request, so that each page differs from all other pages and from its earlier content.
    Unique,
}

/// Settings of a player.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayOptions {
    /// Content of writes.
    pub contents: Contents,
    /// Number of write requests after which the file that was just written is synced, at least 1; by default, no file
    /// is synced.
    pub sync_every: Option<u64>,
    /// Time by which the virtual clock advances with each request, and with each operation without
    /// requests, ns.
    pub step_ns: i64,
}

/// Counts of operations and requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayCounts {
    /// Number of operations.
    pub operations: u64,
    /// Number of files and directories created.
    #[serde(alias = "made")]
    pub created: u64,
    /// Number of files deleted.
    pub deleted: u64,
    /// Number of write requests.
    pub write_requests: u64,
    /// Number of bytes written.
    pub written_bytes: u64,
    /// Number of read requests.
    pub read_requests: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Number of syncs of a file.
    pub syncs: u64,
}

impl Add for PlayCounts {
    type Output = PlayCounts;

    fn add(self, other: PlayCounts) -> PlayCounts {
        self.combine(other, |a, b| a + b)
    }
}

impl Sub for PlayCounts {
    type Output = PlayCounts;

    fn sub(self, before: PlayCounts) -> PlayCounts {
        self.combine(before, |a, b| a - b)
    }
}

impl PlayCounts {
    /// Combines two sets of counts field by field.
    fn combine(self, other: PlayCounts, each: fn(u64, u64) -> u64) -> PlayCounts {
        PlayCounts {
            operations: each(self.operations, other.operations),
            created: each(self.created, other.created),
            deleted: each(self.deleted, other.deleted),
            write_requests: each(self.write_requests, other.write_requests),
            written_bytes: each(self.written_bytes, other.written_bytes),
            read_requests: each(self.read_requests, other.read_requests),
            read_bytes: each(self.read_bytes, other.read_bytes),
            syncs: each(self.syncs, other.syncs),
        }
    }
}

/// Reason why a player stopped.
#[derive(Debug, thiserror::Error)]
pub enum PlayError<E: std::error::Error + 'static> {
    /// The file system returned an error.
    #[error("{op:?}: {source}")]
    Refused {
        /// Operation that failed.
        op: FileOp,
        /// Error of the file system.
        source: E,
    },
    /// The content that was read differs from the content that was written.
    #[error("{file:?} does not hold at byte {offset_bytes} what was written there")]
    Differs {
        /// File that was read.
        file: FileId,
        /// Offset of the first byte that differs.
        offset_bytes: u64,
    },
}

/// Executes operations on a target.
#[derive(Debug)]
pub struct Player<T> {
    /// Target of the operations.
    pub target: T,
    /// Virtual clock, ns since 1970; may be set between operations.
    pub now_ns: i64,
    options: PlayOptions,
    counts: PlayCounts,
    /// Size of each file, bytes.
    lengths: Vec<u64>,
    buffer: Vec<u8>,
    expected: Vec<u8>,
    /// Number of write requests, including those of the set-up.
    written: u32,
}

/// Byte range of a file that an operation reads or writes.
#[derive(Clone, Copy)]
struct Extent {
    file: FileId,
    offset_bytes: u64,
    bytes: u64,
}

impl<T: Target> Player<T> {
    /// Creates a player with the virtual clock at 0.
    pub fn new(target: T, options: PlayOptions) -> Self {
        Player {
            target,
            now_ns: 0,
            options,
            counts: PlayCounts::default(),
            lengths: Vec::new(),
            buffer: Vec::new(),
            expected: Vec::new(),
            written: 0,
        }
    }

    /// Returns the counts since the player was created or [`Player::reset_counts`] was called.
    pub fn counts(&self) -> PlayCounts {
        self.counts
    }

    /// Resets the counts to 0, for example after the set-up.
    pub fn reset_counts(&mut self) {
        self.counts = PlayCounts::default();
    }

    /// Executes the entire set-up.
    pub fn set_up(&mut self, workload: &mut dyn FileWorkload) -> Result<(), PlayError<T::Error>> {
        while !workload.is_set_up() {
            self.play(workload, 1)?;
        }
        Ok(())
    }

    /// Executes up to `operations` operations, fewer only if the workload ends. Returns the number of executed
    /// operations.
    pub fn play(
        &mut self,
        workload: &mut dyn FileWorkload,
        operations: u64,
    ) -> Result<u64, PlayError<T::Error>> {
        for done in 0..operations {
            let Some(op) = workload.next() else { return Ok(done) };
            self.execute(op, workload.request_bytes())?;
        }
        Ok(operations)
    }

    /// Executes one operation in requests of `request_bytes`, which must be at least 1.
    pub fn execute(&mut self, op: FileOp, request_bytes: u32) -> Result<(), PlayError<T::Error>> {
        self.counts.operations += 1;
        let refused = |source| PlayError::Refused { op, source };
        match op {
            FileOp::Write { file, offset_bytes, bytes } => {
                self.write(op, Extent { file, offset_bytes, bytes }, request_bytes)?;
            }
            FileOp::Append { file, bytes } => {
                let offset_bytes = *self.length(file);
                self.write(op, Extent { file, offset_bytes, bytes }, request_bytes)?;
            }
            FileOp::Read { file, offset_bytes, bytes } => {
                self.read(op, Extent { file, offset_bytes, bytes }, request_bytes)?;
            }
            FileOp::ReadWhole { file } => {
                let bytes = *self.length(file);
                self.read(op, Extent { file, offset_bytes: 0, bytes }, request_bytes)?;
            }
            _ => self.execute_on_names(op).map_err(refused)?,
        }
        Ok(())
    }

    /// Executes an operation that neither reads nor writes.
    fn execute_on_names(&mut self, op: FileOp) -> Result<(), T::Error> {
        self.tick();
        match op {
            FileOp::MakeDirectory { directory, parent } => {
                self.counts.created += 1;
                self.target.make_directory(directory, parent)
            }
            FileOp::Create { file, directory } => {
                self.counts.created += 1;
                *self.length(file) = 0;
                self.target.create(file, directory)
            }
            FileOp::Delete { file } => {
                self.counts.deleted += 1;
                self.target.delete(file)
            }
            FileOp::Stat { file } => self.target.stat(file),
            FileOp::Write { .. } | FileOp::Append { .. } | FileOp::Read { .. } | FileOp::ReadWhole { .. } => {
                unreachable!("{op:?} has requests")
            }
        }
    }

    fn write(&mut self, op: FileOp, extent: Extent, request_bytes: u32) -> Result<(), PlayError<T::Error>> {
        let refused = |source| PlayError::Refused { op, source };
        self.target.open(extent.file).map_err(refused)?;
        for (offset_bytes, bytes) in requests(extent, request_bytes) {
            self.tick();
            self.buffer.resize(bytes, 0);
            match self.options.contents {
                Contents::Zeros => {}
                Contents::Marked => fill(extent.file, offset_bytes, &mut self.buffer),
                Contents::Unique => {
                    self.written = self.written.wrapping_add(1);
                    fill(FileId(self.written), offset_bytes, &mut self.buffer);
                }
            }
            self.target.write(offset_bytes, &self.buffer).map_err(refused)?;
            self.counts.write_requests += 1;
            self.counts.written_bytes += bytes as u64;
            if self.options.sync_every.is_some_and(|every| self.counts.write_requests.is_multiple_of(every)) {
                self.counts.syncs += 1;
                self.target.sync().map_err(refused)?;
            }
        }
        let length = self.length(extent.file);
        *length = (*length).max(extent.offset_bytes + extent.bytes);
        self.target.close().map_err(refused)
    }

    fn read(&mut self, op: FileOp, extent: Extent, request_bytes: u32) -> Result<(), PlayError<T::Error>> {
        let refused = |source| PlayError::Refused { op, source };
        self.target.open(extent.file).map_err(refused)?;
        for (offset_bytes, bytes) in requests(extent, request_bytes) {
            self.tick();
            self.buffer.resize(bytes, 0);
            self.target.read(offset_bytes, &mut self.buffer).map_err(refused)?;
            self.counts.read_requests += 1;
            self.counts.read_bytes += bytes as u64;
            if self.options.contents == Contents::Marked {
                self.compare(extent.file, offset_bytes)?;
            }
        }
        self.target.close().map_err(refused)
    }

    /// Compares the buffer, which was read at an offset of a file, with the content written there.
    fn compare(&mut self, file: FileId, offset_bytes: u64) -> Result<(), PlayError<T::Error>> {
        self.expected.resize(self.buffer.len(), 0);
        fill(file, offset_bytes, &mut self.expected);
        match self.buffer.iter().zip(&self.expected).position(|(found, expected)| found != expected) {
            None => Ok(()),
            Some(at) => Err(PlayError::Differs { file, offset_bytes: offset_bytes + at as u64 }),
        }
    }

    fn tick(&mut self) {
        self.now_ns += self.options.step_ns;
        self.target.set_time(self.now_ns);
    }

    fn length(&mut self, file: FileId) -> &mut u64 {
        entry_mut(&mut self.lengths, file.0)
    }
}

/// Returns the offset and the length of each request of an extent.
fn requests(extent: Extent, request_bytes: u32) -> impl Iterator<Item = (u64, usize)> {
    let Extent { offset_bytes, bytes, .. } = extent;
    (0..bytes)
        .step_by(request_bytes as usize)
        .map(move |at| (offset_bytes + at, (bytes - at).min(u64::from(request_bytes)) as usize))
}

/// Returns the entry of `number`, extending the list if necessary.
fn entry_mut<V: Default + Clone>(list: &mut Vec<V>, number: u32) -> &mut V {
    let number = number as usize;
    if list.len() <= number {
        list.resize(number + 1, V::default());
    }
    &mut list[number]
}
