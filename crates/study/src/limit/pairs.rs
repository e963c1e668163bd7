//! Runs of one drive with different placements and victim policies on the same writes.

use crate::points::{Point, SweepError};
use crate::sweep::{Outcome, Shifted, Sweep, SweepObserver, SweepOptions, replicate, resolved};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wearwell_stack::steady::{ci95_half_width, mean};
use wearwell_stack::{Draft, DraftError, RunError, RunResult};

/// Placement or victim policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Name, or all settings if it has any.
    pub name: String,
    /// Value in the scenario; `None` leaves the scenario unchanged.
    value: Option<Value>,
}

impl Part {
    /// Returns the part for a value of a scenario: a name or a table.
    pub fn new(value: Value) -> Self {
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Part { name, value: Some(value) }
    }
}

/// Reason why there is no limit, or no comparison with it.
#[derive(Debug, thiserror::Error)]
pub enum LimitError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Draft(Box<DraftError>),
    /// The unchanged drive cannot be run, or has no limit.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run of the unchanged drive failed.
    #[error("the drive as it is: {0}")]
    Own(String),
    /// A placement or policy to compare does not exist.
    #[error("{0}")]
    Options(String),
    /// The runs cannot continue.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl From<DraftError> for LimitError {
    fn from(error: DraftError) -> Self {
        LimitError::Draft(Box::new(error))
    }
}

/// Measurement of a placement and a victim policy.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Mean write amplification over seeds.
    pub write_amplification: f64,
    /// Half-width of its 95 % interval over seeds; with a single seed, over the windows of its run if there are enough.
    pub ci95: Option<f64>,
    /// Write amplification of each seed.
    pub by_seed: Vec<f64>,
    /// True if the run uses a pool of erased blocks although the unchanged drive reclaims in place.
    pub pooled: bool,
}

/// Runs of one drive so far.
pub(super) struct Pairs<'a> {
    /// Drafts of the drive, one per seed.
    drives: Vec<Draft>,
    in_place: bool,
    options: &'a SweepOptions<'a>,
    observer: &'a dyn SweepObserver,
    finished: usize,
    /// Measurements, or reasons why there are none, by names of placement and victim policy.
    made: BTreeMap<(String, String), Result<Measured, String>>,
}

impl<'a> Pairs<'a> {
    /// Returns an empty set of runs of the drive that `base` describes, with `replicas` seeds.
    pub fn new(
        base: &Draft,
        replicas: u32,
        options: &'a SweepOptions<'a>,
        observer: &'a dyn SweepObserver,
    ) -> Self {
        let drives = vec![base.clone(); replicas.max(1) as usize];
        Pairs { drives, in_place: false, options, observer, finished: 0, made: BTreeMap::new() }
    }

    /// Runs the unchanged drive with each seed.
    pub fn own_runs(&mut self) -> Result<Vec<RunResult>, LimitError> {
        let scenario = resolved(&self.drives[0])?;
        let point = |replica| replicate(&scenario, &BTreeMap::new(), replica as u32);
        let outcomes = self.run((0..self.drives.len()).map(point).collect())?;
        outcomes
            .into_iter()
            .map(|outcome| outcome.map(|point| point.result).map_err(LimitError::Own))
            .collect()
    }

    /// Makes all later runs measure the same writes as the runs in `own`, seed by seed. Returns the drive's placement
    /// and victim policy, if it has them.
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

    /// Executes the runs of `pairs` that have not been made.
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

    /// Returns the outcome of a pair that was run.
    pub fn known(&self, placement: &Part, victim: &Part) -> &Result<Measured, String> {
        &self.made[&(placement.name.clone(), victim.name.clone())]
    }

    /// Returns the write amplification of a pair that was run, if it has one.
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

    /// Returns the runs of a pair, one per seed. The flag is true if the pair needs a pool of erased blocks although
    /// the unchanged drive reclaims in place. An error describes why the pair cannot be run.
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

/// Summarises the runs of one pair, one per seed.
fn measured(seeds: &[&RunResult], pooled: bool) -> Result<Measured, String> {
    let of = |result: &&RunResult| result.write_amplification.ok_or_else(|| result.warnings.join("; "));
    let by_seed = seeds.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let ci95 = match seeds {
        [only] => only.write_amplification_estimate.as_ref().and_then(|estimate| estimate.ci95_half_width),
        _ => ci95_half_width(&by_seed),
    };
    Ok(Measured { write_amplification: mean(&by_seed), ci95, by_seed, pooled })
}
