//! Data types of advice.

use super::candidate::Candidate;
use super::price::{self, Cost, Price};
use super::saving::{RunMeasurement, Saving, saving};
use super::software::{self, OptionChange};
use super::{Change, Setting};
use crate::limit::BoundDistance;
use serde::Serialize;
use wearwell_stack::RunResult;

/// Changes tried on a stack, and their effects.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Version of Wearwell.
    pub version: String,
    /// Number of runs per change; all changes use the same seeds.
    pub replicas: u32,
    /// Figures of the unchanged stack.
    pub base: Figures,
    /// Distance from the lower bound; `None` for a stack without a lower bound, such as a log on an FTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower_bound: Option<BoundDistance>,
    /// Changes tried alone, best first.
    pub changes: Vec<TrialResult>,
    /// Changes tried together, ordered by step and within each step best first.
    pub combinations: Vec<TrialResult>,
    /// Changes that were not tried.
    pub skipped: Vec<SkippedChange>,
}

/// Measurements of a stack, as means over its replicas.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Mean write amplification of the whole stack; `None` if a run failed or cleaned nothing.
    pub write_amplification: Option<f64>,
    /// Write amplification of each replica; the first replica has the scenario's own seed and is repeated by
    /// `wearwell run`.
    pub write_amplifications: Vec<Option<f64>>,
    /// Figures of all layers, in the order of the scenario, the FTL last.
    pub layers: Vec<LayerFigure>,
    /// Pages visible to all tenants together.
    pub host_pages: u64,
    /// Terabytes that can be written if wear is even; `None` without `device.endurance_cycles`.
    pub tbw: Option<f64>,
    /// True if all replicas reached a steady state.
    pub steady: bool,
    /// Reason why a figure is missing or unreliable; `None` if there is no problem.
    pub problem: Option<String>,
    /// Costs of the layers other than wear, as far as the model knows them.
    pub costs: Vec<Cost>,
    #[serde(skip)]
    pub(super) quality: RunQuality,
    #[serde(skip)]
    pub(super) measured: Vec<RunMeasurement>,
}

/// Figure of one layer of a stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerFigure {
    /// Name of the layer.
    pub name: String,
    /// Pages that leave the layer over pages that enter it; `None` if a run lacks this figure because the layer cleaned
    /// nothing.
    pub write_amplification: Option<f64>,
}

/// Outcome of the runs of a stack, the worst of all replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RunQuality {
    Usable,
    Unsteady,
    Meaningless,
    Failed,
}

/// Change, or combination of changes, that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TrialResult {
    /// Rank among the changes that save, from 1; `None` for all other changes.
    pub rank: Option<usize>,
    /// Classification of the result.
    pub verdict: TrialVerdict,
    /// The change that was tried.
    #[serde(flatten)]
    pub change: Change,
    /// Saving compared with the unchanged stack at the same capacity; `None` if either has no write amplification.
    pub saving: Option<Saving>,
    /// Unchanged stack at the capacity after the change; `None` if the change keeps the capacity.
    pub reference: Option<Reference>,
    /// Costs of the change other than wear, as far as the model knows these costs.
    pub prices: Vec<Price>,
    /// Options of the software that have the effect of the change.
    pub options: Vec<OptionChange>,
    /// For combinations, the saving compared with the best of the previous step; this saving decides the verdict.
    pub gain: Option<Saving>,
    /// Lifetime after the change over lifetime before the change.
    pub tbw_ratio: Option<f64>,
    /// Measurements after the change.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Unchanged stack with reduced capacity.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// Settings that reduce the capacity of the unchanged stack.
    pub settings: Vec<Setting>,
    /// Pages visible to all tenants together.
    pub host_pages: u64,
    /// Write amplification of the unchanged stack at the reduced capacity.
    pub write_amplification: Option<f64>,
}

/// Baselines of a comparison.
pub(super) struct Baselines<'a> {
    /// Unchanged stack.
    pub base: (&'a Candidate, &'a Figures),
    /// Unchanged stack at the capacity after the change; the unchanged stack itself if the capacity remains.
    pub reference: (&'a Candidate, &'a Figures),
    /// Number of comparisons in the family.
    pub family: usize,
    /// For combinations, the best result of the previous step at the capacity after the change, and the number of
    /// comparisons of the present step.
    pub previous_step: Option<(&'a Figures, usize)>,
}

/// Classification of a change; the most important first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TrialVerdict {
    /// Reduces wear.
    Saves,
    /// Increases wear.
    Costs,
    /// The run with or without the change did not reach a steady state, so the saving is unreliable.
    Unsteady,
    /// No statistically significant difference.
    Insignificant,
    /// A run cleaned nothing, so write amplification cannot be compared.
    Meaningless,
    /// A run failed.
    Failed,
}

/// Change that was not tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SkippedChange {
    /// The change that was not tried.
    #[serde(flatten)]
    pub change: Change,
    /// Reason why the change was not tried.
    pub reason: String,
}

impl TrialVerdict {
    /// Returns the verdict in words.
    pub fn text(self) -> &'static str {
        match self {
            TrialVerdict::Saves => "saves",
            TrialVerdict::Insignificant => "no difference that can be told",
            TrialVerdict::Costs => "costs",
            TrialVerdict::Unsteady => "not steady",
            TrialVerdict::Meaningless => "means nothing",
            TrialVerdict::Failed => "failed",
        }
    }
}

impl Figures {
    /// Computes the figures of `candidate` from the outcomes of its replicas.
    pub(super) fn of(candidate: &Candidate, outcomes: &[Result<RunResult, String>]) -> Figures {
        let results: Vec<&RunResult> = outcomes.iter().flatten().collect();
        let (state, problem) = worst_quality(outcomes);
        let values: Vec<Option<f64>> = results.iter().map(|result| result.write_amplification).collect();
        let measured = |result: &&RunResult| {
            let estimate = result.write_amplification_estimate;
            Some(RunMeasurement { write_amplification: result.write_amplification?, estimate })
        };
        let figures = Figures {
            write_amplification: mean(&values),
            write_amplifications: values,
            layers: layers(&results),
            host_pages: candidate.host_pages,
            tbw: mean(&results.iter().map(|result| result.lifetime.map(|life| life.tbw)).collect::<Vec<_>>()),
            steady: state < RunQuality::Unsteady,
            problem,
            costs: results.first().map_or_else(Vec::new, |result| price::costs(&candidate.scenario, result)),
            quality: state,
            measured: results.iter().filter_map(measured).collect(),
        };
        if state < RunQuality::Meaningless {
            return figures;
        }
        // Means over only some of the replicas would not be comparable.
        Figures { write_amplification: None, tbw: None, measured: Vec::new(), ..figures }
    }

    /// True if a run failed.
    pub(super) fn failed(&self) -> bool {
        self.quality == RunQuality::Failed
    }

    /// Returns the saving from these figures to `after`, if both are complete.
    pub(super) fn saving(&self, after: &Figures, family: usize) -> Option<Saving> {
        let comparable = !self.measured.is_empty() && self.measured.len() == after.measured.len();
        comparable.then(|| saving(&self.measured, &after.measured, family))
    }
}

/// Returns the worst of the outcomes, and a description of the problem.
fn worst_quality(outcomes: &[Result<RunResult, String>]) -> (RunQuality, Option<String>) {
    if let Some(error) = outcomes.iter().find_map(|outcome| outcome.as_ref().err()) {
        return (RunQuality::Failed, Some(error.clone()));
    }
    let count = |bad: fn(&RunResult) -> bool| outcomes.iter().flatten().filter(|result| bad(result)).count();
    let meaningless = count(|result| result.write_amplification.is_none());
    let unsteady = count(|result| !result.phases.steady);
    let all = outcomes.len();
    match (meaningless, unsteady) {
        (0, 0) => (RunQuality::Usable, None),
        (0, _) => (RunQuality::Unsteady, Some(format!("{unsteady} of {all} runs did not become steady"))),
        _ => (RunQuality::Meaningless, Some(format!("{meaningless} of {all} runs cleaned nothing"))),
    }
}

fn layers(results: &[&RunResult]) -> Vec<LayerFigure> {
    let Some(first) = results.first() else { return Vec::new() };
    let of = |at: usize| -> Vec<Option<f64>> {
        results.iter().map(|result| result.layers[at].write_amplification).collect()
    };
    let layer =
        |(at, name): (usize, &String)| LayerFigure { name: name.clone(), write_amplification: mean(&of(at)) };
    first.layers.iter().map(|layer| &layer.name).enumerate().map(layer).collect()
}

/// Returns the mean of `values`; `None` if a value is missing or the list is empty.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Option<Vec<f64>> = values.iter().copied().collect();
    known.filter(|known| !known.is_empty()).map(|known| known.iter().sum::<f64>() / known.len() as f64)
}

impl TrialResult {
    /// Compares `candidate` and its figures with the baselines in `baselines`.
    pub(super) fn of(candidate: &Candidate, figures: Figures, baselines: &Baselines<'_>) -> TrialResult {
        let ((base, base_figures), (reference, before)) = (baselines.base, baselines.reference);
        let saving = before.saving(&figures, baselines.family);
        let gain = baselines.previous_step.and_then(|(step, family)| step.saving(&figures, family));
        let decisive = if baselines.previous_step.is_some() { gain } else { saving };
        let step_state = baselines.previous_step.map_or(RunQuality::Usable, |(step, _)| step.quality);
        let verdict = match (before.quality.max(figures.quality).max(step_state), decisive) {
            (RunQuality::Failed, _) => TrialVerdict::Failed,
            (RunQuality::Meaningless, _) | (_, None) => TrialVerdict::Meaningless,
            (RunQuality::Unsteady, _) => TrialVerdict::Unsteady,
            (RunQuality::Usable, Some(saving)) if !saving.is_significant() => TrialVerdict::Insignificant,
            (RunQuality::Usable, Some(saving)) if saving.mean > 0.0 => TrialVerdict::Saves,
            (RunQuality::Usable, Some(_)) => TrialVerdict::Costs,
        };
        let is_smaller = reference.scenario != base.scenario;
        TrialResult {
            rank: None,
            verdict,
            change: candidate.change.clone(),
            saving,
            reference: is_smaller.then(|| Reference {
                settings: reference.change.settings.clone(),
                host_pages: before.host_pages,
                write_amplification: before.write_amplification,
            }),
            prices: price::prices(
                (&base_figures.costs, base_figures.host_pages),
                (&figures.costs, figures.host_pages),
            ),
            options: software::changed_options(&base.scenario, &candidate.scenario),
            gain,
            tbw_ratio: figures.tbw.zip(before.tbw).map(|(after, before)| after / before),
            figures,
        }
    }
}

/// Sorts by verdict, then by saving, best first; assigns ranks to changes that save.
pub(super) fn rank(trials: &mut [TrialResult]) {
    let saving = |trial: &TrialResult| trial.saving.map_or(f64::NEG_INFINITY, |saving| saving.mean);
    trials.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(saving(b).total_cmp(&saving(a))));
    let saves = trials.iter_mut().filter(|trial| trial.verdict == TrialVerdict::Saves);
    saves.enumerate().for_each(|(at, trial)| trial.rank = Some(at + 1));
}

impl Advice {
    /// Returns the best result: the last combination that saved, otherwise the best single change that saves.
    pub fn best(&self) -> Option<&TrialResult> {
        let saves = |trial: &&TrialResult| trial.verdict == TrialVerdict::Saves;
        // The first entry of each step is the best of the step, and a next step exists only if the step saved.
        let last_step = self.combinations.iter().rev().find(|trial| trial.rank == Some(1));
        last_step.or_else(|| self.changes.first().filter(saves))
    }
}
