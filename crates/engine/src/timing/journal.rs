//! What a request made the layers do to the flash, in order: the layers write it down, the clock reads it.

use crate::counters::Cause;
use crate::units::BlockId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// One step on the way of a request, in the order in which the layers took it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A page was read.
    Read {
        /// Its block.
        block: BlockId,
        /// Its index there.
        page: u32,
        /// Why.
        cause: Cause,
    },
    /// The spare area of a page was read, without the page.
    ReadSpare {
        /// Its block.
        block: BlockId,
        /// Its page's index there.
        page: u32,
        /// Why.
        cause: Cause,
    },
    /// Consecutive pages were programmed.
    Program {
        /// Their block.
        block: BlockId,
        /// The first one's index there.
        page: u32,
        /// How many.
        pages: u32,
        /// Why.
        cause: Cause,
    },
    /// A block was erased.
    Erase {
        /// The block.
        block: BlockId,
        /// Why.
        cause: Cause,
    },
    /// Pages were hashed. What is programmed next waits for it: the host's pages if the cause is the host, the pages that
    /// cleaning moves if it is cleaning.
    Hash {
        /// How many.
        pages: u32,
        /// On whose behalf.
        cause: Cause,
        /// Hundredths of the full hash's time that each page takes: less for a weak hash.
        percent: u32,
    },
}

/// What happens between two steps, and is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Power is lost. What comes next is recovery, which may lose it again.
    PowerLost,
    /// A step of recovery has ended: the next needs what it found.
    RecoveryStepEnded,
    /// The FTL is back. What comes next is done for the host again.
    Recovered,
}

/// Steps not yet timed, shared between those who take them and the clock.
///
/// All users run on one thread at a time; the lock only proves it.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    steps: Mutex<Vec<Step>>,
    /// Events, each with the number of steps written down before it.
    events: Mutex<Vec<(usize, Event)>>,
    /// Whether there are events.
    has_events: AtomicBool,
    /// Whether steps are let pass without being written down.
    paused: AtomicBool,
}

impl Journal {
    /// One that writes nothing down.
    pub fn paused() -> Self {
        let journal = Journal::default();
        journal.set_recording(false);
        journal
    }

    /// Whether steps are written down from now on, as they are at first. What is done before the clock starts, such as
    /// filling a drive, need not be.
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
        if !self.is_paused() {
            self.lock().push(step);
        }
    }

    /// Appends steps.
    #[inline]
    pub fn extend(&self, steps: impl Iterator<Item = Step>) {
        if !self.is_paused() {
            self.lock().extend(steps);
        }
    }

    /// Lets pass without being written down what `unseen` does.
    pub fn pausing<T>(&self, unseen: impl FnOnce() -> T) -> T {
        let was_paused = self.0.paused.swap(true, Ordering::Relaxed);
        let done = unseen();
        self.set_recording(!was_paused);
        done
    }

    /// Notes an event.
    pub fn note(&self, event: Event) {
        if !self.is_paused() {
            let at = self.lock().len();
            self.events().push((at, event));
            self.0.has_events.store(true, Ordering::Relaxed);
        }
    }

    /// Whether there are events among the steps: few journals have any.
    #[inline]
    pub fn has_events(&self) -> bool {
        self.0.has_events.load(Ordering::Relaxed)
    }

    /// Takes all events, each with the number of steps before it: those that [`Journal::take`] takes.
    pub fn take_events(&self) -> Vec<(usize, Event)> {
        self.0.has_events.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.events())
    }

    /// Moves all steps to the end of `steps`.
    #[inline]
    pub fn take(&self, steps: &mut Vec<Step>) {
        let mut all = self.lock();
        if steps.is_empty() {
            std::mem::swap(steps, &mut all);
        } else {
            steps.append(&mut all);
        }
    }

    /// Forgets all steps and events.
    pub fn clear(&self) {
        self.lock().clear();
        self.take_events();
    }

    fn events(&self) -> MutexGuard<'_, Vec<(usize, Event)>> {
        self.0.events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn lock(&self) -> MutexGuard<'_, Vec<Step>> {
        self.0.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
