//! Checkpoints: what a log writes of its own metadata from time to time, and before a flush.

use super::directory::Directory;
use super::store::LogStore;
use crate::counters::Cause;
use crate::layer::{LayerError, Medium, MediumExt};
use crate::placement::Placement;
use crate::units::{Lpn, StreamId};
use crate::victim::VictimPolicy;

/// Pages of a checkpoint on their way. Kept between checkpoints to keep its memory.
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
    /// `length` or, if that is fewer, the pages that the host may write before a checkpoint: where it falls must not
    /// depend on how writes are cut into batches.
    #[inline(always)]
    pub(super) fn until_checkpoint(&self, cause: Cause, length: usize) -> usize {
        if cause == Cause::Host {
            let until = self.pool.medium.until_checkpoint().max(1);
            length.min(usize::try_from(until).unwrap_or(usize::MAX))
        } else {
            length
        }
    }

    /// The stream of the log's own pages: their own or, if they have none, the host's or, if it has several, the first.
    pub(super) fn metadata_stream(&self) -> StreamId {
        let own = StreamId(self.placement.streams());
        if self.has_own_stream() { own } else { self.placement.host_stream().unwrap_or(StreamId(0)) }
    }

    /// Whether the log's own pages have a stream of their own, the one after those of the placement.
    pub(super) fn has_own_stream(&self) -> bool {
        self.pool.medium.layer_below().is_some() && self.streams() > self.placement.streams()
    }

    /// Appends what the medium wants in the log and lets it write the rest.
    #[inline(always)]
    pub(super) fn checkpoint_if_due(&mut self) -> Result<(), LayerError> {
        if self.pool.medium.until_checkpoint() > 0 { Ok(()) } else { self.checkpoint() }
    }

    /// Takes the checkpoint that cleaning calls for, between two victims.
    #[inline(always)]
    pub(super) fn checkpoint_amid_cleaning(&mut self) -> Result<(), LayerError> {
        if self.checkpoints_amid_cleaning || !self.pool.medium.cleaning_calls_for_checkpoint() {
            return Ok(());
        }
        self.checkpoints_amid_cleaning = true;
        let done = self.checkpoint();
        self.checkpoints_amid_cleaning = false;
        done
    }

    /// Whether pages of such a checkpoint can go to an erased block that is there, and need none to be cleaned for it.
    pub(super) fn spares_block_amid_cleaning(&self) -> bool {
        self.checkpoints_amid_cleaning && self.pool.erased.len() > 1
    }

    fn checkpoint(&mut self) -> Result<(), LayerError> {
        self.write_own(|medium, pages| {
            medium.begin_checkpoint(pages);
            true
        })
    }

    /// Writes what a flush must find written.
    pub(super) fn write_before_flush(&mut self) -> Result<(), LayerError> {
        if self.pool.medium.layer_below().is_none() {
            return Ok(());
        }
        self.write_own(M::begin_flush)
    }

    /// Appends the pages that `begin` hands over, and ends the checkpoint that it says has begun.
    fn write_own(&mut self, begin: impl FnOnce(&mut M, &mut Vec<Lpn>) -> bool) -> Result<(), LayerError> {
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

    /// Pages of metadata that are in the log.
    pub(super) fn mapped_metadata(&self) -> u32 {
        let first = self.config.logical_pages;
        let own = first..first + self.pool.medium.metadata_pages();
        own.filter(|&page| self.directory.block_of(Lpn(page)).is_some()).count() as u32
    }
}
