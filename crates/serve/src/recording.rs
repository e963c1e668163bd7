//! Writing down what passes into the stack, as a trace.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;
use wearwell_base::request::{Op, Request};
use wearwell_engine::layer::Content;
use wearwell_trace::{Recorder, TraceError};

/// Pages of a write whose digests fit into a line of a trace; a longer one is several, at the same time.
const PAGES_IN_LINE: usize = 4096;

/// A recording in hand: every request that the stack gets, when it does, in its order. A range that is no whole pages is there as what
/// became of it: the pages that were read and those that were written.
pub struct Recording {
    recorder: Recorder,
    began: Instant,
    page_bytes: u32,
    /// Contents are recorded, as digests of pages.
    has_digests: bool,
    problem: Option<String>,
}

impl Recording {
    /// A new one at `path`; with digests where the stack asks what pages hold.
    ///
    /// # Errors
    /// A file that is there already, or cannot be written.
    pub(crate) fn begin(path: &Path, page_bytes: u32, has_digests: bool) -> Result<Self, TraceError> {
        let recorder = Recorder::create(path, if has_digests { page_bytes } else { 0 })?;
        Ok(Recording { recorder, began: Instant::now(), page_bytes, has_digests, problem: None })
    }

    /// A request of whole pages; of a write also what they hold and its stream hint.
    pub(crate) fn add(&mut self, op: Op, pages: Range<u32>, names: &[Content], hint: u16) {
        if self.problem.is_some() {
            return;
        }
        let time_ns = u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX);
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
            let lines = (pages.start..).step_by(PAGES_IN_LINE).zip(names.chunks(PAGES_IN_LINE));
            let mut digests = Vec::new();
            lines.into_iter().try_for_each(|(first, names)| {
                digests.clear();
                digests.extend(names.iter().map(digest));
                self.recorder.record(&request(first..first + names.len() as u32), &digests)
            })
        } else {
            self.recorder.record(&request(pages), &[])
        };
        self.problem = recorded.err();
    }

    /// Ends it; how many requests it has.
    ///
    /// # Errors
    /// A file that could not be written, or a request that it could not hold; what came after that is not in it.
    pub fn finish(self) -> Result<u64, String> {
        let requests = self.recorder.finish().map_err(|error| error.to_string())?;
        self.problem.map_or(Ok(requests), Err)
    }
}

/// A digest that stands for the same content: the checksum by which the drive knows it, twice.
fn digest(content: &Content) -> [u8; 16] {
    (u128::from(content.0) << 64 | u128::from(content.0)).to_be_bytes()
}
