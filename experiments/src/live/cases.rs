//! Cases of the live measurements: a file system under a load, on several drives.

use crate::live::drives::DriveCounts;
use crate::nvmfs::nilfs_logs::LogBlocks;
use serde::{Deserialize, Serialize};

/// A case.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// The file system.
    pub file_system: String,
    /// The load.
    pub load: String,
    /// True if the file system discards unused blocks, also during mkfs.
    pub discard: bool,
    /// Drives that receive its requests.
    pub drives: Vec<String>,
    /// Size of the disk.
    pub disk_mib: u64,
    /// Approximate share of the disk that the files take.
    pub share: f64,
    /// Bytes that the load writes in its measured part, as a multiple of its files.
    pub written: f64,
    /// Seed of the load.
    pub seed: u64,
    /// Time limit, seconds.
    pub limit_seconds: u32,
}

/// Requests of the file system to its disk in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRequests {
    /// Bytes written.
    pub written_bytes: u64,
    /// Bytes written into its journal or its metadata area, if that is contiguous.
    pub area_bytes: Option<u64>,
    /// Number of writes; in a guest, neighbours in time and place are merged.
    pub writes: u64,
    /// Bytes discarded.
    pub discarded_bytes: u64,
    /// Number of flushes; a guest's disk driver does not pass them on.
    pub flushes: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Number of pages that its cleaner moved, if it has a cleaner that reports them.
    pub moved_pages: Option<u64>,
    /// Blocks of its logs by type, if the logs can be parsed.
    pub logs: Option<LogBlocks>,
}

/// Results of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Bytes that the application intended to write.
    pub application_bytes: u64,
    /// Bytes that its processes passed to the file system, if the number differs.
    pub file_bytes: Option<u64>,
    /// Requests of the file system.
    #[serde(rename = "sent")]
    pub disk_requests: DiskRequests,
    /// Results of each drive, in order.
    pub drives: Vec<DriveCounts>,
    /// Messages of the file system's checker at the end: empty if it found no errors, `None` without a checker.
    pub check: Option<String>,
    /// Wall time of the measured part, seconds.
    pub seconds: f64,
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Measurement complete.
    Measured(Box<Measurement>),
    /// The file system had no room for the writes of the load.
    NoRoom,
    /// The load did not complete within the time limit.
    #[serde(rename = "not_at_the_end")]
    TimedOut,
}

impl Case {
    /// Returns the name of the case.
    pub fn name(&self) -> String {
        let discard = if self.discard { "with discards" } else { "without discards" };
        format!("{} on {} {discard}", self.load, self.file_system)
    }

    /// Returns the size of the disk, bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_mib << 20
    }

    /// Returns the approximate size of the files, bytes: whole MiB.
    pub fn file_bytes(&self) -> u64 {
        (self.share * self.disk_mib as f64) as u64 * (1 << 20)
    }

    /// Returns the bytes that the load writes: whole MiB.
    pub fn written_bytes(&self) -> u64 {
        (self.written * (self.file_bytes() >> 20) as f64) as u64 * (1 << 20)
    }
}

impl Measurement {
    /// Returns the bytes that the file system wrote for each byte that the application intended to write.
    pub fn upper_amplification(&self) -> f64 {
        self.disk_requests.written_bytes as f64 / self.application_bytes as f64
    }

    /// Returns the bytes that the application's processes passed to the file system for each byte that it
    /// intended to write.
    pub fn passed_on_ratio(&self) -> f64 {
        self.file_bytes.unwrap_or(self.application_bytes) as f64 / self.application_bytes as f64
    }

    /// Returns the bytes that a drive programmed for each byte that the application intended to write: TCWA.
    pub fn total_amplification(&self, drive: usize) -> f64 {
        self.drives[drive].programmed() as f64 * super::drives::PAGE_BYTES as f64
            / self.application_bytes as f64
    }
}
