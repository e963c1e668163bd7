//! Recordings of real file systems under the paper's workloads.

use crate::Failure;
use crate::nvmfs::job::{Cleaned, Seen};
use crate::nvmfs::trial::Trial;
use crate::recordings::{self, Label, written_bytes};
use serde::{Deserialize, Serialize};
use wearwell_trace::RequestBatch;

/// Name of the shipped files of requests and of descriptions.
pub const NAME: &str = "file_systems";
const REQUESTS: &[u8] = include_bytes!("../../recordings/file_systems.columns.xz");
const TABLE: &str = include_str!("../../recordings/file_systems.csv");

/// Settings of a recording.
#[derive(Clone, Debug)]
pub struct Setting {
    /// The file system.
    pub file_system: String,
    /// The workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Size of the disk.
    pub disk_bytes: u64,
    /// Size of the page cache.
    pub cache_bytes: u64,
    /// Seed of the workload.
    pub seed: u64,
}

impl Setting {
    /// Returns the name of its recording.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.file_system, self.workload, self.utilisation)
    }
}

/// Figures of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Volume of the requests.
    pub volume: u32,
    /// The file system.
    pub file_system: String,
    /// The workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Size of the disk.
    pub disk_bytes: u64,
    /// Size of the page cache.
    pub cache_bytes: u64,
    /// Seed of the workload.
    pub seed: u64,
    /// Index of the first request of the main phase, from 0.
    pub measured_from: usize,
    /// Bytes that the workload wrote in the main phase.
    pub user_written_bytes: u64,
    /// Bytes that the workload read in the main phase.
    pub user_read_bytes: u64,
    /// Bytes sent to the disk in the main phase.
    pub written_bytes: u64,
    /// Duration on the recording machine, seconds.
    pub seconds: f64,
    /// Time spent waiting for the cleaner, seconds.
    pub waited_seconds: f64,
    /// Number of segments that the cleaner freed, if there is a cleaner.
    pub cleaned_segments: Option<u64>,
    /// Number of 4 KiB blocks in these segments.
    pub recycled_blocks: Option<u64>,
    /// Number of valid file blocks among them, which were moved.
    pub moved_blocks: Option<u64>,
    /// Number of requests of the recording.
    pub requests: usize,
    /// Checksum of the requests.
    pub checksum: String,
}

/// Requests of a file system to its disk, with their figures.
pub type Recording = recordings::Recording<Known>;

impl Known {
    /// Returns the figures of a recording with this setting, before it is labelled.
    ///
    /// # Errors
    ///
    /// Returns an error if the job did not report.
    pub fn new(setting: &Setting, requests: &RequestBatch, seen: &Seen) -> Result<Known, Failure> {
        let report = seen.report.ok_or("the job has not said what it wrote")?;
        let Setting { file_system, workload, utilisation, disk_bytes, cache_bytes, seed } = setting.clone();
        let cleaned = |count: fn(&Cleaned) -> u64| seen.cleaned.as_ref().map(count);
        Ok(Known {
            volume: 0,
            file_system,
            workload,
            utilisation,
            disk_bytes,
            cache_bytes,
            seed,
            measured_from: seen.set_up_requests,
            user_written_bytes: report.counts.written_bytes,
            user_read_bytes: report.counts.read_bytes,
            written_bytes: written_bytes(requests, seen.set_up_requests),
            seconds: report.seconds,
            waited_seconds: report.waited_seconds,
            cleaned_segments: cleaned(|cleaned| cleaned.segments),
            recycled_blocks: cleaned(|cleaned| cleaned.recycled_blocks),
            moved_blocks: cleaned(|cleaned| cleaned.moved_blocks),
            requests: requests.len(),
            checksum: String::new(),
        })
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
        format!("{} under {} at {}", self.file_system, self.workload, self.utilisation)
    }

    fn is_of(&self, requests: &RequestBatch) -> bool {
        written_bytes(requests, self.measured_from) == self.written_bytes
    }
}

impl From<&Recording> for Trial {
    fn from(Recording { known, requests }: &Recording) -> Trial {
        Trial {
            file_system: known.file_system.clone(),
            workload: known.workload.clone(),
            utilisation: known.utilisation,
            requests: requests.clone(),
            measured_from: known.measured_from,
            written_bytes: known.user_written_bytes,
            read_bytes: known.user_read_bytes,
            cleaned: known.cleaned_segments.map(|segments| Cleaned {
                segments,
                recycled_blocks: known.recycled_blocks.unwrap_or(0),
                moved_blocks: known.moved_blocks.unwrap_or(0),
            }),
        }
    }
}

/// Reads the shipped recordings.
///
/// # Errors
///
/// Returns an error if a checksum does not match.
pub fn shipped() -> Result<Vec<Recording>, Failure> {
    recordings::read("recordings/file_systems", REQUESTS, TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nvmfs::job::JobReport;
    use crate::recordings::Known as _;
    use wearwell_trace::{Op, Request};

    #[test]
    fn only_the_main_phase_is_summed_up_and_all_requests_are_kept() {
        let mut requests = RequestBatch::default();
        for (op, length_bytes) in [(Op::Write, 4096), (Op::Write, 8192), (Op::Trim, 4096), (Op::Write, 4096)]
        {
            requests.push(&Request { time_ns: 0, op, volume: 0, offset_bytes: 0, length_bytes, hint: 0 });
        }
        let seen = Seen { set_up_requests: 1, report: Some(JobReport::default()), ..Seen::default() };
        let setting = Setting {
            file_system: "ext4".to_owned(),
            workload: "fio".to_owned(),
            utilisation: 0.6,
            disk_bytes: 1 << 20,
            cache_bytes: 1 << 16,
            seed: 1,
        };
        let known = Known::new(&setting, &requests, &seen).unwrap();
        assert_eq!((known.written_bytes, known.requests), (12_288, 4));
        assert!(known.is_of(&requests));
        assert_eq!(setting.name(), "ext4-fio-0.6");
        assert!(Known::new(&setting, &requests, &Seen::default()).is_err());
    }
}
