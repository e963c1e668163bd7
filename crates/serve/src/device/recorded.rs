//! Recording of the requests of a device as a trace.

use super::Device;
use crate::recording::Recording;
use std::ops::Range;
use std::path::Path;
use wearwell_base::request::Op;
use wearwell_engine::layer::ContentId;
use wearwell_trace::TraceError;

impl Device {
    /// Begins to record all requests to the stack as a trace in a new file at `path`. The trace is compressed if the name ends in
    /// `.zst`.
    ///
    /// # Errors
    /// Fails if the file exists or cannot be written.
    pub fn record(&mut self, path: &Path) -> Result<(), TraceError> {
        self.recording = Some(Recording::begin(path, self.page_bytes, self.stack.shares_contents())?);
        Ok(())
    }

    /// Ends the recording, if there is one. Returns the number of recorded requests, or the reason why the trace is incomplete.
    pub fn end_recording(&mut self) -> Option<Result<u64, String>> {
        self.recording.take().map(Recording::finish)
    }

    /// Records a request that is about to be sent to the stack.
    pub(super) fn record_request(&mut self, op: Op, pages: Range<u32>, content_ids: &[ContentId]) {
        if let Some(recording) = &mut self.recording {
            recording.add(op, pages, content_ids, if op == Op::Write { self.hint } else { 0 });
        }
    }
}
