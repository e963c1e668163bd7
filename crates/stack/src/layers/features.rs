//! Features that a scenario requires of a layer, by names that documentation, errors and tests share.

use super::refusals::{self, Refusal};
use wearwell_base::config::ConfigError;

/// A feature of a layer, or of an operation on it.
#[derive(Clone, Copy, Debug)]
pub struct Feature {
    /// Name of the feature.
    pub name: &'static str,
    /// Setting of a scenario that requires the feature.
    pub help: &'static str,
}

/// Every feature. The names of the kinds of layers are features too, but are not listed here.
pub static FEATURES: &[Feature] = &[
    Feature { name: "in_place", help: "`reclaim = \"in_place\"`" },
    Feature { name: "free_pool", help: "`reclaim = \"free_pool\"`" },
    Feature { name: "watermarks", help: "`free_blocks_low`, `free_share_low`, `free_blocks_high`" },
    Feature { name: "deferral", help: "`free_blocks_deferred`" },
    Feature { name: "idle_cleaning", help: "`free_blocks_idle`" },
    Feature { name: "evict", help: "`evict = true`" },
    Feature { name: "completing", help: "`victim = \"completing\"`" },
    Feature { name: "weighing_below", help: "`victim = \"completing\"` with a weight above 0" },
    Feature { name: "separate_streams", help: "a placement other than `single`" },
    Feature {
        name: "more_streams",
        help: "a placement other than `single` and `double`, or `own_streams` beside `double`",
    },
    Feature { name: "bitmap_in_ram", help: "`validity = \"ram_bitmap\"` of an FTL whose map is in flash" },
    Feature { name: "partial_counters", help: "`counters` of such an FTL other than `full`" },
    Feature { name: "oracle", help: "`placement = \"oracle\"`" },
    Feature {
        name: "foresight",
        help: "a placement or a victim policy that has to know what will be written",
    },
    Feature { name: "foreseeing_victim", help: "`victim = \"foresight\"`" },
    Feature { name: "references", help: "`placement = \"references\"`" },
    Feature { name: "block_directory", help: "`directory = \"block\"`" },
    Feature { name: "metadata", help: "`metadata`" },
    Feature { name: "metadata_in_log", help: "`metadata` of which a part is appended to the log" },
    Feature {
        name: "metadata_in_place",
        help: "`metadata` of which a part is in an area of its own beside the log",
    },
    Feature { name: "no_trim", help: "`trim = false`, or a table" },
    Feature { name: "unaligned", help: "`align = false`" },
    Feature { name: "sharing", help: "several logs and tenants on one layer, each with a `share`" },
    Feature { name: "on_zones", help: "a layer that stands on `zones`" },
    Feature { name: "under_layer", help: "a layer on which another stands" },
    Feature { name: "unheard", help: "a layer above which nothing cleans" },
    Feature { name: "tenant", help: "a workload that writes to the layer itself" },
    Feature { name: "wear_levelling", help: "`wear` of the FTL" },
    Feature { name: "dedup", help: "`ftl.dedup`" },
    Feature {
        name: "dedup_cleaning",
        help: "`ftl.dedup` that looks at pages while they are moved, or `references` with it",
    },
    Feature { name: "unshared", help: "an FTL whose map is in flash, without `ftl.dedup`" },
    Feature { name: "volatile_map", help: "`ftl.dedup` without `map_log`" },
    Feature {
        name: "unverified",
        help: "`ftl.dedup` with `index.fingerprint_bits` below 64, without `index.verify`",
    },
    Feature {
        name: "content",
        help: "pages that hold something: runs that deduplicate, and devices with data",
    },
    Feature { name: "held_data", help: "a calling program that fills pages with data" },
    Feature { name: "timing", help: "`[timing]`" },
    Feature { name: "power", help: "`[power]`" },
    Feature { name: "power_at_end", help: "`power.at_end`" },
    Feature { name: "power_cuts", help: "`power.every`, `power.random`, `power.at_operation`" },
    Feature { name: "wears_out", help: "`device.wears_out`" },
    Feature { name: "program_failures", help: "`device.program_failure_rate`" },
    Feature { name: "read_disturb", help: "`device.read_disturb_limit`" },
    Feature { name: "superblocks", help: "`device.superblock_blocks`" },
    Feature { name: "own_victim", help: "a victim policy of the calling program's" },
    Feature { name: "own_placement", help: "a placement of the calling program's" },
];

/// A feature that is required of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Name of the feature.
    pub feature: &'static str,
    /// Key that requires the feature: within the layer's table, or from the scenario's root with a leading `/`.
    key: String,
    /// True if the feature is dropped, and not refused, when it conflicts with another.
    optional: bool,
}

impl Used {
    /// Returns a feature that `key` of the layer's table requires.
    pub fn new(feature: &'static str, key: impl Into<String>) -> Self {
        Used { feature, key: key.into(), optional: false }
    }

    /// Returns a feature that `key` from the root of the scenario requires.
    pub fn at_root(feature: &'static str, key: &str) -> Self {
        Used::new(feature, format!("/{key}"))
    }

    /// Returns an optional feature.
    pub fn if_possible(feature: &'static str) -> Self {
        Used { feature, key: String::new(), optional: true }
    }

    /// Returns the key from the root, for the layer at `layer_key`.
    fn key(&self, layer_key: &str) -> String {
        match self.key.strip_prefix('/') {
            Some(key) => key.to_owned(),
            None => format!("{layer_key}.{}", self.key),
        }
    }
}

/// Features that are required of a layer.
#[derive(Clone, Debug, Default)]
pub struct Features(Vec<Used>);

impl Features {
    /// Adds a feature.
    pub fn add(&mut self, used: Used) {
        self.0.push(used);
    }

    /// Adds those of the given features whose condition is true, in order.
    pub fn extend<const N: usize>(&mut self, given: [(bool, &'static str, &str); N]) {
        let given = given.into_iter().filter(|(given, ..)| *given);
        self.0.extend(given.map(|(_, feature, key)| Used::new(feature, key)));
    }

    /// True if the feature is required.
    pub fn has(&self, feature: &str) -> bool {
        self.0.iter().any(|used| used.feature == feature)
    }

    /// Returns the reason why the power of a drive with these features cannot be cut; `None` if it can.
    pub fn against_cuts(&self) -> Option<&'static str> {
        let row = refusals::first(|feature| feature == "power" || self.has(feature))?;
        Some(row.reason)
    }

    /// Drops optional features that conflict with other features, and refuses conflicts between required features.
    /// Errors name the key of the layer at `layer_key`.
    pub fn check(&mut self, layer_key: &str) -> Result<(), ConfigError> {
        let refused = |feature: &str| refusals::between(feature, |other| self.has(other));
        let impossible: Vec<&str> = self
            .0
            .iter()
            .filter(|used| used.optional && refused(used.feature).is_some())
            .map(|used| used.feature)
            .collect();
        self.0.retain(|used| !impossible.contains(&used.feature));
        match refusals::first(|feature| self.has(feature)) {
            Some(refusal) => Err(self.error(refusal, layer_key)),
            None => Ok(()),
        }
    }

    fn error(&self, refusal: &Refusal, layer_key: &str) -> ConfigError {
        let used = self.0.iter().find(|used| used.feature == refusal.feature);
        ConfigError::new(used.expect("what is refused is asked for").key(layer_key), refusal.reason)
    }
}
