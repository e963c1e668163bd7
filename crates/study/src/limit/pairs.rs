//! Runs of one drive with one placement and one victim policy after the other, over the same writes.

use crate::points::{Point, SweepError};
use crate::sweep::{Outcome, Shifted, Sweep, SweepObserver, SweepOptions, replicate, resolved};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wearwell_stack::steady::{ci95_half_width, mean};
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
    /// What is to be held against the limit is none of what there is.
    #[error("{0}")]
    Options(String),
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
    /// Write amplification, the mean over seeds.
    pub write_amplification: f64,
    /// Half the width of its 95 % interval over seeds; of a single one over the windows of its run, where there are enough of them.
    pub ci95: Option<f64>,
    /// Write amplification of each seed.
    pub by_seed: Vec<f64>,
    /// Whether blocks were won by a pool of erased ones, where the drive as it is reclaims them in place.
    pub pooled: bool,
}

/// The runs of one drive so far.
pub(super) struct Pairs<'a> {
    /// The drive, once for each seed.
    drives: Vec<Draft>,
    in_place: bool,
    options: &'a SweepOptions<'a>,
    observer: &'a dyn SweepObserver,
    finished: usize,
    /// By the names of placement and victim policy; in place of what was measured, why nothing was.
    made: BTreeMap<(String, String), Result<Measured, String>>,
}

impl<'a> Pairs<'a> {
    /// None yet, of the drive that `base` describes, with as many seeds as `replicas`.
    pub fn new(
        base: &Draft,
        replicas: u32,
        options: &'a SweepOptions<'a>,
        observer: &'a dyn SweepObserver,
    ) -> Self {
        let drives = vec![base.clone(); replicas.max(1) as usize];
        Pairs { drives, in_place: false, options, observer, finished: 0, made: BTreeMap::new() }
    }

    /// The drive as it is, with each seed.
    pub fn own_runs(&mut self) -> Result<Vec<RunResult>, LimitError> {
        let scenario = resolved(&self.drives[0])?;
        let point = |replica| replicate(&scenario, &BTreeMap::new(), replica as u32);
        let outcomes = self.run((0..self.drives.len()).map(point).collect())?;
        outcomes
            .into_iter()
            .map(|outcome| outcome.map(|point| point.result).map_err(LimitError::Own))
            .collect()
    }

    /// With each seed all other runs measure the writes that the run of `own` did, and are compared with it; its placement and victim
    /// policy, if it has them.
    pub fn hold_against(&mut self, own: &[RunResult]) -> Result<Option<(Part, Part)>, LimitError> {
        for (drive, own) in self.drives.iter_mut().zip(own) {
            let measure = &own.scenario.measure;
            if measure.warm_up.is_none() && measure.until_worn_out_blocks.is_none() {
                drive.set("measure.warm_up", json!(own.course.warm_up_drive_writes))?;
            }
        }
        let ftl = json!(own[0].scenario.ftl);
        self.in_place = ftl["reclaim"] == "in_place";
        let part = |table: &Value, kind: &str| {
            let name = table.as_str().or_else(|| table[kind].as_str())?;
            Some(Part { name: name.to_owned(), value: None })
        };
        let parts = part(&ftl["placement"], "kind").zip(part(&ftl["victim"], "policy"));
        if let Some((placement, victim)) = &parts {
            let names = (placement.name.clone(), victim.name.clone());
            self.made.insert(names, measured(&own.iter().collect::<Vec<_>>(), false));
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
            match self.points(placement, victim) {
                Ok((seeds, pooled)) => points.push((names, seeds, pooled)),
                Err(problem) => drop(self.made.insert(names, Err(problem))),
            }
        }
        if points.is_empty() {
            return Ok(());
        }
        let outcomes = self.run(points.iter().flat_map(|(_, seeds, _)| seeds.clone()).collect())?;
        for ((names, _, pooled), seeds) in points.into_iter().zip(outcomes.chunks(self.drives.len())) {
            let results: Result<Vec<&RunResult>, String> = seeds
                .iter()
                .map(|outcome| outcome.as_ref().map(|point| &point.result).map_err(String::clone))
                .collect();
            self.made.insert(names, results.and_then(|results| measured(&results, pooled)));
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

    /// The runs of a pair, one for each seed, and whether blocks are won by a pool where the drive as it is does without; an error says
    /// why they cannot be.
    fn points(&self, placement: &Part, victim: &Part) -> Result<(Vec<Point>, bool), String> {
        let mut points = Vec::with_capacity(self.drives.len());
        let mut pooled = false;
        for (replica, drive) in self.drives.iter().enumerate() {
            let (point, with_pool) = self.point(drive, replica as u32, placement, victim)?;
            points.push(point);
            pooled |= with_pool;
        }
        Ok((points, pooled))
    }

    fn point(
        &self,
        drive: &Draft,
        replica: u32,
        placement: &Part,
        victim: &Part,
    ) -> Result<(Point, bool), String> {
        let mut draft = drive.clone();
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
        Ok((replicate(&scenario, &settings, replica), pooled))
    }
}

/// What the runs of one pair measured, one for each seed.
fn measured(seeds: &[&RunResult], pooled: bool) -> Result<Measured, String> {
    let of = |result: &&RunResult| result.write_amplification.ok_or_else(|| result.warnings.join("; "));
    let by_seed = seeds.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let ci95 = match seeds {
        [only] => only.write_amplification_estimate.as_ref().and_then(|estimate| estimate.ci95_half_width),
        _ => ci95_half_width(&by_seed),
    };
    Ok(Measured { write_amplification: mean(&by_seed), ci95, by_seed, pooled })
}
