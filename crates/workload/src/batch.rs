//! Batches of page operations: the input of a stack's top layer.

use wearwell_base::content::ContentId;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;

/// Consecutive pages of a batch that share an operation and a hint.
///
/// The run is made of requests of `request_pages` pages each, in order; page-sized requests that follow
/// each other share one run, so that a stream of single-page writes is a single run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRun {
    /// Read, write, trim, or flush (which has no pages).
    pub op: Op,
    /// The host's stream hint; 0 without a hint.
    pub hint: u16,
    /// End of the run in [`PageBatch::pages`].
    pub end: u32,
    /// Pages of each request in the run.
    pub request_pages: u32,
}

impl PageRun {
    /// True if both runs have one-page requests with the same operation and hint.
    #[inline]
    fn can_join(&self, next: &PageRun) -> bool {
        self.request_pages == 1 && next.request_pages == 1 && self.op == next.op && self.hint == next.hint
    }
}

/// A batch of page operations in order, reused for each fill.
#[derive(Clone, Debug, Default)]
pub struct PageBatch {
    /// The pages of all runs, one run after the other.
    pub pages: Vec<Lpn>,
    /// The runs; their ends increase up to `pages.len()`.
    pub runs: Vec<PageRun>,
    /// Contents of each page, one per page, if the source knows them; otherwise empty. Entries of pages that are not
    /// written have no meaning.
    pub contents: Vec<ContentId>,
}

impl PageBatch {
    /// Removes all operations and keeps the memory.
    pub fn clear(&mut self) {
        self.pages.clear();
        self.runs.clear();
        self.contents.clear();
    }

    /// True if the batch has no operations.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Appends one request for the pages `first .. first + pages`.
    pub fn push_request(&mut self, op: Op, hint: u16, first: Lpn, pages: u32) {
        self.pages.extend((first.0..first.0 + pages).map(Lpn));
        self.push_run(PageRun { op, hint, end: self.pages.len() as u32, request_pages: pages });
    }

    /// Appends a run for the pages that were appended to [`Self::pages`] after the last run. One-page requests are
    /// merged into a last run with the same operation and hint.
    #[inline]
    pub fn push_run(&mut self, run: PageRun) {
        match self.runs.last_mut() {
            Some(last) if last.can_join(&run) => last.end = run.end,
            _ => self.runs.push(run),
        }
    }

    /// Appends one-page requests with a common operation and hint. Same result as [`Self::push_request`] for each page,
    /// at no cost beyond drawing the pages.
    #[inline]
    pub fn extend_single(&mut self, op: Op, hint: u16, pages: impl Iterator<Item = Lpn>) {
        self.pages.extend(pages);
        self.end_single(op, hint);
    }

    /// Appends one-page requests for the pages that were appended to [`Self::pages`] after the last run.
    #[inline]
    pub fn end_single(&mut self, op: Op, hint: u16) {
        let end = self.pages.len() as u32;
        if self.runs.last().map_or(0, |run| run.end) < end {
            self.push_run(PageRun { op, hint, end, request_pages: 1 });
        }
    }

    /// Adds contents for the pages at the end of the batch that have none. `content` is called for written pages, in
    /// order; all other pages get [`ContentId::UNKNOWN`].
    ///
    /// A source that knows contents calls this method for the pages that it appended, so that there is one content per
    /// page.
    pub fn add_contents(&mut self, mut content: impl FnMut(Lpn) -> ContentId) {
        let mut next = self.contents.len();
        let first = self.runs.partition_point(|run| run.end as usize <= next);
        for run in &self.runs[first..] {
            let pages = &self.pages[next..run.end as usize];
            match run.op {
                Op::Write => self.contents.extend(pages.iter().map(|&page| content(page))),
                _ => self.contents.resize(run.end as usize, ContentId::UNKNOWN),
            }
            next = run.end as usize;
        }
    }

    /// Returns the runs with their pages.
    pub fn iter(&self) -> impl Iterator<Item = (&PageRun, &[Lpn])> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|run| run.end as usize));
        self.runs.iter().zip(starts).map(|(run, start)| (run, &self.pages[start..run.end as usize]))
    }
}

/// Number of pages up to which a source fills a batch.
#[derive(Debug)]
pub struct FillGoal {
    end_pages: usize,
    is_one_page: bool,
    start_runs: usize,
}

impl FillGoal {
    /// Returns a goal of `pages` pages in addition to those in `batch`.
    pub fn new(batch: &PageBatch, pages: usize) -> Self {
        FillGoal {
            end_pages: batch.pages.len() + pages,
            is_one_page: pages == 1,
            start_runs: batch.runs.len(),
        }
    }

    /// Returns the number of missing pages.
    pub fn missing(&self, batch: &PageBatch) -> u64 {
        self.end_pages.saturating_sub(batch.pages.len()) as u64
    }

    /// True if the goal is reached. With a goal of one page, a single request is enough, even a flush without pages.
    pub fn is_met(&self, batch: &PageBatch) -> bool {
        let is_flush = |run: &PageRun| run.op == Op::Flush;
        let is_one_flush = || {
            self.is_one_page && batch.runs.len() > self.start_runs && batch.runs.last().is_some_and(is_flush)
        };
        batch.pages.len() >= self.end_pages || is_one_flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_contents_adds_one_per_page_and_queries_only_writes() {
        let mut batch = PageBatch::default();
        let mut queried = Vec::new();
        let mut add_contents = |batch: &mut PageBatch| {
            batch.add_contents(|page| {
                queried.push(page.0);
                ContentId(u64::from(page.0) + 1)
            });
            assert_eq!(batch.contents.len(), batch.pages.len());
        };
        batch.push_request(Op::Write, 0, Lpn(7), 1);
        add_contents(&mut batch);
        // This page is merged into the run of the previous page, whose content was added already.
        batch.push_request(Op::Write, 0, Lpn(5), 1);
        batch.push_request(Op::Flush, 0, Lpn(0), 0);
        batch.push_request(Op::Read, 0, Lpn(1), 2);
        batch.push_request(Op::Write, 0, Lpn(2), 2);
        add_contents(&mut batch);
        add_contents(&mut batch);
        assert_eq!(queried, [7, 5, 2, 3]);
        assert_eq!(batch.contents, [8, 6, 0, 0, 3, 4].map(ContentId));
    }
}
