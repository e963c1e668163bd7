//! Placement of host writes by the age of the overwritten version, and of cleaned pages by their age, as in SepBIT.

use super::clock::LastWrites;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the age classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The threshold `ell` is the mean lifespan of this many reclaimed blocks of class 1, 1 or more.
    #[schemars(range(min = 1))]
    pub averaged_blocks: u32,
    /// Ages, as multiples of `ell`, at which a cleaned page goes to the next class, rising; `n` bounds make `n + 4`
    /// classes, and as many streams.
    pub age_bounds: Vec<f64>,
}

impl Default for Config {
    fn default() -> Self {
        Config { averaged_blocks: 16, age_bounds: vec![4.0, 16.0] }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "age_classes",
        help: "host writes by the age of what they overwrite, cleaned pages by their own age (SepBIT)",
        source: "Wang, Li, Lee, Ouyang, Shi and Huang, FAST 2022",
    };
    type Placement = AgeClasses;

    fn build(&self, context: PlacementContext<'_>) -> Result<AgeClasses, ConfigError> {
        if self.averaged_blocks == 0 {
            return Err(ConfigError::new("averaged_blocks", "is 0; at least one block must be averaged"));
        }
        let rising = self.age_bounds.windows(2).all(|pair| pair[0] < pair[1]);
        let positive = self.age_bounds.iter().all(|bound| bound.is_finite() && *bound > 0.0);
        if !rising || !positive || self.age_bounds.len() > MAX_AGE_BOUNDS {
            let problem = format!(
                "are {:?}; at most {MAX_AGE_BOUNDS} rising finite numbers above 0 are allowed",
                self.age_bounds
            );
            return Err(ConfigError::new("age_bounds", problem));
        }
        Ok(AgeClasses {
            averaged_blocks: self.averaged_blocks,
            age_bounds: self.age_bounds.clone(),
            last_writes: LastWrites::new(context.size.logical_pages),
            lifespans: 0,
            reclaimed: 0,
            threshold: None,
        })
    }
}

const SHORT_LIVED: StreamId = StreamId(0);
const LONG_LIVED: StreamId = StreamId(1);
const FROM_SHORT_LIVED: StreamId = StreamId(2);
/// Stream of cleaned pages below the first age bound; the streams of higher ages follow.
const YOUNGEST: u8 = 3;
const MAX_AGE_BOUNDS: usize = u8::MAX as usize - YOUNGEST as usize - 1;

/// SepBIT's classes; class `c` is stream `c - 1`.
///
/// Ages and lifespans are in host pages written; the lifespan of a version predicts the lifespan of the next version.
/// Let `v` be the age of the version that a host write overwrites, and `ell` the mean lifespan (from opening to
/// reclaiming) of the last 16 reclaimed blocks of class 1:
///
/// - class 1: host writes with `v < ell`; class 2: all other host writes, including first writes;
/// - class 3: pages cleaned out of class 1; classes 4, 5 and 6: other cleaned pages, with an age since their last
///   host write below `4 ell`, below `16 ell`, or higher.
///
/// `ell` is infinite until 16 blocks of class 1 were reclaimed, and updated at every 16th, as in the authors'
/// prototype.
///
/// Differences: the paper reads the last write time of cleaned pages from flash and keeps in memory only a queue of
/// recently written addresses; here a table holds 4 bytes per page. The time unit is 1/65,536 of the logical pages, so
/// that 32 bits are sufficient for 65,535 drive writes; a page that stays longer appears younger by this amount. A
/// trimmed page counts as new when it is rewritten. Pages that spill into a block of another class, because no block is
/// erased, count as pages of that class. The victim policy selects the blocks to reclaim; the paper uses greedy and
/// cost-benefit.
pub struct AgeClasses {
    averaged_blocks: u32,
    age_bounds: Vec<f64>,
    last_writes: LastWrites,
    /// Sum of the lifespans of the class 1 blocks reclaimed since the last update of the threshold, and number of these
    /// blocks.
    lifespans: u64,
    reclaimed: u32,
    /// `ell`, in host pages; `None` means infinity.
    threshold: Option<f64>,
}

impl AgeClasses {
    fn place_host(&mut self, page: Lpn, now: u64) -> StreamId {
        match (self.last_writes.record_write(page, now), self.threshold) {
            (None, _) => LONG_LIVED,
            (Some(age), Some(threshold)) if age as f64 >= threshold => LONG_LIVED,
            _ => SHORT_LIVED,
        }
    }

    fn place_cleaned(&self, page: Lpn, now: u64, from: Option<StreamId>) -> StreamId {
        if from == Some(SHORT_LIVED) {
            return FROM_SHORT_LIVED;
        }
        let (Some(age), Some(threshold)) = (self.last_writes.age(page, now), self.threshold) else {
            return StreamId(YOUNGEST);
        };
        let passed = self.age_bounds.iter().filter(|&&bound| age as f64 >= bound * threshold).count();
        StreamId(YOUNGEST + passed as u8)
    }
}

impl Placement for AgeClasses {
    fn streams(&self) -> u8 {
        YOUNGEST + self.age_bounds.len() as u8 + 1
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        match context.cause {
            Cause::Host => self.place_host(context.page, context.now),
            _ => self.place_cleaned(context.page, context.now, context.from),
        }
    }

    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, _valid_pages: u32) {
        if stream != SHORT_LIVED {
            return;
        }
        self.lifespans += now - opened_at;
        self.reclaimed += 1;
        if self.reclaimed == self.averaged_blocks {
            self.threshold = Some(self.lifespans as f64 / f64::from(self.reclaimed));
            (self.lifespans, self.reclaimed) = (0, 0);
        }
    }

    fn needs_block_history(&self) -> bool {
        true
    }

    fn trimmed(&mut self, page: Lpn) {
        self.last_writes.clear(page);
    }

    fn memory_bytes(&self) -> usize {
        self.last_writes.memory_bytes()
    }
}
