//! One log-structured store from its settings: the parts that they name, and whether they fit.

use super::scenario::{DirectoryKind, LogConfig, ReclaimKind};
use super::size::ByteSize;
use super::structure::Ground;
use super::tree::Lower;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;
use wearwell_base::units::StreamId;
use wearwell_engine::ftl::page::PageConfig;
use wearwell_engine::layer::{Medium, Payload};
use wearwell_engine::log::{
    BlockTable, BoxedLayer, Directory, LogStore, Migration, PageTable, Reclaim, StoreConfig,
};
use wearwell_engine::placement::{Placement, PlacementContext};
use wearwell_engine::victim::{VictimPolicy, VictimVisitor};

/// What a store is built from besides its configuration and its medium.
pub struct Spec {
    pub seed: Seed,
    /// Stands in for the policy that the configuration names.
    pub victim: Option<Box<dyn VictimPolicy>>,
    pub temperature: Option<Box<dyn Temperature>>,
    pub obstacles: Obstacles,
    /// What the layer stands on; nothing for the FTL.
    pub ground: Ground,
    /// The layer below, where the medium is a partition of it.
    pub lower: Option<Lower>,
    /// Whether another log stands on this one and may move its pages, too.
    pub has_log_above: bool,
}

/// What keeps a store from doing with a directory of blocks.
#[derive(Clone, Copy)]
pub struct Obstacles {
    pub wears_out: bool,
    pub shared: bool,
}

impl Spec {
    /// The store, and the number of its streams.
    pub fn store<P: Payload, M: Medium<Payload = P> + 'static>(
        self,
        log: &mut LogConfig,
        logical_pages: u32,
        medium: M,
    ) -> Result<(BoxedLayer<P>, u8), ConfigError> {
        let Some(placement) = log.placement.frontiers() else {
            return self.boxed_store(log, logical_pages, medium, |_| None);
        };
        let size = self.size(logical_pages, &medium);
        let config = self.config(log, &placement, &size, &medium)?;
        let whole_blocks = block_directory(log, &placement, self.obstacles, size_of::<P>() > 0)?;
        Builder { config, medium, placement, size, whole_blocks }.with_victim(self.victim, log)
    }

    /// The same with all policies behind pointers and a directory of pages: slower by a little, and compiled once.
    ///
    /// `migration`, told whether the placement wants to know references, makes what cleaning has to ask.
    pub fn boxed_store<P: Payload, M: Medium<Payload = P> + 'static>(
        mut self,
        log: &mut LogConfig,
        logical_pages: u32,
        medium: M,
        migration: impl FnOnce(bool) -> Option<Box<dyn Migration<P>>>,
    ) -> Result<(BoxedLayer<P>, u8), ConfigError> {
        let size = self.size(logical_pages, &medium);
        let context = PlacementContext { size: &size, temperature: self.temperature.take() };
        let placement = log.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        if log.directory == DirectoryKind::Block {
            return Err(only_page("placement"));
        }
        let config = self.config(log, &placement, &size, &medium)?;
        let victim = match self.victim.take() {
            Some(given) => given,
            None => log.victim.build_boxed(&size).map_err(|error| error.within("victim"))?,
        };
        let streams = placement.streams() + u8::from(medium.has_own_stream());
        let pages = logical_pages + medium.metadata_pages();
        let directory = PageTable::new(pages, size.blocks, size.pages_per_block);
        let migration = migration(placement.wants_references());
        let store = LogStore::new(config, medium, directory, victim, placement)?;
        let store = match migration {
            Some(migration) => store.with_migration(migration)?,
            None => store,
        };
        Ok((Box::new(store), streams))
    }

    /// The settings of an FTL that can come back from its flash, which has no blocks in hand while power may be lost.
    pub fn page_config<M: Medium>(
        &self,
        log: &mut LogConfig,
        logical_pages: u32,
        medium: &M,
    ) -> Result<PageConfig, ConfigError> {
        let size = self.size(logical_pages, medium);
        let context = PlacementContext { size: &size, temperature: None };
        let placement = log.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        if log.directory == DirectoryKind::Block {
            return Err(only_page("power"));
        }
        let store = self.config(log, &placement, &size, medium)?;
        Ok(PageConfig { store, victim: log.victim.clone(), placement: log.placement.clone() })
    }

    fn size<M: Medium>(&self, logical_pages: u32, medium: &M) -> StoreSize {
        StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages,
            seed: self.seed,
        }
    }

    fn config<M: Medium>(
        &self,
        log: &mut LogConfig,
        placement: &dyn Placement,
        size: &StoreSize,
        medium: &M,
    ) -> Result<StoreConfig, ConfigError> {
        let streams = placement.streams() + u8::from(medium.has_own_stream());
        let config = StoreConfig { count_moves: self.has_log_above, ..store_config(log, streams, size)? };
        let held = StoreSize { logical_pages: size.logical_pages + medium.metadata_pages(), ..*size };
        check_reserve(log, &config, streams, &held, self.lower)?;
        Ok(config)
    }
}

/// Refuses a log that has not segments enough to clean, with what would be enough.
fn check_reserve(
    log: &LogConfig,
    config: &StoreConfig,
    streams: u8,
    size: &StoreSize,
    lower: Option<Lower>,
) -> Result<(), ConfigError> {
    let Some(segment) = log.segment_size else { return Ok(()) };
    let reserved = config.reclaim.reserved_blocks(streams);
    let full = size.logical_pages.div_ceil(size.pages_per_block);
    if full.saturating_add(reserved) <= size.blocks {
        return Ok(());
    }
    let needs =
        format!("{reserved} of its {} segments of {segment} must stay free to write and clean", size.blocks);
    if size.blocks > reserved {
        let spare = (f64::from(reserved) / f64::from(size.blocks) * 1e4).ceil() / 1e4;
        let problem =
            format!("is {}; {needs}, which takes at least {spare}", log.spare_factor.unwrap_or_default());
        return Err(ConfigError::new("spare_factor", problem));
    }
    let least = u64::from(reserved) + 1;
    let pages = u64::from(size.blocks) * u64::from(size.pages_per_block);
    let page_bytes = segment.0 / u64::from(size.pages_per_block);
    let mut problem = format!(
        "is {segment}; {needs}, and none is left for data: it must be at most {}",
        ByteSize(pages / least * page_bytes)
    );
    let share = lower.map(|lower| lower.least_share(least * u64::from(size.pages_per_block)));
    if let Some(share) = share.filter(|share| *share <= 1.0) {
        problem += &format!(", or `share` at least {share}");
    }
    Err(ConfigError::new("segment_size", problem))
}

fn only_page(reason: &str) -> ConfigError {
    ConfigError::new(
        "directory",
        format!(
            "block is exact only for placement = \"single\", reclaim = \"in_place\" on flash that does not wear out \
                 and holds no data; the {reason} needs page"
        ),
    )
}

/// Whether to keep only blocks: where the scenario says so, or, left to us, wherever it is exact.
pub(super) fn block_directory(
    log: &LogConfig,
    placement: &impl Placement,
    obstacles: Obstacles,
    holds_data: bool,
) -> Result<bool, ConfigError> {
    let single = placement.cleaning_stream() == Some(StreamId(0));
    let obstacle = [
        (!single, "placement"),
        (log.reclaim != ReclaimKind::InPlace, "reclaim"),
        (obstacles.wears_out, "wear"),
        (obstacles.shared, "sharing"),
        (holds_data, "content"),
        (log.metadata.is_some(), "metadata"),
    ]
    .into_iter()
    .find(|(obstacle, _)| *obstacle);
    match (log.directory, obstacle) {
        (DirectoryKind::Block, Some((_, reason))) => Err(only_page(reason)),
        (DirectoryKind::Page, _) | (_, Some(_)) => Ok(false),
        _ => Ok(true),
    }
}

fn store_config(log: &mut LogConfig, streams: u8, size: &StoreSize) -> Result<StoreConfig, ConfigError> {
    let reclaim = match log.reclaim {
        ReclaimKind::InPlace => {
            if log.free_blocks_low.or(log.free_blocks_high).is_some() {
                return Err(ConfigError::new(
                    "free_blocks_low",
                    "means nothing with reclaim = \"in_place\", which keeps no erased blocks",
                ));
            }
            Reclaim::InPlace
        }
        ReclaimKind::FreePool => {
            let low = *log.free_blocks_low.get_or_insert(u32::from(streams) + 1);
            let high = *log.free_blocks_high.get_or_insert(low);
            Reclaim::FreePool { low, high }
        }
    };
    Ok(StoreConfig {
        logical_pages: size.logical_pages,
        reclaim,
        copy_order: log.copy_order,
        evict: log.evict,
        prefetch: None,
        deferred_low: log.free_blocks_deferred,
        idle_high: log.free_blocks_idle,
        count_moves: false,
        seed: size.seed,
    })
}

/// Builds a store around a policy of whatever type the table of policies hands over.
struct Builder<M, P> {
    config: StoreConfig,
    medium: M,
    placement: P,
    size: StoreSize,
    whole_blocks: bool,
}

impl<M: Medium + 'static, P: Placement + 'static> Builder<M, P> {
    /// The store with the policy given, or else with the one that `log` names, and the number of its streams.
    fn with_victim(
        self,
        given: Option<Box<dyn VictimPolicy>>,
        log: &LogConfig,
    ) -> Result<(BoxedLayer<M::Payload>, u8), ConfigError> {
        let own_stream = u8::from(self.medium.has_own_stream());
        let (size, streams) = (self.size, self.placement.streams() + own_stream);
        let store = match given {
            Some(policy) => self.visit(policy),
            None => log.victim.visit(&size, self).map_err(|error| error.within("victim"))?,
        };
        Ok((store?, streams))
    }

    fn store<D: Directory + 'static, V: VictimPolicy + 'static>(
        self,
        directory: D,
        victim: V,
    ) -> Result<BoxedLayer<M::Payload>, ConfigError> {
        Ok(Box::new(LogStore::new(self.config, self.medium, directory, victim, self.placement)?))
    }
}

impl<M: Medium + 'static, P: Placement + 'static> VictimVisitor for Builder<M, P> {
    type Output = Result<BoxedLayer<M::Payload>, ConfigError>;

    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Self::Output {
        let StoreSize { blocks, pages_per_block, logical_pages, .. } = self.size;
        if self.whole_blocks {
            self.store(BlockTable::new(logical_pages), victim)
        } else {
            let all_pages = logical_pages + self.medium.metadata_pages();
            self.store(PageTable::new(all_pages, blocks, pages_per_block), victim)
        }
    }
}
