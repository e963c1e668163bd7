//! What the pages of a stack hold, and how its stores are built accordingly.

use super::scenario::LogConfig;
use super::store::Spec;
use super::structure;
use crate::config::ConfigError;
use crate::dedup::{Dedup, Sharing};
use crate::layer::{Bytes, Content, Payload, no_data};
use crate::log::{BoxedLayer, Segments};
use crate::nand::Nand;
use crate::timing::{Journal, Timed};
use crate::workload::PageBatch;
use std::ops::Range;

/// A payload that stacks are built for.
pub trait StackPayload: Payload {
    /// The FTL on flash, which writes what it does into the journal, and the number of its streams.
    fn on_flash(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        nand: Nand<Self>,
        journal: Option<Journal>,
    ) -> Result<(BoxedLayer<Self>, u8), ConfigError> {
        let recording = journal.clone().unwrap_or_else(Journal::paused);
        let medium = Timed::new(nand, recording);
        match ftl.zones() {
            Some(_) => Ok((structure::build_zones(ftl, medium)?, 0)),
            None => Self::on_medium(spec, ftl, logical_pages, medium, journal),
        }
    }

    /// A log on the segments of a layer, and the number of its streams.
    fn on_segments(
        spec: Spec,
        log: &mut LogConfig,
        logical_pages: u32,
        segments: Segments<Self>,
    ) -> Result<(BoxedLayer<Self>, u8), ConfigError> {
        spec.boxed_store(log, logical_pages, segments, |_| None)
    }

    /// The FTL's store, and what stands in front of it.
    fn on_medium(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        medium: Timed<Self>,
        journal: Option<Journal>,
    ) -> Result<(BoxedLayer<Self>, u8), ConfigError> {
        let _ = journal;
        spec.boxed_store(ftl, logical_pages, medium, |_| None)
    }
}

/// Compiled for their policies, because a counting run does nothing else.
impl StackPayload for () {
    fn on_flash(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        nand: Nand<()>,
        journal: Option<Journal>,
    ) -> Result<(BoxedLayer<()>, u8), ConfigError> {
        match (journal, ftl.zones()) {
            (None, None) => spec.store(ftl, logical_pages, nand),
            (None, Some(_)) => Ok((structure::build_zones(ftl, nand)?, 0)),
            (Some(journal), None) => {
                spec.boxed_store(ftl, logical_pages, Timed::new(nand, journal), |_| None)
            }
            (Some(journal), Some(_)) => Ok((structure::build_zones(ftl, Timed::new(nand, journal))?, 0)),
        }
    }

    fn on_segments(
        spec: Spec,
        log: &mut LogConfig,
        logical_pages: u32,
        segments: Segments<()>,
    ) -> Result<(BoxedLayer<()>, u8), ConfigError> {
        spec.store(log, logical_pages, segments)
    }
}

impl<const N: usize> StackPayload for Bytes<N> {}

/// The only pages that can be told to be equal without looking at them.
impl StackPayload for Content {
    fn on_medium(
        spec: Spec,
        ftl: &mut LogConfig,
        logical_pages: u32,
        medium: Timed<Content>,
        journal: Option<Journal>,
    ) -> Result<(BoxedLayer<Content>, u8), ConfigError> {
        if ftl.dedup.is_none() {
            return spec.boxed_store(ftl, logical_pages, medium, |_| None);
        }
        if ftl.placement.reference_threshold().is_none() {
            // There is no cold region to be promoted to.
            ftl.dedup.promote_when_moved();
        }
        let sharing = Sharing::new(&ftl.dedup, logical_pages, 0).map_err(|error| error.within("dedup"))?;
        let (pages, asked) = (sharing.store_pages(), journal.clone());
        let migration = |wants_references| sharing.migration(asked, wants_references);
        let (store, streams) = spec.boxed_store(ftl, pages, medium, migration)?;
        Ok((Box::new(Dedup::new(sharing, store, journal)?), streams))
    }
}

/// A payload that runs have.
pub(super) trait RunPayload: StackPayload {
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
