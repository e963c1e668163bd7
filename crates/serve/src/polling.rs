//! Adaptive busy-polling before a thread blocks.
//!
//! Waking a thread takes longer than most requests, most of all in a virtual machine with idle processors. Polling
//! pays off if the next request comes soon; otherwise it wastes a processor. Therefore a thread begins to poll after
//! a sleep that was shorter than the maximum poll, and stops after a poll that finds nothing. At most half of the
//! processors are used for polling.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Maximum duration of a poll, a few times the cost of waking a thread.
const MAX_POLL: Duration = Duration::from_micros(50);
/// Number of spin-loop iterations between two checks.
const SPINS_PER_CHECK: u32 = 16;
/// Number of further threads of this process that are allowed to poll now.
static PERMITS: LazyLock<AtomicUsize> = LazyLock::new(|| {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    AtomicUsize::new(processors / 2)
});

/// Polling state of one thread.
#[derive(Debug, Default)]
pub struct Polling {
    is_worthwhile: bool,
    sleep_started: Option<Instant>,
}

impl Polling {
    /// Calls `find` repeatedly for a short time, if polling pays off, until it returns a result.
    pub fn poll<T>(&self, mut find: impl FnMut() -> Option<T>) -> Option<T> {
        let _permit = if self.is_worthwhile { PollPermit::take()? } else { return None };
        let until = Instant::now() + MAX_POLL;
        loop {
            let found = find();
            if found.is_some() || Instant::now() >= until {
                return found;
            }
            (0..SPINS_PER_CHECK).for_each(|_| std::hint::spin_loop());
        }
    }

    /// Records that the thread is about to sleep.
    pub fn before_sleep(&mut self, now: Instant) {
        self.is_worthwhile = false;
        self.sleep_started = Some(now);
    }

    /// Records that the thread was woken.
    pub fn after_sleep(&mut self, now: Instant) {
        if let Some(sleep_began) = self.sleep_started.take() {
            self.is_worthwhile = now.saturating_duration_since(sleep_began) < MAX_POLL;
        }
    }
}

/// Permission to poll, returned when dropped.
struct PollPermit;

impl PollPermit {
    fn take() -> Option<Self> {
        let taken = PERMITS.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |free| free.checked_sub(1));
        taken.ok().map(|_| PollPermit)
    }
}

impl Drop for PollPermit {
    fn drop(&mut self) {
        PERMITS.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polling_pays_after_short_sleep_and_not_after_long_sleep() {
        let start = Instant::now();
        let at = |microseconds: u64| start + Duration::from_micros(microseconds);
        let mut polling = Polling::default();
        polling.after_sleep(at(0));
        assert!(!polling.is_worthwhile, "nothing is known yet");
        polling.before_sleep(at(2));
        polling.after_sleep(at(51));
        assert!(polling.is_worthwhile);
        polling.after_sleep(at(170));
        assert!(polling.is_worthwhile, "it had not slept");
        polling.before_sleep(at(230));
        assert!(!polling.is_worthwhile);
        polling.after_sleep(at(280));
        assert!(!polling.is_worthwhile, "that was too long");
    }

    #[test]
    fn poll_ends_with_a_result_or_after_time_limit() {
        let polling = Polling { is_worthwhile: true, sleep_started: None };
        let mut polls = 0;
        let found = polling.poll(|| {
            polls += 1;
            (polls == 3).then_some(polls)
        });
        // With one processor, no thread may poll. With more, other threads may hold all permits.
        assert!(found == Some(3) || polls == 0);
        assert_eq!(polling.poll(|| None::<()>), None);
        assert_eq!(Polling::default().poll(|| Some(())), None, "it does not pay");
    }
}
