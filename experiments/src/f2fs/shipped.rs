//! Recordings of F2FS that are shipped with the repository.

use crate::Failure;
use crate::f2fs::cases::Case;
use crate::recordings::{self, Label, written_bytes};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use wearwell_trace::{Op, RequestBatch};

/// Name of the files with the requests and the table.
pub const NAME: &str = "f2fs";
const REQUESTS: &[u8] = include_bytes!("../../recordings/f2fs.columns.xz");
const TABLE: &str = include_str!("../../recordings/f2fs.csv");

/// Figures of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct F2fsRecordingInfo {
    /// Volume of the recording in the requests.
    pub volume: u32,
    /// Description of the load.
    pub load: String,
    /// Value of the mount option `active_logs`.
    pub logs: u8,
    /// Seed of the load.
    pub seed: u64,
    /// Size of the disk in bytes.
    pub disk_bytes: u64,
    /// Number of bytes that the load wrote.
    pub load_bytes: u64,
    /// Index of the first measured request, starting from 0.
    pub measured_from: usize,
    /// Number of bytes that F2FS wrote for the load, until a final sync was complete.
    pub written_bytes: u64,
    /// Number of pages that cleaning moved, which are included in these bytes.
    pub moved_pages: u64,
    /// Number of checkpoints among these writes.
    pub checkpoints: u64,
    /// Number of requests in the recording.
    pub requests: usize,
    /// Checksum of the requests.
    pub checksum: String,
}

/// Requests of F2FS to its disk, without reads.
pub type Recording = recordings::Recording<F2fsRecordingInfo>;

impl F2fsRecordingInfo {
    /// Returns the figures of a recording of `case`, before its volume and checksum are set.
    pub fn new(
        case: &Case,
        moved_pages: u64,
        measured_from: usize,
        requests: &RequestBatch,
    ) -> F2fsRecordingInfo {
        F2fsRecordingInfo {
            volume: 0,
            load: case.load.clone(),
            logs: case.logs,
            seed: case.seed,
            disk_bytes: case.disk_bytes(),
            load_bytes: case.load_bytes(),
            measured_from,
            written_bytes: written_bytes(requests, measured_from),
            moved_pages,
            checkpoints: checkpoints(requests, measured_from),
            requests: requests.len(),
            checksum: String::new(),
        }
    }

    /// Returns the number of bytes that F2FS wrote per byte that the load wrote.
    pub fn write_amplification(&self) -> f64 {
        self.written_bytes as f64 / self.load_bytes as f64
    }
}

impl recordings::RecordingInfo for F2fsRecordingInfo {
    fn label(&self) -> Label {
        Label { volume: self.volume, requests: self.requests, checksum: self.checksum.clone() }
    }

    fn with_label(self, Label { volume, requests, checksum }: Label) -> Self {
        F2fsRecordingInfo { volume, requests, checksum, ..self }
    }

    fn name(&self) -> String {
        format!("{} with {} logs", self.load, self.logs)
    }

    fn matches(&self, requests: &RequestBatch) -> bool {
        written_bytes(requests, self.measured_from) == self.written_bytes
    }
}

/// Byte range of the disk in which `mkfs.f2fs` puts both checkpoints on disks of this size.
const CHECKPOINTS: Range<u64> = 2 << 20..6 << 20;

/// Counts checkpoints by the requests that write to this range: pages of one checkpoint are contiguous.
fn checkpoints(requests: &RequestBatch, from: usize) -> u64 {
    let is_checkpoint =
        |at: &usize| requests.op[*at] == Op::Write && CHECKPOINTS.contains(&requests.offset_bytes[*at]);
    (from..requests.len()).filter(is_checkpoint).count() as u64
}

/// Reads the shipped recordings.
///
/// # Errors
///
/// Returns an error if a checksum does not match.
pub fn read() -> Result<Vec<Recording>, Failure> {
    recordings::read("recordings/f2fs", REQUESTS, TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn shipped_recordings_are_complete_and_one_per_case() {
        let recordings = read().unwrap();
        let keys: BTreeSet<(&str, u8, u64)> =
            recordings.iter().map(|one| (one.info.load.as_str(), one.info.logs, one.info.seed)).collect();
        let cases = Case::all();
        assert_eq!(keys, cases.iter().map(|case| (case.load.as_str(), case.logs, case.seed)).collect());
        assert_eq!(keys.len(), recordings.len());
    }
}
