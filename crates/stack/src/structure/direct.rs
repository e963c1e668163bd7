//! Structures without a log of their own: what they pass on keeps its place.

use super::{Ground, Shown, StructureKind};
use crate::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::layer::Payload;
use wearwell_engine::log::{BoxedLayer, ObjectLayout, Objects, Sparse, TrimLog};

/// Bytes of a record of a trimmed range: its first page and its length.
const TRIM_RECORD_BYTES: u32 = 16;

/// A layer that passes everything on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PassThroughConfig {}

impl StructureKind for PassThroughConfig {
    const ENTRY: Entry = Entry {
        name: "pass_through",
        help: "passes everything on, maps and cleans nothing",
        source: "a control: nothing may change",
    };
}

/// A sparse address space on the drive's own log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SparseConfig {
    /// Trims whose records are written together; 1: each is durable when it returns.
    #[schemars(range(min = 1))]
    pub trims_per_write: u32,
    /// Pages that the records of trims are written to, in turn.
    #[schemars(range(min = 1))]
    pub trim_log_pages: u32,
}

impl Default for SparseConfig {
    fn default() -> Self {
        SparseConfig { trims_per_write: 1, trim_log_pages: 64 }
    }
}

impl StructureKind for SparseConfig {
    const ENTRY: Entry = Entry {
        name: "sparse",
        help: "a sparse address space on the drive's own log: atomic requests, persistent TRIM, no map and no log above",
        source: "Josephson et al. (DFS), FAST 2010; Ouyang et al., HPCA 2011; Yang et al., INFLOW 2014, sec. 6",
    };
}

impl SparseConfig {
    pub(super) fn size(&self, ground: &Ground) -> Result<Shown, ConfigError> {
        let left = ground.pages.checked_sub(self.trim_log_pages).filter(|left| *left > 0);
        let logical_pages = left.ok_or_else(|| {
            let problem =
                format!("is {}; it must be below the {} pages below", self.trim_log_pages, ground.pages);
            ConfigError::new("structure.trim_log_pages", problem)
        })?;
        Ok(Shown { logical_pages, block: ground.block })
    }

    pub(super) fn build<P: Payload>(
        &self,
        lower: BoxedLayer<P>,
        ground: &Ground,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let log = TrimLog {
            records_per_page: (ground.page_bytes / TRIM_RECORD_BYTES).max(1),
            trims_per_write: self.trims_per_write,
            pages: self.trim_log_pages,
        };
        Ok(Box::new(Sparse::new(lower, log)?))
    }
}

/// Objects that the drive knows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ObjectsConfig {
    /// Size of an object; they lie one after the other.
    pub object_size: ByteSize,
    /// Classes of heat, each a stream hint for the layer below, from cold to hot.
    #[schemars(range(min = 1))]
    pub classes: u8,
    /// Drive writes after which the counts of the objects are halved.
    pub decay_drive_writes: f64,
}

impl Default for ObjectsConfig {
    fn default() -> Self {
        ObjectsConfig { object_size: ByteSize(1 << 20), classes: 4, decay_drive_writes: 1.0 }
    }
}

impl StructureKind for ObjectsConfig {
    const ENTRY: Entry = Entry {
        name: "objects",
        help: "objects in place of blocks: the drive knows how hot each is and hands that down as a stream hint",
        source: "Kang, Yang and Miller, MSST 2011; Yang et al., INFLOW 2014, sec. 6",
    };
}

impl ObjectsConfig {
    pub(super) fn build<P: Payload>(
        &self,
        lower: BoxedLayer<P>,
        ground: &Ground,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let layout = ObjectLayout {
            object_pages: ground.pages_of("object_size", self.object_size)?,
            classes: self.classes,
            decay_drive_writes: self.decay_drive_writes,
        };
        Ok(Box::new(Objects::new(lower, layout)?))
    }
}
