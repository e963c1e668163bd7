//! Prediction of the effective spare space of a host's log, and of an FTL below in-place writes.
//!
//! Both file systems have the same NVRAM with the same number of dirty pages, `d` on average, so they have the same
//! hits and send the same pages. They differ in the place where cleaning happens, and in its spare space.
//!
//! - Below in-place writes, the FTL stores a page for each block of a file, even if a newer version is on NVRAM:
//!   `u D` of its `T` pages are valid. Its spare factor is `1 - u D / T`.
//! - NVMFS drops a block on the SSD as soon as a newer version is on NVRAM. So `u D - d` blocks are valid on the SSD,
//!   in all extents except the few that are kept free: the spare factor is `1 - (u D - d) / E`. Extents are trimmed
//!   and written as a whole. Therefore, if an erase block is not larger than an extent, the FTL copies nothing.
//!
//! Under uniform writes, both clean at the cost of greedy cleaning at its spare factor (`greedy` of the theory). The
//! host's spare factor is larger if approximately `d / D > u (h + e) / (1 + h)`. In words: *the dirty part of the
//! NVRAM must be larger than the spare space of the FTL*, which is `h` relative to its capacity, plus the part `e`
//! that the log keeps free.

use crate::Failure;
use wearwell_theory::Drive;
use wearwell_theory::closed_forms::greedy;

/// Number of blocks per extent.
const EXTENT_BLOCKS: f64 = 128.0;
/// Bytes of metadata per NVRAM page (page table, inodes), per SSD block (owners and bitmap), and per file block
/// (pointers).
const PAGE_INFO_BYTES: f64 = 32.0 + 128.0;
const OWNER_BYTES: f64 = 8.0 + 1.0 / 8.0;
const POINTER_BYTES: f64 = 8.0;
const PAGE_BYTES: f64 = 4096.0;
/// Number of pages that are never dirty (two extents, `store/space.rs`), plus one extent: flushing begins this number
/// of pages below the limit.
const CLEAN_PAGES: f64 = 3.0 * EXTENT_BLOCKS;
/// Shares of the NVRAM's pages at which flushing begins and ends; the average number of dirty pages is midway between
/// these shares.
const FLUSH_THRESHOLDS: (f64, f64) = (0.8, 0.5);
/// Share of free extents below which recycling begins.
const RECYCLE_FREE: f64 = 0.02;
/// Minimum share of the used extents that packing must free.
const RECYCLE_FRAGMENTATION: f64 = 0.1;
/// Number of extents in reserve or in use even before recycling begins: two extents for cleaning, and the extent of the
/// label.
const MIN_RESERVED_EXTENTS: f64 = 3.0;

/// Sizes of a file system, its NVRAM and its drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Space {
    /// Capacity of the drive in blocks of 4 KiB.
    pub disk_blocks: f64,
    /// Size of the NVRAM as a share of this capacity.
    pub nvram: f64,
    /// Size of the files as a share of this capacity.
    pub utilisation: f64,
    /// Spare pages of the flash as a share of the capacity.
    pub over_provisioning: f64,
    /// Number of pages per erase block.
    pub pages_per_block: u32,
}

impl Space {
    /// Returns the average number of dirty pages in NVRAM.
    pub fn dirty_pages(&self) -> f64 {
        let pages = self.nvram * self.disk_blocks;
        let metadata_bytes =
            pages * PAGE_INFO_BYTES + self.disk_blocks * (OWNER_BYTES + self.utilisation * POINTER_BYTES);
        let data_pages = (pages - metadata_bytes / PAGE_BYTES).max(0.0);
        let high = (data_pages * FLUSH_THRESHOLDS.0).min(data_pages - CLEAN_PAGES).max(0.0);
        (high + (data_pages * FLUSH_THRESHOLDS.1).min(high)) / 2.0
    }

    /// Returns the spare factor of the FTL below in-place writes.
    pub fn ftl_spare_factor(&self) -> f64 {
        1.0 - self.utilisation / (1.0 + self.over_provisioning)
    }

    /// Returns the spare factor of the host's log.
    pub fn log_spare_factor(&self) -> f64 {
        let valid = self.utilisation * self.disk_blocks - self.dirty_pages();
        let recycled_early = 1.0 - valid / ((1.0 - RECYCLE_FREE) * self.disk_blocks);
        if recycled_early > RECYCLE_FRAGMENTATION {
            return recycled_early;
        }
        1.0 - valid / (self.disk_blocks - MIN_RESERVED_EXTENTS * EXTENT_BLOCKS)
    }

    /// Returns the ratio of pages programmed under NVMFS to pages programmed under in-place writes, for uniform
    /// writes.
    ///
    /// # Errors
    ///
    /// Returns an error for impossible spare factors: the files do not fit.
    pub fn program_ratio(&self) -> Result<f64, Failure> {
        let cost = |pages: u32, spare_factor: f64| -> Result<f64, Failure> {
            Ok(greedy(&Drive::new(pages, spare_factor.min(0.999))?)?)
        };
        let host = cost(EXTENT_BLOCKS as u32, self.log_spare_factor())?;
        let below = cost(self.pages_per_block, self.ftl_spare_factor())?;
        Ok(host * self.extents_in_blocks()? / below)
    }

    /// Returns the write amplification of the FTL below NVMFS: a block of several extents loses the extents one by one,
    /// as if they were pages.
    fn extents_in_blocks(&self) -> Result<f64, Failure> {
        let extents = f64::from(self.pages_per_block) / EXTENT_BLOCKS;
        if extents <= 1.0 {
            return Ok(1.0);
        }
        let spare_factor = 1.0 - (1.0 - RECYCLE_FREE) / (1.0 + self.over_provisioning);
        Ok(greedy(&Drive::new(extents as u32, spare_factor)?)?)
    }

    /// Returns the share of NVRAM at which both file systems program the same number of pages; `None` if no share up
    /// to `max_nvram` is enough.
    ///
    /// # Errors
    ///
    /// The errors of [`Space::program_ratio`].
    pub fn break_even_nvram(&self, max_nvram: f64) -> Result<Option<f64>, Failure> {
        let at = |nvram: f64| Space { nvram, ..*self }.program_ratio();
        let (mut low, mut high) = (1e-4, max_nvram);
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
    fn break_even_is_where_dirty_nvram_equals_spare_space() {
        for utilisation in [0.5, 0.8, 0.87] {
            for over_provisioning in [0.05, 0.1, 0.28] {
                let space = Space { utilisation, over_provisioning, pages_per_block: 128, ..SPACE };
                let nvram = space.break_even_nvram(0.9).unwrap().unwrap();
                let at = Space { nvram, ..space };
                assert!((at.log_spare_factor() / at.ftl_spare_factor() - 1.0).abs() < 1e-3, "{at:?}");
                let by_hand = utilisation * (over_provisioning + RECYCLE_FREE) / (1.0 + over_provisioning);
                let dirty = at.dirty_pages() / at.disk_blocks;
                assert!((dirty / by_hand - 1.0).abs() < 0.02, "{dirty} {by_hand}");
            }
        }
    }

    #[test]
    fn program_ratio_falls_with_nvram_and_rises_with_over_provisioning() {
        let programs =
            |nvram, over_provisioning| Space { nvram, over_provisioning, ..SPACE }.program_ratio().unwrap();
        assert!(programs(0.25, 0.1) < programs(0.125, 0.1) && programs(0.125, 0.1) < programs(0.03, 0.1));
        assert!(programs(0.125, 0.28) > programs(0.125, 0.1));
        // An erase block of two extents loses its extents one by one.
        assert!(Space { pages_per_block: 256, ..SPACE }.program_ratio().unwrap() > programs(0.125, 0.1));
    }
}
