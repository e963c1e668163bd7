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
const ENTRY_DISTANCE: usize = 96;
/// Writes looked ahead to read the map and bring in what its entry points to.
const PLACE_DISTANCE: usize = 32;

/// From this size on of what the map's entries point to it is prefetched, too: below, it stays in a core's own cache.
const PLACES_FROM_BYTES: usize = 192 << 10;

/// What a directory does for a single page.
pub(super) trait PlaceEach {
    /// What the map says of a page.
    type At: Copy;

    /// Brings the page's entry in the map into the cache.
    fn prefetch_entry(&self, page: Lpn);

    /// Reads the page's entry and brings what will be written when its place dies into the cache.
    fn prefetch_place(&self, page: Lpn, blocks: &Blocks);

    /// Bytes of what [`PlaceEach::prefetch_place`] brings into the cache, over all pages.
    fn place_bytes(&self, blocks: &Blocks) -> usize;

    /// The page is now `at`; the block it was in, if it was anywhere.
    fn place_one(&mut self, page: Lpn, at: Self::At) -> Option<BlockId>;
}

/// Places a page. A function and no closure, so that it is compiled into each loop whatever a policy does with a death.
#[inline(always)]
pub(super) fn place_next<D: PlaceEach>(
    directory: &mut D,
    page: Lpn,
    at: D::At,
    blocks: &mut Blocks,
    died: &mut impl FnMut(BlockId, u32, &Blocks),
) {
    if let Some(block) = directory.place_one(page, at) {
        let score = blocks.invalidate(block);
        died(block, score, blocks);
    }
}

/// Places every page of the run, the `n`-th at `at(n)`; see [`super::Directory::place`].
#[inline(always)]
pub(super) fn place_each<D: PlaceEach>(
    directory: &mut D,
    writes: Writes<'_>,
    at: impl Fn(usize) -> D::At,
    blocks: &mut Blocks,
    mut died: impl FnMut(BlockId, u32, &Blocks),
) {
    let Writes { pages, length, prefetch } = writes;
    let done = match prefetch && pages.len() > PLACE_DISTANCE {
        false => 0,
        true => match directory.place_bytes(blocks) > PLACES_FROM_BYTES {
            false => place_ahead::<D, false>(directory, writes, &at, blocks, &mut died),
            true => place_ahead::<D, true>(directory, writes, &at, blocks, &mut died),
        },
    };
    for (&page, n) in pages[done..length].iter().zip(done..) {
        place_next(directory, page, at(n), blocks, &mut died);
    }
}

/// Places the first pages of the run, as long as those that will follow are known, and brings what they touch into the cache:
/// the entry of the map and, if `PLACES`, what it points to. How many pages they are.
///
/// One loop as long as both distances lie within what is known, one as long as the shorter does, so that neither tests it
/// write by write.
#[inline(always)]
fn place_ahead<D: PlaceEach, const PLACES: bool>(
    directory: &mut D,
    Writes { pages, length, .. }: Writes<'_>,
    at: &impl Fn(usize) -> D::At,
    blocks: &mut Blocks,
    died: &mut impl FnMut(BlockId, u32, &Blocks),
) -> usize {
    let known = |distance| pages.len().saturating_sub(distance).min(length);
    let (both, one) = (known(ENTRY_DISTANCE), known(PLACE_DISTANCE));
    let (entries, places) =
        (&pages[pages.len().min(ENTRY_DISTANCE)..], &pages[pages.len().min(PLACE_DISTANCE)..]);
    for (((&page, &place), &entry), n) in pages[..both].iter().zip(places).zip(entries).zip(0..) {
        directory.prefetch_entry(entry);
        if PLACES {
            directory.prefetch_place(place, blocks);
        }
        place_next(directory, page, at(n), blocks, died);
    }
    if !PLACES {
        return both;
    }
    for ((&page, &place), n) in pages[both..one].iter().zip(&places[both..]).zip(both..) {
        directory.prefetch_place(place, blocks);
        place_next(directory, page, at(n), blocks, died);
    }
    one
}
