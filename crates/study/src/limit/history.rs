//! Histories of host writes: times at which each version of a page is written and invalidated.

use super::flash::FlashGeometry;
use wearwell_base::units::Lpn;

/// Invalidation time of a version that is still valid at the end.
pub(super) const NEVER: u32 = u32::MAX;

/// Stretch of host writes, starting at any moment.
///
/// Time is counted in pages written: version `i` is written by write `i`. A version is invalidated by the write that
/// overwrites it or, after a trim, by the first write after the trim. Versions from before the stretch have no number,
/// but count as valid until they are invalidated.
#[derive(Clone, Debug, Default)]
pub struct WriteHistory {
    /// Invalidation time of the version of each write; [`NEVER`] if the version survives the stretch.
    pub(super) invalidated_at: Vec<u32>,
    /// Number of valid pages after each write, summed over all writes.
    pub(super) valid_page_writes: u128,
    /// Number of writes to pages that were valid.
    pub(super) overwrites: u64,
}

impl WriteHistory {
    /// Returns the number of pages that the host wrote.
    pub fn writes(&self) -> u64 {
        self.invalidated_at.len() as u64
    }

    /// Returns the pages of `flash` without valid data, summed over all writes.
    ///
    /// # Panics
    ///
    /// Panics if there are more valid than physical pages.
    pub fn slack(&self, flash: FlashGeometry) -> u128 {
        let slots = u128::from(flash.pages()) * u128::from(self.writes());
        slots.checked_sub(self.valid_page_writes).expect("what is valid fits in")
    }
}

/// Recorder of histories, one stretch after another.
#[derive(Clone, Debug)]
pub struct HistoryRecorder {
    /// Content of each page.
    pages: Vec<PageContent>,
    valid: u64,
    history: WriteHistory,
}

/// Content of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PageContent(u32);

impl PageContent {
    const EMPTY: PageContent = PageContent(u32::MAX);
    /// Version that was written before the stretch.
    const OLDER_VERSION: PageContent = PageContent(u32::MAX - 1);

    fn version(self) -> Option<usize> {
        (self != Self::EMPTY && self != Self::OLDER_VERSION).then_some(self.0 as usize)
    }
}

impl HistoryRecorder {
    /// Returns the recorder of an empty drive with this number of logical pages.
    pub fn new(logical_pages: u32) -> Self {
        HistoryRecorder {
            pages: vec![PageContent::EMPTY; logical_pages as usize],
            valid: 0,
            history: WriteHistory::default(),
        }
    }

    /// Records a host write of `page`.
    ///
    /// # Panics
    ///
    /// Panics if a stretch gets more than 2^32 - 2 writes.
    pub fn write(&mut self, page: Lpn) {
        let now = self.history.invalidated_at.len();
        assert!(now < PageContent::OLDER_VERSION.0 as usize, "a stretch has times of 32 bits");
        let overwritten = self.end_version(page, now);
        self.history.overwrites += u64::from(overwritten);
        self.pages[page.index()] = PageContent(now as u32);
        self.valid += 1;
        self.history.invalidated_at.push(NEVER);
        self.history.valid_page_writes += u128::from(self.valid);
    }

    /// Records a host trim of `page`.
    pub fn trim(&mut self, page: Lpn) {
        self.end_version(page, self.history.invalidated_at.len());
        self.pages[page.index()] = PageContent::EMPTY;
    }

    /// Returns the number of pages written since the stretch began.
    pub fn writes(&self) -> usize {
        self.history.invalidated_at.len()
    }

    /// Returns the stretch so far and begins a new one with the pages that are valid now.
    pub fn take(&mut self) -> WriteHistory {
        for content in &mut self.pages {
            if content.version().is_some() {
                *content = PageContent::OLDER_VERSION;
            }
        }
        std::mem::take(&mut self.history)
    }

    /// Records the invalidation of the version in `page`; returns true if the page held a version.
    fn end_version(&mut self, page: Lpn, now: usize) -> bool {
        let content = self.pages[page.index()];
        if let Some(version) = content.version() {
            self.history.invalidated_at[version] = now as u32;
        }
        let was_valid = content != PageContent::EMPTY;
        self.valid -= u64::from(was_valid);
        was_valid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overwrite_and_trim_invalidate_versions() {
        let mut recorder = HistoryRecorder::new(3);
        [0, 1, 0].into_iter().for_each(|page| recorder.write(Lpn(page)));
        recorder.trim(Lpn(1));
        recorder.trim(Lpn(2));
        recorder.write(Lpn(2));
        let history = recorder.take();
        // Page 1 was trimmed between the third and the fourth write: it was last valid after the third.
        assert_eq!(history.invalidated_at, [2, 3, NEVER, NEVER]);
        assert_eq!((history.valid_page_writes, history.overwrites), (1 + 2 + 2 + 2, 1));
        // The next stretch begins with pages 0 and 2 valid; their versions have no number.
        recorder.write(Lpn(2));
        recorder.write(Lpn(1));
        let history = recorder.take();
        assert_eq!(history.invalidated_at, [NEVER, NEVER]);
        assert_eq!((history.valid_page_writes, history.overwrites), (2 + 3, 1));
    }
}
