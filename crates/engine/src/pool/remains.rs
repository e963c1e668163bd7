//! What a power cut leaves of a pool.

use super::Pool;
use crate::layer::Medium;
use crate::victim::VictimPolicy;

/// The flash, and what its spare areas say of wear beyond what flash counts itself.
pub struct Remains<F> {
    /// The flash.
    pub flash: F,
    /// Erase timestamps of the blocks; empty where wear is not levelled.
    pub erased_at: Vec<u32>,
}

impl<F> From<F> for Remains<F> {
    /// Flash whose wear was never levelled.
    fn from(flash: F) -> Self {
        Remains { flash, erased_at: Vec::new() }
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// What is left when everything in RAM is lost.
    pub(crate) fn into_remains(self) -> Remains<M> {
        let erased_at = self.levelling.map_or_else(Vec::new, |levelling| levelling.into_erased_at());
        Remains { flash: self.medium, erased_at }
    }
}
