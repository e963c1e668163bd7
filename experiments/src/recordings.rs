//! Recordings in their stored form: all are in one file of [`columns`], with one volume each, and a table describes each
//! volume.

use crate::{Failure, columns};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Read;
use std::path::{Path, PathBuf};
use wearwell_trace::{Op, Request, RequestBatch, TraceWriter, WriteOptions};

/// Label that connects a recording's row in the table with its requests in the trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Label {
    /// Volume of the recording in the trace.
    pub volume: u32,
    /// Number of requests.
    pub requests: usize,
    /// Checksum of the requests, without their times.
    pub checksum: String,
}

/// Description of a recording, which is a row of the table. The label is among its columns.
pub trait RecordingInfo: Clone + Serialize + DeserializeOwned {
    /// Returns the label that connects the description with its requests.
    fn label(&self) -> Label;

    /// Returns the same description with another label.
    fn with_label(self, label: Label) -> Self;

    /// Returns the name of the recording for error messages.
    fn name(&self) -> String;

    /// True if the figures of the description agree with the requests.
    fn matches(&self, requests: &RequestBatch) -> bool;
}

/// A recording.
#[derive(Clone, Debug)]
pub struct Recording<K> {
    /// Description of the recording.
    pub info: K,
    /// Requests to the disk, without times, which depend on the recording machine.
    pub requests: RequestBatch,
}

/// Returns the paths of the columns and the table called `name` in `folder`.
pub fn paths(folder: &Path, name: &str) -> [PathBuf; 2] {
    [folder.join(format!("{name}.columns.xz")), folder.join(format!("{name}.csv"))]
}

/// Returns the number of bytes written from request number `from` on.
pub fn written_bytes(requests: &RequestBatch, from: usize) -> u64 {
    let writes = (from..requests.len()).filter(|at| requests.op[*at] == Op::Write);
    writes.map(|at| requests.length_bytes[at]).sum()
}

/// Returns the 64-bit FNV-1a hash over the kind, offset and length of each request.
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

/// Writes recordings to files in `folder` that are called `name`.
///
/// # Errors
///
/// The errors of writing files.
pub fn write<K: RecordingInfo>(
    recordings: &[Recording<K>],
    folder: &Path,
    name: &str,
) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)?;
    let [requests_file, table] = paths(folder, name);
    let mut stored = columns::Writer::default();
    let mut lines = csv::Writer::from_writer(Vec::new());
    for (volume, Recording { info: known, requests }) in recordings.iter().enumerate() {
        let label = Label { volume: volume as u32, requests: requests.len(), checksum: checksum(requests) };
        for at in 0..requests.len() {
            stored.push(&Request { volume: label.volume, ..requests.get(at) });
        }
        lines.serialize(known.clone().with_label(label))?;
    }
    std::fs::write(requests_file, stored.finish()?)?;
    // The table is written last: if it exists, the requests are complete.
    Ok(std::fs::write(table, lines.into_inner().map_err(|error| error.into_error())?)?)
}

/// Writes recordings as a trace in `wearwell-csv`, one volume each and all times 0.
///
/// # Errors
///
/// The errors of writing a trace.
pub fn export<K: RecordingInfo>(recordings: &[Recording<K>], trace: &Path) -> Result<(), Failure> {
    let mut trace = TraceWriter::create(trace, &WriteOptions::named("wearwell-csv"))?;
    for (volume, Recording { requests, .. }) in recordings.iter().enumerate() {
        let mut requests = requests.clone();
        requests.volume.fill(volume as u32);
        requests.time_ns.fill(0);
        trace.write_batch(&requests)?;
    }
    trace.finish()?;
    Ok(())
}

/// Reads recordings from their columns and table, and compares each with its description; `name` is used in errors.
///
/// # Errors
///
/// Returns an error if requests and description disagree.
pub fn read<K: RecordingInfo>(
    name: &str,
    requests: impl Read,
    table: &str,
) -> Result<Vec<Recording<K>>, Failure> {
    let infos =
        csv::Reader::from_reader(table.as_bytes()).into_deserialize().collect::<Result<Vec<K>, _>>()?;
    let recording_of = |known| Recording { info: known, requests: RequestBatch::default() };
    let mut recordings: Vec<Recording<K>> = infos.into_iter().map(recording_of).collect();
    for request in columns::Reader::new(requests)? {
        let request = request?;
        let recording = recordings.get_mut(request.volume as usize);
        recording.ok_or_else(|| format!("{name}.csv has too few rows"))?.requests.push(&request);
    }
    for (volume, Recording { info: known, requests }) in recordings.iter().enumerate() {
        let label = Label { volume: volume as u32, requests: requests.len(), checksum: checksum(requests) };
        if known.label() != label || !known.matches(requests) {
            return Err(format!("{name}.columns.xz: {} is not what was recorded", known.name()).into());
        }
    }
    Ok(recordings)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;
    use wearwell_trace::{ReadOptions, open};

    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
    struct TestInfo {
        volume: u32,
        requests: usize,
        checksum: String,
        written_bytes: u64,
    }

    impl RecordingInfo for TestInfo {
        fn label(&self) -> Label {
            Label { volume: self.volume, requests: self.requests, checksum: self.checksum.clone() }
        }

        fn with_label(self, Label { volume, requests, checksum }: Label) -> Self {
            TestInfo { volume, requests, checksum, ..self }
        }

        fn name(&self) -> String {
            "line".to_owned()
        }

        fn matches(&self, requests: &RequestBatch) -> bool {
            self.written_bytes == written_bytes(requests, 0)
        }
    }

    fn recording(offsets: &[u64]) -> Recording<TestInfo> {
        let mut requests = RequestBatch::default();
        for offset_bytes in offsets {
            let (time_ns, length_bytes) = (*offset_bytes, 4096);
            requests.push(&Request {
                time_ns,
                op: Op::Write,
                volume: 0,
                offset_bytes: *offset_bytes,
                length_bytes,
                hint: 0,
            });
        }
        let written_bytes = written_bytes(&requests, 0);
        Recording {
            info: TestInfo { volume: 0, requests: 0, checksum: String::new(), written_bytes },
            requests,
        }
    }

    fn read_from(folder: &Path) -> Result<Vec<Recording<TestInfo>>, Failure> {
        let [requests, table] = paths(folder, "all");
        read("all", std::fs::File::open(requests)?, &std::fs::read_to_string(table)?)
    }

    #[test]
    fn written_recordings_are_read_and_changes_are_detected() {
        let folder = tempfile::tempdir().unwrap();
        let recordings = [recording(&[0, 8192]), recording(&[4096])];
        write(&recordings, folder.path(), "all").unwrap();
        let read_back = read_from(folder.path()).unwrap();
        assert_eq!(read_back.iter().map(|one| one.requests.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!(read_back[0].requests.offset_bytes, recordings[0].requests.offset_bytes);

        let [_, table] = paths(folder.path(), "all");
        let text = std::fs::read_to_string(&table).unwrap();
        let sum = checksum(&recordings[1].requests);
        for (from, to) in [("1,1,", "1,2,"), (sum.as_str(), "0000000000000000"), (",4096\n", ",8192\n")] {
            assert!(text.contains(from), "{text}");
            std::fs::write(&table, text.replace(from, to)).unwrap();
            let error = read_from(folder.path()).unwrap_err().to_string();
            assert!(error.contains("all.columns.xz: line is not what was recorded"), "{error}");
        }
        std::fs::write(&table, text.lines().take(2).collect::<Vec<_>>().join("\n")).unwrap();
        assert!(read_from(folder.path()).unwrap_err().to_string().contains("too few rows"));
    }

    #[test]
    fn exported_recordings_are_a_trace_with_a_volume_each() {
        let folder = tempfile::tempdir().unwrap();
        let trace = folder.path().join("all.csv.zst");
        export(&[recording(&[0, 8192]), recording(&[4096])], &trace).unwrap();
        let mut reader = open(&trace, &ReadOptions::default()).unwrap();
        let mut requests = RequestBatch::default();
        assert_eq!(reader.read_batch(&mut requests, 10).unwrap(), 3);
        assert_eq!(requests.volume, [0, 0, 1]);
        assert_eq!(requests.offset_bytes, [0, 8192, 4096]);
        assert_eq!(requests.time_ns, [0; 3]);
    }

    #[test]
    fn checksum_changes_with_any_field() {
        let mut requests = recording(&[0, 4096, 8192]).requests;
        let before = checksum(&requests);
        requests.offset_bytes[1] += 4096;
        assert_ne!(checksum(&requests), before);
    }
}
