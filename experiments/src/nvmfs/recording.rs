//! A recording, and what is kept of it.

use crate::Failure;
use crate::nvmfs::job::{Cleaned, JobReport, Seen};
use serde::Serialize;
use std::path::Path;
use wearwell_trace::{Op, RequestBatch, TraceWriter, WriteOptions};

/// Requests of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    /// How many.
    pub count: u64,
    /// Their lengths together.
    pub bytes: u64,
}

impl Requests {
    /// Those of the kind `op` from the number `from` on.
    pub fn of(requests: &RequestBatch, from: usize, op: Op) -> Requests {
        let of_kind = (from..requests.len()).filter(|at| requests.op[*at] == op);
        of_kind.fold(Requests::default(), |sum, at| Requests {
            count: sum.count + 1,
            bytes: sum.bytes + requests.length_bytes[at],
        })
    }

    /// Their lengths together, MiB.
    pub fn mib(&self) -> f64 {
        self.bytes as f64 / f64::from(1 << 20)
    }
}

/// What was recorded, beside the requests themselves.
#[derive(Clone, Debug, Serialize)]
pub struct Recording {
    /// The file system.
    pub file_system: String,
    /// The workload.
    pub workload: String,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Of the disk.
    pub disk_bytes: u64,
    /// Of the page cache.
    pub cache_bytes: u64,
    /// Of the workload.
    pub seed: u64,
    /// The first request of the main phase, counted from 0; 0 if the job does not say.
    pub main_phase_from: usize,
    /// All requests.
    pub requests: usize,
    /// Of the main phase.
    pub writes: Requests,
    /// Of the main phase.
    pub reads: Requests,
    /// Of the main phase.
    pub trims: Requests,
    /// Of the main phase.
    pub flushes: Requests,
    /// What the job did in the main phase, of generated jobs.
    pub report: Option<JobReport>,
    /// What the cleaner did in the main phase, where there is one.
    pub cleaned: Option<Cleaned>,
}

/// How a recording was made.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a> {
    /// The file system.
    pub file_system: &'a str,
    /// The workload.
    pub workload: &'a str,
    /// Share of the disk that the workload's files take.
    pub utilisation: f64,
    /// Of the disk.
    pub disk_bytes: u64,
    /// Of the page cache.
    pub cache_bytes: u64,
    /// Of the workload.
    pub seed: u64,
}

impl Recording {
    /// Of these requests, and what else was seen.
    pub fn new(setting: &Setting, requests: &RequestBatch, seen: &Seen) -> Recording {
        let from = seen.set_up_requests;
        let [writes, reads, trims, flushes] =
            [Op::Write, Op::Read, Op::Trim, Op::Flush].map(|op| Requests::of(requests, from, op));
        let Setting { utilisation, disk_bytes, cache_bytes, seed, .. } = *setting;
        Recording {
            file_system: setting.file_system.to_owned(),
            workload: setting.workload.to_owned(),
            utilisation,
            disk_bytes,
            cache_bytes,
            seed,
            main_phase_from: from,
            requests: requests.len(),
            writes,
            reads,
            trims,
            flushes,
            report: seen.report,
            cleaned: seen.cleaned,
        }
    }

    /// What its files are called, without their endings.
    pub fn name(&self) -> String {
        format!("{}-{}-{}", self.file_system, self.workload.replace(':', "-"), self.utilisation)
    }

    /// Writes the requests (`.csv.zst`), what the job said (`.log`), and last this (`.json`), so that whoever finds it
    /// finds the others whole.
    pub fn save(&self, folder: &Path, requests: &RequestBatch, lines: &[String]) -> Result<(), Failure> {
        std::fs::create_dir_all(folder)?;
        let path = |ending: &str| folder.join(format!("{}.{ending}", self.name()));
        std::fs::write(path("log"), lines.join("\n"))?;
        let mut writer = TraceWriter::create(path("csv.zst"), &WriteOptions::named("wearwell-csv"))?;
        writer.write_batch(requests)?;
        writer.finish()?;
        Ok(std::fs::write(path("json"), serde_json::to_string_pretty(self)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_trace::Request;

    #[test]
    fn only_the_main_phase_is_summed_up_and_all_requests_are_kept() {
        let mut requests = RequestBatch::default();
        for (op, length_bytes) in [(Op::Write, 4096), (Op::Write, 8192), (Op::Trim, 4096), (Op::Write, 4096)]
        {
            requests.push(&Request { time_ns: 0, op, volume: 0, offset_bytes: 0, length_bytes, hint: 0 });
        }
        let seen = Seen { set_up_requests: 1, ..Seen::default() };
        let setting = Setting {
            file_system: "ext4",
            workload: "program:fio",
            utilisation: 0.6,
            disk_bytes: 1 << 20,
            cache_bytes: 1 << 16,
            seed: 1,
        };
        let recording = Recording::new(&setting, &requests, &seen);
        assert_eq!(recording.writes, Requests { count: 2, bytes: 12_288 });
        assert_eq!(recording.trims, Requests { count: 1, bytes: 4096 });
        assert_eq!((recording.reads.count, recording.requests), (0, 4));
        let folder = tempfile::tempdir().unwrap();
        recording.save(folder.path(), &requests, &["said".to_owned()]).unwrap();
        let read = |name: &str| std::fs::read(folder.path().join(name)).unwrap();
        assert_eq!(read("ext4-program-fio-0.6.log"), b"said");
        assert!(!read("ext4-program-fio-0.6.csv.zst").is_empty());
        let json: serde_json::Value = serde_json::from_slice(&read("ext4-program-fio-0.6.json")).unwrap();
        assert_eq!(json["main_phase_from"], 1);
        assert_eq!(json["writes"]["bytes"], 12_288);
    }
}
