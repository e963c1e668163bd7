//! Cases of the live measurements: a file system under a load, on several drives.

use crate::live::drives::DriveCounts;
use crate::nvmfs::nilfs_logs::LogBlocks;
use serde::{Deserialize, Serialize};

/// Case of the live measurements.
#[derive(Clone, Debug, Serialize)]
pub struct Case {
    /// Name of the file system.
    pub file_system: String,
    /// Name of the load.
    pub load: String,
    /// True if the file system discards unused blocks, including during mkfs.
    pub discard: bool,
    /// Drives that receive the requests of the file system.
    pub drives: Vec<String>,
    /// Size of the disk in MiB.
    pub disk_mib: u64,
    /// Approximate share of the disk that the files take.
    pub share: f64,
    /// Number of bytes that the load writes in its measured part, as a multiple of the size of its files.
    pub written: f64,
    /// Seed of the load.
    pub seed: u64,
    /// Time limit in seconds.
    pub limit_seconds: u32,
}

/// Requests of the file system to its disk in the measured part.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskRequests {
    /// Number of bytes written.
    pub written_bytes: u64,
    /// Number of bytes written to the journal or the metadata area of the file system, if that is contiguous.
    pub area_bytes: Option<u64>,
    /// Number of writes; in a guest, writes that are neighbours in time and place are merged.
    pub writes: u64,
    /// Number of bytes discarded.
    pub discarded_bytes: u64,
    /// Number of flushes; the disk driver of a guest does not forward them.
    pub flushes: u64,
    /// Number of bytes read.
    pub read_bytes: u64,
    /// Number of pages that the cleaner of the file system moved, if it has one that reports them.
    pub moved_pages: Option<u64>,
    /// Blocks of the logs of the file system by type, if the logs can be parsed.
    pub logs: Option<LogBlocks>,
}

/// Results of a measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// Number of bytes that the application intended to write.
    pub application_bytes: u64,
    /// Number of bytes that the processes of the application passed to the file system, if it differs from the
    /// intended number.
    pub file_bytes: Option<u64>,
    /// Requests of the file system.
    #[serde(rename = "sent")]
    pub disk_requests: DiskRequests,
    /// Counts of each drive, in the order of the case.
    pub drives: Vec<DriveCounts>,
    /// Messages of the file system's checker at the end: empty if it found no error; `None` if there is no checker.
    pub check: Option<String>,
    /// Wall-clock time of the measured part in seconds.
    pub seconds: f64,
}

/// Outcome of a case.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The measurement is complete.
    Measured(Box<Measurement>),
    /// The file system had no free space for the writes of the load.
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

    /// Returns the size of the disk in bytes.
    pub fn disk_bytes(&self) -> u64 {
        self.disk_mib << 20
    }

    /// Returns the approximate size of the files in bytes, a multiple of 1 MiB.
    pub fn file_bytes(&self) -> u64 {
        (self.share * self.disk_mib as f64) as u64 * (1 << 20)
    }

    /// Returns the number of bytes that the load writes, a multiple of 1 MiB.
    pub fn written_bytes(&self) -> u64 {
        (self.written * (self.file_bytes() >> 20) as f64) as u64 * (1 << 20)
    }
}

impl Measurement {
    /// Returns the number of bytes that the file system wrote per byte that the application intended to write.
    pub fn upper_amplification(&self) -> f64 {
        self.disk_requests.written_bytes as f64 / self.application_bytes as f64
    }

    /// Returns the number of bytes that the processes of the application passed to the file system per byte that it
    /// intended to write.
    pub fn passed_on_ratio(&self) -> f64 {
        self.file_bytes.unwrap_or(self.application_bytes) as f64 / self.application_bytes as f64
    }

    /// Returns the number of bytes that a drive programmed per byte that the application intended to write (TCWA).
    pub fn total_amplification(&self, drive: usize) -> f64 {
        self.drives[drive].programmed() as f64 * super::drives::PAGE_BYTES as f64
            / self.application_bytes as f64
    }
}
