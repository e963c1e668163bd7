//! Tests of the page table.

use super::*;
use crate::victim::Needs;
use proptest::prelude::*;
use proptest::sample::Index;

const PAGES: u32 = 300;
const BLOCKS: u32 = 8;
const BLOCK: u32 = 70;

/// Returns a table filled by `runs` (first page, number of pages), without the pages in `removed_pages`.
fn table(runs: &[(u32, u32)], removed_pages: &[u32]) -> PageTable {
    let mut table = PageTable::new(PAGES, BLOCKS, BLOCK);
    let mut blocks = Blocks::new(BLOCKS, BLOCK, PAGES, Needs::default());
    (0..BLOCKS).for_each(|block| table.open(BlockId(block)));
    let mut at = 0;
    for &(first, length) in runs {
        let pages: Vec<Lpn> = (first..PAGES.min(first + length)).map(Lpn).collect();
        for page in &pages {
            let writes = Writes { pages: &[*page], length: 1, prefetch: false };
            if at < BLOCKS * BLOCK {
                table.record_writes(BlockId(at / BLOCK), at % BLOCK, writes, &mut blocks, |_, _, _| {});
                at += 1;
            }
        }
    }
    for &page in removed_pages {
        table.remove(Lpn(page));
    }
    table
}

fn state(table: &PageTable) -> (u32, Vec<Slot>, Vec<bool>) {
    let valid = (0..BLOCKS * BLOCK).map(|slot| table.validity.is_set(Slot(slot))).collect();
    (table.mapped, table.slots.to_vec(), valid)
}

proptest! {
    #[test]
    fn remove_run_equals_single_removals(
        runs in prop::collection::vec((0..PAGES, 1u32..150), 1..8),
        removed_pages in prop::collection::vec(0..PAGES, 0..120),
        first: Index,
        length in 1u32..=PAGES,
    ) {
        let first = first.index(PAGES as usize) as u32;
        let run: Vec<Lpn> = (first..PAGES.min(first + length)).map(Lpn).collect();
        let (mut whole, mut single) = (table(&runs, &removed_pages), table(&runs, &removed_pages));
        let mut removed = Vec::new();
        whole.remove_run(Lpn(first), run.len() as u32, |block, pages| removed.extend(pages.iter().map(|page| (page, block))));
        let expected: Vec<(Lpn, BlockId)> =
            run.iter().filter_map(|&page| Some((page, single.remove(page)?))).collect();
        prop_assert_eq!(removed, expected);
        prop_assert_eq!(state(&whole), state(&single));
    }
}

/// Cleaning may fail before a block is empty: moved pages are then invalid in this block, and the other pages still
/// valid.
#[test]
fn forget_moved_invalidates_moved_pages() {
    let (from, to) = (BlockId(0), BlockId(1));
    let (mut table, mut blocks) = (PageTable::new(8, 2, 4), Blocks::new(2, 4, 8, Needs::default()));
    for block in [from, to] {
        table.open(block);
        blocks.open(block);
    }
    let pages = [5, 6, 7].map(Lpn);
    let writes = Writes { pages: &pages, length: 3, prefetch: false };
    table.record_writes(from, 0, writes, &mut blocks, |_, _, _| {});
    table.relocate(to, 0, &[Lpn(6)]);
    assert_eq!((table.invalidate_moved(from, 3), table.invalidate_moved(from, 3)), (1, 0));
    let (mut owners, mut indices) = ([Lpn(0); 3], [0; 3]);
    assert_eq!(table.gather_listed(from, 3, &mut owners, &mut indices), 2);
    assert_eq!((&owners[..2], &indices[..2]), (&[Lpn(5), Lpn(7)][..], &[0, 2][..]));
    assert_eq!((table.block_of(Lpn(6)), table.block_of(Lpn(5))), (Some(to), Some(from)));
}
