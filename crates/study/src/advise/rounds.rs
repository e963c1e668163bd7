//! Rounds of runs: every change alone, then combinations of the best.

use super::advice::{Advice, Baselines, Figures, SkippedChange, TrialResult, TrialVerdict, rank};
use super::candidate::{Candidate, no_change};
use super::resolved_stack::ResolvedStack;
use super::{Change, FAMILIES, Family};
use crate::limit::{LowerBoundError, bound_distance};
use crate::points::SweepError;
use crate::sweep::{RoundObserver, Sweep, SweepObserver, SweepOptions, replicate, resolve_draft};
use std::collections::BTreeMap;
use wearwell_stack::RunResult;
use wearwell_stack::key::Key;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Draft, DraftError, Fit, RunError};

/// Number of changes tried on top of the best, in each step.
const TRIALS_PER_STEP: usize = 4;

/// Options of advice; `sweep` does not affect the results.
#[derive(Clone, Debug, Default)]
pub struct AdviseOptions<'a> {
    /// Names of the families to try; all if empty.
    pub only: Vec<String>,
    /// Number of runs per change, with different seeds, at least 1.
    pub replicas: u32,
    /// Maximum number of combined changes; 1 tries no combinations.
    pub depth: u32,
    /// Options for executing runs and storing finished ones.
    pub sweep: SweepOptions<'a>,
}

/// Reason why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum AdviseError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Draft(Box<DraftError>),
    /// An option does not exist or is invalid.
    #[error("{0}")]
    Options(String),
    /// A run of the unchanged stack failed.
    #[error("the stack as it is: {0}")]
    Base(String),
    /// The runs cannot continue.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl From<LowerBoundError> for AdviseError {
    fn from(error: LowerBoundError) -> Self {
        match error {
            LowerBoundError::Draft(error) => AdviseError::Draft(error),
            LowerBoundError::Sweep(error) => AdviseError::Sweep(error),
            LowerBoundError::Run(RunError::Interrupted) => {
                AdviseError::Sweep(SweepError::Interrupted { finished: 0, points: 0 })
            }
            other => AdviseError::Base(other.to_string()),
        }
    }
}

impl From<DraftError> for AdviseError {
    fn from(error: DraftError) -> Self {
        AdviseError::Draft(Box::new(error))
    }
}

/// Stores in `draft` the size of a drive that is fitted to its trace, so that all changes run on a drive of that size.
pub(super) fn with_fitted_drive(draft: &Draft) -> Result<Draft, DraftError> {
    let mut draft = draft.clone();
    let scenario = draft.scenario()?;
    if scenario.device.fit != Fit::Requested(true) {
        return Ok(draft);
    }
    let fitted = resolve_draft(&draft)?;
    draft.store_fit(&fitted)?;
    Ok(draft)
}

/// Maximum number of runs per change: more seeds than any interval needs.
const MAX_REPLICAS: u32 = 10_000;

/// Tries changes to the stack that `draft` describes.
///
/// Reports runs to `observer`, counted over all rounds; their number grows when combinations are planned. Equal drafts
/// and options give equal advice, for any number of threads.
pub fn advise(
    draft: &Draft,
    options: &AdviseOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Advice, AdviseError> {
    let families = families(&options.only)?;
    if options.replicas == 0 || options.depth == 0 {
        return Err(AdviseError::Options("replicas and depth must be at least 1".into()));
    }
    if options.replicas > MAX_REPLICAS {
        return Err(AdviseError::Options(format!(
            "replicas: {} are more than {MAX_REPLICAS}",
            options.replicas
        )));
    }
    if draft.scenario()?.measure.until_worn_out_blocks.is_some() {
        let problem = "measures a life and no steady state, so there is no wear to compare; unset it";
        return Err(AdviseError::Options(format!("measure.until_worn_out_blocks: {problem}")));
    }
    let draft = &with_fitted_drive(draft)?;
    let base = ResolvedStack::of(draft)?;
    let unchanged = Candidate::unchanged(&base, resolve_draft(draft)?);
    let changes = families.iter().flat_map(|family| (family.changes)(&base)).collect();
    let mut proposed = vec![unchanged.scenario.clone()];
    let mut skipped = Vec::new();
    let candidates = fitting_candidates(&base, changes, &mut proposed, &mut skipped);
    let stack = AdvisedStack { base: &base, unchanged };
    let references = BaselineSet::of(&stack, &stack.unchanged, &candidates, &mut skipped);
    let mut runner = TrialRunner { options, observer, finished: 0, planned: 0, completed: Vec::new() };
    runner.plan([&stack.unchanged].into_iter().chain(&candidates).chain(&references.baselines));
    let figures = runner.figures(&[&stack.unchanged])?.remove(0);
    if let Some(problem) = figures.problem.as_ref().filter(|_| figures.failed()) {
        return Err(AdviseError::Base(problem.clone()));
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut advice = Advice {
        version,
        replicas: options.replicas,
        base: figures,
        lower_bound: None,
        changes: Vec::new(),
        combinations: Vec::new(),
        skipped,
    };
    // Without a write amplification there is no baseline for the changes.
    if advice.base.write_amplification.is_none() {
        return Ok(advice);
    }
    advice.lower_bound = bound_distance(draft, &options.sweep, observer)?;
    let trials = run_single_changes(&stack, &mut runner, &advice.base, candidates, &references)?;
    let mut single_trials: Vec<TrialResult> = trials.iter().map(|(_, trial)| trial.clone()).collect();
    rank(&mut single_trials);
    advice.changes = single_trials;
    run_combinations(&stack, &mut runner, &mut advice, trials, &mut proposed)?;
    Ok(advice)
}

/// Stack for which changes are tried.
struct AdvisedStack<'a> {
    base: &'a ResolvedStack<'a>,
    unchanged: Candidate,
}

/// Baselines of candidates: a stack with one change or none, at the capacity of the candidates.
struct BaselineSet {
    /// Baselines, each with a different capacity.
    baselines: Vec<Candidate>,
}

impl BaselineSet {
    /// Returns `full_size` and, for each capacity of `candidates` that differs from it, a version of `full_size` with
    /// that capacity. Candidates whose capacity cannot be matched go to `skipped`.
    fn of(
        stack: &AdvisedStack<'_>,
        full_size: &Candidate,
        candidates: &[Candidate],
        skipped: &mut Vec<SkippedChange>,
    ) -> Self {
        let mut set = BaselineSet { baselines: vec![full_size.clone()] };
        for candidate in candidates {
            if set.baselines.iter().any(|baseline| candidate.has_same_capacity(baseline)) {
                continue;
            }
            match Candidate::at_capacity_of(stack.base, full_size.proposed.clone(), candidate) {
                Ok(baseline) => set.baselines.push(baseline),
                Err(reason) => skipped.push(SkippedChange { change: candidate.change.clone(), reason }),
            }
        }
        set
    }

    /// Returns the baseline with the capacity of `candidate`.
    fn for_candidate(&self, candidate: &Candidate) -> Option<&Candidate> {
        self.baselines.iter().find(|baseline| candidate.has_same_capacity(baseline))
    }
}

/// Tries each of `candidates` alone.
fn run_single_changes(
    stack: &AdvisedStack<'_>,
    runner: &mut TrialRunner<'_>,
    base: &Figures,
    candidates: Vec<Candidate>,
    references: &BaselineSet,
) -> Result<Vec<(Candidate, TrialResult)>, AdviseError> {
    let pairs: Vec<(Candidate, &Candidate)> = candidates
        .into_iter()
        .filter_map(|candidate| references.for_candidate(&candidate).map(|reference| (candidate, reference)))
        .collect();
    runner
        .run(&pairs.iter().flat_map(|(candidate, reference)| [candidate, *reference]).collect::<Vec<_>>())?;
    let family = pairs.len();
    let trials = pairs.into_iter().map(|(candidate, reference)| {
        let baselines = Baselines {
            base: (&stack.unchanged, base),
            reference: (reference, runner.completed_figures(reference)),
            family,
            previous_step: None,
        };
        let trial = TrialResult::of(&candidate, runner.completed_figures(&candidate).clone(), &baselines);
        (candidate, trial)
    });
    Ok(trials.collect())
}

fn families(only: &[String]) -> Result<Vec<&'static Family>, AdviseError> {
    if only.is_empty() {
        return Ok(FAMILIES.iter().collect());
    }
    only.iter().map(|name| Family::named(name).map_err(AdviseError::Options)).collect()
}

/// Returns the changes that fit. Drops changes that lead to a scenario in `proposed`; other changes that do not fit go
/// to `skipped`.
fn fitting_candidates(
    base: &ResolvedStack<'_>,
    changes: Vec<Change>,
    proposed: &mut Vec<Scenario>,
    skipped: &mut Vec<SkippedChange>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for change in changes {
        match Candidate::of(base, change.clone()) {
            Ok(candidate) if proposed.contains(&candidate.scenario) => {}
            Ok(candidate) => {
                proposed.push(candidate.scenario.clone());
                candidates.push(candidate);
            }
            Err(reason) => skipped.push(SkippedChange { change, reason }),
        }
    }
    candidates
}

/// Extends the best change step by step with the change that helps most.
fn run_combinations(
    stack: &AdvisedStack<'_>,
    runner: &mut TrialRunner<'_>,
    advice: &mut Advice,
    mut trials: Vec<(Candidate, TrialResult)>,
    proposed: &mut Vec<Scenario>,
) -> Result<(), AdviseError> {
    trials.retain(|(_, trial)| trial.verdict == TrialVerdict::Saves);
    let saving = |trial: &TrialResult| trial.saving.map_or(0.0, |saving| saving.mean);
    trials.sort_by(|(_, one), (_, other)| saving(other).total_cmp(&saving(one)));
    let Some((mut best, _)) = trials.first().cloned() else { return Ok(()) };
    for _ in 1..runner.options.depth {
        let compatible_trials =
            trials.iter().filter(|(other, _)| are_compatible(&best.proposed, &other.proposed));
        let changes = compatible_trials
            .take(TRIALS_PER_STEP)
            .map(|(other, _)| best.proposed.combined_with(&other.proposed))
            .collect();
        let candidates = fitting_candidates(stack.base, changes, proposed, &mut advice.skipped);
        let mut step = run_step(stack, runner, advice, &best, candidates)?;
        let mut ranked: Vec<TrialResult> = step.iter().map(|(_, trial)| trial.clone()).collect();
        rank(&mut ranked);
        let Some(first) = ranked.first().cloned() else { break };
        advice.combinations.extend(ranked);
        let chosen = step.iter().position(|(candidate, _)| candidate.change == first.change);
        match chosen {
            Some(at) if first.verdict == TrialVerdict::Saves => best = step.swap_remove(at).0,
            _ => break,
        }
    }
    Ok(())
}

/// Tries `candidates`, each with the changes of `best` and one more.
fn run_step(
    stack: &AdvisedStack<'_>,
    runner: &mut TrialRunner<'_>,
    advice: &mut Advice,
    best: &Candidate,
    candidates: Vec<Candidate>,
) -> Result<Vec<(Candidate, TrialResult)>, AdviseError> {
    let unchanged = Candidate { proposed: no_change(), ..stack.unchanged.clone() };
    let references = BaselineSet::of(stack, &unchanged, &candidates, &mut advice.skipped);
    let previous = BaselineSet::of(stack, best, &candidates, &mut advice.skipped);
    let with_baselines = |candidate: Candidate| {
        let reference_and_previous =
            (references.for_candidate(&candidate)?.clone(), previous.for_candidate(&candidate)?.clone());
        Some((candidate, reference_and_previous))
    };
    let cases: Vec<_> = candidates.into_iter().filter_map(with_baselines).collect();
    let needed: Vec<&Candidate> =
        cases.iter().flat_map(|(candidate, (reference, step))| [candidate, reference, step]).collect();
    runner.plan(needed.iter().copied());
    runner.run(&needed)?;
    let family = advice.changes.len() + advice.combinations.len() + cases.len();
    let step_family = cases.len();
    let trials = cases.into_iter().map(|(candidate, (reference, step))| {
        let baselines = Baselines {
            base: (&stack.unchanged, &advice.base),
            reference: (&reference, runner.completed_figures(&reference)),
            family,
            previous_step: Some((runner.completed_figures(&step), step_family)),
        };
        let trial = TrialResult::of(&candidate, runner.completed_figures(&candidate).clone(), &baselines);
        (candidate, trial)
    });
    Ok(trials.collect())
}

/// True if neither change sets a key that the other change sets, or a table that contains such a key.
fn are_compatible(one: &Change, other: &Change) -> bool {
    let keys = |change: &Change| -> Vec<Key> {
        change.settings.iter().filter_map(|setting| Key::parse(&setting.key).ok()).collect()
    };
    let others = keys(other);
    keys(one).iter().all(|key| others.iter().all(|other| !key.is_within(other) && !other.is_within(key)))
}

/// Runner of candidates over all rounds; runs each candidate once.
struct TrialRunner<'a> {
    options: &'a AdviseOptions<'a>,
    observer: &'a dyn SweepObserver,
    /// Number of runs finished in earlier rounds.
    finished: usize,
    /// Number of runs of all rounds, as far as planned.
    planned: usize,
    /// Scenarios that have been run, with their figures.
    completed: Vec<(Scenario, Figures)>,
}

impl TrialRunner<'_> {
    /// Plans the runs of those `candidates` that have not been run.
    fn plan<'c>(&mut self, candidates: impl Iterator<Item = &'c Candidate>) {
        let new = self.not_yet_run(&candidates.collect::<Vec<_>>()).len();
        self.planned = self.finished + new * self.options.replicas as usize;
    }

    /// Returns the candidates that have not been run, without duplicates.
    fn not_yet_run<'c>(&self, candidates: &[&'c Candidate]) -> Vec<&'c Candidate> {
        let mut remaining: Vec<&Candidate> = Vec::new();
        for candidate in candidates {
            let is_known = self.completed.iter().any(|(scenario, _)| *scenario == candidate.scenario);
            if !is_known && remaining.iter().all(|other| other.scenario != candidate.scenario) {
                remaining.push(candidate);
            }
        }
        remaining
    }

    /// Returns the figures of `candidate`, which must have been run.
    fn completed_figures(&self, candidate: &Candidate) -> &Figures {
        let entry = self.completed.iter().find(|(scenario, _)| *scenario == candidate.scenario);
        &entry.expect("it was run").1
    }

    /// Returns the figures of candidates, in the given order.
    fn figures(&mut self, candidates: &[&Candidate]) -> Result<Vec<Figures>, AdviseError> {
        self.run(candidates)?;
        Ok(candidates.iter().map(|candidate| self.completed_figures(candidate).clone()).collect())
    }

    /// Runs the candidates that have not been run before, replica by replica.
    fn run(&mut self, candidates: &[&Candidate]) -> Result<(), AdviseError> {
        let candidates = self.not_yet_run(candidates);
        let replicas = self.options.replicas;
        let points = candidates.iter().flat_map(|candidate| {
            let settings: BTreeMap<_, _> = candidate
                .change
                .settings
                .iter()
                .map(|setting| (setting.key.clone(), setting.value.clone()))
                .collect();
            (0..replicas).map(move |replica| replicate(&candidate.scenario, &settings, replica))
        });
        let sweep = Sweep::of(points.collect());
        let observer = RoundObserver { inner: self.observer, finished: self.finished, planned: self.planned };
        let outcomes = sweep
            .run(&self.options.sweep, &observer)
            .map_err(|error| error.in_round(self.finished, self.planned))?;
        self.finished += outcomes.len();
        let mut outcomes = outcomes.into_iter().map(|outcome| outcome.map(|point| point.result));
        for candidate in candidates {
            let replica_outcomes: Vec<Result<RunResult, String>> =
                outcomes.by_ref().take(replicas as usize).collect();
            self.completed.push((candidate.scenario.clone(), Figures::of(candidate, &replica_outcomes)));
        }
        Ok(())
    }
}
