//! Observation of the page operations of media, for displays and tests.
//!
//! Operations are recorded only if a medium has an [`EventRecorder`]; recording changes no result.

use super::{Invalidation, InvalidationListener, Run};
use crate::counters::Cause;
use crate::units::{BlockId, Lpn, StreamId};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// An observed operation on pages of a medium.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MediumEvent {
    /// Pages are programmed into `block`, starting at `page`. On segments, this is recorded before the layer below is
    /// written.
    Programmed {
        /// Block of the pages.
        block: BlockId,
        /// Index of the first page in the block.
        page: u32,
        /// Number of pages.
        pages: u32,
        /// Logical page (owner) of each page; empty for a store without page identities. Pages of an FTL's tables
        /// ([`Cause::Translation`] or [`Cause::Validity`]) are numbered separately; [`crate::ftl::hybrid::PADDING`]
        /// marks a page without owner.
        owners: Vec<Lpn>,
        /// Cause of the write.
        cause: Cause,
        /// Append stream of the pages.
        stream: StreamId,
    },
    /// Pages were read.
    Read {
        /// Block of the pages.
        block: BlockId,
        /// Number of pages.
        pages: u32,
        /// Cause of the read.
        cause: Cause,
    },
    /// A block is erased, or a segment freed.
    Erased {
        /// The block.
        block: BlockId,
        /// Cause of the erase.
        cause: Cause,
    },
    /// A page is about to be invalidated by an overwrite or a trim. Not recorded for pages that cleaning moves and, in
    /// FTLs other than logs, for overwritten pages.
    Invalidated(Invalidation),
}

/// Log of the operations on all media of a stack, in order, each with the number of its medium.
///
/// Only one thread uses the media at a time.
#[derive(Clone, Debug, Default)]
pub struct EventLog(Arc<Mutex<Vec<(usize, MediumEvent)>>>);

impl EventLog {
    /// Returns a recorder for the medium with this number.
    pub fn recorder(&self, number: usize) -> EventRecorder {
        EventRecorder { log: self.clone(), number }
    }

    /// Returns the operations recorded since the last call.
    pub fn take(&self) -> Vec<(usize, MediumEvent)> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(usize, MediumEvent)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Recorder for one medium. As an [`InvalidationListener`], it records the invalidated pages of flash.
#[derive(Clone, Debug)]
pub struct EventRecorder {
    log: EventLog,
    number: usize,
}

impl EventRecorder {
    /// Records an operation.
    pub fn record(&self, event: MediumEvent) {
        self.log.lock().push((self.number, event));
    }

    /// Records that a run is programmed.
    pub fn record_run<P>(&self, block: BlockId, page: u32, run: &Run<'_, P>) {
        let owners = run.owners.map(<[Lpn]>::to_vec).unwrap_or_default();
        let (pages, cause, stream) = (run.data.len() as u32, run.cause, run.stream);
        self.record(MediumEvent::Programmed { block, page, pages, owners, cause, stream });
    }

    /// Records invalidated pages.
    pub fn record_invalidations(&self, invalidations: &[Invalidation]) {
        self.log.lock().extend(
            invalidations.iter().map(|invalidation| (self.number, MediumEvent::Invalidated(*invalidation))),
        );
    }
}

impl InvalidationListener for EventRecorder {
    fn on_invalidate(&mut self, invalidations: &[Invalidation]) {
        self.record_invalidations(invalidations);
    }
}
