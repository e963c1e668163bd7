//! A layer that passes all operations through unchanged.

use super::keys::NoKeys;
use super::kinds::{Kind, LayerPlan, OnLayer};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerContext, LayerSpec, LowerLayer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::instances::UpperPlan;
use wearwell_engine::log::BoxedLayer;

/// A layer that passes all operations through unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassThrough {}

impl Kind for PassThrough {
    const ENTRY: Entry = Entry {
        name: "pass_through",
        help: "forwards all requests; maps and cleans nothing",
        source: "a control: nothing may change",
    };
    type On = OnLayer;
    type Keys = NoKeys;
    type Resolved = ();

    fn resolve(
        &mut self,
        _keys: &mut NoKeys,
        below: &LowerLayer,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<()>, ConfigError> {
        Ok(LayerPlan::new(below.pages, u64::from(below.pages), below.block_pages, ()))
    }

    fn build<P: StackPayload>(
        _settings: (),
        spec: LayerSpec,
        lower: BoxedLayer<P>,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        P::upper(lower, UpperPlan::PassThrough(spec.logical_pages)).map(BuiltLayer::from)
    }
}
