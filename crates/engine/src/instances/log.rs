//! Monomorphised logs.

use crate::config::{ConfigError, StoreSize};
use crate::layer::{Medium, MediumExt, Payload};
use crate::log::{
    BlockTable, BoxedLayer, Directory, LogStore, MigrationPolicy, PageTable, Segments, StoreConfig,
};
use crate::nand::Nand;
use crate::placement::{Frontiers, Placement};
use crate::victim::{VictimConfig, VictimPolicy, VictimVisitor};
use crate::wear::WearLevelling;

/// Parts of a log with boxed policies and a page directory: slightly slower than a log monomorphised for its
/// policies.
pub struct BoxedLog<P: Payload> {
    /// Its configuration.
    pub config: StoreConfig,
    /// Victim policy.
    pub victim: Box<dyn VictimPolicy>,
    /// Placement.
    pub placement: Box<dyn Placement>,
    /// Wear levelling, if enabled.
    pub levelling: Option<Box<dyn WearLevelling>>,
    /// Migration policy for live pages, if any.
    pub migration: Option<Box<dyn MigrationPolicy<P>>>,
}

impl<P: Payload> BoxedLog<P> {
    /// Builds the log on `medium`.
    pub(super) fn on<M: Medium<Payload = P> + 'static>(
        self,
        medium: M,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let pages = self.config.logical_pages + medium.metadata_pages();
        let directory = PageTable::new(pages, medium.blocks(), medium.pages_per_block());
        let store = LogStore::new(self.config, medium, directory, self.victim, self.placement)?;
        let store = store.with_levelling(self.levelling)?;
        Ok(Box::new(match self.migration {
            Some(migration) => store.with_migration_policy(migration)?,
            None => store,
        }))
    }
}

/// Parts of a log that is monomorphised for its policies, because counting runs spend most of their time in the log.
pub struct CountingLog<'a> {
    /// Its configuration.
    pub config: StoreConfig,
    /// Placement.
    pub placement: Frontiers,
    /// Victim policy.
    pub victim: &'a VictimConfig,
    /// Replaces the victim policy, if given.
    pub victim_override: Option<Box<dyn VictimPolicy>>,
    /// True if the directory stores only the block of each page.
    pub whole_blocks: bool,
}

impl CountingLog<'_> {
    fn size(&self, medium: &impl Medium) -> StoreSize {
        StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages: self.config.logical_pages,
            seed: self.config.seed,
        }
    }

    fn page_table(&self, medium: &impl Medium) -> PageTable {
        let pages = self.config.logical_pages + medium.metadata_pages();
        PageTable::new(pages, medium.blocks(), medium.pages_per_block())
    }

    /// Builds the log, monomorphised for each policy that the table marks as specialised.
    fn on<M, D>(self, medium: M, directory: D) -> Result<BoxedLayer<()>, ConfigError>
    where
        M: Medium<Payload = ()> + 'static,
        D: Directory + 'static,
    {
        let size = self.size(&medium);
        let CountingLog { config, placement, victim, victim_override, .. } = self;
        let builder = LogBuilder { config, medium, directory, placement };
        match victim_override {
            Some(policy) => builder.visit(policy),
            None => victim.visit(&size, builder).map_err(|error| error.within("victim"))?,
        }
    }
}

/// Builds a log around a policy of any type that the table provides.
struct LogBuilder<M, D> {
    config: StoreConfig,
    medium: M,
    directory: D,
    placement: Frontiers,
}

impl<M: Medium<Payload = ()> + 'static, D: Directory + 'static> VictimVisitor for LogBuilder<M, D> {
    type Output = Result<BoxedLayer<()>, ConfigError>;

    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Self::Output {
        let LogBuilder { config, medium, directory, placement } = self;
        Ok(Box::new(LogStore::new(config, medium, directory, victim, placement)?))
    }
}

/// Builds a log on bare flash.
pub fn log_on_nand(flash: Nand<()>, log: CountingLog<'_>) -> Result<BoxedLayer<()>, ConfigError> {
    if log.whole_blocks {
        let directory = BlockTable::new(log.config.logical_pages);
        return log.on(flash, directory);
    }
    let directory = log.page_table(&flash);
    log.on(flash, directory)
}

/// Builds a log on the segments of a layer. With whole blocks, which is rare there, its policy is boxed.
pub fn log_on_segments(segments: Segments<()>, log: CountingLog<'_>) -> Result<BoxedLayer<()>, ConfigError> {
    if !log.whole_blocks {
        let directory = log.page_table(&segments);
        return log.on(segments, directory);
    }
    let size = log.size(&segments);
    let CountingLog { config, placement, victim, victim_override, .. } = log;
    let victim = match victim_override {
        Some(policy) => policy,
        None => victim.build_boxed(&size).map_err(|error| error.within("victim"))?,
    };
    let directory = BlockTable::new(config.logical_pages);
    Ok(Box::new(LogStore::new(config, segments, directory, victim, placement)?))
}

/// Builds a log on bare flash, with policies for which no log is monomorphised.
pub fn boxed_log_on_nand(flash: Nand<()>, log: BoxedLog<()>) -> Result<BoxedLayer<()>, ConfigError> {
    log.on(flash)
}
