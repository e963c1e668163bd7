//! Reading of formats that have one request per line.

use super::decode::{Decoder, Sink};
use super::error::{BadValue, TraceError, TracePosition};
use super::input::{Input, Line};
use super::request::{Digest, Request};

/// A text format: a function from a line to a request.
pub trait LineFormat: Send {
    /// Returns the request on `line`, or `None` if the line has none (a header, an event of another kind).
    ///
    /// Digests of the request's content are appended to `digests`. The caller checks the rules of all formats: that
    /// lengths are positive and bounded, and that no request reaches beyond 2^64 bytes.
    fn line(&mut self, line: &[u8], digests: &mut Vec<Digest>) -> Result<Option<Request>, BadValue>;

    /// Returns the bytes of content covered by each digest; 0 for formats without digests.
    fn digest_bytes(&self) -> u32 {
        0
    }

    /// Ends the input; returns an error if the trace is incomplete.
    fn finish(&mut self) -> Result<(), BadValue> {
        Ok(())
    }

    /// Returns the names of numbered volumes in the trace, for formats that name them.
    fn volume_names(&self) -> Vec<(u32, String)> {
        Vec::new()
    }
}

/// Decodes any line format.
pub struct Lines<F> {
    format: F,
    finished: bool,
}

impl<F: LineFormat + 'static> Lines<F> {
    /// Returns a decoder for `format`.
    pub fn new(format: F) -> Self {
        Lines { format, finished: false }
    }

    /// Returns a boxed decoder for `format`, for the table of formats.
    pub fn boxed(format: F) -> Box<dyn Decoder> {
        Box::new(Self::new(format))
    }

    fn finish(&mut self, input: &Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        if std::mem::replace(&mut self.finished, true) {
            return Ok(());
        }
        let last_line = TracePosition::Line(input.count().max(1));
        self.format.finish().or_else(|bad| sink.handle_bad_value(input.path(), last_line, bad))
    }
}

impl<F: LineFormat + 'static> Decoder for Lines<F> {
    fn fill(&mut self, input: &mut Input, sink: &mut Sink<'_>) -> Result<(), TraceError> {
        while sink.has_room() {
            let parsed = match input.next_line()? {
                Line::End => return self.finish(input, sink),
                Line::TooLong(beginning) => {
                    Err(BadValue::new("(line)", beginning, "a line of at most 262144 bytes"))
                }
                Line::Text(line) if line.trim_ascii_start().is_empty() => continue,
                Line::Text(line) => self.format.line(line, &mut sink.digests),
            };
            let outcome = parsed.and_then(|request| match request {
                Some(request) => sink.accept(&request, self.format.digest_bytes()),
                None => Ok(()),
            });
            if let Err(bad) = outcome {
                sink.handle_bad_value(input.path(), TracePosition::Line(input.count()), bad)?;
            }
        }
        Ok(())
    }

    fn volume_names(&self) -> Vec<(u32, String)> {
        self.format.volume_names()
    }
}

/// Returns the first line of a file that is not blank.
pub fn first_line(beginning: &[u8]) -> &[u8] {
    let mut lines = beginning.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    lines.find(|line| !line.is_empty()).unwrap_or_default()
}
