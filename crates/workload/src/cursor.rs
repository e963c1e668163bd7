//! Access to a workload request by request instead of in batches.

use super::Workload;
use super::batch::PageBatch;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;

/// Number of pages per fill; large enough that the cost of the virtual call is negligible.
const FILL_PAGES: usize = 512;

/// A request on logical pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Type of the request.
    pub op: Op,
    /// The host's stream hint; 0 without a hint.
    pub hint: u16,
    /// First page.
    pub first: Lpn,
    /// Number of pages.
    pub pages: u32,
}

/// Iterator over the requests of a workload, which reads ahead in batches.
pub struct RequestCursor {
    source: Box<dyn Workload>,
    batch: PageBatch,
    run: usize,
    page: usize,
}

impl RequestCursor {
    /// Returns a cursor at the beginning of `source`.
    pub fn new(source: Box<dyn Workload>) -> Self {
        RequestCursor { source, batch: PageBatch::default(), run: 0, page: 0 }
    }

    /// Makes the last draw of the source and ends it, see [`Workload::final_draw`].
    pub fn final_draw(&mut self) -> u64 {
        self.source.final_draw()
    }
}

impl Iterator for RequestCursor {
    type Item = PageRequest;

    /// Returns the next request; `None` only at the end of a finite source.
    #[inline]
    fn next(&mut self) -> Option<PageRequest> {
        if self.run == self.batch.runs.len() {
            self.batch.clear();
            (self.run, self.page) = (0, 0);
            self.source.fill(&mut self.batch, FILL_PAGES);
        }
        let run = self.batch.runs.get(self.run)?;
        // A flush has no pages.
        let first = self.batch.pages.get(self.page).copied().unwrap_or(Lpn(0));
        let request = PageRequest { op: run.op, hint: run.hint, first, pages: run.request_pages };
        self.page += run.request_pages as usize;
        if self.page >= run.end as usize {
            self.run += 1;
        }
        Some(request)
    }
}
