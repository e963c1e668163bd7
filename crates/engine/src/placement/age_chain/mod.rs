//! Placement in a chain of groups, along which cleaning moves pages, and in a group for hot pages; the number and the
//! sizes of the groups follow the workload.

mod hot;
mod intervals;
mod model;

use super::clock::LastWrites;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use hot::{HOT_COUNTER, HotFilter};
use intervals::Intervals;
use model::{Chain, Drive, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Maximum number of groups, and thus streams, including the group of hot pages: 3 to 30.
    #[schemars(range(min = 3, max = 30))]
    pub groups: u8,
    /// Drive writes over which intervals are collected before groups are resized, above 0.
    pub epoch_drive_writes: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { groups: 8, epoch_drive_writes: 4.0 }
    }
}

const MAX_GROUPS: u8 = 30;

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "age_chain",
        help: "a chain of groups, one further with each cleaning, sized by a model, hot pages apart (MiDAS)",
        source: "Oh, Kim, Han, Kim, Lee and Noh, FAST 2024",
    };
    type Placement = AgeChain;

    fn build(&self, context: PlacementContext<'_>) -> Result<AgeChain, ConfigError> {
        if !(3..=MAX_GROUPS).contains(&self.groups) {
            let problem = format!("is {}; 3 to {MAX_GROUPS} are allowed", self.groups);
            return Err(ConfigError::new("groups", problem));
        }
        let epoch = self.epoch_drive_writes;
        if !(epoch.is_finite() && epoch > 0.0) {
            let problem = format!("is {epoch}; it must be a finite number above 0, in drive writes");
            return Err(ConfigError::new("epoch_drive_writes", problem));
        }
        let size = context.size;
        let epoch = ((epoch * f64::from(size.logical_pages)).round() as u64).max(1);
        Ok(AgeChain {
            groups: self.groups,
            last_group: self.groups - 1,
            blocks: size.blocks,
            block_pages: size.pages_per_block,
            now: 0,
            last_writes: LastWrites::new(size.logical_pages),
            pages: vec![PageState(0); size.logical_pages as usize],
            mapped_pages: 0,
            hot_pages: 0,
            hot: HotFilter::new(size.logical_pages),
            intervals: Intervals::new(size.pages_per_block, epoch),
            epoch,
            epoch_left: epoch,
            target_blocks: Vec::new(),
            expected: Vec::new(),
            check: ModelCheck::default(),
        })
    }
}

/// The stream of hot pages.
const HOT: u8 = 0;
/// The stream of all other host writes.
const FIRST: u8 = 1;
/// Allowed difference between the model's and the actual fraction of valid pages in reclaimed blocks of a group.
const TOLERANCE: f64 = 0.1;
/// If hot blocks are reclaimed with a larger fraction of valid pages than `MAX_VALID_FRACTION`, groups are not resized.
/// Above `INACCURATE_VALID_FRACTION`, the hot group keeps its actual size.
const MAX_VALID_FRACTION: f64 = 0.3;
const INACCURATE_VALID_FRACTION: f64 = 0.2;
/// Below this fraction of the host's pages, the hot group keeps its actual size.
const MIN_TRAFFIC: f64 = 0.15;

/// State of a page: a two-bit counter, a bit that is set if the page was written exactly once in this epoch, and its
/// group plus one. All bits are 0 for a page without data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageState(u8);

const COUNTER: u8 = 0b11;
const WRITTEN_ONCE: u8 = 0b100;
const GROUP_SHIFT: u32 = 3;

/// Five bits remain for the group.
const _: () = assert!((MAX_GROUPS as u32) < 1 << 5);

/// Comparison of the groups with the model's predictions.
#[derive(Default)]
struct ModelCheck {
    /// Number of host pages until the comparison begins.
    begins_in: u64,
    /// Number of host pages until the comparison ends.
    ends_in: u64,
    /// Number of reclaimed blocks of each group, and the sum of their fractions of valid pages.
    observed: Vec<(u32, f64)>,
}

/// MiDAS. The host writes hot pages to group 0 and other pages to group 1. A page that cleaning moves goes to the next
/// group; a page of the last group stays there. Groups thus hold pages by age. Group `g` is stream `g`.
///
/// A page is hot if its two-bit counter is full. The counter rises when the page is rewritten in group 1 at an age
/// that hot blocks reach, and falls when it is rewritten later. It falls by one when the page is moved out of group
/// 1, and by two when it is moved out of group 0.
///
/// After each epoch, the distribution of intervals between writes and a model of a page's path through the groups give
/// the number and sizes of groups with the least write amplification ([`Model`]). The victim policy `stream_queues`
/// enforces these sizes: it takes the oldest block of the first group that is too large. With any other policy only the
/// number of groups follows the model. One drive write later, each group is compared with the model for the length of a
/// drive write. From the first group that differs by more than a tenth of its pages on, groups have no size targets
/// until the next epoch. Before the end of the first epoch no group has a size target and the chain has all its groups,
/// as in Kim et al., APSys 2021.
///
/// Differences: the write time and the group of each page are in tables of 4 bytes and 1 byte per page, because the
/// layer's own map may be in flash. The authors store the group in the map, and sample the intervals of one page in a
/// hundred; here all pages count. No correction for truncated intervals is needed: the age of a page is that of its
/// last write, not that of its block, and intervals begun before the epoch count. The age of a page in group 1 begins
/// with its write, excluding hot pages; in the authors' code it begins with the age at which hot pages are invalid. The
/// authors limit what is taken from one group at once; here `stream_queues` decides this.
pub struct AgeChain {
    groups: u8,
    /// The last group of the chain.
    last_group: u8,
    blocks: u32,
    block_pages: u32,
    /// Number of host pages written, used as the time for trims, which carry none.
    now: u64,
    last_writes: LastWrites,
    pages: Vec<PageState>,
    /// Number of pages that hold data.
    mapped_pages: u32,
    /// Pages in hot blocks that have not been reclaimed.
    hot_pages: u64,
    hot: HotFilter,
    intervals: Intervals,
    epoch: u64,
    /// Remaining host pages of the epoch.
    epoch_left: u64,
    /// Target number of blocks of each sized group.
    target_blocks: Vec<u32>,
    /// Fraction of valid pages in reclaimed blocks of these groups, according to the model.
    expected: Vec<f64>,
    check: ModelCheck,
}

impl AgeChain {
    fn hot_blocks(&self) -> f64 {
        self.hot_pages as f64 / f64::from(self.block_pages)
    }

    fn place_host(&mut self, page: Lpn, now: u64) -> u8 {
        let state = self.pages[page.index()];
        let group = if state.counter() == HOT_COUNTER { HOT } else { FIRST };
        self.now = now;
        let age = self.last_writes.record_write(page, now);
        let mut counter = state.counter();
        match (age, state.group()) {
            (Some(age), Some(previous_group)) => {
                self.intervals.add(age);
                if previous_group == FIRST {
                    counter = self.hot.rewritten(counter, age);
                }
            }
            _ => self.mapped_pages += u32::from(state.group().is_none()),
        }
        self.hot_pages += u64::from(group == HOT);
        self.hot.written(group == HOT, self.hot_blocks());
        self.pages[page.index()] = PageState::new(group, counter, age.is_none());
        self.epoch_left -= 1;
        if self.epoch_left == 0 {
            self.epoch_left = self.epoch;
            self.resize();
        }
        self.advance_check();
        group
    }

    fn place_cleaned(&mut self, page: Lpn) -> u8 {
        let state = self.pages[page.index()];
        let Some(from) = state.group() else {
            // The age of a page written before a power cut is unknown: the page counts as oldest.
            return self.last_group;
        };
        let decrement = match from {
            HOT => 2,
            FIRST => 1,
            _ => 0,
        };
        let to = (from + 1).min(self.last_group).max(FIRST);
        self.pages[page.index()] =
            PageState::new(to, state.counter().saturating_sub(decrement), state.is_written_once());
        to
    }

    /// Resizes the groups after an epoch, based on its intervals.
    fn resize(&mut self) {
        let once = self.pages.iter_mut().map(PageState::take_written_once);
        let unfinished = once.map(u64::from).sum();
        let Some(distribution) = self.intervals.take(unfinished) else { return };
        let hot = self.hot.mean_statistics();
        if hot.is_some_and(|shape| shape.valid > MAX_VALID_FRACTION) {
            return;
        }
        let is_inaccurate = |shape: &hot::HotStatistics| {
            shape.valid > INACCURATE_VALID_FRACTION || shape.traffic < MIN_TRAFFIC
        };
        let drive = Drive {
            // Each group has an open block, and one block is erased.
            blocks: self.blocks.saturating_sub(u32::from(self.groups) + 1),
            block_pages: self.block_pages.into(),
            valid_pages: self.mapped_pages.into(),
            max_groups: usize::from(self.groups) - 1,
        };
        let model = Model { intervals: &distribution, drive, observed_hot: hot.filter(is_inaccurate) };
        let Some(Chain { hot, sizes, valid, .. }) = model.best() else { return };
        self.last_group = sizes.len() as u8 + FIRST;
        self.target_blocks.clear();
        self.target_blocks.push(hot);
        self.target_blocks.extend(sizes);
        self.expected = std::iter::once(0.0).chain(valid).collect();
        let drive_write = u64::from(self.mapped_pages);
        self.check = ModelCheck {
            begins_in: drive_write,
            ends_in: 2 * drive_write,
            observed: vec![(0, 0.0); self.target_blocks.len()],
        };
    }

    fn advance_check(&mut self) {
        if self.check.ends_in == 0 {
            return;
        }
        self.check.begins_in = self.check.begins_in.saturating_sub(1);
        self.check.ends_in -= 1;
        if self.check.ends_in > 0 {
            return;
        }
        let deviates = |&(at, expected): &(usize, &f64)| {
            let (blocks, valid) = self.check.observed[at];
            blocks > 0 && (valid / f64::from(blocks) - expected).abs() > TOLERANCE
        };
        let mut sized = self.expected[..self.target_blocks.len()].iter().enumerate();
        if let Some((irregular, _)) = sized.find(deviates) {
            self.target_blocks.truncate(irregular);
            self.last_group = self.groups - 1;
        }
    }
}

impl PageState {
    fn new(group: u8, counter: u8, is_once: bool) -> Self {
        PageState((group + 1) << GROUP_SHIFT | if is_once { WRITTEN_ONCE } else { 0 } | counter)
    }

    fn counter(self) -> u8 {
        self.0 & COUNTER
    }

    fn group(self) -> Option<u8> {
        (self.0 >> GROUP_SHIFT).checked_sub(1)
    }

    fn is_written_once(self) -> bool {
        self.0 & WRITTEN_ONCE > 0
    }

    /// Returns true if the page was written exactly once in this epoch, and clears the bit for the next epoch.
    fn take_written_once(&mut self) -> bool {
        let once = self.is_written_once();
        self.0 &= !WRITTEN_ONCE;
        once
    }
}

impl Placement for AgeChain {
    fn streams(&self) -> u8 {
        self.groups
    }

    fn place(&mut self, context: &PageContext) -> StreamId {
        StreamId(match context.cause {
            Cause::Host => self.place_host(context.page, context.now),
            _ => self.place_cleaned(context.page),
        })
    }

    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        let valid = f64::from(valid_pages) / f64::from(self.block_pages);
        if stream.0 == HOT {
            self.hot_pages = self.hot_pages.saturating_sub(self.block_pages.into());
            self.hot.reclaimed(now - opened_at, valid);
        }
        if self.check.begins_in == 0
            && self.check.ends_in > 0
            && let Some(observed) = self.check.observed.get_mut(stream.index())
        {
            *observed = (observed.0 + 1, observed.1 + valid);
        }
    }

    fn needs_block_history(&self) -> bool {
        true
    }

    fn target_blocks(&self) -> &[u32] {
        &self.target_blocks
    }

    fn trimmed(&mut self, page: Lpn) {
        let state = std::mem::replace(&mut self.pages[page.index()], PageState(0));
        self.mapped_pages -= u32::from(state.group().is_some());
        if let Some(age) = self.last_writes.age(page, self.now) {
            self.intervals.add(age);
        }
        self.last_writes.clear(page);
    }

    fn memory_bytes(&self) -> usize {
        self.last_writes.memory_bytes() + self.pages.len() + self.intervals.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
