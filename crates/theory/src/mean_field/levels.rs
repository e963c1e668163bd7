//! One pass over the levels: how blocks lose valid pages from full to empty, and at which levels cleaning selects them.
//!
//! In the steady state the flow into a content equals the flow out, by invalidation of a page or by selection. Starting
//! with full blocks, whose distribution `q` comes from the frontier, each level is one scalar equation in the mass
//! `m_j` of the level. The remaining flow passes to the level below.

use super::lattice::{ContentLattice, flush_tiny};
use crate::selection::{LevelContext, Selection};

/// Results of a pass, by number of valid pages `j = 0..=b`.
#[derive(Debug)]
pub(super) struct LevelPass {
    /// `m_j`, fraction of the blocks with `j` valid pages.
    pub masses: Vec<f64>,
    /// `p_j`, fraction of the victims with `j` valid pages.
    pub victims: Vec<f64>,
    /// `p[.][j]`, by content; levels above the highest selected level are not written.
    pub selected: Vec<Vec<f64>>,
    /// `sum_c c_t m[c]`: pages of each class in an average block.
    pub class_pages: Vec<f64>,
    /// Pages of each class in an average victim.
    pub class_victim_pages: Vec<f64>,
    contents: Vec<f64>,
    inflow: Vec<f64>,
}

/// Source of the hazards `h_j = p_j / m_j` of the levels.
pub(super) enum Hazards<'a> {
    /// Computed on the way down, from the masses at the level and above.
    Descending(&'a dyn Selection),
    /// Given as an estimate for all levels.
    Fixed(&'a [f64]),
}

impl LevelPass {
    pub fn new(lattice: &ContentLattice) -> Self {
        let levels = lattice.pages() + 1;
        LevelPass {
            masses: vec![0.0; levels],
            victims: vec![0.0; levels],
            selected: (0..levels).map(|_| vec![0.0; lattice.size()]).collect(),
            class_pages: vec![0.0; lattice.classes()],
            class_victim_pages: vec![0.0; lattice.classes()],
            contents: vec![0.0; lattice.size()],
            inflow: vec![0.0; lattice.size()],
        }
    }

    /// Computes the steady state of the levels. Full blocks arrive with the distribution `full`, one per victim, and a
    /// page of class `t` is invalidated at `rates[t]` in the time between two victims (times the number of blocks).
    pub fn pass(&mut self, lattice: &ContentLattice, full: &[f64], rates: &[f64], hazards: &Hazards) {
        self.inflow.copy_from_slice(full);
        self.class_pages.fill(0.0);
        self.class_victim_pages.fill(0.0);
        let mut above = 0.0;
        for level in (0..=lattice.pages()).rev() {
            let hazard = match hazards {
                Hazards::Fixed(hazards) => hazards[level],
                Hazards::Descending(selection) => {
                    let entering = lattice.total(level, &self.inflow);
                    let mass_at = |hazard| mass_at(lattice, level, &self.inflow, rates, hazard);
                    let guess = self.masses[level];
                    selection.hazard(&LevelContext {
                        above,
                        entering,
                        is_last: level == 0,
                        guess,
                        mass_at: &mass_at,
                    })
                }
            };
            self.settle_level(lattice, level, rates, hazard);
            above += self.masses[level];
            if level > 0 {
                lattice.remove_page(level, rates, &self.contents, &mut self.inflow);
            }
        }
    }

    /// Computes contents, victims and sums of a level whose hazard is known.
    fn settle_level(&mut self, lattice: &ContentLattice, level: usize, rates: &[f64], hazard: f64) {
        let (mut mass, mut victims) = (0.0, 0.0);
        let selected = &mut self.selected[level];
        for row in lattice.rows().iter().filter(|row| row.sum <= level) {
            let span = lattice.span(row, level);
            let (first, step) = lattice.loss_rate(row, level, rates);
            let inflow = &self.inflow[span.clone()];
            let contents = &mut self.contents[span.clone()];
            let selected = &mut selected[span];
            if hazard == f64::INFINITY {
                contents.fill(0.0);
                selected.copy_from_slice(inflow);
            } else {
                for (i, (content, &inflow)) in contents.iter_mut().zip(inflow).enumerate() {
                    *content = inflow / (first + i as f64 * step + hazard);
                }
                for (selected, content) in selected.iter_mut().zip(&*contents) {
                    *selected = flush_tiny(hazard * content);
                }
            }
            mass += contents.iter().sum::<f64>();
            victims += selected.iter().sum::<f64>();
        }
        self.masses[level] = mass;
        self.victims[level] = victims;
        lattice.add_class_pages(level, &self.contents, &mut self.class_pages);
        lattice.add_class_pages(level, selected, &mut self.class_victim_pages);
    }

    /// Returns the invalid pages of an average block, `sum_j (b - j) m_j`.
    pub fn invalid_pages(&self) -> f64 {
        let pages = self.masses.len() - 1;
        self.masses.iter().enumerate().map(|(level, mass)| (pages - level) as f64 * mass).sum()
    }

    /// Returns the pages that the host writes per average victim, `E = sum_j (b - j) p_j`.
    pub fn host_pages(&self) -> f64 {
        let pages = self.masses.len() - 1;
        self.victims.iter().enumerate().map(|(level, victims)| (pages - level) as f64 * victims).sum()
    }
}

/// Returns the mass of a level under `hazard`, and its derivative: `sum_c inflow[c] / (rate[c] + hazard)`.
fn mass_at(lattice: &ContentLattice, level: usize, inflow: &[f64], rates: &[f64], hazard: f64) -> (f64, f64) {
    let (mut mass, mut slope) = (0.0, 0.0);
    for row in lattice.rows().iter().filter(|row| row.sum <= level) {
        let (first, step) = lattice.loss_rate(row, level, rates);
        // Four partial sums per result, because successive additions to one sum wait for each other.
        let mut sums = [[0.0; 4]; 2];
        let inflow = &inflow[lattice.span(row, level)];
        let chunks = inflow.chunks_exact(4);
        let (remainder, rest_start) = (chunks.remainder(), inflow.len() - chunks.remainder().len());
        for (chunk, inflow) in chunks.enumerate() {
            for lane in 0..4 {
                let stay_time = 1.0 / (first + (4 * chunk + lane) as f64 * step + hazard);
                let content = inflow[lane] * stay_time;
                sums[0][lane] += content;
                sums[1][lane] += content * stay_time;
            }
        }
        for (i, inflow) in remainder.iter().enumerate() {
            let stay_time = 1.0 / (first + (rest_start + i) as f64 * step + hazard);
            mass += inflow * stay_time;
            slope -= inflow * stay_time * stay_time;
        }
        mass += sums[0].iter().sum::<f64>();
        slope -= sums[1].iter().sum::<f64>();
    }
    (mass, slope)
}
