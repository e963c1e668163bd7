//! The recordings that are shipped: all in one trace, each a volume of it, and a table beside it that says what each is.

use crate::Failure;
use crate::f2fs::cases::Case;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::Path;
use wearwell_trace::{Op, ReadOptions, RequestBatch, TraceReader, TraceWriter, WriteOptions};

const TRACE: &[u8] = include_bytes!("../../recordings/f2fs.csv.xz");
const TABLE: &str = include_str!("../../recordings/f2fs.csv");

/// Requests read at a time.
const AT_ONCE: usize = 1 << 16;

/// What is known of a recording.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Known {
    /// Its volume in the trace.
    pub volume: u32,
    /// The load.
    pub load: String,
    /// `active_logs`.
    pub logs: u8,
    /// Of the load.
    pub seed: u64,
    /// Of the disk.
    pub disk_bytes: u64,
    /// What the load wrote.
    pub load_bytes: u64,
    /// The first measured request, counted from 0.
    pub measured_from: usize,
    /// What F2FS wrote for the load, up to the end of a sync.
    pub written_bytes: u64,
    /// Pages among them that cleaning moved.
    pub moved_pages: u64,
    /// Checkpoints among what it wrote.
    pub checkpoints: u64,
    /// Requests of the recording.
    pub requests: usize,
    /// Sum over them that changes with any of them.
    pub checksum: String,
}

/// A recording.
#[derive(Clone, Debug)]
pub struct Recording {
    /// What is known of it.
    pub known: Known,
    /// What F2FS sent to its disk, without reads and times.
    pub requests: RequestBatch,
}

impl Known {
    /// What is known of a recording of `case`.
    pub fn new(case: &Case, moved_pages: u64, measured_from: usize, requests: &RequestBatch) -> Known {
        Known {
            volume: 0,
            load: case.load.clone(),
            logs: case.logs,
            seed: case.seed,
            disk_bytes: case.disk_bytes(),
            load_bytes: case.load_bytes(),
            measured_from,
            written_bytes: written(requests, measured_from),
            moved_pages,
            checkpoints: checkpoints(requests, measured_from),
            requests: requests.len(),
            checksum: checksum(requests),
        }
    }

    /// What F2FS wrote for each byte that the load wrote.
    pub fn write_amplification(&self) -> f64 {
        self.written_bytes as f64 / self.load_bytes as f64
    }
}

fn written(requests: &RequestBatch, from: usize) -> u64 {
    let writes = (from..requests.len()).filter(|at| requests.op[*at] == Op::Write);
    writes.map(|at| requests.length_bytes[at]).sum()
}

/// Where `mkfs.f2fs` puts both checkpoints on disks of this size, bytes.
const CHECKPOINTS: Range<u64> = 2 << 20..6 << 20;

/// Requests that write there: the pages of one lie together.
fn checkpoints(requests: &RequestBatch, from: usize) -> u64 {
    let is_one =
        |at: &usize| requests.op[*at] == Op::Write && CHECKPOINTS.contains(&requests.offset_bytes[*at]);
    (from..requests.len()).filter(is_one).count() as u64
}

/// FNV-1a of 64 bits over kind, offset and length of each request.
fn checksum(requests: &RequestBatch) -> String {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |number: u64| {
        for byte in number.to_le_bytes() {
            sum = (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for at in 0..requests.len() {
        add(requests.op[at] as u64);
        add(requests.offset_bytes[at]);
        add(requests.length_bytes[at]);
    }
    format!("{sum:016x}")
}

/// Writes recordings as they are shipped, into `folder`.
///
/// # Errors
///
/// As of writing.
pub fn write(recordings: &[Recording], folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let mut trace = TraceWriter::create(folder.join("f2fs.csv.xz"), &WriteOptions::named("wearwell-csv"))?;
    let mut table = csv::Writer::from_path(folder.join("f2fs.csv"))?;
    for (volume, recording) in recordings.iter().enumerate() {
        let volume = volume as u32;
        let mut requests = recording.requests.clone();
        requests.volume.fill(volume);
        trace.write_batch(&requests)?;
        table.serialize(Known { volume, ..recording.known.clone() })?;
    }
    trace.finish()?;
    Ok(table.flush()?)
}

/// The shipped recordings, each held against what is known of it.
///
/// # Errors
///
/// Recordings that are not what was recorded.
pub fn read() -> Result<Vec<Recording>, Failure> {
    let known =
        csv::Reader::from_reader(TABLE.as_bytes()).into_deserialize().collect::<Result<Vec<Known>, _>>()?;
    let of = |known| Recording { known, requests: RequestBatch::default() };
    let mut recordings: Vec<Recording> = known.into_iter().map(of).collect();
    let mut reader = TraceReader::new("recordings/f2fs.csv.xz", TRACE, &ReadOptions::default())?;
    let mut some = RequestBatch::default();
    while reader.read_batch(&mut some, AT_ONCE)? > 0 {
        for at in 0..some.len() {
            let request = some.get(at);
            let recording = recordings.get_mut(request.volume as usize);
            recording.ok_or("recordings/f2fs.csv has too few rows")?.requests.push(&request);
        }
    }
    for Recording { known, requests } in &recordings {
        let same = requests.len() == known.requests
            && checksum(requests) == known.checksum
            && written(requests, known.measured_from) == known.written_bytes;
        if !same {
            return Err(format!("recordings/f2fs.csv.xz: {} is not what was recorded", known.load).into());
        }
    }
    Ok(recordings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn shipped_recordings_are_whole_and_one_of_each_case() {
        let recordings = read().unwrap();
        let keys: BTreeSet<(&str, u8, u64)> =
            recordings.iter().map(|one| (one.known.load.as_str(), one.known.logs, one.known.seed)).collect();
        let cases = Case::all();
        assert_eq!(keys, cases.iter().map(|case| (case.load.as_str(), case.logs, case.seed)).collect());
        assert_eq!(keys.len(), recordings.len());
    }

    #[test]
    fn any_change_changes_the_checksum() {
        let mut requests = read().unwrap().swap_remove(0).requests;
        let before = checksum(&requests);
        requests.offset_bytes[7] += 4096;
        assert_ne!(checksum(&requests), before);
    }
}
