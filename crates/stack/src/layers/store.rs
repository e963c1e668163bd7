//! Construction of a log-structured store and its policies from the settings.

use super::features::Feature;
use super::spec::{CustomPolicies, LayerSpec};
use super::store_keys::StoreSettings;
use wearwell_base::config::{ConfigError, StoreSize};
use wearwell_engine::ftl::page::PageConfig;
use wearwell_engine::ftl::paged::Policies;
use wearwell_engine::instances::{BoxedLog, CountingLog};
use wearwell_engine::layer::{Medium, Payload};
use wearwell_engine::log::MigrationPolicy;
use wearwell_engine::placement::{Frontiers, PlacementConfig, PlacementContext};
use wearwell_engine::victim::{VictimConfig, VictimPolicy};

impl LayerSpec {
    /// Returns the frontiers of a store for which the engine is compiled; `None` if its policies must be boxed.
    pub(super) fn frontiers(&self, settings: &StoreSettings) -> Option<Frontiers> {
        // These features need the owner of each written page, which not all compiled logs provide.
        let needs_every_page = self.features.has(Feature::WearLevelling)
            || self.custom.placement.is_some()
            || self.watcher.is_some();
        // No log is compiled for a policy that needs future writes.
        let needs_foresight = self.features.has(Feature::ForeseeingVictim);
        settings.placement.frontiers().filter(|_| !needs_every_page && !needs_foresight)
    }

    /// Builds the configured victim policy, with the future writes if they are known.
    fn victim(&self, victim: &VictimConfig, size: &StoreSize) -> Result<Box<dyn VictimPolicy>, ConfigError> {
        match &self.foresight {
            Some(foresight) => victim.build_with_foresight(size, foresight),
            None => victim.build_boxed(size),
        }
    }

    /// Returns the parts of the store with these frontiers.
    pub(super) fn counting_log(self, settings: &StoreSettings, placement: Frontiers) -> CountingLog<'_> {
        CountingLog {
            config: settings.config(self.logical_pages, self.seed),
            placement,
            victim: &settings.victim,
            victim_override: self.custom.victim,
            whole_blocks: self.features.has(Feature::BlockDirectory),
        }
    }

    /// Returns the policies of a store of the given size: those of the calling program, or else the configured ones.
    pub(super) fn policies(
        &mut self,
        victim: &VictimConfig,
        placement: &PlacementConfig,
        size: &StoreSize,
    ) -> Result<Policies, ConfigError> {
        let CustomPolicies { victim: custom_victim, placement: custom_placement } =
            std::mem::take(&mut self.custom);
        let placement = match custom_placement {
            Some(own) => (own.make)(size),
            None => {
                let (temperature, foresight) = (self.temperature.take(), self.foresight.clone());
                let context = PlacementContext { size, temperature, foresight };
                placement.build_boxed(context).map_err(|error| error.within("placement"))?
            }
        };
        let victim = match custom_victim {
            Some(own) => own,
            None => self.victim(victim, size).map_err(|error| error.within("victim"))?,
        };
        Ok(Policies { victim, placement })
    }

    /// Returns the parts of the store of `logical_pages` on `medium`, with boxed policies.
    ///
    /// `migration` makes the migration policy of cleaning; its argument is true if the placement needs reference
    /// counts.
    pub(super) fn boxed_log<P: Payload>(
        mut self,
        settings: &StoreSettings,
        logical_pages: u32,
        medium: &impl Medium,
        migration: impl FnOnce(bool) -> Option<Box<dyn MigrationPolicy<P>>>,
    ) -> Result<BoxedLog<P>, ConfigError> {
        let size = StoreSize {
            blocks: medium.blocks(),
            pages_per_block: medium.pages_per_block(),
            logical_pages,
            seed: self.seed,
        };
        let Policies { victim, placement } = self.policies(&settings.victim, &settings.placement, &size)?;
        let migration = migration(placement.needs_references());
        let levelling = self.wear.build(&size).map_err(|error| error.within("wear"))?;
        let config = settings.config(logical_pages, self.seed);
        Ok(BoxedLog { config, victim, placement, levelling, migration })
    }

    /// Returns the settings of an FTL that can recover from its flash. The FTL holds no blocks in reserve while power
    /// may be lost.
    pub(super) fn page_config(&self, settings: &StoreSettings) -> PageConfig {
        PageConfig {
            store: settings.config(self.logical_pages, self.seed),
            victim: settings.victim.clone(),
            placement: settings.placement.clone(),
            wear: self.wear.clone(),
        }
    }
}
