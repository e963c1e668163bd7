//! The SSD in extents of 128 blocks: written whole, never over what is there, recycled when too little in them is valid
//! (section III-C).

use super::region::Region;
use crate::api::Ino;
use crate::layout::EXTENT_BLOCKS;
use crate::nvram::Nvram;
use std::collections::{BTreeSet, VecDeque};

/// An extent that is being written, or holds the label.
const HELD: u16 = u16::MAX;
/// An extent that is in the queue of free ones.
const FREE: u16 = u16::MAX - 1;

/// Which blocks of the SSD are in use, and by whom.
///
/// Owners and bits lie in NVRAM but need not survive: after a power cut they are worked out anew.
pub struct Extents {
    /// Valid blocks of each extent, or [`FREE`] or [`HELD`].
    valid: Vec<u16>,
    free: VecDeque<u32>,
    /// Those that are to be trimmed before they join the queue, and how many are or are being trimmed.
    to_trim: VecDeque<u32>,
    untrimmed: u32,
    valid_blocks: u64,
    /// Those that are not emptied, as something in them cannot be moved.
    aside: BTreeSet<u32>,
}

/// The extent of a block.
pub fn extent_of(block: u64) -> u32 {
    (block / EXTENT_BLOCKS) as u32
}

/// First block of an extent.
pub fn first_block(extent: u32) -> u64 {
    u64::from(extent) * EXTENT_BLOCKS
}

impl Extents {
    /// Extents of which none is in use but the label's; the owners and bits in NVRAM are all zeros.
    pub fn empty(extents: u32) -> Self {
        let mut valid = vec![0; extents as usize];
        valid[0] = HELD;
        let free = VecDeque::with_capacity(extents as usize);
        Extents {
            valid,
            free,
            to_trim: VecDeque::new(),
            untrimmed: 0,
            valid_blocks: 0,
            aside: BTreeSet::new(),
        }
    }

    /// Extents without a valid block become free, the lowest to be used first; after the owners were told.
    pub fn find_free(&mut self) {
        self.free.clear();
        for (extent, valid) in self.valid.iter_mut().enumerate() {
            if *valid == 0 || *valid == FREE {
                *valid = FREE;
                self.free.push_back(extent as u32);
            }
        }
    }

    /// Free extents, those that are still to be trimmed included.
    pub fn free(&self) -> u32 {
        self.free.len() as u32 + self.untrimmed
    }

    /// Those of them that are not just being trimmed.
    pub fn to_take(&self) -> u32 {
        (self.free.len() + self.to_trim.len()) as u32
    }

    /// Whether some are just being trimmed.
    pub fn are_being_trimmed(&self) -> bool {
        self.untrimmed as usize > self.to_trim.len()
    }

    /// An extent that holds nothing any more is to be trimmed first.
    pub fn trim_first(&mut self, extent: u32) {
        self.aside.remove(&extent);
        self.valid[extent as usize] = HELD;
        self.to_trim.push_back(extent);
        self.untrimmed += 1;
    }

    /// Takes up to `most` extents that are to be trimmed.
    pub fn take_to_trim(&mut self, most: usize) -> Vec<u32> {
        let count = most.min(self.to_trim.len());
        self.to_trim.drain(..count).collect()
    }

    /// One of them was.
    pub fn trimmed(&mut self, extent: u32) {
        self.untrimmed -= 1;
        self.give_back(extent);
    }

    /// The free extents in the order in which they will be used.
    pub fn free_ones(&self) -> impl Iterator<Item = u32> + '_ {
        self.free.iter().copied()
    }

    /// Extents for data: all but the label's.
    pub fn usable(&self) -> u32 {
        self.valid.len() as u32 - 1
    }

    /// Valid blocks.
    pub fn valid_blocks(&self) -> u64 {
        self.valid_blocks
    }

    /// Extents in use that would be enough if they were full, as a share of those in use; 1 where none is. Section III-C
    /// calls it the fragmentation ratio, ideal to actual extent usage; the lower it is the more fragmented they are.
    pub fn fill(&self) -> f64 {
        let used = u64::from(self.usable() - self.free());
        let ideal = self.valid_blocks.div_ceil(EXTENT_BLOCKS);
        if used == 0 { 1.0 } else { ideal as f64 / used as f64 }
    }

    /// Takes a free extent to be written.
    pub fn take(&mut self) -> Option<u32> {
        let untrimmed = || {
            let extent = self.to_trim.pop_front()?;
            self.untrimmed -= 1;
            Some(extent)
        };
        // To write one is as good as to trim it.
        let extent = self.free.pop_front().or_else(untrimmed)?;
        self.valid[extent as usize] = HELD;
        Some(extent)
    }

    /// An extent whose free blocks are to be used one by one: a free one, or the emptiest.
    pub fn open(&mut self) -> Option<u32> {
        match self.take() {
            Some(extent) => {
                self.written(extent);
                Some(extent)
            }
            None => self.emptiest(),
        }
    }

    /// An extent that was taken holds nothing after all, or nothing any more.
    pub fn give_back(&mut self, extent: u32) {
        self.aside.remove(&extent);
        self.valid[extent as usize] = FREE;
        self.free.push_back(extent);
    }

    /// An extent that was taken has been written; its blocks are still to be [`Extents::claim`]ed.
    pub fn written(&mut self, extent: u32) {
        self.valid[extent as usize] = 0;
    }

    /// A block now holds `file_block` of a file.
    pub fn claim<N: Nvram>(&mut self, region: &mut Region<N>, block: u64, ino: Ino, file_block: u32) {
        set_bit(region, block, true);
        note_owner(region, block, (ino, file_block));
        self.valid[extent_of(block) as usize] += 1;
        self.valid_blocks += 1;
    }

    /// A block holds nothing any more. Returns its extent if that is now empty: it can be trimmed and given back.
    pub fn release<N: Nvram>(&mut self, region: &mut Region<N>, block: u64) -> Option<u32> {
        set_bit(region, block, false);
        note_owner(region, block, (Ino(0), 0));
        let extent = extent_of(block);
        let valid = &mut self.valid[extent as usize];
        *valid -= 1;
        self.valid_blocks -= 1;
        (*valid == 0).then_some(extent)
    }

    /// The extent in use with the fewest valid blocks, the lowest of several; none that is full, or set aside.
    pub fn emptiest(&self) -> Option<u32> {
        let used = self.valid.iter().enumerate().filter(|(_, valid)| u64::from(**valid) < EXTENT_BLOCKS);
        let is_aside = |extent: usize| !self.aside.is_empty() && self.aside.contains(&(extent as u32));
        let used = used.filter(|(extent, _)| !is_aside(*extent));
        used.min_by_key(|(_, valid)| **valid).map(|(extent, _)| extent as u32)
    }

    /// Whether there may be something to be won by emptying an extent.
    pub fn can_be_emptied(&self, extent: u32) -> bool {
        u64::from(self.valid[extent as usize]) < EXTENT_BLOCKS && !self.aside.contains(&extent)
    }

    /// An extent is not emptied, until nothing in it is valid any more.
    pub fn set_aside(&mut self, extent: u32) {
        self.aside.insert(extent);
    }

    /// Number of extents by valid blocks, from 0 to 128.
    pub fn histogram(&self) -> Vec<u32> {
        let mut counts = vec![0; EXTENT_BLOCKS as usize + 1];
        for valid in self.valid.iter().filter(|valid| u64::from(**valid) <= EXTENT_BLOCKS) {
            counts[usize::from(*valid)] += 1;
        }
        counts
    }
}

/// Whose block is in a block of the SSD; inode 0 for nobody's.
pub fn owner_of<N: Nvram>(region: &Region<N>, block: u64) -> (Ino, u32) {
    let at = region.areas.owner(block);
    (Ino(region.half(at)), region.half(at + 4))
}

/// A block of the SSD is of another inode from now on.
pub fn give<N: Nvram>(region: &mut Region<N>, block: u64, ino: Ino) {
    region.note_half(region.areas.owner(block), ino.0);
}

fn note_owner<N: Nvram>(region: &mut Region<N>, block: u64, (ino, file_block): (Ino, u32)) {
    let at = region.areas.owner(block);
    region.note_half(at, ino.0);
    region.note_half(at + 4, file_block);
}

/// Whether the bitmap says that a block of the SSD is in use.
pub fn bit<N: Nvram>(region: &Region<N>, block: u64) -> bool {
    let at = region.areas.ssd_bitmap() + (block / 8) as usize;
    region.bytes()[at] >> (block % 8) & 1 == 1
}

fn set_bit<N: Nvram>(region: &mut Region<N>, block: u64, used: bool) {
    let at = region.areas.ssd_bitmap() + (block / 8) as usize;
    let mask = 1 << (block % 8);
    let byte = region.bytes()[at];
    region.note(at, &[if used { byte | mask } else { byte & !mask }]);
}
