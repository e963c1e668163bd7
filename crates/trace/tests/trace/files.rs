//! Traces as files: progress, compression by name, no partial files, conversion and cutting.

use std::path::Path;

use crate::support::*;
use wearwell_trace::*;

/// Returns requests 0 to 99, 1 ms apart, of one page each, on volumes 0 and 1 in turn.
fn hundred_requests() -> RequestBatch {
    let mut batch = RequestBatch::default();
    for number in 0..100u64 {
        let op = if number % 10 == 0 { Op::Read } else { Op::Write };
        let (time_ns, offset_bytes) = (5_000_000 + number * 1_000_000, number * 4096);
        let volume = (number % 2) as u32;
        batch.push(&Request { time_ns, op, volume, offset_bytes, length_bytes: 4096, hint: 0 });
    }
    batch
}

fn write(path: &Path, format: &str, batch: &RequestBatch) -> Result<WriteSummary, TraceError> {
    let mut writer = TraceWriter::create(path, &WriteOptions::named(format))?;
    writer.write_batch(batch)?;
    writer.finish()
}

#[test]
fn file_extension_selects_compression() {
    let directory = tempfile::tempdir().unwrap();
    for (name, magic) in [
        ("a.csv", &b"Timestamp"[..]),
        ("a.csv.gz", b"\x1f\x8b"),
        ("a.xz", b"\xfd7zXZ"),
        ("a.zst", b"\x28\xb5"),
    ] {
        let path = directory.path().join(name);
        let written = write(&path, "systor17", &hundred_requests()).unwrap();
        assert_eq!(written, WriteSummary { requests: 100, ..Default::default() });
        assert!(std::fs::read(&path).unwrap().starts_with(magic), "{name}");
        let mut reader = open(&path, &ReadOptions::default()).unwrap();
        assert_eq!(read_all(&mut reader, 33).unwrap(), hundred_requests());
        assert_eq!(Some(reader.bytes_read()), reader.total_bytes());
    }
}

#[test]
fn unfinished_trace_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace.csv");
    std::fs::write(&path, "what was there before").unwrap();
    let mut batch = hundred_requests();
    batch.op[41] = Op::Trim;
    let error = write(&path, "msr", &batch).unwrap_err().to_string();
    assert!(error.contains("trace.csv: request 42 cannot be written in the format `msr`"), "{error}");
    assert!(error.contains("no discard"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "what was there before");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn inexpressible_requests_are_counted_if_dropped() {
    let mut batch = hundred_requests();
    batch.offset_bytes[7] = 100;
    batch.op[8] = Op::Flush;
    let options = WriteOptions { drop_inexpressible: true, ..WriteOptions::named("mqsim") };
    let (_, written) = encode(&batch, &options).unwrap();
    assert_eq!((written.requests, written.dropped), (98, 2));
    assert!(written.first_dropped.unwrap().contains("request 8 cannot"));
}

#[test]
fn errors_name_missing_files_and_directories() {
    let missing = open("/nonexistent/trace.csv", &ReadOptions::default()).err().unwrap();
    assert!(missing.to_string().contains("/nonexistent/trace.csv"));
    let directory = tempfile::tempdir().unwrap();
    assert!(matches!(open(directory.path(), &ReadOptions::default()), Err(TraceError::Io { .. })));
}

/// Returns the times of the requests that `cut_config` selects, in ms.
fn selected_ms(cut_config: &Cut) -> Vec<u64> {
    let options = WriteOptions::named("wearwell-csv");
    let (bytes, _) = encode(&hundred_requests(), &options).unwrap();
    let mut reader = TraceReader::new("test", std::io::Cursor::new(bytes), &ReadOptions::default()).unwrap();
    let bytes = written_bytes(&options, |mut writer| {
        cut(&mut reader, &mut writer, cut_config).unwrap();
        writer.finish().unwrap();
    });
    let selected = decode(&bytes.unwrap(), &ReadOptions::default()).unwrap();
    selected.time_ns.iter().map(|ns| ns / 1_000_000).collect()
}

#[test]
fn cut_writes_selected_requests() {
    assert_eq!(selected_ms(&Cut::default()), (5..105).collect::<Vec<_>>());
    assert_eq!(selected_ms(&Cut { requests: Some(2..5), ..Cut::default() }), [7, 8, 9]);
    let time_ns = Some(2_000_000..4_000_000);
    assert_eq!(selected_ms(&Cut { time_ns: time_ns.clone(), ..Cut::default() }), [7, 8]);
    assert_eq!(selected_ms(&Cut { time_ns, rebase_time: true, ..Cut::default() }), [0, 1]);
    assert_eq!(selected_ms(&Cut { bytes: Some(4096..4097), ..Cut::default() }), [6]);
    assert_eq!(selected_ms(&Cut { bytes: Some(8191..8193), ..Cut::default() }), [6, 7]);
    let reads = Cut { ops: Some(vec![Op::Read]), requests: Some(0..21), ..Cut::default() };
    assert_eq!(selected_ms(&reads), [5, 15, 25]);
    assert_eq!(selected_ms(&Cut { volumes: Some(vec![1]), requests: Some(0..4), ..Cut::default() }), [6, 8]);
}
