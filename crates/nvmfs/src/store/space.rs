//! Free space on the NVRAM: limits for dirty pages and metadata, and eviction.

use super::change_notes::Unit;
use super::pages::{self, State};
use super::snapshots::is_kept;
use super::{Store, extents};
use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{
    BlockLocation, EXTENT_BLOCKS, INODES, INODES_PER_PAGE, MIN_PAGES, POINTERS_PER_BLOCK, PageId,
};
use crate::nvram::Nvram;
use crate::options::{blocks_of, reserved_extents};
use crate::ssd::Ssd;

/// Reason for refusing a write when data fills its part of the space and metadata does not.
pub(crate) const FULL_OF_DATA: &str = "all blocks for data are in use";
/// Number of pages that are never dirty, so that recycling always finds free pages for an extent, and a read always
/// finds pages for its cache.
const NEVER_DIRTY_PAGES: u32 = 2 * EXTENT_BLOCKS as u32;
/// Number of pages that metadata must leave to data, so that writing continues even if the NVRAM is full of metadata.
/// They consist of the margin, an extent in flight, an extent that is being filled, and pages for a write.
const MIN_DATA_PAGES: u32 = 5 * EXTENT_BLOCKS as u32;
/// The value of [`MIN_DATA_PAGES`] for placements with fixed locations, where any number of blocks is written at
/// once.
const MIN_FIXED_DATA_PAGES: u32 = MIN_PAGES / 2;
/// Bytes of the smallest directory entry.
const SMALLEST_ENTRY_BYTES: u64 = 16;
/// Minimum number of clean pages that are evicted together, so that one fence serves all of them.
const MIN_EVICTED: u32 = 32;
/// Number of flush rounds after which pages must be free. More rounds indicate a bug, or a drive that does not store
/// what it acknowledged.
const MAX_FLUSH_ROUNDS: u32 = 1 << 20;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the number of data blocks in use, including reserved blocks. A block that is on both devices counts
    /// once.
    pub fn used_blocks(&self) -> u64 {
        let states = [State::Clean, State::Dirty, State::Kept];
        let pages: u32 = states.into_iter().map(|state| self.pages.count(state)).sum();
        u64::from(pages) + self.reserved_blocks + self.extents.valid_blocks() - u64::from(self.pages.copies())
    }

    /// Returns the maximum number of data blocks: the blocks of all extents except the reserve, the pages that may
    /// stay dirty, and the kept pages.
    pub fn capacity_blocks(&self) -> u64 {
        blocks_of(self.extents.usable() - self.reserved_extents())
            + u64::from(self.allowed_dirty_pages())
            + u64::from(self.pages.count(State::Kept))
    }

    pub(super) fn reserved_extents(&self) -> u32 {
        let usable = self.extents.usable();
        reserved_extents(usable, self.superblock.reserve_permille).min(usable)
    }

    /// Returns the number of the requested blocks that files may still get.
    pub(super) fn allowed_blocks(&self, requested: u64) -> u64 {
        requested.min(self.capacity_blocks().saturating_sub(self.used_blocks()))
    }

    /// Returns the number of further pages that metadata may take.
    pub fn free_metadata_pages(&self) -> u32 {
        let available =
            if self.superblock.placement.updates_in_place() { MIN_FIXED_DATA_PAGES } else { MIN_DATA_PAGES };
        self.pages.data_pages().saturating_sub(available)
    }

    /// Returns the number of further blocks that data may use and that pointers can address: each pointer page
    /// addresses 512 blocks.
    pub fn available_blocks(&self) -> u64 {
        let free = self.capacity_blocks().saturating_sub(self.used_blocks());
        free.min(u64::from(self.free_metadata_pages()) * POINTERS_PER_BLOCK)
    }

    /// Returns the number of files that still fit, if `free_inodes` inodes are free. Each file takes a directory
    /// entry in a new block and, after the free inodes are used up, an inode on a new inode page.
    pub fn available_files(&self, free_inodes: u64) -> u64 {
        let (per_page, pages) =
            (BLOCK_BYTES as u64 / SMALLEST_ENTRY_BYTES, u64::from(self.free_metadata_pages()));
        let entries = per_page * pages;
        if entries <= free_inodes {
            return entries;
        }
        // pages = files / per_page + (files - free_inodes) / per_inode_page
        let per_inode_page = u64::from(INODES_PER_PAGE);
        let pages = pages * per_inode_page + free_inodes;
        let files = pages * per_page / (per_page + per_inode_page);
        files.min(u64::from(self.region.areas.inode_number_limit()))
    }

    /// Fails if too few pages would remain for data after metadata has taken `pages` more pages.
    pub(super) fn check_room_for_metadata(&self, ino: Ino, pages: u32) -> Result<()> {
        if self.free_metadata_pages() < pages {
            return Err(Error::NoSpace("the NVRAM is full of directories, attributes and pointers"));
        }
        // Pages for snapshots are exempt: otherwise, no content that a snapshot must keep could be removed.
        if !is_kept(ino) && self.used_blocks() >= self.capacity_blocks() {
            return Err(Error::NoSpace(FULL_OF_DATA));
        }
        Ok(())
    }

    /// Returns the maximum number of dirty pages.
    fn max_dirty_pages(&self) -> u32 {
        self.pages.data_pages().saturating_sub(NEVER_DIRTY_PAGES)
    }

    /// Returns the number of dirty pages above which flushing begins, for a dirty list of this length. It is at least
    /// an extent below the maximum number of dirty pages. Otherwise, with a small NVRAM, flushing would begin only
    /// when a write has to wait for it.
    pub(super) fn high_watermark(&self, dirty_list: u32) -> u32 {
        share_of(dirty_list, self.options.flush_above)
            .min(self.max_dirty_pages().saturating_sub(EXTENT_BLOCKS as u32))
    }

    /// Returns the number of dirty pages at which flushing ends.
    pub(super) fn low_watermark(&self, dirty_list: u32) -> u32 {
        share_of(dirty_list, self.options.flush_below).min(self.high_watermark(dirty_list))
    }

    /// Ensures that `count` pages are free, and that `count` more pages may become dirty.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if neither eviction nor flushing frees enough pages.
    pub(super) fn make_room(&mut self, count: u32) -> Result<()> {
        for _ in 0..MAX_FLUSH_ROUNDS {
            if self.pages.count(State::Dirty) + count > self.max_dirty_pages() && !self.is_view {
                self.flush_round()?;
            } else if self.pages.count(State::Free) >= count {
                return Ok(());
            } else if self.pages.count(State::Clean) > 0 {
                self.evict(count.max(MIN_EVICTED))?;
            } else {
                self.flush_round()?;
            }
        }
        Err(Error::NoSpace("flushing makes no room on the NVRAM"))
    }

    /// Returns [`Error::Wait`] if the current request may wait and `count` pages fit only after a flush.
    ///
    /// # Errors
    /// [`Error::Wait`].
    pub(super) fn wait_for_room(&mut self, count: u32) -> Result<()> {
        let max = self.max_dirty_pages();
        // A larger request is written in pieces, each of which frees pages for the next one.
        if self.pages.count(State::Dirty) + count.min(max / 2) <= max {
            return Ok(());
        }
        if self.reads.may_wait_for_room() { self.wait_for_flush() } else { Ok(()) }
    }

    /// Does what [`Store::make_room`] does, but without flushing, for pages that only serve as a cache. Returns true
    /// if `count` pages are free.
    pub(super) fn make_room_for_cache(&mut self, count: u32) -> Result<bool> {
        if self.pages.count(State::Free) < count {
            self.evict(count.max(MIN_EVICTED))?;
        }
        Ok(self.pages.count(State::Free) >= count)
    }

    /// Evicts up to `count` of the coldest clean pages: the pointers of their files lead to the SSD again.
    pub(super) fn evict(&mut self, count: u32) -> Result<()> {
        let (mut victims, mut turns): (Vec<PageId>, Vec<(usize, u64)>) = Default::default();
        let mut coldest = self.pages.eviction_order();
        while victims.len() < count as usize
            && let Some(page) = coldest.next(&self.region)
        {
            let block = pages::copy_of(&self.region, page);
            let (ino, file_block) = pages::owner_of(&self.region, page);
            let at = self.region.pointer_at(ino, u64::from(file_block))?;
            let pointer = BlockLocation::Nvram(page).encode(&self.region.areas);
            let at = at.filter(|at| self.region.word(*at) == pointer && block != 0).ok_or_else(|| {
                Error::Damaged(format!("page {} is not where inode {} has it", page.0, ino.0))
            })?;
            self.region.note_changing(at);
            turns.push((at, BlockLocation::Ssd(block).encode(&self.region.areas)));
            victims.push(page);
        }
        for (at, pointer) in turns {
            self.region.store_word(at, pointer);
        }
        // The pointers must be durable before the pages are reused.
        self.region.fence();
        for page in victims {
            let (ino, file_block) = pages::owner_of(&self.region, page);
            self.note_evicted(ino, file_block, pages::segment_of(&self.region, page));
            self.free_page(page);
            self.count_blocks(ino, -1, 1)?;
            self.counts.evicted_pages += 1;
        }
        Ok(())
    }

    /// Returns the number of NVRAM pages in a state.
    pub fn pages_in(&self, state: State) -> u32 {
        self.pages.count(state)
    }

    /// Returns the number of SSD extents for data.
    pub fn usable_extents(&self) -> u32 {
        self.extents.usable()
    }

    /// Returns the number of free extents.
    pub fn free_extents(&self) -> u32 {
        self.extents.free()
    }

    /// Returns the number of valid blocks on the SSD.
    pub fn ssd_valid_blocks(&self) -> u64 {
        self.extents.valid_blocks()
    }

    /// Returns the number of extents that the valid blocks would fill, divided by the number of extents in use; 1 if
    /// no extent is in use.
    pub fn extent_fill(&self) -> f64 {
        self.extents.fill()
    }

    /// Returns the number of SSD extents for each number of valid blocks.
    pub fn extent_histogram(&self) -> Vec<u32> {
        self.extents.histogram()
    }

    /// Recounts the blocks of each inode, and the reserved blocks.
    fn check_inodes(&self) -> std::result::Result<(), String> {
        let mut reserved = 0;
        for ino in std::iter::once(INODES).chain(self.region.inos()) {
            let inode = self.region.raw_inode(ino).map_err(|error| error.to_string())?;
            if inode.kind().is_none() && ino != INODES {
                continue;
            }
            let locations = if inode.is_inline_link() { Ok(Vec::new()) } else { self.region.locations(ino) };
            let locations = locations.map_err(|error| error.to_string())?;
            let blocks = locations.len() as u32 + u32::from(inode.xattrs != 0);
            if inode.blocks != blocks {
                return Err(format!("inode {}: {inode:?} has {blocks} blocks", ino.0));
            }
            reserved +=
                locations.iter().filter(|location| **location == BlockLocation::Reserved).count() as u64;
        }
        let snapshot_blocks = self.count_snapshot_blocks().map_err(|error| error.to_string())?;
        if snapshot_blocks != self.snapshot_blocks {
            return Err(format!(
                "snapshots are said to have {} blocks, and have {snapshot_blocks}",
                self.snapshot_blocks
            ));
        }
        if reserved != self.reserved_blocks {
            return Err(format!(
                "{} blocks are said to be reserved, and {reserved} are",
                self.reserved_blocks
            ));
        }
        Ok(())
    }

    /// Verifies the checksums of all metadata.
    fn check_sums(&self) -> std::result::Result<(), String> {
        let inodes = std::iter::once(INODES).chain(self.region.inos()).map(Unit::Inode);
        let pages = (0..self.region.areas.pages).map(PageId);
        let metadata = pages.filter(|page| pages::state_of(&self.region, *page) == State::Metadata);
        match inodes.chain(metadata.map(Unit::Page)).find(|unit| !self.region.has_valid_checksum(*unit)) {
            Some(unit) => Err(format!("the checksum of {unit:?} is wrong")),
            None => Ok(()),
        }
    }

    /// Recounts everything and compares it with the maintained counts.
    ///
    /// # Errors
    /// A description of the first inconsistency, which is a bug.
    pub fn check(&self) -> std::result::Result<(), String> {
        let mut by_state = [0; State::ALL.len()];
        let mut copies = 0;
        for page in (0..self.region.areas.pages).map(PageId) {
            let state = pages::state_of(&self.region, page);
            by_state[state as usize] += 1;
            let copy = if state == State::Free { 0 } else { pages::copy_of(&self.region, page) };
            if state == State::Clean && copy == 0 {
                return Err(format!("page {} is clean and has no copy", page.0));
            }
            if copy != 0 {
                copies += 1;
                if extents::owner_of(&self.region, copy) != pages::owner_of(&self.region, page) {
                    return Err(format!("page {} and its copy {copy} have different owners", page.0));
                }
            }
        }
        for state in State::ALL {
            let (listed, counted) = (self.pages.count(state), by_state[state as usize]);
            if listed != counted {
                return Err(format!("{listed} pages are said to be {state:?}, and {counted} are"));
            }
        }
        self.pages.check(&self.region)?;
        self.check_inodes()?;
        self.check_sums()?;
        let end = blocks_of(self.region.areas.extents());
        let valid =
            (EXTENT_BLOCKS..end).filter(|block| extents::is_used(&self.region, *block)).count() as u64;
        if valid != self.extents.valid_blocks() || copies != u64::from(self.pages.copies()) {
            return Err(format!(
                "{} blocks are said to be valid, and {valid} are",
                self.extents.valid_blocks()
            ));
        }
        Ok(())
    }
}

fn share_of(pages: u32, share: f64) -> u32 {
    (f64::from(pages) * share) as u32
}
