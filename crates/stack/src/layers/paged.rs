//! Common parts of FTLs that map pages and keep their tables in flash. Each FTL is a preset of the same settings, and
//! any setting may be overridden.

use super::dedup;
use super::features::{Feature, Features};
use super::flash::FlashParts;
use super::kinds::{FtlProperties, Kind, LayerPlan, OnFlash, PageMap, placement_handles};
use super::model::{CacheModel, FtlModel};
use super::payload::StackPayload;
use super::spec::{BuiltLayer, Drive, LayerContext, LayerSpec};
use super::store_keys::add_foresight;
use super::watermark;
use crate::device::ResolvedDevice;
use crate::size::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;
use wearwell_base::config::{ConfigError, Entry, StoreSize};
use wearwell_engine::ftl::paged::{
    BlockCounters, DirectoryConfig, Durability, FreeBlocks, PagedConfig, PagedSettings, Policies,
};
use wearwell_engine::instances::FtlPlan;
use wearwell_engine::placement::PlacementConfig;
use wearwell_engine::validity::{GeckoSettings, ValidityConfig};
use wearwell_engine::victim::VictimConfig;
use wearwell_engine::wear::WearConfig;
use wearwell_theory::ftl::{CounterCoverage, DirtyEntryPolicy, FtlDesign, TableLocation, ValidityStore};

/// Bytes of a cached mapping entry (GeckoFTL, section 5).
const CACHE_ENTRY_BYTES: u64 = 8;

/// Default logical pages per cached entry: the paper's drive of 2 TiB has 2^19 entries for 375.8 million.
const PAGES_PER_CACHED_ENTRY: u32 = 717;

/// Warning about the victim policy `random`.
const RANDOM_SKIPS_FULL_BLOCKS: &str = "an FTL with its map in flash skips drawn blocks without invalid pages: `random` is `random_not_full` here";

/// Fewest cached entries by default.
const MIN_CACHE_ENTRIES: u32 = 64;

/// Fraction of the cache that may be dirty in LazyFTL and IB-FTL (GeckoFTL, section 5.3).
pub(super) const BOUNDED_DIRTY_SHARE: f64 = 0.1;

/// Directory of the addresses of translation pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TranslationDirectory {
    /// All addresses are in RAM.
    Global,
    /// A B-tree in flash.
    Tree,
}

/// Treatment of dirty mapping entries in a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DirtyEntries {
    /// A battery lets the drive write all data that is only in RAM.
    Battery,
    /// Recovery finds them and writes them before any other operation.
    Synchronised,
    /// Recovery finds them but leaves them dirty.
    Deferred,
}

/// Blocks whose number of valid pages is in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HeldCounters {
    /// All blocks.
    Full,
    /// A sample of the blocks.
    Sampled,
    /// No blocks.
    None,
}

/// Default fraction of the blocks in a sample.
const DEFAULT_SAMPLED_SHARE: f64 = 0.05;

/// Default number of blocks drawn for each victim with a sample of counters, which stores the results of earlier draws.
const DEFAULT_SAMPLED_CHOICES: u32 = 4;
/// Default number of blocks drawn for each victim without counters.
const DEFAULT_CHOICES: u32 = 10;

/// Defaults of an FTL, as its paper has them.
#[derive(Clone, Copy, Debug)]
pub struct PaperDefaults {
    /// True if a write to a page that is not cached first reads its translation page.
    pub eager: bool,
    /// Directory of the translation pages.
    pub directory: TranslationDirectory,
    /// Structure that stores the validity of pages.
    pub validity: &'static str,
    /// Fraction of the cache that may be dirty.
    pub dirty_share: f64,
    /// Treatment of dirty entries in a power cut.
    pub durability: DirtyEntries,
    /// True if metadata blocks are cleaned like all other blocks.
    pub cleans_metadata: bool,
    /// True if checkpoints are taken.
    pub checkpoints: bool,
}

/// Variant of an FTL with its mapping table in flash.
pub trait PagedDesign: Clone + Debug + Default + PartialEq {
    /// Name, help and source.
    const ENTRY: Entry;
    /// Defaults of the FTL, as in its paper.
    const PAPER_DEFAULTS: PaperDefaults;
}

/// The settings of an FTL whose mapping table is in flash. Defaults are those of the FTL's paper.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, bound = "D: Default")]
#[schemars(bound = "D: Default", rename = "PagedKeys")]
pub struct Paged<D> {
    /// Mapping entries cached; default one for each 717 logical pages, as in the GeckoFTL paper, at least 64.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cache_entries: Option<u32>,
    /// Size of the cache in bytes, 8 per entry, in place of `cache_entries`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_size: Option<ByteSize>,
    /// Fraction of the cache that may be dirty, above 0 and at most 1; default 0.1 for lazyftl and ib_ftl, else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_share: Option<f64>,
    /// True if a write to a page that is not cached first reads its translation page, so that the page's old copy is known to be
    /// invalid at once; default true for dftl and mu_ftl.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eager: Option<bool>,
    /// Directory of translation pages; default `tree` for mu_ftl and ib_ftl, else `global`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<TranslationDirectory>,
    /// directory = "tree": nodes cached in addition to the root; default all.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub cached_nodes: Option<u32>,
    /// Structure that stores the validity of pages: a name (see `wearwell list validities`), or a table with `kind` and its
    /// settings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub validity: Option<ValidityConfig>,
    /// Blocks whose number of valid pages is held in RAM (block validity counters, BVC, in the paper): `full`, all blocks
    /// (default); `sampled`, a fraction of them; `none`. With `sampled` and `none` the validity store, which must be in flash, is
    /// queried for some random blocks for each victim, and the victim policy sees only blocks with known numbers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counters: Option<HeldCounters>,
    /// counters = "sampled": fraction of the blocks whose number is held, above 0 and at most 1; default 0.05.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counter_share: Option<f64>,
    /// counters = "sampled" or "none": blocks drawn for each victim, at least 2 or 1, respectively; default 4 or 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub counter_choices: Option<u32>,
    /// True if metadata blocks are cleaned like all other blocks; otherwise they are erased once they have no valid
    /// pages. Default false for gecko.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleans_metadata: Option<bool>,
    /// True if a checkpoint is taken after as many insertions and updates of the cache as it has entries; default true for gecko.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<bool>,
    /// Wear levelling: a name, or a table with `kind` and its settings; default none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wear: Option<WearConfig>,
    /// Treatment of dirty mapping entries in a power cut; default `battery` for dftl and mu_ftl, `deferred` for gecko, else
    /// `synchronised`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub durability: Option<DirtyEntries>,
    /// durability = "deferred": true if recovery ignores pages that are older than their translation page, so that trimmed data
    /// does not reappear; default true. The paper does not do this.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(alias = "dated")]
    pub skips_older_pages: Option<bool>,
    #[serde(skip)]
    design: PhantomData<D>,
}

/// Keys of an FTL that cleans by a policy.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PolicyKeys {
    /// Victim policy, which chooses the next block to clean: a name, or a table with `policy` and its settings.
    pub victim: VictimConfig,
    /// Placement, which chooses the stream of a page: a name, or a table with `kind` and its settings.
    pub placement: PlacementConfig,
    /// Cleaning starts at this many erased blocks; default: as many as the FTL needs for cleaning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_low: Option<u32>,
    /// `free_blocks_low` as a fraction of all blocks, in place of that key; above 0 and below 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_share_low: Option<f64>,
    /// While a log above cleans, cleaning starts only at this many erased blocks; below `free_blocks_low`. By default cleaning is
    /// not deferred.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_deferred: Option<u32>,
    /// Timed mode: in idle time blocks are cleaned until this many are erased, above `free_blocks_low`. By default idle time is not
    /// used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free_blocks_idle: Option<u32>,
}

impl PolicyKeys {
    fn features(&self, low_key: &'static str, wear: &WearConfig) -> Features {
        let mut features = Features::default();
        features.extend([
            (self.free_blocks_low.is_some(), Feature::Watermarks, low_key),
            (self.free_blocks_deferred.is_some(), Feature::Deferral, "free_blocks_deferred"),
            (self.free_blocks_idle.is_some(), Feature::IdleCleaning, "free_blocks_idle"),
            (self.victim.properties().looks_below, Feature::Completing, "victim"),
            (self.victim.looks_below(), Feature::WeighingBelow, "victim.weight"),
            (matches!(self.placement, PlacementConfig::Oracle(_)), Feature::Oracle, "placement"),
            (self.placement.reference_threshold().is_some(), Feature::References, "placement"),
            (!matches!(wear, WearConfig::None(_)), Feature::WearLevelling, "structure.wear"),
        ]);
        features
    }
}

impl<D: PagedDesign> Kind for Paged<D> {
    const ENTRY: Entry = D::ENTRY;
    type On = OnFlash;
    type Keys = PolicyKeys;
    type Resolved = PagedSettings;

    fn properties() -> FtlProperties {
        FtlProperties {
            map: PageMap::InFlash,
            validity_in_flash: D::PAPER_DEFAULTS.validity != "ram_bitmap",
            has_battery: D::PAPER_DEFAULTS.durability == DirtyEntries::Battery,
        }
    }

    fn resolve(
        &mut self,
        keys: &mut PolicyKeys,
        drive: &Drive<'_>,
        context: &LayerContext<'_>,
    ) -> Result<LayerPlan<PagedSettings>, ConfigError> {
        let device = drive.device;
        let mut config = self.config(device, context).map_err(|error| error.within("structure"))?;
        if drive.wear.is_some() && self.wear.as_ref().is_some_and(|wear| !matches!(wear, WearConfig::None(_)))
        {
            return Err(ConfigError::new("wear", "stands beside `structure.wear`; give one of them"));
        }
        if let Some(wear) = drive.wear {
            config.wear = wear.clone();
        }
        let blocks = device.geometry.blocks();
        let low_key = watermark::resolve_share(&mut keys.free_blocks_low, &mut keys.free_share_low, blocks)?;
        config.free_blocks = FreeBlocks {
            low: keys.free_blocks_low,
            deferred: keys.free_blocks_deferred,
            idle: keys.free_blocks_idle,
        };
        context.override_placement(&mut keys.placement);
        let mut features = keys.features(low_key, &config.wear);
        let size = StoreSize {
            blocks,
            pages_per_block: device.geometry.pages_per_block,
            logical_pages: device.logical_pages,
            seed: context.seed,
        };
        let horizon = add_foresight(&keys.victim, &keys.placement, &size, &mut features);
        dedup::add_features(drive.dedup, &keys.placement, &mut features)?;
        features.extend([(drive.dedup.is_none(), Feature::Unshared, "dedup")]);
        features.extend([
            (config.has_ram_bitmap(), Feature::BitmapInRam, "structure.validity"),
            (config.counters != BlockCounters::Full, Feature::PartialCounters, "structure.counters"),
        ]);
        let memory_bytes = memory_bytes(device, config.cache_entries);
        // The model does not cover a map above the FTL's own.
        let model = drive.dedup.is_none().then(|| model(&config));
        let is_random = matches!(keys.victim, VictimConfig::Random(_));
        let equal_victim = is_random.then_some(RANDOM_SKIPS_FULL_BLOCKS);
        let settings =
            PagedSettings { config, victim: keys.victim.clone(), placement: keys.placement.clone() };
        let (pages, block_pages) = (device.geometry.pages(), device.geometry.pages_per_block);
        let plan = LayerPlan::new(device.logical_pages, pages, block_pages, settings);
        Ok(LayerPlan {
            placement_handles: placement_handles(&keys.placement),
            features,
            memory_bytes,
            horizon,
            model,
            equal_victim,
            ..plan
        })
    }

    fn build<P: StackPayload>(
        mut settings: PagedSettings,
        spec: LayerSpec,
        flash: FlashParts,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        let dedup = dedup::plan(&spec)?;
        let config = &mut settings.config;
        config.logical_pages = dedup::stored_pages(&dedup, config.logical_pages);
        let policies = policies(&settings, spec, &flash)?;
        P::build_ftl_on_spare_areas(FtlPlan::Paged(settings, policies), dedup, &flash)
            .map_err(key_of_scenario)
    }
}

impl<D: PagedDesign> Paged<D> {
    /// Fills in every default; errors name the key within `structure`.
    fn config(
        &mut self,
        device: &ResolvedDevice,
        context: &LayerContext<'_>,
    ) -> Result<PagedConfig, ConfigError> {
        let (defaults, logical_pages) = (D::PAPER_DEFAULTS, device.logical_pages);
        let cache_entries = self.resolve_cache(logical_pages)?;
        let default_validity =
            || serde_json::from_value(defaults.validity.into()).expect("a kind of the table");
        Ok(PagedConfig {
            kind: D::ENTRY.name,
            logical_pages,
            page_bytes: device.geometry.page_bytes,
            cache_entries,
            dirty_entries: self.resolve_dirty(defaults.dirty_share, cache_entries)?,
            eager: *self.eager.get_or_insert(defaults.eager),
            directory: self.resolve_directory(defaults.directory)?,
            validity: self.validity.get_or_insert_with(default_validity).clone(),
            counters: self.resolve_counters()?,
            cleans_metadata: *self.cleans_metadata.get_or_insert(defaults.cleans_metadata),
            checkpoints: *self.checkpoints.get_or_insert(defaults.checkpoints),
            durability: self.resolve_durability(defaults.durability)?,
            wear: self.wear.get_or_insert_default().clone(),
            free_blocks: Default::default(),
            seed: context.seed,
        })
    }

    fn resolve_cache(&mut self, logical_pages: u32) -> Result<u32, ConfigError> {
        if let Some(size) = self.cache_size.take() {
            if self.cache_entries.is_some() {
                let problem = "stands beside `cache_entries`; give one of them";
                return Err(ConfigError::new("cache_size", problem));
            }
            let entries = u32::try_from(size.0 / CACHE_ENTRY_BYTES).ok().filter(|&entries| entries > 0);
            self.cache_entries = Some(entries.ok_or_else(|| {
                let problem =
                    format!("is {size}; it must be from {CACHE_ENTRY_BYTES} bytes, an entry, to 32 GiB");
                ConfigError::new("cache_size", problem)
            })?);
        }
        let default_entries = (logical_pages / PAGES_PER_CACHED_ENTRY).max(MIN_CACHE_ENTRIES);
        Ok(*self.cache_entries.get_or_insert(default_entries))
    }

    /// Returns the maximum number of dirty entries, at least 1; `None` if all entries may be dirty.
    fn resolve_dirty(&mut self, default_share: f64, cache_entries: u32) -> Result<Option<u32>, ConfigError> {
        let share = *self.dirty_share.get_or_insert(default_share);
        if !(share > 0.0 && share <= 1.0) {
            let problem = format!("is {share}; it must be above 0 and at most 1");
            return Err(ConfigError::new("dirty_share", problem));
        }
        let entries = (f64::from(cache_entries) * share) as u32;
        Ok((share < 1.0).then_some(entries.max(1)))
    }

    fn resolve_counters(&mut self) -> Result<BlockCounters, ConfigError> {
        let kind = *self.counters.get_or_insert(HeldCounters::Full);
        let unused_keys = [
            ("counter_share", self.counter_share.is_some() && kind != HeldCounters::Sampled, "\"sampled\""),
            (
                "counter_choices",
                self.counter_choices.is_some() && kind == HeldCounters::Full,
                "\"sampled\" or \"none\"",
            ),
        ];
        if let Some((key, _, required_counters)) =
            unused_keys.into_iter().find(|(_, is_unused, _)| *is_unused)
        {
            let problem = format!("means nothing but with counters = {required_counters}; leave it out");
            return Err(ConfigError::new(key, problem));
        }
        let counters = match kind {
            HeldCounters::Full => BlockCounters::Full,
            HeldCounters::Sampled => BlockCounters::Sampled {
                fraction: *self.counter_share.get_or_insert(DEFAULT_SAMPLED_SHARE),
                choices: *self.counter_choices.get_or_insert(DEFAULT_SAMPLED_CHOICES),
            },
            HeldCounters::None => {
                BlockCounters::None { choices: *self.counter_choices.get_or_insert(DEFAULT_CHOICES) }
            }
        };
        counters.check()?;
        Ok(counters)
    }

    fn resolve_directory(&mut self, default: TranslationDirectory) -> Result<DirectoryConfig, ConfigError> {
        match (*self.directory.get_or_insert(default), self.cached_nodes) {
            (TranslationDirectory::Tree, cached_nodes) => Ok(DirectoryConfig::Tree { cached_nodes }),
            (TranslationDirectory::Global, None) => Ok(DirectoryConfig::Global),
            (TranslationDirectory::Global, Some(_)) => Err(ConfigError::new(
                "cached_nodes",
                "means nothing with directory = \"global\", which is in RAM as a whole; leave it out",
            )),
        }
    }

    fn resolve_durability(&mut self, default: DirtyEntries) -> Result<Durability, ConfigError> {
        let durability = *self.durability.get_or_insert(default);
        if durability == DirtyEntries::Deferred {
            return Ok(Durability::Deferred {
                skips_older_pages: *self.skips_older_pages.get_or_insert(true),
            });
        }
        if self.skips_older_pages.is_some() {
            let problem = "means nothing but with durability = \"deferred\"; leave it out";
            return Err(ConfigError::new("skips_older_pages", problem));
        }
        Ok(match durability {
            DirtyEntries::Battery => Durability::Battery,
            _ => Durability::Synchronised,
        })
    }
}

/// Returns the bytes that simulating an FTL takes in addition to the tables of a log, to refuse drives that would not
/// fit. They are spare-area records, the table in flash, block states, and cached entries with their lists.
pub(super) fn memory_bytes(device: &ResolvedDevice, cache_entries: u32) -> u64 {
    let geometry = &device.geometry;
    let (pages, blocks) = (geometry.pages(), u64::from(geometry.blocks()));
    9 * pages + 4 * u64::from(device.logical_pages) + 44 * blocks + 40 * u64::from(cache_entries)
}

/// Returns the FTL's data structures in terms of the theoretical model.
fn model(config: &PagedConfig) -> FtlModel {
    let (validity, gecko) = match &config.validity {
        ValidityConfig::RamBitmap(_) => (ValidityStore::RamBitmap, GeckoSettings::default()),
        ValidityConfig::FlashBitmap(_) => (ValidityStore::FlashBitmap, GeckoSettings::default()),
        ValidityConfig::Log(_) => (ValidityStore::Log, GeckoSettings::default()),
        ValidityConfig::Gecko(gecko) => (ValidityStore::Gecko, gecko.clone()),
    };
    let design = FtlDesign {
        table: match config.directory {
            DirectoryConfig::Global => TableLocation::Directory,
            DirectoryConfig::Tree { .. } => TableLocation::BTree,
        },
        validity,
        dirty: match config.durability {
            Durability::Battery => DirtyEntryPolicy::Battery,
            Durability::Synchronised => DirtyEntryPolicy::Bounded,
            Durability::Deferred { .. } => DirtyEntryPolicy::Deferred,
        },
    };
    let entries = config.cache_entries;
    let dirty_share = config.dirty_entries.map_or(1.0, |dirty| f64::from(dirty) / f64::from(entries));
    let counters = match config.counters {
        BlockCounters::Full => CounterCoverage::Full,
        BlockCounters::Sampled { fraction: share, choices } => CounterCoverage::Sampled { share, choices },
        BlockCounters::None { choices } => CounterCoverage::None { choices },
    };
    let (size_ratio, partitions) = (gecko.size_ratio, gecko.partitions);
    let cache = CacheModel { entries, dirty_share, size_ratio, partitions, counters };
    FtlModel { design, cache: Some(cache) }
}

/// Returns the policies of the FTL: those of the caller, or of the scenario.
fn policies(
    settings: &PagedSettings,
    mut spec: LayerSpec,
    flash: &FlashParts,
) -> Result<Policies, ConfigError> {
    let size = StoreSize {
        blocks: flash.device.geometry.blocks(),
        pages_per_block: flash.device.geometry.pages_per_block,
        logical_pages: settings.config.logical_pages,
        seed: settings.config.seed,
    };
    spec.policies(&settings.victim, &settings.placement, &size)
}

/// Translates the key of an FTL's error to the key of the scenario.
fn key_of_scenario(error: ConfigError) -> ConfigError {
    match error.key.as_str() {
        "entries" => ConfigError { key: "structure.cache_entries".into(), ..error },
        "dirty_entries" => ConfigError { key: "structure.dirty_share".into(), ..error },
        "free_blocks_low" | "free_blocks_deferred" | "free_blocks_idle" => error,
        "device" | "page_bytes" => ConfigError { key: "structure".into(), ..error },
        _ => error.within("structure"),
    }
}
