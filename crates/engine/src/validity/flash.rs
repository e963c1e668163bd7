//! The flash as a validity store sees it.

use super::ValidityPage;
use crate::layer::LayerError;
use crate::units::Slot;

/// Flash for the pages of a validity store. Counting, placing pages in blocks and erasing are the implementor's.
pub trait ValidityFlash {
    /// Writes a page somewhere.
    fn append(&mut self, page: ValidityPage) -> Result<Slot, LayerError>;

    /// The page at `at`; costs a flash read.
    fn read(&mut self, at: Slot) -> Result<&ValidityPage, LayerError>;

    /// The page at `at` at no cost, for checks and for what a drive has in the spare area.
    fn peek(&self, at: Slot) -> Option<&ValidityPage>;

    /// The page at `at` will be read soon: a hint, given for all pages of a query once for each step on the way to their
    /// contents, from 0 on.
    fn foresee(&self, at: Slot, step: u32) {
        let _ = (at, step);
    }

    /// Writes the page at `at` anew, with what is kept with it, and discards the old copy; where the new one is.
    fn copy(&mut self, at: Slot) -> Result<Slot, LayerError> {
        let page = self.read(at)?.clone();
        let to = self.append(page)?;
        self.discard(at);
        Ok(to)
    }

    /// The page of the bitmap at `to` was written without its words: they are those of the page at `from`, which will be discarded and
    /// never read again, and are changed by `change`.
    fn hand_over(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64]));

    /// The page will not be read any more: once all pages of its block are so, the block may be erased.
    fn discard(&mut self, at: Slot);

    /// Sequence number that the next page appended by anybody gets: the device's clock.
    fn now(&self) -> u64;
}

/// A page of a store found in flash by a scan of the spare areas after power failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Where it is.
    pub at: Slot,
    /// [`ValidityPage::label`].
    pub label: u32,
    /// Sequence number of its append.
    pub sequence: u64,
}

/// The newest page of every label, by label; all others are discarded.
pub(super) fn newest_of_each(pages: &[Found], flash: &mut dyn ValidityFlash) -> Vec<Found> {
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
struct Stored {
    page: ValidityPage,
    sequence: u64,
    discarded: bool,
}

/// Flash in memory, without blocks: a discarded page's slot is used again, or the page stays until it is dropped.
#[derive(Clone, Debug, Default)]
pub struct MemoryFlash {
    slots: Vec<Option<Stored>>,
    unused: Vec<u32>,
    now: u64,
    keeps_discarded: bool,
    fails_at: Option<u64>,
    reads: u64,
    appends: u64,
    live: u64,
}

impl MemoryFlash {
    /// Flash that forgets discarded pages at once.
    pub fn new() -> Self {
        Self::default()
    }

    /// Flash that keeps discarded pages, as a drive does, until [`MemoryFlash::drop_discarded`].
    pub fn keeping_discarded() -> Self {
        MemoryFlash { keeps_discarded: true, ..Self::default() }
    }

    /// Pages read so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Pages appended so far.
    pub fn appends(&self) -> u64 {
        self.appends
    }

    /// Pages that were not discarded.
    pub fn live_pages(&self) -> u64 {
        self.live
    }

    /// Moves the clock on as `pages` pages appended by others do.
    pub fn advance(&mut self, pages: u64) {
        self.now += pages;
    }

    /// Lets the append after the next `appends` ones fail, once.
    pub fn fail_after(&mut self, appends: u64) {
        self.fails_at = Some(self.appends + appends);
    }

    /// All appends work again.
    pub fn fail_no_more(&mut self) {
        self.fails_at = None;
    }

    /// Erases those discarded pages of which `drop` says so.
    pub fn drop_discarded(&mut self, mut drop: impl FnMut(Slot) -> bool) {
        for (slot, stored) in (0..).zip(&mut self.slots) {
            if stored.as_ref().is_some_and(|stored| stored.discarded) && drop(Slot(slot)) {
                *stored = None;
                self.unused.push(slot);
            }
        }
    }

    /// Power failed: every page that is in flash is found again, and none is known to be discarded.
    pub fn found(&mut self) -> Vec<Found> {
        let mut found = Vec::new();
        for (slot, stored) in (0..).zip(&mut self.slots) {
            if let Some(stored) = stored {
                stored.discarded = false;
                let label = stored.page.label();
                found.push(Found { at: Slot(slot), label, sequence: stored.sequence });
            }
        }
        self.live = found.len() as u64;
        found
    }

    fn stored(&self, at: Slot) -> Option<&Stored> {
        self.slots.get(at.0 as usize)?.as_ref()
    }
}

impl ValidityFlash for MemoryFlash {
    fn append(&mut self, page: ValidityPage) -> Result<Slot, LayerError> {
        if self.fails_at == Some(self.appends) {
            self.fails_at = None;
            return Err(LayerError::NoSpace);
        }
        let stored = Stored { page, sequence: self.now, discarded: false };
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

    fn hand_over(&mut self, from: Slot, to: Slot, change: &dyn Fn(&mut [u64])) {
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
        if !self.keeps_discarded {
            self.slots[at.0 as usize] = None;
            self.unused.push(at.0);
        }
    }

    fn now(&self) -> u64 {
        self.now
    }
}
