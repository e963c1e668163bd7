//! What the pages of a run hold.

use crate::layers::StackPayload;
use std::ops::Range;
use wearwell_engine::layer::{Content, no_data};
use wearwell_workload::PageBatch;

/// A payload that runs have.
pub(crate) trait RunPayload: StackPayload {
    /// Makes sure that the batch says of all its pages what they hold.
    #[inline(always)]
    fn complete(batch: &mut PageBatch) {
        let _ = batch;
    }

    /// What the pages of a complete batch hold, those with these positions.
    fn of(batch: &PageBatch, pages: Range<usize>) -> &[Self];
}

impl RunPayload for () {
    #[inline(always)]
    fn of(_batch: &PageBatch, pages: Range<usize>) -> &[()] {
        no_data(pages.len())
    }
}

impl RunPayload for Content {
    fn complete(batch: &mut PageBatch) {
        batch.contents.resize(batch.pages.len(), Content::UNKNOWN);
    }

    fn of(batch: &PageBatch, pages: Range<usize>) -> &[Content] {
        &batch.contents[pages]
    }
}
