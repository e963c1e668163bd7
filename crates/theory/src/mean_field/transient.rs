//! Path of the mean field in time: eq. (6) and (9), from any initial state.

use super::frontier::Frontier;
use super::hot_set_moves::HotSetMoves;
use super::levels::LevelPass;
use super::{MeanField, Structure};
use crate::error::between;
use crate::{Classes, TheoryError};

/// Initial state of a drive on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InitialState {
    /// All blocks are erased and hold no data: the first writes fill the drive.
    Fresh,
    /// Every page was written once in address order, so pages of a class are adjacent; the remaining blocks are erased.
    Sequential,
    /// Steady state of uniform writes with the pages of all classes mixed: the initial state in the paper.
    Mixed,
}

/// Point on a path.
#[derive(Clone, Debug, PartialEq)]
pub struct PathPoint {
    /// Host writes so far, in logical capacities of the drive.
    pub drive_writes: f64,
    /// Write amplification since the previous point.
    pub write_amplification: f64,
    /// Fraction of the blocks that are erased and have not been written since the start.
    pub erased: f64,
    /// `m_j`: fraction of the blocks with `j` valid pages, `j = 0..=b`, not counting erased blocks.
    pub valid_pages: Vec<f64>,
    /// Pages of each class in an average block, `sum_c c_t m[c]`.
    pub class_pages: Vec<f64>,
}

/// Allowed error per step, 1-norm of the distribution of blocks: far below what is visible on a drive of a million
/// blocks.
const TOLERANCE: f64 = 1e-7;

/// Allowed deviation from the time of a point, in drive writes.
const TIME_TOLERANCE: f64 = 1e-9;

/// Minimum distance of points in drive writes: far more than their allowed deviation.
const MIN_POINT_DISTANCE: f64 = 1e-6;

/// Maximum length of a path, in drive writes.
const MAX_DRIVE_WRITES: f64 = 1e6;
/// Maximum number of points of a path.
const MAX_POINTS: usize = 1_000_000;

/// Maximum number of steps of a path.
const MAX_STEPS: usize = 2_000_000;

impl MeanField<'_> {
    /// Computes the path from `from` over `drive_writes`, at `points` equal distances.
    ///
    /// # Errors
    /// Returns an error for a victim policy without a smooth law; for no points, more than a million, or points less
    /// than a millionth of a drive write apart. Also fails for a path of more than a million drive writes, and for one
    /// that takes too many steps.
    pub fn transient(
        &self,
        from: InitialState,
        drive_writes: f64,
        points: usize,
    ) -> Result<Vec<PathPoint>, TheoryError> {
        self.path(from, drive_writes, points, None)
    }

    /// Computes the path with a hot set that moves to cold pages once per `every` drive writes.
    ///
    /// # Errors
    /// Returns an error unless there are two classes, for a hot set of more than half the pages (it would overlap the
    /// next one), and for everything that [`MeanField::transient`] refuses.
    pub fn transient_moving(
        &self,
        from: InitialState,
        drive_writes: f64,
        points: usize,
        every: f64,
    ) -> Result<Vec<PathPoint>, TheoryError> {
        let moves = HotSetMoves::new(&self.classes, &self.lattice, every, drive_writes)?;
        self.path(from, drive_writes, points, Some(moves))
    }

    fn path(
        &self,
        from: InitialState,
        drive_writes: f64,
        points: usize,
        mut moves: Option<HotSetMoves>,
    ) -> Result<Vec<PathPoint>, TheoryError> {
        self.selection.check_smooth()?;
        between("drive_writes", drive_writes, 0.0, MAX_DRIVE_WRITES)?;
        if points == 0 {
            return Err(TheoryError::parameter("points", "0 leaves nothing to show"));
        }
        if points > MAX_POINTS {
            return Err(TheoryError::parameter("points", format!("{points} is more than {MAX_POINTS}")));
        }
        let least = MIN_POINT_DISTANCE * points as f64;
        if drive_writes < least {
            let reason =
                format!("{drive_writes} is too short for {points} points, which take {least} or more");
            return Err(TheoryError::parameter("drive_writes", reason));
        }
        let mut path = PathIntegrator::new(self, from)?;
        let mut path_points = Vec::with_capacity(points);
        for point in 1..=points {
            path_points
                .push(path.advance_to_point(drive_writes * point as f64 / points as f64, moves.as_mut())?);
        }
        Ok(path_points)
    }
}

/// Integrates with the pairs of Bogacki and Shampine, order 3 with an estimate of order 2 (Appl. Math. Lett. 2(4),
/// 1989).
///
/// The system is stiff in the hazards of the lowest levels. Stability rather than accuracy limits the step, so higher
/// orders gain nothing.
struct PathIntegrator<'a> {
    model: &'a MeanField<'a>,
    frontier: Box<dyn Frontier>,
    levels: LevelPass,
    /// Distribution of the contents of blocks filled by the host alone.
    fresh: Vec<f64>,
    /// State `m`, level by level.
    state: Vec<f64>,
    erased: f64,
    drive_writes: f64,
    step: f64,
    slopes: [Vec<f64>; 4],
    trial: Vec<f64>,
    contents: Vec<f64>,
}

impl<'a> PathIntegrator<'a> {
    fn new(model: &'a MeanField<'a>, from: InitialState) -> Result<Self, TheoryError> {
        let lattice = &model.lattice;
        let length = (lattice.pages() + 1) * lattice.size();
        let (state, erased) = initial_state(model, from)?;
        let empty = || vec![0.0; length];
        Ok(PathIntegrator {
            frontier: model.structure.frontier(lattice, &model.classes),
            levels: LevelPass::new(lattice),
            fresh: lattice.multinomial(lattice.pages(), &model.classes.write_shares()),
            state,
            erased,
            drive_writes: 0.0,
            step: 1e-3,
            slopes: [empty(), empty(), empty(), empty()],
            trial: empty(),
            contents: vec![0.0; lattice.size()],
            model,
        })
    }

    /// Advances until the host has written `until` drive writes, and applies the moves of the hot set that are due
    /// before then.
    fn advance_to_point(
        &mut self,
        until: f64,
        moves: Option<&mut HotSetMoves>,
    ) -> Result<PathPoint, TheoryError> {
        let (begin, mut victims) = (self.drive_writes, 0.0);
        if let Some(moves) = moves {
            while moves.next() < until {
                victims += self.advance(moves.next())?;
                moves.apply(&self.model.lattice, &mut self.state);
            }
        }
        victims += self.advance(until)?;
        Ok(self.point(victims, begin))
    }

    /// Advances until the host has written `until` drive writes; returns the victims per block.
    fn advance(&mut self, until: f64) -> Result<f64, TheoryError> {
        let mut victims = 0.0;
        for _ in 0..MAX_STEPS {
            let remaining = until - self.drive_writes;
            if remaining <= TIME_TOLERANCE {
                return Ok(victims);
            }
            victims += self.step_towards(remaining);
        }
        Err(self.model.not_converged(MAX_STEPS, f64::NAN))
    }

    fn point(&mut self, victims: f64, begin: f64) -> PathPoint {
        let lattice = &self.model.lattice;
        let mut class_pages = vec![0.0; lattice.classes()];
        let mut valid_pages = Vec::with_capacity(lattice.pages() + 1);
        for (level, of) in self.state.chunks(lattice.size()).enumerate() {
            lattice.add_class_pages(level, of, &mut class_pages);
            valid_pages.push(lattice.total(level, of));
        }
        let written = victims / self.model.drive.load();
        PathPoint {
            drive_writes: self.drive_writes,
            write_amplification: written / (self.drive_writes - begin),
            erased: self.erased,
            valid_pages,
            class_pages,
        }
    }

    /// Makes one accepted step of at most `remaining` drive writes; returns its length in victims per block.
    fn step_towards(&mut self, remaining: f64) -> f64 {
        let mean_valid_pages = self.model.drive.mean_valid_pages();
        let cleans = self.erased <= 0.0;
        let mut slopes = std::mem::take(&mut self.slopes);
        let mut trial = std::mem::take(&mut self.trial);
        let state = std::mem::take(&mut self.state);
        let host_pages = self.drift(&state, cleans, &mut slopes[0]);
        let mut longest = remaining * mean_valid_pages / host_pages;
        if !cleans {
            longest = longest.min(self.erased);
        }
        loop {
            let step = self.step.min(longest);
            combine(&state, step, &[(0.5, &slopes[0])], &mut trial);
            let second = self.drift(&trial, cleans, &mut slopes[1]);
            combine(&state, step, &[(0.75, &slopes[1])], &mut trial);
            let third = self.drift(&trial, cleans, &mut slopes[2]);
            let weights = [(2.0 / 9.0, &slopes[0]), (1.0 / 3.0, &slopes[1]), (4.0 / 9.0, &slopes[2])];
            combine(&state, step, &weights, &mut trial);
            self.drift(&trial, cleans, &mut slopes[3]);
            let error = step * difference(&slopes);
            let factor = (0.9 * (TOLERANCE / error.max(1e-300)).powf(1.0 / 3.0)).clamp(0.2, 2.0);
            let is_accepted = error <= TOLERANCE;
            // A step shortened to reach an output point is no evidence against longer steps.
            if !is_accepted || step == self.step {
                self.step = step * factor;
            }
            if is_accepted {
                let pages = host_pages * 2.0 / 9.0 + second / 3.0 + third * 4.0 / 9.0;
                self.drive_writes += step * pages / mean_valid_pages;
                self.erased = if cleans || step >= self.erased { 0.0 } else { self.erased - step };
                self.state = trial;
                self.normalise();
                (self.slopes, self.trial) = (slopes, state);
                return step;
            }
        }
    }

    /// Scales the blocks to sum to the fraction that is not erased: with two frontiers the sum is unstable under
    /// rounding.
    fn normalise(&mut self) {
        let sum: f64 = self.state.iter().sum();
        let scale = (1.0 - self.erased) / sum;
        self.state.iter_mut().for_each(|share| *share *= scale);
    }

    /// Writes to `slope` the change of `state` per victim (times the number of blocks); returns the host's pages.
    fn drift(&mut self, state: &[f64], cleans: bool, slope: &mut [f64]) -> f64 {
        let lattice = &self.model.lattice;
        let (pages, size) = (lattice.pages(), lattice.size());
        if cleans {
            self.select(state);
        }
        let host_pages = if cleans { self.levels.host_pages() } else { pages as f64 };
        let rate = host_pages / self.model.drive.mean_valid_pages();
        let rates: Vec<f64> =
            self.model.classes.as_slice().iter().map(|class| rate * class.relative_rate()).collect();
        let full = &mut slope[pages * size..];
        if cleans {
            self.frontier.fill(lattice, &self.model.classes.write_shares(), &self.levels, full);
        } else {
            full.copy_from_slice(&self.fresh);
        }
        for level in (0..=pages).rev() {
            let of = &state[level * size..(level + 1) * size];
            let (below, at_level) = slope.split_at_mut(level * size);
            for row in lattice.rows().iter().filter(|row| row.sum <= level) {
                let span = lattice.span(row, level);
                let (first, step) = lattice.loss_rate(row, level, &rates);
                let taken = &self.levels.selected[level][span.clone()];
                let entries = at_level[span.clone()].iter_mut().zip(&of[span]).zip(taken);
                for (i, ((slope, content), taken)) in entries.enumerate() {
                    *slope -= (first + i as f64 * step) * content + if cleans { *taken } else { 0.0 };
                }
            }
            if level > 0 {
                self.contents.fill(0.0);
                lattice.remove_page(level, &rates, of, &mut self.contents);
                below[(level - 1) * size..].copy_from_slice(&self.contents);
            }
        }
        host_pages
    }

    /// Selects victims from `state`: `p_j`, and by content `p_j m[c] / m_j`.
    fn select(&mut self, state: &[f64]) {
        let lattice = &self.model.lattice;
        let size = lattice.size();
        for (level, of) in state.chunks(size).enumerate() {
            self.levels.masses[level] = lattice.total(level, of);
        }
        let (masses, victims) = (&self.levels.masses, &mut self.levels.victims);
        self.model.selection.probabilities(masses, self.model.drive.mean_valid_pages(), victims);
        for (level, of) in state.chunks(size).enumerate() {
            let mass = self.levels.masses[level];
            let hazard = if mass != 0.0 { self.levels.victims[level] / mass } else { 0.0 };
            for (taken, content) in self.levels.selected[level].iter_mut().zip(of) {
                *taken = hazard * content;
            }
        }
    }
}

/// Returns the initial state of the blocks, and the fraction that is erased.
fn initial_state(model: &MeanField, from: InitialState) -> Result<(Vec<f64>, f64), TheoryError> {
    let lattice = &model.lattice;
    let (pages, size) = (lattice.pages(), lattice.size());
    let mut state = vec![0.0; (pages + 1) * size];
    let erased = match from {
        InitialState::Fresh => 1.0,
        InitialState::Sequential => {
            let shares = model.classes.as_slice().iter().map(|class| class.space_share);
            for (class, share) in shares.enumerate() {
                state[pages * size + lattice.pure(class)] += model.drive.load() * share;
            }
            model.drive.spare_factor()
        }
        InitialState::Mixed => {
            let uniform =
                MeanField::new(model.drive, Classes::uniform(), Structure::Single, model.selection)?;
            let masses = uniform.steady_state()?.valid_pages;
            let shares: Vec<f64> = model.classes.as_slice().iter().map(|class| class.space_share).collect();
            for (level, mass) in masses.iter().enumerate() {
                let distribution = lattice.multinomial(level, &shares);
                lattice.add(level, *mass, &distribution, &mut state[level * size..(level + 1) * size]);
            }
            0.0
        }
    };
    Ok((state, erased))
}

/// Computes `to = state + step * sum of weighted slopes`.
fn combine(state: &[f64], step: f64, slopes: &[(f64, &Vec<f64>)], to: &mut [f64]) {
    to.copy_from_slice(state);
    for (weight, slope) in slopes {
        for (to, slope) in to.iter_mut().zip(slope.iter()) {
            *to += step * weight * slope;
        }
    }
}

/// Returns the 1-norm of the difference between the results of order 3 and 2, for a step of length one.
fn difference(slopes: &[Vec<f64>; 4]) -> f64 {
    let [first, second, third, fourth] = slopes;
    let pairs = first.iter().zip(second).zip(third).zip(fourth);
    pairs.map(|(((a, b), c), d)| (-5.0 / 72.0 * a + b / 12.0 + c / 9.0 - d / 8.0).abs()).sum()
}
