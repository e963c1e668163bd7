//! Transfer of blocks from a file to a snapshot, or from a snapshot to an older snapshot: pointers change, and no data
//! is copied.

use super::super::Store;
use super::super::extents;
use super::super::map::{blocks_per_tree, slot_start};
use super::super::pages;
use super::super::region::Changes;
use super::delete::DeletionBudget;
use super::is_kept;
use crate::api::{Error, Ino, Result};
use crate::layout::{BlockLocation, Field, MAX_FILE_BLOCKS, POINTERS, POINTERS_PER_BLOCK};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// Range of blocks to transfer, with source and destination.
pub(super) struct BlockMove {
    pub from: Ino,
    pub to: Ino,
    pub blocks: Range<u64>,
}

/// Source and destination pointers of two trees that start at the same block.
#[derive(Clone, Copy)]
struct PointerPair {
    from: usize,
    to: usize,
    start: u64,
    levels: u32,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Transfers the ownership of a location after the change of the pointers is durable.
    pub(in crate::store) fn transfer(&mut self, from: Ino, to: Ino, location: BlockLocation) -> Result<()> {
        match location {
            BlockLocation::Hole | BlockLocation::Absent => return Ok(()),
            BlockLocation::Reserved if is_kept(from) => return Ok(()),
            // A reserved, unwritten block uses no device space, and a snapshot never writes it.
            BlockLocation::Reserved => return self.free_location(from, location),
            BlockLocation::Nvram(page) => {
                let copy = pages::copy_of(&self.region, page);
                pages::change_owner(&mut self.region, page, to);
                if copy != 0 {
                    extents::change_owner(&mut self.region, copy, to);
                }
            }
            BlockLocation::Ssd(block) => extents::change_owner(&mut self.region, block, to),
        }
        self.count_blocks(from, -1, 0)?;
        self.count_blocks(to, 1, 0)
    }

    /// Transfers blocks from a file or a snapshot to a snapshot. If the destination already has a block, it keeps
    /// that block, and the block of the source is freed.
    ///
    /// # Errors
    /// [`Error::Damaged`], also if pointer blocks on the path to the start or end of the range are missing.
    pub(super) fn move_blocks(&mut self, range: &BlockMove) -> Result<()> {
        let (from, to) =
            (self.region.field(range.from, Field::Pointers)?, self.region.field(range.to, Field::Pointers)?);
        for slot in 0..POINTERS {
            let (start, levels) = slot_start(slot);
            let at = PointerPair { from: from + 8 * slot, to: to + 8 * slot, start, levels };
            let mut freed = Vec::new();
            self.move_below(range, at, &mut freed)?;
            self.free_locations(range.from, &mut freed)?;
        }
        Ok(())
    }

    /// Transfers all blocks, as far as the budget allows; returns true if no block remains.
    pub(super) fn move_step(&mut self, from: Ino, to: Ino, budget: &mut DeletionBudget) -> Result<bool> {
        let mut next = 0;
        while let Some(first) = self.region.next_block(from, next, MAX_FILE_BLOCKS, true)? {
            if budget.is_exhausted() {
                return Ok(false);
            }
            let blocks = self.range_to_move(to, first)?;
            next = blocks.end;
            budget.take(blocks.end - blocks.start);
            self.move_blocks(&BlockMove { from, to, blocks })?;
        }
        Ok(true)
    }

    /// Returns the range of blocks to transfer together with `block`: the blocks under the same pointer block, if the
    /// destination has or gets the path to it. If there is no free space for that path, returns all blocks under the
    /// same pointer of the inode.
    fn range_to_move(&mut self, to: Ino, block: u64) -> Result<Range<u64>> {
        let slot =
            (0..POINTERS).rev().find(|slot| slot_start(*slot).0 <= block).expect("the first begins with 0");
        let (start, levels) = slot_start(slot);
        if levels > 1 {
            self.make_room_for_cache(levels)?;
            match self.make_path(to, block, 1) {
                Ok(_) => {
                    self.region.fence();
                    let first = block - (block - start) % POINTERS_PER_BLOCK;
                    return Ok(first..first + POINTERS_PER_BLOCK);
                }
                Err(Error::NoSpace(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(start..start + blocks_per_tree(levels))
    }

    fn move_below(
        &mut self,
        range: &BlockMove,
        at: PointerPair,
        freed: &mut Vec<BlockLocation>,
    ) -> Result<()> {
        let (pointer, kept) = (self.region.word(at.from), self.region.word(at.to));
        let after = at.start + blocks_per_tree(at.levels);
        if pointer == 0 || range.blocks.end <= at.start || after <= range.blocks.start {
            return Ok(());
        }
        let is_whole = range.blocks.start <= at.start && after <= range.blocks.end;
        if is_whole && kept == 0 {
            let mut locations = Vec::new();
            self.region.collect_locations(at.from, at.levels, &mut locations)?;
            self.move_pointer(at, pointer);
            return locations
                .into_iter()
                .try_for_each(|location| self.transfer(range.from, range.to, location));
        }
        if at.levels > 0 {
            let missing = || Error::Damaged(format!("a snapshot has no way to block {}", at.start));
            let Some(page) = self.region.pointer_page(at.from)? else { return Ok(()) };
            let to = self.region.pointer_page(at.to)?.ok_or_else(missing)?;
            let (from, to) = (self.region.areas.page(page), self.region.areas.page(to));
            let span = blocks_per_tree(at.levels - 1);
            for slot in 0..POINTERS_PER_BLOCK {
                let (offset, start) = (8 * slot as usize, at.start + slot * span);
                let below =
                    PointerPair { from: from + offset, to: to + offset, start, levels: at.levels - 1 };
                self.move_below(range, below, freed)?;
            }
        }
        if is_whole {
            freed.push(self.region.location(pointer)?);
            self.region.store_word(at.from, 0);
        }
        Ok(())
    }

    /// Moves a pointer from source to destination, atomically with respect to power cuts.
    fn move_pointer(&mut self, at: PointerPair, pointer: u64) {
        let mut changes = Changes::default();
        changes.put_word(at.to, pointer);
        changes.put_word(at.from, 0);
        self.region.apply(changes);
    }

    /// Turns blocks of a file into holes and transfers the blocks to a snapshot; `Store::prepare_removal` must have
    /// been called.
    pub(in crate::store) fn remove_and_keep(
        &mut self,
        ino: Ino,
        kept: Ino,
        blocks: Range<u64>,
    ) -> Result<()> {
        let blocks = blocks.start..blocks.end.min(MAX_FILE_BLOCKS);
        self.move_blocks(&BlockMove { from: ino, to: kept, blocks })
    }

    /// Transfers an inode page to an older snapshot, together with the part of the surrounding tree that the older
    /// snapshot lacks. Returns `None` if the transfer is complete; otherwise both snapshots have such a page, and the
    /// pointers to the two pages are returned.
    pub(super) fn pass_down(&mut self, from: Ino, to: Ino, number: u64) -> Result<Option<(usize, usize)>> {
        let bases = (self.region.field(from, Field::Pointers)?, self.region.field(to, Field::Pointers)?);
        let slot =
            (0..POINTERS).rev().find(|slot| slot_start(*slot).0 <= number).expect("the first begins with 0");
        let (start, levels) = slot_start(slot);
        let mut at = PointerPair { from: bases.0 + 8 * slot, to: bases.1 + 8 * slot, start, levels };
        loop {
            let pointer = self.region.word(at.from);
            if self.region.word(at.to) == 0 {
                self.move_pointer(at, pointer);
                return Ok(None);
            }
            if at.levels == 0 {
                return Ok(Some((at.from, at.to)));
            }
            let lost = || Error::Damaged("a snapshot has no way to what it keeps".into());
            let from = self.region.pointer_page(at.from)?.ok_or_else(lost)?;
            let to = self.region.pointer_page(at.to)?.ok_or_else(lost)?;
            let span = blocks_per_tree(at.levels - 1);
            let slot = (number - at.start) / span;
            at = PointerPair {
                from: self.region.areas.page(from) + 8 * slot as usize,
                to: self.region.areas.page(to) + 8 * slot as usize,
                start: at.start + slot * span,
                levels: at.levels - 1,
            };
        }
    }
}
