//! Allocation of the SSD in extents of 128 blocks. Extents are written as a whole, never in place, and recycled
//! when too few of their blocks are valid (section III-C).

use super::region::Region;
use crate::api::Ino;
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use std::collections::{BTreeSet, VecDeque};

/// Value of an extent that is being written, or that holds the label.
const ALLOCATED: u16 = u16::MAX;
/// Value of an extent in the queue of free extents.
const FREE: u16 = u16::MAX - 1;

/// Used blocks of the SSD, and their owners.
///
/// The owners and the bitmap are in NVRAM but need not survive a power cut: they are recomputed after it.
pub struct Extents {
    /// Number of valid blocks of each extent; instead of a number, [`FREE`] or [`ALLOCATED`].
    valid: Vec<u16>,
    free: VecDeque<u32>,
    /// Empty extents that are trimmed before they join the queue, and the number of extents that are not trimmed yet
    /// (waiting or in progress).
    to_trim: VecDeque<u32>,
    untrimmed: u32,
    valid_blocks: u64,
    /// Extents that are not recycled, because they contain a block that cannot be moved.
    excluded: BTreeSet<u32>,
}

/// Returns the extent of a block.
pub fn extent_of(block: u64) -> u32 {
    (block / EXTENT_BLOCKS) as u32
}

/// Returns the first block of an extent.
pub fn first_block(extent: u32) -> u64 {
    u64::from(extent) * EXTENT_BLOCKS
}

impl Extents {
    /// Creates the state in which only the extent of the label is in use; the owners and the bitmap in NVRAM must be
    /// all zeros.
    pub fn empty(extents: u32) -> Self {
        let mut valid = vec![0; extents as usize];
        valid[0] = ALLOCATED;
        let free = VecDeque::with_capacity(extents as usize);
        Extents {
            valid,
            free,
            to_trim: VecDeque::new(),
            untrimmed: 0,
            valid_blocks: 0,
            excluded: BTreeSet::new(),
        }
    }

    /// Marks extents without valid blocks as free, in ascending order of use; called after all owners are known.
    pub fn find_free(&mut self) {
        self.free.clear();
        for (extent, valid) in self.valid.iter_mut().enumerate() {
            if *valid == 0 || *valid == FREE {
                *valid = FREE;
                self.free.push_back(extent as u32);
            }
        }
    }

    /// Returns the number of free extents, including those that are not trimmed yet.
    pub fn free(&self) -> u32 {
        self.free.len() as u32 + self.untrimmed
    }

    /// Returns the number of free extents, except those that are being trimmed.
    pub fn allocatable(&self) -> u32 {
        (self.free.len() + self.to_trim.len()) as u32
    }

    /// True if some extents are being trimmed.
    pub fn are_being_trimmed(&self) -> bool {
        self.untrimmed as usize > self.to_trim.len()
    }

    /// Queues an empty extent for trimming.
    pub fn trim_first(&mut self, extent: u32) {
        self.excluded.remove(&extent);
        self.valid[extent as usize] = ALLOCATED;
        self.to_trim.push_back(extent);
        self.untrimmed += 1;
    }

    /// Takes up to `max` extents from the trim queue.
    pub fn take_to_trim(&mut self, max: usize) -> Vec<u32> {
        let count = max.min(self.to_trim.len());
        self.to_trim.drain(..count).collect()
    }

    /// Returns a trimmed extent to the free extents.
    pub fn mark_trimmed(&mut self, extent: u32) {
        self.untrimmed -= 1;
        self.return_free(extent);
    }

    /// Returns the free extents in the order of their use.
    pub fn free_extents(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.iter().copied()
    }

    /// Returns the number of extents for data: all except the extent of the label.
    pub fn usable(&self) -> u32 {
        self.valid.len() as u32 - 1
    }

    /// Returns the number of valid blocks.
    pub fn valid_blocks(&self) -> u64 {
        self.valid_blocks
    }

    /// Returns the number of extents that the valid blocks would fill, divided by the number of extents in use; 1 if
    /// no extent is in use. This is the fragmentation ratio of section III-C (ideal to actual extent usage); a lower
    /// value means more fragmentation.
    pub fn fill(&self) -> f64 {
        let used = u64::from(self.usable() - self.free());
        let ideal = self.valid_blocks.div_ceil(EXTENT_BLOCKS);
        if used == 0 { 1.0 } else { ideal as f64 / used as f64 }
    }

    /// Allocates a free extent for writing.
    pub fn take(&mut self) -> Option<u32> {
        let untrimmed = || {
            let extent = self.to_trim.pop_front()?;
            self.untrimmed -= 1;
            Some(extent)
        };
        // Writing an extent has the same effect as trimming it, so an extent that is not trimmed yet can be used, too.
        let extent = self.free.pop_front().or_else(untrimmed)?;
        self.valid[extent as usize] = ALLOCATED;
        Some(extent)
    }

    /// Allocates an extent whose free blocks will be used one by one: a free extent, or else the extent with the
    /// fewest valid blocks.
    pub fn open(&mut self) -> Option<u32> {
        match self.take() {
            Some(extent) => {
                self.mark_written(extent);
                Some(extent)
            }
            None => self.emptiest(),
        }
    }

    /// Returns an empty extent to the free extents.
    pub fn return_free(&mut self, extent: u32) {
        self.excluded.remove(&extent);
        self.valid[extent as usize] = FREE;
        self.free.push_back(extent);
    }

    /// Marks an allocated extent as written; its blocks must then be [`Extents::claim`]ed.
    pub fn mark_written(&mut self, extent: u32) {
        self.valid[extent as usize] = 0;
    }

    /// Records that a block holds `file_block` of a file.
    pub fn claim<N: Nvram>(&mut self, region: &mut Region<N>, block: u64, ino: Ino, file_block: u32) {
        set_bit(region, block, true);
        note_owner(region, block, (ino, file_block));
        self.valid[extent_of(block) as usize] += 1;
        self.valid_blocks += 1;
    }

    /// Records that a block no longer holds data. Returns its extent if the extent is now empty and can be trimmed
    /// and freed.
    pub fn release<N: Nvram>(&mut self, region: &mut Region<N>, block: u64) -> Option<u32> {
        set_bit(region, block, false);
        note_owner(region, block, (Ino(0), 0));
        let extent = extent_of(block);
        let valid = &mut self.valid[extent as usize];
        *valid -= 1;
        self.valid_blocks -= 1;
        (*valid == 0).then_some(extent)
    }

    /// Returns the extent in use with the fewest valid blocks (in case of a tie, the extent with the lowest number);
    /// full extents and excluded extents are skipped.
    pub fn emptiest(&self) -> Option<u32> {
        let used = self.valid.iter().enumerate().filter(|(_, valid)| u64::from(**valid) < EXTENT_BLOCKS);
        let is_aside = |extent: usize| !self.excluded.is_empty() && self.excluded.contains(&(extent as u32));
        let used = used.filter(|(extent, _)| !is_aside(*extent));
        used.min_by_key(|(_, valid)| **valid).map(|(extent, _)| extent as u32)
    }

    /// True if recycling an extent may free space.
    pub fn can_be_emptied(&self, extent: u32) -> bool {
        u64::from(self.valid[extent as usize]) < EXTENT_BLOCKS && !self.excluded.contains(&extent)
    }

    /// Excludes an extent from recycling until none of its blocks is valid.
    pub fn exclude_from_recycling(&mut self, extent: u32) {
        self.excluded.insert(extent);
    }

    /// Returns the number of extents for each number of valid blocks, from 0 to 128.
    pub fn histogram(&self) -> Vec<u32> {
        let mut counts = vec![0; EXTENT_BLOCKS as usize + 1];
        for valid in self.valid.iter().filter(|valid| u64::from(**valid) <= EXTENT_BLOCKS) {
            counts[usize::from(*valid)] += 1;
        }
        counts
    }
}

/// Returns the owner of a block of the SSD: the inode and the block number. The inode is 0 if the block has no owner.
pub fn owner_of<N: Nvram>(region: &Region<N>, block: u64) -> (Ino, u32) {
    let at = region.areas.owner(block);
    (Ino(region.half(at)), region.half(at + 4))
}

/// Changes the inode of the owner of a block of the SSD.
pub fn change_owner<N: Nvram>(region: &mut Region<N>, block: u64, ino: Ino) {
    region.store_half_volatile(region.areas.owner(block), ino.0);
}

fn note_owner<N: Nvram>(region: &mut Region<N>, block: u64, (ino, file_block): (Ino, u32)) {
    let at = region.areas.owner(block);
    region.store_half_volatile(at, ino.0);
    region.store_half_volatile(at + 4, file_block);
}

/// True if a block of the SSD is in use according to the bitmap.
pub fn is_used<N: Nvram>(region: &Region<N>, block: u64) -> bool {
    let at = region.areas.ssd_bitmap() + (block / 8) as usize;
    region.bytes()[at] >> (block % 8) & 1 == 1
}

fn set_bit<N: Nvram>(region: &mut Region<N>, block: u64, used: bool) {
    let at = region.areas.ssd_bitmap() + (block / 8) as usize;
    let mask = 1 << (block % 8);
    let byte = region.bytes()[at];
    region.store_volatile(at, &[if used { byte | mask } else { byte & !mask }]);
}
