//! FTLs that map pages and keep their tables in flash. Each is a preset of the same settings, any of which may be given
//! otherwise.

use super::StructureKind;
use crate::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_base::seed::Seed;
use wearwell_engine::ftl::paged::{DirectoryConfig, Durability, PagedConfig};
use wearwell_engine::validity::ValidityConfig;
use wearwell_engine::wear::WearConfig;

/// Bytes of a cached mapping entry (GeckoFTL, section 5).
const CACHE_ENTRY_BYTES: u64 = 8;

/// Logical pages for each cached entry where nothing is said: the paper's drive of 2 TiB has 2^19 entries for 375.8 million.
const PAGES_PER_CACHED_ENTRY: u32 = 717;

/// Fewest cached entries where nothing is said.
const FEWEST_CACHE_ENTRIES: u32 = 64;

/// Share of the cache that LazyFTL and IB-FTL let be dirty (GeckoFTL, section 5.3).
const BOUNDED_DIRTY_SHARE: f64 = 0.1;

/// How the addresses of translation pages are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranslationDirectory {
    /// All of them are in RAM.
    Global,
    /// A B-tree in flash.
    Tree,
}

/// What becomes of dirty mapping entries in a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirtyEntries {
    /// A battery lets the drive write down what is only in RAM.
    Battery,
    /// Recovery finds them and writes them before anything else is done.
    Synchronised,
    /// Recovery finds them and leaves them dirty.
    Deferred,
}

/// The settings of an FTL whose mapping table is in flash. What is left out is as the FTL's paper has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PagedKeys {
    /// Mapping entries cached; one for each 717 logical pages, as in the paper of GeckoFTL, at least 64, unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cache_entries: Option<u32>,
    /// The same in bytes, 8 an entry, in place of `cache_entries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_size: Option<ByteSize>,
    /// Share of the cache that may be dirty, above 0 and at most 1: 0.1 for lazyftl and ib_ftl, else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_share: Option<f64>,
    /// Whether a write to a page that is not cached first reads its translation page, so that its former place is known to be
    /// invalid at once: true for dftl and mu_ftl.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager: Option<bool>,
    /// How translation pages are found: `tree` for mu_ftl and ib_ftl, else `global`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<TranslationDirectory>,
    /// directory = "tree": nodes cached besides the root; all unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cached_nodes: Option<u32>,
    /// Where it is kept which pages are valid: a name (see `wearwell list validities`), or a table with `kind` and its settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validity: Option<ValidityConfig>,
    /// Whether blocks of metadata are cleaned as all others; if not, they are erased once nothing in them is valid. False
    /// for gecko.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleans_metadata: Option<bool>,
    /// Whether a checkpoint is taken every so many insertions and updates of the cache as it has entries: true for gecko.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<bool>,
    /// How wear is levelled: a name, or a table with `kind` and its settings; not at all unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearConfig>,
    /// What becomes of dirty mapping entries in a power cut: a battery for dftl and mu_ftl, `deferred` for gecko, else
    /// `synchronised`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<DirtyEntries>,
    /// durability = "deferred": whether recovery leaves out pages that are older than their translation page, so that what
    /// was trimmed does not come back; true unless given. The paper does not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dated: Option<bool>,
}

/// What a kind has where nothing is said.
struct Published {
    eager: bool,
    directory: TranslationDirectory,
    validity: &'static str,
    dirty_share: f64,
    durability: DirtyEntries,
    cleans_metadata: bool,
    checkpoints: bool,
}

const DFTL: Published = Published {
    eager: true,
    directory: TranslationDirectory::Global,
    validity: "ram_bitmap",
    dirty_share: 1.0,
    durability: DirtyEntries::Battery,
    cleans_metadata: true,
    checkpoints: false,
};

const LAZY_FTL: Published = Published {
    eager: false,
    dirty_share: BOUNDED_DIRTY_SHARE,
    durability: DirtyEntries::Synchronised,
    ..DFTL
};

const MU_FTL: Published =
    Published { directory: TranslationDirectory::Tree, validity: "flash_bitmap", ..DFTL };

const IB_FTL: Published = Published { directory: TranslationDirectory::Tree, validity: "log", ..LAZY_FTL };

const GECKO: Published = Published {
    eager: false,
    validity: "gecko",
    durability: DirtyEntries::Deferred,
    cleans_metadata: false,
    checkpoints: true,
    ..DFTL
};

macro_rules! paged_kinds {
    ($($Kind:ident, $published:ident, $name:literal, $help:literal, $source:literal;)*) => {$(
        #[doc = $help]
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $Kind(pub PagedKeys);

        impl StructureKind for $Kind {
            const ENTRY: Entry = Entry { name: $name, help: $help, source: $source };
        }

        impl $Kind {
            pub(super) fn paged(&mut self) -> Paged<'_> {
                Paged { kind: $name, published: &$published, keys: &mut self.0 }
            }
        }
    )*};
}

paged_kinds! {
    Dftl, DFTL, "dftl",
        "the FTL only: page map in flash behind a cache, validity in RAM, battery",
        "Gupta, Kim and Urgaonkar, ASPLOS 2009; as in Dayan et al., SIGMOD 2016, sec. 5.3";
    LazyFtl, LAZY_FTL, "lazyftl",
        "the FTL only: page map in flash, few dirty entries, validity in RAM, no battery",
        "Ma, Feng and Li, SIGMOD 2011; as in Dayan et al., SIGMOD 2016, sec. 5.3";
    MuFtl, MU_FTL, "mu_ftl",
        "the FTL only: page map in flash as a B-tree, validity bitmap in flash, battery",
        "Lee, Jung, Kang and Kim, EMSOFT 2008; as in Dayan et al., SIGMOD 2016, sec. 5.3";
    IbFtl, IB_FTL, "ib_ftl",
        "the FTL only: page map in flash as a B-tree, log of invalid pages in flash, few dirty entries, no battery",
        "Huang, Chang and Kuo, TODAES 2013; as in Dayan et al., SIGMOD 2016, sec. 5.3 and App. E";
    GeckoFtl, GECKO, "gecko",
        "the FTL only: page map in flash, Logarithmic Gecko for validity, checkpoints, no battery",
        "Dayan, Bonnet and Idreos, SIGMOD 2016";
}

/// An FTL of one of these kinds, and its keys.
pub(crate) struct Paged<'a> {
    kind: &'static str,
    published: &'a Published,
    keys: &'a mut PagedKeys,
}

impl Paged<'_> {
    /// Fills in every default; the FTL for a drive of that size. Errors name the key within `structure`.
    pub fn resolve(
        self,
        logical_pages: u32,
        page_bytes: u32,
        seed: Seed,
    ) -> Result<PagedConfig, ConfigError> {
        let Paged { kind, published, keys } = self;
        let cache_entries = cache_entries(keys, logical_pages)?;
        let dirty_entries = dirty_entries(keys, published.dirty_share, cache_entries)?;
        let validity = || named_validity(published.validity);
        Ok(PagedConfig {
            kind,
            logical_pages,
            page_bytes,
            cache_entries,
            dirty_entries,
            eager: *keys.eager.get_or_insert(published.eager),
            directory: directory(keys, published.directory)?,
            validity: keys.validity.get_or_insert_with(validity).clone(),
            cleans_metadata: *keys.cleans_metadata.get_or_insert(published.cleans_metadata),
            checkpoints: *keys.checkpoints.get_or_insert(published.checkpoints),
            durability: durability(keys, published.durability)?,
            wear: keys.wear.get_or_insert_default().clone(),
            extra_free_blocks: 0,
            seed,
        })
    }

    /// Whether a battery saves what is in RAM.
    pub fn has_battery(self) -> bool {
        self.keys.durability.unwrap_or(self.published.durability) == DirtyEntries::Battery
    }

    /// Where it keeps which pages are valid.
    pub fn validity(self) -> ValidityConfig {
        self.keys.validity.clone().unwrap_or_else(|| named_validity(self.published.validity))
    }

    /// Mapping entries that would be cached, for an estimate of memory.
    pub fn cache_entries(self, logical_pages: u32) -> u32 {
        cache_entries(self.keys, logical_pages).unwrap_or(0)
    }
}

fn named_validity(name: &str) -> ValidityConfig {
    serde_json::from_value(name.into()).expect("a kind of the table")
}

fn cache_entries(keys: &mut PagedKeys, logical_pages: u32) -> Result<u32, ConfigError> {
    if let Some(size) = keys.cache_size.take() {
        if keys.cache_entries.is_some() {
            let problem = "stands beside `cache_entries`; give one of them";
            return Err(ConfigError::new("cache_size", problem));
        }
        let entries = u32::try_from(size.0 / CACHE_ENTRY_BYTES).ok().filter(|&entries| entries > 0);
        keys.cache_entries = Some(entries.ok_or_else(|| {
            let problem =
                format!("is {size}; it must be from {CACHE_ENTRY_BYTES} bytes, an entry, to 32 GiB");
            ConfigError::new("cache_size", problem)
        })?);
    }
    let usual = (logical_pages / PAGES_PER_CACHED_ENTRY).max(FEWEST_CACHE_ENTRIES);
    Ok(*keys.cache_entries.get_or_insert(usual))
}

/// Most dirty entries, at least 1; `None`: as many as there are.
fn dirty_entries(keys: &mut PagedKeys, usual: f64, cache_entries: u32) -> Result<Option<u32>, ConfigError> {
    let share = *keys.dirty_share.get_or_insert(usual);
    if !(share > 0.0 && share <= 1.0) {
        let problem = format!("is {share}; it must be above 0 and at most 1");
        return Err(ConfigError::new("dirty_share", problem));
    }
    let entries = (f64::from(cache_entries) * share) as u32;
    Ok((share < 1.0).then_some(entries.max(1)))
}

fn directory(keys: &mut PagedKeys, usual: TranslationDirectory) -> Result<DirectoryConfig, ConfigError> {
    match (*keys.directory.get_or_insert(usual), keys.cached_nodes) {
        (TranslationDirectory::Tree, cached_nodes) => Ok(DirectoryConfig::Tree { cached_nodes }),
        (TranslationDirectory::Global, None) => Ok(DirectoryConfig::Global),
        (TranslationDirectory::Global, Some(_)) => Err(ConfigError::new(
            "cached_nodes",
            "means nothing with directory = \"global\", which is in RAM as a whole; leave it out",
        )),
    }
}

fn durability(keys: &mut PagedKeys, usual: DirtyEntries) -> Result<Durability, ConfigError> {
    let durability = *keys.durability.get_or_insert(usual);
    if durability == DirtyEntries::Deferred {
        return Ok(Durability::Deferred { dated: *keys.dated.get_or_insert(true) });
    }
    if keys.dated.is_some() {
        let problem = "means nothing but with durability = \"deferred\"; leave it out";
        return Err(ConfigError::new("dated", problem));
    }
    Ok(match durability {
        DirtyEntries::Battery => Durability::Battery,
        _ => Durability::Synchronised,
    })
}

#[cfg(test)]
mod tests {
    use super::super::StructureConfig;
    use super::*;
    use serde_json::json;

    fn resolve(value: serde_json::Value) -> Result<(PagedConfig, StructureConfig), ConfigError> {
        let mut structure: StructureConfig = serde_json::from_value(value).unwrap();
        let paged = structure.paged().expect("a paged FTL");
        let config = paged.resolve(1_000_000, 4096, Seed(1))?;
        Ok((config, structure))
    }

    #[test]
    fn what_was_resolved_resolves_to_itself() {
        for name in ["dftl", "lazyftl", "mu_ftl", "ib_ftl", "gecko"] {
            let (config, structure) = resolve(json!(name)).unwrap();
            let written = serde_json::to_value(&structure).unwrap();
            assert_eq!(written["cache_entries"], 1394);
            assert_eq!(resolve(written).unwrap(), (config, structure));
        }
    }

    #[test]
    fn kinds_are_presets_of_the_same_settings() {
        let gecko = resolve(json!("gecko")).unwrap().0;
        let built = resolve(json!({
            "kind": "dftl", "eager": false, "validity": "gecko", "durability": "deferred",
            "cleans_metadata": false, "checkpoints": true, "cache_size": "11152 B",
        }));
        assert_eq!(PagedConfig { kind: "gecko", ..built.unwrap().0 }, gecko);
        assert_eq!(resolve(json!("ib_ftl")).unwrap().0.dirty_entries, Some(139));
    }

    #[test]
    fn settings_that_mean_nothing_are_refused_by_name() {
        for (key, value) in [
            ("cached_nodes", json!({ "kind": "dftl", "cached_nodes": 3 })),
            ("dated", json!({ "kind": "lazyftl", "dated": false })),
            ("dirty_share", json!({ "kind": "lazyftl", "dirty_share": 0.0 })),
            ("cache_size", json!({ "kind": "gecko", "cache_size": "1 MiB", "cache_entries": 7 })),
            ("cache_size", json!({ "kind": "gecko", "cache_size": "4 B" })),
        ] {
            assert_eq!(resolve(value).unwrap_err().key, key);
        }
    }
}
