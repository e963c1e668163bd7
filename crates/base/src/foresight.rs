//! What will be written, where that is known: when the version of a page that a write makes dies.

use crate::config::{ConfigError, StoreSize};
use crate::units::Lpn;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// A page that the host writes or trims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOp {
    /// It is written.
    Write(Lpn),
    /// It is trimmed.
    Trim(Lpn),
}

/// What a host will do, from the fresh drive on.
pub trait Future: Send {
    /// Shows `see` the next operations, in order; false if there are no more, or nobody can say.
    fn next(&mut self, see: &mut dyn FnMut(HostOp)) -> bool;
}

/// Knows of each page when what it holds dies, as far as that is within reach.
///
/// Time is counted in pages that the host wrote: its writes are numbered from 0 on a fresh drive, and a version dies with the write
/// that overwrites it or, trimmed, with the next write after that. What is known at write `now` are the deaths up to write `now +
/// reach`, and no more, however the future is read.
///
/// The future is read once, as far ahead as the reach, and forgotten as the host comes up to it: 4 bytes a write within reach, and
/// 8 bytes a logical page. Clones share what they know; whoever has one tells it of every host write, more than once if need be.
#[derive(Clone)]
pub struct Foresight {
    known: Arc<Mutex<Known>>,
    reach: u64,
}

impl std::fmt::Debug for Foresight {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Foresight").field("reach", &self.reach).finish_non_exhaustive()
    }
}

const POISON: &str = "nobody panics while holding what is known";

impl Foresight {
    /// Sees so many host writes of `future` ahead, on a drive of so many pages.
    pub fn new(future: Box<dyn Future>, logical_pages: u32, reach: u64) -> Self {
        let reach = reach.clamp(1, LONGEST_REACH);
        Foresight { known: Arc::new(Mutex::new(Known::new(future, logical_pages, reach))), reach }
    }

    /// Knows nothing at all: for whoever builds a part only to ask it for its size.
    pub fn none() -> Self {
        struct Nothing;
        impl Future for Nothing {
            fn next(&mut self, _: &mut dyn FnMut(HostOp)) -> bool {
                false
            }
        }
        Foresight::new(Box::new(Nothing), 0, 1)
    }

    /// The same, that sees no further than `reach` host writes ahead.
    pub fn within(&self, reach: u64) -> Self {
        Foresight { known: Arc::clone(&self.known), reach: reach.min(self.reach) }
    }

    /// Host writes that it sees ahead.
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// Write number `now` of the host is to `page`: the write with which this version dies, if that is within reach.
    pub fn write(&self, page: Lpn, now: u64) -> Option<u64> {
        let mut known = self.lock();
        known.write(page, now);
        self.within_reach(known.death(page, now + 1), now)
    }

    /// The write with which what `page` holds dies, before write number `now` has been done, if that is within reach.
    pub fn death(&self, page: Lpn, now: u64) -> Option<u64> {
        let mut known = self.lock();
        known.read_up_to(now);
        // The host is in the middle of writing this very page, and what it held is still where it was.
        let death = if known.latest == Some((page, now)) { Some(now) } else { known.death(page, now) };
        self.within_reach(death, now)
    }

    /// Bytes that reading the future so far ahead takes, on a drive of so many pages.
    pub fn memory_bytes(logical_pages: u32, reach: u64) -> u64 {
        reach.saturating_mul(4).saturating_add(8 * u64::from(logical_pages))
    }

    fn within_reach(&self, death: Option<u64>, now: u64) -> Option<u64> {
        death.filter(|&death| death <= now + self.reach)
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.known.lock().expect(POISON)
    }
}

/// That nobody can say what will be written, which the part `name` has to know; `key` is the one that names it.
pub fn unforeseen(key: &str, name: &str) -> ConfigError {
    let problem = format!(
        "{name} needs a workload or a trace of the scenario's own, whose writes can be known beforehand; here the program's \
         user writes as it likes"
    );
    ConfigError::new(key, problem)
}

/// Drive writes that can be looked ahead.
const MOST_DRIVE_WRITES: f64 = 1e4;

/// Host writes of so many drive writes, of the setting `look_ahead`.
///
/// # Errors
/// Not above 0, or more than 10,000.
pub fn look_ahead(drive_writes: f64, size: &StoreSize) -> Result<u64, ConfigError> {
    if !(drive_writes > 0.0 && drive_writes <= MOST_DRIVE_WRITES) {
        let problem = format!("is {drive_writes}; it must be above 0 and at most 10,000 drive writes");
        return Err(ConfigError::new("look_ahead", problem));
    }
    Ok(pages_ahead(drive_writes, size))
}

/// The same of a number that is yet to be checked; none of one that will be refused.
pub fn pages_ahead(drive_writes: f64, size: &StoreSize) -> u64 {
    let known = if drive_writes <= MOST_DRIVE_WRITES { drive_writes } else { 0.0 };
    (known * f64::from(size.logical_pages)).ceil() as u64
}

/// Times are places in a ring, of 32 bits.
const LONGEST_REACH: u64 = 1 << 31;

/// No death is known, or no write is to come.
const NONE: u32 = u32::MAX;
/// What is to come last of a page, as far as the future was read, is that it is trimmed.
const TRIMMED: u32 = u32::MAX - 1;

struct Known {
    future: Box<dyn Future>,
    /// Operations shown, but further ahead than the reach.
    shown: VecDeque<HostOp>,
    is_over: bool,
    reach: u64,
    /// Host writes read so far.
    read: u64,
    /// By place of a write in the ring: how many writes later its version dies.
    lives: Vec<u32>,
    /// By page: the place of its last write that was read and that the host has not come to.
    last: Vec<u32>,
    /// By page: the place of the write with which what it holds dies.
    deaths: Vec<u32>,
    /// The host write told of last.
    latest: Option<(Lpn, u64)>,
    /// By place in the ring: the page written, for a check.
    #[cfg(debug_assertions)]
    pages: Vec<Lpn>,
}

impl Known {
    fn new(future: Box<dyn Future>, logical_pages: u32, reach: u64) -> Self {
        // From the write that is being made up to the last within reach.
        let places = reach as usize + 2;
        Known {
            future,
            shown: VecDeque::new(),
            is_over: false,
            reach,
            read: 0,
            lives: vec![NONE; places],
            last: vec![NONE; logical_pages as usize],
            deaths: vec![NONE; logical_pages as usize],
            latest: None,
            #[cfg(debug_assertions)]
            pages: vec![Lpn(0); places],
        }
    }

    fn place(&self, write: u64) -> u32 {
        (write % self.lives.len() as u64) as u32
    }

    /// Reads the future up to the last write that is within reach of write `now`.
    fn read_up_to(&mut self, now: u64) {
        while self.read <= now + self.reach && !self.is_over {
            match self.shown.pop_front() {
                Some(op) => self.note(op),
                None => {
                    let shown = &mut self.shown;
                    self.is_over = !self.future.next(&mut |op| shown.push_back(op)) && shown.is_empty();
                }
            }
        }
    }

    /// The next operation of the future.
    fn note(&mut self, op: HostOp) {
        let place = self.place(self.read);
        let (HostOp::Write(page) | HostOp::Trim(page)) = op;
        let before = &mut self.last[page.index()];
        match *before {
            NONE => self.deaths[page.index()] = place,
            TRIMMED => {}
            written => {
                let places = self.lives.len() as u32;
                let life = if place > written { place - written } else { place + places - written };
                self.lives[written as usize] = life;
            }
        }
        if op == HostOp::Trim(page) {
            *before = TRIMMED;
            return;
        }
        *before = place;
        self.lives[place as usize] = NONE;
        #[cfg(debug_assertions)]
        {
            self.pages[place as usize] = page;
        }
        self.read += 1;
    }

    fn write(&mut self, page: Lpn, now: u64) {
        self.read_up_to(now);
        self.latest = Some((page, now));
        if now >= self.read {
            self.deaths.get_mut(page.index()).into_iter().for_each(|death| *death = NONE);
            return;
        }
        let place = self.place(now);
        #[cfg(debug_assertions)]
        assert_eq!(self.pages[place as usize], page, "the host writes what it was said to write");
        if self.last[page.index()] == place {
            self.last[page.index()] = NONE;
        }
        self.deaths[page.index()] = match self.lives[place as usize] {
            NONE => NONE,
            life => self.place(now + u64::from(life)),
        };
    }

    /// When what `page` holds dies, seen from before write `now`.
    fn death(&self, page: Lpn, now: u64) -> Option<u64> {
        let place = *self.deaths.get(page.index())?;
        let places = self.lives.len() as u64;
        (place != NONE).then(|| now + (u64::from(place) + places - now % places) % places)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, below};

    struct Listed(std::vec::IntoIter<HostOp>, usize);

    impl Future for Listed {
        fn next(&mut self, see: &mut dyn FnMut(HostOp)) -> bool {
            let before = self.0.len();
            self.0.by_ref().take(self.1).for_each(see);
            self.0.len() < before
        }
    }

    /// When the version dies that is there before write `now`, by looking through all that is to come from operation `from` on.
    fn naive(ops: &[HostOp], from: usize, page: Lpn, now: u64) -> Option<u64> {
        let mut number = now;
        for &op in &ops[from..] {
            match op {
                HostOp::Write(other) | HostOp::Trim(other) if other == page => return Some(number),
                HostOp::Write(_) => number += 1,
                HostOp::Trim(_) => {}
            }
        }
        None
    }

    #[test]
    fn deaths_are_those_that_come() {
        let mut random = Seed(3).random();
        for (pages, reach, at_once) in [(5u32, 3u64, 1), (7, 20, 13), (30, 200, 64), (3, 1000, 7)] {
            let ops: Vec<HostOp> = (0..600)
                .map(|_| {
                    let page = Lpn(below(&mut random, u64::from(pages)) as u32);
                    if below(&mut random, 6) == 0 { HostOp::Trim(page) } else { HostOp::Write(page) }
                })
                .collect();
            let foresight = Foresight::new(Box::new(Listed(ops.clone().into_iter(), at_once)), pages, reach);
            let near = foresight.within(reach / 2);
            let (mut now, mut held) = (0, vec![false; pages as usize]);
            for (at, &op) in ops.iter().enumerate() {
                for page in (0..pages).map(Lpn).filter(|page| held[page.index()]) {
                    let expected = naive(&ops, at, page, now);
                    let known = |reach: u64| expected.filter(|&death| death <= now + reach);
                    assert_eq!(foresight.death(page, now), known(reach), "{page:?} before {now}");
                    assert_eq!(near.death(page, now), known(reach / 2));
                }
                match op {
                    HostOp::Trim(page) => held[page.index()] = false,
                    HostOp::Write(page) => {
                        let dies = naive(&ops, at + 1, page, now + 1).filter(|&death| death <= now + reach);
                        assert_eq!(foresight.write(page, now), dies, "{page:?} with {now}");
                        // In the middle of the write, its old place is yet to die.
                        assert_eq!(foresight.death(page, now), Some(now));
                        assert_eq!(foresight.write(page, now), dies, "told twice");
                        (held[page.index()], now) = (true, now + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn whoever_knows_nothing_says_so() {
        let nothing = Foresight::none();
        assert_eq!(nothing.death(Lpn(0), 0), None);
        let ended = Foresight::new(Box::new(Listed(vec![HostOp::Write(Lpn(1))].into_iter(), 1)), 2, 10);
        assert_eq!(
            (ended.write(Lpn(1), 0), ended.write(Lpn(0), 1), ended.death(Lpn(1), 2)),
            (None, None, None)
        );
        assert_eq!(Foresight::memory_bytes(1000, 4000), 24_000);
    }
}
