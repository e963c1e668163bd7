//! Hybrid FTLs: a map of blocks, and a few log blocks with a map of pages.

use super::StructureKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_engine::ftl::hybrid::{HybridConfig, HybridKind};

/// The settings of a hybrid FTL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HybridKeys {
    /// Log blocks, at least 2; 3 percent of all blocks unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 2))]
    pub log_blocks: Option<u32>,
    /// The same as a share of all blocks, in place of `log_blocks`; above 0 and below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub log_share: Option<f64>,
}

macro_rules! hybrid_kinds {
    ($($Kind:ident, $name:literal, $help:literal, $source:literal;)*) => {$(
        #[doc = $help]
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $Kind(pub HybridKeys);

        impl StructureKind for $Kind {
            const ENTRY: Entry = Entry { name: $name, help: $help, source: $source };
        }
    )*};
}

hybrid_kinds! {
    Fast, "fast",
        "the FTL only: a map of blocks; shared log blocks and a sequential one, merged into data blocks",
        "Lee et al., ACM TECS 6(3), 2007";
    Bast, "bast",
        "the FTL only: a map of blocks; a log block for each logical block that needs one",
        "Kim et al., IEEE Trans. Consumer Electronics 48(2), 2002";
}

impl HybridKeys {
    /// Fills in every default; errors name the key within `structure`.
    pub(super) fn resolve(
        &mut self,
        kind: HybridKind,
        logical_pages: u32,
        blocks: u32,
    ) -> Result<HybridConfig, ConfigError> {
        if let Some(share) = self.log_share.take() {
            if self.log_blocks.is_some() {
                return Err(ConfigError::new("log_share", "stands beside `log_blocks`; give one of them"));
            }
            if !(share > 0.0 && share < 1.0) {
                let problem = format!("is {share}; it must be above 0 and below 1");
                return Err(ConfigError::new("log_share", problem));
            }
            self.log_blocks = Some(((f64::from(blocks) * share) as u32).max(2));
        }
        let log_blocks = *self.log_blocks.get_or_insert_with(|| HybridConfig::default_log_blocks(blocks));
        Ok(HybridConfig { kind, log_blocks, logical_pages })
    }
}
