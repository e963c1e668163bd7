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
use super::initial_guess::InitialGuess;
use super::lattice::ContentLattice;
use super::levels::{Hazards, LevelPass};
use crate::selection::Selection;
use crate::{Class, Classes, Drive};

/// Problem and working memory.
pub(super) struct Solver<'a> {
    pub drive: &'a Drive,
    pub classes: &'a Classes,
    pub selection: &'a dyn Selection,
    pub lattice: &'a ContentLattice,
    pub frontier: Box<dyn Frontier + 'a>,
    pub levels: LevelPass,
    /// Last result: the distribution of full blocks, and the host pages per victim. Another search may start from this
    /// result.
    pub solution: InitialGuess,
    evaluations: usize,
    /// Number of evaluations after which every iteration ends, solved or not.
    max_evaluations: usize,
}

/// Accuracy of a solution.
#[derive(Clone, Copy, Debug)]
pub(super) struct Residuals {
    pub evaluations: usize,
    /// Largest relative change: of `q` (1-norm), `log E` and the hazards.
    pub residual: f64,
    /// Largest relative error of the pages of a class.
    pub mass_error: f64,
}

impl Residuals {
    const NONE: Residuals = Residuals { evaluations: 0, residual: f64::INFINITY, mass_error: f64::INFINITY };

    pub fn error(&self) -> f64 {
        max_or_nan(self.residual, self.mass_error)
    }

    /// True if the solution is accurate enough to be returned.
    pub fn is_accepted(&self) -> bool {
        self.error() <= ACCEPTED_RESIDUAL
    }
}

/// Returns the larger value; NaN if either is NaN, which `f64::max` would drop.
fn max_or_nan(a: f64, b: f64) -> f64 {
    if a.is_nan() || b.is_nan() { f64::NAN } else { a.max(b) }
}

/// Maximum number of passes of the joint iteration.
const MAX_JOINT_PASSES: usize = 400;
/// Maximum number of steps of the nested iteration.
const MAX_NESTED_STEPS: usize = 1000;

/// Residual at which the iteration ends.
const TARGET_RESIDUAL: f64 = 3e-12;
/// Residual that is accepted if the iteration stalls at rounding errors.
const STALLED_RESIDUAL: f64 = 1e-10;

/// Results with a larger residual are refused.
const ACCEPTED_RESIDUAL: f64 = 1e-8;

/// Number of steps without progress after which an iteration counts as stalled.
const STALL_STEPS: usize = 30;

/// If a residual exceeds the best residual by this factor, extrapolation has diverged.
const DIVERGENCE_RATIO: f64 = 10.0;

/// Relative error of the spare space at which the joint iteration starts.
const BALANCE_TOLERANCE: f64 = 1e-2;

/// d log (invalid pages) / d log E, where it is not measured.
const TYPICAL_SLOPE: f64 = 0.7;

/// Largest factor by which one step changes the weight of pages of a class.
const MAX_TILT: f64 = 1.6;

/// Depth of the acceleration; old steps disturb at larger depths, and convergence is slower at smaller depths.
const ANDERSON_DEPTH: usize = 10;

impl<'a> Solver<'a> {
    pub fn new(
        drive: &'a Drive,
        classes: &'a Classes,
        selection: &'a dyn Selection,
        lattice: &'a ContentLattice,
        frontier: Box<dyn Frontier + 'a>,
        max_evaluations: usize,
    ) -> Self {
        let levels = LevelPass::new(lattice);
        let found = InitialGuess { full_blocks: Vec::new(), host_pages: 1.0 };
        Solver {
            drive,
            classes,
            selection,
            lattice,
            frontier,
            levels,
            solution: found,
            evaluations: 0,
            max_evaluations,
        }
    }

    /// Solves from `start`, stores the steady state in `self.levels` and returns its accuracy.
    ///
    /// With `tilt_first` the map corrects the classes of full blocks by the excess or lack of their pages on the drive.
    /// This corrects the slowest mode at once: the distribution of rarely written pages over the blocks. It suits one
    /// frontier. Two frontiers fill two kinds of blocks, and a common correction often diverges.
    pub fn solve(&mut self, start: &InitialGuess, tilt_first: bool) -> Residuals {
        let begin = self.first_point(start);
        for (is_tilted, depth) in
            [(tilt_first, ANDERSON_DEPTH), (!tilt_first, ANDERSON_DEPTH), (false, ANDERSON_DEPTH / 2)]
        {
            let fit = self.iterate_jointly(&begin, is_tilted, depth);
            if fit.error() <= STALLED_RESIDUAL {
                return Residuals { evaluations: self.evaluations, ..fit };
            }
        }
        let mut fit = Residuals::NONE;
        for depth in [ANDERSON_DEPTH / 2, 0] {
            let is_solved = fit.error() <= STALLED_RESIDUAL;
            if self.selection.is_descending() && !is_solved {
                fit = self.iterate_nested(&begin, depth);
            }
        }
        Residuals { evaluations: self.evaluations, ..fit }
    }

    /// Tries only the first method of [`Solver::solve`].
    pub fn solve_first(&mut self, start: &InitialGuess, tilt_first: bool) -> Residuals {
        let begin = self.first_point(start);
        let fit = self.iterate_jointly(&begin, tilt_first, ANDERSON_DEPTH);
        Residuals { evaluations: self.evaluations, ..fit }
    }

    /// Returns the first point: `q`, `log E`, and the hazards if they are unknown.
    fn first_point(&mut self, start: &InitialGuess) -> Vec<f64> {
        let mut point = start.full_blocks.clone();
        point.push(start.host_pages.ln());
        if !self.selection.is_descending() {
            let pages = self.lattice.pages();
            let rates = self.rates(start.host_pages);
            self.levels.pass(
                self.lattice,
                &start.full_blocks,
                &rates,
                &Hazards::Fixed(&vec![1.0; pages + 1]),
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
        self.classes.as_slice().iter().map(|class| rate * class.relative_rate()).collect()
    }

    fn shares(&self) -> Vec<f64> {
        self.classes.as_slice().iter().map(|class| class.write_share).collect()
    }

    /// Performs a pass over the levels at `point`.
    fn evaluate_levels(&mut self, point: &[f64]) {
        let size = self.lattice.size();
        let rates = self.rates(point[size].exp());
        let hazards = match self.selection.is_descending() {
            true => Hazards::Descending(self.selection),
            false => Hazards::Fixed(&point[size + 1..]),
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

    /// Returns the factors by which the drive lacks pages of each class, limited to [`MAX_TILT`].
    fn tilt_factors(&self) -> Vec<f64> {
        let classes = self.classes.as_slice().iter().zip(&self.levels.class_pages);
        let target = |class: &Class| self.drive.mean_valid_pages() * class.space_share;
        classes.map(|(class, pages)| (target(class) / pages).clamp(1.0 / MAX_TILT, MAX_TILT)).collect()
    }

    /// Returns the image of `point` after its pass, with `slope` = d log (invalid pages) / d log E.
    fn image(&mut self, point: &[f64], slope: f64, is_tilted: bool) -> Vec<f64> {
        let size = self.lattice.size();
        let mut image = point.to_vec();
        let shares = self.shares();
        self.frontier.fill(self.lattice, &shares, &self.levels, &mut image[..size]);
        if is_tilted {
            self.lattice.tilt(&self.tilt_factors(), &mut image[..size]);
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
            .fold(0.0, max_or_nan)
    }

    /// Returns the difference between `point`, after its pass, and `image`.
    fn residuals(&self, point: &[f64], image: &[f64]) -> Residuals {
        Residuals {
            evaluations: 0,
            residual: distance(point, image, self.lattice.size()),
            mass_error: self.mass_error(),
        }
    }

    /// Iterates on all unknowns at once.
    fn iterate_jointly(&mut self, begin: &[f64], is_tilted: bool, depth: usize) -> Residuals {
        let mut anderson = Anderson::new(depth);
        let mut point = begin.to_vec();
        // With given hazards, invalid pages do not determine E until the hazards fit.
        let slope = if self.selection.is_descending() {
            self.balance_host_pages(&mut point, BALANCE_TOLERANCE)
        } else {
            TYPICAL_SLOPE
        };
        let mut best = Residuals::NONE;
        let mut best_point = point.clone();
        let mut since_best = 0;
        for _ in 0..MAX_JOINT_PASSES {
            self.evaluate_levels(&point);
            let image = self.image(&point, slope, is_tilted);
            let fit = self.residuals(&point, &image);
            since_best += 1;
            if fit.error() < best.error() {
                best = fit;
                best_point.clone_from(&point);
                since_best = 0;
            }
            if best.error() < TARGET_RESIDUAL
                || since_best > STALL_STEPS
                || self.evaluations >= self.max_evaluations
                || fit.error().is_nan() && best.error().is_infinite()
            {
                break;
            }
            if fit.residual.is_nan() || fit.residual > DIVERGENCE_RATIO * best.residual {
                // The iteration has diverged: return to the best point and start a new history.
                anderson.restart();
                point.clone_from(&best_point);
                continue;
            }
            point = make_admissible(anderson.next(&point, &image), &point, self.lattice.size());
        }
        self.evaluate_levels(&best_point);
        self.store_solution(&best_point);
        best
    }

    fn store_solution(&mut self, point: &[f64]) {
        let size = self.lattice.size();
        self.solution = InitialGuess { full_blocks: point[..size].to_vec(), host_pages: point[size].exp() };
    }

    /// Iterates on `q` alone and solves for `E` at each step: slower but more robust.
    fn iterate_nested(&mut self, begin: &[f64], depth: usize) -> Residuals {
        let size = self.lattice.size();
        let mut anderson = Anderson::new(depth);
        let mut point = begin.to_vec();
        let mut best = Residuals::NONE;
        let mut since_best = 0;
        for _ in 0..MAX_NESTED_STEPS {
            let slope = self.balance_host_pages(&mut point, 1e-14);
            let image = self.image(&point, slope, false);
            let fit = self.residuals(&point, &image);
            since_best += 1;
            if fit.error() < 0.99 * best.error() {
                best = fit;
                since_best = 0;
            }
            if best.error() < TARGET_RESIDUAL
                || since_best > STALL_STEPS
                || self.evaluations >= self.max_evaluations
            {
                break;
            }
            let mut next = point.clone();
            next[..size].copy_from_slice(&anderson.next(&point[..size], &image[..size]));
            point = make_admissible(next, &point, size);
        }
        self.store_solution(&point);
        best
    }

    /// Finds the `log E` in `point` at which blocks hold `b S_f` invalid pages, to `tolerance`; returns d excess / d
    /// log E.
    ///
    /// Invalid pages grow with `E`, nearly in proportion while they are few, so the secant method works; brackets bound
    /// its steps.
    fn balance_host_pages(&mut self, point: &mut [f64], tolerance: f64) -> f64 {
        let size = self.lattice.size();
        let (mut low, mut high) = (f64::NEG_INFINITY, (self.lattice.pages() as f64).ln());
        let mut slope = TYPICAL_SLOPE;
        let mut last: Option<(f64, f64)> = None;
        for _ in 0..100 {
            self.evaluate_levels(point);
            let (current, excess) = (point[size], self.excess_spare());
            if let Some((previous, previous_excess)) = last.filter(|(previous, _)| *previous != current) {
                slope = ((excess - previous_excess) / (current - previous)).clamp(0.05, 2.0);
            }
            if excess.abs() < tolerance || high - low < 1e-15 {
                break;
            }
            if excess < 0.0 {
                low = current
            } else {
                high = current
            }
            last = Some((current, excess));
            let next = current - (excess / slope).clamp(-2.0, 2.0);
            point[size] = if next > low && next < high { next } else { 0.5 * (low.max(high - 4.0) + high) };
        }
        slope
    }
}

/// Makes `next` a distribution again: no negative probabilities, sum 1, `log E` within 1 of its last value.
fn make_admissible(mut next: Vec<f64>, last: &[f64], size: usize) -> Vec<f64> {
    next[..size].iter_mut().for_each(|share| *share = share.max(0.0));
    normalise(&mut next[..size]);
    next[size] = last[size] + (next[size] - last[size]).clamp(-1.0, 1.0);
    for (hazard, last) in next[size + 1..].iter_mut().zip(&last[size + 1..]) {
        *hazard = hazard.clamp(0.1 * last, 10.0 * last);
    }
    next
}

fn normalise(distribution: &mut [f64]) {
    let sum: f64 = distribution.iter().sum();
    distribution.iter_mut().for_each(|share| *share /= sum);
}

/// Returns the distance of `image` from `point`.
fn distance(point: &[f64], image: &[f64], size: usize) -> f64 {
    let norm: f64 = point[..size].iter().zip(&image[..size]).map(|(a, b)| (a - b).abs()).sum();
    let hazards = point[size + 1..].iter().zip(&image[size + 1..]);
    let hazards = hazards.map(|(a, b)| if *a == *b { 0.0 } else { (a - b).abs() / a.abs().max(b.abs()) });
    norm.max((point[size] - image[size]).abs()).max(hazards.fold(0.0, max_or_nan))
}
