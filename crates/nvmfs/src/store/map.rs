//! Block map of files: pointers in the inode, and trees of pointer blocks on NVRAM (section III-E).

use super::extents;
use super::pages::{self, State};
use super::snapshots::is_kept;
use super::{Region, Store};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{
    BlockLocation, DIRECT, Field, INODES, MAX_FILE_BLOCKS, POINTERS, POINTERS_PER_BLOCK, PageId,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Maximum number of locations freed between two fences, which limits the memory for removing a large file.
const MAX_FREED_PER_FENCE: usize = 4096;

/// Path to the pointer of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PointerPath {
    /// Index of the pointer in the inode.
    slot: usize,
    /// Levels of pointer blocks below that pointer.
    levels: u32,
    /// Number of the block within the tree below that pointer.
    block_in_tree: u64,
}

/// Returns the number of blocks that a tree of this many levels addresses.
pub(super) fn blocks_per_tree(levels: u32) -> u64 {
    POINTERS_PER_BLOCK.pow(levels)
}

fn path_to(block: u64) -> Option<PointerPath> {
    if block < DIRECT as u64 {
        return Some(PointerPath { slot: block as usize, levels: 0, block_in_tree: 0 });
    }
    let mut rest = block - DIRECT as u64;
    for slot in DIRECT..POINTERS {
        let levels = (slot - DIRECT + 1) as u32;
        if rest < blocks_per_tree(levels) {
            return Some(PointerPath { slot, levels, block_in_tree: rest });
        }
        rest -= blocks_per_tree(levels);
    }
    None
}

/// Returns the first block below a pointer of the inode, and the number of levels below it.
pub(crate) fn slot_start(slot: usize) -> (u64, u32) {
    if slot < DIRECT {
        return (slot as u64, 0);
    }
    let levels = (slot - DIRECT + 1) as u32;
    (DIRECT as u64 + (1..levels).map(blocks_per_tree).sum::<u64>(), levels)
}

/// Pages that are freed together with a metadata block.
#[derive(Debug)]
pub(crate) struct UnlinkedBlocks {
    /// Offset of the topmost pointer that leads only to these pages.
    pub at: usize,
    /// Index of that pointer, if it is in the inode.
    pub slot: Option<usize>,
    /// Page of the block, if it exists, and pointer blocks that lead to no other block.
    pub pages: Vec<PageId>,
}

impl<N: Nvram> Region<N> {
    /// Returns the pointer page to which a non-leaf pointer leads.
    pub(crate) fn pointer_page(&self, at: usize) -> Result<Option<PageId>> {
        match self.location(self.word(at))? {
            BlockLocation::Hole => Ok(None),
            BlockLocation::Nvram(page) if pages::state_of(self, page) == State::Metadata => Ok(Some(page)),
            _ => Err(Error::Damaged(format!("the pointer at {at:#x} leads to no block of pointers"))),
        }
    }

    /// Returns the offset of the pointer to a file's block; `None` if a pointer block on the path is
    /// missing.
    pub fn pointer_at(&self, ino: Ino, block: u64) -> Result<Option<usize>> {
        let Some(path) = path_to(block) else { return Ok(None) };
        let mut at = self.field(ino, Field::Pointers)? + 8 * path.slot;
        for level in (0..path.levels).rev() {
            let Some(page) = self.pointer_page(at)? else { return Ok(None) };
            at = self.areas.page(page)
                + 8 * (path.block_in_tree / blocks_per_tree(level) % POINTERS_PER_BLOCK) as usize;
        }
        Ok(Some(at))
    }

    /// Returns the page of a block by following pointers. The states of the pages on the path are not known yet, so
    /// they are not checked.
    pub(super) fn page_by_pointers(&self, ino: Ino, block: u64) -> Option<PageId> {
        let page_at = |at| match self.location(self.word(at)) {
            Ok(BlockLocation::Nvram(page)) => Some(page),
            _ => None,
        };
        let path = path_to(block)?;
        let mut at = self.field(ino, Field::Pointers).ok()? + 8 * path.slot;
        for level in (0..path.levels).rev() {
            let table = self.areas.page(page_at(at)?);
            at = table + 8 * (path.block_in_tree / blocks_per_tree(level) % POINTERS_PER_BLOCK) as usize;
        }
        page_at(at)
    }

    /// Returns the location of a file's block.
    pub fn location_of(&self, ino: Ino, block: u64) -> Result<BlockLocation> {
        match self.pointer_at(ino, block)? {
            Some(at) => self.location(self.word(at)),
            None => Ok(BlockLocation::Hole),
        }
    }

    /// Returns the first block in `block..end` that exists. If `exists` is false, returns the first block that does
    /// not exist.
    pub fn next_block(&self, ino: Ino, block: u64, end: u64, exists: bool) -> Result<Option<u64>> {
        let mut block = block;
        while block < end {
            let (found, ahead) = match self.missing(ino, block)? {
                Some(blocks) => (false, blocks),
                None => (self.location_of(ino, block)? != BlockLocation::Hole, 1),
            };
            if found == exists {
                return Ok(Some(block));
            }
            block = block.saturating_add(ahead);
        }
        Ok(None)
    }

    /// Returns the last existing block before `end`.
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

    /// Does what [`Region::last_block`] does, within the tree below the pointer at `at`, whose first block is
    /// `start`.
    fn last_below(&self, at: usize, start: u64, levels: u32, end: u64) -> Result<Option<u64>> {
        if start >= end || self.word(at) == 0 {
            return Ok(None);
        }
        if levels == 0 {
            return Ok(Some(start));
        }
        let Some(page) = self.pointer_page(at)? else { return Ok(None) };
        let (table, span) = (self.areas.page(page), blocks_per_tree(levels - 1));
        for slot in (0..POINTERS_PER_BLOCK.min((end - start).div_ceil(span))).rev() {
            let below = self.last_below(table + 8 * slot as usize, start + slot * span, levels - 1, end)?;
            if below.is_some() {
                return Ok(below);
            }
        }
        Ok(None)
    }

    /// Finds the pages that are freed together with a metadata block. A pointer at offset `used` counts as non-zero,
    /// regardless of its value.
    pub(crate) fn find_unlinked(&self, ino: Ino, block: u64, used: Option<usize>) -> Result<UnlinkedBlocks> {
        let path = path_to(block).ok_or(Error::TooLarge)?;
        let base = self.field(ino, Field::Pointers)? + 8 * path.slot;
        let (mut at, mut top, mut pages) = (base, base, Vec::new());
        for level in (0..path.levels).rev() {
            let Some(page) = self.pointer_page(at)? else { break };
            let table = self.areas.page(page);
            at = table + 8 * (path.block_in_tree / blocks_per_tree(level) % POINTERS_PER_BLOCK) as usize;
            let mut siblings = (table..table + BLOCK_BYTES).step_by(8).filter(|other| *other != at);
            if siblings.any(|other| self.word(other) != 0 || used == Some(other)) {
                top = at;
                pages.clear();
            } else {
                pages.push(page);
            }
        }
        if self.location_of(ino, block)? != BlockLocation::Hole {
            pages.extend(match ino {
                INODES => self.inode_pages.page(block as u32),
                _ => self.pointer_page(at)?,
            });
        }
        Ok(UnlinkedBlocks { at: top, slot: (top == base).then_some(path.slot), pages })
    }

    /// Returns all locations to which a file's pointers lead, including pointer blocks.
    pub(crate) fn locations(&self, ino: Ino) -> Result<Vec<BlockLocation>> {
        let base = self.field(ino, Field::Pointers)?;
        let mut locations = Vec::new();
        for slot in (0..POINTERS).filter(|slot| self.word(base + 8 * slot) != 0) {
            self.collect_locations(base + 8 * slot, slot_start(slot).1, &mut locations)?;
        }
        Ok(locations)
    }

    /// Appends all locations that are reached through the pointer at `at`, including the location in this pointer.
    pub(super) fn collect_locations(
        &self,
        at: usize,
        levels: u32,
        locations: &mut Vec<BlockLocation>,
    ) -> Result<()> {
        if levels > 0 {
            if let Some(page) = self.pointer_page(at)? {
                let table = self.areas.page(page);
                for slot in 0..POINTERS_PER_BLOCK as usize {
                    if self.word(table + 8 * slot) != 0 {
                        self.collect_locations(table + 8 * slot, levels - 1, locations)?;
                    }
                }
                locations.push(BlockLocation::Nvram(page));
            }
        } else {
            locations.push(self.location(self.word(at))?);
        }
        Ok(())
    }

    /// If pointer blocks are missing on the path to `block`, returns the number of consecutive holes that this
    /// causes, counted from `block`.
    fn missing(&self, ino: Ino, block: u64) -> Result<Option<u64>> {
        let Some(path) = path_to(block) else { return Ok(Some(u64::MAX)) };
        let mut at = self.field(ino, Field::Pointers)? + 8 * path.slot;
        for level in (0..path.levels).rev() {
            let Some(page) = self.pointer_page(at)? else {
                let span = blocks_per_tree(level + 1);
                return Ok(Some(span - path.block_in_tree % span));
            };
            at = self.areas.page(page)
                + 8 * (path.block_in_tree / blocks_per_tree(level) % POINTERS_PER_BLOCK) as usize;
        }
        Ok(None)
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the offset of the pointer to a file's block. Allocates missing pointer blocks, at most three; the
    /// caller must have made free pages for them.
    pub(super) fn make_pointer(&mut self, ino: Ino, block: u64) -> Result<usize> {
        self.make_path(ino, block, 0)
    }

    /// Does what [`Store::make_pointer`] does, for the pointer `above` levels above the pointer to the block, up to
    /// the inode.
    pub(super) fn make_path(&mut self, ino: Ino, block: u64, above: u32) -> Result<usize> {
        let path = path_to(block).ok_or(Error::TooLarge)?;
        let mut at = self.region.field(ino, Field::Pointers)? + 8 * path.slot;
        for level in (above..path.levels).rev() {
            let page = match self.region.pointer_page(at)? {
                Some(page) => page,
                None => {
                    let page = self.take_metadata_page(ino)?;
                    // The zeros of the new page must be durable before a pointer leads to
                    // it.
                    self.region.fence();
                    let pointer = BlockLocation::Nvram(page).encode(&self.region.areas);
                    self.region.store_word(at, pointer);
                    page
                }
            };
            let slot = path.block_in_tree / blocks_per_tree(level) % POINTERS_PER_BLOCK;
            at = self.region.areas.page(page) + 8 * slot as usize;
        }
        Ok(at)
    }

    /// Returns the offset of the pointer to a block of a directory; allocates missing pointer blocks and makes them
    /// durable.
    pub(crate) fn pointer_for(&mut self, ino: Ino, block: u64) -> Result<usize> {
        self.make_room((POINTERS - DIRECT) as u32)?;
        let at = self.make_pointer(ino, block)?;
        self.region.fence();
        Ok(at)
    }

    /// Frees the pointer blocks above a block that was not written after all, if they lead to no other block.
    pub(crate) fn prune(&mut self, ino: Ino, block: u64) -> Result<()> {
        if self.region.location_of(ino, block)? != BlockLocation::Hole {
            return Ok(());
        }
        let unlinked = self.region.find_unlinked(ino, block, None)?;
        if !unlinked.pages.is_empty() {
            self.region.store_word(unlinked.at, 0);
            self.region.fence();
        }
        unlinked.pages.into_iter().try_for_each(|page| self.free_metadata_page(ino, page))
    }

    /// Turns a file's blocks in `first..end` into holes, and frees each pointer block whose blocks are all in the
    /// range.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if a snapshot must take over the blocks and there is no free space for its pointer blocks:
    /// see `Store::prepare_removal`.
    pub fn remove_blocks(&mut self, ino: Ino, first: u64, end: u64) -> Result<()> {
        if (first, end) != (0, u64::MAX) {
            self.prepare_removal(ino, first, end)?;
        }
        if let Some(kept) = self.keeper_with_room(ino)? {
            return self.remove_and_keep(ino, kept, first..end);
        }
        let mut freed = Vec::new();
        let base = self.region.field(ino, Field::Pointers)?;
        for slot in 0..POINTERS {
            let (start, levels) = slot_start(slot);
            self.remove_blocks_in_tree(
                ino,
                base + 8 * slot,
                start,
                levels,
                (first, end.min(MAX_FILE_BLOCKS)),
                &mut freed,
            )?;
        }
        self.free_locations(ino, &mut freed)
    }

    /// Does what [`Store::remove_blocks`] does, within the tree below the pointer at `at`, whose first block is
    /// `start`.
    fn remove_blocks_in_tree(
        &mut self,
        ino: Ino,
        at: usize,
        start: u64,
        levels: u32,
        (first, end): (u64, u64),
        freed: &mut Vec<BlockLocation>,
    ) -> Result<()> {
        let pointer = self.region.word(at);
        let after = start + blocks_per_tree(levels);
        if pointer == 0 || end <= start || after <= first {
            return Ok(());
        }
        let is_whole = first <= start && after <= end;
        if !is_whole || levels > 1 {
            let Some(page) = self.region.pointer_page(at)? else { return Ok(()) };
            let (table, span) = (self.region.areas.page(page), blocks_per_tree(levels - 1));
            for slot in 0..POINTERS_PER_BLOCK {
                let below = (table + 8 * slot as usize, start + slot * span);
                self.remove_blocks_in_tree(ino, below.0, below.1, levels - 1, (first, end), freed)?;
            }
        }
        if is_whole {
            self.region.collect_locations(at, levels, freed)?;
            // Clearing one pointer removes the whole tree below it.
            self.region.store_word(at, 0);
            if freed.len() >= MAX_FREED_PER_FENCE {
                self.free_locations(ino, freed)?;
            }
        }
        Ok(())
    }

    /// Frees locations of a file to which no pointer leads.
    pub(super) fn free_locations(&mut self, ino: Ino, locations: &mut Vec<BlockLocation>) -> Result<()> {
        self.region.fence();
        for location in locations.drain(..) {
            self.free_location(ino, location)?;
        }
        Ok(())
    }

    /// Frees a location of a file, and its copy on the SSD. Before the call, the removal of the pointer to it must be
    /// durable.
    pub(super) fn free_location(&mut self, ino: Ino, location: BlockLocation) -> Result<()> {
        match location {
            BlockLocation::Hole | BlockLocation::Absent => Ok(()),
            BlockLocation::Reserved if is_kept(ino) => Ok(()),
            BlockLocation::Reserved => {
                let remaining = self.reserved_blocks.checked_sub(1);
                self.reserved_blocks = remaining
                    .ok_or_else(|| Error::Damaged(format!("inode {} has blocks reserved", ino.0)))?;
                self.count_blocks(ino, -1, 0)
            }
            BlockLocation::Ssd(block) => {
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
            BlockLocation::Nvram(page) => {
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

    /// Frees the copy of a page on the SSD.
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
    fn every_block_has_a_unique_path() {
        let edges = [0, 3, 4, 515, 516, 516 + 512 * 512 - 1, 516 + 512 * 512, MAX_FILE_BLOCKS - 1];
        for block in edges {
            let path = path_to(block).unwrap();
            let (start, levels) = slot_start(path.slot);
            assert_eq!((start + path.block_in_tree, levels), (block, path.levels));
            assert!(path.block_in_tree < blocks_per_tree(levels));
        }
        assert_eq!(path_to(MAX_FILE_BLOCKS), None);
    }
}
