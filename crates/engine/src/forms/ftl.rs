//! FTLs that keep notes in spare areas, with their types filled in.

use crate::config::ConfigError;
use crate::ftl::hybrid::HybridSettings;
use crate::ftl::page::PageConfig;
use crate::ftl::paged::{Durability, PagedFtl, PagedSettings, Policies};
use crate::ftl::{CutSettings, Cycled, Interrupted, Known, PowerCycle, Restart, Switched};
use crate::layer::Content;
use crate::log::BoxedLayer;
use crate::nand::{Flash, Fragile, Nand, Supply};
use crate::timing::{Journal, Timed};
use std::marker::PhantomData;

/// Which FTL is built, and from what.
pub enum FtlPlan {
    /// The log whose map is in RAM.
    Page(PageConfig),
    /// A map of blocks, and log blocks.
    Hybrid(HybridSettings),
    /// A map of pages that is in flash.
    Paged(PagedSettings, Policies),
}

/// How the power of a drive will be cut.
#[derive(Clone, Debug, Default)]
pub enum PowerPlan {
    /// Not at all.
    #[default]
    None,
    /// From outside, between two requests.
    AtEnd,
    /// In the middle of its work.
    AtWork(CutSettings),
}

impl PowerPlan {
    /// Whether there are cuts.
    pub fn cuts(&self) -> bool {
        !matches!(self, PowerPlan::None)
    }
}

/// An FTL that is built.
pub struct BuiltFtl<P> {
    /// The FTL.
    pub layer: BoxedLayer<P>,
    /// What cuts its power, where that was asked for.
    pub power: Option<Box<dyn PowerCycle>>,
}

impl FtlPlan {
    /// Whether a battery saves what is in RAM.
    pub fn has_battery(&self) -> bool {
        matches!(self, FtlPlan::Paged(settings, _) if settings.config.durability == Durability::Battery)
    }

    /// The FTL on erased flash with spare areas.
    pub(super) fn on<F: Flash + 'static, X: Finish<F>>(
        self,
        flash: F,
        finish: X,
    ) -> Result<BuiltFtl<X::Payload>, ConfigError> {
        match self {
            FtlPlan::Page(config) => finish.finish(config.build(flash)?, config),
            FtlPlan::Hybrid(settings) => finish.finish(settings.build(flash)?, settings),
            FtlPlan::Paged(settings, policies) => {
                finish.finish(PagedFtl::new(settings.config.clone(), flash, policies)?, settings)
            }
        }
    }
}

/// Takes an FTL of whatever type and makes a layer of it.
pub(super) trait Finish<F: Flash> {
    /// What its pages hold.
    type Payload;
    /// The layer of `ftl`, which was built from `settings`; or the setting that does not go with it.
    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<Self::Payload>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send;
}

/// As it is, or with a switch.
pub(super) struct AsItIs {
    pub switched: bool,
}

impl<F: Flash> Finish<F> for AsItIs {
    type Payload = F::Payload;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<F::Payload>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        if !self.switched {
            return Ok(BuiltFtl { layer: Box::new(ftl), power: None });
        }
        let switched = Switched::new(Cycled::new(ftl, settings));
        Ok(BuiltFtl { layer: Box::new(switched.clone()), power: Some(Box::new(switched)) })
    }
}

/// On a supply that is cut, below a layer whose pages hold `P`.
pub(super) struct Cutting<P> {
    supply: Supply,
    cut: CutSettings,
    journal: Journal,
    holds: PhantomData<P>,
}

impl<P> Cutting<P> {
    pub fn new(supply: Supply, cut: CutSettings, journal: Journal) -> Self {
        Cutting { supply, cut, journal, holds: PhantomData }
    }
}

impl<G: 'static, P: Known> Finish<Fragile<G>> for Cutting<P>
where
    Fragile<G>: Flash<Payload = Content>,
{
    type Payload = P;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<P>, ConfigError>
    where
        T: Restart<Flash = Fragile<G>> + 'static,
        T::Settings: Send,
    {
        let interrupted = Interrupted::<T, P>::new(ftl, settings, self.supply, self.cut, self.journal);
        let switched = Switched::new(interrupted);
        Ok(BuiltFtl { layer: Box::new(switched.clone()), power: Some(Box::new(switched)) })
    }
}

/// An FTL on flash with spare areas and a supply that is cut, with pages that are known by stamps; the flash writes into `journal`.
pub fn ftl_on_supply(
    flash: Nand<Content>,
    plan: FtlPlan,
    cut: CutSettings,
    journal: Journal,
) -> Result<BuiltFtl<()>, ConfigError> {
    let supply = Supply::new(plan.has_battery());
    let timed = Timed::new(flash, journal.clone());
    plan.on(Fragile::new(timed, supply.clone()), Cutting::<()>::new(supply, cut, journal))
}
