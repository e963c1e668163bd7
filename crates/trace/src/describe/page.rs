//! State of one page of the trace.

/// A slot of [`LastWrites`](super::reuse::LastWrites).
pub type Slot = u32;

/// Number of slots that a page can refer to.
pub const MAX_SLOTS: usize = (1 << 30) - 1;

/// History of a page: the slot of its last write plus one, or 0 for none, and two flags.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Page(u32);

/// Flag: the page was read.
const READ: u32 = 1 << 31;

/// Flag: the page was written, and not discarded since.
const LIVE: u32 = 1 << 30;

/// Mask of the slot.
const SLOT: u32 = LIVE - 1;

impl Page {
    /// State of a page that no read or write touched.
    pub const UNTOUCHED: Page = Page(0);

    /// Returns the slot of the last write, if there was one.
    #[inline]
    pub fn slot(self) -> Option<Slot> {
        (self.0 & SLOT).checked_sub(1)
    }

    /// Returns the number of pages at the beginning of `pages` that were never written, or whose slots are consecutive.
    #[inline]
    pub fn run_length(pages: &[Page]) -> usize {
        let first = pages[0].0 & SLOT;
        let step = u32::from(first != 0);
        let mut expected = first;
        let follows = |page: &&Page| {
            expected += step;
            page.0 & SLOT == expected
        };
        1 + pages[1..].iter().take_while(follows).count()
    }

    /// Records a write with `slot`.
    #[inline]
    pub fn write(&mut self, slot: Slot) {
        self.0 = self.0 & READ | LIVE | (slot + 1);
    }

    /// Replaces the slot of the last write, if there was one.
    #[inline]
    pub fn renumber(&mut self, new_slot: impl Fn(Slot) -> Slot) {
        if let Some(slot) = self.slot() {
            self.0 = self.0 & !SLOT | (new_slot(slot) + 1);
        }
    }

    /// Records a read; returns true if it is the first.
    #[inline]
    pub fn read(&mut self) -> bool {
        let is_first = self.0 & READ == 0;
        self.0 |= READ;
        is_first
    }

    /// Records a discard; returns true if the page was live.
    #[inline]
    pub fn discard(&mut self) -> bool {
        let was_live = self.0 & LIVE != 0;
        self.0 &= !LIVE;
        was_live
    }
}
