//! Whose pages each segment was written with, those that have died since among them.

use crate::units::{BlockId, Lpn};

/// No page was written here.
const NOBODY: u32 = u32::MAX;

/// The owners of all pages of all segments since each was erased.
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

    /// These pages were written to `block`, the first of them at `at`.
    pub fn set(&mut self, block: BlockId, at: u32, owners: &[Lpn]) {
        let first = block.index() * self.segment_pages + at as usize;
        for (place, owner) in self.of[first..].iter_mut().zip(owners) {
            *place = owner.0;
        }
    }

    /// Hands over the owners of the pages of `block`, which is erased.
    pub fn take(&mut self, block: BlockId, mut to: impl FnMut(Lpn)) {
        let first = block.index() * self.segment_pages;
        for place in &mut self.of[first..first + self.segment_pages] {
            if *place != NOBODY {
                to(Lpn(std::mem::replace(place, NOBODY)));
            }
        }
    }
}
