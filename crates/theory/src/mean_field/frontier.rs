//! What fills blocks up: the law of the contents of blocks that become full, one a victim.

use super::lattice::Lattice;
use super::levels::Levels;

/// A structure of the log (Van Houdt 2013, sec. 2.3).
pub(super) trait Frontier {
    /// Writes the law `q` of the contents of full blocks to `full`, given the victims in `levels`.
    ///
    /// Host writes are of class `t` with probability `shares[t]`. The result sums to one where `p` does.
    fn fill(&mut self, lattice: &Lattice, shares: &[f64], levels: &Levels, full: &mut [f64]);
}

/// One write frontier: a victim is erased, gets its valid pages back and is filled by the host.
///
/// Eq. (8) without its binomials: beginning with empty victims, one host page at a time is added to all, and victims
/// with `j` pages join when the others have come to `j` (Horner's rule in the number of fresh pages).
pub(super) struct Single {
    next: Vec<f64>,
}

impl Single {
    pub fn new(lattice: &Lattice) -> Self {
        Single { next: vec![0.0; lattice.size()] }
    }
}

impl Frontier for Single {
    fn fill(&mut self, lattice: &Lattice, shares: &[f64], levels: &Levels, full: &mut [f64]) {
        full.fill(0.0);
        full[0] = levels.selected[0][0];
        for level in 0..lattice.pages() {
            lattice.births(level, shares, full, &mut self.next);
            lattice.add(level + 1, 1.0, &levels.selected[level + 1], &mut self.next);
            full.copy_from_slice(&self.next);
        }
    }
}
