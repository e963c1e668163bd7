//! One log-structured store from its settings: the parts that they name.

use super::spec::LayerSpec;
use super::store_keys::StoreSettings;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_engine::forms::{BoxedLog, CountingLog};
use wearwell_engine::ftl::page::PageConfig;
use wearwell_engine::layer::{Medium, Payload};
use wearwell_engine::log::Migration;
use wearwell_engine::placement::{Frontiers, PlacementContext};

impl LayerSpec {
    /// The frontiers of a store for which the engine is compiled; `None` if its parts have to be behind pointers.
    pub(super) fn frontiers(&self, settings: &StoreSettings) -> Option<Frontiers> {
        settings.placement.frontiers().filter(|_| !self.features.has("wear_levelling"))
    }

    /// What the store with these frontiers is made of.
    pub(super) fn counting_log(self, settings: &StoreSettings, placement: Frontiers) -> CountingLog<'_> {
        CountingLog {
            config: settings.config(self.logical_pages, self.seed),
            placement,
            victim: &settings.victim,
            given: self.victim,
            whole_blocks: self.features.has("block_directory"),
        }
    }

    /// What the store of `logical_pages` on `medium` is made of, with all policies behind pointers.
    ///
    /// `migration`, told whether the placement wants to know references, makes what cleaning has to ask.
    pub(super) fn boxed_log<P: Payload>(
        mut self,
        settings: &StoreSettings,
        logical_pages: u32,
        medium: &impl Medium,
        migration: impl FnOnce(bool) -> Option<Box<dyn Migration<P>>>,
    ) -> Result<BoxedLog<P>, ConfigError> {
        let size = StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages,
            seed: self.seed,
        };
        let context = PlacementContext { size: &size, temperature: self.temperature.take() };
        let placement = settings.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        let victim = match self.victim.take() {
            Some(given) => given,
            None => settings.victim.build_boxed(&size).map_err(|error| error.within("victim"))?,
        };
        let migration = migration(placement.wants_references());
        let levelling = self.wear.build(&size).map_err(|error| error.within("wear"))?;
        let config = settings.config(logical_pages, self.seed);
        Ok(BoxedLog { config, victim, placement, levelling, migration })
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
}
