//! Placement by recent write counts of pages.

use super::classes::ClassStreams;
use super::period::Period;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the write counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Counts at which a page becomes hotter by one class, rising; `n` thresholds make `n + 1` classes.
    pub thresholds: Vec<u8>,
    /// Bits of each counter, 1 to 8; counters saturate.
    #[schemars(range(min = 1, max = 8))]
    pub counter_bits: u8,
    /// Drive writes between two halvings of all counters, above 0.
    pub decay_drive_writes: f64,
    /// True if cleaned pages have their own streams, one per class.
    pub separate_cleaning: bool,
}

impl Default for Config {
    fn default() -> Self {
        Config { thresholds: vec![4], counter_bits: 4, decay_drive_writes: 1.0, separate_cleaning: false }
    }
}

impl Config {
    fn highest_count(&self) -> Result<u8, ConfigError> {
        match self.counter_bits {
            bits @ 1..=8 => Ok(u8::MAX >> (8 - bits)),
            bits => Err(ConfigError::new("counter_bits", format!("is {bits}; 1 to 8 are allowed"))),
        }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "write_count",
        help: "classes by a saturating write counter per page, halved from time to time",
        source: "Hsieh, Kuo and Chang, ACM TOS 2(1), 2006",
    };
    type Placement = WriteCount;

    fn build(&self, context: PlacementContext<'_>) -> Result<WriteCount, ConfigError> {
        let highest = self.highest_count()?;
        let rising = self.thresholds.windows(2).all(|pair| pair[0] < pair[1]);
        let in_range = self.thresholds.iter().all(|threshold| (1..=highest).contains(threshold));
        if self.thresholds.is_empty() || !rising || !in_range {
            let problem = format!(
                "are {:?}; one or more rising counts from 1 to {highest}, which {} bits can hold, are allowed",
                self.thresholds, self.counter_bits
            );
            return Err(ConfigError::new("thresholds", problem));
        }
        let logical_pages = context.size.logical_pages;
        Ok(WriteCount {
            streams: ClassStreams::new(self.thresholds.len() + 1, self.separate_cleaning, "thresholds")?,
            thresholds: self.thresholds.clone(),
            counter_bits: self.counter_bits,
            highest,
            decay: Period::of_drive_writes(self.decay_drive_writes, logical_pages, "decay_drive_writes")?,
            counts: vec![0; logical_pages as usize],
        })
    }
}

/// Counts the host writes of each page; pages of the hottest class have reached the highest threshold.
///
/// Hsieh et al. save memory by hashing pages to a small table of 4-bit counters, `D` of them per page; here each page
/// has its own counter, so that two pages never share a counter. Their hot threshold, like the default, is a count of
/// 4. A trimmed page restarts from 0.
pub struct WriteCount {
    streams: ClassStreams,
    thresholds: Vec<u8>,
    counter_bits: u8,
    highest: u8,
    decay: Period,
    counts: Vec<u8>,
}

impl Placement for WriteCount {
    fn streams(&self) -> u8 {
        self.streams.streams()
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        if context.cause == Cause::Host {
            if self.decay.tick() {
                self.counts.iter_mut().for_each(|count| *count >>= 1);
            }
            let count = &mut self.counts[context.page.index()];
            *count = count.saturating_add(1).min(self.highest);
        }
        let count = self.counts[context.page.index()];
        let class = self.thresholds.iter().filter(|&&threshold| count < threshold).count();
        self.streams.stream(class as u8, context.cause)
    }

    fn trimmed(&mut self, page: Lpn) {
        self.counts[page.index()] = 0;
    }

    fn memory_bytes(&self) -> usize {
        (self.counts.len() * usize::from(self.counter_bits)).div_ceil(8)
    }
}
