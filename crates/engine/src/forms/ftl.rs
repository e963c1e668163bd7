//! Monomorphised FTLs that keep notes in spare areas.

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

/// FTL to build, with its settings.
pub enum FtlPlan {
    /// Log with its map in RAM.
    Page(PageConfig),
    /// Hybrid FTL: block map and log blocks.
    Hybrid(HybridSettings),
    /// FTL with a page map in flash.
    Paged(PagedSettings, Policies),
}

/// Power cuts of a drive.
#[derive(Clone, Debug, Default)]
pub enum PowerPlan {
    /// No power cuts.
    #[default]
    None,
    /// From outside, between two requests.
    AtEnd,
    /// During operations.
    AtWork(CutSettings),
}

impl PowerPlan {
    /// True if there are power cuts.
    pub fn cuts(&self) -> bool {
        !matches!(self, PowerPlan::None)
    }
}

/// A built FTL.
pub struct BuiltFtl<P> {
    /// The FTL.
    pub layer: BoxedLayer<P>,
    /// Power switch, if requested.
    pub power: Option<Box<dyn PowerCycle>>,
}

impl FtlPlan {
    /// True if a battery saves the content of RAM.
    pub fn has_battery(&self) -> bool {
        matches!(self, FtlPlan::Paged(settings, _) if settings.config.durability == Durability::Battery)
    }

    /// Builds the FTL on erased flash with spare areas.
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

/// Converts an FTL of any type to a layer.
pub(super) trait Finish<F: Flash> {
    /// Payload of its pages.
    type Payload;
    /// Converts `ftl`, which was built from `settings`, to a layer; the error names a setting that is incompatible.
    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<Self::Payload>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send;
}

/// Conversion without changes, or with a power switch.
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

/// Conversion on a power source that is cut, below a layer with payload `P`.
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

/// Builds an FTL on flash with spare areas and a power source that is cut, with pages identified by stamps; the flash
/// records its operations in `journal`.
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
