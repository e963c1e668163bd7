//! Runs of one drive with one placement and one victim policy after the other, over the same writes.

use crate::points::{Point, SweepError};
use crate::sweep::{Outcome, Shifted, Sweep, SweepObserver, SweepOptions, replicate, resolved};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wearwell_stack::{Draft, DraftError, RunError, RunResult};

/// A placement or a victim policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// What it is called: its name or, with settings of its own, all of them.
    pub name: String,
    /// What the scenario is told; `None`: it stays as it is.
    value: Option<Value>,
}

impl Part {
    /// What a scenario is told: a name, or a table.
    pub fn new(value: Value) -> Self {
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Part { name, value: Some(value) }
    }
}

/// Why there is no limit, or nothing beside it.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Draft(Box<DraftError>),
    /// The drive as it is cannot be run, or has no limit.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It was run and failed.
    #[error("the drive as it is: {0}")]
    Own(String),
    /// The runs cannot go on.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl From<DraftError> for LimitError {
    fn from(error: DraftError) -> Self {
        LimitError::Draft(Box::new(error))
    }
}

/// What a run with a placement and a victim policy measured.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Write amplification.
    pub write_amplification: f64,
    /// Half the width of its 95 % interval over the windows of the run, where there are enough of them.
    pub ci95: Option<f64>,
    /// Whether blocks were won by a pool of erased ones, where the drive as it is reclaims them in place.
    pub pooled: bool,
}

/// The runs of one drive so far.
pub(super) struct Pairs<'a> {
    base: Draft,
    in_place: bool,
    options: &'a SweepOptions<'a>,
    observer: &'a dyn SweepObserver,
    finished: usize,
    /// By the names of placement and victim policy; in place of what was measured, why nothing was.
    made: BTreeMap<(String, String), Result<Measured, String>>,
}

impl<'a> Pairs<'a> {
    /// None yet, of the drive that `base` describes.
    pub fn new(base: &Draft, options: &'a SweepOptions<'a>, observer: &'a dyn SweepObserver) -> Self {
        let made = BTreeMap::new();
        Pairs { base: base.clone(), in_place: false, options, observer, finished: 0, made }
    }

    /// The drive as it is.
    pub fn own_run(&mut self) -> Result<RunResult, LimitError> {
        let scenario = resolved(&self.base)?;
        let outcome = self.run(vec![replicate(&scenario, &BTreeMap::new(), 0)])?.remove(0);
        outcome.map(|point| point.result).map_err(LimitError::Own)
    }

    /// All other runs measure the writes that `own` did, and are compared with it; its placement and victim policy, if it has them.
    pub fn hold_against(&mut self, own: &RunResult) -> Result<Option<(Part, Part)>, LimitError> {
        let measure = &own.scenario.measure;
        if measure.warm_up.is_none() && measure.until_worn_out_blocks.is_none() {
            self.base.set("measure.warm_up", json!(own.course.warm_up_drive_writes))?;
        }
        let ftl = json!(own.scenario.ftl);
        self.in_place = ftl["reclaim"] == "in_place";
        let part = |table: &Value, kind: &str| {
            let name = table.as_str().or_else(|| table[kind].as_str())?;
            Some(Part { name: name.to_owned(), value: None })
        };
        let parts = part(&ftl["placement"], "kind").zip(part(&ftl["victim"], "policy"));
        if let Some((placement, victim)) = &parts {
            let names = (placement.name.clone(), victim.name.clone());
            self.made.insert(names, measured(own, false));
        }
        Ok(parts)
    }

    /// Makes the runs of `pairs` that were not made.
    pub fn make(&mut self, pairs: &[(&Part, &Part)]) -> Result<(), LimitError> {
        let mut points = Vec::new();
        let mut planned = BTreeSet::new();
        for &(placement, victim) in pairs {
            let names = (placement.name.clone(), victim.name.clone());
            if self.made.contains_key(&names) || !planned.insert(names.clone()) {
                continue;
            }
            match self.point(placement, victim) {
                Ok((point, pooled)) => points.push((names, point, pooled)),
                Err(problem) => drop(self.made.insert(names, Err(problem))),
            }
        }
        if points.is_empty() {
            return Ok(());
        }
        let outcomes = self.run(points.iter().map(|(_, point, _)| point.clone()).collect())?;
        for ((names, _, pooled), outcome) in points.into_iter().zip(outcomes) {
            self.made.insert(names, outcome.and_then(|point| measured(&point.result, pooled)));
        }
        Ok(())
    }

    /// What came of a pair that was made.
    pub fn known(&self, placement: &Part, victim: &Part) -> &Result<Measured, String> {
        &self.made[&(placement.name.clone(), victim.name.clone())]
    }

    /// The write amplification of a pair that was made, if it has one.
    pub fn amplification(&self, placement: &Part, victim: &Part) -> Option<f64> {
        self.known(placement, victim).as_ref().ok().map(|measured| measured.write_amplification)
    }

    fn run(&mut self, points: Vec<Point>) -> Result<Vec<Outcome>, LimitError> {
        let (finished, planned) = (self.finished, self.finished + points.len());
        let shifted = Shifted { inner: self.observer, finished, planned };
        let outcomes =
            Sweep::of(points).run(self.options, &shifted).map_err(|error| error.after(finished, planned))?;
        self.finished = planned;
        Ok(outcomes)
    }

    /// The run of a pair, and whether blocks are won by a pool where the drive as it is does without; an error says why it cannot be.
    fn point(&self, placement: &Part, victim: &Part) -> Result<(Point, bool), String> {
        let mut draft = self.base.clone();
        let mut settings = BTreeMap::new();
        for (key, part) in [("ftl.placement", placement), ("ftl.victim", victim)] {
            settings.insert(key.to_owned(), json!(part.name));
            if let Some(value) = &part.value {
                draft.set(key, value.clone()).map_err(|error| error.problem)?;
            }
        }
        let scenario = match resolved(&draft) {
            Err(_) if self.in_place => {
                draft.set("ftl.reclaim", json!("free_pool")).map_err(|error| error.problem)?;
                resolved(&draft).map(|scenario| (scenario, true))
            }
            tried => tried.map(|scenario| (scenario, false)),
        };
        let (scenario, pooled) = scenario.map_err(|error| error.problem)?;
        Ok((replicate(&scenario, &settings, 0), pooled))
    }
}

fn measured(result: &RunResult, pooled: bool) -> Result<Measured, String> {
    let estimate = result.write_amplification_estimate.as_ref();
    let ci95 = estimate.and_then(|estimate| estimate.ci95_half_width);
    let write_amplification = result.write_amplification.ok_or_else(|| result.warnings.join("; "))?;
    Ok(Measured { write_amplification, ci95, pooled })
}
