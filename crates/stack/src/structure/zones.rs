//! A zoned drive in place of an FTL.

use super::{StructureKind, refuse_keys};
use crate::ByteSize;
use crate::scenario::LogConfig;
use crate::trim_config::TrimConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::layer::Medium;
use wearwell_engine::log::{BoxedLayer, Zones, ZonesConfig};

/// A drive without a map: zones that the host writes in order and resets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ZonesSettings {
    /// Erase blocks of each zone.
    #[schemars(range(min = 1))]
    pub zone_blocks: u32,
    /// Zones that may be partly written at the same time.
    #[schemars(range(min = 1))]
    pub max_open_zones: u32,
}

impl Default for ZonesSettings {
    /// Fourteen open zones, as the drive of Bjørling et al., ATC 2021.
    fn default() -> Self {
        ZonesSettings { zone_blocks: 1, max_open_zones: 14 }
    }
}

impl StructureKind for ZonesSettings {
    const ENTRY: Entry = Entry {
        name: "zones",
        help: "the FTL only: a zoned drive, which the log above cleans; append-only zones that are reset as a whole",
        source: "NVMe Zoned Namespace Command Set; Bjørling et al., ATC 2021",
    };
}

impl ZonesSettings {
    /// Refuses logs that together write to more zones at a time than may be open.
    pub(crate) fn check_open(&self, streams: u32) -> Result<(), ConfigError> {
        if streams <= self.max_open_zones {
            return Ok(());
        }
        let problem = format!(
            "is {}; the logs above hold {streams} segments open, one a stream, and need at least that many",
            self.max_open_zones
        );
        Err(ConfigError::new("structure.max_open_zones", problem))
    }
}

/// Builds the zoned drive on its flash.
pub(crate) fn build<M: Medium + 'static>(
    ftl: &LogConfig,
    medium: M,
) -> Result<BoxedLayer<M::Payload>, ConfigError> {
    let settings = ftl.zones().expect("asked only of zoned drives");
    refuse_keys(ftl, "zones", &[])?;
    let config = ZonesConfig { zone_blocks: settings.zone_blocks, max_open_zones: settings.max_open_zones };
    Ok(Box::new(Zones::new(medium, config).map_err(|error| error.within("structure"))?))
}

/// Refuses a log that would break the rules of the zones that it stands on.
pub(crate) fn refuse_user(log: &LogConfig, zone_pages: u32, page_bytes: u32) -> Result<(), ConfigError> {
    let wrong = |key: &str, problem: String| Err(ConfigError::new(key, problem));
    if let Some(structure) = log.other_structure() {
        let problem = format!(
            "is \"{}\"; on a zoned drive stands a log, which writes segments in order and frees them as a whole",
            structure.entry().name
        );
        return wrong("structure", problem);
    }
    let zone_bytes = u64::from(zone_pages) * u64::from(page_bytes);
    match log.segment_size {
        Some(segment) if segment.0.is_multiple_of(zone_bytes) && segment.0 > 0 => {}
        Some(segment) => {
            let problem =
                format!("is {segment}; it must be a multiple of the zone of {}", ByteSize(zone_bytes));
            return wrong("segment_size", problem);
        }
        None => return wrong("segment_size", format!("is missing; a zone has {}", ByteSize(zone_bytes))),
    }
    if log.align == Some(false) {
        return wrong("align", "is false; a partition of a zoned drive consists of whole zones".into());
    }
    match log.trim {
        None | Some(TrimConfig::Plain(true)) => Ok(()),
        _ => wrong("trim", "must be true on a zoned drive: a segment is reset when it is freed".into()),
    }
}
