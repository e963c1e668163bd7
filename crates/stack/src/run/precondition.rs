//! Preconditioning: writes to a drive before the workload begins.

use super::source::{Source, SourceError};
use wearwell_base::seed::{Random, random_below};
use wearwell_base::units::Lpn;
use wearwell_trace::Op;
use wearwell_workload::PageBatch;

/// Source that writes every page once, in order.
pub(super) struct SequentialFill {
    /// The next page to write.
    pub next: u32,
    /// One past the last page to write.
    pub end: u32,
}

impl Source for SequentialFill {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        let count = (pages as u64).min(u64::from(self.end - self.next)) as u32;
        batch.push_request(Op::Write, 0, Lpn(self.next), count);
        self.next += count;
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        None
    }

    fn final_draw(&mut self) -> u64 {
        0
    }
}

/// Source of uniformly random page writes.
pub(super) struct RandomOverwrites {
    /// Number of pages to choose from.
    pub pages: u32,
    /// Random generator.
    pub random: Random,
}

impl Source for RandomOverwrites {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        for _ in 0..pages {
            let page = random_below(&mut self.random, u64::from(self.pages)) as u32;
            batch.push_request(Op::Write, 0, Lpn(page), 1);
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
