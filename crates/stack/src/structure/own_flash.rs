//! FTLs that stand on flash themselves, other than the log and the zoned drive.

use super::ftls::Paged;
use super::{StructureConfig, refuse_keys};
use crate::payload::Founded;
use crate::power::FlashTimes;
use crate::scenario::LogConfig;
use crate::store::Spec;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_base::seed::Seed;
use wearwell_engine::ftl::hybrid::{Hybrid, HybridConfig, HybridKind};
use wearwell_engine::ftl::page::PageFtl;
use wearwell_engine::ftl::paged::{
    DirectoryConfig, Durability, PagedConfig, PagedFtl, PagedSettings, Policies,
};
use wearwell_engine::ftl::{CutSettings, Cycled, Interrupted, Restart, Switched};
use wearwell_engine::layer::Content;
use wearwell_engine::nand::{Flash, Fragile, Geometry, Supply};
use wearwell_engine::placement::PlacementContext;
use wearwell_engine::validity::{GeckoSettings, ValidityConfig};
use wearwell_theory::ftl::{Design, Dirty, Ftl, FtlDrive, FtlSizes, Table, Validity};

impl StructureConfig {
    /// The FTL, if it is one whose table is in flash.
    pub(super) fn paged(&mut self) -> Option<Paged<'_>> {
        match self {
            StructureConfig::Dftl(it) => Some(it.paged()),
            StructureConfig::Lazyftl(it) => Some(it.paged()),
            StructureConfig::MuFtl(it) => Some(it.paged()),
            StructureConfig::IbFtl(it) => Some(it.paged()),
            StructureConfig::Gecko(it) => Some(it.paged()),
            _ => None,
        }
    }

    /// The FTL for a drive of that size, if it is a hybrid one.
    fn hybrid(&mut self, logical_pages: u32, blocks: u32) -> Option<Result<HybridConfig, ConfigError>> {
        match self {
            StructureConfig::Fast(it) => Some(it.0.resolve(HybridKind::Fast, logical_pages, blocks)),
            StructureConfig::Bast(it) => Some(it.0.resolve(HybridKind::Bast, logical_pages, blocks)),
            _ => None,
        }
    }

    /// Whether it is an FTL that keeps notes in the spare areas of its flash.
    pub(crate) fn has_own_flash(&self) -> bool {
        let mut own = self.clone();
        own.paged().is_some() || own.hybrid(1, 1).is_some()
    }

    /// Whether it is an FTL with a battery that saves what is in RAM.
    pub(crate) fn has_battery(&self) -> bool {
        self.clone().paged().is_some_and(Paged::has_battery)
    }

    /// Bytes that simulating it takes besides the tables of a log, so that a drive that would not fit is refused.
    pub(crate) fn memory_bytes(&self, logical_pages: u32, pages: u64, blocks: u64) -> u64 {
        // Notes in spare areas, the table in flash, what is kept of each block, and cached entries with their lists.
        let cache = self.clone().paged().map_or(0, |paged| u64::from(paged.cache_entries(logical_pages)));
        9 * pages + 4 * u64::from(logical_pages) + 44 * blocks + 40 * cache
    }
}

impl LogConfig {
    /// The drive and the FTL as the model sees them, where there is a model of the FTL and the drive is one of its.
    pub(crate) fn model(
        &self,
        logical_pages: u32,
        geometry: &Geometry,
        times: &FlashTimes,
    ) -> Option<(Design, FtlDrive)> {
        let sizes = FtlSizes {
            blocks: u64::from(geometry.blocks()),
            pages_per_block: geometry.pages_per_block,
            page_bytes: geometry.page_bytes,
            load: f64::from(logical_pages) / geometry.pages() as f64,
            partitions: FtlSizes::balanced_partitions(geometry.pages_per_block),
            read_us: times.read_us,
            program_us: times.program_us,
            spare_read_us: times.spare_read_us,
            ..FtlSizes::default()
        };
        let (design, sizes) = match self.other_structure() {
            Some(structure) => structure.design(logical_pages, sizes)?,
            None => (Ftl::Page.design(None), sizes),
        };
        Some((design, FtlDrive::new(sizes).ok()?))
    }
}

impl StructureConfig {
    /// What the FTL is made of, if its table is in flash, and `sizes` with those of the FTL.
    fn design(&self, logical_pages: u32, sizes: FtlSizes) -> Option<(Design, FtlSizes)> {
        let config = self.clone().paged()?.resolve(logical_pages, sizes.page_bytes, Seed(0)).ok()?;
        let (validity, gecko) = match self.clone().paged()?.validity() {
            ValidityConfig::RamBitmap(_) => (Validity::RamBitmap, GeckoSettings::default()),
            ValidityConfig::FlashBitmap(_) => (Validity::FlashBitmap, GeckoSettings::default()),
            ValidityConfig::Log(_) => (Validity::Log, GeckoSettings::default()),
            ValidityConfig::Gecko(gecko) => (Validity::Gecko, gecko),
        };
        let design = Design {
            table: match config.directory {
                DirectoryConfig::Global => Table::Directory,
                DirectoryConfig::Tree { .. } => Table::BTree,
            },
            validity,
            dirty: match config.durability {
                Durability::Battery => Dirty::Battery,
                Durability::Synchronised => Dirty::Bounded,
                Durability::Deferred { .. } => Dirty::Deferred,
            },
        };
        let cache = f64::from(config.cache_entries);
        let sizes = FtlSizes {
            cache_entries: u64::from(config.cache_entries),
            size_ratio: gecko.size_ratio,
            partitions: gecko.partitions.unwrap_or(sizes.partitions),
            dirty_share: config.dirty_entries.map_or(1.0, |dirty| f64::from(dirty) / cache),
            ..sizes
        };
        Some((design, sizes))
    }
}

/// Builds the FTL, the log included, on erased flash with spare areas, and writes its defaults into `ftl`.
pub(crate) fn build<F: Flash + 'static, X: Finish<F>>(
    spec: Spec,
    ftl: &mut LogConfig,
    logical_pages: u32,
    flash: F,
    finish: X,
) -> Result<Founded<X::Payload>, ConfigError> {
    if ftl.other_structure().is_none() {
        let config = spec.page_config(ftl, logical_pages, &flash)?;
        return Ok(finish.finish(PageFtl::new(&config, flash)?, config));
    }
    let structure = ftl.structure.as_mut().expect("another structure than the log");
    let name = structure.entry().name;
    if let Some(hybrid) = structure.hybrid(logical_pages, flash.blocks()) {
        let config = hybrid.map_err(|error| error.within("structure"))?;
        refuse_keys(ftl, name, &[])?;
        if spec.victim.is_some() {
            let problem =
                format!("means nothing with structure = \"{name}\", which merges logs in their order");
            return Err(ConfigError::new("victim", problem));
        }
        return Ok(finish.finish(Hybrid::new(config, flash).map_err(hybrid_key)?, config));
    }
    let paged = structure.paged().expect("a hybrid FTL or one with a table in flash");
    let config = paged.resolve(logical_pages, spec.ground.page_bytes, spec.seed);
    let config = config.map_err(|error| error.within("structure"))?;
    refuse_keys(ftl, name, &["victim", "placement"])?;
    let policies = policies(spec, ftl, &config, &flash)?;
    let settings = PagedSettings {
        config: config.clone(),
        victim: ftl.victim.clone(),
        placement: ftl.placement.clone(),
    };
    Ok(finish.finish(PagedFtl::new(config, flash, policies).map_err(paged_key)?, settings))
}

/// Takes an FTL of whatever type and makes a layer of it.
pub(crate) trait Finish<F: Flash> {
    /// What its pages hold.
    type Payload;
    /// The layer of `ftl`, which was built from `settings`.
    fn finish<T>(self, ftl: T, settings: T::Settings) -> Founded<Self::Payload>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send;
}

/// As it is, or with a switch.
pub(crate) struct Plain {
    pub cut: bool,
}

impl<F: Flash> Finish<F> for Plain {
    type Payload = F::Payload;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Founded<F::Payload>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        if !self.cut {
            return Founded { layer: Box::new(ftl), streams: 0, power: None };
        }
        let switched = Switched::new(Cycled::new(ftl, settings));
        Founded { layer: Box::new(switched.clone()), streams: 0, power: Some(Box::new(switched)) }
    }
}

/// On a supply that is cut.
pub(crate) struct Cutting {
    pub supply: Supply,
    pub cut: CutSettings,
}

impl<G: 'static> Finish<Fragile<G>> for Cutting
where
    Fragile<G>: Flash<Payload = Content>,
{
    type Payload = ();

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Founded<()>
    where
        T: Restart<Flash = Fragile<G>> + 'static,
        T::Settings: Send,
    {
        let switched = Switched::new(Interrupted::new(ftl, settings, self.supply, self.cut));
        Founded { layer: Box::new(switched.clone()), streams: 0, power: Some(Box::new(switched)) }
    }
}

/// The policies of an FTL whose table is in flash: those of the caller, or of the scenario.
fn policies<F: Flash>(
    mut spec: Spec,
    ftl: &LogConfig,
    config: &PagedConfig,
    flash: &F,
) -> Result<Policies, ConfigError> {
    let size = StoreSize {
        blocks: flash.blocks(),
        pages_per_block: flash.pages_per_block(),
        logical_pages: config.logical_pages,
        seed: config.seed,
    };
    let context = PlacementContext { size: &size, temperature: spec.temperature.take() };
    let placement = ftl.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
    if placement.wants_references() {
        let problem =
            "needs a drive that stores equal pages once: `dedup`, which only structure = \"log\" has";
        return Err(ConfigError::new("placement", problem));
    }
    let victim = match spec.victim {
        Some(given) => given,
        None => ftl.victim.build_boxed(&size).map_err(|error| error.within("victim"))?,
    };
    Ok(Policies { victim, placement })
}

/// Errors of the FTL by the keys of the scenario.
fn paged_key(error: ConfigError) -> ConfigError {
    match error.key.as_str() {
        "entries" => ConfigError { key: "structure.cache_entries".into(), ..error },
        "dirty_entries" => ConfigError { key: "structure.dirty_share".into(), ..error },
        "device" | "page_bytes" => ConfigError { key: "structure".into(), ..error },
        _ => error.within("structure"),
    }
}

fn hybrid_key(error: ConfigError) -> ConfigError {
    match error.key.as_str() {
        "log_blocks" => error.within("structure"),
        _ => ConfigError { key: "structure".into(), ..error },
    }
}
