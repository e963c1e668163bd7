//! A key-value store like SILT.

use super::kinds::{Kind, LayerPlan, OnLayer};
use super::merge_tree::{self, TreeKeys};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerContext, LayerSpec, LowerLayer};
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::log::{BoxedLayer, LsmConfig, Shape};

/// A key-value store like SILT.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Silt {
    /// Size of a log store, and of the hash store that it is converted to.
    pub log_store_size: ByteSize,
    /// Number of hash stores that triggers a merge into the sorted store.
    #[schemars(range(min = 1))]
    pub hash_stores: u32,
    /// Size of the parts in which the sorted store is written and freed.
    pub table_size: ByteSize,
}

impl Default for Silt {
    fn default() -> Self {
        Silt { log_store_size: ByteSize(4 << 20), hash_stores: 16, table_size: ByteSize(1 << 20) }
    }
}

impl Kind for Silt {
    const ENTRY: Entry = Entry {
        name: "silt",
        help: "log store, hash stores and a sorted store that is merged anew as a whole",
        source: "Lim, Fan, Andersen and Kaminsky, SOSP 2011, sec. 2 and 3; sizes assumed",
    };
    type On = OnLayer;
    type Keys = TreeKeys;
    type Resolved = LsmConfig;

    /// Indexes are in memory, as in the paper, so they cause no writes.
    fn resolve(
        &mut self,
        keys: &mut TreeKeys,
        below: &LowerLayer,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<LsmConfig>, ConfigError> {
        let layout = LsmConfig {
            logical_pages: 1,
            page_bytes: below.page_bytes,
            memtable_pages: below.pages_of("log_store_size", self.log_store_size)?,
            table_pages: below.pages_of("table_size", self.table_size)?,
            index_bytes_per_page: 0,
            wal_pages: None,
            trim: true,
            shape: Shape::Silt { hash_stores: self.hash_stores },
        };
        keys.resolve(layout, below)
    }

    fn build<P: StackPayload>(
        layout: LsmConfig,
        spec: LayerSpec,
        lower: BoxedLayer<P>,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        merge_tree::build(layout, spec, lower)
    }
}
