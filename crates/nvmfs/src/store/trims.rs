//! Trimming of empty extents concurrently with requests: removing a large file empties thousands of extents.

use super::{Store, extents};
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Number of extents trimmed in one step.
const EXTENTS_PER_TRIM: usize = 8;

/// Extents to trim; they are not in use.
pub struct Trims<S> {
    extents: Vec<u32>,
    refused: AtomicU64,
    ssd: Arc<S>,
}

impl<S: Ssd> Trims<S> {
    /// Trims the extents. If the drive refuses, it retains data that is never read.
    pub fn trim(&self) {
        for &extent in &self.extents {
            let trimmed = self.ssd.trim(extents::first_block(extent), EXTENT_BLOCKS);
            self.refused.fetch_add(u64::from(trimmed.is_err()), Relaxed);
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Enables concurrent trimming. From then on, the caller must call [`Store::begin_trims`] repeatedly.
    pub fn enable_concurrent_trims(&mut self) {
        self.trims_concurrently = self.options.trim;
    }

    /// Returns the next extents to trim concurrently with other operations.
    pub fn begin_trims(&mut self) -> Option<Trims<S>> {
        let extents = self.extents.take_to_trim(EXTENTS_PER_TRIM);
        let trims = Trims { extents, refused: AtomicU64::new(0), ssd: Arc::clone(&self.ssd) };
        (!trims.extents.is_empty()).then_some(trims)
    }

    /// Returns trimmed extents to the free extents.
    pub fn end_trims(&mut self, trims: Trims<S>) {
        let refused = trims.refused.load(Relaxed);
        self.counts.trimmed_blocks += (trims.extents.len() as u64 - refused) * EXTENT_BLOCKS;
        self.counts.refused_trims += refused;
        trims.extents.into_iter().for_each(|extent| self.extents.mark_trimmed(extent));
    }

    /// Performs all remaining trims.
    pub(super) fn finish_trims(&mut self) {
        while let Some(trims) = self.begin_trims() {
            trims.trim();
            self.end_trims(trims);
        }
    }
}
