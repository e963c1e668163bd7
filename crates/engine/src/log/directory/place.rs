//! Recording a run of host writes in a directory: the hot loop of every simulation, shared by all directories.

use crate::units::{BlockId, Lpn};
use crate::victim::Blocks;

/// A run of host writes and the writes that follow it.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// Pages of the run, followed by the pages of later writes that are already known.
    pub pages: &'a [Lpn],
    /// Number of pages in the run.
    pub length: usize,
    /// True if table entries of later pages are prefetched. Changes no result.
    pub prefetch: bool,
}

/// Prefetch distance, in writes, for the map entry of a page.
const ENTRY_DISTANCE: usize = 96;
/// Prefetch distance, in writes, for the data that a map entry points to.
const PLACE_DISTANCE: usize = 32;

/// Minimum size of the data that map entries point to for prefetching it: less stays in a core's own cache.
const PLACES_FROM_BYTES: usize = 192 << 10;

/// Operations of a directory on a single page.
pub(super) trait PlaceEach {
    /// Content of a map entry.
    type At: Copy;

    /// Prefetches the map entry of the page.
    fn prefetch_entry(&self, page: Lpn);

    /// Reads the map entry of the page and prefetches the data that is written when its current location is
    /// invalidated.
    fn prefetch_place(&self, page: Lpn, blocks: &Blocks);

    /// Returns the total size, in bytes, of the data that [`PlaceEach::prefetch_place`] prefetches, over all pages.
    fn place_bytes(&self, blocks: &Blocks) -> usize;

    /// Records that the page is now `at`. Returns the block that stored it before, if any.
    fn place_one(&mut self, page: Lpn, at: Self::At) -> Option<BlockId>;
}

/// Records the new location of a page. A function and not a closure, so that it is inlined into each loop for every
/// victim policy.
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

/// Records every page of the run, the `n`-th at `at(n)`; see [`super::Directory::place`].
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

/// Records the first pages of the run, as long as enough later pages are known to prefetch for: their map entries
/// and, if `PLACES`, the data that the entries point to. Returns the number of pages recorded.
///
/// The first loop runs while both prefetch distances are within the known pages, the second while the shorter one is,
/// so that neither has to test this for each write.
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
