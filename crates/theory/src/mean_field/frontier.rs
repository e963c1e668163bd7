//! Write frontiers: the distribution of the contents of blocks that become full, one per victim.

use super::lattice::ContentLattice;
use super::levels::LevelPass;

/// Arrangement of write frontiers (Van Houdt 2013, sec. 2.3).
pub(super) trait Frontier {
    /// Writes the distribution `q` of the contents of full blocks to `full`, given the victims in `levels`.
    ///
    /// Host writes are of class `t` with probability `shares[t]`. The result sums to 1 if `p` does.
    fn fill(&mut self, lattice: &ContentLattice, shares: &[f64], levels: &LevelPass, full: &mut [f64]);
}

/// One write frontier: a victim is erased, its valid pages are written back, and the host fills the rest.
///
/// Computes eq. (8) without binomials: starting with empty victims, host pages are added one at a time to all blocks.
/// Victims with `j` pages join when the other blocks have reached `j` pages (Horner's rule in the number of fresh
/// pages).
pub(super) struct SingleFrontier {
    next: Vec<f64>,
}

impl SingleFrontier {
    pub fn new(lattice: &ContentLattice) -> Self {
        SingleFrontier { next: vec![0.0; lattice.size()] }
    }
}

impl Frontier for SingleFrontier {
    fn fill(&mut self, lattice: &ContentLattice, shares: &[f64], levels: &LevelPass, full: &mut [f64]) {
        full.fill(0.0);
        full[0] = levels.selected[0][0];
        for level in 0..lattice.pages() {
            lattice.add_page(level, shares, full, &mut self.next);
            lattice.add(level + 1, 1.0, &levels.selected[level + 1], &mut self.next);
            full.copy_from_slice(&self.next);
        }
    }
}
