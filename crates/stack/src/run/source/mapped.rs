//! Operations of one pass through a trace, on pages of the drive. They are stored so that later passes need no mapping.

use wearwell_base::units::Lpn;
use wearwell_workload::{PageBatch, PageRun};

/// Number of pages at which a chunk is complete.
const CHUNK_PAGES: usize = 1 << 16;

/// Consecutive operations of a pass.
#[derive(Default)]
struct OperationChunk {
    pages: Vec<Lpn>,
    runs: Vec<PageRun>,
    /// One past the last page of each request that has pages, in ascending order.
    request_ends: Vec<u32>,
    /// Bad lines of the trace that were skipped up to here, since the beginning of the pass.
    skipped: u64,
}

impl OperationChunk {
    fn bytes(&self) -> usize {
        size_of_val(&*self.pages) + size_of_val(&*self.runs) + size_of_val(&*self.request_ends)
    }
}

/// Operations of a whole pass: four bytes per page, four per request and twelve for each change of operation or hint.
#[derive(Default)]
pub struct MappedTrace {
    chunks: Vec<OperationChunk>,
    /// Bad lines of the trace that were skipped in the whole pass.
    skipped: u64,
}

/// Position in a mapped trace.
#[derive(Clone, Copy, Default)]
pub struct Position {
    chunk: usize,
    /// Next page of the chunk.
    page: u32,
    /// Run that the next page belongs to.
    run: usize,
    /// Request that the next page belongs to.
    request: usize,
}

impl MappedTrace {
    /// Appends the requests from `position` on to `batch` until `pages` more pages are in it, and advances the
    /// position; returns false if the pass ended first. If one page is requested, appends exactly one request.
    pub fn fill(&self, position: &mut Position, batch: &mut PageBatch, pages: usize) -> bool {
        let end_pages = batch.pages.len() + pages;
        while batch.pages.len() < end_pages {
            let Some(chunk) = self.chunks.get(position.chunk) else { return false };
            match chunk.runs.get(position.run) {
                None => *position = Position { chunk: position.chunk + 1, ..Position::default() },
                // A flush is a request without pages.
                Some(run) if pages == 1 && run.end == position.page => {
                    batch.push_run(PageRun { end: batch.pages.len() as u32, ..*run });
                    position.run += 1;
                    return true;
                }
                Some(_) => chunk.append(position, batch, end_pages - batch.pages.len()),
            }
        }
        true
    }

    /// Returns the bad lines of the trace that were skipped in a pass up to `position`.
    pub fn skipped(&self, position: &Position) -> u64 {
        self.chunks.get(position.chunk).map_or(self.skipped, |chunk| chunk.skipped)
    }
}

impl OperationChunk {
    /// Appends requests to `batch` until `missing` pages are appended or the chunk ends.
    fn append(&self, position: &mut Position, batch: &mut PageBatch, missing: usize) {
        let end_page = position.page.saturating_add(u32::try_from(missing).unwrap_or(u32::MAX));
        let ends = &self.request_ends[position.request..];
        // The remaining requests end after the position.
        let before = if missing == 1 { 0 } else { ends.partition_point(|&end| end < end_page) };
        let (end, is_rest) = match ends.get(before) {
            Some(&end) => (end, false),
            None => (self.pages.len() as u32, true),
        };
        position.request = (position.request + before + 1).min(self.request_ends.len());
        let begin = position.page;
        let batch_begin = batch.pages.len() as u32;
        batch.pages.extend_from_slice(&self.pages[begin as usize..end as usize]);
        while position.page < end || is_rest {
            let Some(run) = self.runs.get(position.run) else { break };
            position.page = run.end.min(end);
            batch.push_run(PageRun { end: batch_begin + (position.page - begin), ..*run });
            if run.end > end {
                break;
            }
            position.run += 1;
        }
    }
}

/// Position in a batch from which operations are recorded.
#[derive(Clone, Copy)]
pub struct BatchPosition {
    pages: usize,
    runs: usize,
}

impl BatchPosition {
    /// Returns the end of `batch`.
    pub fn end_of(batch: &PageBatch) -> Self {
        BatchPosition { pages: batch.pages.len(), runs: batch.runs.len() }
    }
}

/// A mapped trace that is being recorded.
#[derive(Default)]
pub struct Recorder {
    trace: MappedTrace,
    /// The last chunk.
    current: OperationChunk,
}

impl Recorder {
    /// Ends a request whose last page is the last one of `batch`; the operations after `start` are not recorded yet.
    #[inline]
    pub fn end_request(&mut self, batch: &PageBatch, start: BatchPosition) {
        let end = (self.current.pages.len() + batch.pages.len() - start.pages) as u32;
        if self.current.request_ends.last().copied().unwrap_or(0) < end {
            self.current.request_ends.push(end);
        }
    }

    /// Records the operations after `start` in `batch`; returns the memory of the chunks that this call completed, in
    /// bytes.
    pub fn record(&mut self, batch: &PageBatch, start: BatchPosition) -> usize {
        let shift = |end: u32| (self.current.pages.len() + end as usize - start.pages) as u32;
        // The last run before `start` may continue after it.
        let joined_run = batch.runs[..start.runs].last().filter(|run| run.end as usize > start.pages);
        let mut current = PageBatch { runs: std::mem::take(&mut self.current.runs), ..PageBatch::default() };
        for run in joined_run.into_iter().chain(&batch.runs[start.runs..]) {
            current.push_run(PageRun { end: shift(run.end), ..*run });
        }
        self.current.runs = current.runs;
        self.current.pages.extend_from_slice(&batch.pages[start.pages..]);
        if self.current.pages.len() < CHUNK_PAGES { 0 } else { self.complete_chunk() }
    }

    /// Records the bad lines skipped up to here; returns the memory of the chunks that this call completed, in bytes.
    pub fn skip(&mut self, skipped: u64) -> usize {
        if skipped == self.current.skipped {
            return 0;
        }
        let bytes = self.complete_chunk();
        self.current.skipped = skipped;
        bytes
    }

    /// Completes the chunk; returns its memory in bytes.
    fn complete_chunk(&mut self) -> usize {
        let next = OperationChunk { skipped: self.current.skipped, ..OperationChunk::default() };
        let mut completed = std::mem::replace(&mut self.current, next);
        completed.pages.shrink_to_fit();
        completed.runs.shrink_to_fit();
        completed.request_ends.shrink_to_fit();
        let bytes = completed.bytes();
        self.trace.chunks.push(completed);
        bytes
    }

    /// Returns the whole trace, in which `skipped` bad lines were skipped, and the memory of its last chunk in bytes.
    pub fn finish(mut self, skipped: u64) -> (MappedTrace, usize) {
        let bytes = self.complete_chunk();
        self.trace.skipped = skipped;
        (self.trace, bytes)
    }
}
