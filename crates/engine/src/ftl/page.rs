//! The page-mapped FTL whose map is in RAM: a log on flash that comes back after a power cut by reading all spare areas.

use super::Restart;
use crate::config::{ConfigError, StoreSize};
use crate::layer::{Layer, LayerError, RecoveryReport, Reports};
use crate::log::{LogStore, PageTable, Reclaim, StoreConfig};
use crate::nand::Flash;
use crate::placement::{Placement, PlacementConfig, PlacementContext};
use crate::units::Lpn;
use crate::victim::{VictimConfig, VictimPolicy};

/// The store below: policies behind pointers.
pub type PageStore<F> = LogStore<F, PageTable, Box<dyn VictimPolicy>, Box<dyn Placement>>;

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

/// A page-mapped FTL on flash with spare areas.
///
/// A write is on flash when it returns. Trims leave no trace there: after a power cut a page that was trimmed may hold again
/// what it held before. Groups of pages cannot be written atomically.
pub struct PageFtl<F: Flash> {
    store: PageStore<F>,
}

impl<F: Flash> PageFtl<F> {
    /// An FTL on erased flash, or the setting that cannot work.
    pub fn new(config: &PageConfig, flash: F) -> Result<Self, ConfigError> {
        if config.store.reclaim == Reclaim::InPlace {
            let problem = "in_place keeps pages in RAM alone while it cleans; use free_pool";
            return Err(ConfigError::new("reclaim", problem));
        }
        let (victim, placement) = config.policies(&flash)?;
        let directory = PageTable::new(config.store.logical_pages, flash.blocks(), flash.pages_per_block());
        let store = LogStore::new(config.store, flash, directory, victim, placement)?;
        Ok(PageFtl { store })
    }

    /// The store.
    pub fn store(&self) -> &PageStore<F> {
        &self.store
    }
}

impl<F: Flash> Layer<F::Payload> for PageFtl<F> {
    fn logical_pages(&self) -> u32 {
        self.store.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[F::Payload], hint: u16) -> Result<(), LayerError> {
        self.store.write(pages, data, hint)
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<F::Payload>) -> Result<(), LayerError> {
        self.store.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.store.trim(pages)
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.store.flush()
    }

    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Layer::clean_ahead(&mut self.store)
    }

    fn describe(&self, reports: &mut Reports) {
        self.store.describe(reports);
    }

    fn final_draw(&mut self) -> u64 {
        self.store.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.store.check()
    }
}

impl<F: Flash> Restart for PageFtl<F> {
    type Flash = F;
    type Remains = F;
    type Settings = PageConfig;

    const DURABLE_TRIMS: bool = false;

    fn into_flash(self) -> F {
        self.store.into_medium()
    }

    fn restart(settings: &PageConfig, remains: F) -> Result<(Self, RecoveryReport), (LayerError, F)> {
        let (victim, placement) = settings.policies(&remains).expect("the FTL was built with these settings");
        let (store, report) = LogStore::recover(settings.store, remains, victim, placement)?;
        Ok((PageFtl { store }, report))
    }

    fn save(&mut self) -> Result<(), LayerError> {
        Ok(())
    }
}
