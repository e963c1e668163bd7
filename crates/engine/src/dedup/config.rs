//! Detection of equal pages: the table of kinds and their settings.

use super::map_log::RECORD_BYTES;
use crate::config::{ConfigError, Entry, named_config};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// RAM per index entry on the modelled drive, bytes: a SHA-1 fingerprint and a 4-byte page number. Both CA-FTL and
/// CA-SSD (FAST 2011) use SHA-1; the width of the pointer is assumed.
pub const ENTRY_BYTES: u64 = 20 + 4;

/// An index in flash, with some of its pages cached in RAM.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Paged {
    /// Entries per page; default: as many 24-byte entries as fit a page of 4 KiB.
    #[schemars(range(min = 1))]
    pub page_entries: u32,
    /// Number of pages cached in RAM, at least 1.
    #[schemars(range(min = 1))]
    pub cached_pages: u32,
}

impl Default for Paged {
    fn default() -> Self {
        Paged { page_entries: 4096 / ENTRY_BYTES as u32, cached_pages: 64 }
    }
}

/// The fingerprint index, common to all kinds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct IndexSettings {
    /// Maximum number of fingerprints. A full index evicts the least recently used entry (the limited fingerprint
    /// store of CA-SSD). Default: one for each page that can be stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub entries: Option<u32>,
    /// Bits of a fingerprint, 1 to 64; with few bits, different contents are taken for equal.
    #[schemars(range(min = 1, max = 64))]
    pub fingerprint_bits: u32,
    /// True if a page with a matching fingerprint is read and compared before both are considered equal.
    pub verify: bool,
    /// Places the index in flash. Default: in RAM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paged: Option<Paged>,
}

impl Default for IndexSettings {
    fn default() -> Self {
        IndexSettings { entries: None, fingerprint_bits: 64, verify: false, paged: None }
    }
}

impl IndexSettings {
    /// Returns the number of pages of an index in flash for `slots` slots. A quarter of each page is left free,
    /// because a hash does not fill pages evenly.
    pub(super) fn pages(&self, slots: u32) -> u32 {
        let entries = u64::from(self.entries.unwrap_or(slots).min(slots));
        self.paged
            .as_ref()
            .map_or(0, |paged| (4 * entries).div_ceil(3 * u64::from(paged.page_entries)) as u32)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let paged = self.paged.as_ref();
        let wrong = [
            ("entries", self.entries == Some(0), "is 0; it must be at least 1"),
            ("fingerprint_bits", !(1..=64).contains(&self.fingerprint_bits), "must be from 1 to 64"),
            (
                "paged.page_entries",
                paged.is_some_and(|paged| paged.page_entries == 0),
                "is 0; it must be at least 1",
            ),
            (
                "paged.cached_pages",
                paged.is_some_and(|paged| paged.cached_pages == 0),
                "is 0; it must be at least 1",
            ),
        ];
        match wrong.into_iter().find(|(_, wrong, _)| *wrong) {
            Some((key, _, problem)) => Err(ConfigError::new(format!("index.{key}"), problem)),
            None => Ok(()),
        }
    }
}

/// Time at which a stored page is moved to the cold region after equal pages were found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Promotion {
    /// At once, with the content just read from the victim; writes one extra page.
    #[default]
    Now,
    /// Later, when cleaning moves the page.
    WhenMoved,
}

/// Pages that a kind examines, and the time of the examination.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Detect {
    /// No page.
    Nothing,
    /// Every page that the host writes.
    EveryPage,
    /// One page of each request; the other pages of the request only if that page is found.
    Sample,
    /// Every page, first by a weak hash; by the full hash only if the weak hash is found.
    PreHash {
        /// Time of the weak hash in percent of the full hash.
        percent: u32,
        /// Bits of the weak hash.
        bits: u32,
    },
    /// The live pages that cleaning reads.
    Cleaning {
        /// True if pages are hashed again even if their fingerprint is in the index.
        rehash: bool,
        /// Pages with more references than this belong in the cold region.
        threshold: u32,
        /// Time of the move to the cold region.
        promotion: Promotion,
    },
}

/// The configuration of the given kind of deduplication.
pub trait DedupKind {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Returns the pages that the kind examines.
    fn detect(&self) -> Detect;
    /// Returns the settings of the index.
    fn index(&self) -> &IndexSettings;
    /// Returns the time to hash a page, microseconds.
    fn hash_us(&self) -> f64;
    /// Returns the records per page of the map's log, or `None` without a log.
    fn map_log_page_records(&self) -> Option<u32>;
}

/// Time to hash a page of 4 KiB in the drive's hash engine, microseconds. Assumed: Table I of the CAGC paper, which has
/// the value, is unreadable in the available copy.
const HASH_US: f64 = 14.0;

/// Declares the settings of a kind: the common settings and those of the kind.
macro_rules! kind {
    (
        $(#[$attribute:meta])* $Name:ident, $entry:expr, |$config:ident| $detect:expr;
        $($(#[$of_field:meta])* $field:ident: $Type:ty = $default:expr,)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Name {
            /// The fingerprint index.
            pub index: IndexSettings,
            /// Time to hash a page, microseconds; 0 or more.
            #[schemars(range(min = 0.0))]
            pub hash_us: f64,
            /// True if map changes that no spare area records are written to a log, so that a power cut loses nothing
            /// that was flushed.
            pub map_log: bool,
            /// Records per page of that log, at least 1; default: as many 12-byte records as fit a page of 4 KiB.
            #[schemars(range(min = 1))]
            pub map_log_page_records: u32,
            $($(#[$of_field])* pub $field: $Type,)*
        }

        impl Default for $Name {
            fn default() -> Self {
                $Name {
                    index: IndexSettings::default(),
                    hash_us: HASH_US,
                    map_log: false,
                    map_log_page_records: 4096 / RECORD_BYTES,
                    $($field: $default,)*
                }
            }
        }

        impl DedupKind for $Name {
            const ENTRY: Entry = $entry;

            fn detect(&self) -> Detect {
                let $config = self;
                $detect
            }

            fn index(&self) -> &IndexSettings {
                &self.index
            }

            fn hash_us(&self) -> f64 {
                self.hash_us
            }

            fn map_log_page_records(&self) -> Option<u32> {
                self.map_log.then_some(self.map_log_page_records)
            }
        }
    };
}

kind! {
    /// No deduplication: every page is stored.
    NoDedup,
    Entry { name: "none", help: "every page is stored, whatever it holds", source: "the reference case" },
    |_config| Detect::Nothing;
}

kind! {
    /// Every page that the host writes is hashed and looked up before it is stored.
    Inline,
    Entry {
        name: "inline",
        help: "every written page is hashed and looked up first; of equal pages one is stored",
        source: "Chen, Luo and Zhang (CA-FTL), FAST 2011; Gupta et al. (CA-SSD), FAST 2011",
    },
    |_config| Detect::EveryPage;
}

kind! {
    /// One page of each request is hashed; the other pages are hashed only if that page is already stored.
    ///
    /// The sample is chosen by content, so that a repeated request is sampled at the same page. According to memory
    /// of the paper, CA-FTL takes the page whose first four bytes are the largest number. Here it is the page with
    /// the largest hash of its content name, because there are no bytes.
    Sampled,
    Entry {
        name: "sampled",
        help: "one page of each request is hashed, and the others only if it is stored already",
        source: "Chen, Luo and Zhang (CA-FTL), FAST 2011 (sampling for hashing)",
    },
    |_config| Detect::Sample;
}

kind! {
    /// A weak hash of each page decides if the full hash is computed.
    ///
    /// A page with a new weak hash is stored at once, and fingerprinted for free when the drive is idle.
    PreHashed,
    Entry {
        name: "pre_hashed",
        help: "a weak hash first, and the full one only for pages whose weak hash is in the index",
        source: "Chen, Luo and Zhang (CA-FTL), FAST 2011 (light-weight pre-hashing)",
    },
    |config| Detect::PreHash { percent: config.pre_hash_percent, bits: config.pre_hash_bits };
    /// Time of the weak hash in percent of the full hash; an assumption.
    pre_hash_percent: u32 = 10,
    /// Bits of the weak hash, 1 to 32; CA-FTL uses CRC-32.
    #[schemars(range(min = 1, max = 32))]
    pre_hash_bits: u32 = 32,
}

kind! {
    /// No work on the write path: live pages are hashed when cleaning reads them, and equal pages are merged.
    Cagc,
    Entry {
        name: "cagc",
        help: "live pages are hashed when cleaning reads them, and equal ones become one",
        source: "Wu, Du, Li, Jiang, Shen and Mao, CAGC, IPDPS 2021",
    },
    |config| Detect::Cleaning {
        rehash: config.rehash,
        threshold: config.threshold,
        promotion: config.promotion,
    };
    /// True if a page is hashed again at each move, as in sec. III.B: "the valid data pages are read and the hash
    /// fingerprints of these data pages are calculated". If false, pages whose fingerprint is in the index are not
    /// hashed.
    rehash: bool = true,
    /// Pages with more references than this belong in the cold region; at least 1, and equal to that of the
    /// placement.
    #[schemars(range(min = 1))]
    threshold: u32 = 1,
    /// Time at which a stored page is moved to the cold region after equal pages were found.
    promotion: Promotion = Promotion::Now,
}

macro_rules! dedup_table {
    ($($Variant:ident: $Settings:ty;)*) => {
        named_config! {
            /// Detection of equal pages, with its settings: a name, or a table with the name as `kind`.
            enum DedupConfig, list DEDUPS, aliases DEDUP_ALIASES,
            of DedupKind, called "deduplication", tag "kind";
            $($Variant: $Settings;)*
        }

        impl DedupConfig {
            fn kind(&self) -> (Detect, &IndexSettings, f64, Option<u32>) {
                match self {
                    $(Self::$Variant(kind) => {
                        (kind.detect(), kind.index(), kind.hash_us(), kind.map_log_page_records())
                    })*
                }
            }
        }
    };
}

dedup_table! {
    None: NoDedup;
    Inline: Inline;
    Sampled: Sampled;
    PreHashed: PreHashed;
    Cagc: Cagc;
}

impl Default for DedupConfig {
    fn default() -> Self {
        DedupConfig::None(NoDedup::default())
    }
}

impl DedupConfig {
    /// True if every page is stored, so that no deduplication layer is needed.
    pub fn is_none(&self) -> bool {
        self.detect() == Detect::Nothing
    }

    /// Returns the pages that the kind examines, and the time of the examination.
    pub fn detect(&self) -> Detect {
        self.kind().0
    }

    /// Disables immediate promotion, for a store whose placement has no cold region.
    pub fn promote_when_moved(&mut self) {
        if let Self::Cagc(cagc) = self {
            cagc.promotion = Promotion::WhenMoved;
        }
    }

    /// Returns the number of references up to which a page is not cold; only if cleaning detects equal pages.
    pub fn threshold(&self) -> Option<u32> {
        match self.detect() {
            Detect::Cleaning { threshold, .. } => Some(threshold),
            _ => None,
        }
    }

    /// Returns the settings of the index.
    pub fn index(&self) -> &IndexSettings {
        self.kind().1
    }

    /// Returns the time to hash a page, nanoseconds.
    pub fn hash_ns(&self) -> u64 {
        (self.kind().2 * 1e3).round() as u64
    }

    /// Returns the records per page of the map's log, or `None` without a log.
    pub fn map_log_page_records(&self) -> Option<u32> {
        self.kind().3
    }

    /// Rejects invalid settings.
    pub fn check(&self) -> Result<(), ConfigError> {
        let (detect, index, hash_us, log) = self.kind();
        index.check()?;
        if log == Some(0) {
            return Err(ConfigError::new("map_log_page_records", "is 0; it must be at least 1"));
        }
        if !(hash_us.is_finite() && hash_us >= 0.0) {
            return Err(ConfigError::new("hash_us", format!("is {hash_us}; it must be 0 or more")));
        }
        match detect {
            Detect::PreHash { bits, .. } if !(1..=32).contains(&bits) => {
                Err(ConfigError::new("pre_hash_bits", format!("is {bits}; 1 to 32 are allowed")))
            }
            Detect::Cleaning { threshold: 0, .. } => {
                Err(ConfigError::new("threshold", "is 0, by which every page is cold; it must be at least 1"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::named_config_tests::NamedConfig;
    use serde_json::json;

    #[test]
    fn config_matches_its_table() {
        let entry_of = DedupConfig::entry;
        NamedConfig { tag: "kind", entries: DEDUPS, aliases: DEDUP_ALIASES, entry_of }.check();
        assert!(DedupConfig::default().is_none());
    }

    #[test]
    fn invalid_settings_are_refused() {
        for (value, key) in [
            (json!({"kind": "inline", "index": {"entries": 0}}), "index.entries"),
            (json!({"kind": "inline", "index": {"fingerprint_bits": 65}}), "index.fingerprint_bits"),
            (json!({"kind": "inline", "index": {"paged": {"cached_pages": 0}}}), "index.paged.cached_pages"),
            (json!({"kind": "inline", "hash_us": -1.0}), "hash_us"),
            (json!({"kind": "inline", "map_log": true, "map_log_page_records": 0}), "map_log_page_records"),
            (json!({"kind": "pre_hashed", "pre_hash_bits": 33}), "pre_hash_bits"),
            (json!({"kind": "cagc", "threshold": 0}), "threshold"),
        ] {
            let config: DedupConfig = serde_json::from_value(value).unwrap();
            assert_eq!(config.check().unwrap_err().key, key);
        }
        for entry in DEDUPS {
            let config: DedupConfig = serde_json::from_value(json!(entry.name)).unwrap();
            assert_eq!((config.check(), config.hash_ns()), (Ok(()), 14_000));
        }
    }
}
