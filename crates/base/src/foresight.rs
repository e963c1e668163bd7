//! Knowledge of future writes: the time at which each page version is invalidated.

use crate::config::{ConfigError, StoreSize};
use crate::units::Lpn;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

/// Operation of the host on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostOp {
    /// Write of the page.
    Write(Lpn),
    /// Trim of the page.
    Trim(Lpn),
}

/// Sequence of all future operations of a host, starting with the fresh drive.
pub trait Future: Send {
    /// Passes the next operations to `see`, in order; returns false if there are no more, or if the future is unknown.
    fn next(&mut self, see: &mut dyn FnMut(HostOp)) -> bool;
}

/// Oracle for the invalidation time of the contents of each page, up to a limited distance (`reach`).
///
/// Time is counted in host page writes: writes are numbered from 0 on a fresh drive. A version is invalidated by the
/// write that overwrites it or, if it is trimmed, by the next write after the TRIM. At write `now`, invalidations up to
/// write `now + reach` are known, and no later ones, however the future is read.
///
/// The future is read once, as far ahead as `reach`, and past operations are dropped. Memory: 4 bytes per write within
/// reach, and 8 bytes per logical page. Clones share this state; each user reports every host write, and repeated
/// reports of a write are allowed.
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
    /// Returns an oracle that sees `reach` host writes of `future` ahead, on a drive of `logical_pages` pages.
    pub fn new(future: Box<dyn Future>, logical_pages: u32, reach: u64) -> Self {
        let reach = reach.clamp(1, LONGEST_REACH);
        Foresight { known: Arc::new(Mutex::new(Known::new(future, logical_pages, reach))), reach }
    }

    /// Returns an oracle without knowledge, for a part that is built only to query its size.
    pub fn none() -> Self {
        struct Nothing;
        impl Future for Nothing {
            fn next(&mut self, _: &mut dyn FnMut(HostOp)) -> bool {
                false
            }
        }
        Foresight::new(Box::new(Nothing), 0, 1)
    }

    /// Returns the same oracle, limited to `reach` host writes ahead.
    pub fn within(&self, reach: u64) -> Self {
        Foresight { known: Arc::clone(&self.known), reach: reach.min(self.reach) }
    }

    /// Returns the number of host writes that the oracle sees ahead.
    pub fn reach(&self) -> u64 {
        self.reach
    }

    /// Records that host write number `now` is to `page`. Returns the write that will invalidate this version, if it is within reach.
    pub fn write(&self, page: Lpn, now: u64) -> Option<u64> {
        let mut known = self.lock();
        known.write(page, now);
        self.within_reach(known.death(page, now + 1), now)
    }

    /// Returns the write that will invalidate the current contents of `page`, seen before write number `now`, if it is within reach.
    pub fn death(&self, page: Lpn, now: u64) -> Option<u64> {
        let mut known = self.lock();
        known.read_up_to(now);
        // During the host's write of this very page, the old contents are still in place.
        let death = if known.latest == Some((page, now)) { Some(now) } else { known.death(page, now) };
        self.within_reach(death, now)
    }

    /// Returns the bytes of memory for a `reach` on a drive of `logical_pages` pages.
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

/// Returns the error that future writes are unknown, although the part `name` needs them; `key` is the key that selects the part.
pub fn unforeseen(key: &str, name: &str) -> ConfigError {
    let problem = format!(
        "{name} needs a workload or a trace of the scenario's own, whose writes can be known beforehand; here the program's \
         user writes as it likes"
    );
    ConfigError::new(key, problem)
}

/// Largest look-ahead, in drive writes.
const MOST_DRIVE_WRITES: f64 = 1e4;

/// Converts the setting `look_ahead` from drive writes to host page writes.
///
/// # Errors
/// Returns an error if the value is not above 0, or above 10,000.
pub fn look_ahead(drive_writes: f64, size: &StoreSize) -> Result<u64, ConfigError> {
    if !(drive_writes > 0.0 && drive_writes <= MOST_DRIVE_WRITES) {
        let problem = format!("is {drive_writes}; it must be above 0 and at most 10,000 drive writes");
        return Err(ConfigError::new("look_ahead", problem));
    }
    Ok(pages_ahead(drive_writes, size))
}

/// Converts a look-ahead that has not been checked yet; returns 0 for a value that will be rejected.
pub fn pages_ahead(drive_writes: f64, size: &StoreSize) -> u64 {
    let known = if drive_writes <= MOST_DRIVE_WRITES { drive_writes } else { 0.0 };
    (known * f64::from(size.logical_pages)).ceil() as u64
}

/// Times are positions in a ring, stored in 32 bits.
const LONGEST_REACH: u64 = 1 << 31;

/// No invalidation, or no future write, is known.
const NONE: u32 = u32::MAX;
/// The last known future operation on the page is a TRIM.
const TRIMMED: u32 = u32::MAX - 1;

struct Known {
    future: Box<dyn Future>,
    /// Operations received, but further ahead than the reach.
    shown: VecDeque<HostOp>,
    is_over: bool,
    reach: u64,
    /// Number of host writes read so far.
    read: u64,
    /// By ring position of a write: number of writes until its version is invalidated.
    lives: Vec<u32>,
    /// By page: ring position of the last known write that lies in the future.
    last: Vec<u32>,
    /// By page: ring position of the write that invalidates the current contents.
    deaths: Vec<u32>,
    /// Host write that was reported last.
    latest: Option<(Lpn, u64)>,
    /// By ring position: page that is written, as a check.
    #[cfg(debug_assertions)]
    pages: Vec<Lpn>,
}

impl Known {
    fn new(future: Box<dyn Future>, logical_pages: u32, reach: u64) -> Self {
        // From the write in progress to the last one within reach.
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

    /// Reads the future up to the last write within reach of write `now`.
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

    /// Records the next operation of the future.
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

    /// Returns the write that invalidates the contents of `page`, seen before write `now`.
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

    /// Finds the invalidation of the version before write `now` by a scan of all operations from `from` on, as a reference.
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
    fn invalidations_match_a_naive_scan() {
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
                        // During the write, the old version is not yet invalidated.
                        assert_eq!(foresight.death(page, now), Some(now));
                        assert_eq!(foresight.write(page, now), dies, "told twice");
                        (held[page.index()], now) = (true, now + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn oracle_without_knowledge_returns_none() {
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
