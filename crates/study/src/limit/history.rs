//! What the host wrote, as the bound sees it: when each version of a page was born and when it died.

use super::flash::Flash;
use wearwell_base::units::Lpn;

/// The death of a version that is still valid at the end.
pub(super) const NEVER: u32 = u32::MAX;

/// A stretch of host writes, from any moment on.
///
/// Time is counted in pages written: version `i` is born with write `i`, and dies with the write that overwrites it or, if it is
/// trimmed, with the next write after that. Versions that were there before have no number, but count as valid while they are.
#[derive(Clone, Debug, Default)]
pub struct History {
    /// By write: when its version dies, [`NEVER`] if not within the stretch.
    pub(super) deaths: Vec<u32>,
    /// Valid pages after each write, summed over all writes.
    pub(super) valid_page_writes: u128,
    /// Writes to pages that were valid.
    pub(super) overwrites: u64,
}

impl History {
    /// Pages that the host wrote.
    pub fn writes(&self) -> u64 {
        self.deaths.len() as u64
    }

    /// Pages of `flash` that hold nothing valid, summed over all writes.
    ///
    /// # Panics
    ///
    /// If more pages are valid than there are physical ones.
    pub fn slack(&self, flash: Flash) -> u128 {
        let places = u128::from(flash.pages()) * u128::from(self.writes());
        places.checked_sub(self.valid_page_writes).expect("what is valid fits in")
    }
}

/// Writes histories down, one stretch after the other.
#[derive(Clone, Debug)]
pub struct Recorder {
    /// By page: what it holds.
    pages: Vec<Holds>,
    valid: u64,
    history: History,
}

/// What a logical page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Holds(u32);

impl Holds {
    const NOTHING: Holds = Holds(u32::MAX);
    /// A version from before the stretch.
    const OLDER: Holds = Holds(u32::MAX - 1);

    fn version(self) -> Option<usize> {
        (self != Self::NOTHING && self != Self::OLDER).then_some(self.0 as usize)
    }
}

impl Recorder {
    /// A drive of so many logical pages that holds nothing.
    pub fn new(logical_pages: u32) -> Self {
        Recorder {
            pages: vec![Holds::NOTHING; logical_pages as usize],
            valid: 0,
            history: History::default(),
        }
    }

    /// The host writes `page`.
    ///
    /// # Panics
    ///
    /// If a stretch has 2^32 - 2 writes and gets another.
    pub fn write(&mut self, page: Lpn) {
        let now = self.history.deaths.len();
        assert!(now < Holds::OLDER.0 as usize, "a stretch has times of 32 bits");
        let overwritten = self.end(page, now);
        self.history.overwrites += u64::from(overwritten);
        self.pages[page.index()] = Holds(now as u32);
        self.valid += 1;
        self.history.deaths.push(NEVER);
        self.history.valid_page_writes += u128::from(self.valid);
    }

    /// The host trims `page`.
    pub fn trim(&mut self, page: Lpn) {
        self.end(page, self.history.deaths.len());
        self.pages[page.index()] = Holds::NOTHING;
    }

    /// Pages written since the stretch began.
    pub fn writes(&self) -> usize {
        self.history.deaths.len()
    }

    /// The stretch so far; a new one begins, with what is valid now.
    pub fn take(&mut self) -> History {
        for held in &mut self.pages {
            if held.version().is_some() {
                *held = Holds::OLDER;
            }
        }
        std::mem::take(&mut self.history)
    }

    /// What `page` holds dies; whether it held anything.
    fn end(&mut self, page: Lpn, now: usize) -> bool {
        let held = self.pages[page.index()];
        if let Some(version) = held.version() {
            self.history.deaths[version] = now as u32;
        }
        let was_valid = held != Holds::NOTHING;
        self.valid -= u64::from(was_valid);
        was_valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_die_by_being_overwritten_or_trimmed() {
        let mut recorder = Recorder::new(3);
        [0, 1, 0].into_iter().for_each(|page| recorder.write(Lpn(page)));
        recorder.trim(Lpn(1));
        recorder.trim(Lpn(2));
        recorder.write(Lpn(2));
        let history = recorder.take();
        // Page 1 was trimmed between the third and the fourth write: it is valid after the third for the last time.
        assert_eq!(history.deaths, [2, 3, NEVER, NEVER]);
        assert_eq!((history.valid_page_writes, history.overwrites), (1 + 2 + 2 + 2, 1));
        // The next stretch begins with pages 0 and 2 valid, whose versions have no number.
        recorder.write(Lpn(2));
        recorder.write(Lpn(1));
        let history = recorder.take();
        assert_eq!(history.deaths, [NEVER, NEVER]);
        assert_eq!((history.valid_page_writes, history.overwrites), (2 + 3, 1));
    }
}
