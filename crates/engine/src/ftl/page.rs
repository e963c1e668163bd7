//! The page-mapped FTL whose map is in RAM: a log on flash that comes back after a power cut by reading all spare areas.

use super::{Restart, seed_of_life};
use crate::config::{ConfigError, StoreSize};
use crate::layer::{LayerError, RecoveryReport};
use crate::log::{LogStore, Migration, PageTable, Reclaim, StoreConfig};
use crate::nand::{Flash, KeptError, KeptFlash};
use crate::placement::{Placement, PlacementConfig, PlacementContext};
use crate::pool::Remains;
use crate::victim::{VictimConfig, VictimPolicy};
use crate::wear::{WearConfig, WearLevelling};

/// A page-mapped FTL on flash with spare areas: the log itself, its policies behind pointers.
pub type PageFtl<F> = LogStore<F, PageTable, Box<dyn VictimPolicy>, Box<dyn Placement>>;

/// What a store decides by.
struct Policies {
    victim: Box<dyn VictimPolicy>,
    placement: Box<dyn Placement>,
    levelling: Option<Box<dyn WearLevelling>>,
}

/// What a page-mapped FTL is built from.
#[derive(Clone, Debug)]
pub struct PageConfig {
    /// The store; its `reclaim` must be a pool.
    pub store: StoreConfig,
    /// Which block is cleaned next.
    pub victim: VictimConfig,
    /// Which stream a page goes to.
    pub placement: PlacementConfig,
    /// How wear is levelled.
    pub wear: WearConfig,
}

impl PageConfig {
    fn policies<F: Flash>(&self, flash: &F) -> Result<Policies, ConfigError> {
        let size = StoreSize {
            blocks: flash.blocks(),
            pages_per_block: flash.pages_per_block(),
            logical_pages: self.store.logical_pages,
            seed: seed_of_life(self.store.seed, flash),
        };
        let context = PlacementContext { size: &size, temperature: None, foresight: None };
        let victim = self.victim.build_boxed(&size).map_err(|error| error.within("victim"))?;
        let placement = self.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        let levelling = self.wear.build(&size).map_err(|error| error.within("wear"))?;
        Ok(Policies { victim, placement, levelling })
    }
}

impl PageConfig {
    /// The FTL on erased flash, or the setting that cannot work.
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

/// A write is on flash when it returns. Trims leave no trace there: after a power cut a page that was trimmed may hold again
/// what it held before. A group of pages is whole after a cut between two requests; after one in its middle the part of it
/// that was written may be found.
impl<F: Flash> Restart for PageFtl<F> {
    type Flash = F;
    type Remains = Remains<F>;
    type Settings = PageConfig;

    const DURABLE_TRIMS: bool = false;
    const READS_ALL_SPARE_AREAS: bool = true;

    fn into_flash(self) -> Remains<F> {
        self.into_remains()
    }

    fn restart(
        settings: &PageConfig,
        remains: Remains<F>,
    ) -> Result<(Self, RecoveryReport), (LayerError, Remains<F>)> {
        let policies = settings.policies(&remains.flash).expect("the FTL was built with these settings");
        let Policies { victim, placement, levelling } = policies;
        LogStore::recover(settings.store, remains, victim, placement, levelling)
    }

    fn restart_unsaved(
        settings: &PageConfig,
        remains: Remains<F>,
    ) -> Result<(Self, RecoveryReport), (LayerError, Remains<F>)> {
        // It has no battery.
        Self::restart(settings, remains)
    }

    fn reread(_settings: &PageConfig, flash: F, _kept: &mut dyn KeptFlash) -> Result<Remains<F>, KeptError> {
        // All that it keeps in flash is in spare areas.
        Ok(Remains::from(flash))
    }

    fn save(&mut self) -> Result<(), LayerError> {
        Ok(())
    }

    fn has_battery(&self) -> bool {
        false
    }

    fn owes(&self) -> bool {
        false
    }

    fn flash_mut(&mut self) -> &mut F {
        self.medium_mut()
    }

    fn ask(&mut self, migration: Box<dyn Migration<F::Payload>>) -> Result<(), ConfigError> {
        LogStore::ask(self, migration)
    }
}
