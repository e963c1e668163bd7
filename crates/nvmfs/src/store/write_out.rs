//! Write-through and periodic write-out. These caching modes serve for comparison: they write dirty pages to the SSD
//! immediately or periodically, even if NVRAM has free space.
//!
//! The period is a number of blocks that users write and not a time, so that equal runs have equal results on any
//! machine.

use super::Store;
use super::pages::State;
use crate::nvram::Nvram;
use crate::options::Caching;
use crate::ssd::Ssd;

/// Progress of a write-out.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteOut {
    /// Number of blocks that users had written at the start of the last write-out.
    started_at: u64,
    /// Number of dirty pages that this write-out still has to write. Without threads, all these pages are written
    /// before any other operation.
    remaining: u32,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// True if dirty pages must be written even if NVRAM has free space.
    pub(super) fn is_write_out_due(&self) -> bool {
        let due = match self.options.caching {
            Caching::WriteBack => false,
            Caching::WriteThrough => true,
            Caching::Periodic => self.write_out.remaining > 0 || self.is_period_over(),
        };
        due && self.pages.count(State::Dirty) > 0
    }

    fn is_period_over(&self) -> bool {
        let share = self.options.write_out_share().unwrap_or(f64::INFINITY);
        let period = (f64::from(self.pages.data_pages()) * share).max(1.0);
        (self.counts.written_blocks - self.write_out.started_at) as f64 >= period
    }

    /// Starts a write-out of all dirty pages if a period is over; called before dirty pages are selected.
    pub(super) fn begin_write_out(&mut self) {
        if self.options.caching == Caching::Periodic && self.write_out.remaining == 0 && self.is_period_over()
        {
            let dirty = self.pages.count(State::Dirty);
            self.write_out = WriteOut { started_at: self.counts.written_blocks, remaining: dirty };
        }
    }

    /// Records that `pages` further pages of the write-out are in flight. With 0, the write-out ends, because all its
    /// pages are in flight.
    pub(super) fn continue_write_out(&mut self, pages: usize) {
        let remaining = if pages == 0 { 0 } else { self.write_out.remaining.saturating_sub(pages as u32) };
        self.write_out.remaining = remaining;
    }

    /// Returns the number of pages that may stay dirty, and whose content therefore needs no space on the SSD.
    pub(super) fn allowed_dirty_pages(&self) -> u32 {
        match self.options.caching {
            Caching::WriteBack => self.low_watermark(self.pages.data_pages()),
            Caching::Periodic | Caching::WriteThrough => 0,
        }
    }
}
