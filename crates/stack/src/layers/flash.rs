//! The flash of a drive, and how an FTL is put on it, whatever its type.

use super::spec::BuiltLayer;
use crate::device::ResolvedDevice;
use std::marker::PhantomData;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_engine::ftl::{CutSettings, Cycled, Interrupted, Known, Restart, Switched};
use wearwell_engine::layer::{Content, Medium, Payload};
use wearwell_engine::nand::{Flash, Fragile, Nand, Supply};
use wearwell_engine::timing::{Journal, Timed};

/// The flash of a drive, before it is known what its pages hold.
pub struct FlashParts {
    /// The drive.
    pub device: ResolvedDevice,
    /// The root seed.
    pub seed: Seed,
    /// Into which the flash writes what it does, in timed mode.
    pub journal: Option<Journal>,
    /// How its power will be cut.
    pub power: PowerPlan,
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

/// Builds a layer on flash of whatever type.
pub trait BuildOnMedium: Sized {
    /// The layer.
    fn build<M: Medium + 'static>(self, flash: M) -> Result<BuiltLayer<M::Payload>, ConfigError>;
}

/// Builds an FTL that comes back from what is in spare areas, on flash of whatever type.
pub trait BuildOnSpareAreas: Sized {
    /// Whether a battery saves what is in RAM.
    fn has_battery(&self) -> bool {
        false
    }

    /// The same for an FTL of so many logical pages, more than are shown above.
    fn storing(self, logical_pages: u32) -> Self;

    /// The FTL, handed to `finish`.
    fn build<F: Flash + 'static, X: Finish<F>>(
        self,
        flash: F,
        finish: X,
    ) -> Result<BuiltLayer<X::Payload>, ConfigError>;
}

impl FlashParts {
    /// The erased flash.
    pub fn nand<P: Payload>(&self) -> Nand<P> {
        let ResolvedDevice { geometry, wear, faults, .. } = self.device;
        let nand = Nand::new(geometry, wear, self.seed);
        match faults {
            Some(faults) => nand.with_faults(faults, self.seed),
            None => nand,
        }
    }

    /// The same, writing down what it does.
    pub fn timed<P: Payload>(&self) -> Timed<P> {
        self.journaled(self.nand())
    }

    /// `nand`, writing down what it does.
    pub fn journaled<P: Payload>(&self, nand: Nand<P>) -> Timed<P> {
        Timed::new(nand, self.journal.clone().unwrap_or_else(Journal::paused))
    }

    /// Whether it must be told which pages are read, not only how many.
    pub fn reads_by_page(&self) -> bool {
        self.journal.is_some() || self.device.faults.is_some_and(|faults| faults.read_disturb_limit.is_some())
    }

    /// An FTL on flash with spare areas, with a switch if its power is cut from outside.
    pub fn with_spare_areas<P: Payload>(
        &self,
        builder: impl BuildOnSpareAreas,
    ) -> Result<BuiltLayer<P>, ConfigError> {
        let nand = self.nand::<P>().with_spare_area();
        let finish = AsItIs { switched: self.power.cuts() };
        match self.journal.clone() {
            Some(journal) => builder.build(Timed::new(nand, journal), finish),
            None => builder.build(nand, finish),
        }
    }

    /// The same on a supply that is cut, with pages that are known by stamps.
    pub fn on_supply(
        &self,
        builder: impl BuildOnSpareAreas,
        cut: CutSettings,
    ) -> Result<BuiltLayer<()>, ConfigError> {
        let supply = Supply::new(builder.has_battery());
        let journal = self.journal.clone().unwrap_or_else(Journal::paused);
        let timed = Timed::new(self.nand::<Content>().with_spare_area(), journal.clone());
        builder.build(Fragile::new(timed, supply.clone()), Cutting::<()>::new(supply, cut, journal))
    }
}

/// Takes an FTL of whatever type and makes a layer of it.
pub trait Finish<F: Flash> {
    /// What its pages hold.
    type Payload;
    /// The layer of `ftl`, which was built from `settings`; or the setting that does not go with it.
    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltLayer<Self::Payload>, ConfigError>
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

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltLayer<F::Payload>, ConfigError>
    where
        T: Restart<Flash = F> + 'static,
        T::Settings: Send,
    {
        if !self.switched {
            return Ok(BuiltLayer { layer: Box::new(ftl), power: None });
        }
        let switched = Switched::new(Cycled::new(ftl, settings));
        Ok(BuiltLayer { layer: Box::new(switched.clone()), power: Some(Box::new(switched)) })
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

    fn finish<T>(self, ftl: T, settings: T::Settings) -> Result<BuiltLayer<P>, ConfigError>
    where
        T: Restart<Flash = Fragile<G>> + 'static,
        T::Settings: Send,
    {
        let interrupted = Interrupted::<T, P>::new(ftl, settings, self.supply, self.cut, self.journal);
        let switched = Switched::new(interrupted);
        Ok(BuiltLayer { layer: Box::new(switched.clone()), power: Some(Box::new(switched)) })
    }
}
