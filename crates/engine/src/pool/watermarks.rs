//! Watermarks of the pool: start and end of cleaning.

use super::Pool;
use crate::config::ConfigError;
use crate::layer::Medium;
use crate::victim::VictimPolicy;

/// Numbers of erased blocks at which cleaning begins and ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watermarks {
    /// Cleaning begins with this many erased blocks or fewer.
    pub low: u32,
    /// Cleaning ends with this many erased blocks; at least `low`.
    pub high: u32,
    /// Low watermark while a log above cleans; the pool then cleans one victim at a time. Below `low`; `None`: cleaning
    /// is not deferred for a log above.
    pub deferred_low: Option<u32>,
    /// Number of erased blocks up to which idle time is used; at least `high`. `None`: idle time is not used.
    pub idle_high: Option<u32>,
}

/// Configured numbers of erased blocks at which cleaning begins; unset values follow from the FTL's needs. In a
/// hybrid FTL they count unused log blocks, and cleaning means merging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FreeBlocks {
    /// Cleaning begins with this many; at least the FTL's own reserve.
    pub low: Option<u32>,
    /// Low watermark while a log above cleans; at least the reserve and below `low`.
    pub deferred: Option<u32>,
    /// Target in idle time; above `low`.
    pub idle: Option<u32>,
}

impl FreeBlocks {
    /// Returns the watermarks of a pool that needs `reserve` erased blocks; an error names the invalid key.
    pub(crate) fn watermarks(self, reserve: u32) -> Result<Watermarks, ConfigError> {
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
            (deferred_low, idle_high) => Ok(Watermarks { low, high: low, deferred_low, idle_high }),
        }
    }
}

impl<M: Medium, V: VictimPolicy> Pool<M, V> {
    /// Returns the current low and high watermarks. While a log above cleans, `deferred_low` replaces both watermarks,
    /// if `deferred_low` is set.
    pub(crate) fn current_watermarks(&self) -> Option<(u32, u32)> {
        self.watermarks.map(|watermarks| match watermarks.deferred_low {
            Some(low) if self.cleaning_above > 0 => (low, low),
            _ => (watermarks.low, watermarks.high),
        })
    }

    /// True if cleaning must begin.
    pub(crate) fn must_clean(&self) -> bool {
        self.is_low(self.erased.len())
    }

    /// True if `free` is at most the low watermark; without watermarks, true if `free` is 0.
    pub(crate) fn is_low(&self, free: usize) -> bool {
        self.current_watermarks().map_or(free == 0, |(low, _)| free <= low as usize)
    }

    /// Counts a deferral if a block is opened without cleaning only because a log above is cleaning.
    pub(crate) fn count_deferral(&mut self) {
        self.count_deferral_with(self.erased.len());
    }

    /// Counts a deferral, as [`Pool::count_deferral`] does, for the given number of `free` blocks.
    pub(crate) fn count_deferral_with(&mut self, free: usize) {
        let low = self.watermarks.map_or(0, |watermarks| watermarks.low);
        self.deferrals += u64::from(!self.is_low(free) && free <= low as usize);
    }

    /// True if idle time should be used to clean: there are fewer erased blocks than configured, and a candidate.
    pub(crate) fn needs_idle_cleaning(&self) -> bool {
        self.is_below_idle_target(self.erased.len()) && self.blocks.candidates() > 0
    }

    /// True if `free` is below the configured number for idle time.
    pub(crate) fn is_below_idle_target(&self, free: usize) -> bool {
        self.watermarks.and_then(|marks| marks.idle_high).is_some_and(|target| free < target as usize)
    }

    /// Records that a log above begins or ends cleaning.
    pub(crate) fn note_cleaning_above(&mut self, begins: bool) {
        self.cleaning_above =
            if begins { self.cleaning_above + 1 } else { self.cleaning_above.saturating_sub(1) };
    }
}
