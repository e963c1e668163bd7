//! Checkpoints: metadata pages that a log writes periodically and before a flush.

use super::directory::Directory;
use super::store::LogStore;
use crate::counters::Cause;
use crate::layer::{LayerError, Medium, MediumExt};
use crate::placement::Placement;
use crate::units::{Lpn, StreamId};
use crate::victim::VictimPolicy;

/// Pages of the checkpoint being written. The buffers are reused by all checkpoints.
#[derive(Debug)]
pub(super) struct Checkpoint<P> {
    pages: Vec<Lpn>,
    data: Vec<P>,
}

impl<P> Default for Checkpoint<P> {
    fn default() -> Self {
        Checkpoint { pages: Vec::new(), data: Vec::new() }
    }
}

impl<M: Medium, D: Directory, V: VictimPolicy, P: Placement> LogStore<M, D, V, P> {
    /// Returns the smaller of `length` and the number of pages that the host may write before the next checkpoint.
    /// The position of a checkpoint must not depend on how writes are split into batches.
    #[inline(always)]
    pub(super) fn limit_to_checkpoint(&self, cause: Cause, length: usize) -> usize {
        if cause == Cause::Host {
            let until = self.pool.medium.pages_until_checkpoint().max(1);
            length.min(usize::try_from(until).unwrap_or(usize::MAX))
        } else {
            length
        }
    }

    /// Returns the stream of metadata pages: the separate metadata stream, if there is one; otherwise the placement's
    /// fixed host stream, if there is one; otherwise stream 0.
    pub(super) fn metadata_stream(&self) -> StreamId {
        let metadata_stream = StreamId(self.placement.streams());
        if self.has_metadata_stream() {
            metadata_stream
        } else {
            self.placement.host_stream().unwrap_or(StreamId(0))
        }
    }

    /// True if metadata pages have a separate stream, numbered after the placement's streams.
    pub(super) fn has_metadata_stream(&self) -> bool {
        self.pool.medium.layer_below().is_some() && self.streams() > self.placement.streams()
    }

    /// Writes a checkpoint if one is due: appends the metadata pages that the medium lists, and then lets the medium
    /// write the other pages.
    #[inline(always)]
    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), LayerError> {
        if self.pool.medium.pages_until_checkpoint() > 0 { Ok(()) } else { self.checkpoint() }
    }

    /// Writes a checkpoint between two victims, if one is due because of the number of cleaned segments.
    #[inline(always)]
    pub(super) fn checkpoint_during_cleaning(&mut self) -> Result<(), LayerError> {
        if self.is_checkpoint_during_cleaning || !self.pool.medium.is_checkpoint_due_to_cleaning() {
            return Ok(());
        }
        self.is_checkpoint_during_cleaning = true;
        let result = self.checkpoint();
        self.is_checkpoint_during_cleaning = false;
        result
    }

    /// True during a checkpoint between two victims if the reserve has an erased block left, so that the checkpoint
    /// itself does not need to clean.
    pub(super) fn can_spare_block_during_checkpoint(&self) -> bool {
        self.is_checkpoint_during_cleaning && self.pool.erased.len() > 1
    }

    fn checkpoint(&mut self) -> Result<(), LayerError> {
        self.write_metadata(|medium, pages| {
            medium.begin_checkpoint(pages);
            true
        })
    }

    /// Writes the metadata that must be on flash before a flush completes.
    pub(super) fn write_before_flush(&mut self) -> Result<(), LayerError> {
        if self.pool.medium.layer_below().is_none() {
            return Ok(());
        }
        self.write_metadata(M::begin_flush)
    }

    /// Appends the pages that `begin` lists. Ends the checkpoint if `begin` returns true.
    fn write_metadata(
        &mut self,
        begin: impl FnOnce(&mut M, &mut Vec<Lpn>) -> bool,
    ) -> Result<(), LayerError> {
        let Checkpoint { mut pages, mut data } = std::mem::take(&mut self.checkpoint);
        pages.clear();
        let is_checkpoint = begin(&mut self.pool.medium, &mut pages);
        data.resize(pages.len(), M::Payload::default());
        let written = match pages.is_empty() {
            true => Ok(()),
            false => self.append_run(self.metadata_stream(), &pages, &data, Cause::LogMetadata),
        };
        self.checkpoint = Checkpoint { pages, data };
        written?;
        if is_checkpoint { Ok(self.pool.medium.end_checkpoint()?) } else { Ok(()) }
    }

    /// Returns the number of metadata pages stored in the log.
    pub(super) fn mapped_metadata(&self) -> u32 {
        let first = self.config.logical_pages;
        let metadata_pages = first..first + self.pool.medium.metadata_pages();
        metadata_pages.filter(|&page| self.directory.block_of(Lpn(page)).is_some()).count() as u32
    }
}
