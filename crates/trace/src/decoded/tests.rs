//! Compares passes of a cursor with those of a plain reader: equal requests, errors and counts, with any number of
//! stored chunks.

use super::*;
use crate::{ReadOptions, RequestBatch, open};
use std::io::Write;
use std::path::PathBuf;

/// Returns a trace in Wearwell's CSV format in a folder of its own.
fn trace(lines: impl Iterator<Item = String>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trace.csv");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&path).unwrap());
    writeln!(file, "time_ns,op,volume,offset_bytes,length_bytes,hint").unwrap();
    lines.for_each(|line| writeln!(file, "{line}").unwrap());
    file.flush().unwrap();
    (folder, path)
}

fn line(at: u64) -> String {
    let op = ["R", "W", "T"][(at % 3) as usize];
    format!("{},{op},{},{},{},{}", at * 1700, at % 4, at * 7919 % 100_000 * 512, 512 * (1 + at % 64), at % 3)
}

/// Returns all requests of a pass, the number of skipped lines, and the error that ended it.
fn read_pass(cursor: &mut TraceCursor) -> (RequestBatch, u64, Option<String>) {
    let mut all = RequestBatch::default();
    loop {
        match cursor.read(&mut all) {
            Ok(0) => return (all, cursor.skipped(), None),
            Ok(_) => {}
            Err(error) => return (all, cursor.skipped(), Some(error.to_string())),
        }
    }
}

/// Reads a pass with a plain reader, in batches of a chunk.
fn read_plain(path: &PathBuf, options: &ReadOptions) -> (RequestBatch, u64, Option<String>) {
    let mut reader = open(path, options).unwrap();
    let (mut all, mut batch) = (RequestBatch::default(), RequestBatch::default());
    loop {
        match reader.read_batch(&mut batch, CHUNK_REQUESTS) {
            Ok(0) => return (all, reader.skipped().count, None),
            Ok(_) => (0..batch.len()).for_each(|at| all.push_from(&batch, at)),
            Err(error) => return (all, reader.skipped().count, Some(error.to_string())),
        }
    }
}

#[test]
fn pass_reader_at_end_returns_no_more_requests() {
    let (_folder, path) = trace((0..1500).map(line));
    let mut stream = pass_reader::PassReader::new(open(&path, &ReadOptions::default()).unwrap(), 0).unwrap();
    let mut batch = RequestBatch::default();
    let mut lengths = Vec::new();
    let mut read = Vec::new();
    for _ in 0..5 {
        read.push(stream.next(&mut batch).unwrap().bytes_read);
        lengths.push(batch.len());
    }
    assert_eq!(lengths, [1024, 476, 0, 0, 0]);
    assert_eq!(read[2], read[4]);
}

#[test]
fn cursor_passes_equal_plain_reader() {
    let (_folder, path) = trace((0..5000).map(line));
    let options = ReadOptions::default();
    let mut cursor = TraceCursor::open(&path, &options).unwrap();
    for _ in 0..3 {
        assert_eq!(read_pass(&mut cursor), read_plain(&path, &options));
        assert_eq!(cursor.fraction_read(), 1.0);
        cursor.rewind().unwrap();
    }
    let (bytes, requests) = cursor.stored_size().unwrap();
    assert!(requests >= 5000 && bytes < 15 * requests, "{bytes} bytes for {requests} requests");
}

#[test]
fn errors_and_skipped_lines_of_every_cursor_equal_plain_reader() {
    let bad = |at: u64| if at == 2500 { "17,W,zero,0,4096,0".to_owned() } else { line(at) };
    let (_folder, path) = trace((0..5000).map(bad));
    for skip_bad in [false, true] {
        let options = ReadOptions { skip_bad, ..Default::default() };
        let expected = read_plain(&path, &options);
        assert_eq!(expected.2.is_some(), !skip_bad);
        for _ in 0..3 {
            let mut cursor = TraceCursor::open(&path, &options).unwrap();
            assert_eq!(read_pass(&mut cursor), expected);
        }
    }
}

#[test]
fn changed_file_is_decoded_again() {
    let (_folder, path) = trace((0..10).map(line));
    let options = ReadOptions::default();
    let mut old = TraceCursor::open(&path, &options).unwrap();
    assert_eq!(read_pass(&mut old).0.len(), 10);
    let (_other_folder, other) = trace((0..20).map(line));
    std::fs::copy(other, &path).unwrap();
    assert_eq!(read_pass(&mut TraceCursor::open(&path, &options).unwrap()).0.len(), 20);
}

#[test]
fn pass_reader_skips_batches_read_before() {
    let (_folder, path) = trace((0..5000).map(line));
    let options = ReadOptions::default();
    let all = read_plain(&path, &options).0;
    for skipped in [0, 1, 4, 5] {
        let mut stream = pass_reader::PassReader::new(open(&path, &options).unwrap(), skipped).unwrap();
        let (mut rest, mut batch) = (RequestBatch::default(), RequestBatch::default());
        loop {
            stream.next(&mut batch).unwrap();
            if batch.is_empty() {
                break;
            }
            (0..batch.len()).for_each(|at| rest.push_from(&batch, at));
        }
        let mut expected = RequestBatch::default();
        (skipped * CHUNK_REQUESTS..5000).for_each(|at| expected.push_from(&all, at));
        assert_eq!(rest, expected);
    }
}

#[cfg(unix)]
#[test]
fn pipe_is_read_without_shared_trace() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let (_folder, path) = trace((0..3000).map(line));
    let writer = {
        let (pipe, content) = (pipe.clone(), std::fs::read(&path).unwrap());
        std::thread::spawn(move || std::fs::write(pipe, content))
    };
    let mut cursor = TraceCursor::open(&pipe, &ReadOptions::default()).unwrap();
    assert_eq!(cursor.stored_size(), None);
    assert_eq!(read_pass(&mut cursor), read_plain(&path, &ReadOptions::default()));
    writer.join().unwrap().unwrap();
}
