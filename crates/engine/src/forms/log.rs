//! Logs with their types filled in.

use crate::config::{ConfigError, StoreSize};
use crate::layer::{Medium, MediumExt, Payload};
use crate::log::{BlockTable, BoxedLayer, Directory, LogStore, Migration, PageTable, Segments, StoreConfig};
use crate::nand::Nand;
use crate::placement::{Frontiers, Placement};
use crate::victim::{VictimConfig, VictimPolicy, VictimVisitor};
use crate::wear::WearLevelling;

/// What a log is made of that has all its policies behind pointers and a directory of pages: slower by a little than one that
/// is compiled for its policies.
pub struct BoxedLog<P: Payload> {
    /// Its configuration.
    pub config: StoreConfig,
    /// Which block is cleaned next.
    pub victim: Box<dyn VictimPolicy>,
    /// Which stream a page goes to.
    pub placement: Box<dyn Placement>,
    /// How wear is levelled, if it is.
    pub levelling: Option<Box<dyn WearLevelling>>,
    /// What cleaning asks about live pages, if it does.
    pub migration: Option<Box<dyn Migration<P>>>,
}

impl<P: Payload> BoxedLog<P> {
    /// The log on `medium`.
    pub(super) fn on<M: Medium<Payload = P> + 'static>(
        self,
        medium: M,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let pages = self.config.logical_pages + medium.metadata_pages();
        let directory = PageTable::new(pages, medium.blocks(), medium.pages_per_block());
        let store = LogStore::new(self.config, medium, directory, self.victim, self.placement)?;
        let store = store.with_levelling(self.levelling)?;
        Ok(Box::new(match self.migration {
            Some(migration) => store.with_migration(migration)?,
            None => store,
        }))
    }
}

/// What a log is made of that is compiled for its policies, because a counting run does nothing else.
pub struct CountingLog<'a> {
    /// Its configuration.
    pub config: StoreConfig,
    /// Which stream a page goes to.
    pub placement: Frontiers,
    /// Which block is cleaned next.
    pub victim: &'a VictimConfig,
    /// Stands in for the victim policy.
    pub given: Option<Box<dyn VictimPolicy>>,
    /// Whether to keep only in which block a page is.
    pub whole_blocks: bool,
}

impl CountingLog<'_> {
    fn on<M: Medium<Payload = ()> + 'static>(self, medium: M) -> Result<BoxedLayer<()>, ConfigError> {
        let size = StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages: self.config.logical_pages,
            seed: self.config.seed,
        };
        let CountingLog { config, placement, victim, given, whole_blocks } = self;
        let builder = Builder { config, medium, placement, whole_blocks };
        match given {
            Some(policy) => builder.visit(policy),
            None => victim.visit(&size, builder).map_err(|error| error.within("victim"))?,
        }
    }
}

/// Builds a log around a policy of whatever type the table of policies hands over.
struct Builder<M> {
    config: StoreConfig,
    medium: M,
    placement: Frontiers,
    whole_blocks: bool,
}

impl<M: Medium<Payload = ()> + 'static> Builder<M> {
    fn store<D: Directory + 'static, V: VictimPolicy + 'static>(
        self,
        directory: D,
        victim: V,
    ) -> Result<BoxedLayer<()>, ConfigError> {
        Ok(Box::new(LogStore::new(self.config, self.medium, directory, victim, self.placement)?))
    }
}

impl<M: Medium<Payload = ()> + 'static> VictimVisitor for Builder<M> {
    type Output = Result<BoxedLayer<()>, ConfigError>;

    fn visit<V: VictimPolicy + 'static>(self, victim: V) -> Self::Output {
        let logical_pages = self.config.logical_pages;
        if self.whole_blocks {
            return self.store(BlockTable::new(logical_pages), victim);
        }
        let pages = logical_pages + self.medium.metadata_pages();
        let directory = PageTable::new(pages, self.medium.blocks(), self.medium.pages_per_block());
        self.store(directory, victim)
    }
}

/// A log on bare flash.
pub fn log_on_nand(flash: Nand<()>, log: CountingLog<'_>) -> Result<BoxedLayer<()>, ConfigError> {
    log.on(flash)
}

/// A log on the segments of a layer.
pub fn log_on_segments(segments: Segments<()>, log: CountingLog<'_>) -> Result<BoxedLayer<()>, ConfigError> {
    log.on(segments)
}

/// A log on bare flash, with policies for which no log is compiled.
pub fn boxed_log_on_nand(flash: Nand<()>, log: BoxedLog<()>) -> Result<BoxedLayer<()>, ConfigError> {
    log.on(flash)
}
