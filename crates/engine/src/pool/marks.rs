//! When cleaning begins and when it ends: the marks of the pool.

use super::Pool;
use crate::config::ConfigError;
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

/// Numbers of erased blocks at which cleaning begins, as they are asked for; as the FTL needs it where nothing is said. Of a
/// hybrid FTL they are log blocks not in use, and cleaning is merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeBlocks {
    /// Cleaning begins when so many are left; at least the FTL's own reserve.
    pub low: Option<u32>,
    /// The same while a log above cleans; at least the reserve and below `low`.
    pub deferred: Option<u32>,
    /// In idle time as many are won; above `low`.
    pub idle: Option<u32>,
}

impl FreeBlocks {
    /// The marks of a pool that needs `reserve` erased blocks, or the key that does not go with that.
    pub(crate) fn marks(self, reserve: u32) -> Result<Marks, ConfigError> {
        let low = self.low.unwrap_or(reserve);
        let wrong = |key: &str, value: u32, allowed: String| {
            Err(ConfigError::new(key, format!("is {value}; it must be {allowed}")))
        };
        if low < reserve {
            return wrong(
                "free_blocks_low",
                low,
                format!("at least the {reserve} that this FTL needs to clean"),
            );
        }
        match (self.deferred, self.idle) {
            (Some(deferred), _) if deferred < reserve || deferred >= low => wrong(
                "free_blocks_deferred",
                deferred,
                format!(
                    "from the {reserve} that this FTL needs to clean to below free_blocks_low, which is {low}"
                ),
            ),
            (_, Some(idle)) if idle <= low => {
                wrong("free_blocks_idle", idle, format!("above free_blocks_low, which is {low}"))
            }
            (deferred_low, idle_high) => Ok(Marks { low, high: low, deferred_low, idle_high }),
        }
    }
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
        self.is_low(self.erased.len())
    }

    /// Whether `free` blocks are as few as the marks have it; without marks, none.
    pub(crate) fn is_low(&self, free: usize) -> bool {
        self.marks_now().map_or(free == 0, |(low, _)| free <= low as usize)
    }

    /// A block is about to be opened without cleaning first: counts whether cleaning was put off because a log above cleans.
    pub(crate) fn count_deferral(&mut self) {
        self.count_deferral_with(self.erased.len());
    }

    /// The same with `free` blocks.
    pub(crate) fn count_deferral_with(&mut self, free: usize) {
        let low = self.marks.map_or(0, |marks| marks.low);
        self.deferrals += u64::from(!self.is_low(free) && free <= low as usize);
    }

    /// Whether idle time is to be used to clean: fewer blocks wait erased than the settings ask for, and there is a candidate.
    pub(crate) fn wants_idle_cleaning(&self) -> bool {
        self.wants_more_in_idle_time(self.erased.len()) && self.blocks.candidates() > 0
    }

    /// Whether `free` blocks are fewer than the settings ask for in idle time.
    pub(crate) fn wants_more_in_idle_time(&self, free: usize) -> bool {
        self.marks.and_then(|marks| marks.idle_high).is_some_and(|enough| free < enough as usize)
    }

    /// A log above begins to clean, or has ended.
    pub(crate) fn note_cleaning_above(&mut self, begins: bool) {
        self.cleaning_above =
            if begins { self.cleaning_above + 1 } else { self.cleaning_above.saturating_sub(1) };
    }
}
