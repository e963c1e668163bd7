//! Placement by expected lifetime, learnt from pages with a similar history.

mod bounds;
mod survival;

use super::classes::ClassStreams;
use super::clock::LastWrites;
use super::{PageContext, Placement, PlacementContext, PlacementKind};
use crate::config::{ConfigError, Entry};
use crate::counters::Cause;
use crate::units::{Lpn, StreamId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use survival::{AGES, STATES, Survival};

/// Settings of the learnt lifetimes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// Classes of lifetime, and thus streams, 1 or more.
    #[schemars(range(min = 1))]
    pub classes: u8,
    /// Drive writes after which the classes are recomputed from what was learnt, above 0.
    pub epoch_drive_writes: f64,
    /// Weight of the old counts at the start of a new epoch, 0 to below 1.
    pub memory: f64,
}

impl Default for Config {
    fn default() -> Self {
        Config { classes: 6, epoch_drive_writes: 0.0625, memory: 0.93 }
    }
}

impl PlacementKind for Config {
    const ENTRY: Entry = Entry {
        name: "learnt_lifetimes",
        help: "classes of remaining life, learnt from pages of the same age with the same past",
        source: "our own",
    };
    type Placement = LearntLifetimes;

    fn build(&self, context: PlacementContext<'_>) -> Result<LearntLifetimes, ConfigError> {
        let streams = ClassStreams::new(usize::from(self.classes), false, "classes")?;
        let epoch = self.epoch_drive_writes;
        if !(epoch.is_finite() && epoch > 0.0) {
            let problem = format!("is {epoch}; it must be a finite number above 0, in drive writes");
            return Err(ConfigError::new("epoch_drive_writes", problem));
        }
        if !(0.0..1.0).contains(&self.memory) {
            let problem = format!("is {}; it must be 0 or more and below 1", self.memory);
            return Err(ConfigError::new("memory", problem));
        }
        let pages = context.size.logical_pages;
        let epoch = ((epoch * f64::from(pages)).round() as u64).max(MIN_EPOCH_PAGES);
        Ok(LearntLifetimes {
            streams,
            classes: self.classes,
            epoch,
            next_epoch: epoch,
            now: 0,
            phase: 0,
            previous: None,
            neighbours: LastWrites::for_parts(pages.div_ceil(NEIGHBOURHOOD_PAGES), pages),
            neighbourhood: NEVER_WRITTEN,
            unit: u64::from(pages).div_ceil(UNITS).max(1),
            last_writes: LastWrites::new(pages),
            states: vec![0; pages as usize],
            survival: Survival::new(self.memory, f64::from(pages)),
            class_of: first_classes(self.classes),
        })
    }
}

/// Minimum length of an epoch in pages: recomputing classes costs some hundred thousand additions.
const MIN_EPOCH_PAGES: u64 = 1024;
/// Ages below the drive's pages divided by this number are not distinguished.
const UNITS: u64 = 4096;
/// In each epoch, one page out of this number is sampled to count pages by history and age; each epoch samples other
/// pages.
const SAMPLING_INTERVAL: usize = 4;
/// Value of the last interval for a page written for the first time.
const FIRST_WRITE: u8 = 15;
/// Number of pages in a neighbourhood, and value of a neighbourhood that was never written.
const NEIGHBOURHOOD_PAGES: u32 = 64;
const NEVER_WRITTEN: u8 = 7;
/// Flag of a history with two intervals.
const TWO_INTERVALS: u8 = 0b1000;

/// Streams by the remaining life of a page. The *past* of a page (its write history) selects a group of similar
/// pages; their lifetimes predict its lifetime.
///
/// The past of a page is its last interval between writes in octaves, with the previous interval in steps of two
/// octaves. Without a previous interval, the second part is the time since another write to its 64 neighbours, in the
/// same steps. A run of consecutive pages counts as one write, with the value of its first page. The past takes 8 bits,
/// in addition to 4 bytes for the last write. For each past and each octave of age, the placement counts the pages that
/// died (were rewritten or trimmed) and the pages that were at risk, which gives the death rate ([`Survival`]). For any
/// past and age, these rates determine the expected lifetime: the time until a third of such pages are dead. A page
/// that the host writes has age 0; a cleaned page has its actual age, so that its remaining life is used. Host writes
/// and cleaned pages with the same expected life share a stream. After each epoch, the classes are recomputed
/// ([`bounds`](bounds::class_bounds)) to make lifetimes within a class as similar as possible. The class of a page is
/// then looked up in a table of 5 KiB, by its past and age.
///
/// Until the end of the first epoch, pages are placed by their last interval alone. Pages without a known past, as
/// all are after a power cut, are in the longest-lived class until they are written.
pub struct LearntLifetimes {
    streams: ClassStreams,
    classes: u8,
    /// Host pages per epoch, and host pages after which the current epoch ends.
    epoch: u64,
    next_epoch: u64,
    /// Host pages written up to the last write; trims carry no time.
    now: u64,
    /// Number, modulo the sampling interval, of the pages that are sampled next.
    phase: usize,
    /// The page that the host wrote last.
    previous: Option<Lpn>,
    /// Time of the last write to each neighbourhood.
    neighbours: LastWrites,
    /// Neighbourhood part of the past for the pages of the current run.
    neighbourhood: u8,
    /// Host pages of the first octave of age.
    unit: u64,
    last_writes: LastWrites,
    /// The past of each page that holds data.
    states: Vec<u8>,
    survival: Survival,
    /// The class for each past and age.
    class_of: Vec<u8>,
}

/// Returns classes by the last interval alone.
fn first_classes(classes: u8) -> Vec<u8> {
    let class = |state: usize| {
        let interval = (state >> 4) * usize::from(classes) / usize::from(FIRST_WRITE);
        interval.min(usize::from(classes) - 1) as u8
    };
    (0..STATES).flat_map(|state| [class(state); AGES]).collect()
}

impl LearntLifetimes {
    /// Returns the octave of an age: 0 below a unit, then one for each doubling.
    #[inline]
    fn octave(&self, age: u64) -> usize {
        let units = age / self.unit;
        ((u64::BITS - units.leading_zeros()) as usize).min(AGES - 1)
    }

    /// Returns the past of a page that is written now, after an interval of `age` pages.
    #[inline]
    fn next_state(&mut self, page: Lpn, age: Option<u64>, now: u64) -> u8 {
        let is_sequential = self.previous.is_some_and(|previous| previous.0.wrapping_add(1) == page.0);
        if !is_sequential || page.0.is_multiple_of(NEIGHBOURHOOD_PAGES) {
            let since = self.neighbours.record_write(Lpn(page.0 / NEIGHBOURHOOD_PAGES), now);
            if !is_sequential {
                self.neighbourhood = since.map_or(NEVER_WRITTEN, |age| self.interval(age) / 2);
            }
        }
        let Some(age) = age else { return FIRST_WRITE << 4 | self.neighbourhood };
        let previous_interval = self.states[page.index()] >> 4;
        let second_part = if previous_interval == FIRST_WRITE {
            self.neighbourhood
        } else {
            TWO_INTERVALS | (previous_interval / 2)
        };
        self.interval(age) << 4 | second_part
    }

    /// Returns an interval in octaves, below [`FIRST_WRITE`].
    #[inline]
    fn interval(&self, pages: u64) -> u8 {
        self.octave(pages).min(usize::from(FIRST_WRITE) - 1) as u8
    }

    fn place_host(&mut self, page: Lpn, now: u64) -> usize {
        if now >= self.next_epoch {
            self.next_epoch = now + self.epoch;
            self.recompute_classes(now);
        }
        self.now = now;
        let age = self.last_writes.record_write(page, now);
        if let Some(age) = age {
            self.survival.record_invalidation(self.states[page.index()], self.octave(age));
        }
        let state = self.next_state(page, age, now);
        self.states[page.index()] = state;
        self.previous = Some(page);
        Survival::at(state, 0)
    }

    /// Ends an epoch: samples pages and recomputes the classes.
    fn recompute_classes(&mut self, now: u64) {
        self.phase = (self.phase + 1) % SAMPLING_INTERVAL;
        for at in (self.phase..self.states.len()).step_by(SAMPLING_INTERVAL) {
            if let Some(age) = self.last_writes.age(Lpn(at as u32), now) {
                self.survival.record_survivor(self.states[at], self.octave(age));
            }
        }
        let exposure = (SAMPLING_INTERVAL as u64 * self.epoch) as f64;
        let lifetimes = self.survival.lifetimes(self.unit as f64, exposure);
        let bounds = bounds::class_bounds(&lifetimes, self.survival.traffic(), self.classes);
        for (class, lifetime) in self.class_of.iter_mut().zip(&lifetimes) {
            *class = bounds.partition_point(|bound| bound <= lifetime) as u8;
        }
        self.survival.decay();
    }
}

impl Placement for LearntLifetimes {
    fn streams(&self) -> u8 {
        self.streams.streams()
    }

    #[inline]
    fn place(&mut self, context: &PageContext) -> StreamId {
        let PageContext { page, now, cause, .. } = *context;
        let at = if cause == Cause::Host {
            self.place_host(page, now)
        } else {
            let Some(age) = self.last_writes.age(page, now) else { return StreamId(self.classes - 1) };
            Survival::at(self.states[page.index()], self.octave(age))
        };
        self.survival.written(at);
        self.streams.stream(self.class_of[at], cause)
    }

    fn trimmed(&mut self, page: Lpn) {
        if let Some(age) = self.last_writes.age(page, self.now) {
            self.survival.record_invalidation(self.states[page.index()], self.octave(age));
            self.last_writes.clear(page);
        }
    }

    fn memory_bytes(&self) -> usize {
        self.last_writes.memory_bytes()
            + self.neighbours.memory_bytes()
            + self.states.len()
            + self.class_of.len()
            + self.survival.memory_bytes()
    }
}

#[cfg(test)]
mod tests;
