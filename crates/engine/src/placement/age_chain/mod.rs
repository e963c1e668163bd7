//! A chain of groups that pages move along as they are cleaned, and a group for hot pages; their number and sizes
//! follow the workload.

mod hot;
mod intervals;
mod model;

use super::clock::LastWrites;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use hot::{HOT_FROM, HotFilter};
use intervals::Intervals;
use model::{Chain, Drive, Model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Settings of the chain.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Groups at most, hence streams, that of hot pages among them: 3 to 30.
    #[schemars(range(min = 3, max = 30))]
    pub groups: u8,
    /// Drive writes for which intervals are collected before groups are sized anew, above 0.
    pub epoch_drive_writes: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { groups: 8, epoch_drive_writes: 4.0 }
    }
}

const MOST_GROUPS: u8 = 30;

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "age_chain",
        help: "a chain of groups, one further with each cleaning, sized by a model, hot pages apart (MiDAS)",
        source: "Oh, Kim, Han, Kim, Lee and Noh, FAST 2024",
    };
    type Placement = AgeChain;

    fn build(&self, context: PlacementContext<'_>) -> Result<AgeChain, ConfigError> {
        if !(3..=MOST_GROUPS).contains(&self.groups) {
            let problem = format!("is {}; 3 to {MOST_GROUPS} are allowed", self.groups);
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
            last: self.groups - 1,
            blocks: size.blocks,
            block_pages: size.pages_per_block,
            now: 0,
            last_writes: LastWrites::new(size.logical_pages),
            pages: vec![Page(0); size.logical_pages as usize],
            holding: 0,
            hot_pages: 0,
            hot: HotFilter::new(size.logical_pages),
            intervals: Intervals::new(size.pages_per_block, epoch),
            epoch,
            left: epoch,
            wanted: Vec::new(),
            expected: Vec::new(),
            check: Check::default(),
        })
    }
}

/// The stream of hot pages.
const HOT: u8 = 0;
/// The stream of what else the host writes.
const FIRST: u8 = 1;
/// How far a group may be from what the model says of it: the share of valid pages in what is reclaimed of it.
const TOLERANCE: f64 = 0.1;
/// Shares of valid pages in reclaimed hot blocks beyond which the hot filter sizes no groups, or its own group is
/// taken as it is.
const HOPELESS: f64 = 0.3;
const INACCURATE: f64 = 0.2;
/// Share of the host's pages below which the hot group is taken as it is.
const LITTLE: f64 = 0.15;

/// What is known of a page: two bits of its counter, a bit that says whether it was written first in this epoch and
/// not again, and its group plus one; 0 in all for a page that holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Page(u8);

const COUNTER: u8 = 0b11;
const ONCE: u8 = 0b100;
const GROUP_SHIFT: u32 = 3;

/// Five bits are left for a group.
const _: () = assert!((MOST_GROUPS as u32) < 1 << 5);

/// How the groups that the model sized turn out.
#[derive(Default)]
struct Check {
    /// Host pages until it begins, and until it ends.
    begins: u64,
    ends: u64,
    /// Blocks reclaimed of each group, and the sum of their shares of valid pages.
    seen: Vec<(u32, f64)>,
}

/// MiDAS. The host writes hot pages to group 0 and others to group 1; a page that cleaning moves goes one group
/// further, from the last one back to it, so that groups hold pages by age. Group `g` is stream `g`.
///
/// Hot is a page whose counter of two bits is full: it rises when the page is rewritten in group 1 at an age that hot
/// blocks reach, falls when it is rewritten later, by one when it is moved out of group 1, and by two out of group 0.
///
/// After each epoch the distribution of intervals between writes, with a model of a page's way through the groups,
/// says which number and sizes of groups amplify least ([`Model`]). They are kept to where the victim policy is
/// `stream_queues`, which takes the oldest block of the first group that is too long; with any other policy the
/// number of groups follows the model, and that policy decides how long they become. From a drive write later, for a
/// drive write, each group is compared with what the model says; from the first that is off by more than a tenth of
/// its pages on, groups are sized no more until the next epoch. Until the first epoch is over no group is sized and
/// the chain has all its groups, as pages have in Kim et al., APSys 2021.
///
/// Differences: times, and the group of a page, are in tables of 4 bytes and of one, because the layer's own map may
/// be in flash; the authors look the group up there, and sample intervals of one page in a hundred, where here all
/// count. That a page has the age of its last write, not that of its block, and intervals begun before the epoch
/// count, needs no correction for intervals cut off. The age of a page in group 1 begins with its write, hot pages
/// being left out, where the authors' code begins with that at which hot ones are dead. What they take from one group
/// at once is limited; here it is what `stream_queues` does.
pub struct AgeChain {
    groups: u8,
    /// The last group of the chain.
    last: u8,
    blocks: u32,
    block_pages: u32,
    /// Host pages written; trims come without a time.
    now: u64,
    last_writes: LastWrites,
    pages: Vec<Page>,
    /// Pages that hold something.
    holding: u32,
    /// Pages written to hot blocks that were not reclaimed.
    hot_pages: u64,
    hot: HotFilter,
    intervals: Intervals,
    epoch: u64,
    /// Host pages left of the epoch.
    left: u64,
    /// Blocks of each sized group.
    wanted: Vec<u32>,
    /// Shares of valid pages in blocks reclaimed of them, by the model.
    expected: Vec<f64>,
    check: Check,
}

impl AgeChain {
    fn hot_blocks(&self) -> f64 {
        self.hot_pages as f64 / f64::from(self.block_pages)
    }

    fn place_host(&mut self, page: Lpn, now: u64) -> u8 {
        let known = self.pages[page.index()];
        let group = if known.counter() == HOT_FROM { HOT } else { FIRST };
        self.now = now;
        let age = self.last_writes.written(page, now);
        let mut counter = known.counter();
        match (age, known.group()) {
            (Some(age), Some(before)) => {
                self.intervals.add(age);
                if before == FIRST {
                    counter = self.hot.rewritten(counter, age);
                }
            }
            _ => self.holding += u32::from(known.group().is_none()),
        }
        self.hot_pages += u64::from(group == HOT);
        self.hot.written(group == HOT, self.hot_blocks());
        self.pages[page.index()] = Page::new(group, counter, age.is_none());
        self.left -= 1;
        if self.left == 0 {
            self.left = self.epoch;
            self.resize();
        }
        self.tick_check();
        group
    }

    fn place_cleaned(&mut self, page: Lpn) -> u8 {
        let known = self.pages[page.index()];
        let Some(from) = known.group() else {
            // Of a page from before a power cut nothing is known: it is as old as can be.
            return self.last;
        };
        let fall = match from {
            HOT => 2,
            FIRST => 1,
            _ => 0,
        };
        let to = (from + 1).min(self.last).max(FIRST);
        self.pages[page.index()] = Page::new(to, known.counter().saturating_sub(fall), known.is_once());
        to
    }

    /// The epoch is over: sizes the groups by what it has shown.
    fn resize(&mut self) {
        let once = self.pages.iter_mut().map(Page::take_once);
        let unfinished = once.map(u64::from).sum();
        let Some(distribution) = self.intervals.take(unfinished) else { return };
        let hot = self.hot.shape();
        if hot.is_some_and(|shape| shape.valid > HOPELESS) {
            return;
        }
        let is_inaccurate = |shape: &hot::HotShape| shape.valid > INACCURATE || shape.traffic < LITTLE;
        let drive = Drive {
            // A block is open in each group, and one is erased.
            blocks: self.blocks.saturating_sub(u32::from(self.groups) + 1),
            block_pages: self.block_pages.into(),
            valid_pages: self.holding.into(),
            most_groups: usize::from(self.groups) - 1,
        };
        let model = Model { intervals: &distribution, drive, seen_hot: hot.filter(is_inaccurate) };
        let Some(Chain { hot, sizes, valid, .. }) = model.best() else { return };
        self.last = sizes.len() as u8 + FIRST;
        self.wanted.clear();
        self.wanted.push(hot);
        self.wanted.extend(sizes);
        self.expected = std::iter::once(0.0).chain(valid).collect();
        let drive_write = u64::from(self.holding);
        self.check =
            Check { begins: drive_write, ends: 2 * drive_write, seen: vec![(0, 0.0); self.wanted.len()] };
    }

    fn tick_check(&mut self) {
        if self.check.ends == 0 {
            return;
        }
        self.check.begins = self.check.begins.saturating_sub(1);
        self.check.ends -= 1;
        if self.check.ends > 0 {
            return;
        }
        let is_off = |&(at, expected): &(usize, &f64)| {
            let (blocks, valid) = self.check.seen[at];
            blocks > 0 && (valid / f64::from(blocks) - expected).abs() > TOLERANCE
        };
        let mut sized = self.expected[..self.wanted.len()].iter().enumerate();
        if let Some((irregular, _)) = sized.find(is_off) {
            self.wanted.truncate(irregular);
            self.last = self.groups - 1;
        }
    }
}

impl Page {
    fn new(group: u8, counter: u8, is_once: bool) -> Self {
        Page((group + 1) << GROUP_SHIFT | if is_once { ONCE } else { 0 } | counter)
    }

    fn counter(self) -> u8 {
        self.0 & COUNTER
    }

    fn group(self) -> Option<u8> {
        (self.0 >> GROUP_SHIFT).checked_sub(1)
    }

    fn is_once(self) -> bool {
        self.0 & ONCE > 0
    }

    /// Whether the page was written first in this epoch and not again; the next one begins.
    fn take_once(&mut self) -> bool {
        let once = self.is_once();
        self.0 &= !ONCE;
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
        if self.check.begins == 0
            && self.check.ends > 0
            && let Some(seen) = self.check.seen.get_mut(stream.index())
        {
            *seen = (seen.0 + 1, seen.1 + valid);
        }
    }

    fn wants_block_history(&self) -> bool {
        true
    }

    fn wanted_blocks(&self) -> &[u32] {
        &self.wanted
    }

    fn trimmed(&mut self, page: Lpn) {
        let known = std::mem::replace(&mut self.pages[page.index()], Page(0));
        self.holding -= u32::from(known.group().is_some());
        if let Some(age) = self.last_writes.age(page, self.now) {
            self.intervals.add(age);
        }
        self.last_writes.forget(page);
    }

    fn memory_bytes(&self) -> usize {
        self.last_writes.memory_bytes() + self.pages.len() + self.intervals.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
