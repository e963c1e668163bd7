//! Recorder that writes a device's requests to the stack as a trace.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use wearwell_base::request::{Op, Request};
use wearwell_engine::layer::ContentId;
use wearwell_trace::{Recorder, TraceError};

/// Maximum number of pages of a write in one trace line, which must hold their digests. A longer write takes several
/// lines with the same time.
const PAGES_IN_LINE: usize = 4096;

/// Recording in progress. It contains every request to the stack, in order, with its time. A request that does not
/// consist of whole pages appears as the resulting reads and writes of pages.
pub struct Recording {
    recorder: Recorder,
    started: Instant,
    page_bytes: u32,
    /// True if page content is recorded, as digests.
    has_digests: bool,
    problem: Option<String>,
}

impl Recording {
    /// Creates the trace at `path`. The trace has digests if the stack depends on page content.
    ///
    /// # Errors
    /// Fails if the file exists or cannot be written.
    pub(crate) fn begin(path: &Path, page_bytes: u32, has_digests: bool) -> Result<Self, TraceError> {
        let recorder = Recorder::create(path, if has_digests { page_bytes } else { 0 })?;
        Ok(Recording { recorder, started: Instant::now(), page_bytes, has_digests, problem: None })
    }

    /// Records a request of whole pages; for a write, also the content IDs and the stream hint.
    pub(crate) fn add(&mut self, op: Op, pages: Range<u32>, content_ids: &[ContentId], hint: u16) {
        if self.problem.is_some() {
            return;
        }
        let time_ns = u64::try_from(self.started.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let page_bytes = u64::from(self.page_bytes);
        let request = |pages: Range<u32>| Request {
            time_ns,
            op,
            volume: 0,
            offset_bytes: u64::from(pages.start) * page_bytes,
            length_bytes: pages.len() as u64 * page_bytes,
            hint,
        };
        let recorded = if self.has_digests && op == Op::Write {
            let lines = (pages.start..).step_by(PAGES_IN_LINE).zip(content_ids.chunks(PAGES_IN_LINE));
            let mut digests = Vec::new();
            lines.into_iter().try_for_each(|(first, content_ids)| {
                digests.clear();
                digests.extend(content_ids.iter().map(digest));
                self.recorder.record(&request(first..first + content_ids.len() as u32), &digests)
            })
        } else {
            self.recorder.record(&request(pages), &[])
        };
        self.problem = recorded.err();
    }

    /// Ends the recording and returns its number of requests.
    ///
    /// # Errors
    /// Fails if the file could not be written or a request could not be recorded; the trace then lacks the later
    /// requests.
    pub fn finish(self) -> Result<u64, String> {
        let requests = self.recorder.finish().map_err(|error| error.to_string())?;
        self.problem.map_or(Ok(requests), Err)
    }
}

/// Returns the digest for a content: its content ID (the checksum), twice.
fn digest(content: &ContentId) -> [u8; 16] {
    (u128::from(content.0) << 64 | u128::from(content.0)).to_be_bytes()
}
