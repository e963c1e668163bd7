//! What items cost: core time as it was measured on the machine of record, in `costs.toml`.

use crate::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The costs as shipped; `scripts/reproduction_costs.py` writes them from what was run.
const COSTS: &str = include_str!("../../costs.toml");

/// Seconds of one core by the names of the items; those that were not measured are missing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// With the quick settings.
    pub quick_core_seconds: BTreeMap<String, f64>,
    /// With the full ones.
    pub full_core_seconds: BTreeMap<String, f64>,
}

impl Costs {
    /// Those that are shipped.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, which a test excludes.
    pub fn shipped() -> Result<Costs, Failure> {
        toml::from_str(COSTS).map_err(|error| format!("costs.toml: {error}").into())
    }
}
