//! Whether the thread of a queue looks for the next request for a moment before it sleeps.
//!
//! To be woken takes longer than most requests, the more in a virtual machine whose processors are idle. Looking pays where the
//! next request comes soon, and takes a processor from others where it does not: it is done only after the thread was woken
//! sooner than it would have looked, and until it looked in vain.

use std::time::{Duration, Instant};

/// How long it looks at most: a few times what waking takes.
const LONGEST: Duration = Duration::from_micros(50);

/// What is known of a queue.
#[derive(Debug, Default)]
pub struct Polling {
    pays: bool,
    slept_at: Option<Instant>,
}

impl Polling {
    /// The thread was woken.
    pub fn woken(&mut self, now: Instant) {
        if let Some(slept_at) = self.slept_at.take() {
            self.pays = now.saturating_duration_since(slept_at) < LONGEST;
        }
    }

    /// The queue is empty: until when to look, if at all.
    pub fn until(&self, now: Instant) -> Option<Instant> {
        self.pays.then(|| now + LONGEST)
    }

    /// The thread sleeps now.
    pub fn sleeps(&mut self, now: Instant) {
        self.pays = false;
        self.slept_at = Some(now);
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
        assert_eq!(polling.until(at(1)), None, "nothing is known yet");
        polling.sleeps(at(2));
        polling.woken(at(51));
        assert_eq!(polling.until(at(60)), Some(at(110)));
        polling.woken(at(70));
        assert_eq!(polling.until(at(80)), Some(at(130)), "it had not slept");
        polling.sleeps(at(130));
        polling.woken(at(180));
        assert_eq!(polling.until(at(181)), None, "that was too long");
    }
}
