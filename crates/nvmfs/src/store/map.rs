//! Where a file's blocks are: pointers in the inode, and trees of blocks of pointers on NVRAM (section III-E).

use super::extents;
use super::pages::{self, State};
use super::snapshots::is_kept;
use super::{Region, Store};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{DIRECT, Field, INODES, MAX_FILE_BLOCKS, POINTERS, POINTERS_PER_BLOCK, PageId, Place};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Places freed between two fences: bounds the memory that a large file's removal takes.
const FREED_AT_ONCE: usize = 4096;

/// The way to a block's pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Way {
    /// The pointer in the inode.
    slot: usize,
    /// Levels of blocks of pointers below it.
    levels: u32,
    /// Number of the block under that pointer.
    rest: u64,
}

/// Blocks under a tree of so many levels.
pub(super) fn reach(levels: u32) -> u64 {
    POINTERS_PER_BLOCK.pow(levels)
}

fn way_to(block: u64) -> Option<Way> {
    if block < DIRECT as u64 {
        return Some(Way { slot: block as usize, levels: 0, rest: 0 });
    }
    let mut rest = block - DIRECT as u64;
    for slot in DIRECT..POINTERS {
        let levels = (slot - DIRECT + 1) as u32;
        if rest < reach(levels) {
            return Some(Way { slot, levels, rest });
        }
        rest -= reach(levels);
    }
    None
}

/// The first block under a pointer of the inode, and the levels below it.
pub(crate) fn slot_start(slot: usize) -> (u64, u32) {
    if slot < DIRECT {
        return (slot as u64, 0);
    }
    let levels = (slot - DIRECT + 1) as u32;
    (DIRECT as u64 + (1..levels).map(reach).sum::<u64>(), levels)
}

/// What goes with a block of metadata.
#[derive(Debug)]
pub(crate) struct Loose {
    /// The pointer that leads to all of it and to nothing else.
    pub at: usize,
    /// Its number, if it stands in the inode.
    pub slot: Option<usize>,
    /// The block's page, if there is one, and those of pointers that lead to no other block.
    pub pages: Vec<PageId>,
}

impl<N: Nvram> Region<N> {
    /// The page of pointers that a pointer above a leaf leads to.
    pub(crate) fn pointer_page(&self, at: usize) -> Result<Option<PageId>> {
        match self.place(self.word(at))? {
            Place::Hole => Ok(None),
            Place::Nvram(page) if pages::state_of(self, page) == State::Metadata => Ok(Some(page)),
            _ => Err(Error::Damaged(format!("the pointer at {at:#x} leads to no block of pointers"))),
        }
    }

    /// Where the pointer to a file's block stands, if there are blocks of pointers as far as that.
    pub fn pointer_at(&self, ino: Ino, block: u64) -> Result<Option<usize>> {
        let Some(way) = way_to(block) else { return Ok(None) };
        let mut at = self.field(ino, Field::Pointers)? + 8 * way.slot;
        for level in (0..way.levels).rev() {
            let Some(page) = self.pointer_page(at)? else { return Ok(None) };
            at = self.areas.page(page) + 8 * (way.rest / reach(level) % POINTERS_PER_BLOCK) as usize;
        }
        Ok(Some(at))
    }

    /// The page of a block, as the pointers say, whatever the pages on the way are: before it is known.
    pub(super) fn page_by_pointers(&self, ino: Ino, block: u64) -> Option<PageId> {
        let page_at = |at| match self.place(self.word(at)) {
            Ok(Place::Nvram(page)) => Some(page),
            _ => None,
        };
        let way = way_to(block)?;
        let mut at = self.field(ino, Field::Pointers).ok()? + 8 * way.slot;
        for level in (0..way.levels).rev() {
            let table = self.areas.page(page_at(at)?);
            at = table + 8 * (way.rest / reach(level) % POINTERS_PER_BLOCK) as usize;
        }
        page_at(at)
    }

    /// Where a file's block is.
    pub fn place_of(&self, ino: Ino, block: u64) -> Result<Place> {
        match self.pointer_at(ino, block)? {
            Some(at) => self.place(self.word(at)),
            None => Ok(Place::Hole),
        }
    }

    /// The first block from `block` on, and before `end`, that has a place, if `wanted`, or has none.
    pub fn next_block(&self, ino: Ino, block: u64, end: u64, wanted: bool) -> Result<Option<u64>> {
        let mut block = block;
        while block < end {
            let (found, ahead) = match self.missing(ino, block)? {
                Some(blocks) => (false, blocks),
                None => (self.place_of(ino, block)? != Place::Hole, 1),
            };
            if found == wanted {
                return Ok(Some(block));
            }
            block = block.saturating_add(ahead);
        }
        Ok(None)
    }

    /// The last block before `end` that has a place.
    pub(crate) fn last_block(&self, ino: Ino, end: u64) -> Result<Option<u64>> {
        let base = self.field(ino, Field::Pointers)?;
        for slot in (0..POINTERS).rev() {
            let (start, levels) = slot_start(slot);
            if let Some(block) = self.last_below(base + 8 * slot, start, levels, end)? {
                return Ok(Some(block));
            }
        }
        Ok(None)
    }

    /// The same below the pointer at `at`, under which lies what begins with block `start`.
    fn last_below(&self, at: usize, start: u64, levels: u32, end: u64) -> Result<Option<u64>> {
        if start >= end || self.word(at) == 0 {
            return Ok(None);
        }
        if levels == 0 {
            return Ok(Some(start));
        }
        let Some(page) = self.pointer_page(at)? else { return Ok(None) };
        let (table, span) = (self.areas.page(page), reach(levels - 1));
        for slot in (0..POINTERS_PER_BLOCK.min((end - start).div_ceil(span))).rev() {
            let below = self.last_below(table + 8 * slot as usize, start + slot * span, levels - 1, end)?;
            if below.is_some() {
                return Ok(below);
            }
        }
        Ok(None)
    }

    /// What goes with a block of metadata. A pointer at `used` counts as one that leads somewhere, whatever stands there.
    pub(crate) fn loosen(&self, ino: Ino, block: u64, used: Option<usize>) -> Result<Loose> {
        let way = way_to(block).ok_or(Error::TooLarge)?;
        let base = self.field(ino, Field::Pointers)? + 8 * way.slot;
        let (mut at, mut top, mut pages) = (base, base, Vec::new());
        for level in (0..way.levels).rev() {
            let Some(page) = self.pointer_page(at)? else { break };
            let table = self.areas.page(page);
            at = table + 8 * (way.rest / reach(level) % POINTERS_PER_BLOCK) as usize;
            let mut others = (table..table + BLOCK_BYTES).step_by(8).filter(|other| *other != at);
            if others.any(|other| self.word(other) != 0 || used == Some(other)) {
                top = at;
                pages.clear();
            } else {
                pages.push(page);
            }
        }
        if self.place_of(ino, block)? != Place::Hole {
            pages.extend(match ino {
                INODES => self.inode_pages.page(block as u32),
                _ => self.pointer_page(at)?,
            });
        }
        Ok(Loose { at: top, slot: (top == base).then_some(way.slot), pages })
    }

    /// All places that a file's pointers lead to, those of blocks of pointers included.
    pub(crate) fn places(&self, ino: Ino) -> Result<Vec<Place>> {
        let base = self.field(ino, Field::Pointers)?;
        let mut places = Vec::new();
        for slot in (0..POINTERS).filter(|slot| self.word(base + 8 * slot) != 0) {
            self.gather(base + 8 * slot, slot_start(slot).1, &mut places)?;
        }
        Ok(places)
    }

    /// Appends all that is reached through the pointer at `at`, what it leads to included.
    pub(super) fn gather(&self, at: usize, levels: u32, places: &mut Vec<Place>) -> Result<()> {
        if levels > 0 {
            if let Some(page) = self.pointer_page(at)? {
                let table = self.areas.page(page);
                for slot in 0..POINTERS_PER_BLOCK as usize {
                    if self.word(table + 8 * slot) != 0 {
                        self.gather(table + 8 * slot, levels - 1, places)?;
                    }
                }
                places.push(Place::Nvram(page));
            }
        } else {
            places.push(self.place(self.word(at))?);
        }
        Ok(())
    }

    /// If blocks of pointers are missing on the way to `block`: blocks from it on that therefore have no place.
    fn missing(&self, ino: Ino, block: u64) -> Result<Option<u64>> {
        let Some(way) = way_to(block) else { return Ok(Some(u64::MAX)) };
        let mut at = self.field(ino, Field::Pointers)? + 8 * way.slot;
        for level in (0..way.levels).rev() {
            let Some(page) = self.pointer_page(at)? else {
                let span = reach(level + 1);
                return Ok(Some(span - way.rest % span));
            };
            at = self.areas.page(page) + 8 * (way.rest / reach(level) % POINTERS_PER_BLOCK) as usize;
        }
        Ok(None)
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Where the pointer to a file's block stands; blocks of pointers that are missing are made, of pages for which room was
    /// made: three at most.
    pub(super) fn make_pointer(&mut self, ino: Ino, block: u64) -> Result<usize> {
        self.make_way(ino, block, 0)
    }

    /// The same of the pointer so many levels above the block's, which is not above those of the inode.
    pub(super) fn make_way(&mut self, ino: Ino, block: u64, above: u32) -> Result<usize> {
        let way = way_to(block).ok_or(Error::TooLarge)?;
        let mut at = self.region.field(ino, Field::Pointers)? + 8 * way.slot;
        for level in (above..way.levels).rev() {
            let page = match self.region.pointer_page(at)? {
                Some(page) => page,
                None => {
                    let page = self.take_metadata_page(ino)?;
                    // Its zeros must be safe before anything leads to it.
                    self.region.fence();
                    let pointer = Place::Nvram(page).pointer(&self.region.areas);
                    self.region.store_word(at, pointer);
                    page
                }
            };
            let slot = way.rest / reach(level) % POINTERS_PER_BLOCK;
            at = self.region.areas.page(page) + 8 * slot as usize;
        }
        Ok(at)
    }

    /// Where the pointer to a block of a directory is to stand; blocks of pointers on the way are made and are safe.
    pub(crate) fn pointer_for(&mut self, ino: Ino, block: u64) -> Result<usize> {
        self.make_room((POINTERS - DIRECT) as u32)?;
        let at = self.make_pointer(ino, block)?;
        self.region.fence();
        Ok(at)
    }

    /// Blocks of pointers above a block that was not written after all go, if they lead nowhere else.
    pub(crate) fn prune(&mut self, ino: Ino, block: u64) -> Result<()> {
        if self.region.place_of(ino, block)? != Place::Hole {
            return Ok(());
        }
        let loose = self.region.loosen(ino, block, None)?;
        if !loose.pages.is_empty() {
            self.region.store_word(loose.at, 0);
            self.region.fence();
        }
        loose.pages.into_iter().try_for_each(|page| self.free_metadata_page(ino, page))
    }

    /// A file's blocks from `first` up to `end` become holes; blocks of pointers that are then empty go too, if the
    /// range covers all that they reach.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if a snapshot is to be given them and has no room for the way there: `Store::prepare_to_cut`.
    pub fn cut(&mut self, ino: Ino, first: u64, end: u64) -> Result<()> {
        if (first, end) != (0, u64::MAX) {
            self.prepare_to_cut(ino, first, end)?;
        }
        if let Some(kept) = self.keeper_with_room(ino)? {
            return self.cut_and_keep(ino, kept, first..end);
        }
        let mut freed = Vec::new();
        let base = self.region.field(ino, Field::Pointers)?;
        for slot in 0..POINTERS {
            let (start, levels) = slot_start(slot);
            self.cut_tree(
                ino,
                base + 8 * slot,
                start,
                levels,
                (first, end.min(MAX_FILE_BLOCKS)),
                &mut freed,
            )?;
        }
        self.free_places(ino, &mut freed)
    }

    /// The same below the pointer at `at`, under which lies what begins with block `start`.
    fn cut_tree(
        &mut self,
        ino: Ino,
        at: usize,
        start: u64,
        levels: u32,
        (first, end): (u64, u64),
        freed: &mut Vec<Place>,
    ) -> Result<()> {
        let pointer = self.region.word(at);
        let after = start + reach(levels);
        if pointer == 0 || end <= start || after <= first {
            return Ok(());
        }
        let is_whole = first <= start && after <= end;
        if !is_whole || levels > 1 {
            let Some(page) = self.region.pointer_page(at)? else { return Ok(()) };
            let (table, span) = (self.region.areas.page(page), reach(levels - 1));
            for slot in 0..POINTERS_PER_BLOCK {
                let below = (table + 8 * slot as usize, start + slot * span);
                self.cut_tree(ino, below.0, below.1, levels - 1, (first, end), freed)?;
            }
        }
        if is_whole {
            self.region.gather(at, levels, freed)?;
            // One word cuts off all below it.
            self.region.store_word(at, 0);
            if freed.len() >= FREED_AT_ONCE {
                self.free_places(ino, freed)?;
            }
        }
        Ok(())
    }

    /// Frees places of a file that nothing points to any more.
    pub(super) fn free_places(&mut self, ino: Ino, places: &mut Vec<Place>) -> Result<()> {
        self.region.fence();
        for place in places.drain(..) {
            self.free_place(ino, place)?;
        }
        Ok(())
    }

    /// Frees a place of a file that nothing points to any more, which is safe; with it the copy on the SSD.
    pub(super) fn free_place(&mut self, ino: Ino, place: Place) -> Result<()> {
        match place {
            Place::Hole | Place::Absent => Ok(()),
            Place::Reserved if is_kept(ino) => Ok(()),
            Place::Reserved => {
                let left = self.reserved_blocks.checked_sub(1);
                self.reserved_blocks =
                    left.ok_or_else(|| Error::Damaged(format!("inode {} has blocks reserved", ino.0)))?;
                self.count_blocks(ino, -1, 0)
            }
            Place::Ssd(block) => {
                let (owner, file_block) = extents::owner_of(&self.region, block);
                if owner != ino {
                    return Err(Error::Damaged(format!(
                        "block {block} of the SSD is not of inode {}",
                        ino.0
                    )));
                }
                self.note_outdated(ino, file_block);
                self.release_block(block);
                self.count_blocks(ino, 0, -1)
            }
            Place::Nvram(page) => {
                if pages::state_of(&self.region, page) == State::Free {
                    return Err(Error::Damaged(format!("page {} of inode {} is free", page.0, ino.0)));
                }
                let copy = pages::copy_of(&self.region, page);
                if copy != 0 {
                    let (_, file_block) = pages::owner_of(&self.region, page);
                    self.note_outdated(ino, file_block);
                    self.drop_copy(page);
                }
                self.free_page(page);
                self.count_blocks(ino, -1, 0)
            }
        }
    }

    /// The copy of a page on the SSD is no longer wanted.
    pub(super) fn drop_copy(&mut self, page: PageId) {
        let copy = pages::copy_of(&self.region, page);
        self.pages.set_copy(&mut self.region, page, 0);
        self.release_block(copy);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_has_a_way_of_its_own() {
        let edges = [0, 3, 4, 515, 516, 516 + 512 * 512 - 1, 516 + 512 * 512, MAX_FILE_BLOCKS - 1];
        for block in edges {
            let way = way_to(block).unwrap();
            let (start, levels) = slot_start(way.slot);
            assert_eq!((start + way.rest, levels), (block, way.levels));
            assert!(way.rest < reach(levels));
        }
        assert_eq!(way_to(MAX_FILE_BLOCKS), None);
    }
}
