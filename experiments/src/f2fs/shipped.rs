//! Recordings of F2FS that are shipped with the repository.

use crate::Failure;
use crate::f2fs::cases::Case;
use crate::recordings::{self, Label, written_bytes};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use wearwell_trace::{Op, RequestBatch};

/// Name of the files of requests and of descriptions.
pub const NAME: &str = "f2fs";
const REQUESTS: &[u8] = include_bytes!("../../recordings/f2fs.columns.xz");
const TABLE: &str = include_str!("../../recordings/f2fs.csv");

/// Figures of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Volume of the requests.
    pub volume: u32,
    /// Description of the load.
    pub load: String,
    /// Mount option `active_logs`.
    pub logs: u8,
    /// Seed of the load.
    pub seed: u64,
    /// Size of the disk.
    pub disk_bytes: u64,
    /// Bytes that the load wrote.
    pub load_bytes: u64,
    /// Index of the first measured request, from 0.
    pub measured_from: usize,
    /// Bytes that F2FS wrote for the load, up to the end of a sync.
    pub written_bytes: u64,
    /// Number of these pages that cleaning moved.
    pub moved_pages: u64,
    /// Number of checkpoints among the writes.
    pub checkpoints: u64,
    /// Number of requests of the recording.
    pub requests: usize,
    /// Checksum of the requests.
    pub checksum: String,
}

/// Requests of F2FS to its disk, without reads.
pub type Recording = recordings::Recording<Known>;

impl Known {
    /// Returns the figures of a recording of `case`, before it is labelled.
    pub fn new(case: &Case, moved_pages: u64, measured_from: usize, requests: &RequestBatch) -> Known {
        Known {
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

    /// Returns the bytes that F2FS wrote for each byte that the load wrote.
    pub fn write_amplification(&self) -> f64 {
        self.written_bytes as f64 / self.load_bytes as f64
    }
}

impl recordings::Known for Known {
    fn label(&self) -> Label {
        Label { volume: self.volume, requests: self.requests, checksum: self.checksum.clone() }
    }

    fn labelled(self, Label { volume, requests, checksum }: Label) -> Self {
        Known { volume, requests, checksum, ..self }
    }

    fn name(&self) -> String {
        format!("{} with {} logs", self.load, self.logs)
    }

    fn is_of(&self, requests: &RequestBatch) -> bool {
        written_bytes(requests, self.measured_from) == self.written_bytes
    }
}

/// Bytes of the disk where `mkfs.f2fs` puts both checkpoints on disks of this size.
const CHECKPOINTS: Range<u64> = 2 << 20..6 << 20;

/// Counts checkpoints by the requests that write there: pages of one checkpoint are contiguous.
fn checkpoints(requests: &RequestBatch, from: usize) -> u64 {
    let is_one =
        |at: &usize| requests.op[*at] == Op::Write && CHECKPOINTS.contains(&requests.offset_bytes[*at]);
    (from..requests.len()).filter(is_one).count() as u64
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
            recordings.iter().map(|one| (one.known.load.as_str(), one.known.logs, one.known.seed)).collect();
        let cases = Case::all();
        assert_eq!(keys, cases.iter().map(|case| (case.load.as_str(), case.logs, case.seed)).collect());
        assert_eq!(keys.len(), recordings.len());
    }
}
