//! State of a pool that survives a power cut.

use super::Pool;
use crate::layer::Medium;
use crate::victim::VictimPolicy;

/// Flash, with the wear data in the spare areas that [`SurvivingFlash::flash`] does not track.
pub struct SurvivingFlash<F> {
    /// The flash.
    pub flash: F,
    /// Erase timestamps of the blocks; empty without wear levelling.
    pub erased_at: Vec<u32>,
}

impl<F> From<F> for SurvivingFlash<F> {
    /// Converts flash that is used without wear levelling.
    fn from(flash: F) -> Self {
        SurvivingFlash { flash, erased_at: Vec::new() }
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Returns the state that survives the loss of all RAM.
    pub(crate) fn into_surviving_flash(self) -> SurvivingFlash<M> {
        let erased_at = self.levelling.map_or_else(Vec::new, |levelling| levelling.into_erased_at());
        SurvivingFlash { flash: self.medium, erased_at }
    }
}
