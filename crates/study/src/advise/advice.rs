//! What advice consists of.

use super::candidate::Candidate;
use super::price::{self, Cost, Price};
use super::saving::{Measured, Saving, saving};
use super::software::{self, OptionChange};
use super::{Change, Setting};
use crate::limit::Distance;
use serde::Serialize;
use wearwell_stack::RunResult;

/// What was tried on a stack, and what helps.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// Version of Wearwell.
    pub version: String,
    /// Runs of each change, with the same seeds for all.
    pub replicas: u32,
    /// The stack as it is.
    pub base: Figures,
    /// How far it is from the best possible; `None` of a stack that has no limit, such as a log on an FTL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<Distance>,
    /// The changes tried alone, best first.
    pub changes: Vec<Tried>,
    /// Changes tried together, in the order of the steps, in each step best first.
    pub combinations: Vec<Tried>,
    /// Changes that were not tried.
    pub skipped: Vec<Skipped>,
}

/// What was measured of a stack, as means over its replicas.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figures {
    /// Write amplification of the whole stack; `None` where it would mean nothing.
    pub write_amplification: Option<f64>,
    /// The same of each replica; the first has the scenario's own seed, which `wearwell run` repeats.
    pub write_amplifications: Vec<Option<f64>>,
    /// Every layer, in the order of the scenario and the FTL last.
    pub layers: Vec<LayerFigure>,
    /// Pages that all tenants see together.
    pub host_pages: u64,
    /// Terabytes that can be written if wear is even; `None` without `device.endurance_cycles`.
    pub tbw: Option<f64>,
    /// Whether all replicas became steady.
    pub steady: bool,
    /// Why there is no figure, or none to be trusted.
    pub problem: Option<String>,
    /// What the layers take besides, as far as the model knows it.
    pub costs: Vec<Cost>,
    #[serde(skip)]
    pub(super) state: State,
    #[serde(skip)]
    pub(super) measured: Vec<Measured>,
}

/// One layer of a stack.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerFigure {
    /// Its name.
    pub name: String,
    /// Outgoing over incoming writes; `None` where it would mean nothing.
    pub write_amplification: Option<f64>,
}

/// How the runs of a stack went, the worst of all replicas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    Good,
    Unsteady,
    Meaningless,
    Failed,
}

/// A change, or several together, that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tried {
    /// Its place among the changes that save, from 1; `None` for all others.
    pub rank: Option<usize>,
    /// What it comes to.
    pub verdict: Verdict,
    /// What was changed.
    #[serde(flatten)]
    pub change: Change,
    /// The saving over the stack as it is, at the same capacity; `None` where there is no figure.
    pub saving: Option<Saving>,
    /// The stack as it is at the capacity that the change leaves; `None` where it leaves all of it.
    pub reference: Option<Reference>,
    /// What it costs besides wear, as far as the model knows it.
    pub prices: Vec<Price>,
    /// The same change in the words of the software.
    pub options: Vec<OptionChange>,
    /// Combinations: the saving over the best of the step before, on which the verdict rests.
    pub gain: Option<Saving>,
    /// Lifetime after over before.
    pub tbw_ratio: Option<f64>,
    /// What was measured.
    #[serde(flatten)]
    pub figures: Figures,
}

/// The stack as it is, holding less.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reference {
    /// What makes it hold less.
    pub settings: Vec<Setting>,
    /// Pages that all tenants see together.
    pub host_pages: u64,
    /// Its write amplification.
    pub write_amplification: Option<f64>,
}

/// What a change is held against.
pub(super) struct Against<'a> {
    /// The stack as it is.
    pub base: (&'a Candidate, &'a Figures),
    /// The same at the capacity of the change; the stack as it is itself where that stays.
    pub reference: (&'a Candidate, &'a Figures),
    /// Comparisons that are made.
    pub family: usize,
    /// Combinations: the best of the step before at that capacity, and the comparisons of the step.
    pub step: Option<(&'a Figures, usize)>,
}

/// What a change comes to; what matters most stands first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It saves wear.
    Saves,
    /// It costs wear.
    Costs,
    /// It, or the stack as it is, did not become steady, so the saving is not to be trusted.
    Unsteady,
    /// No difference that can be told.
    Untold,
    /// Nothing was cleaned, so there is no amplification to compare.
    Meaningless,
    /// Its run failed.
    Failed,
}

/// A change that was not tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// The change.
    #[serde(flatten)]
    pub change: Change,
    /// Why it does not fit.
    pub reason: String,
}

impl Verdict {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Verdict::Saves => "saves",
            Verdict::Untold => "no difference that can be told",
            Verdict::Costs => "costs",
            Verdict::Unsteady => "not steady",
            Verdict::Meaningless => "means nothing",
            Verdict::Failed => "failed",
        }
    }
}

impl Figures {
    /// The figures of `candidate` from the outcomes of its replicas.
    pub(super) fn of(candidate: &Candidate, outcomes: &[Result<RunResult, String>]) -> Figures {
        let results: Vec<&RunResult> = outcomes.iter().flatten().collect();
        let (state, problem) = judged(outcomes);
        let values: Vec<Option<f64>> = results.iter().map(|result| result.write_amplification).collect();
        let measured = |result: &&RunResult| {
            let estimate = result.write_amplification_estimate;
            Some(Measured { write_amplification: result.write_amplification?, estimate })
        };
        let figures = Figures {
            write_amplification: mean(&values),
            write_amplifications: values,
            layers: layers(&results),
            host_pages: candidate.host_pages,
            tbw: mean(&results.iter().map(|result| result.lifetime.map(|life| life.tbw)).collect::<Vec<_>>()),
            steady: state < State::Unsteady,
            problem,
            costs: results.first().map_or_else(Vec::new, |result| price::costs(&candidate.scenario, result)),
            state,
            measured: results.iter().filter_map(measured).collect(),
        };
        if state < State::Meaningless {
            return figures;
        }
        // Means over some of the replicas only would not be comparable.
        Figures { write_amplification: None, tbw: None, measured: Vec::new(), ..figures }
    }

    /// Whether a run failed.
    pub(super) fn failed(&self) -> bool {
        self.state == State::Failed
    }

    /// The saving from here to `after`, where both have figures.
    pub(super) fn saving(&self, after: &Figures, family: usize) -> Option<Saving> {
        let comparable = !self.measured.is_empty() && self.measured.len() == after.measured.len();
        comparable.then(|| saving(&self.measured, &after.measured, family))
    }
}

/// The worst of the outcomes, and what is wrong.
fn judged(outcomes: &[Result<RunResult, String>]) -> (State, Option<String>) {
    if let Some(error) = outcomes.iter().find_map(|outcome| outcome.as_ref().err()) {
        return (State::Failed, Some(error.clone()));
    }
    let count = |bad: fn(&RunResult) -> bool| outcomes.iter().flatten().filter(|result| bad(result)).count();
    let meaningless = count(|result| result.write_amplification.is_none());
    let unsteady = count(|result| !result.course.steady);
    let all = outcomes.len();
    match (meaningless, unsteady) {
        (0, 0) => (State::Good, None),
        (0, _) => (State::Unsteady, Some(format!("{unsteady} of {all} runs did not become steady"))),
        _ => (State::Meaningless, Some(format!("{meaningless} of {all} runs cleaned nothing"))),
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

/// The mean; `None` if a value is missing, or all are.
fn mean(values: &[Option<f64>]) -> Option<f64> {
    let known: Option<Vec<f64>> = values.iter().copied().collect();
    known.filter(|known| !known.is_empty()).map(|known| known.iter().sum::<f64>() / known.len() as f64)
}

impl Tried {
    /// `candidate` with its figures, held `against` the stack as it is.
    pub(super) fn of(candidate: &Candidate, figures: Figures, against: &Against<'_>) -> Tried {
        let ((base, base_figures), (reference, before)) = (against.base, against.reference);
        let saving = before.saving(&figures, against.family);
        let gain = against.step.and_then(|(step, family)| step.saving(&figures, family));
        let decisive = if against.step.is_some() { gain } else { saving };
        let step_state = against.step.map_or(State::Good, |(step, _)| step.state);
        let verdict = match (before.state.max(figures.state).max(step_state), decisive) {
            (State::Failed, _) => Verdict::Failed,
            (State::Meaningless, _) | (_, None) => Verdict::Meaningless,
            (State::Unsteady, _) => Verdict::Unsteady,
            (State::Good, Some(saving)) if !saving.is_told() => Verdict::Untold,
            (State::Good, Some(saving)) if saving.mean > 0.0 => Verdict::Saves,
            (State::Good, Some(_)) => Verdict::Costs,
        };
        let is_smaller = reference.scenario != base.scenario;
        Tried {
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
            options: software::changed(&base.scenario, &candidate.scenario),
            gain,
            tbw_ratio: figures.tbw.zip(before.tbw).map(|(after, before)| after / before),
            figures,
        }
    }
}

/// Best first: by verdict, then by saving; ranks are given to what saves.
pub(super) fn rank(tried: &mut [Tried]) {
    let saving = |tried: &Tried| tried.saving.map_or(f64::NEG_INFINITY, |saving| saving.mean);
    tried.sort_by(|a, b| a.verdict.cmp(&b.verdict).then(saving(b).total_cmp(&saving(a))));
    let saves = tried.iter_mut().filter(|tried| tried.verdict == Verdict::Saves);
    saves.enumerate().for_each(|(at, tried)| tried.rank = Some(at + 1));
}

impl Advice {
    /// The best that was found: the last combination that helped, else the best change, if any saves.
    pub fn best(&self) -> Option<&Tried> {
        let saves = |tried: &&Tried| tried.verdict == Verdict::Saves;
        // The first of each step is its best, and the next step exists only if it saved.
        let last_step = self.combinations.iter().rev().find(|tried| tried.rank == Some(1));
        last_step.or_else(|| self.changes.first().filter(saves))
    }
}
