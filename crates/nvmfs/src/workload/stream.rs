//! Conversion of the steps of a workload to a sequence of operations.

use super::{FileOp, FileWorkload};
use std::collections::VecDeque;
use wearwell_base::seed::{Random, Seed};

/// Operations that were generated but not yet returned.
pub(super) type Queue = VecDeque<FileOp>;

/// Generator of a workload in steps; a step is a few operations that belong together.
pub(super) trait StepGenerator: Send {
    /// Appends the next step of the set-up; appends nothing after all files were created.
    fn set_up(&mut self, random: &mut Random, queue: &mut Queue);

    /// Appends one step of the main phase.
    fn step(&mut self, random: &mut Random, queue: &mut Queue);
}

/// Source of the operations of a workload, one after the other.
pub(super) struct Stream<L> {
    generator: L,
    random: Random,
    request_bytes: u32,
    /// Number of remaining steps of the main phase; `None` if it is unlimited.
    steps: Option<u64>,
    set_up: bool,
    /// Operations to return next. The queue is never empty during the set-up, so that the end of the set-up is known
    /// when its last operation was returned.
    queue: Queue,
}

impl<L: StepGenerator + 'static> Stream<L> {
    pub fn boxed(generator: L, steps: Option<u64>, request_bytes: u32, seed: Seed) -> Box<dyn FileWorkload> {
        let random = seed.derive("operations").random();
        let mut stream =
            Stream { generator, random, request_bytes, steps, set_up: false, queue: Queue::new() };
        stream.refill();
        Box::new(stream)
    }

    /// Appends the next step to an empty queue.
    fn refill(&mut self) {
        if !self.set_up {
            self.generator.set_up(&mut self.random, &mut self.queue);
            self.set_up = self.queue.is_empty();
        }
    }

    fn step(&mut self) {
        match &mut self.steps {
            Some(0) => return,
            Some(left) => *left -= 1,
            None => {}
        }
        self.generator.step(&mut self.random, &mut self.queue);
    }
}

impl<L: StepGenerator + 'static> FileWorkload for Stream<L> {
    fn next(&mut self) -> Option<FileOp> {
        if self.queue.is_empty() {
            self.step();
        }
        let op = self.queue.pop_front();
        if self.queue.is_empty() {
            self.refill();
        }
        op
    }

    fn is_set_up(&self) -> bool {
        self.set_up
    }

    fn request_bytes(&self) -> u32 {
        self.request_bytes
    }
}
