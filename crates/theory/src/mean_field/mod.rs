//! Mean field of a log-structured drive: the distribution of block contents in the limit of many blocks.
//!
//! Van Houdt, "Performance of garbage collection algorithms for flash-based solid state drives with hot/cold data",
//! Performance Evaluation 70 (2013), extended to any number of classes. `docs/theory.md` derives it in the symbols
//! used here.

mod anderson;
mod double;
mod frontier;
mod hot_set_moves;
mod initial_guess;
mod lattice;
mod levels;
mod solve;
mod spectrum;
#[cfg(test)]
mod tests;
mod transient;

use super::selection::{DChoices, Selection};
use super::{Classes, Drive, OptimalChoices, TheoryError};
use double::DoubleFrontier;
use frontier::{Frontier, SingleFrontier};
use initial_guess::InitialGuess;
use lattice::ContentLattice;
use levels::LevelPass;
use solve::{Residuals, Solver};

pub use transient::{InitialState, PathPoint};

/// Number of write frontiers (sec. 2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Host writes and moved pages share blocks.
    Single,
    /// Host writes and moved pages go to separate blocks.
    Double,
}

impl Structure {
    fn frontier(self, lattice: &ContentLattice, classes: &Classes) -> Box<dyn Frontier> {
        match self {
            Structure::Single => Box::new(SingleFrontier::new(lattice)),
            Structure::Double => Box::new(DoubleFrontier::new(lattice, &classes.write_shares())),
        }
    }
}

/// Smallest accepted spare factor; a hundredth of that of any real drive.
const MIN_SPARE_FACTOR: f64 = 1e-5;

/// Drive with a workload and a cleaning policy, in the limit of many blocks.
pub struct MeanField<'a> {
    drive: Drive,
    classes: Classes,
    structure: Structure,
    selection: &'a dyn Selection,
    lattice: ContentLattice,
    max_evaluations: usize,
}

/// The steady state of a [`MeanField`].
#[derive(Clone, Debug)]
pub struct SteadyState {
    /// Page writes per page that the host writes, eq. (4): `b / E`.
    pub write_amplification: f64,
    /// `E`: pages that the host writes per victim.
    pub host_pages_per_victim: f64,
    /// `m_j`: fraction of the blocks with `j` valid pages, `j = 0..=b`.
    pub valid_pages: Vec<f64>,
    /// `p_j`: fraction of the victims with `j` valid pages.
    pub victim_valid_pages: Vec<f64>,
    /// Fraction of each class among the valid pages of victims, hottest first.
    pub moved_shares: Vec<f64>,
    /// Residual of the equations: the larger of the relative change by one more iteration and the largest relative
    /// error of the pages of a class.
    pub residual: f64,
    /// Number of evaluations of the equations.
    pub evaluations: usize,
    /// Distribution of the contents of full blocks; a starting point for the search on a similar drive.
    full_blocks: Vec<f64>,
}

/// Maximum number of contents of a full block; the solver keeps two arrays of this number times `b` doubles.
pub const MAX_CONTENTS: f64 = 250_000.0;

/// Maximum number of multiplications per evaluation: minutes for a solution.
const MAX_EFFORT: f64 = 2e9;

impl<'a> MeanField<'a> {
    /// Returns the model. Refuses models with too many states, and spare space so small that the search for the fixed
    /// point would take too long.
    pub fn new(
        drive: Drive,
        classes: Classes,
        structure: Structure,
        selection: &'a dyn Selection,
    ) -> Result<Self, TheoryError> {
        let pages = drive.pages_per_block() as usize;
        check_size(pages, classes.count(), structure)?;
        let spare_factor = drive.spare_factor();
        if spare_factor < MIN_SPARE_FACTOR {
            let problem = format!(
                "{spare_factor:?} is below {MIN_SPARE_FACTOR:?}, the least that the mean field takes"
            );
            return Err(TheoryError::parameter("spare_factor", problem));
        }
        let lattice = ContentLattice::new(pages, classes.count());
        Ok(MeanField { drive, classes, structure, selection, lattice, max_evaluations: usize::MAX })
    }

    /// Limits the search for the fixed point to about `evaluations` evaluations of the equations, over all methods. A
    /// search that reaches the limit fails with [`TheoryError::NotConverged`].
    #[must_use]
    pub fn with_max_evaluations(self, evaluations: usize) -> Self {
        MeanField { max_evaluations: evaluations, ..self }
    }

    /// Computes the fixed point of the mean field.
    pub fn steady_state(&self) -> Result<SteadyState, TheoryError> {
        let cyclic = InitialGuess::cyclic(&self.drive, &self.classes, self.structure, &self.lattice)?;
        self.solve_from(&cyclic).map(|found| self.state(found))
    }

    /// Computes the fixed point, starting from that of a similar model with the same number of classes and pages per
    /// block. The result is the same, with fewer evaluations.
    pub fn steady_state_near(&self, similar: &SteadyState) -> Result<SteadyState, TheoryError> {
        if similar.full_blocks.len() != self.lattice.size() {
            return self.steady_state();
        }
        let start = InitialGuess {
            full_blocks: similar.full_blocks.clone(),
            host_pages: similar.host_pages_per_victim,
        };
        self.solve_from(&start).map(|found| self.state(found))
    }

    fn state(&self, (levels, fit, found): SearchResult) -> SteadyState {
        let pages = f64::from(self.drive.pages_per_block());
        let moved: f64 = levels.class_victim_pages.iter().sum();
        SteadyState {
            write_amplification: pages / levels.host_pages(),
            host_pages_per_victim: levels.host_pages(),
            moved_shares: levels.class_victim_pages.iter().map(|pages| pages / moved).collect(),
            valid_pages: levels.masses,
            victim_valid_pages: levels.victims,
            residual: fit.error(),
            evaluations: fit.evaluations,
            full_blocks: found.full_blocks,
        }
    }

    /// Solves from `start` or, if that is too far from the solution, through drives with more spare space.
    fn solve_from(&self, start: &InitialGuess) -> Result<SearchResult, TheoryError> {
        let mut evaluations = 0;
        let mut found = self.search_by_first_method(start, &mut evaluations);
        if !found.1.is_accepted() && evaluations < self.max_evaluations {
            found = match self.solve_by_growing_blocks(&mut evaluations) {
                Some(found) => found,
                None => self.search(&self.drive, start, &mut evaluations),
            };
        }
        for stages in [8, 40] {
            if found.1.is_accepted() || evaluations >= self.max_evaluations {
                break;
            }
            found = self.solve_by_shrinking_spare(stages, &mut evaluations)?;
        }
        match found.1.is_accepted() {
            true => Ok(found),
            false => Err(self.not_converged(evaluations, found.1.error())),
        }
    }

    /// Returns a solver for `drive` that ends when all solvers together have made the allowed number of evaluations.
    fn solver<'b>(&'b self, drive: &'b Drive, evaluations: usize) -> Solver<'b> {
        let frontier = self.structure.frontier(&self.lattice, &self.classes);
        let remaining = self.max_evaluations.saturating_sub(evaluations);
        Solver::new(drive, &self.classes, self.selection, &self.lattice, frontier, remaining)
    }

    /// Solves by the first method alone, which nearly always converges.
    fn search_by_first_method(&self, start: &InitialGuess, evaluations: &mut usize) -> SearchResult {
        let mut solver = self.solver(&self.drive, *evaluations);
        let fit = solver.solve_first(start, self.structure == Structure::Single);
        *evaluations += fit.evaluations;
        (solver.levels, fit, solver.solution)
    }

    fn search(&self, drive: &Drive, start: &InitialGuess, evaluations: &mut usize) -> SearchResult {
        let mut solver = self.solver(drive, *evaluations);
        let fit = solver.solve(start, self.structure == Structure::Single);
        *evaluations += fit.evaluations;
        (solver.levels, fit, solver.solution)
    }

    /// Solves through a series of growing block sizes, each starting from the stretched distribution of the size
    /// before. As blocks grow, the number of pages of a class in a block varies less and less, so the cyclic guess
    /// misses the solution more and more. This is known to help only for one frontier and two classes; returns `None`
    /// otherwise.
    fn solve_by_growing_blocks(&self, evaluations: &mut usize) -> Option<SearchResult> {
        let pages = self.lattice.pages();
        let is_applicable = self.structure == Structure::Single && self.classes.count() == 2;
        // A custom selection law may be meant for this block size only.
        if !is_applicable || !self.selection.is_descending() || pages <= SMALL_BLOCK {
            return None;
        }
        let mut sizes: Vec<usize> = std::iter::successors(Some(pages), |size| {
            Some(size * 3 / 4).filter(|less| *less >= SMALL_BLOCK / 2)
        })
        .collect();
        let smallest = sizes.pop()?;
        let model_of_size = |size: usize| {
            let drive = Drive::new(size as u32, self.drive.spare_factor()).ok()?;
            let model = MeanField::new(drive, self.classes.clone(), self.structure, self.selection).ok()?;
            Some(model.with_max_evaluations(self.max_evaluations))
        };
        let model = model_of_size(smallest)?;
        let cyclic =
            InitialGuess::cyclic(&model.drive, &model.classes, model.structure, &model.lattice).ok()?;
        let mut found = model.search(&model.drive, &cyclic, evaluations);
        for size in sizes.into_iter().rev() {
            if !found.1.is_accepted() {
                return None;
            }
            let model = model_of_size(size)?;
            found = model.search(&model.drive, &found.2.stretched(size), evaluations);
        }
        Some(found)
    }

    /// Solves with decreasing spare space, from half of the drive to its own spare factor; each stage starts from the
    /// result of the one before.
    fn solve_by_shrinking_spare(
        &self,
        stages: i32,
        evaluations: &mut usize,
    ) -> Result<SearchResult, TheoryError> {
        let initial = self.drive.spare_factor().max(EASY_SPARE_FACTOR);
        let shrink = (self.drive.spare_factor() / initial).powf(1.0 / f64::from(stages));
        let begin = Drive::new(self.drive.pages_per_block(), initial)?;
        let cyclic = InitialGuess::cyclic(&begin, &self.classes, self.structure, &self.lattice)?;
        let (.., mut start) = self.search(&begin, &cyclic, evaluations);
        for stage in 1..stages {
            if *evaluations >= self.max_evaluations {
                break;
            }
            let stage_drive = Drive::new(self.drive.pages_per_block(), initial * shrink.powi(stage))?;
            start.host_pages *= shrink;
            (.., start) = self.search(&stage_drive, &start, evaluations);
        }
        Ok(self.search(&self.drive, &start, evaluations))
    }

    fn not_converged(&self, evaluations: usize, residual: f64) -> TheoryError {
        let parameters = format!(
            "b = {}, S_f = {}, {}, {:?} frontier, classes {:?}",
            self.drive.pages_per_block(),
            self.drive.spare_factor(),
            self.selection.describe(),
            self.structure,
            self.classes.as_slice()
        );
        TheoryError::NotConverged { evaluations, residual, parameters }
    }
}

/// Result of a search.
type SearchResult = (LevelPass, Residuals, InitialGuess);

/// Spare factor at which the cyclic guess is always close enough to the solution.
const EASY_SPARE_FACTOR: f64 = 0.5;

/// Largest block size, in pages, at which the cyclic guess is close enough to the solution.
const SMALL_BLOCK: usize = 64;

/// Evaluates every number of choices up to `max_choices` and finds the best; each search starts from the solution
/// before.
pub fn optimal_choices(
    drive: Drive,
    classes: &Classes,
    structure: Structure,
    max_choices: u32,
) -> Result<OptimalChoices, TheoryError> {
    let mut last: Option<SteadyState> = None;
    super::search::scan_choices(max_choices, |choices| {
        let selection = DChoices::new(f64::from(choices))?;
        let model = MeanField::new(drive, classes.clone(), structure, &selection)?;
        let state = match &last {
            Some(last) => model.steady_state_near(last),
            None => model.steady_state(),
        }?;
        let write_amplification = state.write_amplification;
        last = Some(state);
        Ok(write_amplification)
    })
}

/// Refuses models whose states need too much memory or hours of computation.
fn check_size(pages: usize, classes: usize, structure: Structure) -> Result<(), TheoryError> {
    let contents = ContentLattice::count(pages, classes);
    if contents <= MAX_CONTENTS
        && contents * pages as f64 <= 1e8
        && effort(pages, classes, structure) <= MAX_EFFORT
    {
        return Ok(());
    }
    let problem = format!(
        "{classes} classes in blocks of {pages} pages have {contents:.0} contents, too many to solve; merge classes \
         (Classes::merged) or extrapolate (ManyClasses)"
    );
    Err(TheoryError::parameter("classes", problem))
}

/// Estimates the multiplications of one evaluation.
pub(crate) fn effort(pages: usize, classes: usize, structure: Structure) -> f64 {
    let pages = pages as f64;
    match structure {
        Structure::Single => 10.0 * pages * ContentLattice::count(pages as usize, classes),
        Structure::Double => pages.powi(2) * pages.powi(classes as i32 - 1),
    }
}
