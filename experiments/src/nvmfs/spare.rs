//! What the spare space of a host's log and of an FTL below in-place writes must come to, by a small argument.
//!
//! Both file systems have the same NVRAM and let the same dirty pages wait there, `d` of them on average, so that they take the same
//! hits and send the same pages. They differ in who cleans, and in what space.
//!
//! - Below in-place writes the FTL holds a page for each block of a file, whether a newer one waits on NVRAM or not: `u D` of its
//!   `T` pages are valid. Its spare factor is `1 - u D / T`.
//! - NVMFS drops what is on the SSD once there is a newer block on NVRAM. So `u D - d` blocks are valid there, in all extents
//!   but the few that are kept free: `1 - (u D - d) / E`. Extents are trimmed and written whole: where an erase block is no larger, the FTL copies
//!   nothing.
//!
//! Uniform writes make each clean at the cost of greedy cleaning at its spare factor (`greedy` of the theory), and the host's is
//! the larger one where `d / D > u (h + e) / (1 + h)` or so: *the dirty part of the NVRAM has to be larger than the spare space that
//! the FTL hides*, `h` of what it shows, and `e` that the log keeps free.

use crate::Failure;
use wearwell_theory::Drive;
use wearwell_theory::closed_forms::greedy;

/// Blocks of an extent.
const EXTENT_BLOCKS: f64 = 128.0;
/// Blocks that a page of metadata describes: page table, inodes, owners and bits of the SSD, pointers (bytes for each).
const PAGE_INFO_BYTES: f64 = 32.0 + 128.0;
const OWNER_BYTES: f64 = 8.0 + 1.0 / 8.0;
const POINTER_BYTES: f64 = 8.0;
const PAGE_BYTES: f64 = 4096.0;
/// Pages that are never dirty, and the extent before them (`store/room.rs`).
const CLEAN_PAGES: f64 = 3.0 * EXTENT_BLOCKS;
/// Flushing begins and ends at these shares of the NVRAM's pages; between them it is in the middle.
const FLUSH: (f64, f64) = (0.8, 0.5);
/// Recycling begins below this share of free extents, where packing would save more than that share of those in use.
const RECYCLE_FREE: f64 = 0.02;
const RECYCLE_FRAGMENTATION: f64 = 0.1;
/// Extents that are kept or held when recycling does not begin: two that cleaning needs, and the label's.
const LAST_EXTENTS: f64 = 3.0;

/// A file system's files and NVRAM on a drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Blocks of 4 KiB that the drive shows.
    pub disk_blocks: f64,
    /// Share of them that the NVRAM is as large as.
    pub nvram: f64,
    /// Share of them that files take.
    pub utilisation: f64,
    /// Pages of the flash beyond those that the drive shows, over these.
    pub over_provisioning: f64,
    /// Pages of an erase block.
    pub pages_per_block: u32,
}

impl Space {
    /// Pages of the NVRAM that wait to be written, on average.
    pub fn dirty_pages(&self) -> f64 {
        let pages = self.nvram * self.disk_blocks;
        let described =
            pages * PAGE_INFO_BYTES + self.disk_blocks * (OWNER_BYTES + self.utilisation * POINTER_BYTES);
        let for_data = (pages - described / PAGE_BYTES).max(0.0);
        let high = (for_data * FLUSH.0).min(for_data - CLEAN_PAGES).max(0.0);
        (high + (for_data * FLUSH.1).min(high)) / 2.0
    }

    /// Spare factor of the FTL below in-place writes.
    pub fn below(&self) -> f64 {
        1.0 - self.utilisation / (1.0 + self.over_provisioning)
    }

    /// Spare factor of the host's log.
    pub fn host(&self) -> f64 {
        let valid = self.utilisation * self.disk_blocks - self.dirty_pages();
        let early = 1.0 - valid / ((1.0 - RECYCLE_FREE) * self.disk_blocks);
        if early > RECYCLE_FRAGMENTATION {
            return early;
        }
        1.0 - valid / (self.disk_blocks - LAST_EXTENTS * EXTENT_BLOCKS)
    }

    /// Pages programmed by NVMFS for each by in-place writes, under uniform writes.
    ///
    /// # Errors
    ///
    /// Spare factors that no drive has: the files do not fit.
    pub fn programs(&self) -> Result<f64, Failure> {
        let cost = |pages: u32, spare_factor: f64| -> Result<f64, Failure> {
            Ok(greedy(&Drive::new(pages, spare_factor.min(0.999))?)?)
        };
        let host = cost(EXTENT_BLOCKS as u32, self.host())?;
        let below = cost(self.pages_per_block, self.below())?;
        Ok(host * self.extents_in_blocks()? / below)
    }

    /// What the FTL programs for each page of NVMFS: a block of several extents loses them one by one, as pages.
    fn extents_in_blocks(&self) -> Result<f64, Failure> {
        let extents = f64::from(self.pages_per_block) / EXTENT_BLOCKS;
        if extents <= 1.0 {
            return Ok(1.0);
        }
        let spare_factor = 1.0 - (1.0 - RECYCLE_FREE) / (1.0 + self.over_provisioning);
        Ok(greedy(&Drive::new(extents as u32, spare_factor)?)?)
    }

    /// The share of NVRAM at which both program as much; `None` if none up to `most` is enough.
    ///
    /// # Errors
    ///
    /// As [`Space::programs`].
    pub fn crossing(&self, most: f64) -> Result<Option<f64>, Failure> {
        let at = |nvram: f64| Space { nvram, ..*self }.programs();
        let (mut low, mut high) = (1e-4, most);
        if at(high)? > 1.0 {
            return Ok(None);
        }
        for _ in 0..50 {
            let middle = (low * high).sqrt();
            if at(middle)? > 1.0 { low = middle } else { high = middle }
        }
        Ok(Some(high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPACE: Space = Space {
        disk_blocks: 1e6,
        nvram: 0.125,
        utilisation: 0.8,
        over_provisioning: 0.1,
        pages_per_block: 64,
    };

    #[test]
    fn crossing_is_where_dirty_nvram_offsets_the_spare_space() {
        for utilisation in [0.5, 0.8, 0.87] {
            for over_provisioning in [0.05, 0.1, 0.28] {
                let space = Space { utilisation, over_provisioning, pages_per_block: 128, ..SPACE };
                let nvram = space.crossing(0.9).unwrap().unwrap();
                let at = Space { nvram, ..space };
                assert!((at.host() / at.below() - 1.0).abs() < 1e-3, "{at:?}");
                let by_hand = utilisation * (over_provisioning + RECYCLE_FREE) / (1.0 + over_provisioning);
                let dirty = at.dirty_pages() / at.disk_blocks;
                assert!((dirty / by_hand - 1.0).abs() < 0.02, "{dirty} {by_hand}");
            }
        }
    }

    #[test]
    fn more_nvram_is_better_and_more_hidden_space_worse() {
        let programs =
            |nvram, over_provisioning| Space { nvram, over_provisioning, ..SPACE }.programs().unwrap();
        assert!(programs(0.25, 0.1) < programs(0.125, 0.1) && programs(0.125, 0.1) < programs(0.03, 0.1));
        assert!(programs(0.125, 0.28) > programs(0.125, 0.1));
        // An erase block of two extents is one that loses them one by one.
        assert!(Space { pages_per_block: 256, ..SPACE }.programs().unwrap() > programs(0.125, 0.1));
    }
}
