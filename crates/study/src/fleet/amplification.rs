//! Write amplification of a fleet's drives: by theory, or by simulation where theory has no model.

use super::config::Simulation;
use super::plan::{Plan, Template};
use super::scaled::{Scale, SimulatedDrive, point, scaled_down, simulate};
use super::surface::{GridResolution, Surface};
use super::{FleetError, estimate::student_half_width};
use crate::points::Point;
use crate::prediction::{PredictionEffort, PredictionError, predict_alone};
use crate::sweep::{SweepObserver, SweepOptions};
use rayon::prelude::*;
use serde::Serialize;
use wearwell_base::seed::Seed;
use wearwell_stack::RunError;

/// Basis of the figures for one kind of drive under one kind of load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Basis {
    /// Setting: `as it is`, or a what-if.
    pub setting: String,
    /// Group of drives.
    pub group: String,
    /// Name of the tenant.
    pub tenant: String,
    /// Method: `theory` or `simulation`.
    pub method: &'static str,
    /// Name of the model, or the reason why there is none.
    pub model: String,
    /// Number of points solved or simulated.
    pub points: usize,
    /// Largest relative error of the interpolation between points; 0 without interpolation.
    pub interpolation_error: f64,
    /// For simulated points, the largest relative half-width of a 95 % interval.
    pub simulation_error: Option<f64>,
    /// For simulated points, the smaller drive that was simulated.
    pub scale: Option<Scale>,
    /// Differences between the model and the scenario.
    pub notes: Vec<String>,
}

/// Write amplification of a template with its basis.
#[derive(Clone, Debug)]
pub struct TemplateModel {
    /// Interpolated surface over the drawn parameters.
    pub surface: Surface,
    method: &'static str,
    model: String,
    simulation_error: Option<f64>,
    scale: Option<Scale>,
    notes: Vec<String>,
}

/// Theory has no noise. Points are added until the error is a few tenths of a per cent, less than the error of the
/// models.
const THEORY_RESOLUTIONS: [GridResolution; 4] = [
    GridResolution { first: 4, last: 4, tolerance: THEORY_TOLERANCE },
    GridResolution { first: 4, last: 16, tolerance: THEORY_TOLERANCE },
    GridResolution { first: 4, last: 8, tolerance: THEORY_TOLERANCE },
    GridResolution { first: 2, last: 8, tolerance: THEORY_TOLERANCE },
];
const THEORY_TOLERANCE: f64 = 3e-3;

/// Simulated points cost more, and are not exact.
const SIMULATION_RESOLUTION: GridResolution = GridResolution { first: 2, last: 4, tolerance: 0.02 };

/// Computes the write amplification of every template of the plan, in order.
///
/// # Errors
/// Returns an error for a template without a model if simulation is not allowed, if the theory has no solution, and if
/// a run fails.
pub fn template_models(
    plan: &Plan,
    sweep: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Vec<TemplateModel>, FleetError> {
    plan.templates
        .iter()
        .enumerate()
        .map(|(at, template)| template_model(plan, at, template, sweep, observer))
        .collect()
}

fn template_model(
    plan: &Plan,
    at: usize,
    template: &Template,
    sweep: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<TemplateModel, FleetError> {
    let medians: Vec<f64> =
        template.axes.iter().map(|(_, distribution)| distribution.quantile(0.5)).collect();
    let scenario = template.at(&medians)?;
    match predict_alone(&scenario, PredictionEffort::Minimal) {
        Ok(found) => {
            let solve = |points: &[Vec<f64>]| predict_points(template, points, observer);
            let distributions: Vec<_> = template.axes.iter().map(|(_, distribution)| distribution).collect();
            let surface = Surface::solve(&distributions, THEORY_RESOLUTIONS[template.axes.len()], solve)?;
            let (model, notes) = (found.model, found.notes);
            Ok(TemplateModel { surface, method: "theory", model, simulation_error: None, scale: None, notes })
        }
        Err(PredictionError::NoModel(why)) => match plan.fleet.simulation {
            Some(simulation) => {
                let seed = Seed(plan.fleet.seed).derive("fleet").derive(&format!("template {at}"));
                simulate_template(template, simulation, seed, why, |points| simulate(points, sweep, observer))
            }
            None => Err(FleetError::NoModel { of: template.first_user.clone(), why }),
        },
        Err(error) => Err(FleetError::Prediction { of: template.first_user.clone(), error }),
    }
}

fn predict_points(
    template: &Template,
    points: &[Vec<f64>],
    observer: &dyn SweepObserver,
) -> Result<Vec<f64>, FleetError> {
    let predict_point = |(at, point): (usize, &Vec<f64>)| {
        if observer.begin(at).is_break() {
            return Err(FleetError::Run(RunError::Interrupted));
        }
        let found = predict_alone(&template.at(point)?, PredictionEffort::Minimal);
        let failed = |error| FleetError::Prediction { of: template.first_user.clone(), error };
        Ok(found.map_err(failed)?.write_amplification)
    };
    points.par_iter().enumerate().with_max_len(1).map(predict_point).collect()
}

fn simulate_template(
    template: &Template,
    simulation: Simulation,
    seed: Seed,
    no_model_reason: String,
    simulate: impl Fn(Vec<Point>) -> Result<Vec<SimulatedDrive>, FleetError>,
) -> Result<TemplateModel, FleetError> {
    let runs = simulation.runs as usize;
    let (mut max_error, mut scale) = (0.0f64, None);
    let solve = |points: &[Vec<f64>]| {
        let mut jobs = Vec::new();
        for drawn in points {
            let (small, drive_scale) = scaled_down(&template.at(drawn)?, simulation.blocks)?;
            scale.get_or_insert(drive_scale);
            for run in 0..simulation.runs {
                jobs.push(point(&small, seed.derive(&format!("run {run}")), run, &template.first_user)?);
            }
        }
        let found: Vec<f64> = simulate(jobs)?.iter().map(|found| found.write_amplification).collect();
        let means = found.chunks(runs).map(|values| {
            let (mean, half_width) = mean_and_half_width(values);
            max_error = max_error.max(half_width / mean);
            mean
        });
        Ok::<_, FleetError>(means.collect())
    };
    let distributions: Vec<_> = template.axes.iter().map(|(_, distribution)| distribution).collect();
    let surface = Surface::solve(&distributions, SIMULATION_RESOLUTION, solve)?;
    let notes = vec!["what scaling the drive changes is not known where there is no model".into()];
    let model = format!("none: {no_model_reason}");
    Ok(TemplateModel {
        surface,
        method: "simulation",
        model,
        simulation_error: Some(max_error),
        scale,
        notes,
    })
}

/// Returns the mean of several values and the half-width of its 95 % interval.
pub fn mean_and_half_width(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, student_half_width(count - 1.0, 0.95) * (variance / count).sqrt())
}

impl TemplateModel {
    /// True if the values come from theory.
    pub fn is_theory(&self) -> bool {
        self.method == "theory"
    }

    /// Returns the basis for the drives of a group and tenant under a setting.
    pub fn basis(&self, plan: &Plan, setting: usize, group: usize, tenant: usize) -> Basis {
        Basis {
            setting: plan.settings()[setting].to_owned(),
            group: plan.fleet.group[group].name.clone(),
            tenant: plan.fleet.tenant[tenant].name.clone(),
            method: self.method,
            model: self.model.clone(),
            points: self.surface.points,
            interpolation_error: self.surface.error,
            simulation_error: self.simulation_error,
            scale: self.scale.clone(),
            notes: self.notes.clone(),
        }
    }
}
