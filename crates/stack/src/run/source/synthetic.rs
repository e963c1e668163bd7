//! Adapters that add contents and arrival times to a source.

use super::{FirstPass, Source, SourceError};
use wearwell_workload::{Arrivals, ContentGenerator, FillGoal, PageBatch, Stage};

/// A source whose pages hold generated contents.
pub struct ContentSource {
    source: Box<dyn Source>,
    contents: ContentGenerator,
}

impl ContentSource {
    /// Adds `contents` to `source`, which has none.
    pub fn new(source: Box<dyn Source>, contents: ContentGenerator) -> Self {
        ContentSource { source, contents }
    }
}

impl Source for ContentSource {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        self.source.fill(batch, pages)?;
        self.contents.add_contents(batch);
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        self.source.passes()
    }

    fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    fn first_pass(&self) -> Option<FirstPass> {
        self.source.first_pass()
    }

    fn arrival_ns(&self) -> Option<u64> {
        self.source.arrival_ns()
    }

    fn add_contents(&mut self, batch: &mut PageBatch) {
        self.contents.add_contents(batch);
    }

    fn stage(&self) -> Option<Stage> {
        self.source.stage()
    }

    fn begin_measure(&mut self) {
        self.source.begin_measure();
    }

    fn report(&self) -> Option<serde_json::Value> {
        self.source.report()
    }

    fn final_draw(&mut self) -> u64 {
        self.source.final_draw() ^ self.contents.final_draw().rotate_left(16)
    }
}

/// A source whose requests arrive at drawn times.
pub struct TimedSource {
    source: Box<dyn Source>,
    arrivals: Arrivals,
    latest_ns: Option<u64>,
}

impl TimedSource {
    /// Adds `arrivals` to `source`, which has no times and no end.
    pub fn new(source: Box<dyn Source>, arrivals: Arrivals) -> Self {
        TimedSource { source, arrivals, latest_ns: None }
    }
}

impl Source for TimedSource {
    fn fill(&mut self, batch: &mut PageBatch, pages: usize) -> Result<(), SourceError> {
        let goal = FillGoal::new(batch, pages);
        let stage = self.source.stage();
        // Takes one request after another, because each request has a separate arrival time.
        while !goal.is_met(batch) {
            self.source.fill(batch, 1)?;
            if self.source.stage() != stage {
                break;
            }
            self.latest_ns = Some(self.arrivals.next_ns());
        }
        Ok(())
    }

    fn passes(&self) -> Option<u64> {
        self.source.passes()
    }

    fn skipped(&self) -> u64 {
        self.source.skipped()
    }

    fn arrival_ns(&self) -> Option<u64> {
        self.latest_ns
    }

    fn add_contents(&mut self, batch: &mut PageBatch) {
        self.source.add_contents(batch);
    }

    fn stage(&self) -> Option<Stage> {
        self.source.stage()
    }

    fn begin_measure(&mut self) {
        self.source.begin_measure();
    }

    fn report(&self) -> Option<serde_json::Value> {
        self.source.report()
    }

    fn final_draw(&mut self) -> u64 {
        self.source.final_draw()
    }
}
