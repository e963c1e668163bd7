//! Interface of a validity store to the flash.

use super::ValidityPage;
use crate::layer::LayerError;
use crate::units::Slot;

/// Flash for the pages of a validity store. The implementation counts operations, places pages in blocks and erases
/// blocks.
pub trait ValidityFlash {
    /// Writes a page at a location of the implementation's choice, which is returned.
    fn append(&mut self, page: ValidityPage) -> Result<Slot, LayerError>;

    /// Returns the page at `at`; costs a flash read.
    fn read(&mut self, at: Slot) -> Result<&ValidityPage, LayerError>;

    /// Returns the page at `at` without counting a read, for checks and for data that a drive has in the spare area.
    fn peek(&self, at: Slot) -> Option<&ValidityPage>;

    /// Prefetches data of the page at `at`, which will be read soon. Called for all pages of a query once per step,
    /// from step 0 on; each step follows one pointer on the way to the page's content.
    fn prefetch(&self, at: Slot, step: u32) {
        let _ = (at, step);
    }

    /// Rewrites the page at `at` together with its attached data and discards the old copy. Returns the new location.
    fn copy(&mut self, at: Slot) -> Result<Slot, LayerError> {
        let page = self.read(at)?.clone();
        let to = self.append(page)?;
        self.discard(at);
        Ok(to)
    }

    /// Moves the words of the bitmap page at `from` to the page at `to`, which was written without words, and applies
    /// `change` to them. The page at `from` is discarded next and never read again.
    fn move_words(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64]));

    /// Marks the page as no longer needed. Once no page of its block is needed, the block may be erased.
    fn discard(&mut self, at: Slot);

    /// Returns the sequence number of the next page that is appended by any part of the device; it is the device's
    /// clock.
    fn now(&self) -> u64;
}

/// A page of a store found in flash by a scan of the spare areas after a power failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundPage {
    /// Location of the page.
    pub at: Slot,
    /// [`ValidityPage::label`].
    pub label: u32,
    /// Sequence number of the page's append.
    pub sequence: u64,
}

/// Returns the newest page of every label, sorted by label; discards all older pages.
pub(super) fn newest_by_label(pages: &[FoundPage], flash: &mut dyn ValidityFlash) -> Vec<FoundPage> {
    let mut newest = pages.to_vec();
    newest.sort_unstable_by_key(|found| (found.label, std::cmp::Reverse(found.sequence)));
    newest.dedup_by(|later, first| {
        let stale = later.label == first.label;
        if stale {
            flash.discard(later.at);
        }
        stale
    });
    newest
}

/// A page in [`MemoryFlash`].
#[derive(Clone, Debug)]
struct StoredPage {
    page: ValidityPage,
    sequence: u64,
    discarded: bool,
}

/// Flash in memory, without blocks. The slot of a discarded page is reused, either immediately or after the page is
/// dropped.
#[derive(Clone, Debug, Default)]
pub struct MemoryFlash {
    slots: Vec<Option<StoredPage>>,
    unused: Vec<u32>,
    now: u64,
    retains_discarded: bool,
    failing_append: Option<u64>,
    reads: u64,
    appends: u64,
    live: u64,
}

impl MemoryFlash {
    /// Creates flash that drops discarded pages immediately.
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates flash that keeps discarded pages, as a drive does, until [`MemoryFlash::drop_discarded`].
    pub fn retaining_discarded() -> Self {
        MemoryFlash { retains_discarded: true, ..Self::default() }
    }

    /// Returns the number of pages read.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Returns the number of pages appended.
    pub fn appends(&self) -> u64 {
        self.appends
    }

    /// Returns the number of pages that are not discarded.
    pub fn live_pages(&self) -> u64 {
        self.live
    }

    /// Advances the clock as if other parts of the device had appended `pages` pages.
    pub fn advance(&mut self, pages: u64) {
        self.now += pages;
    }

    /// Makes one append fail: the first append after the next `appends` appends.
    pub fn fail_after(&mut self, appends: u64) {
        self.failing_append = Some(self.appends + appends);
    }

    /// Makes all appends succeed again.
    pub fn stop_failing(&mut self) {
        self.failing_append = None;
    }

    /// Erases the discarded pages for which `drop` returns true.
    pub fn drop_discarded(&mut self, mut drop: impl FnMut(Slot) -> bool) {
        for (slot, stored) in (0..).zip(&mut self.slots) {
            if stored.as_ref().is_some_and(|stored| stored.discarded) && drop(Slot(slot)) {
                *stored = None;
                self.unused.push(slot);
            }
        }
    }

    /// Simulates a scan after a power failure: returns every page in flash; no page counts as discarded afterwards.
    pub fn scan(&mut self) -> Vec<FoundPage> {
        let mut found = Vec::new();
        for (slot, stored) in (0..).zip(&mut self.slots) {
            if let Some(stored) = stored {
                stored.discarded = false;
                let label = stored.page.label();
                found.push(FoundPage { at: Slot(slot), label, sequence: stored.sequence });
            }
        }
        self.live = found.len() as u64;
        found
    }

    fn stored(&self, at: Slot) -> Option<&StoredPage> {
        self.slots.get(at.0 as usize)?.as_ref()
    }
}

impl ValidityFlash for MemoryFlash {
    fn append(&mut self, page: ValidityPage) -> Result<Slot, LayerError> {
        if self.failing_append == Some(self.appends) {
            self.failing_append = None;
            return Err(LayerError::NoSpace);
        }
        let stored = StoredPage { page, sequence: self.now, discarded: false };
        self.now += 1;
        self.appends += 1;
        self.live += 1;
        let slot = self.unused.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() as u32 - 1
        });
        self.slots[slot as usize] = Some(stored);
        Ok(Slot(slot))
    }

    fn read(&mut self, at: Slot) -> Result<&ValidityPage, LayerError> {
        self.reads += 1;
        Ok(&self.stored(at).expect("a page that is in flash").page)
    }

    fn peek(&self, at: Slot) -> Option<&ValidityPage> {
        self.stored(at).map(|stored| &stored.page)
    }

    fn move_words(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64])) {
        let Some(ValidityPage::Bitmap(page)) = self.peek(from) else { panic!("a page of the bitmap") };
        let mut words = page.words.clone();
        change(&mut words);
        let stored = self.slots[to.0 as usize].as_mut().expect("a page that is in flash");
        let ValidityPage::Bitmap(page) = &mut stored.page else { panic!("a page of the bitmap") };
        page.words = words;
    }

    fn discard(&mut self, at: Slot) {
        let stored = self.slots[at.0 as usize].as_mut().expect("a page that is in flash");
        assert!(!stored.discarded, "page {} discarded twice", at.0);
        stored.discarded = true;
        self.live -= 1;
        if !self.retains_discarded {
            self.slots[at.0 as usize] = None;
            self.unused.push(at.0);
        }
    }

    fn now(&self) -> u64 {
        self.now
    }
}
