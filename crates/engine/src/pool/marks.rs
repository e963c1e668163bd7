//! When cleaning begins and when it ends: the marks of the pool.

use super::Pool;
use crate::layer::Medium;
use crate::victim::VictimPolicy;

/// Numbers of erased blocks at which cleaning begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Marks {
    /// Cleaning begins when so many are left, or fewer.
    pub low: u32,
    /// It ends when there are so many; at least `low`.
    pub high: u32,
    /// While a log above cleans, only so many begin it, and one victim at a time is cleaned; below `low`. `None`: it is not
    /// waited for.
    pub deferred_low: Option<u32>,
    /// In idle time the pool is refilled up to so many; at least `high`. `None`: idle time is not used.
    pub idle_high: Option<u32>,
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// The low and the high mark that hold now: while a log above cleans, those of a store that waits for it.
    pub(crate) fn marks_now(&self) -> Option<(u32, u32)> {
        self.marks.map(|marks| match marks.deferred_low {
            Some(low) if self.cleaning_above > 0 => (low, low),
            _ => (marks.low, marks.high),
        })
    }

    /// Whether erased blocks run low.
    pub(crate) fn must_clean(&self) -> bool {
        self.marks_now().map_or(self.erased.is_empty(), |(low, _)| self.erased.len() <= low as usize)
    }

    /// A block is about to be opened without cleaning first: counts whether cleaning was put off because a log above cleans.
    pub(crate) fn count_deferral(&mut self) {
        let low = self.marks.map_or(0, |marks| marks.low);
        self.deferrals += u64::from(!self.must_clean() && self.erased.len() <= low as usize);
    }

    /// Whether idle time is to be used to clean: fewer blocks wait erased than the settings ask for, and there is a candidate.
    pub(crate) fn wants_idle_cleaning(&self) -> bool {
        let enough = self.marks.and_then(|marks| marks.idle_high);
        enough.is_some_and(|enough| self.erased.len() < enough as usize) && self.blocks.candidates() > 0
    }

    /// A log above begins to clean, or has ended.
    pub(crate) fn note_cleaning_above(&mut self, begins: bool) {
        self.cleaning_above =
            if begins { self.cleaning_above + 1 } else { self.cleaning_above.saturating_sub(1) };
    }
}
