//! Payload of the pages of a stack, and the construction of layers for it.

use super::dedup;
use super::flash::{FlashParts, PowerPlan};
use super::spec::{BuiltLayer, LayerSpec};
use super::store_keys::StoreSettings;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::Dedup;
use wearwell_engine::instances::{
    CompiledPayload, DedupPlan, FtlPlan, boxed_log_on_nand, ftl_on_power_source, ftl_on_stored_flash,
    ftl_with_dedup, log_on_nand, log_on_segments,
};
use wearwell_engine::layer::{Bytes, ContentId};
use wearwell_engine::log::{BoxedLayer, Segments};
use wearwell_engine::timing::Journal;

/// A payload that stacks are built for.
pub trait StackPayload: CompiledPayload {
    /// Builds the log as an FTL.
    fn build_log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<Self>, ConfigError> {
        let (pages, flash) = (spec.logical_pages, flash.journaled_nand());
        let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
        Self::boxed_log_on_recording_nand(flash, log)
    }

    /// Builds a log on the segments of a layer.
    fn build_log_on_segments(
        settings: &StoreSettings,
        spec: LayerSpec,
        segments: Segments<Self>,
    ) -> Result<BoxedLayer<Self>, ConfigError> {
        let pages = spec.logical_pages;
        let log = spec.boxed_log(settings, pages, &segments, |_| None)?;
        Self::boxed_log_on_segments(segments, log)
    }

    /// Builds an FTL on flash with spare areas; `dedup` deduplicates pages if contents can be compared by their
    /// payloads.
    fn build_ftl_on_spare_areas(
        plan: FtlPlan,
        dedup: Option<DedupPlan>,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<Self>, ConfigError> {
        debug_assert!(dedup.is_none(), "runs that deduplicate hold contents");
        flash.with_spare_areas(plan)
    }
}

/// Counting runs spend all their time in the logs, so these are compiled for each policy.
impl StackPayload for () {
    fn build_log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<()>, ConfigError> {
        let pages = spec.logical_pages;
        if flash.needs_read_addresses() {
            let flash = flash.journaled_nand();
            let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
            return <()>::boxed_log_on_recording_nand(flash, log);
        }
        let flash = flash.nand();
        match spec.frontiers(settings) {
            Some(frontiers) => log_on_nand(flash, spec.counting_log(settings, frontiers)),
            None => {
                let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
                boxed_log_on_nand(flash, log)
            }
        }
    }

    fn build_log_on_segments(
        settings: &StoreSettings,
        spec: LayerSpec,
        segments: Segments<()>,
    ) -> Result<BoxedLayer<()>, ConfigError> {
        match spec.frontiers(settings) {
            Some(frontiers) => log_on_segments(segments, spec.counting_log(settings, frontiers)),
            None => {
                let pages = spec.logical_pages;
                let log = spec.boxed_log(settings, pages, &segments, |_| None)?;
                <()>::boxed_log_on_segments(segments, log)
            }
        }
    }

    fn build_ftl_on_spare_areas(
        plan: FtlPlan,
        dedup: Option<DedupPlan>,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<()>, ConfigError> {
        debug_assert!(dedup.is_none(), "runs that deduplicate hold contents");
        match &flash.power {
            PowerPlan::DuringOperations(cut) => {
                let content_nand = flash.nand::<ContentId>().with_spare_area();
                let journal = flash.journal.clone().unwrap_or_else(Journal::paused);
                ftl_on_power_source(content_nand, plan, cut.clone(), journal).map(BuiltLayer::from)
            }
            _ => flash.with_spare_areas(plan),
        }
    }
}

impl<const N: usize> StackPayload for Bytes<N> {}

/// The only payload by which contents can be compared without data.
impl StackPayload for ContentId {
    fn build_log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<ContentId>, ConfigError> {
        let (pages, journal, flash) = (spec.logical_pages, flash.journal.clone(), flash.journaled_nand());
        let Some(DedupPlan { sharing, .. }) = dedup::plan(&spec)? else {
            let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
            return ContentId::boxed_log_on_recording_nand(flash, log);
        };
        let migration = |wants_references| sharing.migration_policy(journal.clone(), wants_references);
        let log = spec.boxed_log(settings, sharing.store_pages(), &flash, migration)?;
        let store = ContentId::boxed_log_on_recording_nand(flash, log)?;
        Ok(Box::new(Dedup::new(sharing, store, journal)?))
    }

    fn build_ftl_on_spare_areas(
        plan: FtlPlan,
        dedup: Option<DedupPlan>,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<ContentId>, ConfigError> {
        if let Some(medium) = &flash.stored_flash {
            let new_nand = || flash.nand::<ContentId>().with_spare_area();
            return ftl_on_stored_flash(&new_nand, plan, dedup, &**medium).map(BuiltLayer::from);
        }
        let Some(dedup) = dedup else { return flash.with_spare_areas(plan) };
        let nand = flash.nand::<ContentId>().with_spare_area();
        ftl_with_dedup(nand, plan, dedup, &flash.power, flash.journal.clone()).map(BuiltLayer::from)
    }
}
