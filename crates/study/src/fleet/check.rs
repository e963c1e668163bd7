//! Comparison of theory with simulation on a random sample of the fleet's drives.

use super::amplification::{TemplateModel, mean_and_half_width};
use super::draw::{DrawnDrive, draw_drives};
use super::plan::Plan;
use super::scaled::{SimulatedDrive, full_size, point, scaled_down, simulate};
use super::surface::Scratch;
use super::{FleetError, Scale};
use crate::prediction::{PredictionEffort, predict_alone};
use crate::sweep::{SweepObserver, SweepOptions};
use rayon::prelude::*;
use serde::Serialize;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_base::seed::{Seed, random_below};
use wearwell_stack::Scenario;

/// Default tolerance for the error of theory, as a fraction.
pub const TOLERANCE: f64 = 0.03;

/// Options of the comparison.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CheckOptions {
    /// Number of drives in the sample.
    pub drives: u32,
    /// Number of blocks of the scaled-down drives; `None` simulates whole drives.
    pub blocks: Option<u32>,
    /// Tolerance for the error of theory, as a fraction.
    pub tolerance: f64,
}

/// Result of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TheoryCheck {
    /// Number of simulated drives.
    pub drives: usize,
    /// Tolerance for the error of theory, as a fraction.
    pub tolerance: f64,
    /// Rows for each group and tenant in the sample.
    pub rows: Vec<CheckRow>,
    /// Row for all drives together.
    pub all: CheckRow,
    /// Wall-clock seconds of each run; not part of the result.
    #[serde(skip)]
    pub seconds: Vec<f64>,
    /// Wall-clock seconds of all runs in parallel.
    #[serde(skip)]
    pub clock_seconds: f64,
}

/// Theory compared with simulation.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CheckRow {
    /// Name of the group.
    pub group: String,
    /// Name of the tenant.
    pub tenant: String,
    /// Number of simulated drives.
    pub drives: usize,
    /// Mean write amplification of the drives, by theory.
    pub theory: f64,
    /// Mean write amplification of the scaled-down drives, by theory.
    pub theory_scaled: f64,
    /// Mean write amplification of the scaled-down drives, by simulation.
    pub simulated: f64,
    /// Relative difference of theory from simulation for the scaled-down drives; the mean over drives.
    pub difference: f64,
    /// Half-width of the 95 % interval of `difference`; unset for one drive.
    pub ci95: Option<f64>,
    /// Effect of scaling down: theory of the scaled-down drives over that of the drives, less 1.
    pub scale_effect: f64,
    /// Scaled-down drive that was simulated instead of the first drive.
    pub scale: Scale,
    /// Number of runs that did not reach a steady state.
    pub unsteady: usize,
    /// Verdict on theory.
    pub verdict: TheoryAccuracy,
}

/// Verdict on the accuracy of theory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TheoryAccuracy {
    /// The interval of the difference lies within the tolerance.
    WithinTolerance,
    /// The interval lies outside the tolerance.
    OutsideTolerance,
    /// Undecided: more drives are needed.
    Undecided,
}

impl TheoryAccuracy {
    fn of(difference: f64, half_width: Option<f64>, tolerance: f64) -> TheoryAccuracy {
        match half_width {
            Some(half) if difference.abs() + half <= tolerance => TheoryAccuracy::WithinTolerance,
            Some(half) if difference.abs() - half > tolerance => TheoryAccuracy::OutsideTolerance,
            _ => TheoryAccuracy::Undecided,
        }
    }
}

/// Drive of the sample with the results of theory and simulation.
struct ComparedDrive {
    group: usize,
    tenant: usize,
    theory: f64,
    theory_scaled: f64,
    simulated: SimulatedDrive,
    scale: Scale,
}

/// Simulates drives of draw 0, each with its own seed.
///
/// # Errors
/// Returns an error if no drive uses theory, and if a run fails.
pub fn check_theory(
    plan: &Plan,
    models: &[TemplateModel],
    options: CheckOptions,
    sweep: &SweepOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<TheoryCheck, FleetError> {
    let sample = sample(plan, models, options.drives as usize);
    if sample.is_empty() {
        let problem = "no drive of the fleet rests on theory, so that nothing can be held against simulation";
        return Err(ConfigError::new("check", problem).into());
    }
    let theory: Vec<(Scenario, Scale, f64, f64)> = sample
        .par_iter()
        .with_max_len(1)
        .map(|drive| predict_drive(plan, models, drive, options.blocks))
        .collect::<Result<_, _>>()?;
    let seed = Seed(plan.fleet.seed).derive("fleet").derive("check");
    let runs = sample.iter().zip(&theory).enumerate().map(|(at, (drive, (small, ..)))| {
        let (group, tenant) = (&plan.fleet.group[drive.group].name, &plan.fleet.tenant[drive.tenant].name);
        point(
            small,
            seed.derive(&format!("drive {at}")),
            0,
            &format!("group \"{group}\", tenant \"{tenant}\""),
        )
    });
    let (runs, begin) = (runs.collect::<Result<_, _>>()?, Instant::now());
    let simulated = simulate(runs, sweep, observer)?;
    let clock_seconds = begin.elapsed().as_secs_f64();
    let pairs = sample.iter().zip(theory).zip(simulated);
    let pairs = pairs.map(|((drive, (_, scale, theory, theory_scaled)), simulated)| {
        let (group, tenant) = (drive.group, drive.tenant);
        ComparedDrive { group, tenant, theory, theory_scaled, simulated, scale }
    });
    let pairs: Vec<ComparedDrive> = pairs.collect();
    let mut rows = Vec::new();
    for (at, group) in plan.fleet.group.iter().enumerate() {
        for (of, tenant) in plan.fleet.tenant.iter().enumerate() {
            let chosen: Vec<&ComparedDrive> =
                pairs.iter().filter(|pair| (pair.group, pair.tenant) == (at, of)).collect();
            rows.extend(row(&group.name, &tenant.name, &chosen, options.tolerance));
        }
    }
    let all = row("", "", &pairs.iter().collect::<Vec<_>>(), options.tolerance).expect("at least one drive");
    let seconds = pairs.iter().map(|pair| pair.simulated.seconds).collect();
    Ok(TheoryCheck { drives: pairs.len(), tolerance: options.tolerance, rows, all, seconds, clock_seconds })
}

/// Returns `count` drives of draw 0 that use theory, without repetition.
fn sample(plan: &Plan, models: &[TemplateModel], count: usize) -> Vec<DrawnDrive> {
    let uses_theory =
        |drive: &DrawnDrive| models[plan.template_indices[0][drive.group][drive.tenant]].is_theory();
    let mut all: Vec<DrawnDrive> = draw_drives(plan, 0).into_iter().filter(uses_theory).collect();
    let count = count.min(all.len());
    let mut random = Seed(plan.fleet.seed).derive("fleet").derive("sample").random();
    for at in 0..count {
        let other = at + random_below(&mut random, (all.len() - at) as u64) as usize;
        all.swap(at, other);
    }
    all.truncate(count);
    all
}

/// Returns the scaled-down version of a drive, and the results of theory for both.
fn predict_drive(
    plan: &Plan,
    models: &[TemplateModel],
    drive: &DrawnDrive,
    blocks: Option<u32>,
) -> Result<(Scenario, Scale, f64, f64), FleetError> {
    let at = plan.template_indices[0][drive.group][drive.tenant];
    let template = &plan.templates[at];
    let drawn = template.at(&drive.point)?;
    let (small, scale) = match blocks {
        Some(blocks) => scaled_down(&drawn, blocks)?,
        None => full_size(&drawn)?,
    };
    let failed = |error| FleetError::Prediction { of: template.first_user.clone(), error };
    let scaled_down = predict_alone(&small, PredictionEffort::Minimal).map_err(failed)?.write_amplification;
    let whole_drive = models[at].surface.at(&drive.point, &mut Scratch::default());
    Ok((small, scale, whole_drive, scaled_down))
}

fn row(group: &str, tenant: &str, pairs: &[&ComparedDrive], tolerance: f64) -> Option<CheckRow> {
    let first = pairs.first()?;
    let mean = |of: &dyn Fn(&ComparedDrive) -> f64| {
        pairs.iter().map(|pair| of(pair)).sum::<f64>() / pairs.len() as f64
    };
    let simulated = |pair: &ComparedDrive| pair.simulated.write_amplification;
    let differences: Vec<f64> = pairs.iter().map(|pair| pair.theory_scaled / simulated(pair) - 1.0).collect();
    let (difference, half_width) = mean_and_half_width(&differences);
    let ci95 = Some(half_width).filter(|width| pairs.len() > 1 && width.is_finite());
    Some(CheckRow {
        group: group.to_owned(),
        tenant: tenant.to_owned(),
        drives: pairs.len(),
        theory: mean(&|pair| pair.theory),
        theory_scaled: mean(&|pair| pair.theory_scaled),
        simulated: mean(&simulated),
        difference,
        ci95,
        scale_effect: mean(&|pair| pair.theory_scaled / pair.theory) - 1.0,
        scale: first.scale.clone(),
        unsteady: pairs.iter().filter(|pair| !pair.simulated.is_steady).count(),
        verdict: TheoryAccuracy::of(difference, ci95, tolerance),
    })
}

#[cfg(test)]
mod tests {
    use super::TheoryAccuracy;

    #[test]
    fn theory_is_within_tolerance_only_with_its_whole_interval() {
        let of = |difference, half| TheoryAccuracy::of(difference, half, 0.03);
        assert_eq!(of(0.01, Some(0.01)), TheoryAccuracy::WithinTolerance);
        assert_eq!(of(-0.01, Some(0.025)), TheoryAccuracy::Undecided);
        assert_eq!(of(-0.06, Some(0.02)), TheoryAccuracy::OutsideTolerance);
        assert_eq!(of(0.0, None), TheoryAccuracy::Undecided);
    }
}
