//! The device while what passes is written down.

use super::Device;
use crate::recording::Recording;
use std::ops::Range;
use std::path::Path;
use wearwell_base::request::Op;
use wearwell_engine::layer::Content;
use wearwell_trace::TraceError;

impl Device {
    /// From now on writes down what passes into the stack, as a trace in a new file at `path`: plain, or compressed where its name ends
    /// in `.zst`.
    ///
    /// # Errors
    /// A file that is there already, or cannot be written.
    pub fn record(&mut self, path: &Path) -> Result<(), TraceError> {
        self.recording = Some(Recording::begin(path, self.page_bytes, self.live.shares_contents())?);
        Ok(())
    }

    /// Ends the recording, if there is one; how many requests it has, or why it is not whole.
    pub fn end_recording(&mut self) -> Option<Result<u64, String>> {
        self.recording.take().map(Recording::finish)
    }

    /// A request passes into the stack.
    pub(super) fn note_down(&mut self, op: Op, pages: Range<u32>, names: &[Content]) {
        if let Some(recording) = &mut self.recording {
            recording.add(op, pages, names, if op == Op::Write { self.hint } else { 0 });
        }
    }
}
