//! Page operations in batches: what a stack's top layer is fed with.

use crate::layer::Content;
use crate::trace::Op;
use crate::units::Lpn;

/// Consecutive pages of a batch that share an operation and a hint.
///
/// The run is made of requests of `request_pages` pages each, in order; page-sized requests that follow
/// each other share one run, so that a stream of single-page writes is a single run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// Read, write, trim or flush (a flush has no pages).
    pub op: Op,
    /// The host's stream hint; 0 where it gives none.
    pub hint: u16,
    /// One past the last page of the run in [`PageBatch::pages`].
    pub end: u32,
    /// Pages of each request in the run.
    pub request_pages: u32,
}

/// A batch of page operations in order, reused from fill to fill.
#[derive(Clone, Debug, Default)]
pub struct PageBatch {
    /// The pages of all runs, one run after the other.
    pub pages: Vec<Lpn>,
    /// The runs; their ends rise to `pages.len()`.
    pub runs: Vec<PageRun>,
    /// What each page holds, in a batch whose source knows; else empty. Of pages that are not written it means nothing.
    pub contents: Vec<Content>,
}

impl PageBatch {
    /// Forgets all operations, keeping the memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.runs.clear();
        self.contents.clear();
    }

    /// Whether there is no operation in the batch.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Appends one request for the pages `first .. first + pages`.
    #[inline]
    pub fn push_request(&mut self, op: Op, hint: u16, first: Lpn, pages: u32) {
        self.pages.extend((first.0..first.0 + pages).map(Lpn));
        let end = self.pages.len() as u32;
        match self.runs.last_mut() {
            Some(run) if pages == 1 && run.request_pages == 1 && run.op == op && run.hint == hint => {
                run.end = end
            }
            _ => self.runs.push(PageRun { op, hint, end, request_pages: pages }),
        }
    }

    /// Appends one-page requests that share an operation and a hint, as [`Self::push_request`] would one by
    /// one, at no cost beyond that of drawing the pages.
    #[inline]
    pub fn extend_single(&mut self, op: Op, hint: u16, pages: impl Iterator<Item = Lpn>) {
        let before = self.pages.len();
        self.pages.extend(pages);
        let end = self.pages.len() as u32;
        match self.runs.last_mut() {
            Some(run) if run.request_pages == 1 && run.op == op && run.hint == hint => run.end = end,
            _ if self.pages.len() == before => {}
            _ => self.runs.push(PageRun { op, hint, end, request_pages: 1 }),
        }
    }

    /// The runs with their pages.
    pub fn iter(&self) -> impl Iterator<Item = (&PageRun, &[Lpn])> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|run| run.end as usize));
        self.runs.iter().zip(starts).map(|(run, start)| (run, &self.pages[start..run.end as usize]))
    }
}
