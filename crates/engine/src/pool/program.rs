//! Operations on the medium: programs, counted by cause, and erases.

use super::{Frontier, Pool};
use crate::counters::{Cause, Operation};
use crate::layer::{Group, LayerError, Medium, MediumError, Run};
use crate::units::{BlockId, Lpn, StreamId};
use crate::victim::VictimPolicy;

/// Purpose of appended pages: the cause, and the note for the spare areas of the pages.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Purpose {
    /// Cause.
    pub cause: Cause,
    /// Number that the store saves in the spare areas of the block; 0 if unused.
    pub note: u64,
}

impl From<Cause> for Purpose {
    fn from(cause: Cause) -> Self {
        Purpose { cause, note: 0 }
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Programs a run at `frontier`, counts the run, and records moved pages. After a failure,
    /// [`Pool::programmed_before_failure`] returns the number of pages written.
    #[inline(always)]
    pub(crate) fn program(
        &mut self,
        stream: StreamId,
        frontier: Frontier,
        owners: Option<&[Lpn]>,
        data: &[M::Payload],
        purpose: impl Into<Purpose>,
    ) -> Result<(), LayerError> {
        let purpose = purpose.into();
        self.program_unrecorded(stream, frontier, owners, data, purpose)?;
        if self.moves.is_enabled() {
            self.record_moves(owners, purpose.cause);
        }
        Ok(())
    }

    /// Programs a run like [`Pool::program`], but leaves the recording of moves to the caller.
    #[inline(always)]
    pub(crate) fn program_unrecorded(
        &mut self,
        stream: StreamId,
        frontier: Frontier,
        owners: Option<&[Lpn]>,
        data: &[M::Payload],
        Purpose { cause, note }: Purpose,
    ) -> Result<(), LayerError> {
        let group = if self.in_group { self.group_position(data.len()) } else { Group::None };
        let run = Run { owners, data, sequence: self.sequence, cause, stream, group, note };
        self.medium.program(frontier.block, frontier.page, run)?;
        self.sequence += data.len() as u64;
        self.counters.add_outgoing(cause, Operation::Write, data.len() as u64);
        if self.reports_programs {
            self.report_programs(frontier, owners, cause);
        }
        Ok(())
    }

    /// Returns the position of a run of `pages` pages in the current atomic group.
    #[inline(never)]
    fn group_position(&mut self, pages: usize) -> Group {
        let group = match self.group_left {
            0 => Group::None,
            left if left == pages => Group::Ends,
            _ => Group::Continues,
        };
        self.group_left = self.group_left.saturating_sub(pages);
        group
    }

    #[inline(never)]
    fn report_programs(&mut self, frontier: Frontier, owners: Option<&[Lpn]>, cause: Cause) {
        if let Some(owners) = owners {
            self.victim.programmed(frontier.block, frontier.page, owners, cause, &self.blocks);
        }
    }

    #[inline(never)]
    fn record_moves(&mut self, owners: Option<&[Lpn]>, cause: Cause) {
        if let Some(owners) = owners {
            self.moves.programmed(owners, cause);
        }
    }

    /// Counts the pages that were written at the beginning of a run of `pages` pages before it failed with `error`, and
    /// returns their number. The caller must set the block aside. Returns an error if the pool does not survive failed
    /// programs.
    #[cold]
    pub(crate) fn programmed_before_failure(
        &mut self,
        frontier: Frontier,
        (owners, pages): (Option<&[Lpn]>, usize),
        cause: Cause,
        error: LayerError,
    ) -> Result<usize, LayerError> {
        let LayerError::Medium(MediumError::ProgramFailed { page: failed, .. }) = error else {
            return Err(error);
        };
        if !self.survives_failed_programs {
            return Err(error);
        }
        let programmed = (failed - frontier.page) as usize;
        if self.in_group {
            self.group_left += pages - programmed;
        }
        self.sequence += pages as u64;
        self.counters.add_outgoing(cause, Operation::Write, programmed as u64);
        self.record_moves(owners.map(|owners| &owners[..programmed]), cause);
        if self.reports_programs {
            self.report_programs(frontier, owners.map(|owners| &owners[..programmed]), cause);
        }
        Ok(programmed)
    }

    /// Counts the pages that the layer below accepted at the beginning of a run before its write failed with `error`, and
    /// returns their number; 0 on flash and for any other error.
    #[cold]
    pub(crate) fn accepted_before_failure(
        &mut self,
        frontier: Frontier,
        owners: Option<&[Lpn]>,
        cause: Cause,
        error: &LayerError,
    ) -> usize {
        let LayerError::Medium(MediumError::Lower(_)) = error else { return 0 };
        let Some(below) = self.medium.layer_below() else { return 0 };
        let accepted = (below.written_in(frontier.block) - frontier.page) as usize;
        self.sequence += accepted as u64;
        self.counters.add_outgoing(cause, Operation::Write, accepted as u64);
        self.record_moves(owners.map(|owners| &owners[..accepted]), cause);
        if self.reports_programs {
            self.report_programs(frontier, owners.map(|owners| &owners[..accepted]), cause);
        }
        accepted
    }

    /// Begins an atomic group of the next `pages` pages: after a power cut, either all or none of these pages are
    /// valid.
    pub(crate) fn begin_group(&mut self, pages: usize) {
        (self.group_left, self.in_group) = (pages, true);
    }

    /// Ends the atomic group, which is either complete or abandoned.
    pub(crate) fn end_group(&mut self) {
        (self.group_left, self.in_group) = (0, false);
    }

    /// Erases `block` without returning it to the pool; returns false if the erase wore it out.
    pub(crate) fn erase(&mut self, block: BlockId, cause: Cause) -> Result<bool, LayerError> {
        self.read_wear_before_erase(block);
        match self.medium.erase(block, cause) {
            Ok(()) => {
                self.counters.add_outgoing(cause, Operation::Erase, 1);
                self.blocks.erased(block);
                self.report_erase(block);
                Ok(true)
            }
            Err(MediumError::WornOut { .. }) => {
                self.blocks.erased(block);
                self.usable_blocks -= 1;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Returns a block without needed data to the pool: erases it or, if a program failed in it, retires it. Returns
    /// true if it was erased.
    pub(crate) fn reclaim(&mut self, block: BlockId, cause: Cause) -> Result<bool, LayerError> {
        if self.take_failed(block) {
            self.retire(block);
            return Ok(false);
        }
        let erased = self.erase(block, cause)?;
        if erased {
            self.erased.push_back(block);
        }
        Ok(erased)
    }
}
