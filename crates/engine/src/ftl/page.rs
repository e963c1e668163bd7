//! The page-mapped FTL with its map in RAM: a log on flash that recovers from a power cut by reading all spare areas.

use super::{Restart, policy_seed};
use crate::config::{ConfigError, StoreSize};
use crate::layer::{LayerError, RecoveryReport};
use crate::log::{LogStore, MigrationPolicy, PageTable, Reclaim, StoreConfig};
use crate::nand::{Flash, StoredFlash, StoredFlashError};
use crate::placement::{Placement, PlacementConfig, PlacementContext};
use crate::pool::SurvivingFlash;
use crate::victim::{VictimConfig, VictimPolicy};
use crate::wear::{WearConfig, WearLevelling};

/// A page-mapped FTL on flash with spare areas: the log with policies that are chosen at run time.
pub type PageFtl<F> = LogStore<F, PageTable, Box<dyn VictimPolicy>, Box<dyn Placement>>;

/// Policies of a store.
struct Policies {
    victim: Box<dyn VictimPolicy>,
    placement: Box<dyn Placement>,
    levelling: Option<Box<dyn WearLevelling>>,
}

/// Settings of a page-mapped FTL.
#[derive(Clone, Debug)]
pub struct PageConfig {
    /// Settings of the store; its `reclaim` must be a pool.
    pub store: StoreConfig,
    /// Victim policy.
    pub victim: VictimConfig,
    /// Placement policy.
    pub placement: PlacementConfig,
    /// Settings of wear levelling.
    pub wear: WearConfig,
}

impl PageConfig {
    fn policies<F: Flash>(&self, flash: &F) -> Result<Policies, ConfigError> {
        let size = StoreSize {
            blocks: flash.blocks(),
            pages_per_block: flash.pages_per_block(),
            logical_pages: self.store.logical_pages,
            seed: policy_seed(self.store.seed, flash),
        };
        let context = PlacementContext { size: &size, temperature: None, foresight: None };
        let victim = self.victim.build_boxed(&size).map_err(|error| error.within("victim"))?;
        let placement = self.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        let levelling = self.wear.build(&size).map_err(|error| error.within("wear"))?;
        Ok(Policies { victim, placement, levelling })
    }
}

impl PageConfig {
    /// Builds the FTL on erased flash. Fails if a setting cannot work; the error names its key.
    pub fn build<F: Flash>(&self, flash: F) -> Result<PageFtl<F>, ConfigError> {
        if self.store.reclaim == Reclaim::InPlace {
            let problem = "in_place keeps pages in RAM alone while it cleans; use free_pool";
            return Err(ConfigError::new("reclaim", problem));
        }
        let Policies { victim, placement, levelling } = self.policies(&flash)?;
        let directory = PageTable::new(self.store.logical_pages, flash.blocks(), flash.pages_per_block());
        LogStore::new(self.store, flash, directory, victim, placement)?.with_levelling(levelling)
    }
}

/// A write is on flash when it returns. Trims are not recorded on flash, so a trimmed page may have an earlier content
/// again after a power cut. An atomic group is complete after a cut between two requests; after a cut in the middle of
/// the group, a part of the group may be found.
impl<F: Flash> Restart for PageFtl<F> {
    type Flash = F;
    type SurvivingFlash = SurvivingFlash<F>;
    type Settings = PageConfig;

    const DURABLE_TRIMS: bool = false;
    const READS_ALL_SPARE_AREAS: bool = true;

    fn into_flash(self) -> SurvivingFlash<F> {
        self.into_surviving_flash()
    }

    fn restart(
        settings: &PageConfig,
        surviving: SurvivingFlash<F>,
    ) -> Result<(Self, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
        let policies = settings.policies(&surviving.flash).expect("the FTL was built with these settings");
        let Policies { victim, placement, levelling } = policies;
        LogStore::recover(settings.store, surviving, victim, placement, levelling)
    }

    fn decode_flash(
        _settings: &PageConfig,
        flash: F,
        _stored: &mut dyn StoredFlash,
    ) -> Result<SurvivingFlash<F>, StoredFlashError> {
        // Everything that the FTL stores in flash is in spare areas.
        Ok(SurvivingFlash::from(flash))
    }

    fn flash_mut(&mut self) -> &mut F {
        self.medium_mut()
    }

    fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<F::Payload>>,
    ) -> Result<(), ConfigError> {
        LogStore::set_migration_policy(self, migration)
    }
}
