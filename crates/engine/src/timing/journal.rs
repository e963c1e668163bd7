//! Flash operations that requests cause, in order: the layers append to the journal, the clock reads it.

use crate::counters::Cause;
use crate::units::BlockId;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One flash operation of a request, in the order in which the layers issued them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A page was read.
    Read {
        /// Its block.
        block: BlockId,
        /// Its index in the block.
        page: u32,
        /// Cause.
        cause: Cause,
    },
    /// The spare area of a page was read, without the page.
    ReadSpare {
        /// Its block.
        block: BlockId,
        /// Index of its page in the block.
        page: u32,
        /// Cause.
        cause: Cause,
    },
    /// Consecutive pages were programmed.
    Program {
        /// Their block.
        block: BlockId,
        /// Index of the first page in the block.
        page: u32,
        /// Number of pages.
        pages: u32,
        /// Cause.
        cause: Cause,
    },
    /// A block was erased.
    Erase {
        /// The block.
        block: BlockId,
        /// Cause.
        cause: Cause,
    },
    /// Pages were hashed. The next programs wait for the hash: the host's programs if the cause is the host, those of
    /// cleaning if it is cleaning.
    Hash {
        /// Number of pages.
        pages: u32,
        /// Cause.
        cause: Cause,
        /// Time of each page in percent of a full hash: less for a weak hash.
        percent: u32,
    },
}

/// An event between two steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Power is lost. Recovery follows, which may lose power again.
    PowerLost,
    /// A step of recovery has ended; the next one depends on its result.
    RecoveryStepEnded,
    /// The FTL has recovered. The next steps are for the host again.
    Recovered,
}

impl Step {
    /// Packs a read or a program, as most steps are, into two words; `None` for other steps.
    #[inline]
    fn packed(self) -> Option<[u64; 2]> {
        let (block, page, pages, cause) = match self {
            Step::Read { block, page, cause } => (block, page, 0, cause),
            Step::Program { block, page, pages, cause } if pages > 0 => (block, page, pages, cause),
            _ => return None,
        };
        let place = u64::from(block.0) << 32 | u64::from(page);
        Some([place, (cause as u64) << 32 | u64::from(pages)])
    }

    /// Reverses [`Step::packed`].
    #[inline]
    fn unpacked([place, rest]: [u64; 2]) -> Step {
        let (block, page) = (BlockId((place >> 32) as u32), place as u32);
        let cause = Cause::ALL[(rest >> 32) as usize];
        match rest as u32 {
            0 => Step::Read { block, page, cause },
            pages => Step::Program { block, page, pages, cause },
        }
    }
}

/// There is no step.
const NONE: u8 = 0;
/// There is one step, in [`Shared::alone`].
const ALONE: u8 = 1;
/// All steps are in [`Shared::steps`].
const MANY: u8 = 2;

/// Steps not yet timed, shared between the layers and the clock.
///
/// All users run on one thread at a time; locks and atomics only satisfy the compiler. A single step, the common
/// case, needs no lock.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: AtomicU8,
    alone: [AtomicU64; 2],
    steps: Mutex<Vec<Step>>,
    /// Events, each with the number of steps before it.
    events: Mutex<Vec<(usize, Event)>>,
    /// True if there are events.
    has_events: AtomicBool,
    /// True if steps are discarded.
    paused: AtomicBool,
}

impl Journal {
    /// Creates a journal that records nothing.
    pub fn paused() -> Self {
        let journal = Journal::default();
        journal.set_recording(false);
        journal
    }

    /// Switches recording on (the default) or off. Work before the clock starts, such as filling a drive, need not be
    /// recorded.
    pub fn set_recording(&self, recording: bool) {
        self.0.paused.store(!recording, Ordering::Relaxed);
    }

    #[inline]
    fn is_paused(&self) -> bool {
        self.0.paused.load(Ordering::Relaxed)
    }

    /// Appends a step.
    #[inline]
    pub fn push(&self, step: Step) {
        if self.is_paused() {
            return;
        }
        match step.packed() {
            Some(words) if self.state() == NONE => {
                for (to, word) in self.0.alone.iter().zip(words) {
                    to.store(word, Ordering::Relaxed);
                }
                self.set_state(ALONE);
            }
            _ => self.many().push(step),
        }
    }

    /// Appends steps.
    #[inline]
    pub fn extend(&self, steps: impl Iterator<Item = Step>) {
        if !self.is_paused() {
            self.many().extend(steps);
        }
    }

    /// Runs `unseen` without recording its steps.
    pub fn pausing<T>(&self, unseen: impl FnOnce() -> T) -> T {
        let was_paused = self.0.paused.swap(true, Ordering::Relaxed);
        let done = unseen();
        self.set_recording(!was_paused);
        done
    }

    /// Appends an event.
    pub fn note(&self, event: Event) {
        if !self.is_paused() {
            let at = self.many().len();
            self.events().push((at, event));
            self.0.has_events.store(true, Ordering::Relaxed);
        }
    }

    /// True if there are events among the steps: few journals have any.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.0.has_events.load(Ordering::Relaxed)
    }

    /// Takes all events, each with the number of steps before it that [`Journal::take`] returns.
    pub fn take_events(&self) -> Vec<(usize, Event)> {
        self.0.has_events.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.events())
    }

    /// Takes the only step, if there is exactly one and no event.
    #[inline]
    pub fn take_alone(&self) -> Option<Step> {
        if self.state() != ALONE || self.has_events() {
            return None;
        }
        self.set_state(NONE);
        Some(self.alone())
    }

    /// Moves all steps to the end of `steps`.
    #[inline]
    pub fn take(&self, steps: &mut Vec<Step>) {
        match self.state() {
            NONE => {}
            ALONE => steps.push(self.alone()),
            _ if steps.is_empty() => std::mem::swap(steps, &mut self.lock()),
            _ => steps.append(&mut self.lock()),
        }
        self.set_state(NONE);
    }

    /// Removes all steps and events.
    pub fn clear(&self) {
        self.lock().clear();
        self.set_state(NONE);
        self.take_events();
    }

    #[inline]
    fn state(&self) -> u8 {
        self.0.state.load(Ordering::Relaxed)
    }

    #[inline]
    fn set_state(&self, state: u8) {
        self.0.state.store(state, Ordering::Relaxed);
    }

    #[inline]
    fn alone(&self) -> Step {
        Step::unpacked(self.0.alone.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Returns all steps in one vector, for appending.
    fn many(&self) -> MutexGuard<'_, Vec<Step>> {
        let mut all = self.lock();
        if self.state() == ALONE {
            all.push(self.alone());
        }
        self.set_state(MANY);
        all
    }

    fn events(&self) -> MutexGuard<'_, Vec<(usize, Event)>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Vec<Step>> {
        self.0.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::{Seed, below};

    #[test]
    fn recorded_steps_are_taken_in_order() {
        let (mut random, journal) = (Seed(3).random(), Journal::default());
        let (mut expected, mut noted, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..5_000 {
            let (block, page) = (BlockId(u32::MAX - below(&mut random, 3) as u32), u32::MAX - 7);
            let cause = Cause::ALL[below(&mut random, 7) as usize];
            let step = match below(&mut random, 8) {
                0..3 => Step::Read { block, page, cause },
                3..5 => Step::Program { block, page, pages: 1 + below(&mut random, 9) as u32, cause },
                5 => Step::ReadSpare { block, page, cause },
                6 => Step::Erase { block, cause },
                _ => Step::Hash { pages: 2, cause, percent: 30 },
            };
            match below(&mut random, 12) {
                0 => {
                    journal.extend([step, step].into_iter());
                    expected.extend([step, step]);
                }
                1 => {
                    journal.note(Event::Recovered);
                    noted.push((expected.len(), Event::Recovered));
                }
                2 => journal.pausing(|| journal.push(step)),
                7 => {
                    if let Some(alone) = journal.take_alone() {
                        assert_eq!((expected.as_slice(), noted.len()), (&[alone][..], 0));
                        expected.clear();
                    }
                }
                3..6 => {
                    let before = below(&mut random, 2) as usize;
                    taken.clear();
                    taken.extend(std::iter::repeat_n(step, before));
                    journal.take(&mut taken);
                    assert_eq!(taken[before..], expected);
                    assert_eq!((journal.has_events(), journal.take_events()), (!noted.is_empty(), noted));
                    (expected, noted) = (Vec::new(), Vec::new());
                }
                6 => {
                    journal.clear();
                    (expected, noted) = (Vec::new(), Vec::new());
                }
                _ => {
                    journal.push(step);
                    expected.push(step);
                }
            }
        }
    }

    #[test]
    fn single_step_is_taken_alone_only_without_other_steps_and_events() {
        let (block, cause) = (BlockId(3), Cause::Host);
        let (read, erase) = (Step::Read { block, page: 5, cause }, Step::Erase { block, cause });
        let journal = Journal::default();
        journal.push(read);
        assert_eq!([journal.take_alone(), journal.take_alone()], [Some(read), None]);
        journal.push(read);
        journal.push(erase);
        assert_eq!(journal.take_alone(), None);
        let mut taken = Vec::new();
        journal.take(&mut taken);
        assert_eq!(taken, [read, erase]);
        journal.note(Event::PowerLost);
        journal.push(read);
        assert_eq!(journal.take_alone(), None);
    }
}
