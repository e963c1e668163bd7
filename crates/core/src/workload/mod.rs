//! Synthetic workloads: seeded sources of page operations.

mod batch;

pub use batch::{PageBatch, PageRun};

/// A source of page operations on a logical space of known size.
///
/// Two sources built from the same configuration and seed give the same operations however their
/// fills are cut into batches.
pub trait Workload: Send {
    /// Appends requests to `batch` until it holds at least `pages` pages more; less only at the end of a
    /// finite source. An infinite source never returns an empty batch.
    fn fill(&mut self, batch: &mut PageBatch, pages: usize);

    /// A number drawn from the source's generator without changing the course of later fills is not
    /// possible; this draw therefore ends the source, and two equal runs end with equal draws.
    fn final_draw(&mut self) -> u64;
}
