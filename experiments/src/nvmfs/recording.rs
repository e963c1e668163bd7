//! Recordings of real file systems under the paper's workloads.

use crate::Failure;
use crate::nvmfs::job::{CleanerWork, JobOutput};
use crate::nvmfs::trial::Trial;
use crate::recordings::{self, Label, written_bytes};
use serde::{Deserialize, Serialize};
use wearwell_trace::RequestBatch;

/// Name of the files with the shipped requests and table.
pub const NAME: &str = "file_systems";
const REQUESTS: &[u8] = include_bytes!("../../recordings/file_systems.columns.xz");
const TABLE: &str = include_str!("../../recordings/file_systems.csv");

/// Settings of a recording.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Name of the file system.
    pub file_system: String,
    /// Name of the workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Size of the disk in bytes.
    pub disk_bytes: u64,
    /// Size of the page cache in bytes.
    pub cache_bytes: u64,
    /// Seed of the workload.
    pub seed: u64,
}

impl Setting {
    /// Returns the name of the recording with this setting.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.file_system, self.workload, self.utilisation)
    }
}

/// Figures of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FileSystemRecordingInfo {
    /// Volume number of the file system's requests in the trace.
    pub volume: u32,
    /// Name of the file system.
    pub file_system: String,
    /// Name of the workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Size of the disk in bytes.
    pub disk_bytes: u64,
    /// Size of the page cache in bytes.
    pub cache_bytes: u64,
    /// Seed of the workload.
    pub seed: u64,
    /// Index of the first request of the main phase, starting from 0.
    pub measured_from: usize,
    /// Number of bytes that the workload wrote in the main phase.
    pub user_written_bytes: u64,
    /// Number of bytes that the workload read in the main phase.
    pub user_read_bytes: u64,
    /// Number of bytes sent to the disk in the main phase.
    pub written_bytes: u64,
    /// Duration in seconds on the recording machine.
    pub seconds: f64,
    /// Time in seconds spent waiting for the cleaner.
    pub waited_seconds: f64,
    /// Number of segments that the cleaner freed, if there is a cleaner.
    pub cleaned_segments: Option<u64>,
    /// Number of 4 KiB blocks in these segments.
    pub recycled_blocks: Option<u64>,
    /// Number of valid file blocks in these segments, which were moved.
    pub moved_blocks: Option<u64>,
    /// Number of requests in the recording.
    pub requests: usize,
    /// Checksum of the requests.
    pub checksum: String,
}

/// Requests of a file system to its disk, with their figures.
pub type Recording = recordings::Recording<FileSystemRecordingInfo>;

impl FileSystemRecordingInfo {
    /// Returns the figures of a recording with this setting, before its volume and checksum are set.
    ///
    /// # Errors
    ///
    /// Returns an error if the job did not report.
    pub fn new(
        setting: &Setting,
        requests: &RequestBatch,
        output: &JobOutput,
    ) -> Result<FileSystemRecordingInfo, Failure> {
        let report = output.report.ok_or("the job has not said what it wrote")?;
        let Setting { file_system, workload, utilisation, disk_bytes, cache_bytes, seed } = setting.clone();
        let cleaner_count = |count: fn(&CleanerWork) -> u64| output.cleaner_work.as_ref().map(count);
        Ok(FileSystemRecordingInfo {
            volume: 0,
            file_system,
            workload,
            utilisation,
            disk_bytes,
            cache_bytes,
            seed,
            measured_from: output.set_up_requests,
            user_written_bytes: report.counts.written_bytes,
            user_read_bytes: report.counts.read_bytes,
            written_bytes: written_bytes(requests, output.set_up_requests),
            seconds: report.seconds,
            waited_seconds: report.waited_seconds,
            cleaned_segments: cleaner_count(|cleaned| cleaned.segments),
            recycled_blocks: cleaner_count(|cleaned| cleaned.recycled_blocks),
            moved_blocks: cleaner_count(|cleaned| cleaned.moved_blocks),
            requests: requests.len(),
            checksum: String::new(),
        })
    }
}

impl recordings::RecordingInfo for FileSystemRecordingInfo {
    fn label(&self) -> Label {
        Label { volume: self.volume, requests: self.requests, checksum: self.checksum.clone() }
    }

    fn with_label(self, Label { volume, requests, checksum }: Label) -> Self {
        FileSystemRecordingInfo { volume, requests, checksum, ..self }
    }

    fn name(&self) -> String {
        format!("{} under {} at {}", self.file_system, self.workload, self.utilisation)
    }

    fn matches(&self, requests: &RequestBatch) -> bool {
        written_bytes(requests, self.measured_from) == self.written_bytes
    }
}

impl From<&Recording> for Trial {
    fn from(Recording { info: known, requests }: &Recording) -> Trial {
        Trial {
            file_system: known.file_system.clone(),
            workload: known.workload.clone(),
            utilisation: known.utilisation,
            requests: requests.clone(),
            measured_from: known.measured_from,
            written_bytes: known.user_written_bytes,
            read_bytes: known.user_read_bytes,
            cleaner_work: known.cleaned_segments.map(|segments| CleanerWork {
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
    use crate::recordings::RecordingInfo as _;
    use wearwell_trace::{Op, Request};

    #[test]
    fn figures_cover_main_phase_and_all_requests_are_kept() {
        let mut requests = RequestBatch::default();
        for (op, length_bytes) in [(Op::Write, 4096), (Op::Write, 8192), (Op::Trim, 4096), (Op::Write, 4096)]
        {
            requests.push(&Request { time_ns: 0, op, volume: 0, offset_bytes: 0, length_bytes, hint: 0 });
        }
        let output =
            JobOutput { set_up_requests: 1, report: Some(JobReport::default()), ..JobOutput::default() };
        let setting = Setting {
            file_system: "ext4".to_owned(),
            workload: "fio".to_owned(),
            utilisation: 0.6,
            disk_bytes: 1 << 20,
            cache_bytes: 1 << 16,
            seed: 1,
        };
        let known = FileSystemRecordingInfo::new(&setting, &requests, &output).unwrap();
        assert_eq!((known.written_bytes, known.requests), (12_288, 4));
        assert!(known.matches(&requests));
        assert_eq!(setting.name(), "ext4-fio-0.6");
        assert!(FileSystemRecordingInfo::new(&setting, &requests, &JobOutput::default()).is_err());
    }
}
