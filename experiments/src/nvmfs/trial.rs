//! Requests of a file system to its drive under a workload, either simulated or recorded.

use crate::Failure;
use crate::nvmfs::job::CleanerWork;
use crate::nvmfs::replay::{ReplayCounts, ReplayFtl, replay};
use crate::nvmfs::timed_replay::{Clock, ReplayDrive, timed_seconds};
use serde::{Deserialize, Serialize};
use wearwell_trace::{Op, RequestBatch};

/// Bytes of a sector, the unit of figure 6.
const SECTOR_BYTES: u64 = 512;

/// A file system under a workload.
#[derive(Clone, Debug)]
pub struct Trial {
    /// Name of the file system.
    pub file_system: String,
    /// Name of the workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// All requests to the drive.
    pub requests: RequestBatch,
    /// Index of the first request after the files were made.
    pub measured_from: usize,
    /// Number of bytes that the workload wrote from this request on.
    pub written_bytes: u64,
    /// Number of bytes that the workload read from this request on.
    pub read_bytes: u64,
    /// Work of the cleaner, if the file system has one.
    pub cleaner_work: Option<CleanerWork>,
}

/// Results of a trial.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// Name of the file system.
    pub file_system: String,
    /// Name of the workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Number of 512-byte sectors that the workload wrote.
    pub user_sectors: u64,
    /// Number of 512-byte sectors sent to the drive.
    pub sectors: u64,
    /// Number of write requests.
    pub write_requests: u64,
    /// Results of the two FTLs, in the order of [`ReplayFtl::ALL`].
    pub replayed: [ReplayCounts; 2],
    /// Modelled time of the drive in seconds, in the order of [`ReplayDrive::ALL`].
    pub drive_seconds: [f64; 2],
    /// Modelled time of NVRAM or page cache in seconds.
    pub memory_seconds: f64,
    /// Work of the cleaner, if the file system has one.
    #[serde(rename = "cleaned")]
    pub cleaner_work: Option<CleanerWork>,
}

impl Trial {
    /// Returns the number of bytes in the measured requests of one kind, and the number of these requests.
    fn sum(&self, op: Op) -> (u64, u64) {
        let measured = (self.measured_from..self.requests.len()).filter(|at| self.requests.op[*at] == op);
        measured.fold((0, 0), |(bytes, count), at| (bytes + self.requests.length_bytes[at], count + 1))
    }

    /// Returns the number of bytes in the write requests to the drive, and the number of these requests.
    pub fn sent(&self) -> (u64, u64) {
        self.sum(Op::Write)
    }

    /// Returns the modelled time in seconds of NVRAM or page cache.
    pub fn memory_seconds(&self, clock: &Clock) -> f64 {
        let moved = self.written_bytes + self.read_bytes + self.sum(Op::Write).0 + self.sum(Op::Read).0;
        moved as f64 / 4096.0 * clock.memory_us / 1e6
    }

    /// Replays the trial on a drive with a capacity of `shown_bytes`.
    pub fn evaluate(&self, shown_bytes: u64, clock: &Clock) -> Result<Outcome, Failure> {
        let failed = |error: Failure| {
            let Trial { file_system, workload, utilisation, .. } = self;
            Failure::from(format!("{file_system}, {workload} at {utilisation}: {error}"))
        };
        let replay_on = |ftl| replay(&self.requests, self.measured_from, ftl, shown_bytes).map_err(failed);
        let timed = |planes| {
            timed_seconds(&self.requests, self.measured_from, shown_bytes, planes, clock).map_err(failed)
        };
        let (sent_bytes, write_requests) = self.sum(Op::Write);
        Ok(Outcome {
            file_system: self.file_system.clone(),
            workload: self.workload.clone(),
            utilisation: self.utilisation,
            user_sectors: self.written_bytes / SECTOR_BYTES,
            sectors: sent_bytes / SECTOR_BYTES,
            write_requests,
            replayed: [replay_on(ReplayFtl::ALL[0])?, replay_on(ReplayFtl::ALL[1])?],
            drive_seconds: [timed(ReplayDrive::ALL[0])?, timed(ReplayDrive::ALL[1])?],
            memory_seconds: self.memory_seconds(clock),
            cleaner_work: self.cleaner_work,
        })
    }
}

impl Outcome {
    /// Returns the number of sectors sent to the drive per sector that the workload wrote.
    pub fn traffic(&self) -> f64 {
        self.sectors as f64 / self.user_sectors as f64
    }

    /// Returns the number of megabytes (10^6 bytes) that the workload wrote per second of modelled time. Drive and
    /// memory work one after the other; `drive` is an index in [`ReplayDrive::ALL`].
    pub fn throughput(&self, drive: usize) -> f64 {
        let seconds = self.drive_seconds[drive] + self.memory_seconds;
        (self.user_sectors * SECTOR_BYTES) as f64 / 1e6 / seconds
    }

    /// Returns the number of flash pages programmed per page that the workload wrote; `ftl` is an index in
    /// [`ReplayFtl::ALL`].
    pub fn programs_per_user_page(&self, ftl: usize) -> f64 {
        self.replayed[ftl].programs as f64 / (self.user_sectors * SECTOR_BYTES) as f64 * 4096.0
    }

    /// Returns the number of erases of an FTL per GiB that the workload wrote.
    pub fn erases_per_gib(&self, ftl: usize) -> f64 {
        self.replayed[ftl].erases as f64 * f64::from(1 << 30) / (self.user_sectors * SECTOR_BYTES) as f64
    }
}
