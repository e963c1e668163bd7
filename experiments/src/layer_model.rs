//! Model of a layer on a drive, both new at the start, with an interface for writes of single pages.

use crate::Failure;
use crate::replicas::scenario;
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Seed, random_below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::no_data;
use wearwell_stack::{Stack, build};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// Writes of the layer to the layer below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WriteCounts {
    /// Number of pages of all kinds.
    pub pages: u64,
    /// Number of pages that cleaning moved.
    pub moved_pages: u64,
}

impl WriteCounts {
    /// Returns the writes since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &WriteCounts) -> WriteCounts {
        WriteCounts { pages: self.pages - earlier.pages, moved_pages: self.moved_pages - earlier.moved_pages }
    }
}

/// The topmost layer of a stack.
pub struct LayerModel(Stack<()>);

impl LayerModel {
    /// Builds the layer from the scenario `text`; its workload is ignored.
    ///
    /// # Errors
    ///
    /// Returns an error for an invalid scenario.
    pub fn new(text: &str) -> Result<LayerModel, Failure> {
        Ok(LayerModel(build(&mut scenario(text)?)?))
    }

    /// Writes these pages one after the other, with a flush after each `flush_every` pages.
    ///
    /// # Errors
    ///
    /// Returns an error if the layer is full.
    pub fn write(
        &mut self,
        pages: impl Iterator<Item = u32>,
        flush_every: Option<u64>,
    ) -> Result<(), Failure> {
        let layer = &mut self.0.targets[0].layer;
        // With this hint, F2FS with 4 logs uses its second log, because its first log is for directories; other layers
        // treat all hints alike.
        let hint = 1;
        for (number, page) in (1..).zip(pages) {
            layer.write(&[Lpn(page)], no_data(1), hint)?;
            if flush_every.is_some_and(|every| number % every == 0) {
                layer.flush()?;
            }
        }
        Ok(())
    }

    /// Returns the number of writes so far.
    pub fn write_counts(&self) -> WriteCounts {
        let reports = self.0.describe();
        let counters = &reports.layers[0].counters;
        WriteCounts {
            pages: counters.outgoing_total(Operation::Write),
            moved_pages: counters.outgoing(Cause::Cleaning, Operation::Write),
        }
    }
}

/// Returns each of `pages` pages once, in random order.
pub fn shuffled_pages(pages: u32, seed: u64) -> Vec<u32> {
    let mut random = Seed(seed).random();
    let mut order: Vec<u32> = (0..pages).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, random_below(&mut random, at as u64 + 1) as usize);
    }
    order
}
