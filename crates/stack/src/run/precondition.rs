//! Preconditioning: writes to a drive before the workload begins.

use super::source::{Source, SourceError};
use wearwell_base::seed::{Random, random_below};
use wearwell_base::units::Lpn;
use wearwell_trace::Op;
use wearwell_workload::{FillGoal, PageBatch};

/// Source that writes every page once, in order.
pub(super) struct SequentialFill {
    /// The next page to write.
    next: u32,
    /// One past the last page to write.
    end: u32,
    /// Pages of each request; the last one may be shorter.
    request_pages: u32,
}

impl SequentialFill {
    /// Returns a fill of the pages `0 .. pages` with requests of `request_pages` pages.
    pub fn new(pages: u32, request_pages: u32) -> Self {
        SequentialFill { next: 0, end: pages, request_pages }
    }

    /// True if every page was written.
    pub fn is_complete(&self) -> bool {
        self.next == self.end
    }
}

impl Source for SequentialFill {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        let goal = FillGoal::new(batch, pages);
        while !goal.is_met(batch) && !self.is_complete() {
            let count = self.request_pages.min(self.end - self.next);
            batch.push_request(Op::Write, 0, Lpn(self.next), count);
            self.next += count;
        }
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}

/// Source of uniformly random write requests, each of which begins at a multiple of its length.
pub(super) struct RandomOverwrites {
    /// Number of pages to choose from.
    pub pages: u32,
    /// Pages of each request; a request at the end of the space may be shorter.
    pub request_pages: u32,
    /// Random generator.
    pub random: Random,
}

impl Source for RandomOverwrites {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        let goal = FillGoal::new(batch, pages);
        while !goal.is_met(batch) {
            let drawn = random_below(&mut self.random, u64::from(self.pages)) as u32;
            let first = drawn - drawn % self.request_pages;
            batch.push_request(Op::Write, 0, Lpn(first), self.request_pages.min(self.pages - first));
        }
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wearwell_base::seed::Seed;

    /// Returns first page and length of each request of `total` pages, drawn at most `pages` pages at a time.
    fn requests(source: &mut dyn Source, total: usize, pages: usize) -> Vec<(u32, u32)> {
        let (mut requests, mut drawn) = (Vec::new(), 0);
        while drawn < total {
            let mut batch = PageBatch::default();
            source.fill(&mut batch, pages.min(total - drawn)).unwrap();
            drawn += batch.pages.len();
            for (run, pages) in batch.iter() {
                let parts = pages.chunks(run.request_pages as usize);
                requests.extend(parts.map(|part| (part[0].0, part.len() as u32)));
            }
        }
        requests
    }

    #[test]
    fn fill_has_the_same_requests_in_batches_of_any_size() {
        for pages in [1, 2, 5, 100] {
            assert_eq!(requests(&mut SequentialFill::new(10, 4), 10, pages), [(0, 4), (4, 4), (8, 2)]);
            let single: Vec<(u32, u32)> = (0..10).map(|page| (page, 1)).collect();
            assert_eq!(requests(&mut SequentialFill::new(10, 1), 10, pages), single);
        }
    }

    #[test]
    fn overwrites_have_the_same_requests_in_batches_of_any_size() {
        let drawn = |request_pages, pages| {
            let random = Seed(1).random();
            requests(&mut RandomOverwrites { pages: 10, request_pages, random }, 60, pages)
        };
        for request_pages in [1, 4] {
            let one_by_one = drawn(request_pages, 1);
            assert!(one_by_one.iter().all(|(first, pages)| {
                first % request_pages == 0 && *pages == request_pages.min(10 - first)
            }));
            assert_eq!(drawn(request_pages, 7), one_by_one);
            assert_eq!(drawn(request_pages, 100), one_by_one);
        }
    }
}
