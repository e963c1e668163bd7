//! Starting point of the search for a steady state: the state that cyclic cleaning would reach.

use super::Structure;
use super::lattice::ContentLattice;
use crate::closed_forms::fifo_copied_shares;
use crate::{Classes, Drive, TheoryError};

/// Initial guess of the distribution of full blocks and of the host pages per victim.
pub(super) struct InitialGuess {
    pub full_blocks: Vec<f64>,
    pub host_pages: f64,
}

impl InitialGuess {
    /// Returns the cyclic guess, from the closed form of cyclic cleaning, which gives the fraction of each class among
    /// copied pages.
    pub fn cyclic(
        drive: &Drive,
        classes: &Classes,
        structure: Structure,
        lattice: &ContentLattice,
    ) -> Result<Self, TheoryError> {
        let pages = lattice.pages();
        let (amplification, copied) = fifo_copied_shares(drive, classes)?;
        let fresh = classes.write_shares();
        let host_share = 1.0 / amplification;
        let mixed = |share: f64| -> Vec<f64> {
            fresh.iter().zip(&copied).map(|(fresh, copied)| share * fresh + (1.0 - share) * copied).collect()
        };
        let full_blocks = match structure {
            Structure::Single => lattice.multinomial(pages, &mixed(host_share)),
            Structure::Double => {
                let host = lattice.multinomial(pages, &fresh);
                let cleaned = lattice.multinomial(pages, &copied);
                host.iter().zip(&cleaned).map(|(a, b)| host_share * a + (1.0 - host_share) * b).collect()
            }
        };
        Ok(InitialGuess { full_blocks, host_pages: pages as f64 * host_share })
    }

    /// Returns the distribution stretched to blocks of `pages` pages, for two classes: scales the fraction of a block
    /// in the first class.
    pub fn stretched(&self, pages: usize) -> Self {
        let last = self.full_blocks.len() - 1;
        let at = |count: usize| {
            let position = count as f64 / pages as f64 * last as f64;
            let (low, part) = (position as usize, position.fract());
            let high = self.full_blocks[(low + 1).min(last)];
            self.full_blocks[low] * (1.0 - part) + high * part
        };
        let mut full_blocks: Vec<f64> = (0..=pages).map(at).collect();
        let total: f64 = full_blocks.iter().sum();
        full_blocks.iter_mut().for_each(|share| *share /= total);
        InitialGuess { full_blocks, host_pages: self.host_pages * pages as f64 / last as f64 }
    }
}
