//! Placing a run of host writes: the hot loop of every run, the same for all directories.

use crate::units::{BlockId, Lpn};
use crate::victim::Blocks;

/// A run of host writes, with those that will follow it.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// The pages of the run and then those of the writes known to follow.
    pub pages: &'a [Lpn],
    /// How many of them are the run.
    pub length: usize,
    /// Whether to bring what they touch into the cache beforehand. Changes no result.
    pub prefetch: bool,
}

/// Writes looked ahead to bring in the line of the map.
const ENTRY_DISTANCE: usize = 64;
/// Writes looked ahead to read the map and bring in what its entry points to.
const PLACE_DISTANCE: usize = 32;

/// What a directory does for a single page.
pub(super) trait PlaceEach {
    /// What the map says of a page.
    type At: Copy;

    /// Brings the page's entry in the map into the cache.
    fn prefetch_entry(&self, page: Lpn);

    /// Reads the page's entry and brings what will be written when its place dies into the cache.
    fn prefetch_place(&self, page: Lpn, blocks: &Blocks);

    /// The page is now `at`; the block it was in, if it was anywhere.
    fn place_one(&mut self, page: Lpn, at: Self::At) -> Option<BlockId>;
}

/// Places every page of the run, the `n`-th at `at(n)`; see [`super::Directory::place`].
#[inline(always)]
pub(super) fn place_each<D: PlaceEach>(
    directory: &mut D,
    Writes { pages, length, prefetch }: Writes<'_>,
    at: impl Fn(usize) -> D::At,
    blocks: &mut Blocks,
    mut died: impl FnMut(BlockId, u32, &Blocks),
) {
    let mut place = |directory: &mut D, blocks: &mut Blocks, n: usize, page: Lpn| {
        if let Some(block) = directory.place_one(page, at(n)) {
            let score = blocks.invalidate(block);
            died(block, score, blocks);
        }
    };
    let mut done = 0;
    if prefetch {
        // One loop as long as all distances lie within what is known, one as long as the shorter does: a window's
        // length is a constant, so neither tests it write by write.
        for window in pages.windows(ENTRY_DISTANCE + 1).take(length) {
            directory.prefetch_entry(window[ENTRY_DISTANCE]);
            directory.prefetch_place(window[PLACE_DISTANCE], blocks);
            place(directory, blocks, done, window[0]);
            done += 1;
        }
        for window in pages[done..].windows(PLACE_DISTANCE + 1).take(length - done) {
            directory.prefetch_place(window[PLACE_DISTANCE], blocks);
            place(directory, blocks, done, window[0]);
            done += 1;
        }
    }
    for &page in &pages[done..length] {
        place(directory, blocks, done, page);
        done += 1;
    }
}
