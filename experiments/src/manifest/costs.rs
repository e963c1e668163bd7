//! Costs of items: core time measured on the machine of record, in `costs.toml`.

use crate::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;

/// Costs as shipped; `scripts/reproduction_costs.py` writes them from recorded runs.
const COSTS: &str = include_str!("../../costs.toml");

/// Core seconds by the names of the items; items that were not measured are missing.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Costs {
    /// Costs with the quick settings.
    pub quick_core_seconds: BTreeMap<String, f64>,
    /// Costs with the full settings.
    pub full_core_seconds: BTreeMap<String, f64>,
}

impl Costs {
    /// Returns the shipped costs.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be read; a test checks that it can.
    pub fn shipped() -> Result<Costs, Failure> {
        toml::from_str(COSTS).map_err(|error| format!("costs.toml: {error}").into())
    }
}
