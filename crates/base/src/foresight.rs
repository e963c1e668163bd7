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
pub trait FutureOperations: Send {
    /// Passes the next operations to `sink`, in order; returns false if there are no more, or if the future is unknown.
    fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool;
}

/// Oracle for the invalidation time of the contents of each page, up to a limited distance (`horizon`).
///
/// Time is counted in host page writes: writes are numbered from 0 on a fresh drive. A version is invalidated by the
/// write that overwrites it or, if it is trimmed, by the next write after the TRIM. At write `now`, invalidations up to
/// write `now + horizon` are known, and no later ones, regardless of how far the future has been read.
///
/// The future is read once, as far ahead as `horizon`, and past operations are dropped. Memory: 4 bytes per write
/// within reach, and 8 bytes per logical page. Clones share this state; each user reports every host write, and
/// repeated reports of a write are allowed.
#[derive(Clone)]
pub struct Foresight {
    window: Arc<Mutex<FutureWindow>>,
    horizon: u64,
}

impl std::fmt::Debug for Foresight {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Foresight").field("reach", &self.horizon).finish_non_exhaustive()
    }
}

const POISON: &str = "nobody panics while holding what is known";

impl Foresight {
    /// Returns an oracle that sees `horizon` host writes of `future` ahead, on a drive of `logical_pages` pages.
    pub fn new(future: Box<dyn FutureOperations>, logical_pages: u32, horizon: u64) -> Self {
        let horizon = horizon.clamp(1, MAX_HORIZON);
        Foresight { window: Arc::new(Mutex::new(FutureWindow::new(future, logical_pages, horizon))), horizon }
    }

    /// Returns an oracle without knowledge, for a part that is built only to query its size.
    pub fn none() -> Self {
        struct EmptyFuture;
        impl FutureOperations for EmptyFuture {
            fn next(&mut self, _: &mut dyn FnMut(HostOp)) -> bool {
                false
            }
        }
        Foresight::new(Box::new(EmptyFuture), 0, 1)
    }

    /// Returns the same oracle, limited to `horizon` host writes ahead.
    pub fn with_horizon(&self, horizon: u64) -> Self {
        Foresight { window: Arc::clone(&self.window), horizon: horizon.min(self.horizon) }
    }

    /// Returns the number of host writes that the oracle sees ahead.
    pub fn horizon(&self) -> u64 {
        self.horizon
    }

    /// Records that host write number `now` is to `page`. Returns the write that will invalidate this version, if it is
    /// within reach.
    pub fn write(&self, page: Lpn, now: u64) -> Option<u64> {
        let mut window = self.lock();
        window.write(page, now);
        self.within_horizon(window.invalidation(page, now + 1), now)
    }

    /// Returns the write that will invalidate the current contents of `page`, seen before write number `now`, if it is
    /// within reach.
    pub fn invalidation(&self, page: Lpn, now: u64) -> Option<u64> {
        let mut window = self.lock();
        window.read_up_to(now);
        // During the host's write of this very page, the old contents are still in place.
        let invalidation = if window.last_reported == Some((page, now)) {
            Some(now)
        } else {
            window.invalidation(page, now)
        };
        self.within_horizon(invalidation, now)
    }

    /// Returns the bytes of memory for a `horizon` on a drive of `logical_pages` pages.
    pub fn memory_bytes(logical_pages: u32, horizon: u64) -> u64 {
        horizon.saturating_mul(4).saturating_add(8 * u64::from(logical_pages))
    }

    fn within_horizon(&self, invalidation: Option<u64>, now: u64) -> Option<u64> {
        invalidation.filter(|&invalidation| invalidation <= now + self.horizon)
    }

    fn lock(&self) -> MutexGuard<'_, FutureWindow> {
        self.window.lock().expect(POISON)
    }
}

/// Returns the error that future writes are unknown, although the part `name` needs them; `key` is the key that selects
/// the part.
pub fn unknown_future_error(key: &str, name: &str) -> ConfigError {
    let problem = format!(
        "{name} needs a workload or a trace of the scenario's own, whose writes can be known beforehand; here the program's \
         user writes as it likes"
    );
    ConfigError::new(key, problem)
}

/// Largest look-ahead, in drive writes.
const MAX_DRIVE_WRITES: f64 = 1e4;

/// Converts the setting `look_ahead_pages` from drive writes to host page writes.
///
/// # Errors
/// Returns an error if the value is not above 0, or above 10,000.
pub fn look_ahead_pages(drive_writes: f64, size: &StoreSize) -> Result<u64, ConfigError> {
    if !(drive_writes > 0.0 && drive_writes <= MAX_DRIVE_WRITES) {
        let problem = format!("is {drive_writes}; it must be above 0 and at most 10,000 drive writes");
        return Err(ConfigError::new("look_ahead", problem));
    }
    Ok(unchecked_look_ahead_pages(drive_writes, size))
}

/// Converts a look-ahead that has not been checked yet; returns 0 for a value that will be rejected.
pub fn unchecked_look_ahead_pages(drive_writes: f64, size: &StoreSize) -> u64 {
    let checked = if drive_writes <= MAX_DRIVE_WRITES { drive_writes } else { 0.0 };
    (checked * f64::from(size.logical_pages)).ceil() as u64
}

/// Times are positions in a ring, stored in 32 bits.
const MAX_HORIZON: u64 = 1 << 31;

/// No invalidation, or no future write, is known.
const NONE: u32 = u32::MAX;
/// The last known future operation on the page is a TRIM.
const TRIMMED: u32 = u32::MAX - 1;

struct FutureWindow {
    future: Box<dyn FutureOperations>,
    /// Operations that were received but are further ahead than the horizon.
    pending: VecDeque<HostOp>,
    is_exhausted: bool,
    horizon: u64,
    /// Number of host writes read so far.
    writes_read: u64,
    /// By ring position of a write: number of writes until its version is invalidated.
    lifetimes: Vec<u32>,
    /// By page: ring position of the last known write that lies in the future.
    last_writes: Vec<u32>,
    /// By page: ring position of the write that invalidates the current contents.
    invalidations: Vec<u32>,
    /// Host write that was reported last.
    last_reported: Option<(Lpn, u64)>,
    /// By ring position: page that is written, as a check.
    #[cfg(debug_assertions)]
    pages: Vec<Lpn>,
}

impl FutureWindow {
    fn new(future: Box<dyn FutureOperations>, logical_pages: u32, horizon: u64) -> Self {
        // From the write in progress to the last one within reach.
        let slots = horizon as usize + 2;
        FutureWindow {
            future,
            pending: VecDeque::new(),
            is_exhausted: false,
            horizon,
            writes_read: 0,
            lifetimes: vec![NONE; slots],
            last_writes: vec![NONE; logical_pages as usize],
            invalidations: vec![NONE; logical_pages as usize],
            last_reported: None,
            #[cfg(debug_assertions)]
            pages: vec![Lpn(0); slots],
        }
    }

    fn slot_of(&self, write: u64) -> u32 {
        (write % self.lifetimes.len() as u64) as u32
    }

    /// Reads the future up to the last write within reach of write `now`.
    fn read_up_to(&mut self, now: u64) {
        while self.writes_read <= now + self.horizon && !self.is_exhausted {
            match self.pending.pop_front() {
                Some(op) => self.record(op),
                None => {
                    let pending = &mut self.pending;
                    self.is_exhausted =
                        !self.future.next(&mut |op| pending.push_back(op)) && pending.is_empty();
                }
            }
        }
    }

    /// Records the next operation of the future.
    fn record(&mut self, op: HostOp) {
        let slot = self.slot_of(self.writes_read);
        let (HostOp::Write(page) | HostOp::Trim(page)) = op;
        let last_write = &mut self.last_writes[page.index()];
        match *last_write {
            NONE => self.invalidations[page.index()] = slot,
            TRIMMED => {}
            written => {
                let slots = self.lifetimes.len() as u32;
                let lifetime = if slot > written { slot - written } else { slot + slots - written };
                self.lifetimes[written as usize] = lifetime;
            }
        }
        if op == HostOp::Trim(page) {
            *last_write = TRIMMED;
            return;
        }
        *last_write = slot;
        self.lifetimes[slot as usize] = NONE;
        #[cfg(debug_assertions)]
        {
            self.pages[slot as usize] = page;
        }
        self.writes_read += 1;
    }

    fn write(&mut self, page: Lpn, now: u64) {
        self.read_up_to(now);
        self.last_reported = Some((page, now));
        if now >= self.writes_read {
            self.invalidations
                .get_mut(page.index())
                .into_iter()
                .for_each(|invalidation| *invalidation = NONE);
            return;
        }
        let slot = self.slot_of(now);
        #[cfg(debug_assertions)]
        assert_eq!(self.pages[slot as usize], page, "the host writes what it was said to write");
        if self.last_writes[page.index()] == slot {
            self.last_writes[page.index()] = NONE;
        }
        self.invalidations[page.index()] = match self.lifetimes[slot as usize] {
            NONE => NONE,
            life => self.slot_of(now + u64::from(life)),
        };
    }

    /// Returns the write that invalidates the contents of `page`, seen before write `now`.
    fn invalidation(&self, page: Lpn, now: u64) -> Option<u64> {
        let slot = *self.invalidations.get(page.index())?;
        let slots = self.lifetimes.len() as u64;
        (slot != NONE).then(|| now + (u64::from(slot) + slots - now % slots) % slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, random_below};

    struct ListedFuture(std::vec::IntoIter<HostOp>, usize);

    impl FutureOperations for ListedFuture {
        fn next(&mut self, sink: &mut dyn FnMut(HostOp)) -> bool {
            let before = self.0.len();
            self.0.by_ref().take(self.1).for_each(sink);
            self.0.len() < before
        }
    }

    /// Finds the invalidation of the version before write `now` by a scan of all operations from `from` on, as a
    /// reference.
    fn naive_invalidation(ops: &[HostOp], from: usize, page: Lpn, now: u64) -> Option<u64> {
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
        for (pages, horizon, batch_ops) in [(5u32, 3u64, 1), (7, 20, 13), (30, 200, 64), (3, 1000, 7)] {
            let ops: Vec<HostOp> = (0..600)
                .map(|_| {
                    let page = Lpn(random_below(&mut random, u64::from(pages)) as u32);
                    if random_below(&mut random, 6) == 0 { HostOp::Trim(page) } else { HostOp::Write(page) }
                })
                .collect();
            let foresight =
                Foresight::new(Box::new(ListedFuture(ops.clone().into_iter(), batch_ops)), pages, horizon);
            let half = foresight.with_horizon(horizon / 2);
            let (mut now, mut has_contents) = (0, vec![false; pages as usize]);
            for (at, &op) in ops.iter().enumerate() {
                for page in (0..pages).map(Lpn).filter(|page| has_contents[page.index()]) {
                    let expected = naive_invalidation(&ops, at, page, now);
                    let within_horizon =
                        |horizon: u64| expected.filter(|&invalidation| invalidation <= now + horizon);
                    assert_eq!(
                        foresight.invalidation(page, now),
                        within_horizon(horizon),
                        "{page:?} before {now}"
                    );
                    assert_eq!(half.invalidation(page, now), within_horizon(horizon / 2));
                }
                match op {
                    HostOp::Trim(page) => has_contents[page.index()] = false,
                    HostOp::Write(page) => {
                        let invalidation = naive_invalidation(&ops, at + 1, page, now + 1)
                            .filter(|&invalidation| invalidation <= now + horizon);
                        assert_eq!(foresight.write(page, now), invalidation, "{page:?} with {now}");
                        // During the write, the old version is not yet invalidated.
                        assert_eq!(foresight.invalidation(page, now), Some(now));
                        assert_eq!(foresight.write(page, now), invalidation, "told twice");
                        (has_contents[page.index()], now) = (true, now + 1);
                    }
                }
            }
        }
    }

    #[test]
    fn oracle_without_knowledge_returns_none() {
        let empty = Foresight::none();
        assert_eq!(empty.invalidation(Lpn(0), 0), None);
        let ended = Foresight::new(Box::new(ListedFuture(vec![HostOp::Write(Lpn(1))].into_iter(), 1)), 2, 10);
        assert_eq!(
            (ended.write(Lpn(1), 0), ended.write(Lpn(0), 1), ended.invalidation(Lpn(1), 2)),
            (None, None, None)
        );
        assert_eq!(Foresight::memory_bytes(1000, 4000), 24_000);
    }
}
