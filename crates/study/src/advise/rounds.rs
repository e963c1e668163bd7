//! Trying changes: all of them alone, then the best together.

use super::advice::{Advice, Figures, Skipped, Tried, Verdict, rank};
use super::candidate::Candidate;
use super::situation::Situation;
use super::{Change, FAMILIES, Family};
use crate::points::{MOST_POINTS, SweepError};
use crate::sweep::{Sweep, SweepObserver, SweepOptions, replicate, resolved};
use serde_json::json;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use wearwell_stack::Progress;
use wearwell_stack::RunResult;
use wearwell_stack::key::Key;
use wearwell_stack::scenario::Scenario;
use wearwell_stack::{Draft, DraftError, Fit};

/// Changes that are tried on top of the best, in each step.
const TRIED_A_STEP: usize = 4;

/// What is tried, and how; `sweep` changes no result.
#[derive(Clone, Debug, Default)]
pub struct AdviseOptions<'a> {
    /// Names of the families to try; all if empty.
    pub only: Vec<String>,
    /// Runs of each change with different seeds, at least 1.
    pub replicas: u32,
    /// Changes that may be combined; 1 tries none together.
    pub depth: u32,
    /// Threads, and where finished runs are kept.
    pub sweep: SweepOptions<'a>,
}

/// Why there is no advice.
#[derive(Debug, thiserror::Error)]
pub enum AdviseError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Draft(Box<DraftError>),
    /// What was asked for does not exist or makes no sense.
    #[error("{0}")]
    Options(String),
    /// A run of the stack as it is failed.
    #[error("the stack as it is: {0}")]
    Base(String),
    /// The runs cannot go on.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl From<DraftError> for AdviseError {
    fn from(error: DraftError) -> Self {
        AdviseError::Draft(Box::new(error))
    }
}

/// `draft` with the size of a drive that fits its trace written down, so that all changes are tried on one of that size.
pub(super) fn with_fitted_drive(draft: &Draft) -> Result<Draft, DraftError> {
    let mut draft = draft.clone();
    let scenario = draft.scenario()?;
    if scenario.device.fit != Fit::Wanted(true) {
        return Ok(draft);
    }
    let fitted = resolved(&draft)?;
    let rule = fitted.trace.as_ref().map(|trace| json!(trace.address));
    draft.set("device.fit", json!(fitted.device.fit))?;
    draft.set("device.capacity", json!(fitted.device.capacity))?;
    draft.set("trace.address", rule.unwrap_or_default())?;
    Ok(draft)
}

/// Tries changes to the stack that `draft` describes.
///
/// `observer` hears of runs, counted over all rounds; their number grows once it is known what is combined. Equal
/// drafts and options give equal advice, whatever the threads.
pub fn advise(
    draft: &Draft,
    options: &AdviseOptions<'_>,
    observer: &dyn SweepObserver,
) -> Result<Advice, AdviseError> {
    let families = families(&options.only)?;
    if options.replicas == 0 || options.depth == 0 {
        return Err(AdviseError::Options("replicas and depth must be at least 1".into()));
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
    let replicas = options.replicas as usize;
    let planned = (candidates.len() + 1).saturating_mul(replicas);
    if planned > MOST_POINTS {
        let problem = format!("replicas: {planned} runs are too many; at most {MOST_POINTS} are made");
        return Err(AdviseError::Options(problem));
    }
    let mut bench = Bench { options, observer, finished: 0, planned };
    let outcomes = bench.run(std::slice::from_ref(&unchanged))?.remove(0);
    if let Some(Err(problem)) = outcomes.iter().find(|outcome| outcome.is_err()) {
        return Err(AdviseError::Base(problem.clone()));
    }
    let figures = Figures::of(&unchanged, &outcomes);
    let version = env!("CARGO_PKG_VERSION").to_owned();
    let mut advice = Advice {
        version,
        replicas: options.replicas,
        base: figures,
        changes: Vec::new(),
        combinations: Vec::new(),
        skipped,
    };
    // Without an amplification there is nothing to hold the changes against.
    if advice.base.write_amplification.is_none() {
        return Ok(advice);
    }
    let family = candidates.len();
    let results = bench.run(&candidates)?;
    let tried = candidates.iter().zip(&results).map(|(candidate, outcomes)| {
        let figures = Figures::of(candidate, outcomes);
        Tried::of(&candidate.change, figures, &advice.base, family, None)
    });
    advice.changes = tried.collect();
    rank(&mut advice.changes);
    combine(&base, &mut bench, &mut advice, &mut seen)?;
    Ok(advice)
}

fn families(only: &[String]) -> Result<Vec<&'static Family>, AdviseError> {
    if only.is_empty() {
        return Ok(FAMILIES.iter().collect());
    }
    only.iter().map(|name| Family::named(name).map_err(AdviseError::Options)).collect()
}

/// The changes that fit; those that come to a scenario `seen` before are dropped, others that do not fit are `skipped`.
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

/// Adds to the best change, step by step, what helps most on top of it.
fn combine(
    base: &Situation<'_>,
    bench: &mut Bench<'_>,
    advice: &mut Advice,
    seen: &mut Vec<Scenario>,
) -> Result<(), AdviseError> {
    let saving: Vec<Tried> =
        advice.changes.iter().filter(|tried| tried.verdict == Verdict::Saves).cloned().collect();
    let Some(mut best) = saving.first().cloned() else { return Ok(()) };
    for _ in 1..bench.options.depth {
        let added = saving.iter().filter(|other| compatible(&best.change, &other.change));
        let changes = added.take(TRIED_A_STEP).map(|other| best.change.and(&other.change)).collect();
        let candidates = fitting(base, changes, seen, &mut advice.skipped);
        if candidates.is_empty() {
            break;
        }
        bench.planned += candidates.len() * bench.options.replicas as usize;
        let results = bench.run(&candidates)?;
        let family = advice.changes.len() + advice.combinations.len() + candidates.len();
        let tried = candidates.iter().zip(&results).map(|(candidate, outcomes)| {
            let figures = Figures::of(candidate, outcomes);
            let step = Some((&best.figures, candidates.len()));
            Tried::of(&candidate.change, figures, &advice.base, family, step)
        });
        let mut step: Vec<Tried> = tried.collect();
        rank(&mut step);
        let first = step.first().cloned().expect("there are candidates");
        advice.combinations.extend(step);
        if first.verdict != Verdict::Saves {
            break;
        }
        best = first;
    }
    Ok(())
}

/// Whether neither change touches a key of the other, or a table that holds it.
fn compatible(one: &Change, other: &Change) -> bool {
    let keys = |change: &Change| -> Vec<Key> {
        change.settings.iter().filter_map(|setting| Key::parse(&setting.key).ok()).collect()
    };
    let others = keys(other);
    keys(one).iter().all(|key| others.iter().all(|other| !key.is_within(other) && !other.is_within(key)))
}

/// Runs candidates, round after round.
struct Bench<'a> {
    options: &'a AdviseOptions<'a>,
    observer: &'a dyn SweepObserver,
    /// Runs finished in earlier rounds.
    finished: usize,
    /// Runs of all rounds, as far as they are planned.
    planned: usize,
}

impl Bench<'_> {
    /// The outcomes of each candidate, replica by replica.
    fn run(&mut self, candidates: &[Candidate]) -> Result<Vec<Vec<Result<RunResult, String>>>, AdviseError> {
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
        let outcomes = sweep.run(&self.options.sweep, &observer).map_err(|error| match error {
            SweepError::Interrupted { finished, .. } => {
                SweepError::Interrupted { finished: self.finished + finished, points: self.planned }
            }
            other => other,
        })?;
        self.finished += outcomes.len();
        let mut outcomes = outcomes
            .into_iter()
            .map(|outcome| outcome.map(|point| point.result).map_err(|error| error.to_string()));
        let of_one = |_: &Candidate| outcomes.by_ref().take(replicas as usize).collect();
        Ok(candidates.iter().map(of_one).collect())
    }
}

/// Counts the runs of a round after those of the rounds before.
struct Shifted<'a> {
    inner: &'a dyn SweepObserver,
    finished: usize,
    planned: usize,
}

impl SweepObserver for Shifted<'_> {
    fn begin(&self, point: usize) -> ControlFlow<()> {
        self.inner.begin(self.finished + point)
    }

    fn progress(&self, point: usize, progress: &Progress) -> ControlFlow<()> {
        self.inner.progress(self.finished + point, progress)
    }

    fn finished(&self, finished: usize, _: usize) {
        self.inner.finished(self.finished + finished, self.planned);
    }
}
