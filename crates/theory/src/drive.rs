//! Drive parameters of the models: infinitely many blocks, described by block size and load.

use super::error::{TheoryError, between};
use wearwell_base::units::SpareSpace;

/// Largest block that the models accept, in pages.
///
/// State spaces grow with its square; real flash has at most a few thousand pages per block.
pub const MAX_PAGES_PER_BLOCK: u32 = 8192;

/// A drive of very many blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drive {
    pages_per_block: u32,
    spare_factor: f64,
}

impl Drive {
    /// Returns a drive with `pages_per_block` (b, 1 to [`MAX_PAGES_PER_BLOCK`]) and `spare_factor` (S_f, strictly
    /// between 0 and 1).
    ///
    /// Refuses 0 and 1: without spare space write amplification has no bound, and a drive that is all spare stores
    /// nothing.
    pub fn new(pages_per_block: u32, spare_factor: f64) -> Result<Self, TheoryError> {
        if !(1..=MAX_PAGES_PER_BLOCK).contains(&pages_per_block) {
            let problem = format!("{pages_per_block} is not between 1 and {MAX_PAGES_PER_BLOCK}");
            return Err(TheoryError::parameter("pages_per_block", problem));
        }
        Ok(Drive { pages_per_block, spare_factor: between("spare_factor", spare_factor, 0.0, 1.0)? })
    }

    /// Returns the pages per block, `b`.
    pub fn pages_per_block(&self) -> u32 {
        self.pages_per_block
    }

    /// Returns the fraction of the physical pages beyond the logical ones, `S_f = 1 - rho`.
    pub fn spare_factor(&self) -> f64 {
        self.spare_factor
    }

    /// Returns logical over physical pages, `rho`.
    pub fn load(&self) -> f64 {
        1.0 - self.spare_factor
    }

    /// Returns the valid pages of an average block, `b * rho`.
    pub fn mean_valid_pages(&self) -> f64 {
        f64::from(self.pages_per_block) * self.load()
    }

    /// Returns the over-provisioning in all four measures.
    pub fn over_provisioning(&self) -> SpareSpace {
        SpareSpace::from_spare_factor(self.spare_factor)
    }
}
