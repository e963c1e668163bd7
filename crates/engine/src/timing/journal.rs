//! Flash operations that requests cause, in order: the layers append to the journal, and the clock reads it.

use crate::counters::Cause;
use crate::units::BlockId;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A flash operation of a request. The journal holds operations in the order in which the layers issued them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A page was read.
    Read {
        /// Block of the page.
        block: BlockId,
        /// Index of the page in the block.
        page: u32,
        /// Cause.
        cause: Cause,
    },
    /// The spare area of a page was read, without the page.
    ReadSpare {
        /// Block of the page.
        block: BlockId,
        /// Index of the page in the block.
        page: u32,
        /// Cause.
        cause: Cause,
    },
    /// Consecutive pages were programmed.
    Program {
        /// Block of the pages.
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
    fn pack(self) -> Option<[u64; 2]> {
        let (block, page, pages, cause) = match self {
            Step::Read { block, page, cause } => (block, page, 0, cause),
            Step::Program { block, page, pages, cause } if pages > 0 => (block, page, pages, cause),
            _ => return None,
        };
        let location = u64::from(block.0) << 32 | u64::from(page);
        Some([location, (cause as u64) << 32 | u64::from(pages)])
    }

    /// Reverses [`Step::pack`].
    #[inline]
    fn unpack([place, rest]: [u64; 2]) -> Step {
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
/// There is one step, in [`JournalState::single`].
const SINGLE: u8 = 1;
/// All steps are in [`JournalState::steps`].
const MANY: u8 = 2;

/// Steps not yet timed, shared between the layers and the clock.
///
/// All users run on one thread at a time; locks and atomics only satisfy the compiler. A single step, the common
/// case, needs no lock.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<JournalState>);

#[derive(Debug, Default)]
struct JournalState {
    state: AtomicU8,
    single: [AtomicU64; 2],
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

    /// Switches recording on (the default) or off. Operations before the clock starts, such as filling a drive, need
    /// not be recorded.
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
        match step.pack() {
            Some(words) if self.state() == NONE => {
                for (to, word) in self.0.single.iter().zip(words) {
                    to.store(word, Ordering::Relaxed);
                }
                self.set_state(SINGLE);
            }
            _ => self.all_steps().push(step),
        }
    }

    /// Appends steps.
    #[inline]
    pub fn extend(&self, steps: impl Iterator<Item = Step>) {
        if !self.is_paused() {
            self.all_steps().extend(steps);
        }
    }

    /// Runs `run` without recording its steps.
    pub fn without_recording<T>(&self, run: impl FnOnce() -> T) -> T {
        let was_paused = self.0.paused.swap(true, Ordering::Relaxed);
        let done = run();
        self.set_recording(!was_paused);
        done
    }

    /// Appends an event.
    pub fn push_event(&self, event: Event) {
        if !self.is_paused() {
            let at = self.all_steps().len();
            self.events().push((at, event));
            self.0.has_events.store(true, Ordering::Relaxed);
        }
    }

    /// True if there are events among the steps: few journals have any.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.0.has_events.load(Ordering::Relaxed)
    }

    /// Takes all events, each with the number of preceding steps among those that [`Journal::take`] returns.
    pub fn take_events(&self) -> Vec<(usize, Event)> {
        self.0.has_events.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.events())
    }

    /// Takes the only step, if there is exactly one and no event.
    #[inline]
    pub fn take_single(&self) -> Option<Step> {
        if self.state() != SINGLE || self.has_events() {
            return None;
        }
        self.set_state(NONE);
        Some(self.single())
    }

    /// Moves all steps from the journal to the end of `steps`.
    #[inline]
    pub fn take(&self, steps: &mut Vec<Step>) {
        match self.state() {
            NONE => {}
            SINGLE => steps.push(self.single()),
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
    fn single(&self) -> Step {
        Step::unpack(self.0.single.each_ref().map(|word| word.load(Ordering::Relaxed)))
    }

    /// Returns all steps in one vector, for appending.
    fn all_steps(&self) -> MutexGuard<'_, Vec<Step>> {
        let mut all = self.lock();
        if self.state() == SINGLE {
            all.push(self.single());
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
    use crate::seed::{Seed, random_below};

    #[test]
    fn recorded_steps_are_taken_in_order() {
        let (mut random, journal) = (Seed(3).random(), Journal::default());
        let (mut expected, mut events, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..5_000 {
            let (block, page) = (BlockId(u32::MAX - random_below(&mut random, 3) as u32), u32::MAX - 7);
            let cause = Cause::ALL[random_below(&mut random, 7) as usize];
            let step = match random_below(&mut random, 8) {
                0..3 => Step::Read { block, page, cause },
                3..5 => Step::Program { block, page, pages: 1 + random_below(&mut random, 9) as u32, cause },
                5 => Step::ReadSpare { block, page, cause },
                6 => Step::Erase { block, cause },
                _ => Step::Hash { pages: 2, cause, percent: 30 },
            };
            match random_below(&mut random, 12) {
                0 => {
                    journal.extend([step, step].into_iter());
                    expected.extend([step, step]);
                }
                1 => {
                    journal.push_event(Event::Recovered);
                    events.push((expected.len(), Event::Recovered));
                }
                2 => journal.without_recording(|| journal.push(step)),
                7 => {
                    if let Some(single) = journal.take_single() {
                        assert_eq!((expected.as_slice(), events.len()), (&[single][..], 0));
                        expected.clear();
                    }
                }
                3..6 => {
                    let before = random_below(&mut random, 2) as usize;
                    taken.clear();
                    taken.extend(std::iter::repeat_n(step, before));
                    journal.take(&mut taken);
                    assert_eq!(taken[before..], expected);
                    assert_eq!((journal.has_events(), journal.take_events()), (!events.is_empty(), events));
                    (expected, events) = (Vec::new(), Vec::new());
                }
                6 => {
                    journal.clear();
                    (expected, events) = (Vec::new(), Vec::new());
                }
                _ => {
                    journal.push(step);
                    expected.push(step);
                }
            }
        }
    }

    #[test]
    fn take_single_returns_a_step_only_without_other_steps_and_events() {
        let (block, cause) = (BlockId(3), Cause::Host);
        let (read, erase) = (Step::Read { block, page: 5, cause }, Step::Erase { block, cause });
        let journal = Journal::default();
        journal.push(read);
        assert_eq!([journal.take_single(), journal.take_single()], [Some(read), None]);
        journal.push(read);
        journal.push(erase);
        assert_eq!(journal.take_single(), None);
        let mut taken = Vec::new();
        journal.take(&mut taken);
        assert_eq!(taken, [read, erase]);
        journal.push_event(Event::PowerLost);
        journal.push(read);
        assert_eq!(journal.take_single(), None);
    }
}
