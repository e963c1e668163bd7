//! What the pages of a stack hold, and how its layers are built accordingly.

use super::equal_pages::EqualPages;
use super::flash::{BuildOnMedium, BuildOnSpareAreas, FlashParts, PowerPlan};
use super::spec::{BuiltLayer, LayerSpec};
use super::store_keys::StoreSettings;
use wearwell_base::config::ConfigError;
use wearwell_engine::dedup::Dedup;
use wearwell_engine::layer::{Bytes, Content, Payload};
use wearwell_engine::log::{BoxedLayer, Segments};

/// A payload that stacks are built for.
pub trait StackPayload: Payload {
    /// The log as an FTL.
    fn log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<Self>, ConfigError> {
        let pages = spec.logical_pages;
        spec.boxed_store(settings, pages, flash.timed(), |_| None)
    }

    /// A log on the segments of a layer.
    fn log_on_segments(
        settings: &StoreSettings,
        spec: LayerSpec,
        segments: Segments<Self>,
    ) -> Result<BoxedLayer<Self>, ConfigError> {
        let pages = spec.logical_pages;
        spec.boxed_store(settings, pages, segments, |_| None)
    }

    /// A layer on flash whose spare areas it does not look at.
    fn on_flash(builder: impl BuildOnMedium, flash: &FlashParts) -> Result<BuiltLayer<Self>, ConfigError> {
        builder.build(flash.timed())
    }

    /// An FTL on flash with spare areas, which stores `equal` pages once if pages can be told to be equal.
    fn on_spare_areas(
        builder: impl BuildOnSpareAreas,
        equal: EqualPages,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<Self>, ConfigError> {
        let _ = equal;
        flash.with_spare_areas(builder)
    }
}

/// Compiled for their policies, because a counting run does nothing else.
impl StackPayload for () {
    fn log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<()>, ConfigError> {
        if !flash.reads_by_page() {
            return spec.store(settings, flash.nand());
        }
        let pages = spec.logical_pages;
        spec.boxed_store(settings, pages, flash.timed(), |_| None)
    }

    fn log_on_segments(
        settings: &StoreSettings,
        spec: LayerSpec,
        segments: Segments<()>,
    ) -> Result<BoxedLayer<()>, ConfigError> {
        spec.store(settings, segments)
    }

    fn on_flash(builder: impl BuildOnMedium, flash: &FlashParts) -> Result<BuiltLayer<()>, ConfigError> {
        if flash.reads_by_page() { builder.build(flash.timed()) } else { builder.build(flash.nand()) }
    }

    fn on_spare_areas(
        builder: impl BuildOnSpareAreas,
        _equal: EqualPages,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<()>, ConfigError> {
        match &flash.power {
            PowerPlan::AtWork(cut) => flash.on_supply(builder, cut.clone()),
            _ => flash.with_spare_areas(builder),
        }
    }
}

impl<const N: usize> StackPayload for Bytes<N> {}

/// The only pages that can be told to be equal without looking at them.
impl StackPayload for Content {
    fn log_on_flash(
        settings: &StoreSettings,
        spec: LayerSpec,
        flash: &FlashParts,
    ) -> Result<BoxedLayer<Content>, ConfigError> {
        let pages = spec.logical_pages;
        if spec.dedup.is_none() {
            return spec.boxed_store(settings, pages, flash.timed(), |_| None);
        }
        let sharing = EqualPages::of(&spec).sharing()?;
        let (stored, journal) = (sharing.store_pages(), flash.journal.clone());
        let migration = |wants_references| sharing.migration(journal.clone(), wants_references);
        let store = spec.boxed_store(settings, stored, flash.timed(), migration)?;
        Ok(Box::new(Dedup::new(sharing, store, journal)?))
    }

    fn on_spare_areas(
        builder: impl BuildOnSpareAreas,
        equal: EqualPages,
        flash: &FlashParts,
    ) -> Result<BuiltLayer<Content>, ConfigError> {
        if equal.config.is_none() {
            return flash.with_spare_areas(builder);
        }
        flash.with_dedup(builder, equal)
    }
}
