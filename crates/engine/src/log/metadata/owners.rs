//! Owners of all pages written to each segment, including those that have been invalidated since.

use crate::units::{BlockId, Lpn};

/// Marker for a page that was not written.
const NOBODY: u32 = u32::MAX;

/// Owners of all pages that were written to each segment since its last erase.
#[derive(Debug)]
pub(super) struct Owners {
    segment_pages: usize,
    of: Vec<u32>,
}

impl Owners {
    pub fn new(segments: u32, segment_pages: u32) -> Self {
        let segment_pages = segment_pages as usize;
        Owners { segment_pages, of: vec![NOBODY; segments as usize * segment_pages] }
    }

    /// Records the owners of pages written to `block`, starting at index `at`.
    pub fn set(&mut self, block: BlockId, at: u32, owners: &[Lpn]) {
        let first = block.index() * self.segment_pages + at as usize;
        for (place, owner) in self.of[first..].iter_mut().zip(owners) {
            *place = owner.0;
        }
    }

    /// Passes the owners of the pages of `block` to `to` and forgets them; called when the block is erased.
    pub fn take(&mut self, block: BlockId, mut to: impl FnMut(Lpn)) {
        let first = block.index() * self.segment_pages;
        for place in &mut self.of[first..first + self.segment_pages] {
            if *place != NOBODY {
                to(Lpn(std::mem::replace(place, NOBODY)));
            }
        }
    }
}
