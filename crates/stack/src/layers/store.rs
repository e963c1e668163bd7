//! One log-structured store from its settings: the parts that they name.

use super::spec::LayerSpec;
use super::store_keys::StoreSettings;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_engine::ftl::page::PageConfig;
use wearwell_engine::layer::{Medium, MediumExt, Payload};
use wearwell_engine::log::{BlockTable, BoxedLayer, Directory, LogStore, Migration, PageTable, StoreConfig};
use wearwell_engine::placement::{Placement, PlacementContext};
use wearwell_engine::victim::{VictimPolicy, VictimVisitor};

impl LayerSpec {
    /// The store, compiled for its policies.
    pub(super) fn store<P: Payload, M: Medium<Payload = P> + 'static>(
        self,
        settings: &StoreSettings,
        medium: M,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let frontiers = settings.placement.frontiers().filter(|_| !self.features.has("wear_levelling"));
        let Some(placement) = frontiers else {
            let pages = self.logical_pages;
            return self.boxed_store(settings, pages, medium, |_| None);
        };
        let size = self.size(self.logical_pages, &medium);
        let config = settings.config(self.logical_pages, self.seed);
        let whole_blocks = self.features.has("block_directory");
        StoreBuilder { config, medium, placement, size, whole_blocks }.with_victim(self.victim, settings)
    }

    /// The store of `logical_pages` with all policies behind pointers and a directory of pages: slower by a little, and compiled
    /// once.
    ///
    /// `migration`, told whether the placement wants to know references, makes what cleaning has to ask.
    pub(super) fn boxed_store<P: Payload, M: Medium<Payload = P> + 'static>(
        mut self,
        settings: &StoreSettings,
        logical_pages: u32,
        medium: M,
        migration: impl FnOnce(bool) -> Option<Box<dyn Migration<P>>>,
    ) -> Result<BoxedLayer<P>, ConfigError> {
        let size = self.size(logical_pages, &medium);
        let context = PlacementContext { size: &size, temperature: self.temperature.take() };
        let placement = settings.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        let config = settings.config(logical_pages, self.seed);
        let victim = match self.victim.take() {
            Some(given) => given,
            None => settings.victim.build_boxed(&size).map_err(|error| error.within("victim"))?,
        };
        let pages = logical_pages + medium.metadata_pages();
        let directory = PageTable::new(pages, size.blocks, size.pages_per_block);
        let migration = migration(placement.wants_references());
        let levelling = self.wear.build(&size).map_err(|error| error.within("wear"))?;
        let store = LogStore::new(config, medium, directory, victim, placement)?.with_levelling(levelling)?;
        let store = match migration {
            Some(migration) => store.with_migration(migration)?,
            None => store,
        };
        Ok(Box::new(store))
    }

    /// The settings of an FTL that can come back from its flash, which has no blocks in hand while power may be lost.
    pub(super) fn page_config(&self, settings: &StoreSettings) -> PageConfig {
        PageConfig {
            store: settings.config(self.logical_pages, self.seed),
            victim: settings.victim.clone(),
            placement: settings.placement.clone(),
            wear: self.wear.clone(),
        }
    }

    fn size<M: Medium>(&self, logical_pages: u32, medium: &M) -> StoreSize {
        StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages,
            seed: self.seed,
        }
    }
}

/// Builds a store around a policy of whatever type the table of policies hands over.
struct StoreBuilder<M, P> {
    config: StoreConfig,
    medium: M,
    placement: P,
    size: StoreSize,
    whole_blocks: bool,
}

impl<M: Medium + 'static, P: Placement + 'static> StoreBuilder<M, P> {
    /// The store with the policy given, or else with the one that `settings` name.
    fn with_victim(
        self,
        given: Option<Box<dyn VictimPolicy>>,
        settings: &StoreSettings,
    ) -> Result<BoxedLayer<M::Payload>, ConfigError> {
        let size = self.size;
        match given {
            Some(policy) => self.visit(policy),
            None => settings.victim.visit(&size, self).map_err(|error| error.within("victim"))?,
        }
    }

    fn store<D: Directory + 'static, V: VictimPolicy + 'static>(
        self,
        directory: D,
        victim: V,
    ) -> Result<BoxedLayer<M::Payload>, ConfigError> {
        Ok(Box::new(LogStore::new(self.config, self.medium, directory, victim, self.placement)?))
    }
}

impl<M: Medium + 'static, P: Placement + 'static> VictimVisitor for StoreBuilder<M, P> {
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
