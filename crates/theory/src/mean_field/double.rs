//! Two write frontiers: the host's blocks hold only fresh pages, and cleaning fills separate blocks.
//!
//! The internal frontier holds `(i, j)` pages just before a victim is selected. The model needs the stationary
//! distribution `pi` of this Markov chain. Lumped over `j`, the chain moves as
//! `j -> j + (valid pages of the victim) mod b`. The matrix is circulant, so every `j = 1..=b` has probability `1 / b`.
//! Given that, eq. (13) to (15) give `pi` level by level:
//!
//! `pi[.][j] (1 - p_0) = sum_{l < j} pi[.][l] * p[.][j - l] + L_j / b`,
//!
//! where `*` adds contents. `L_j` is the distribution of the `j` pages, drawn at random from victims with at least `j`
//! valid pages, that spill over into the new internal frontier. The blocks that the frontier completes have the
//! distribution `sum_j pi[.][j] * (L_{b-j} - p[.][b-j])`. A Fourier transform over contents turns both convolutions
//! into products.

use super::frontier::Frontier;
use super::lattice::ContentLattice;
use super::levels::LevelPass;
use super::spectrum::{Spectra, Transform};

/// Victim levels rarer than this are omitted from the convolutions: far below double precision of their sum.
const NEGLIGIBLE: f64 = 1e-24;

pub(super) struct DoubleFrontier {
    transform: Transform,
    /// Transform of the victims by level.
    victims: Spectra,
    /// Transform of `L_j` by level.
    spilled: Spectra,
    /// Transform of the internal frontier by level.
    internal: Spectra,
    /// Distribution `L_n` over contents.
    contents: Vec<f64>,
    /// Distribution `L_{n-1}` over contents.
    next: Vec<f64>,
    /// Distribution of the contents of a block of `b` host writes.
    fresh: Vec<f64>,
    equal_rates: Vec<f64>,
}

impl DoubleFrontier {
    pub fn new(lattice: &ContentLattice, shares: &[f64]) -> Self {
        let transform = Transform::new(lattice);
        let spectra = || Spectra::new(lattice.pages() + 1, transform.frequencies());
        DoubleFrontier {
            victims: spectra(),
            spilled: spectra(),
            internal: spectra(),
            contents: vec![0.0; lattice.size()],
            next: vec![0.0; lattice.size()],
            fresh: lattice.multinomial(lattice.pages(), shares),
            equal_rates: vec![1.0; lattice.classes()],
            transform,
        }
    }

    /// Computes the transforms of `p[.][j]` and `L_j` for all `j`.
    ///
    /// `L_{n-1}` is `L_n` with one page removed at random, plus the victims with `n - 1` pages; this avoids binomials.
    fn compute_spilled(&mut self, lattice: &ContentLattice, levels: &LevelPass) {
        let pages = lattice.pages();
        self.contents.fill(0.0);
        for level in (0..=pages).rev() {
            lattice.add(level, 1.0, &levels.selected[level], &mut self.contents);
            self.transform.forward(lattice, level, &self.contents, self.spilled.level_mut(level));
            self.transform.forward(lattice, level, &levels.selected[level], self.victims.level_mut(level));
            if level > 0 {
                self.next.fill(0.0);
                lattice.remove_page(level, &self.equal_rates, &self.contents, &mut self.next);
                self.contents.fill(0.0);
                lattice.add(level - 1, 1.0 / level as f64, &self.next, &mut self.contents);
            }
        }
    }

    /// Computes the stationary distribution of the internal frontier, eq. (14) and (15).
    fn compute_internal(&mut self, pages: usize, levels: &LevelPass) {
        let frequent: Vec<usize> = (1..=pages).filter(|&level| levels.victims[level] > NEGLIGIBLE).collect();
        // If no victim holds a valid page, the internal frontier never moves and completes no block.
        let moving = 1.0 - levels.victims[0];
        let stay_factor = if moving > 0.0 { 1.0 / moving } else { 0.0 };
        for level in 1..=pages {
            let (before, mut now) = self.internal.split_at_level(level);
            now.set_scaled(self.spilled.level(level), stay_factor / pages as f64);
            for &step in frequent.iter().take_while(|step| **step < level) {
                now.add_product(before.level(level - step), self.victims.level(step), stay_factor);
            }
        }
    }
}

impl Frontier for DoubleFrontier {
    fn fill(&mut self, lattice: &ContentLattice, _: &[f64], levels: &LevelPass, full: &mut [f64]) {
        let pages = lattice.pages();
        self.compute_spilled(lattice, levels);
        self.compute_internal(pages, levels);
        // Blocks completed by the internal frontier; the victims themselves become the host's next blocks.
        let mut completed = self.internal.zero();
        for level in 1..=pages {
            let missing = pages - level;
            let internal = self.internal.level(level);
            completed.level_mut(0).add_product_of_difference(
                internal,
                self.spilled.level(missing),
                self.victims.level(missing),
            );
        }
        self.transform.inverse(lattice, completed.level_mut(0), full);
        lattice.add(pages, levels.host_pages() / pages as f64, &self.fresh, full);
    }
}
