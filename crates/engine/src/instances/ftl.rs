//! Monomorphised FTLs that keep notes in spare areas.

use crate::config::ConfigError;
use crate::ftl::hybrid::HybridSettings;
use crate::ftl::page::PageConfig;
use crate::ftl::paged::{Durability, PagedFtl, PagedSettings, Policies};
use crate::ftl::{
    CutSettings, IdentifiedPayload, PowerCutFtl, PowerCycle, PowerCycledFtl, Restart, SwitchableLayer,
};
use crate::layer::ContentId;
use crate::log::BoxedLayer;
use crate::nand::{Flash, Nand, PowerCutFlash, PowerSource};
use crate::timing::{Journal, RecordingNand};
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
    BetweenRequests,
    /// During operations.
    DuringOperations(CutSettings),
}

impl PowerPlan {
    /// True if there are power cuts.
    pub fn has_cuts(&self) -> bool {
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
pub(super) struct PlainFinish {
    pub has_power_switch: bool,
}

impl<F: Flash> Finish<F> for PlainFinish {
    type Payload = F::Payload;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<F::Payload>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        if !self.has_power_switch {
            return Ok(BuiltFtl { layer: Box::new(ftl), power: None });
        }
        let switched = SwitchableLayer::new(PowerCycledFtl::new(ftl, settings));
        Ok(BuiltFtl { layer: Box::new(switched.clone()), power: Some(Box::new(switched)) })
    }
}

/// Conversion on a power source that is cut, below a layer with payload `P`.
pub(super) struct PowerCutFinish<P> {
    power: PowerSource,
    cut: CutSettings,
    journal: Journal,
    payload: PhantomData<P>,
}

impl<P> PowerCutFinish<P> {
    pub fn new(power: PowerSource, cut: CutSettings, journal: Journal) -> Self {
        PowerCutFinish { power, cut, journal, payload: PhantomData }
    }
}

impl<G: 'static, P: IdentifiedPayload> Finish<PowerCutFlash<G>> for PowerCutFinish<P>
where
    PowerCutFlash<G>: Flash<Payload = ContentId>,
{
    type Payload = P;

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltFtl<P>, ConfigError>
    where
        T: Restart<Flash = PowerCutFlash<G>> + 'static,
        T::Settings: Send,
    {
        let interrupted = PowerCutFtl::<T, P>::new(ftl, settings, self.power, self.cut, self.journal);
        let switched = SwitchableLayer::new(interrupted);
        Ok(BuiltFtl { layer: Box::new(switched.clone()), power: Some(Box::new(switched)) })
    }
}

/// Builds an FTL on flash with spare areas and a power source that is cut, with pages identified by stamps; the flash
/// records its operations in `journal`.
pub fn ftl_on_power_source(
    flash: Nand<ContentId>,
    plan: FtlPlan,
    cut: CutSettings,
    journal: Journal,
) -> Result<BuiltFtl<()>, ConfigError> {
    let power = PowerSource::new(plan.has_battery());
    let recording = RecordingNand::new(flash, journal.clone());
    plan.on(PowerCutFlash::new(recording, power.clone()), PowerCutFinish::<()>::new(power, cut, journal))
}
