//! Rivals that do not keep what was written: all of it goes to the SSD at once, or from time to time, although there is room.
//!
//! Time is told by what users write, not by a clock, so that equal runs do the same on any machine.

use super::Store;
use super::pages::State;
use crate::nvram::Nvram;
use crate::options::Caching;
use crate::ssd::Ssd;

/// How far a write-out is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WriteOut {
    /// Blocks that users had written when the last one began.
    begun_at: u64,
    /// Dirty pages that are still to be written of it. Without threads all of them are written before anything else happens.
    left: u32,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Whether dirty pages are to be written although there is room for them.
    pub(super) fn is_write_out_due(&self) -> bool {
        let due = match self.options.caching {
            Caching::WriteBack => false,
            Caching::WriteThrough => true,
            Caching::Periodic => self.write_out.left > 0 || self.is_period_over(),
        };
        due && self.pages.count(State::Dirty) > 0
    }

    fn is_period_over(&self) -> bool {
        let share = self.options.write_out_share().unwrap_or(f64::INFINITY);
        let period = (f64::from(self.pages.for_data()) * share).max(1.0);
        (self.counts.written_blocks - self.write_out.begun_at) as f64 >= period
    }

    /// Dirty pages are about to be written: if a period is over, all that are dirty by now.
    pub(super) fn begin_write_out(&mut self) {
        if self.options.caching == Caching::Periodic && self.write_out.left == 0 && self.is_period_over() {
            let left = self.pages.count(State::Dirty);
            self.write_out = WriteOut { begun_at: self.counts.written_blocks, left };
        }
    }

    /// So many of them are on their way; none if there was none that is not.
    pub(super) fn go_on_with_write_out(&mut self, pages: usize) {
        let left = if pages == 0 { 0 } else { self.write_out.left.saturating_sub(pages as u32) };
        self.write_out.left = left;
    }

    /// Pages that may stay dirty, so that what is in them needs no room on the SSD.
    pub(super) fn resting_pages(&self) -> u32 {
        match self.options.caching {
            Caching::WriteBack => self.low_mark(self.pages.for_data()),
            Caching::Periodic | Caching::WriteThrough => 0,
        }
    }
}
