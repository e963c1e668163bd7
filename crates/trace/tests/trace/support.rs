//! Helpers of the trace tests.
#![allow(dead_code)]

use std::io::Cursor;

use wearwell_trace::*;

/// Returns the required options of a format.
pub fn required_options(format: &Format) -> Vec<(String, String)> {
    let required = format.options.iter().filter(|spec| spec.default.is_none());
    let value = |spec: &OptionSpec| match spec.text {
        Some(text) => text.example,
        None => spec.choices.last().unwrap(),
    };
    required.map(|spec| (spec.name.to_owned(), value(spec).to_owned())).collect()
}

/// Returns options for reading a format, including required ones.
pub fn read_options(format: &Format) -> ReadOptions {
    ReadOptions { options: required_options(format), ..ReadOptions::named(format.name) }
}

/// Returns options for writing a format, including required ones.
pub fn write_options(format: &Format) -> WriteOptions {
    WriteOptions { options: required_options(format), ..WriteOptions::named(format.name) }
}

/// Returns all requests of a reader.
pub fn read_all(reader: &mut TraceReader, batch_requests: usize) -> Result<RequestBatch, TraceError> {
    let (mut all, mut batch) = (RequestBatch::default(), RequestBatch::default());
    while reader.read_batch(&mut batch, batch_requests)? > 0 {
        (0..batch.len()).for_each(|index| all.push_from(&batch, index));
    }
    Ok(all)
}

/// Returns all requests in `bytes`.
pub fn decode(bytes: &[u8], options: &ReadOptions) -> Result<RequestBatch, TraceError> {
    read_all(&mut TraceReader::new("test", Cursor::new(bytes.to_vec()), options)?, 1000)
}

/// Returns the content of a file that `write` writes and finishes; empty if it was not finished.
pub fn written_bytes(options: &WriteOptions, write: impl FnOnce(TraceWriter)) -> Result<Vec<u8>, TraceError> {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("trace");
    write(TraceWriter::create(&path, options)?);
    Ok(std::fs::read(&path).unwrap_or_default())
}

/// Encodes `batch` in a format.
pub fn encode(batch: &RequestBatch, options: &WriteOptions) -> Result<(Vec<u8>, WriteSummary), TraceError> {
    let mut written = Ok(WriteSummary::default());
    let bytes = written_bytes(options, |mut writer| {
        written = writer.write_batch(batch).and_then(|()| writer.finish());
    })?;
    Ok((bytes, written?))
}
