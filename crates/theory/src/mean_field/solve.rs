//! Steady state as the root of a few equations.
//!
//! The unknowns are the distribution `q` of full blocks, the host pages per victim `E` and, if the policy also looks at
//! blocks with fewer valid pages, the hazards of the levels. One pass over the levels computes everything else from
//! these. The map takes `q` to the distribution that the frontier makes of the victims, `E` to the value at which
//! blocks would hold `b * rho` valid pages on average, and hazards to `p_j / m_j`. Anderson acceleration finds its
//! fixed point in some tens of passes.
//!
//! The obvious update, `E = b - sum_j j p_j`, has a false fixed point at `E = 0` and contracts slowly.

use super::anderson::Anderson;
use super::frontier::Frontier;
use super::lattice::Lattice;
use super::levels::{Hazards, Levels};
use super::start::Start;
use crate::selection::Selection;
use crate::{Class, Classes, Drive};

/// Problem and working memory.
pub(super) struct Solver<'a> {
    pub drive: &'a Drive,
    pub classes: &'a Classes,
    pub selection: &'a dyn Selection,
    pub lattice: &'a Lattice,
    pub frontier: Box<dyn Frontier + 'a>,
    pub levels: Levels,
    /// Last distribution of full blocks and host pages, from which another search may start.
    pub found: Start,
    evaluations: usize,
}

/// Accuracy of a solution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fit {
    pub evaluations: usize,
    /// Largest relative change: of `q` (1-norm), `log E` and the hazards.
    pub residual: f64,
    /// Largest relative error of the pages of a class.
    pub mass_error: f64,
}

impl Fit {
    const NONE: Fit = Fit { evaluations: 0, residual: f64::INFINITY, mass_error: f64::INFINITY };

    pub fn error(&self) -> f64 {
        worse(self.residual, self.mass_error)
    }
}

/// Returns the larger value; NaN if either is NaN, which `f64::max` would drop.
fn worse(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// Maximum number of passes of the joint iteration, and of the nested iteration.
const JOINT_PASSES: usize = 400;
const NESTED_STEPS: usize = 1000;

/// Residual at which the iteration ends, and the residual accepted if it stalls at rounding errors before.
const TARGET: f64 = 3e-12;
const ACCEPTED: f64 = 1e-10;

/// Number of steps without progress after which an iteration counts as stalled.
const PATIENCE: usize = 30;

/// Ratio of a residual to the best residual that shows that extrapolation has diverged.
const GROWTH: f64 = 10.0;

/// Relative error of the spare space at which the joint iteration starts.
const ROUGHLY: f64 = 1e-2;

/// d log (invalid pages) / d log E, where it is not measured.
const TYPICAL_SLOPE: f64 = 0.7;

/// Largest factor by which one step changes the weight of pages of a class.
const LARGEST_TILT: f64 = 1.6;

/// Depth of the acceleration; old steps disturb at larger depths, and convergence is slower at smaller ones.
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
        let found = Start { full_blocks: Vec::new(), host_pages: 1.0 };
        Solver { drive, classes, selection, lattice, frontier, levels, found, evaluations: 0 }
    }

    /// Solves from `start`, stores the steady state in `self.levels` and returns its accuracy.
    ///
    /// With `tilt_first` the map corrects the classes of full blocks by the excess or lack of their pages on the drive.
    /// This corrects the slowest mode at once: the distribution of rarely written pages over the blocks. It suits one
    /// frontier. Two frontiers fill two kinds of blocks, and a common correction often diverges.
    pub fn solve(&mut self, start: &Start, tilt_first: bool) -> Fit {
        let begin = self.begin(start);
        for (is_tilted, depth) in [(tilt_first, DEPTH), (!tilt_first, DEPTH), (false, DEPTH / 2)] {
            let fit = self.joint(&begin, is_tilted, depth);
            if fit.error() <= ACCEPTED {
                return Fit { evaluations: self.evaluations, ..fit };
            }
        }
        let mut fit = Fit::NONE;
        for depth in [DEPTH / 2, 0] {
            let is_solved = fit.error() <= ACCEPTED;
            if self.selection.is_descending() && !is_solved {
                fit = self.nested(&begin, depth);
            }
        }
        Fit { evaluations: self.evaluations, ..fit }
    }

    /// Tries only the first method of [`Solver::solve`].
    pub fn solve_first(&mut self, start: &Start, tilt_first: bool) -> Fit {
        let begin = self.begin(start);
        let fit = self.joint(&begin, tilt_first, DEPTH);
        Fit { evaluations: self.evaluations, ..fit }
    }

    /// Returns the first point: `q`, `log E`, and the hazards if they are unknown.
    fn begin(&mut self, start: &Start) -> Vec<f64> {
        let mut point = start.full_blocks.clone();
        point.push(start.host_pages.ln());
        if !self.selection.is_descending() {
            let pages = self.lattice.pages();
            let rates = self.rates(start.host_pages);
            self.levels.pass(
                self.lattice,
                &start.full_blocks,
                &rates,
                &Hazards::Given(&vec![1.0; pages + 1]),
            );
            let mut hazards = vec![1.0; pages + 1];
            self.update_hazards(&mut hazards);
            point.extend(hazards);
        }
        point
    }

    /// Returns the rates at which a page of each class is invalidated between two victims: `E r / (b rho f)`.
    fn rates(&self, host_pages: f64) -> Vec<f64> {
        let rate = host_pages / self.drive.mean_valid_pages();
        self.classes.as_slice().iter().map(|class| rate * class.heat()).collect()
    }

    fn shares(&self) -> Vec<f64> {
        self.classes.as_slice().iter().map(|class| class.write_share).collect()
    }

    /// Performs a pass over the levels at `point`.
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

    /// Sets hazards to `p_j / m_j` of the latest masses; levels without blocks keep their hazards.
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

    /// Returns the factors by which the drive lacks pages of each class, limited to [`LARGEST_TILT`].
    fn missing_pages(&self) -> Vec<f64> {
        let classes = self.classes.as_slice().iter().zip(&self.levels.class_pages);
        let wanted = |class: &Class| self.drive.mean_valid_pages() * class.space_share;
        classes
            .map(|(class, pages)| (wanted(class) / pages).clamp(1.0 / LARGEST_TILT, LARGEST_TILT))
            .collect()
    }

    /// Returns the image of `point` after its pass, with `slope` = d log (invalid pages) / d log E.
    fn image(&mut self, point: &[f64], slope: f64, is_tilted: bool) -> Vec<f64> {
        let size = self.lattice.size();
        let mut image = point.to_vec();
        let shares = self.shares();
        self.frontier.fill(self.lattice, &shares, &self.levels, &mut image[..size]);
        if is_tilted {
            self.lattice.tilt(&self.missing_pages(), &mut image[..size]);
        }
        normalise(&mut image[..size]);
        image[size] -= (self.excess_spare() / slope).clamp(-1.0, 1.0);
        self.update_hazards_of(&mut image[size + 1..]);
        image
    }

    fn update_hazards_of(&self, hazards: &mut [f64]) {
        if !hazards.is_empty() {
            self.update_hazards(hazards);
        }
    }

    /// Returns the logarithm of the invalid pages of an average block over their target, `b S_f`.
    fn excess_spare(&self) -> f64 {
        let pages = f64::from(self.drive.pages_per_block());
        (self.levels.invalid_pages() / (pages * self.drive.spare_factor())).ln()
    }

    /// Returns the largest relative error of the pages of a class.
    fn mass_error(&self) -> f64 {
        let classes = self.classes.as_slice().iter().zip(&self.levels.class_pages);
        classes
            .map(|(class, pages)| (pages / (self.drive.mean_valid_pages() * class.space_share) - 1.0).abs())
            .fold(0.0, worse)
    }

    /// Returns the difference between `point`, after its pass, and `image`.
    fn fit(&self, point: &[f64], image: &[f64]) -> Fit {
        Fit {
            evaluations: 0,
            residual: distance(point, image, self.lattice.size()),
            mass_error: self.mass_error(),
        }
    }

    /// Iterates on all unknowns at once.
    fn joint(&mut self, begin: &[f64], is_tilted: bool, depth: usize) -> Fit {
        let mut anderson = Anderson::new(depth);
        let mut point = begin.to_vec();
        // With given hazards, invalid pages do not determine E until the hazards fit.
        let slope =
            if self.selection.is_descending() { self.balance(&mut point, ROUGHLY) } else { TYPICAL_SLOPE };
        let mut best = Fit::NONE;
        let mut best_point = point.clone();
        let mut since_best = 0;
        for _ in 0..JOINT_PASSES {
            self.pass(&point);
            let image = self.image(&point, slope, is_tilted);
            let fit = self.fit(&point, &image);
            since_best += 1;
            if fit.error() < best.error() {
                best = fit;
                best_point.clone_from(&point);
                since_best = 0;
            }
            if best.error() < TARGET
                || since_best > PATIENCE
                || fit.error().is_nan() && best.error().is_infinite()
            {
                break;
            }
            if fit.residual.is_nan() || fit.residual > GROWTH * best.residual {
                // The iteration has diverged: return to the best point and start a new history.
                anderson.restart();
                point.clone_from(&best_point);
                continue;
            }
            point = admissible(anderson.next(&point, &image), &point, self.lattice.size());
        }
        self.pass(&best_point);
        self.keep(&best_point);
        best
    }

    fn keep(&mut self, point: &[f64]) {
        let size = self.lattice.size();
        self.found = Start { full_blocks: point[..size].to_vec(), host_pages: point[size].exp() };
    }

    /// Iterates on `q` alone and solves for `E` at each step: slower but more robust.
    fn nested(&mut self, begin: &[f64], depth: usize) -> Fit {
        let size = self.lattice.size();
        let mut anderson = Anderson::new(depth);
        let mut point = begin.to_vec();
        let mut best = Fit::NONE;
        let mut since_best = 0;
        for _ in 0..NESTED_STEPS {
            let slope = self.balance(&mut point, 1e-14);
            let image = self.image(&point, slope, false);
            let fit = self.fit(&point, &image);
            since_best += 1;
            if fit.error() < 0.99 * best.error() {
                best = fit;
                since_best = 0;
            }
            if best.error() < TARGET || since_best > PATIENCE {
                break;
            }
            let mut next = point.clone();
            next[..size].copy_from_slice(&anderson.next(&point[..size], &image[..size]));
            point = admissible(next, &point, size);
        }
        self.keep(&point);
        best
    }

    /// Finds the `log E` in `point` at which blocks hold `b S_f` invalid pages, to `tolerance`; returns d excess / d
    /// log E.
    ///
    /// Invalid pages grow with `E`, nearly in proportion while they are few, so the secant method works; brackets bound
    /// its steps.
    fn balance(&mut self, point: &mut [f64], tolerance: f64) -> f64 {
        let size = self.lattice.size();
        let (mut low, mut high) = (f64::NEG_INFINITY, (self.lattice.pages() as f64).ln());
        let mut slope = TYPICAL_SLOPE;
        let mut last: Option<(f64, f64)> = None;
        for _ in 0..100 {
            self.pass(point);
            let (here, excess) = (point[size], self.excess_spare());
            if let Some((there, other)) = last.filter(|(there, _)| *there != here) {
                slope = ((excess - other) / (here - there)).clamp(0.05, 2.0);
            }
            if excess.abs() < tolerance || high - low < 1e-15 {
                break;
            }
            if excess < 0.0 {
                low = here
            } else {
                high = here
            }
            last = Some((here, excess));
            let next = here - (excess / slope).clamp(-2.0, 2.0);
            point[size] = if next > low && next < high { next } else { 0.5 * (low.max(high - 4.0) + high) };
        }
        slope
    }
}

/// Makes `next` a distribution again: no negative probabilities, sum 1, `log E` at most 1 from the last.
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

/// Returns the distance of `image` from `point`.
fn distance(point: &[f64], image: &[f64], size: usize) -> f64 {
    let law: f64 = point[..size].iter().zip(&image[..size]).map(|(a, b)| (a - b).abs()).sum();
    let hazards = point[size + 1..].iter().zip(&image[size + 1..]);
    let hazards = hazards.map(|(a, b)| if *a == *b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) });
    law.max((point[size] - image[size]).abs()).max(hazards.fold(0.0, worse))
}
