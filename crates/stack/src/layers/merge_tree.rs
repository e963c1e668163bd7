//! Common parts of layers that are merge trees.

use super::kinds::LayerPlan;
use super::payload::StackPayload;
use super::spec::{BuiltLayer, LayerSpec, LowerLayer};
use super::trim::TrimConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_engine::instances::UpperPlan;
use wearwell_engine::log::{BoxedLayer, LsmConfig};

/// Keys of a merge tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TreeKeys {
    /// Fraction of the layer below that is kept for overlapping runs and for merging; default: the smallest with which the tree
    /// never runs out of space.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_factor: Option<f64>,
    /// Trims of merged tables on the layer below; default true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<TrimConfig>,
}

impl TreeKeys {
    /// Fills in every default of a tree with this layout. Without an explicit reserve, the tree shows as many pages as
    /// fit in the worst case.
    pub(super) fn resolve(
        &mut self,
        layout: LsmConfig,
        below: &LowerLayer,
    ) -> Result<LayerPlan<LsmConfig>, ConfigError> {
        let trim = match self.trim.get_or_insert(TrimConfig::Plain(true)) {
            TrimConfig::Plain(trim) => *trim,
            TrimConfig::Table(_) => {
                let problem = "is a table; a merge tree trims whole tables: true or false";
                return Err(ConfigError::new("trim", problem));
            }
        };
        let max_pages = layout.max_logical_pages(below.pages).map_err(|error| error.within("structure"))?;
        let max_share = 1.0 - f64::from(max_pages) / f64::from(below.pages);
        // The fraction is rounded up, so that the printed value is large enough when it is read again.
        let min_spare = (max_share * 1e6).ceil() / 1e6;
        let spare = *self.spare_factor.get_or_insert(min_spare);
        if !(spare > 0.0 && spare < 1.0) || spare < min_spare {
            let problem = format!(
                "is {spare}; the tree needs at least {min_spare} for runs that overlap and for merging, below 1"
            );
            return Err(ConfigError::new("spare_factor", problem));
        }
        let logical_pages = (f64::from(below.pages) * (1.0 - spare)).floor() as u32;
        let table_pages = layout.table_pages;
        let layout = LsmConfig { logical_pages, trim, ..layout };
        let plan = LayerPlan::new(logical_pages, u64::from(below.pages), table_pages, layout);
        Ok(LayerPlan { reports_cleaning: true, ..plan })
    }
}

/// Builds the tree.
pub(super) fn build<P: StackPayload>(
    layout: LsmConfig,
    _spec: LayerSpec,
    lower: BoxedLayer<P>,
) -> Result<BuiltLayer<P>, ConfigError> {
    let tree = P::upper(lower, UpperPlan::Tree(layout)).map_err(|error| error.within("structure"))?;
    Ok(tree.into())
}
