//! The log-structured store as an FTL, with its page map in RAM.

use super::dedup;
use super::flash::FlashParts;
use super::kinds::{Kind, LayerPlan, OnFlash, placement_handles};
use super::model::FtlModel;
use super::payload::StackPayload;
use super::spec::{BuiltLayer, Drive, LayerContext, LayerSpec};
use super::store_keys::{StoreKeys, StoreSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry, StoreSize};
use wearwell_engine::instances::FtlPlan;
use wearwell_theory::ftl::Ftl;

/// The log-structured store; all settings are in its keys.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Page {}

impl Kind for Page {
    const ENTRY: Entry = super::log::ENTRY;
    type On = OnFlash;
    type Keys = StoreKeys;
    type Resolved = StoreSettings;

    fn resolve(
        &mut self,
        keys: &mut StoreKeys,
        drive: &Drive<'_>,
        context: &LayerContext<'_>,
    ) -> Result<LayerPlan<StoreSettings>, ConfigError> {
        let (geometry, dedup) = (&drive.device.geometry, drive.dedup);
        let logical_pages = drive.device.logical_pages;
        let size = StoreSize {
            blocks: geometry.blocks(),
            pages_per_block: geometry.pages_per_block,
            logical_pages,
            seed: context.seed,
        };
        let (store, mut features) = keys.resolve(&size, 0, context)?;
        dedup::add_features(dedup, &keys.placement, &mut features)?;
        let (streams, horizon) = (store.streams, store.horizon);
        // The model does not cover a map above the FTL's own.
        let model = dedup.is_none().then(|| FtlModel::of(Ftl::Page.design(None)));
        let handles = placement_handles(&keys.placement);
        let plan = LayerPlan::new(logical_pages, geometry.pages(), geometry.pages_per_block, store);
        Ok(LayerPlan { streams, placement_handles: handles, features, horizon, model, ..plan })
    }

    fn build<P: StackPayload>(
        settings: StoreSettings,
        spec: LayerSpec,
        flash: FlashParts,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        if flash.keeps_recovery_data() {
            let dedup = dedup::plan(&spec)?;
            let mut config = spec.page_config(&settings);
            config.store.logical_pages = dedup::stored_pages(&dedup, config.store.logical_pages);
            return P::build_ftl_on_spare_areas(FtlPlan::Page(config), dedup, &flash);
        }
        P::build_log_on_flash(&settings, spec, &flash).map(BuiltLayer::from)
    }
}
