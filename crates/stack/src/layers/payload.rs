//! Payload of the pages of a stack, and the construction of layers for it.

use super::equal_pages;
use super::flash::{FlashParts, PowerPlan};
use super::spec::{BuiltLayer, LayerSpec};
use super::store_keys::StoreSettings;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::Dedup;
use wearwell_engine::forms::{
    CompiledPayload, EqualPages, FtlPlan, boxed_log_on_nand, ftl_on_kept, ftl_on_supply, ftl_with_dedup,
    log_on_nand, log_on_segments,
};
use wearwell_engine::layer::{Bytes, Content};
use wearwell_engine::log::{BoxedLayer, Segments};
use wearwell_engine::timing::Journal;

/// A payload that stacks are built for.
pub trait StackPayload: CompiledPayload {
    /// Builds the log as an FTL.
    fn log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<Self>, ConfigError> {
        let (pages, flash) = (spec.logical_pages, flash.timed());
        let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
        Self::boxed_log_on_timed(flash, log)
    }

    /// Builds a log on the segments of a layer.
    fn log_on_segments(
        settings: &StoreSettings,
        spec: LayerSpec,
        segments: Segments<Self>,
    ) -> Result<BoxedLayer<Self>, ConfigError> {
        let pages = spec.logical_pages;
        let log = spec.boxed_log(settings, pages, &segments, |_| None)?;
        Self::boxed_log_on_segments(segments, log)
    }

    /// Builds an FTL on flash with spare areas; `equal` deduplicates pages if the payload allows to compare contents.
    fn on_spare_areas(
        plan: FtlPlan,
        equal: Option<EqualPages>,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<Self>, ConfigError> {
        debug_assert!(equal.is_none(), "runs that deduplicate hold contents");
        flash.with_spare_areas(plan)
    }
}

/// Compiled for each policy, because counting runs spend all their time here.
impl StackPayload for () {
    fn log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<()>, ConfigError> {
        let pages = spec.logical_pages;
        if flash.reads_by_page() {
            let flash = flash.timed();
            let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
            return <()>::boxed_log_on_timed(flash, log);
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

    fn log_on_segments(
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

    fn on_spare_areas(
        plan: FtlPlan,
        equal: Option<EqualPages>,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<()>, ConfigError> {
        debug_assert!(equal.is_none(), "runs that deduplicate hold contents");
        match &flash.power {
            PowerPlan::AtWork(cut) => {
                let stamped = flash.nand::<Content>().with_spare_area();
                let journal = flash.journal.clone().unwrap_or_else(Journal::paused);
                ftl_on_supply(stamped, plan, cut.clone(), journal).map(BuiltLayer::from)
            }
            _ => flash.with_spare_areas(plan),
        }
    }
}

impl<const N: usize> StackPayload for Bytes<N> {}

/// The only payload that allows to compare contents without data.
impl StackPayload for Content {
    fn log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<Content>, ConfigError> {
        let (pages, journal, flash) = (spec.logical_pages, flash.journal.clone(), flash.timed());
        let Some(EqualPages { sharing, .. }) = equal_pages::of(&spec)? else {
            let log = spec.boxed_log(settings, pages, &flash, |_| None)?;
            return Content::boxed_log_on_timed(flash, log);
        };
        let migration = |wants_references| sharing.migration(journal.clone(), wants_references);
        let log = spec.boxed_log(settings, sharing.store_pages(), &flash, migration)?;
        let store = Content::boxed_log_on_timed(flash, log)?;
        Ok(Box::new(Dedup::new(sharing, store, journal)?))
    }

    fn on_spare_areas(
        plan: FtlPlan,
        equal: Option<EqualPages>,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<Content>, ConfigError> {
        if let Some(medium) = &flash.kept {
            let erased = || flash.nand::<Content>().with_spare_area();
            return ftl_on_kept(&erased, plan, equal, &**medium).map(BuiltLayer::from);
        }
        let Some(equal) = equal else { return flash.with_spare_areas(plan) };
        let nand = flash.nand::<Content>().with_spare_area();
        ftl_with_dedup(nand, plan, equal, &flash.power, flash.journal.clone()).map(BuiltLayer::from)
    }
}
