//! What is measured: a file system under a load, on a row of drives.

use crate::live::drives::Done;
use crate::nvmfs::nilfs_logs::LogBlocks;
use serde::{Deserialize, Serialize};

/// A point.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The file system.
    pub file_system: String,
    /// The load.
    pub load: String,
    /// Whether the file system discards what it no longer needs, when it is made as well.
    pub discard: bool,
    /// The drives that take its requests.
    pub drives: Vec<String>,
    /// Of the disk.
    pub disk_mib: u64,
    /// Share of it that the files take, about.
    pub share: f64,
    /// What the load writes in its measured part, as a multiple of its files.
    pub written: f64,
    /// Of the load.
    pub seed: u64,
    /// When it is ended at the latest, seconds.
    pub limit_seconds: u32,
}

/// What the file system sent to its disk in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// Bytes written.
    pub written_bytes: u64,
    /// Of them into its journal or its area of metadata, where that lies in one place.
    pub area_bytes: Option<u64>,
    /// Writes, neighbours in time and place joined in a guest.
    pub writes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Flushes; a guest's disk driver keeps them to itself.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Pages that its cleaner moved, if it has one and tells.
    pub moved_pages: Option<u64>,
    /// The blocks of its logs, where those say what they hold.
    pub logs: Option<LogBlocks>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// What the application meant to write.
    pub application_bytes: u64,
    /// What its processes handed to the file system, where that is more or less.
    pub file_bytes: Option<u64>,
    /// What the file system sent on.
    pub sent: Sent,
    /// What each drive did, in their order.
    pub drives: Vec<Done>,
    /// What the file system's own checker says afterwards: nothing if it is sound, `None` without a checker.
    pub check: Option<String>,
    /// How long the measured part took by the clock of the machine, seconds.
    pub seconds: f64,
}

/// What came of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It was measured.
    Measured(Box<Measured>),
    /// The file system had no room for what the load wrote.
    NoRoom,
    /// It was not at the end when it was ended.
    NotAtTheEnd,
}

impl Case {
    /// What it is called.
    pub fn name(&self) -> String {
        let discard = if self.discard { "with discards" } else { "without discards" };
        format!("{} on {} {discard}", self.load, self.file_system)
    }

    /// Of the disk, bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_mib << 20
    }

    /// What the files take, about, bytes: whole MiB.
    pub fn file_bytes(&self) -> u64 {
        (self.share * self.disk_mib as f64) as u64 * (1 << 20)
    }

    /// What the load writes, bytes: whole MiB.
    pub fn written_bytes(&self) -> u64 {
        (self.written * (self.file_bytes() >> 20) as f64) as u64 * (1 << 20)
    }
}

impl Measured {
    /// What the file system sent for each byte that the application meant to write.
    pub fn above(&self) -> f64 {
        self.sent.written_bytes as f64 / self.application_bytes as f64
    }

    /// What the application's processes handed to the file system for each byte that it meant to write.
    pub fn handed_on(&self) -> f64 {
        self.file_bytes.unwrap_or(self.application_bytes) as f64 / self.application_bytes as f64
    }

    /// What a drive programmed for each byte that the application meant to write: TCWA.
    pub fn total(&self, drive: usize) -> f64 {
        self.drives[drive].programmed() as f64 * super::drives::PAGE_BYTES as f64
            / self.application_bytes as f64
    }
}
