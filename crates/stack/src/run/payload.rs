//! Payload of the pages of a run.

use crate::layers::StackPayload;
use std::ops::Range;
use wearwell_engine::layer::{ContentId, no_data};
use wearwell_workload::PageBatch;

/// A payload that runs support.
pub(crate) trait RunPayload: StackPayload {
    /// Ensures that the batch has a payload for each of its pages.
    #[inline(always)]
    fn fill_payloads(batch: &mut PageBatch) {
        let _ = batch;
    }

    /// Returns the payloads of these positions of a complete batch.
    fn of(batch: &PageBatch, pages: Range<usize>) -> &[Self];
}

impl RunPayload for () {
    #[inline(always)]
    fn of(_batch: &PageBatch, pages: Range<usize>) -> &[()] {
        no_data(pages.len())
    }
}

impl RunPayload for ContentId {
    fn fill_payloads(batch: &mut PageBatch) {
        batch.contents.resize(batch.pages.len(), ContentId::UNKNOWN);
    }

    fn of(batch: &PageBatch, pages: Range<usize>) -> &[ContentId] {
        &batch.contents[pages]
    }
}
