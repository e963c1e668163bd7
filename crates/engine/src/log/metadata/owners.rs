//! Owners of all pages written to each segment, including pages that have been invalidated since.

use crate::units::{BlockId, Lpn};

/// Marker for a page that was not written.
const NO_OWNER: u32 = u32::MAX;

/// Owners of all pages that were written to each segment since its last erase.
#[derive(Debug)]
pub(super) struct SegmentOwners {
    segment_pages: usize,
    owners: Vec<u32>,
}

impl SegmentOwners {
    pub fn new(segments: u32, segment_pages: u32) -> Self {
        let segment_pages = segment_pages as usize;
        SegmentOwners { segment_pages, owners: vec![NO_OWNER; segments as usize * segment_pages] }
    }

    /// Records the owners of pages written to `block`, starting at index `at`.
    pub fn set(&mut self, block: BlockId, at: u32, owners: &[Lpn]) {
        let first = block.index() * self.segment_pages + at as usize;
        for (entry, owner) in self.owners[first..].iter_mut().zip(owners) {
            *entry = owner.0;
        }
    }

    /// Passes the owners of the pages of `block` to `visit` and forgets them; called when the block is erased.
    pub fn take(&mut self, block: BlockId, mut visit: impl FnMut(Lpn)) {
        let first = block.index() * self.segment_pages;
        for entry in &mut self.owners[first..first + self.segment_pages] {
            if *entry != NO_OWNER {
                visit(Lpn(std::mem::replace(entry, NO_OWNER)));
            }
        }
    }
}
