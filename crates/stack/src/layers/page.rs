//! The log-structured store as an FTL, with its page map in RAM.

use super::equal_pages;
use super::flash::FlashParts;
use super::kinds::{Kind, LayerPlan, OnFlash, handles};
use super::model::FtlModel;
use super::payload::StackPayload;
use super::spec::{BuiltLayer, Drive, LayerContext, LayerSpec};
use super::store_keys::{StoreKeys, StoreSettings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry, StoreSize};
use wearwell_engine::forms::FtlPlan;
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
        equal_pages::add_features(dedup, &keys.placement, &mut features)?;
        let (streams, reach) = (store.streams, store.reach);
        // The model does not cover a map above the FTL's own.
        let model = dedup.is_none().then(|| FtlModel::of(Ftl::Page.design(None)));
        let handles = handles(&keys.placement);
        let plan = LayerPlan::new(logical_pages, geometry.pages(), geometry.pages_per_block, store);
        Ok(LayerPlan { streams, handles, features, reach, model, ..plan })
    }

    fn build<P: StackPayload>(
        settings: StoreSettings,
        spec: LayerSpec,
        flash: FlashParts,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        if flash.comes_back() {
            let equal = equal_pages::of(&spec)?;
            let mut config = spec.page_config(&settings);
            config.store.logical_pages = equal_pages::stored_pages(&equal, config.store.logical_pages);
            return P::on_spare_areas(FtlPlan::Page(config), equal, &flash);
        }
        P::log_on_flash(&settings, spec, &flash).map(BuiltLayer::from)
    }
}
