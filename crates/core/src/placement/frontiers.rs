//! The blind placements: one write frontier for everything, or one for the host and one for cleaning.

use super::{PageContext, Placement};
use crate::counters::Cause;
use crate::units::StreamId;

/// Stream 0 takes host writes; cleaned pages go to `cleaning`.
#[derive(Clone, Copy, Debug)]
pub struct Frontiers {
    cleaning: StreamId,
}

impl Frontiers {
    /// One frontier for everything.
    pub fn single() -> Self {
        Frontiers { cleaning: StreamId(0) }
    }

    /// One frontier for the host and one for cleaning.
    pub fn double() -> Self {
        Frontiers { cleaning: StreamId(1) }
    }
}

impl Placement for Frontiers {
    fn streams(&self) -> u8 {
        self.cleaning.0 + 1
    }

    #[inline(always)]
    fn host_stream(&self) -> Option<StreamId> {
        Some(StreamId(0))
    }

    #[inline(always)]
    fn cleaning_stream(&self) -> Option<StreamId> {
        Some(self.cleaning)
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause == Cause::Host { StreamId(0) } else { self.cleaning }
    }
}
