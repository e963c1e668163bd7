//! Recording a run of host writes in a directory: the hot loop of every simulation, shared by all directories.

use crate::units::{BlockId, Lpn};
use crate::victim::Blocks;

/// A run of host writes and the writes that follow it.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    /// Pages of the run, followed by the already known pages of later writes.
    pub pages: &'a [Lpn],
    /// Number of pages in the run.
    pub length: usize,
    /// True if table entries of later pages are prefetched. Changes no result.
    pub prefetch: bool,
}

/// Prefetch distance, in writes, for the map entry of a page.
const ENTRY_DISTANCE: usize = 96;
/// Prefetch distance, in writes, for the data that a map entry points to.
const LOCATION_DISTANCE: usize = 32;

/// The data that map entries point to is prefetched if it has at least this size in bytes: smaller data stays in a
/// core's own cache.
const MIN_LOCATION_BYTES: usize = 192 << 10;

/// Operations of a directory on a single page.
pub(super) trait PageEntries {
    /// Content of a map entry.
    type Location: Copy;

    /// Prefetches the map entry of the page.
    fn prefetch_entry(&self, page: Lpn);

    /// Reads the map entry of the page and prefetches the data that an invalidation of its current location changes.
    fn prefetch_location(&self, page: Lpn, blocks: &Blocks);

    /// Returns the total size, in bytes, of the data that [`PageEntries::prefetch_location`] prefetches, over all
    /// pages.
    fn location_bytes(&self, blocks: &Blocks) -> usize;

    /// Records that the page is now stored at `at`. Returns the block that stored it before, if any.
    fn set_location(&mut self, page: Lpn, at: Self::Location) -> Option<BlockId>;
}

/// Records the new location of a page. This is a function and not a closure, so that it is inlined into each loop for
/// every victim policy.
#[inline(always)]
pub(super) fn record_page<D: PageEntries>(
    directory: &mut D,
    page: Lpn,
    at: D::Location,
    blocks: &mut Blocks,
    on_invalidate: &mut impl FnMut(BlockId, u32, &Blocks),
) {
    if let Some(block) = directory.set_location(page, at) {
        let score = blocks.invalidate(block);
        on_invalidate(block, score, blocks);
    }
}

/// Records every page of the run, the `n`-th at `at(n)`; see [`super::Directory::record_writes`].
#[inline(always)]
pub(super) fn record_pages<D: PageEntries>(
    directory: &mut D,
    writes: Writes<'_>,
    at: impl Fn(usize) -> D::Location,
    blocks: &mut Blocks,
    mut on_invalidate: impl FnMut(BlockId, u32, &Blocks),
) {
    let Writes { pages, length, prefetch } = writes;
    let recorded = match prefetch && pages.len() > LOCATION_DISTANCE {
        false => 0,
        true => match directory.location_bytes(blocks) > MIN_LOCATION_BYTES {
            false => record_with_prefetch::<D, false>(directory, writes, &at, blocks, &mut on_invalidate),
            true => record_with_prefetch::<D, true>(directory, writes, &at, blocks, &mut on_invalidate),
        },
    };
    for (&page, n) in pages[recorded..length].iter().zip(recorded..) {
        record_page(directory, page, at(n), blocks, &mut on_invalidate);
    }
}

/// Records the first pages of the run while enough later pages are known. Prefetches the map entries of these later
/// pages and, if `PREFETCH_LOCATIONS`, the data that the entries point to. Returns the number of pages recorded.
///
/// The first loop runs while both prefetch distances are within the known pages, the second while the shorter one is,
/// so that neither has to test this for each write.
#[inline(always)]
fn record_with_prefetch<D: PageEntries, const PREFETCH_LOCATIONS: bool>(
    directory: &mut D,
    Writes { pages, length, .. }: Writes<'_>,
    at: &impl Fn(usize) -> D::Location,
    blocks: &mut Blocks,
    on_invalidate: &mut impl FnMut(BlockId, u32, &Blocks),
) -> usize {
    let covered_pages = |distance| pages.len().saturating_sub(distance).min(length);
    let (both_end, location_end) = (covered_pages(ENTRY_DISTANCE), covered_pages(LOCATION_DISTANCE));
    let (entry_pages, location_pages) =
        (&pages[pages.len().min(ENTRY_DISTANCE)..], &pages[pages.len().min(LOCATION_DISTANCE)..]);
    for (((&page, &location_page), &entry_page), n) in
        pages[..both_end].iter().zip(location_pages).zip(entry_pages).zip(0..)
    {
        directory.prefetch_entry(entry_page);
        if PREFETCH_LOCATIONS {
            directory.prefetch_location(location_page, blocks);
        }
        record_page(directory, page, at(n), blocks, on_invalidate);
    }
    if !PREFETCH_LOCATIONS {
        return both_end;
    }
    for ((&page, &location_page), n) in
        pages[both_end..location_end].iter().zip(&location_pages[both_end..]).zip(both_end..)
    {
        directory.prefetch_location(location_page, blocks);
        record_page(directory, page, at(n), blocks, on_invalidate);
    }
    location_end
}
