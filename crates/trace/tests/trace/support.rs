//! What the trace tests share.
#![allow(dead_code)]

use std::io::Cursor;

use wearwell_trace::*;

/// Options of a format that have to be given.
pub fn needed_options(format: &Format) -> Vec<(String, String)> {
    let needed = format.options.iter().filter(|spec| spec.default.is_none());
    let value = |spec: &OptionSpec| match spec.text {
        Some(text) => text.example,
        None => spec.choices.last().unwrap(),
    };
    needed.map(|spec| (spec.name.to_owned(), value(spec).to_owned())).collect()
}

/// How to read a format, with the options that it needs.
pub fn read_options(format: &Format) -> ReadOptions {
    ReadOptions { options: needed_options(format), ..ReadOptions::named(format.name) }
}

/// How to write a format, with the options that it needs.
pub fn write_options(format: &Format) -> WriteOptions {
    WriteOptions { options: needed_options(format), ..WriteOptions::named(format.name) }
}

/// All requests of a reader.
pub fn read_all(reader: &mut TraceReader, batch_requests: usize) -> Result<RequestBatch, TraceError> {
    let (mut all, mut batch) = (RequestBatch::default(), RequestBatch::default());
    while reader.read_batch(&mut batch, batch_requests)? > 0 {
        (0..batch.len()).for_each(|index| all.push_from(&batch, index));
    }
    Ok(all)
}

/// All requests in `bytes`.
pub fn decode(bytes: &[u8], options: &ReadOptions) -> Result<RequestBatch, TraceError> {
    read_all(&mut TraceReader::new("test", Cursor::new(bytes.to_vec()), options)?, 1000)
}

/// `batch` in a format.
pub fn encode(batch: &RequestBatch, options: &WriteOptions) -> Result<(Vec<u8>, Written), TraceError> {
    let mut writer = TraceWriter::in_memory(options)?;
    writer.write_batch(batch)?;
    Ok(writer.into_bytes())
}
