//! Whether a thread looks for the next request for a moment before it sleeps.
//!
//! To be woken takes longer than most requests, the more in a virtual machine whose processors are idle. Looking pays where the
//! next request comes soon, and takes a processor from others where it does not: it is done only after the thread was woken
//! sooner than it would have looked, until it looked in vain, and by as many threads as leave the others half of the processors.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long it looks at most: a few times what waking takes.
const LONGEST: Duration = Duration::from_micros(50);
/// Turns of a loop between two looks.
const LOOKS_APART: u32 = 16;
/// Threads of this process that may look at the same time, besides those that do.
static SEATS: LazyLock<AtomicUsize> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    AtomicUsize::new(processors / 2)
});

/// What a thread knows of those whom it serves.
#[derive(Debug, Default)]
pub struct Polling {
    pays: bool,
    slept_at: Option<Instant>,
}

impl Polling {
    /// Looks for a moment by `find`, where that pays; what it found.
    pub fn look<T>(&self, mut find: impl FnMut() -> Option<T>) -> Option<T> {
        let _seat = if self.pays { Seat::take()? } else { return None };
        let until = Instant::now() + LONGEST;
        loop {
            let found = find();
            if found.is_some() || Instant::now() >= until {
                return found;
            }
            (0..LOOKS_APART).for_each(|_| std::hint::spin_loop());
        }
    }

    /// The thread sleeps now.
    pub fn sleeps(&mut self, now: Instant) {
        self.pays = false;
        self.slept_at = Some(now);
    }

    /// The thread was woken.
    pub fn woken(&mut self, now: Instant) {
        if let Some(slept_at) = self.slept_at.take() {
            self.pays = now.saturating_duration_since(slept_at) < LONGEST;
        }
    }
}

/// Leave to look, until it is dropped.
struct Seat;

impl Seat {
    fn take() -> Option<Self> {
        let taken = SEATS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
        taken.ok().map(|_| Seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        SEATS.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_pays_after_short_sleeps_until_it_was_in_vain() {
        let start = Instant::now();
        let at = |microseconds: u64| start + Duration::from_micros(microseconds);
        let mut polling = Polling::default();
        polling.woken(at(0));
        assert!(!polling.pays, "nothing is known yet");
        polling.sleeps(at(2));
        polling.woken(at(51));
        assert!(polling.pays);
        polling.woken(at(170));
        assert!(polling.pays, "it had not slept");
        polling.sleeps(at(230));
        assert!(!polling.pays);
        polling.woken(at(280));
        assert!(!polling.pays, "that was too long");
    }

    #[test]
    fn looking_ends_with_what_is_found_or_by_itself() {
        let polling = Polling { pays: true, slept_at: None };
        let mut looks = 0;
        let found = polling.look(|| {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        // One processor is nobody's to look with, and others may be looking.
        assert!(found == Some(3) || looks == 0);
        assert_eq!(polling.look(|| None::<()>), None);
        assert_eq!(Polling::default().look(|| Some(())), None, "it does not pay");
    }
}
