//! Rounds of runs: every change alone, then combinations of the best.

use super::advice::{Advice, Against, Figures, Skipped, Tried, Verdict, rank};
use super::candidate::{Candidate, as_it_is};
use super::situation::Situation;
use super::{Change, FAMILIES, Family};
use crate::limit::{LimitError, distance};
use crate::points::SweepError;
use crate::sweep::{Shifted, Sweep, SweepObserver, SweepOptions, replicate, resolved};
use std::collections::BTreeMap;
use wearwell_stack::RunResult;
use wearwell_stack::key::Key;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Draft, DraftError, Fit, RunError};

/// Number of changes tried on top of the best, in each step.
const TRIED_A_STEP: usize = 4;

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

impl From<LimitError> for AdviseError {
    fn from(error: LimitError) -> Self {
        match error {
            LimitError::Draft(error) => AdviseError::Draft(error),
            LimitError::Sweep(error) => AdviseError::Sweep(error),
            LimitError::Run(RunError::Interrupted) => {
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
    if scenario.device.fit != Fit::Wanted(true) {
        return Ok(draft);
    }
    let fitted = resolved(&draft)?;
    draft.keep_fit(&fitted)?;
    Ok(draft)
}

/// Maximum number of runs per change: more seeds than any interval needs.
const MOST_REPLICAS: u32 = 10_000;

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
    if options.replicas > MOST_REPLICAS {
        return Err(AdviseError::Options(format!(
            "replicas: {} are more than {MOST_REPLICAS}",
            options.replicas
        )));
    }
    if draft.scenario()?.measure.until_worn_out_blocks.is_some() {
        let problem = "measures a life and no steady state, so there is no wear to compare; unset it";
        return Err(AdviseError::Options(format!("measure.until_worn_out_blocks: {problem}")));
    }
    let draft = &with_fitted_drive(draft)?;
    let base = Situation::of(draft)?;
    let unchanged = Candidate::unchanged(&base, resolved(draft)?);
    let changes = families.iter().flat_map(|family| (family.changes)(&base)).collect();
    let mut seen = vec![unchanged.scenario.clone()];
    let mut skipped = Vec::new();
    let candidates = fitting(&base, changes, &mut seen, &mut skipped);
    let stack = Stack { base: &base, unchanged };
    let references = References::of(&stack, &stack.unchanged, &candidates, &mut skipped);
    let mut bench = Bench { options, observer, finished: 0, planned: 0, known: Vec::new() };
    bench.plan([&stack.unchanged].into_iter().chain(&candidates).chain(&references.candidates));
    let figures = bench.figures(&[&stack.unchanged])?.remove(0);
    if let Some(problem) = figures.problem.as_ref().filter(|_| figures.failed()) {
        return Err(AdviseError::Base(problem.clone()));
    }
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut advice = Advice {
        version,
        replicas: options.replicas,
        base: figures,
        limit: None,
        changes: Vec::new(),
        combinations: Vec::new(),
        skipped,
    };
    // Without a write amplification there is no baseline for the changes.
    if advice.base.write_amplification.is_none() {
        return Ok(advice);
    }
    advice.limit = distance(draft, &options.sweep, observer)?;
    let tried = try_alone(&stack, &mut bench, &advice.base, candidates, &references)?;
    let mut alone: Vec<Tried> = tried.iter().map(|(_, tried)| tried.clone()).collect();
    rank(&mut alone);
    advice.changes = alone;
    combine(&stack, &mut bench, &mut advice, tried, &mut seen)?;
    Ok(advice)
}

/// Stack that advice is for.
struct Stack<'a> {
    base: &'a Situation<'a>,
    unchanged: Candidate,
}

/// Baselines of candidates: a stack with one change or none, at the capacity of the candidates.
struct References {
    /// Baselines, each with a different capacity.
    candidates: Vec<Candidate>,
}

impl References {
    /// Uses `fair` for all `candidates` of equal capacity, and a smaller version of it for the other candidates.
    /// Candidates whose capacity cannot be matched go to `skipped`.
    fn of(stack: &Stack<'_>, fair: &Candidate, candidates: &[Candidate], skipped: &mut Vec<Skipped>) -> Self {
        let mut references = References { candidates: vec![fair.clone()] };
        for candidate in candidates {
            if references.candidates.iter().any(|reference| candidate.holds_as_much_as(reference)) {
                continue;
            }
            match Candidate::as_small_as(stack.base, fair.proposed.clone(), candidate) {
                Ok(reference) => references.candidates.push(reference),
                Err(reason) => skipped.push(Skipped { change: candidate.change.clone(), reason }),
            }
        }
        references
    }

    /// Returns the baseline with the capacity of `candidate`.
    fn to(&self, candidate: &Candidate) -> Option<&Candidate> {
        self.candidates.iter().find(|reference| candidate.holds_as_much_as(reference))
    }
}

/// Tries each of `candidates` alone.
fn try_alone(
    stack: &Stack<'_>,
    bench: &mut Bench<'_>,
    base: &Figures,
    candidates: Vec<Candidate>,
    references: &References,
) -> Result<Vec<(Candidate, Tried)>, AdviseError> {
    let pairs: Vec<(Candidate, &Candidate)> = candidates
        .into_iter()
        .filter_map(|candidate| references.to(&candidate).map(|reference| (candidate, reference)))
        .collect();
    bench
        .run(&pairs.iter().flat_map(|(candidate, reference)| [candidate, *reference]).collect::<Vec<_>>())?;
    let family = pairs.len();
    let tried = pairs.into_iter().map(|(candidate, reference)| {
        let against = Against {
            base: (&stack.unchanged, base),
            reference: (reference, bench.known(reference)),
            family,
            step: None,
        };
        let tried = Tried::of(&candidate, bench.known(&candidate).clone(), &against);
        (candidate, tried)
    });
    Ok(tried.collect())
}

fn families(only: &[String]) -> Result<Vec<&'static Family>, AdviseError> {
    if only.is_empty() {
        return Ok(FAMILIES.iter().collect());
    }
    only.iter().map(|name| Family::named(name).map_err(AdviseError::Options)).collect()
}

/// Returns the changes that fit. Drops changes that lead to a scenario in `seen`; other changes that do not fit go to
/// `skipped`.
fn fitting(
    base: &Situation<'_>,
    changes: Vec<Change>,
    seen: &mut Vec<Scenario>,
    skipped: &mut Vec<Skipped>,
) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for change in changes {
        match Candidate::of(base, change.clone()) {
            Ok(candidate) if seen.contains(&candidate.scenario) => {}
            Ok(candidate) => {
                seen.push(candidate.scenario.clone());
                candidates.push(candidate);
            }
            Err(reason) => skipped.push(Skipped { change, reason }),
        }
    }
    candidates
}

/// Extends the best change step by step with the change that helps most.
fn combine(
    stack: &Stack<'_>,
    bench: &mut Bench<'_>,
    advice: &mut Advice,
    mut tried: Vec<(Candidate, Tried)>,
    seen: &mut Vec<Scenario>,
) -> Result<(), AdviseError> {
    tried.retain(|(_, tried)| tried.verdict == Verdict::Saves);
    let saving = |tried: &Tried| tried.saving.map_or(0.0, |saving| saving.mean);
    tried.sort_by(|(_, one), (_, other)| saving(other).total_cmp(&saving(one)));
    let Some((mut best, _)) = tried.first().cloned() else { return Ok(()) };
    for _ in 1..bench.options.depth {
        let added = tried.iter().filter(|(other, _)| compatible(&best.proposed, &other.proposed));
        let changes = added.take(TRIED_A_STEP).map(|(other, _)| best.proposed.and(&other.proposed)).collect();
        let candidates = fitting(stack.base, changes, seen, &mut advice.skipped);
        let mut step = try_step(stack, bench, advice, &best, candidates)?;
        let mut ranked: Vec<Tried> = step.iter().map(|(_, tried)| tried.clone()).collect();
        rank(&mut ranked);
        let Some(first) = ranked.first().cloned() else { break };
        advice.combinations.extend(ranked);
        let chosen = step.iter().position(|(candidate, _)| candidate.change == first.change);
        match chosen {
            Some(at) if first.verdict == Verdict::Saves => best = step.swap_remove(at).0,
            _ => break,
        }
    }
    Ok(())
}

/// Tries `candidates`, each with the changes of `best` and one more.
fn try_step(
    stack: &Stack<'_>,
    bench: &mut Bench<'_>,
    advice: &mut Advice,
    best: &Candidate,
    candidates: Vec<Candidate>,
) -> Result<Vec<(Candidate, Tried)>, AdviseError> {
    let unchanged = Candidate { proposed: as_it_is(), ..stack.unchanged.clone() };
    let references = References::of(stack, &unchanged, &candidates, &mut advice.skipped);
    let before = References::of(stack, best, &candidates, &mut advice.skipped);
    let both = |candidate: Candidate| {
        let held = (references.to(&candidate)?.clone(), before.to(&candidate)?.clone());
        Some((candidate, held))
    };
    let trios: Vec<_> = candidates.into_iter().filter_map(both).collect();
    let needed: Vec<&Candidate> =
        trios.iter().flat_map(|(candidate, (reference, step))| [candidate, reference, step]).collect();
    bench.plan(needed.iter().copied());
    bench.run(&needed)?;
    let family = advice.changes.len() + advice.combinations.len() + trios.len();
    let tries = trios.len();
    let tried = trios.into_iter().map(|(candidate, (reference, step))| {
        let against = Against {
            base: (&stack.unchanged, &advice.base),
            reference: (&reference, bench.known(&reference)),
            family,
            step: Some((bench.known(&step), tries)),
        };
        let tried = Tried::of(&candidate, bench.known(&candidate).clone(), &against);
        (candidate, tried)
    });
    Ok(tried.collect())
}

/// True if neither change sets a key of the other, or a table that contains it.
fn compatible(one: &Change, other: &Change) -> bool {
    let keys = |change: &Change| -> Vec<Key> {
        change.settings.iter().filter_map(|setting| Key::parse(&setting.key).ok()).collect()
    };
    let others = keys(other);
    keys(one).iter().all(|key| others.iter().all(|other| !key.is_within(other) && !other.is_within(key)))
}

/// Runner of candidates over all rounds; runs each candidate once.
struct Bench<'a> {
    options: &'a AdviseOptions<'a>,
    observer: &'a dyn SweepObserver,
    /// Number of runs finished in earlier rounds.
    finished: usize,
    /// Number of runs of all rounds, as far as planned.
    planned: usize,
    /// Scenarios that have been run, with their figures.
    known: Vec<(Scenario, Figures)>,
}

impl Bench<'_> {
    /// Counts the runs of `candidates` that remain.
    fn plan<'c>(&mut self, candidates: impl Iterator<Item = &'c Candidate>) {
        let new = self.new_among(&candidates.collect::<Vec<_>>()).len();
        self.planned = self.finished + new * self.options.replicas as usize;
    }

    /// Returns the candidates that have not been run, without duplicates.
    fn new_among<'c>(&self, candidates: &[&'c Candidate]) -> Vec<&'c Candidate> {
        let mut new: Vec<&Candidate> = Vec::new();
        for candidate in candidates {
            let is_known = self.known.iter().any(|(scenario, _)| *scenario == candidate.scenario);
            if !is_known && new.iter().all(|other| other.scenario != candidate.scenario) {
                new.push(candidate);
            }
        }
        new
    }

    /// Returns the figures of `candidate`, which must have been run.
    fn known(&self, candidate: &Candidate) -> &Figures {
        let found = self.known.iter().find(|(scenario, _)| *scenario == candidate.scenario);
        &found.expect("it was run").1
    }

    /// Returns the figures of candidates, in the given order.
    fn figures(&mut self, candidates: &[&Candidate]) -> Result<Vec<Figures>, AdviseError> {
        self.run(candidates)?;
        Ok(candidates.iter().map(|candidate| self.known(candidate).clone()).collect())
    }

    /// Runs the candidates that have not been run before, replica by replica.
    fn run(&mut self, candidates: &[&Candidate]) -> Result<(), AdviseError> {
        let candidates = self.new_among(candidates);
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
        let observer = Shifted { inner: self.observer, finished: self.finished, planned: self.planned };
        let outcomes = sweep
            .run(&self.options.sweep, &observer)
            .map_err(|error| error.after(self.finished, self.planned))?;
        self.finished += outcomes.len();
        let mut outcomes = outcomes.into_iter().map(|outcome| outcome.map(|point| point.result));
        for candidate in candidates {
            let of_one: Vec<Result<RunResult, String>> = outcomes.by_ref().take(replicas as usize).collect();
            self.known.push((candidate.scenario.clone(), Figures::of(candidate, &of_one)));
        }
        Ok(())
    }
}
