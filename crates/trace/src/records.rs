//! Reading of formats that consist of binary records.

use super::decode::{Decoder, Sink};
use super::error::{BadValue, TraceError, TracePosition};
use super::input::{Input, Record};
use super::request::Request;

/// A binary format: a function from a record to a request.
pub trait RecordFormat: Send {
    /// Size of a record's fixed part, bytes.
    const BYTES: usize;

    /// Returns the bytes that follow the fixed part and are ignored.
    ///
    /// An error here ends reading even if bad records are skipped, because the next record cannot be found.
    fn tail_bytes(&self, record: &[u8]) -> Result<usize, BadValue>;

    /// Returns the request in a record's fixed part, or `None` if it has none.
    fn record(&mut self, record: &[u8]) -> Result<Option<Request>, BadValue>;

    /// Returns the names of numbered volumes in the trace, for formats that name them.
    fn volume_names(&self) -> Vec<(u32, String)> {
        Vec::new()
    }
}

/// Decodes any record format.
pub struct Records<F>(pub F);

impl<F: RecordFormat + 'static> Records<F> {
    /// Returns a boxed decoder for `format`, for the table of formats.
    pub fn boxed(format: F) -> Box<dyn Decoder> {
        Box::new(Records(format))
    }

    /// Reads one record; `Ok(None)` at the end of the input.
    fn next(&mut self, input: &mut Input) -> Result<Option<Result<Option<Request>, BadValue>>, ReadStop> {
        let (tail, request) = match input.next_record(F::BYTES)? {
            Record::End => return Ok(None),
            Record::Truncated(part) => return Err(truncated_record(part)),
            Record::Whole(record) => (self.0.tail_bytes(record)?, self.0.record(record)),
        };
        match input.next_bytes(tail)? {
            Record::Whole(_) => Ok(Some(request)),
            Record::Truncated(part) => Err(truncated_record(part)),
            Record::End => Err(truncated_record(b"")),
        }
    }
}

/// Reason why no further record can be read.
enum ReadStop {
    Bad(BadValue),
    Failed(TraceError),
}

impl From<BadValue> for ReadStop {
    fn from(bad: BadValue) -> Self {
        ReadStop::Bad(bad)
    }
}

impl From<TraceError> for ReadStop {
    fn from(error: TraceError) -> Self {
        ReadStop::Failed(error)
    }
}

fn truncated_record(part: &[u8]) -> ReadStop {
    ReadStop::Bad(BadValue::new("(record)", part, "a whole record; the file is cut short"))
}

impl<F: RecordFormat + 'static> Decoder for Records<F> {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        while sink.has_room() {
            let parsed = match self.next(input) {
                Ok(Some(parsed)) => parsed,
                Ok(None) => return Ok(()),
                Err(ReadStop::Failed(error)) => return Err(error),
                Err(ReadStop::Bad(bad)) => {
                    let (path, position) = (input.path().to_owned(), TracePosition::Record(input.count()));
                    return Err(TraceError::BadValue { path, position, value: bad });
                }
            };
            let outcome = parsed.and_then(|request| match request {
                Some(request) => sink.accept(&request, 0),
                None => Ok(()),
            });
            if let Err(bad) = outcome {
                sink.handle_bad_value(input.path(), TracePosition::Record(input.count()), bad)?;
            }
        }
        Ok(())
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        self.0.volume_names()
    }
}

/// Returns the little-endian 32-bit number at byte `at`.
#[inline]
pub fn u32_at(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

/// Returns the little-endian 64-bit number at byte `at`.
#[inline]
pub fn u64_at(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}
