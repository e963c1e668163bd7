//! Pages by how long they will live, as the drive has learnt from pages with the same past.

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
    /// Classes of lifetime, hence streams, 1 or more.
    #[schemars(range(min = 1))]
    pub classes: u8,
    /// Drive writes after which classes are drawn up anew from what was learnt, above 0.
    pub epoch_drive_writes: f64,
    /// Weight that what was learnt keeps from one epoch to the next, 0 to below 1.
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
        let epoch = ((epoch * f64::from(pages)).round() as u64).max(SHORTEST_EPOCH);
        Ok(LearntLifetimes {
            streams,
            classes: self.classes,
            epoch,
            next_epoch: epoch,
            now: 0,
            phase: 0,
            previous: None,
            neighbours: LastWrites::of(pages.div_ceil(NEIGHBOURS), pages),
            neighbourhood: NO_NEIGHBOUR,
            unit: u64::from(pages).div_ceil(UNITS).max(1),
            last_writes: LastWrites::new(pages),
            states: vec![0; pages as usize],
            survival: Survival::new(self.memory, f64::from(pages)),
            class_of: first_classes(self.classes),
        })
    }
}

/// Drawing up classes costs as much as some hundred thousand additions: on a small drive it waits for so many pages.
const SHORTEST_EPOCH: u64 = 1024;
/// Ages below the drive's pages over this are all the same.
const UNITS: u64 = 4096;
/// One page in so many is looked at in each epoch to see how many of each past and age there are, others each time.
const LOOKED_AT: usize = 4;
/// The last interval of a page that was never written before.
const NEW: u8 = 15;
/// Pages that are neighbours, and what is known of those that were never written.
const NEIGHBOURS: u32 = 64;
const NO_NEIGHBOUR: u8 = 7;
/// The mark of a past with two intervals.
const TWO_INTERVALS: u8 = 0b1000;

/// Streams by the remaining life of a page: its *past* says of what kind it is, pages of the same kind that lived
/// before say how long it will live.
///
/// The past of a page is its last interval between writes in octaves, with the one before in steps of two octaves;
/// where it has no such, with the time since another write came to its 64 neighbours, in the same steps (a run of
/// consecutive pages counts as one write, with what its first page found). These are 8 bits, beside 4 bytes for its
/// last write. For each past and each octave of age the placement knows how many pages died (were written again or
/// trimmed) and how many lived there, hence the rate at which they die ([`Survival`]). From these rates follows, for
/// any past and age, the time until a third of such pages are dead, which is the lifetime that it goes by: a page
/// that the host writes has an age of 0, a page that is cleaned is as old as it is, so what is left of its life is
/// asked for with what its survival tells. Host writes and cleaned pages of the same expected life share a stream.
/// After each epoch, classes are drawn up ([`bounds`](bounds::class_bounds)) so that lifetimes within one are as
/// alike as can be. The rule for a page is then an entry of a table of 5 KiB, by its past and age.
///
/// Until the first epoch is over, pages go by their last interval alone. Pages whose past is not known, which is all
/// of them after a power cut, are of the longest-lived class until they are written.
pub struct LearntLifetimes {
    streams: ClassStreams,
    classes: u8,
    /// Host pages to an epoch, and those after which the current one ends.
    epoch: u64,
    next_epoch: u64,
    /// Host pages written by the last write; trims come without a time.
    now: u64,
    /// Which pages are looked at next.
    phase: usize,
    /// The last page that the host wrote.
    previous: Option<Lpn>,
    /// When each group of neighbours was written to.
    neighbours: LastWrites,
    /// What the first page of this run found of its neighbours.
    neighbourhood: u8,
    /// Host pages to the first octave of age.
    unit: u64,
    last_writes: LastWrites,
    /// The past of each page that holds something.
    states: Vec<u8>,
    survival: Survival,
    /// The class of each past and age.
    class_of: Vec<u8>,
}

/// Classes by the last interval alone.
fn first_classes(classes: u8) -> Vec<u8> {
    let class = |state: usize| {
        let interval = (state >> 4) * usize::from(classes) / usize::from(NEW);
        interval.min(usize::from(classes) - 1) as u8
    };
    (0..STATES).flat_map(|state| [class(state); AGES]).collect()
}

impl LearntLifetimes {
    /// The octave of an age: 0 below a unit, then one for each doubling.
    #[inline]
    fn octave(&self, age: u64) -> usize {
        let units = age / self.unit;
        ((u64::BITS - units.leading_zeros()) as usize).min(AGES - 1)
    }

    /// The past of a page that is written now, after an interval of so many pages.
    #[inline]
    fn next_state(&mut self, page: Lpn, age: Option<u64>, now: u64) -> u8 {
        let follows = self.previous.is_some_and(|previous| previous.0.wrapping_add(1) == page.0);
        if !follows || page.0.is_multiple_of(NEIGHBOURS) {
            let since = self.neighbours.written(Lpn(page.0 / NEIGHBOURS), now);
            if !follows {
                self.neighbourhood = since.map_or(NO_NEIGHBOUR, |age| self.interval(age) / 2);
            }
        }
        let Some(age) = age else { return NEW << 4 | self.neighbourhood };
        let before = self.states[page.index()] >> 4;
        let second = if before == NEW { self.neighbourhood } else { TWO_INTERVALS | (before / 2) };
        self.interval(age) << 4 | second
    }

    /// An interval in octaves, below [`NEW`].
    #[inline]
    fn interval(&self, pages: u64) -> u8 {
        self.octave(pages).min(usize::from(NEW) - 1) as u8
    }

    fn place_host(&mut self, page: Lpn, now: u64) -> usize {
        if now >= self.next_epoch {
            self.next_epoch = now + self.epoch;
            self.learn(now);
        }
        self.now = now;
        let age = self.last_writes.written(page, now);
        if let Some(age) = age {
            self.survival.died(self.states[page.index()], self.octave(age));
        }
        let state = self.next_state(page, age, now);
        self.states[page.index()] = state;
        self.previous = Some(page);
        Survival::at(state, 0)
    }

    /// The epoch is over: looks at some of the pages, and draws up the classes.
    fn learn(&mut self, now: u64) {
        self.phase = (self.phase + 1) % LOOKED_AT;
        for at in (self.phase..self.states.len()).step_by(LOOKED_AT) {
            if let Some(age) = self.last_writes.age(Lpn(at as u32), now) {
                self.survival.lives(self.states[at], self.octave(age));
            }
        }
        let exposure = (LOOKED_AT as u64 * self.epoch) as f64;
        let lifetimes = self.survival.lifetimes(self.unit as f64, exposure);
        let bounds = bounds::class_bounds(&lifetimes, self.survival.traffic(), self.classes);
        for (class, lifetime) in self.class_of.iter_mut().zip(&lifetimes) {
            *class = bounds.partition_point(|bound| bound <= lifetime) as u8;
        }
        self.survival.fade();
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
            self.survival.died(self.states[page.index()], self.octave(age));
            self.last_writes.forget(page);
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
