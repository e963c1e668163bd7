//! No wear levelling.

use super::{WearKind, WearLevelling};
use crate::config::{ConfigError, Entry, StoreSize};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of no wear levelling: none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Config {}

impl WearKind for Config {
    const ENTRY: Entry = Entry {
        name: "none",
        help: "blocks are opened in the order in which they were erased, and data that nobody writes stays where it is",
        source: "the baseline",
    };

    fn build(&self, _size: &StoreSize) -> Result<Option<Box<dyn WearLevelling>>, ConfigError> {
        Ok(None)
    }
}
