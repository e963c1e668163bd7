//! Restart of the FTL from its flash, with settings from which its policies can be built again.

use super::config::{Durability, PagedConfig};
use super::flash_decoder;
use super::recover::SurvivingFlash;
use super::store::{PagedFtl, Policies};
use crate::config::{ConfigError, StoreSize};
use crate::ftl::{Restart, policy_seed};
use crate::layer::{LayerError, Medium, RecoveryReport};
use crate::log::MigrationPolicy;
use crate::nand::{Flash, StoredFlash, StoredFlashError};
use crate::placement::{PlacementConfig, PlacementContext};
use crate::pool::MigrationExecutor;
use crate::victim::VictimConfig;

/// Settings from which an FTL is built and, after power cuts, rebuilt.
#[derive(Clone, Debug)]
pub struct PagedSettings {
    /// Settings of the FTL itself.
    pub config: PagedConfig,
    /// Victim policy.
    pub victim: VictimConfig,
    /// Placement policy for user pages.
    pub placement: PlacementConfig,
}

impl PagedSettings {
    /// Builds the policies for this flash.
    pub fn policies(&self, flash: &impl Medium) -> Result<Policies, ConfigError> {
        let size = StoreSize {
            blocks: flash.blocks(),
            pages_per_block: flash.pages_per_block(),
            logical_pages: self.config.logical_pages,
            seed: policy_seed(self.config.seed, flash),
        };
        let victim = self.victim.build_boxed(&size).map_err(|error| error.within("victim"))?;
        let context = PlacementContext { size: &size, temperature: None, foresight: None };
        let placement = self.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        Ok(Policies { victim, placement })
    }

    /// Builds the FTL on erased flash with spare areas.
    pub fn build<F: Flash>(&self, flash: F) -> Result<PagedFtl<F>, ConfigError> {
        let policies = self.policies(&flash)?;
        PagedFtl::new(self.config.clone(), flash, policies)
    }
}

/// Recovers the FTL; `saved` is true if the battery has worked or there is none.
#[expect(clippy::result_large_err, reason = "what is left of the drive goes back to its owner")]
fn recover_ftl<F: Flash>(
    settings: &PagedSettings,
    surviving: SurvivingFlash<F>,
    saved: bool,
) -> Result<(PagedFtl<F>, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
    let policies = settings.policies(&surviving.flash).expect("settings that were good before");
    let config = settings.config.clone();
    let ftl = match saved {
        true => PagedFtl::recover(config, surviving, policies)?,
        false => PagedFtl::recover_unsaved(config, surviving, policies)?,
    };
    let report = ftl.recovery().expect("it has just recovered").clone();
    Ok((ftl, report))
}

impl<F: Flash> Restart for PagedFtl<F> {
    type Flash = F;
    type SurvivingFlash = SurvivingFlash<F>;
    type Settings = PagedSettings;

    const DURABLE_TRIMS: bool = true;
    const READS_ALL_SPARE_AREAS: bool = false;

    fn into_flash(self) -> SurvivingFlash<F> {
        self.into_surviving_flash()
    }

    fn restart(
        settings: &PagedSettings,
        surviving: SurvivingFlash<F>,
    ) -> Result<(Self, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
        recover_ftl(settings, surviving, true)
    }

    fn restart_unsaved(
        settings: &PagedSettings,
        surviving: SurvivingFlash<F>,
    ) -> Result<(Self, RecoveryReport), (LayerError, SurvivingFlash<F>)> {
        recover_ftl(settings, surviving, false)
    }

    fn decode_flash(
        settings: &PagedSettings,
        flash: F,
        stored: &mut dyn StoredFlash,
    ) -> Result<SurvivingFlash<F>, StoredFlashError> {
        let policies = settings.policies(&flash).expect("settings that were good before");
        let contents =
            flash_decoder::decode_contents(&settings.config, policies.placement.streams(), &flash, stored)?;
        Ok(SurvivingFlash { flash, contents })
    }

    fn save(&mut self) -> Result<(), LayerError> {
        PagedFtl::save(self)
    }

    fn has_battery(&self) -> bool {
        self.config.durability == Durability::Battery
    }

    fn flash_mut(&mut self) -> &mut F {
        &mut self.space.pool.medium
    }

    fn set_migration_policy(
        &mut self,
        migration: Box<dyn MigrationPolicy<F::Payload>>,
    ) -> Result<(), ConfigError> {
        self.migration = Some(Box::new(MigrationExecutor::new(migration)));
        Ok(())
    }
}
