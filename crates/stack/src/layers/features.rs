//! Features that a scenario requires of a layer, by names that documentation, errors and tests share.

use wearwell_base::config::Entry;

/// Defines [`Feature`] and [`FEATURES`]. A line has a variant, the name of the feature, and the setting of a scenario
/// that requires the feature.
macro_rules! features {
    ($($Variant:ident: $name:literal, $help:literal;)*) => {
        /// A feature of a layer, or of an operation on it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Feature {
            $(
                #[doc = concat!("Required by ", $help, ".")]
                $Variant,
            )*
            /// A kind of layer.
            Kind(&'static Entry),
        }

        /// Every feature except the kinds of layers.
        pub static FEATURES: &[Feature] = &[$(Feature::$Variant),*];

        impl Feature {
            /// Returns the name of the feature.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Feature::$Variant => $name,)*
                    Feature::Kind(entry) => entry.name,
                }
            }

            /// Returns the setting of a scenario that requires the feature; for a kind of layer, its help.
            pub const fn help(self) -> &'static str {
                match self {
                    $(Feature::$Variant => $help,)*
                    Feature::Kind(entry) => entry.help,
                }
            }
        }
    };
}

features! {
    InPlace: "in_place", "`reclaim = \"in_place\"`";
    FreePool: "free_pool", "`reclaim = \"free_pool\"`";
    Watermarks: "watermarks", "`free_blocks_low`, `free_share_low`, `free_blocks_high`";
    Deferral: "deferral", "`free_blocks_deferred`";
    IdleCleaning: "idle_cleaning", "`free_blocks_idle`";
    Evict: "evict", "`evict = true`";
    Completing: "completing", "`victim = \"completing\"`";
    WeighingBelow: "weighing_below", "`victim = \"completing\"` with a weight above 0";
    SeparateStreams: "separate_streams", "a placement other than `single`";
    MoreStreams: "more_streams", "a placement other than `single` and `double`, or `own_streams` with `double`";
    BitmapInRam: "bitmap_in_ram", "`validity = \"ram_bitmap\"` of an FTL with its map in flash";
    PartialCounters: "partial_counters", "`counters` other than `full`, of an FTL with its map in flash";
    Oracle: "oracle", "`placement = \"oracle\"`";
    Foresight: "foresight", "an offline placement or victim policy, which needs the future writes";
    ForeseeingVictim: "foreseeing_victim", "`victim = \"foresight\"`";
    References: "references", "`placement = \"references\"`";
    BlockDirectory: "block_directory", "`directory = \"block\"`";
    Metadata: "metadata", "`metadata`";
    MetadataInLog: "metadata_in_log", "`metadata` with a part that is appended to the log";
    MetadataInPlace: "metadata_in_place", "`metadata` with a part in a separate area, written in place";
    NoTrim: "no_trim", "`trim = false`, or a table";
    Unaligned: "unaligned", "`align = false`";
    Sharing: "sharing", "several logs and tenants on one layer, each with a `share`";
    OnZones: "on_zones", "a layer directly on `zones`";
    UnderLayer: "under_layer", "a layer with another layer above it";
    Unheard: "unheard", "a layer without a cleaning layer above it";
    Tenant: "tenant", "a workload that writes directly to the layer";
    WearLevelling: "wear_levelling", "`wear` of the FTL";
    Dedup: "dedup", "`ftl.dedup`";
    DedupCleaning: "dedup_cleaning", "`ftl.dedup` that examines moved pages, or `references` with `ftl.dedup`";
    Unshared: "unshared", "an FTL with its map in flash, without `ftl.dedup`";
    VolatileMap: "volatile_map", "`ftl.dedup` without `map_log`";
    Unverified: "unverified", "`ftl.dedup` with `index.fingerprint_bits` below 64, without `index.verify`";
    Content: "content", "pages with content: runs with deduplication, and devices that store data";
    HeldData: "held_data", "a calling program that writes data to pages";
    Timing: "timing", "`[timing]`";
    Power: "power", "`[power]`";
    PowerAtEnd: "power_at_end", "`power.at_end`";
    PowerCuts: "power_cuts", "`power.every`, `power.random`, `power.at_operation`";
    WearsOut: "wears_out", "`device.wears_out`";
    ProgramFailures: "program_failures", "`device.program_failure_rate`";
    ReadDisturb: "read_disturb", "`device.read_disturb_limit`";
    Superblocks: "superblocks", "`device.superblock_blocks`";
    OwnVictim: "own_victim", "a victim policy of the calling program";
    OwnPlacement: "own_placement", "a placement of the calling program";
}

/// A feature that is required of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredFeature {
    /// The feature.
    pub feature: Feature,
    /// Key that requires the feature: within the layer's table, or from the scenario's root with a leading `/`.
    key: String,
    /// True if the feature is dropped, and not refused, when it conflicts with another.
    pub(super) optional: bool,
}

impl RequiredFeature {
    /// Returns a feature that `key` of the layer's table requires; a key from the scenario's root begins with `/`.
    pub fn new(feature: Feature, key: impl Into<String>) -> Self {
        RequiredFeature { feature, key: key.into(), optional: false }
    }

    /// Returns an optional feature.
    pub fn optional(feature: Feature) -> Self {
        RequiredFeature { feature, key: String::new(), optional: true }
    }

    /// Returns the key from the root, for the layer at `layer_key`.
    pub(super) fn key(&self, layer_key: &str) -> String {
        match self.key.strip_prefix('/') {
            Some(key) => key.to_owned(),
            None => format!("{layer_key}.{}", self.key),
        }
    }
}

/// Features that are required of a layer.
#[derive(Clone, Debug, Default)]
pub struct Features(pub(super) Vec<RequiredFeature>);

impl Features {
    /// Adds a feature.
    pub fn add(&mut self, used: RequiredFeature) {
        self.0.push(used);
    }

    /// Adds those of the given features whose condition is true, in order.
    pub fn extend<const N: usize>(&mut self, given: [(bool, Feature, &str); N]) {
        let given = given.into_iter().filter(|(given, ..)| *given);
        self.0.extend(given.map(|(_, feature, key)| RequiredFeature::new(feature, key)));
    }

    /// True if the feature is required.
    pub fn has(&self, feature: Feature) -> bool {
        self.0.iter().any(|used| used.feature == feature)
    }
}
