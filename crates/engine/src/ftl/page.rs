//! The page-mapped FTL whose map is in RAM: a log on flash that comes back after a power cut by reading all spare areas.

use super::Restart;
use crate::config::{ConfigError, StoreSize};
use crate::layer::{LayerError, RecoveryReport};
use crate::log::{LogStore, PageTable, Reclaim, StoreConfig};
use crate::nand::Flash;
use crate::placement::{Placement, PlacementConfig, PlacementContext};
use crate::victim::{VictimConfig, VictimPolicy};

/// A page-mapped FTL on flash with spare areas: the log itself, its policies behind pointers.
pub type PageFtl<F> = LogStore<F, PageTable, Box<dyn VictimPolicy>, Box<dyn Placement>>;

/// What a store decides by.
type Policies = (Box<dyn VictimPolicy>, Box<dyn Placement>);

/// What a page-mapped FTL is built from.
#[derive(Clone, Debug)]
pub struct PageConfig {
    /// The store; its `reclaim` must be a pool.
    pub store: StoreConfig,
    /// Which block is cleaned next.
    pub victim: VictimConfig,
    /// Which stream a page goes to.
    pub placement: PlacementConfig,
}

impl PageConfig {
    fn policies<F: Flash>(&self, flash: &F) -> Result<Policies, ConfigError> {
        let size = StoreSize {
            blocks: flash.blocks(),
            pages_per_block: flash.pages_per_block(),
            logical_pages: self.store.logical_pages,
            seed: self.store.seed,
        };
        let context = PlacementContext { size: &size, temperature: None };
        let victim = self.victim.build_boxed(&size).map_err(|error| error.within("victim"))?;
        let placement = self.placement.build_boxed(context).map_err(|error| error.within("placement"))?;
        Ok((victim, placement))
    }
}

impl PageConfig {
    /// The FTL on erased flash, or the setting that cannot work.
    pub fn build<F: Flash>(&self, flash: F) -> Result<PageFtl<F>, ConfigError> {
        if self.store.reclaim == Reclaim::InPlace {
            let problem = "in_place keeps pages in RAM alone while it cleans; use free_pool";
            return Err(ConfigError::new("reclaim", problem));
        }
        let (victim, placement) = self.policies(&flash)?;
        let directory = PageTable::new(self.store.logical_pages, flash.blocks(), flash.pages_per_block());
        LogStore::new(self.store, flash, directory, victim, placement)
    }
}

/// A write is on flash when it returns. Trims leave no trace there: after a power cut a page that was trimmed may hold again
/// what it held before. A group of pages is whole after a cut between two requests; after one in its middle the part of it
/// that was written may be found.
impl<F: Flash> Restart for PageFtl<F> {
    type Flash = F;
    type Remains = F;
    type Settings = PageConfig;

    const DURABLE_TRIMS: bool = false;

    fn into_flash(self) -> F {
        self.into_medium()
    }

    fn restart(settings: &PageConfig, remains: F) -> Result<(Self, RecoveryReport), (LayerError, F)> {
        let (victim, placement) = settings.policies(&remains).expect("the FTL was built with these settings");
        LogStore::recover(settings.store, remains, victim, placement)
    }

    fn save(&mut self) -> Result<(), LayerError> {
        Ok(())
    }
}
