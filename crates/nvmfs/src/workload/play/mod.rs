//! Carries out file operations, on any file system.
//!
//! A [`Player`] cuts operations into requests, fills in what is written, and counts; a [`Target`] is what it plays on:
//! [`OnFileSystem`] one of this crate, [`OnDirectory`] a directory of a mounted one.

mod content;
mod directory;
mod file_system;

pub use content::fill;
pub use directory::OnDirectory;
pub use file_system::OnFileSystem;

use super::{DirectoryId, FileId, FileOp, FileWorkload};
use serde::{Deserialize, Serialize};
use std::ops::{Add, Sub};

/// What operations are played on. Files and directories are named by the workload's numbers.
pub trait Target {
    /// Why an operation failed.
    type Error: std::error::Error + 'static;

    /// The time of the operations that follow, ns since 1970; of no matter to file systems that have a clock.
    fn set_time(&mut self, now_ns: i64) {
        let _ = now_ns;
    }

    /// Makes a directory; `None` is the root.
    fn make_directory(&mut self, new: DirectoryId, parent: Option<DirectoryId>) -> Result<(), Self::Error>;

    /// Makes an empty file.
    fn create(&mut self, file: FileId, directory: Option<DirectoryId>) -> Result<(), Self::Error>;

    /// Removes a file.
    fn delete(&mut self, file: FileId) -> Result<(), Self::Error>;

    /// Asks for a file's attributes.
    fn stat(&mut self, file: FileId) -> Result<(), Self::Error>;

    /// Opens a file: the one that requests go to, until it is closed. At most one is open.
    fn open(&mut self, file: FileId) -> Result<(), Self::Error>;

    /// Writes all of `data` to the open file.
    fn write(&mut self, offset_bytes: u64, data: &[u8]) -> Result<(), Self::Error>;

    /// Reads all of `out` from the open file.
    fn read(&mut self, offset_bytes: u64, out: &mut [u8]) -> Result<(), Self::Error>;

    /// What was written to the open file is to survive a power cut.
    fn sync(&mut self) -> Result<(), Self::Error>;

    /// Closes the open file.
    fn close(&mut self) -> Result<(), Self::Error>;

    /// All that was written is to survive a power cut.
    fn sync_all(&mut self) -> Result<(), Self::Error>;
}

/// What is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contents {
    /// Zeros, which cost nothing to make.
    #[default]
    Zeros,
    /// Bytes that tell file and offset, see [`fill`]; what is read is compared with them.
    Marked,
    /// Bytes that tell the request, so that no page is like another, nor like what was there before.
    Unlike,
}

/// How operations are played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlayOptions {
    /// What is written.
    pub contents: Contents,
    /// After so many requests that write, the file just written is synced; never unless given. At least 1.
    pub sync_every: Option<u64>,
    /// By so much the virtual clock advances with each request, and each operation without any, ns.
    pub step_ns: i64,
}

/// What was played.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlayCounts {
    /// Operations.
    pub operations: u64,
    /// Files and directories made.
    pub made: u64,
    /// Files deleted.
    pub deleted: u64,
    /// Requests that wrote.
    pub write_requests: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Requests that read.
    pub read_requests: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Files synced.
    pub syncs: u64,
}

impl Add for PlayCounts {
    type Output = PlayCounts;

    fn add(self, other: PlayCounts) -> PlayCounts {
        self.with(other, |a, b| a + b)
    }
}

impl Sub for PlayCounts {
    type Output = PlayCounts;

    fn sub(self, before: PlayCounts) -> PlayCounts {
        self.with(before, |a, b| a - b)
    }
}

impl PlayCounts {
    /// One count with the other of its kind.
    fn with(self, other: PlayCounts, each: fn(u64, u64) -> u64) -> PlayCounts {
        PlayCounts {
            operations: each(self.operations, other.operations),
            made: each(self.made, other.made),
            deleted: each(self.deleted, other.deleted),
            write_requests: each(self.write_requests, other.write_requests),
            written_bytes: each(self.written_bytes, other.written_bytes),
            read_requests: each(self.read_requests, other.read_requests),
            read_bytes: each(self.read_bytes, other.read_bytes),
            syncs: each(self.syncs, other.syncs),
        }
    }
}

/// Why a player stopped.
#[derive(Debug, thiserror::Error)]
pub enum PlayError<E: std::error::Error + 'static> {
    /// The file system refused.
    #[error("{op:?}: {source}")]
    Refused {
        /// What was asked for.
        op: FileOp,
        /// Why not.
        source: E,
    },
    /// The file system gave something else than what was written; the first byte that differs.
    #[error("{file:?} does not hold at byte {offset_bytes} what was written there")]
    Differs {
        /// The file.
        file: FileId,
        /// The byte.
        offset_bytes: u64,
    },
}

/// Plays operations on a target.
#[derive(Debug)]
pub struct Player<T> {
    /// What it plays on.
    pub target: T,
    /// The virtual clock, ns since 1970; may be set between operations.
    pub now_ns: i64,
    options: PlayOptions,
    counts: PlayCounts,
    /// By file: its length in bytes.
    lengths: Vec<u64>,
    buffer: Vec<u8>,
    expected: Vec<u8>,
    /// Requests that wrote, those of the set-up among them.
    written: u32,
}

/// How reads and writes of an operation go.
#[derive(Clone, Copy)]
struct Extent {
    file: FileId,
    offset_bytes: u64,
    bytes: u64,
}

impl<T: Target> Player<T> {
    /// A player with the virtual clock at 0.
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

    /// What was played since the player was made or [`Player::reset_counts`] was called.
    pub fn counts(&self) -> PlayCounts {
        self.counts
    }

    /// Counts from 0 again, as after the set-up.
    pub fn reset_counts(&mut self) {
        self.counts = PlayCounts::default();
    }

    /// Plays the whole set-up.
    pub fn set_up(&mut self, workload: &mut dyn FileWorkload) -> Result<(), PlayError<T::Error>> {
        while !workload.is_set_up() {
            self.play(workload, 1)?;
        }
        Ok(())
    }

    /// Plays up to `operations` operations; fewer only if the workload has no more. Returns how many.
    pub fn play(
        &mut self,
        workload: &mut dyn FileWorkload,
        operations: u64,
    ) -> Result<u64, PlayError<T::Error>> {
        for done in 0..operations {
            let Some(op) = workload.next() else { return Ok(done) };
            self.carry_out(op, workload.request_bytes())?;
        }
        Ok(operations)
    }

    /// Plays one operation, in requests of `request_bytes`, at least 1.
    pub fn carry_out(&mut self, op: FileOp, request_bytes: u32) -> Result<(), PlayError<T::Error>> {
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
            _ => self.carry_out_on_names(op).map_err(refused)?,
        }
        Ok(())
    }

    /// Operations that neither read nor write.
    fn carry_out_on_names(&mut self, op: FileOp) -> Result<(), T::Error> {
        self.tick();
        match op {
            FileOp::MakeDirectory { directory, parent } => {
                self.counts.made += 1;
                self.target.make_directory(directory, parent)
            }
            FileOp::Create { file, directory } => {
                self.counts.made += 1;
                *self.length(file) = 0;
                self.target.create(file, directory)
            }
            FileOp::Delete { file } => {
                self.counts.deleted += 1;
                self.target.delete(file)
            }
            FileOp::Stat { file } => self.target.stat(file),
            FileOp::Sync { file } => {
                self.counts.syncs += 1;
                self.target.open(file)?;
                self.target.sync()?;
                self.target.close()
            }
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
                Contents::Unlike => {
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

    /// That the buffer, read at an offset of a file, holds what was written there.
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
        at(&mut self.lengths, file.0)
    }
}

/// The offsets and lengths of the requests that an extent is cut into.
fn requests(extent: Extent, request_bytes: u32) -> impl Iterator<Item = (u64, usize)> {
    let Extent { offset_bytes, bytes, .. } = extent;
    (0..bytes)
        .step_by(request_bytes as usize)
        .map(move |at| (offset_bytes + at, (bytes - at).min(u64::from(request_bytes)) as usize))
}

/// The entry of `number`, the list being made long enough.
fn at<V: Default + Clone>(list: &mut Vec<V>, number: u32) -> &mut V {
    let number = number as usize;
    if list.len() <= number {
        list.resize(number + 1, V::default());
    }
    &mut list[number]
}
