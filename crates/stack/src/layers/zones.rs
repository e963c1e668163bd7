//! A zoned drive in place of an FTL.

use super::flash::FlashParts;
use super::keys::NoKeys;
use super::kinds::{FtlProperties, Kind, LayerPlan, OnFlash, PageMap};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, Drive, LayerContext, LayerSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::log::ZonedDriveConfig;

/// A drive without a map: zones that the host writes in order and resets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Zones {
    /// Erase blocks of each zone.
    #[schemars(range(min = 1))]
    pub zone_blocks: u32,
    /// Zones that may be partly written at the same time.
    #[schemars(range(min = 1))]
    pub max_open_zones: u32,
}

impl Default for Zones {
    /// Returns the default: fourteen open zones, as in the drive of Bjørling et al., ATC 2021.
    fn default() -> Self {
        Zones { zone_blocks: 1, max_open_zones: 14 }
    }
}

impl Kind for Zones {
    const ENTRY: Entry = Entry {
        name: "zones",
        help: "the FTL only: a zoned drive, which the log above cleans; append-only zones that are reset as a whole",
        source: "NVMe Zoned Namespace Command Set; Bjørling et al., ATC 2021",
    };
    type On = OnFlash;
    type Keys = NoKeys;
    type Resolved = ZonedDriveConfig;

    fn properties() -> FtlProperties {
        FtlProperties { map: PageMap::Absent, ..FtlProperties::default() }
    }

    fn zone_blocks(&self) -> Option<u32> {
        Some(self.zone_blocks)
    }

    fn resolve(
        &mut self,
        _keys: &mut NoKeys,
        drive: &Drive<'_>,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<ZonedDriveConfig>, ConfigError> {
        let geometry = &drive.device.geometry;
        let zone_pages = geometry.pages_per_block.saturating_mul(self.zone_blocks);
        let config = ZonedDriveConfig { zone_blocks: self.zone_blocks, max_open_zones: self.max_open_zones };
        Ok(LayerPlan {
            max_open_blocks: Some(self.max_open_zones),
            ..LayerPlan::new(drive.device.logical_pages, geometry.pages(), zone_pages, config)
        })
    }

    fn build<P: StackPayload>(
        config: ZonedDriveConfig,
        _spec: LayerSpec,
        flash: FlashParts,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        let built = match flash.needs_read_addresses() {
            true => P::zones_on_recording_nand(flash.journaled_nand(), config),
            false => P::zones_on_nand(flash.nand(), config),
        };
        built.map(BuiltLayer::from).map_err(|error| error.within("structure"))
    }
}
