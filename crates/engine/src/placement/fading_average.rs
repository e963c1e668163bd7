//! Placement by write counts of pages, compared with a fading average.

use super::classes::ClassStreams;
use super::runs::Runs;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the fading average.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Classes, and thus streams, 1 or more.
    #[schemars(range(min = 1))]
    pub classes: u8,
    /// Ratio of the counts at which one class and the next begin, above 1.
    pub base: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { classes: 6, base: 10.0 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "fading_average",
        help: "a write counter per page, lowered by cleaning and compared with powers of a fading average (FADaC)",
        source: "Kremer and Brinkmann, SYSTOR 2019, as in Wang et al., FAST 2022",
    };
    type Placement = FadingAverage;

    fn build(&self, context: PlacementContext<'_>) -> Result<FadingAverage, ConfigError> {
        if !(self.base.is_finite() && self.base > 1.0) {
            let problem = format!("is {}; it must be a finite number above 1", self.base);
            return Err(ConfigError::new("base", problem));
        }
        Ok(FadingAverage {
            streams: ClassStreams::new(usize::from(self.classes), false, "classes")?,
            highest: self.classes.saturating_sub(1),
            base: self.base,
            runs: Runs::default(),
            average: 0.0,
            mapped_pages: 0,
            counts: vec![0; context.size.logical_pages as usize],
        })
    }
}

/// Counts the host writes of each page minus its moves. Class `c` holds counts above `average * base^(c - 1)`; stream 0
/// is the highest class.
///
/// With each run of `k` consecutive pages the average becomes `average + (k - average) / n`, where `n` is the number
/// of pages that hold data. The average is thus a fading mean of the run lengths. This follows the simulator of Wang
/// et al. (FAST 2022); the paper itself was not available. Counters have 16 bits and saturate. A trimmed page
/// restarts from 0.
pub struct FadingAverage {
    streams: ClassStreams,
    highest: u8,
    base: f64,
    runs: Runs,
    average: f64,
    /// Pages that hold data, including those whose counter cleaning has reduced to 0.
    mapped_pages: u32,
    /// Counter of each page plus one; 0 for a page without data.
    counts: Vec<u16>,
}

impl FadingAverage {
    fn level(&self, count: u16) -> u8 {
        let (mut bound, mut level) = (self.average, 0);
        while level < self.highest && bound > 0.0 && f64::from(count) > bound {
            bound *= self.base;
            level += 1;
        }
        level
    }
}

impl Placement for FadingAverage {
    fn streams(&self) -> u8 {
        self.streams.streams()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        let is_host = context.cause == Cause::Host;
        if is_host && let Some(run) = self.runs.add(context.page) {
            self.average += (f64::from(run.pages) - self.average) / f64::from(self.mapped_pages.max(1));
        }
        let counter = &mut self.counts[context.page.index()];
        self.mapped_pages += u32::from(*counter == 0);
        *counter =
            if is_host { (*counter).max(1).saturating_add(1) } else { counter.saturating_sub(1).max(1) };
        let count = *counter - 1;
        let level = self.level(count);
        self.streams.stream(self.highest - level, context.cause)
    }

    fn trimmed(&mut self, page: Lpn) {
        let counter = &mut self.counts[page.index()];
        self.mapped_pages -= u32::from(*counter > 0);
        *counter = 0;
    }

    fn memory_bytes(&self) -> usize {
        size_of_val(&*self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{cleaned, host, try_build};
    use super::*;
    use serde_json::json;

    #[test]
    fn classes_begin_at_powers_of_the_base_times_the_average() {
        let value = json!({"kind": "fadac", "classes": 3, "base": 2.0});
        let mut placement = try_build(value, 10).unwrap();
        let mut write = |page, now| placement.place(&host(page, now)).0;
        // No run of sequential writes has ended: there is no average, and every page is of the lowest class.
        assert_eq!(write(1, 0), 2);
        // The run of one page ended while one page held data: the average is 1. Counts of 2 or more are above the
        // average, and counts of 3 or more are above twice the average.
        assert_eq!([write(1, 1), write(1, 2), write(1, 3)], [1, 0, 0]);
        // Two more runs of one page end while one page holds data: the average stays. Then a run of three pages (5, 6,
        // 7) ends, after which four pages hold data: the average is 1 + (3 - 1) / 4 = 1.5. A count of 2 is above this
        // average, and a count of 3 is not above twice this average.
        assert_eq!([write(5, 4), write(6, 5), write(7, 6)], [2, 2, 2]);
        assert_eq!([write(5, 7), write(5, 8)], [1, 0], "then runs of one page bring it down to 1.375");
        // Each move reduces the count by one: 4, 3, 2, 1, 0; the count never becomes negative.
        let moved: Vec<u8> = (0..6).map(|now| placement.place(&cleaned(1, now, 0)).0).collect();
        assert_eq!(moved, [0, 1, 2, 2, 2, 2]);
        placement.trimmed(Lpn(5));
        assert_eq!(placement.place(&host(5, 9)), StreamId(2));
        assert_eq!((placement.streams(), placement.memory_bytes()), (3, 20));
    }

    #[test]
    fn settings_that_make_no_classes_are_refused() {
        for (value, key) in [
            (json!({"kind": "fading_average", "classes": 0}), "classes"),
            (json!({"kind": "fading_average", "base": 1.0}), "base"),
        ] {
            assert_eq!(try_build(value, 10).err().unwrap().key, key);
        }
    }
}
