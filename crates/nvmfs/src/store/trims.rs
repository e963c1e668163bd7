//! Extents that hold nothing any more are trimmed beside requests: a large file that is removed has thousands.

use super::{Store, extents};
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Extents that are trimmed in one piece.
const TRIMMED_AT_ONCE: usize = 8;

/// Extents that are to be trimmed, and are in no use until they are.
pub struct Trims<S> {
    extents: Vec<u32>,
    refused: AtomicU64,
    ssd: Arc<S>,
}

impl<S: Ssd> Trims<S> {
    /// Trims them. A drive that refuses keeps what nobody will read.
    pub fn trim(&self) {
        for &extent in &self.extents {
            let trimmed = self.ssd.trim(extents::first_block(extent), EXTENT_BLOCKS);
            self.refused.fetch_add(u64::from(trimmed.is_err()), Relaxed);
        }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// From now on somebody calls [`Store::begin_trims`] again and again.
    pub fn leave_trims(&mut self) {
        self.trims_beside = self.options.trim;
    }

    /// The next extents that are to be trimmed while others use the file system.
    pub fn begin_trims(&mut self) -> Option<Trims<S>> {
        let extents = self.extents.take_to_trim(TRIMMED_AT_ONCE);
        let trims = Trims { extents, refused: AtomicU64::new(0), ssd: Arc::clone(&self.ssd) };
        (!trims.extents.is_empty()).then_some(trims)
    }

    /// They were trimmed, and are free.
    pub fn end_trims(&mut self, trims: Trims<S>) {
        let refused = trims.refused.load(Relaxed);
        self.counts.trimmed_blocks += (trims.extents.len() as u64 - refused) * EXTENT_BLOCKS;
        self.counts.refused_trims += refused;
        trims.extents.into_iter().for_each(|extent| self.extents.trimmed(extent));
    }

    /// Does now what is left of it.
    pub(super) fn trim_rest(&mut self) {
        while let Some(trims) = self.begin_trims() {
            trims.trim();
            self.end_trims(trims);
        }
    }
}
