//! Moving hot set: the grid for the question of the best number of choices, the mean-field prediction of each point,
//! and the scenario for its simulation.

use crate::Failure;
use crate::replicas::{phases, scenario};
use crate::session::Session;
use crate::table::Fields;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use wearwell_stack::Scenario;
use wearwell_theory::mean_field::{InitialState, MeanField, Structure};
use wearwell_theory::selection::DChoices;
use wearwell_theory::{Classes, Drive};

/// Shares of the writes and of the space that are hot, `(r, f)`.
pub const LOADS: [(f64, f64); 3] = [(0.8, 0.2), (0.9, 0.1), (0.95, 0.05)];

/// Number of pages per block.
const PAGES_PER_BLOCK: u32 = 32;

/// Number of drive writes of the warm-up, and also of the measurement. Both are as long as the longest period, so that
/// whole periods are measured.
const DRIVE_WRITES: f64 = 20.0;

/// Number of points of the path within the measured drive writes.
const POINTS: usize = 20;

/// Drives, periods and numbers of choices of the grid.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Settings {
    /// Number of runs of each scenario.
    pub runs: u64,
    /// Length of warm-up and measurement, as a multiple of the rule, which is twenty drive writes for each.
    pub length: f64,
    /// Spare factors.
    pub spare_factors: Vec<f64>,
    /// Drive writes between two moves of the hot set.
    pub periods: Vec<f64>,
    /// Numbers of choices.
    pub choices: Vec<u32>,
    /// Number of blocks of the simulated drives.
    pub blocks: u32,
}

/// A drive with a hot set that moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MovingDrive {
    /// Spare factor.
    pub spare_factor: f64,
    /// Share of the writes that is hot.
    pub hot_writes: f64,
    /// Share of the space that is hot.
    pub hot_space: f64,
    /// Drive writes between two moves.
    pub period: f64,
}

impl Settings {
    /// Returns all drives.
    pub fn drives(&self) -> Vec<MovingDrive> {
        let mut drives = Vec::new();
        for &spare_factor in &self.spare_factors {
            for (hot_writes, hot_space) in LOADS {
                let drive_of = |&period: &f64| MovingDrive { spare_factor, hot_writes, hot_space, period };
                drives.extend(self.periods.iter().map(drive_of));
            }
        }
        drives
    }
}

impl MovingDrive {
    /// Returns the first fields of the drive's rows.
    pub fn fields(&self) -> Fields {
        Fields::default()
            .text("S_f", self.spare_factor)
            .text("r", self.hot_writes)
            .text("f", self.hot_space)
            .text("period", self.period)
    }

    /// Returns the name of the drive as a case of a statement.
    pub fn name(&self) -> String {
        let MovingDrive { spare_factor, hot_writes, hot_space, period } = self;
        format!("S_f = {spare_factor}; r = {hot_writes}; f = {hot_space}; every {period}")
    }

    /// Returns the write amplification by the mean field with two frontiers, over the measured drive writes.
    ///
    /// # Errors
    ///
    /// Returns an error for parameters that the mean field does not support.
    pub fn mean_field_amplification(&self, choices: u32, length: f64) -> Result<f64, Failure> {
        let selection = DChoices::new(f64::from(choices))?;
        let drive = Drive::new(PAGES_PER_BLOCK, self.spare_factor)?;
        let classes = Classes::hot_cold(self.hot_writes, self.hot_space)?;
        let model = MeanField::new(drive, classes, Structure::Double, &selection)?;
        let all = 2.0 * DRIVE_WRITES * length;
        let path = model.transient_moving(InitialState::Mixed, all, 2 * POINTS, self.period)?;
        let measured = path[POINTS..].iter().map(|point| point.write_amplification);
        Ok(measured.sum::<f64>() / POINTS as f64)
    }

    /// Returns the scenario of the drive with this victim policy, in TOML. The hot set moves around the space in
    /// steps of its size.
    ///
    /// # Errors
    ///
    /// Returns an error if the scenario cannot be read.
    pub fn scenario(&self, victim: &str, settings: &Settings) -> Result<Scenario, Failure> {
        let MovingDrive { spare_factor, hot_writes, hot_space, period } = self;
        let phases = phases(2.0, DRIVE_WRITES * settings.length);
        let mut text = format!(
            r#"
            [device]
            blocks_per_plane = {blocks}
            pages_per_block = {PAGES_PER_BLOCK}
            spare_factor = {spare_factor:?}
            [ftl]
            victim = {victim}
            placement = "double"
            reclaim = "in_place"
            copy_order = "random"
            {phases}
            [workload]
            kind = "phases"
            repeat = true
            "#,
            blocks = settings.blocks
        );
        let steps = (1.0 / hot_space).round() as u32;
        for step in 0..steps {
            let shift = f64::from(step) / f64::from(steps);
            let hot_cold =
                format!("kind = \"hot_cold\", hot_writes = {hot_writes:?}, hot_space = {hot_space:?}");
            let _ = writeln!(
                text,
                "[[workload.phases]]\nwrites = {period:?}\nworkload = {{ {hot_cold}, shift = {shift:?} }}"
            );
        }
        scenario(&text)
    }
}

/// A point of the prediction.
#[derive(Clone, Debug, Serialize)]
struct PredictionPoint {
    #[serde(rename = "place")]
    drive: MovingDrive,
    choices: u32,
    length: f64,
}

/// Returns the mean-field predictions of each drive, one value per number of choices.
///
/// # Errors
///
/// The errors of [`MovingDrive::mean_field_amplification`].
pub fn predict(session: &Session, settings: &Settings) -> Result<Vec<Vec<f64>>, Failure> {
    let length = settings.length;
    let drives = settings.drives();
    let points: Vec<PredictionPoint> = drives
        .iter()
        .flat_map(|&place| {
            settings.choices.iter().map(move |&choices| PredictionPoint { drive: place, choices, length })
        })
        .collect();
    let found = session.compute_each("mean field, moving", &points, |asked| {
        asked.drive.mean_field_amplification(asked.choices, asked.length)
    })?;
    Ok(found.chunks(settings.choices.len()).map(<[f64]>::to_vec).collect())
}

/// Returns the index of the smallest value.
pub fn index_of_least(values: &[f64]) -> usize {
    (0..values.len()).min_by(|&a, &b| values[a].total_cmp(&values[b])).unwrap_or(0)
}

/// Returns the excess of `value` over the smallest value of `all`, in per cent of the smallest value.
pub fn regret_percent(value: f64, all: &[f64]) -> f64 {
    100.0 * (value / all[index_of_least(all)] - 1.0)
}
