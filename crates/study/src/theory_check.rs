//! Comparison of the simulator with the mean field, on a grid of random points.
//!
//! Both describe the same drive: blocks cleaned in place, d-choices, pages of a victim in random order. The mean field
//! is the limit of very many blocks. The remaining difference has two causes: noise, which an interval over replicas
//! bounds, and the finite number of blocks, for which [`PointComparison::allowance`] is fixed in advance.

use super::measurement::{MeasureError, measure, resolve};
use super::points::Point;
use super::sweep::{SweepObserver, SweepOptions};
use rand::Rng;
use rayon::prelude::*;
use serde_json::{Value, json};
use statrs::distribution::{ContinuousCDF, StudentsT};
use std::collections::BTreeMap;
use wearwell_base::seed::Seed;
use wearwell_stack::scenario::Scenario;
use wearwell_theory::mean_field::{MeanField, Structure};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Classes, Drive, TheoryError};

/// Drive and load that both theory and simulator support.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TheoryCheckPoint {
    /// Number of write frontiers.
    pub structure: Structure,
    /// Pages per block, `b`.
    pub pages_per_block: u32,
    /// Spare factor, `S_f`.
    pub spare_factor: f64,
    /// Number of choices, `d`.
    pub choices: u32,
    /// Fraction of writes to hot pages, `r`.
    pub hot_writes: f64,
    /// Fraction of hot pages, `f`.
    pub hot_space: f64,
}

/// Options for simulating the grid.
#[derive(Clone, Copy, Debug)]
pub struct CheckOptions<'a> {
    /// Number of blocks of each drive.
    pub blocks: u32,
    /// Runs per point, with the seeds `1..=runs`; 2 or more.
    pub runs: u32,
    /// Executor of the runs, and number of threads for the theory.
    pub sweep: SweepOptions<'a>,
}

/// Comparison of theory and simulation at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct PointComparison {
    /// Point that was compared.
    pub point: TheoryCheckPoint,
    /// Write amplification by the mean field, for very many blocks.
    pub theory: f64,
    /// Write amplification by the mean field without the spare space that two frontiers hold back, see
    /// [`TheoryCheckPoint::held_back`].
    pub theory_finite: f64,
    /// Simulated write amplification, mean over the runs.
    pub simulated: f64,
    /// Half-width of the 95 % interval of `simulated`, by Student's t.
    pub half_width: f64,
    /// Half-width at a higher level, at which the intervals of all points together hold with 95 %, if theory is correct
    /// (Sidak).
    pub family_half_width: f64,
    /// Allowance for the finite number of blocks: one block of spare space.
    ///
    /// Write amplification falls about as the inverse of the spare space, `blocks * S_f` blocks. Frontiers and the
    /// current victim are of the order of one block. So is the square of the fluctuation of the number of blocks with
    /// `j` valid pages, divided by the number of blocks. The rule is fixed in advance, not fitted.
    pub allowance: f64,
    /// Drive writes of warm-up and, equally many, of measurement.
    pub drive_writes: f64,
}

impl PointComparison {
    /// Returns simulation minus theory for the finite number of blocks.
    pub fn difference(&self) -> f64 {
        self.simulated - self.theory_finite
    }

    /// Returns the difference in blocks of spare space. In this unit, an error of the order of one over the number of
    /// blocks is constant.
    pub fn blocks_of_spare(&self) -> f64 {
        self.difference() / self.allowance
    }

    /// True if the point agrees at the level of a single point; by chance, 5 % of correct points fail.
    pub fn agrees_alone(&self) -> bool {
        self.difference().abs() <= self.half_width + self.allowance
    }

    /// True if the point agrees at the level of all points together.
    pub fn agrees(&self) -> bool {
        self.difference().abs() <= self.family_half_width + self.allowance
    }
}

/// Reason why there is no comparison.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// The theory has no solution, or a parameter is out of range.
    #[error(transparent)]
    Theory(#[from] TheoryError),
    /// Simulations were not executed, or their results are unusable.
    #[error(transparent)]
    Measure(#[from] MeasureError),
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(#[from] rayon::ThreadPoolBuildError),
}

/// Block sizes on the grid, in pages.
pub const BLOCK_SIZES: &[u32] = &[4, 8, 16, 32, 64];

/// Longest turnover of the slower class on the grid, in drive writes; each run takes more than ten times as long.
const MAX_TURNOVER: f64 = 12.0;

/// Returns `points` random points: blocks of `sizes`, spare factors 0.05 to 0.3, 1 to 30 choices, `r` and `f` 0.05 to
/// 0.95.
///
/// The structures alternate. Pairs of `r` and `f` with a class that is not overwritten for more than twelve drive
/// writes are drawn again, because they take too long to settle.
pub fn grid(points: usize, seed: u64, sizes: &[u32]) -> Vec<TheoryCheckPoint> {
    let mut random = Seed(seed).derive("theory check").random();
    // Values are rounded, so that a point can be repeated from the output.
    let mut share = |low: u32, high: u32, unit: f64| f64::from(random.random_range(low..=high)) / unit;
    let mut points_drawn = Vec::with_capacity(points);
    while points_drawn.len() < points {
        let structure = [Structure::Single, Structure::Double][points_drawn.len() % 2];
        let size = share(0, sizes.len() as u32 - 1, 1.0) as usize;
        let point = TheoryCheckPoint {
            structure,
            pages_per_block: sizes[size],
            spare_factor: share(50, 300, 1000.0),
            choices: share(1, 30, 1.0) as u32,
            hot_writes: share(5, 95, 100.0),
            hot_space: share(5, 95, 100.0),
        };
        if point.turnover() <= MAX_TURNOVER {
            points_drawn.push(point);
        }
    }
    points_drawn
}

/// Minimum warm-up in drive writes.
const MIN_WARM_UP: f64 = 20.0;
/// Warm-up in turnovers of the slower class.
const WARM_UP_TURNOVERS: f64 = 5.0;

/// Drive writes of uniform overwrites before the workload, which mix the classes.
const MIXING_DRIVE_WRITES: f64 = 2.0;

impl TheoryCheckPoint {
    /// Returns the drive writes after which each page of the slower class was overwritten once on average.
    fn turnover(&self) -> f64 {
        let (r, f) = (self.hot_writes, self.hot_space);
        ((1.0 - f) / (1.0 - r)).max(f / r)
    }

    /// Returns the drive writes of warm-up: five turnovers of the slower class, which leave less than 1 % of the
    /// initial state.
    pub fn warm_up(&self) -> f64 {
        (WARM_UP_TURNOVERS * self.turnover()).max(MIN_WARM_UP)
    }

    /// Returns the spare space that the erased pages of the internal frontier take, as a fraction of a drive of
    /// `blocks` blocks.
    ///
    /// When a drive with two frontiers selects a victim, the host's frontier is full and the internal one has 0 to
    /// `b - 1` erased pages, each number with equal probability (`mean_field/double.rs`): `(b - 1) / 2` pages of
    /// `b * blocks`. A single frontier is full whenever a victim is selected.
    pub fn held_back(&self, blocks: u32) -> f64 {
        let pages = f64::from(self.pages_per_block);
        match self.structure {
            Structure::Single => 0.0,
            Structure::Double => (pages - 1.0) / (2.0 * pages * f64::from(blocks)),
        }
    }

    /// Computes the write amplification by the mean field, for the spare factor of a drive of `blocks` blocks minus
    /// `held_back`.
    ///
    /// Whole pages change the spare factor and the fraction of hot pages slightly.
    fn theory(&self, blocks: u32, held_back: f64) -> Result<f64, TheoryError> {
        let physical = f64::from(blocks) * f64::from(self.pages_per_block);
        let logical = (physical * (1.0 - self.spare_factor)).round();
        let hot_space = (logical * self.hot_space).round() / logical;
        let drive = Drive::new(self.pages_per_block, 1.0 - logical / physical - held_back)?;
        let classes = Classes::hot_cold(self.hot_writes, hot_space)?;
        let selection = DChoices::new(f64::from(self.choices))?;
        let state = MeanField::new(drive, classes, self.structure, &selection)?.steady_state()?;
        Ok(state.write_amplification)
    }

    /// Returns the placement with these write frontiers.
    fn placement(&self) -> &'static str {
        match self.structure {
            Structure::Single => "single",
            Structure::Double => "double",
        }
    }

    /// Returns the parameters that identify the point, as keys of a scenario.
    fn settings(&self) -> BTreeMap<String, Value> {
        let settings = [
            ("device.pages_per_block", json!(self.pages_per_block)),
            ("device.spare_factor", json!(self.spare_factor)),
            ("ftl.placement", json!(self.placement())),
            ("ftl.victim.choices", json!(self.choices)),
            ("workload.hot_space", json!(self.hot_space)),
            ("workload.hot_writes", json!(self.hot_writes)),
        ];
        settings.map(|(key, value)| (key.to_owned(), value)).into()
    }

    /// Returns the point as a scenario for the simulator.
    pub fn scenario(&self, blocks: u32, seed: u64) -> Scenario {
        let scenario = json!({
            "seed": seed,
            "device": {
                "blocks_per_plane": blocks,
                "pages_per_block": self.pages_per_block,
                "spare_factor": self.spare_factor,
            },
            "ftl": {
                "victim": { "policy": "d_choices", "choices": self.choices },
                "placement": self.placement(),
                "reclaim": "in_place",
                "copy_order": "random",
            },
            "precondition": { "random_overwrites": MIXING_DRIVE_WRITES },
            "workload": { "kind": "hot_cold", "hot_writes": self.hot_writes, "hot_space": self.hot_space },
            "measure": { "warm_up": self.warm_up(), "drive_writes": self.warm_up(), "window": 1.0 },
        });
        Scenario::read(&scenario).expect("the keys of a scenario")
    }
}

/// Probability that all points together agree, if theory is correct.
const CONFIDENCE: f64 = 0.95;

/// Simulates and compares every point; the result does not depend on the number of threads, and is in the order of the
/// points.
pub fn check(
    points: &[TheoryCheckPoint],
    options: &CheckOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Vec<PointComparison>, CheckError> {
    if options.runs < 2 {
        let problem = format!("{} runs have no interval; give 2 or more", options.runs);
        return Err(TheoryError::parameter("runs", problem).into());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(options.sweep.threads.unwrap_or(0)).build()?;
    let theory: Result<Vec<(f64, f64)>, TheoryError> = pool.install(|| {
        let both = |point: &TheoryCheckPoint| {
            let held_back = point.held_back(options.blocks);
            Ok((point.theory(options.blocks, 0.0)?, point.theory(options.blocks, held_back)?))
        };
        points.par_iter().map(both).collect()
    });
    let theory = theory?;
    let simulated = simulate(points, options, observer)?;
    let family = 1.0 - CONFIDENCE.powf(1.0 / points.len().max(1) as f64);
    let runs = f64::from(options.runs);
    let students = StudentsT::new(0.0, 1.0, runs - 1.0).expect("at least one degree of freedom");
    let (point_quantile, family_quantile) =
        (students.inverse_cdf(0.975), students.inverse_cdf(1.0 - 0.5 * family));
    let compared = points.iter().zip(theory).zip(simulated.chunks(options.runs as usize));
    let compared = compared.map(|((point, (theory, theory_finite)), values)| {
        let mean = values.iter().sum::<f64>() / runs;
        let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (runs - 1.0);
        let error = (variance / runs).sqrt();
        PointComparison {
            point: *point,
            theory,
            theory_finite,
            simulated: mean,
            half_width: point_quantile * error,
            family_half_width: family_quantile * error,
            allowance: theory_finite / (f64::from(options.blocks) * point.spare_factor),
            drive_writes: point.warm_up(),
        }
    });
    Ok(compared.collect())
}

/// Returns the write amplification of every run, point by point and within a point seed by seed.
fn simulate(
    points: &[TheoryCheckPoint],
    options: &CheckOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Vec<f64>, MeasureError> {
    let all = points.iter().flat_map(|of| (0..options.runs).map(move |replica| (of, replica)));
    let all = all.map(|(of, replica)| {
        let scenario = resolve(of.scenario(options.blocks, u64::from(replica) + 1))?;
        Ok(Point { settings: of.settings(), replica, scenario })
    });
    let all = all.collect::<Result<Vec<Point>, MeasureError>>()?;
    measure(all, &options.sweep, observer, |write_amplification, _| write_amplification)
}
