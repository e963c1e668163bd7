//! Reads arbitrary bytes as a trace of any format. The reader returns an error or requests, and never panics.
//!
//! The first byte chooses the format (the last choice detects it from the content), the second whether bad lines are
//! skipped. The files of `traces/samples`, each with two such bytes in front, make a good corpus.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use wearwell_trace::{FORMATS, ReadOptions, RequestBatch, TraceReader, guess_table};

fuzz_target!(|bytes: &[u8]| {
    let _ = guess_table(bytes);
    let [format, skip_bad, trace @ ..] = bytes else { return };
    let format = FORMATS.get(usize::from(*format) % (FORMATS.len() + 1));
    let mut options = ReadOptions { skip_bad: skip_bad % 2 == 1, ..Default::default() };
    options.format = format.map(|format| format.name.to_owned());
    for spec in format.into_iter().flat_map(|format| format.options) {
        let text = spec.text.map(|text| text.example);
        let value = spec.default.or(text).unwrap_or_else(|| spec.choices[0]);
        options = options.with(spec.name, value);
    }
    let Ok(mut reader) = TraceReader::new("fuzz", Cursor::new(trace.to_vec()), &options) else { return };
    let mut batch = RequestBatch::default();
    while matches!(reader.read_batch(&mut batch, 64), Ok(requests) if requests > 0) {
        assert!(batch.offset_bytes.iter().zip(&batch.length_bytes).all(|(o, l)| o.checked_add(*l).is_some()));
    }
});
