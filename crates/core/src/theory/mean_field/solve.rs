//! The steady state as the root of few equations.
//!
//! Unknown are the law `q` of full blocks and the host pages a victim gives, `E`; where the policy looks at blocks with
//! fewer valid pages, too, also the hazards of the levels. One pass over the levels gives everything else from these.
//! The map sends `q` to the law that the frontier makes of the victims, `E` to where the blocks would hold `b * rho` valid
//! pages on average, and hazards to `p_j / m_j`. Anderson acceleration finds its fixed point in some tens of passes.
//!
//! `E = b - sum_j j p_j` would be the obvious update; it has a false fixed point at `E = 0` and contracts slowly.

use super::anderson::Anderson;
use super::frontier::Frontier;
use super::lattice::Lattice;
use super::levels::{Hazards, Levels};
use super::start::Start;
use crate::theory::selection::Selection;
use crate::theory::{Classes, Drive};

/// The problem and the room to work in.
pub(super) struct Solver<'a> {
    pub drive: &'a Drive,
    pub classes: &'a Classes,
    pub selection: &'a dyn Selection,
    pub lattice: &'a Lattice,
    pub frontier: Box<dyn Frontier + 'a>,
    pub levels: Levels,
    evaluations: usize,
}

/// How well the equations hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub evaluations: usize,
    /// Largest of: change of `q` (1-norm), of `log E`, and of the hazards, relative.
    pub residual: f64,
    /// Largest relative error of the pages of a class.
    pub mass_error: f64,
}

/// Passes before the joint iteration is given up, and the nested one.
const JOINT_PASSES: usize = 400;
const NESTED_STEPS: usize = 400;

/// Residual at which the iteration ends, and what is accepted when it stalls at rounding errors before.
const TARGET: f64 = 2e-13;
const ACCEPTED: f64 = 1e-10;

/// Steps without progress after which an iteration counts as stalled.
const PATIENCE: usize = 12;

/// Depth of the acceleration; with more the old steps disturb, with less it is slower.
const DEPTH: usize = 10;

impl<'a> Solver<'a> {
    pub fn new(
        drive: &'a Drive,
        classes: &'a Classes,
        selection: &'a dyn Selection,
        lattice: &'a Lattice,
        frontier: Box<dyn Frontier + 'a>,
    ) -> Self {
        let levels = Levels::new(lattice);
        Solver { drive, classes, selection, lattice, frontier, levels, evaluations: 0 }
    }

    /// Solves from `start`, leaving the steady state in `self.levels`; says how well.
    pub fn solve(&mut self, start: &Start) -> Fit {
        let begin = self.begin(start);
        let mut best = self.joint(&begin, DEPTH);
        if best.residual.max(best.mass_error) > ACCEPTED {
            best = self.joint(&begin, DEPTH / 2);
        }
        if best.residual.max(best.mass_error) > ACCEPTED && self.selection.is_descending() {
            best = self.nested(&begin);
        }
        Fit { evaluations: self.evaluations, ..best }
    }

    /// The first point: `q`, `log E`, and hazards if they are unknown.
    fn begin(&mut self, start: &Start) -> Vec<f64> {
        let mut point = start.full_blocks.clone();
        point.push(start.host_pages.ln());
        if !self.selection.is_descending() {
            let pages = self.lattice.pages();
            let rates = self.rates(start.host_pages);
            self.levels.pass(self.lattice, &start.full_blocks, &rates, &Hazards::Given(&vec![1.0; pages + 1]));
            let mut hazards = vec![1.0; pages + 1];
            self.update_hazards(&mut hazards);
            point.extend(hazards);
        }
        point
    }

    /// Rates at which a page of each class dies between two victims: `E r / (b rho f)`.
    fn rates(&self, host_pages: f64) -> Vec<f64> {
        let rate = host_pages / self.drive.mean_valid_pages();
        self.classes.as_slice().iter().map(|class| rate * class.heat()).collect()
    }

    fn shares(&self) -> Vec<f64> {
        self.classes.as_slice().iter().map(|class| class.write_share).collect()
    }

    /// Passes over the levels at `point`.
    fn pass(&mut self, point: &[f64]) {
        let size = self.lattice.size();
        let rates = self.rates(point[size].exp());
        let hazards = match self.selection.is_descending() {
            true => Hazards::Descending(self.selection),
            false => Hazards::Given(&point[size + 1..]),
        };
        self.levels.pass(self.lattice, &point[..size], &rates, &hazards);
        self.evaluations += 1;
    }

    /// `p_j / m_j` of the masses just found; levels without blocks keep theirs.
    fn update_hazards(&self, hazards: &mut [f64]) {
        let total: f64 = self.levels.masses.iter().sum();
        let masses: Vec<f64> = self.levels.masses.iter().map(|mass| mass / total).collect();
        let mut victims = vec![0.0; masses.len()];
        self.selection.probabilities(&masses, self.drive.mean_valid_pages(), &mut victims);
        for ((hazard, victims), mass) in hazards.iter_mut().zip(&victims).zip(&masses) {
            if *mass > 0.0 {
                *hazard = victims / mass;
            }
        }
    }

    /// The image of `point`, whose pass was made, with `slope` = d log J / d log E.
    fn image(&mut self, point: &[f64], slope: f64) -> Vec<f64> {
        let size = self.lattice.size();
        let mut image = point.to_vec();
        let shares = self.shares();
        self.frontier.fill(self.lattice, &shares, &self.levels, &mut image[..size]);
        normalise(&mut image[..size]);
        let excess = (self.levels.valid_pages() / self.drive.mean_valid_pages()).ln();
        image[size] -= (excess / slope).clamp(-1.0, 1.0);
        self.update_hazards_of(&mut image[size + 1..]);
        image
    }

    fn update_hazards_of(&self, hazards: &mut [f64]) {
        if !hazards.is_empty() {
            self.update_hazards(hazards);
        }
    }

    /// d log J / d log E at `point`, by a difference; J are the valid pages of an average block.
    fn slope(&mut self, point: &[f64]) -> f64 {
        const STEP: f64 = 1e-3;
        let size = self.lattice.size();
        self.pass(point);
        let here = self.levels.valid_pages();
        let mut aside = point.to_vec();
        aside[size] += STEP;
        self.pass(&aside);
        let slope = (self.levels.valid_pages() / here).ln() / STEP;
        if slope < -1e-4 { slope } else { -0.1 }
    }

    /// Largest relative error of the pages of a class.
    fn mass_error(&self) -> f64 {
        let classes = self.classes.as_slice().iter().zip(&self.levels.class_pages);
        classes
            .map(|(class, pages)| (pages / (self.drive.mean_valid_pages() * class.space_share) - 1.0).abs())
            .fold(0.0, f64::max)
    }

    /// Iterates on all unknowns at once.
    fn joint(&mut self, begin: &[f64], depth: usize) -> Fit {
        let size = self.lattice.size();
        let slope = self.slope(begin);
        let mut anderson = Anderson::new(depth);
        let mut point = begin.to_vec();
        let mut best = Fit { evaluations: 0, residual: f64::INFINITY, mass_error: f64::INFINITY };
        let mut best_point = point.clone();
        let mut since_best = 0;
        for _ in 0..JOINT_PASSES {
            self.pass(&point);
            let image = self.image(&point, slope);
            let residual = distance(&point, &image, size);
            let mass_error = self.mass_error();
            if residual.is_nan() || residual > 1e3 * best.residual {
                // Lost: go back and take plain steps for a while.
                anderson.restart();
                point = best_point.clone();
                since_best += 1;
                if residual.is_nan() || since_best > PATIENCE {
                    break;
                }
                continue;
            }
            since_best += 1;
            if residual.max(mass_error) < best.residual.max(best.mass_error) {
                best = Fit { evaluations: 0, residual, mass_error };
                best_point.clone_from(&point);
                since_best = 0;
            }
            if residual.max(mass_error) < TARGET || since_best > PATIENCE {
                break;
            }
            let next = anderson.next(&point, &image);
            point = admissible(next, &point, size);
        }
        self.pass(&best_point);
        best
    }

    /// Iterates on `q`, `E` being found anew for each: slower, and harder to throw off.
    fn nested(&mut self, begin: &[f64]) -> Fit {
        let size = self.lattice.size();
        let mut anderson = Anderson::new(DEPTH / 2);
        let mut point = begin.to_vec();
        let mut best = Fit { evaluations: 0, residual: f64::INFINITY, mass_error: f64::INFINITY };
        let mut since_best = 0;
        for _ in 0..NESTED_STEPS {
            self.balance(&mut point);
            let image = self.image(&point, -0.1);
            let residual = distance(&point, &image, size);
            let mass_error = self.mass_error();
            since_best += 1;
            if residual.max(mass_error) < 0.9 * best.residual.max(best.mass_error) {
                best = Fit { evaluations: 0, residual, mass_error };
                since_best = 0;
            }
            if residual.max(mass_error) < TARGET || since_best > 3 * PATIENCE {
                break;
            }
            let next = anderson.next(&point[..size], &image[..size]);
            let mut whole = point.clone();
            whole[..size].copy_from_slice(&next);
            point = admissible(whole, &point, size);
        }
        best
    }

    /// Finds `log E` in `point` at which the blocks hold `b * rho` pages; they hold fewer the larger `E` is.
    fn balance(&mut self, point: &mut [f64]) {
        let size = self.lattice.size();
        let (mut low, mut high) = (f64::NEG_INFINITY, (self.lattice.pages() as f64).ln());
        for _ in 0..200 {
            self.pass(point);
            let excess = (self.levels.valid_pages() / self.drive.mean_valid_pages()).ln();
            if excess.abs() < 1e-14 || high - low < 1e-15 {
                break;
            }
            if excess > 0.0 { low = point[size] } else { high = point[size] }
            point[size] = if low.is_finite() { 0.5 * (low + high) } else { point[size] - 1.0 };
        }
    }
}

/// `next` made a law again: no negative probabilities, sum one, `log E` at most one from the last.
fn admissible(mut next: Vec<f64>, last: &[f64], size: usize) -> Vec<f64> {
    next[..size].iter_mut().for_each(|share| *share = share.max(0.0));
    normalise(&mut next[..size]);
    next[size] = last[size] + (next[size] - last[size]).clamp(-1.0, 1.0);
    for (hazard, last) in next[size + 1..].iter_mut().zip(&last[size + 1..]) {
        *hazard = hazard.clamp(0.1 * last, 10.0 * last);
    }
    next
}

fn normalise(law: &mut [f64]) {
    let sum: f64 = law.iter().sum();
    law.iter_mut().for_each(|share| *share /= sum);
}

/// How far `image` is from `point`.
fn distance(point: &[f64], image: &[f64], size: usize) -> f64 {
    let law: f64 = point[..size].iter().zip(&image[..size]).map(|(a, b)| (a - b).abs()).sum();
    let hazards = point[size + 1..].iter().zip(&image[size + 1..]);
    let hazards = hazards.map(|(a, b)| if *a == *b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) });
    law.max((point[size] - image[size]).abs()).max(hazards.fold(0.0, f64::max))
}
