//! A sparse address space on the drive's own log.

use super::keys::NoKeys;
use super::kinds::{Kind, LayerPlan, OnLayer};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerContext, LayerSpec, LowerLayer};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::instances::UpperPlan;
use wearwell_engine::layer::Ability;
use wearwell_engine::log::{BoxedLayer, TrimLogConfig};

/// Bytes of a record of a trimmed range: its first page and its length.
const TRIM_RECORD_BYTES: u32 = 16;

/// A sparse address space on the drive's own log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Sparse {
    /// Trims whose records are written together; with 1 each trim is durable when it returns.
    #[schemars(range(min = 1))]
    pub trims_per_write: u32,
    /// Pages to which the records of trims are written, in turn.
    #[schemars(range(min = 1))]
    pub trim_log_pages: u32,
}

impl Default for Sparse {
    fn default() -> Self {
        Sparse { trims_per_write: 1, trim_log_pages: 64 }
    }
}

impl Kind for Sparse {
    const ENTRY: Entry = Entry {
        name: "sparse",
        help: "a sparse address space on the drive's own log: atomic requests, persistent TRIM, no map and no log above",
        source: "Josephson et al. (DFS), FAST 2010; Ouyang et al., HPCA 2011; Yang et al., INFLOW 2014, sec. 6",
    };
    type On = OnLayer;
    type Keys = NoKeys;
    type Resolved = TrimLogConfig;

    fn resolve(
        &mut self,
        _keys: &mut NoKeys,
        below: &LowerLayer,
        _context: &LayerContext<'_>,
    ) -> Result<LayerPlan<TrimLogConfig>, ConfigError> {
        let remaining = below.pages.checked_sub(self.trim_log_pages).filter(|left| *left > 0);
        let logical_pages = remaining.ok_or_else(|| {
            let problem =
                format!("is {}; it must be below the {} pages below", self.trim_log_pages, below.pages);
            ConfigError::new("structure.trim_log_pages", problem)
        })?;
        let log = TrimLogConfig {
            records_per_page: (below.page_bytes / TRIM_RECORD_BYTES).max(1),
            trims_per_write: self.trims_per_write,
            pages: self.trim_log_pages,
        };
        let needs = vec![(Ability::AtomicGroups, "structure")];
        let plan = LayerPlan::new(logical_pages, u64::from(below.pages), below.block_pages, log);
        Ok(LayerPlan { needs, ..plan })
    }

    fn build<P: StackPayload>(
        log: TrimLogConfig,
        _spec: LayerSpec,
        lower: BoxedLayer<P>,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        P::upper(lower, UpperPlan::Sparse(log)).map(BuiltLayer::from)
    }
}
