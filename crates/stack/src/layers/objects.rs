//! Object layer: objects known to the drive, with streams by their temperature.

use super::keys::NoKeys;
use super::kinds::{Kind, LayerPlan, OnLayer};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerContext, LayerSpec, LowerLayer};
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::instances::UpperPlan;
use wearwell_engine::log::{BoxedLayer, ObjectLayout};

/// Object layer: objects known to the drive.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Objects {
    /// Size of an object; objects are contiguous.
    pub object_size: ByteSize,
    /// Number of temperature classes, from cold to hot; each is a stream hint for the layer below.
    #[schemars(range(min = 1))]
    pub classes: u8,
    /// Drive writes after which the write counts of the objects are halved.
    pub decay_drive_writes: f64,
}

impl Default for Objects {
    fn default() -> Self {
        Objects { object_size: ByteSize(1 << 20), classes: 4, decay_drive_writes: 1.0 }
    }
}

impl Kind for Objects {
    const ENTRY: Entry = Entry {
        name: "objects",
        help: "objects instead of blocks: the drive forwards the temperature of each object as a stream hint",
        source: "Kang, Yang and Miller, MSST 2011; Yang et al., INFLOW 2014, sec. 6",
    };
    type On = OnLayer;
    type Keys = NoKeys;
    type Resolved = ObjectLayout;

    fn resolve(
        &mut self,
        _keys: &mut NoKeys,
        below: &LowerLayer,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<ObjectLayout>, ConfigError> {
        let layout = ObjectLayout {
            object_pages: below.pages_of("object_size", self.object_size)?,
            classes: self.classes,
            decay_drive_writes: self.decay_drive_writes,
        };
        Ok(LayerPlan::new(below.pages, u64::from(below.pages), below.block_pages, layout))
    }

    fn build<P: StackPayload>(
        layout: ObjectLayout,
        _spec: LayerSpec,
        lower: BoxedLayer<P>,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        P::upper(lower, UpperPlan::Objects(layout)).map(BuiltLayer::from)
    }
}
