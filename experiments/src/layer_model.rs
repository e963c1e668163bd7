//! A modelled layer on a drive, both new, that is written page by page.

use crate::Failure;
use crate::replicas::scenario;
use serde::{Deserialize, Serialize};
use wearwell_base::seed::{Seed, below};
use wearwell_base::units::Lpn;
use wearwell_engine::counters::{Cause, Operation};
use wearwell_engine::layer::no_data;
use wearwell_stack::{Stack, build};

/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// What the layer wrote below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Written {
    /// Pages of all kinds.
    pub pages: u64,
    /// Those that cleaning moved.
    pub moved_pages: u64,
}

impl Written {
    /// What was written since an earlier moment.
    #[must_use]
    pub fn since(&self, earlier: &Written) -> Written {
        Written { pages: self.pages - earlier.pages, moved_pages: self.moved_pages - earlier.moved_pages }
    }
}

/// The topmost layer of a stack.
pub struct LayerModel(Stack<()>);

impl LayerModel {
    /// Of the scenario `text`, whose workload is not asked for.
    ///
    /// # Errors
    ///
    /// A scenario that cannot be.
    pub fn new(text: &str) -> Result<LayerModel, Failure> {
        Ok(LayerModel(build(&mut scenario(text)?)?))
    }

    /// Writes these pages one after the other, with a flush after each so many.
    ///
    /// # Errors
    ///
    /// A layer without room.
    pub fn write(
        &mut self,
        pages: impl Iterator<Item = u32>,
        flush_every: Option<u64>,
    ) -> Result<(), Failure> {
        let layer = &mut self.0.targets[0].layer;
        // With 4 logs of F2FS those of directories come first; other layers take all alike.
        let hint = 1;
        for (number, page) in (1..).zip(pages) {
            layer.write(&[Lpn(page)], no_data(1), hint)?;
            if flush_every.is_some_and(|every| number % every == 0) {
                layer.flush()?;
            }
        }
        Ok(())
    }

    /// What it has written so far.
    pub fn written(&self) -> Written {
        let reports = self.0.describe();
        let counters = &reports.layers[0].counters;
        Written {
            pages: counters.outgoing_total(Operation::Write),
            moved_pages: counters.outgoing(Cause::Cleaning, Operation::Write),
        }
    }
}

/// Each of `pages` pages once, at random.
pub fn permuted(pages: u32, seed: u64) -> Vec<u32> {
    let mut random = Seed(seed).random();
    let mut order: Vec<u32> = (0..pages).collect();
    for at in (1..order.len()).rev() {
        order.swap(at, below(&mut random, at as u64 + 1) as usize);
    }
    order
}
