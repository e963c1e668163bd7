//! Runs of one drive with different placements and victim policies on the same writes.

use crate::points::{Point, SweepError};
use crate::sweep::{Outcome, RoundObserver, Sweep, SweepObserver, SweepOptions, replicate, resolve_draft};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use wearwell_stack::steady::{ci95_half_width, mean};
use wearwell_stack::{Draft, DraftError, RunError, RunResult};

/// Placement or victim policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicySetting {
    /// Name of the placement or policy, or its table if it has settings.
    pub name: String,
    /// Value in the scenario; `None` leaves the scenario unchanged.
    value: Option<Value>,
}

impl PolicySetting {
    /// Returns the setting for a value of a scenario: a name or a table.
    pub fn new(value: Value) -> Self {
        let name = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        PolicySetting { name, value: Some(value) }
    }
}

/// Reason why there is no lower bound, or no comparison with it.
#[derive(Debug, thiserror::Error)]
pub enum LowerBoundError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Draft(Box<DraftError>),
    /// The unchanged drive cannot be run, or has no lower bound.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The run of the unchanged drive failed.
    #[error("the drive as it is: {0}")]
    Unchanged(String),
    /// A placement or policy to compare does not exist.
    #[error("{0}")]
    Options(String),
    /// The runs cannot continue.
    #[error(transparent)]
    Sweep(#[from] SweepError),
}

impl From<DraftError> for LowerBoundError {
    fn from(error: DraftError) -> Self {
        LowerBoundError::Draft(Box::new(error))
    }
}

/// Measurement of a placement and a victim policy.
#[derive(Clone, Debug, PartialEq)]
pub struct PairMeasurement {
    /// Mean write amplification over seeds.
    pub write_amplification: f64,
    /// Half-width of the 95 % interval of the mean over seeds. With a single seed, the interval is over the windows of
    /// the run, if there are enough windows.
    pub ci95: Option<f64>,
    /// Write amplification of each seed.
    pub by_seed: Vec<f64>,
    /// True if the run uses a pool of erased blocks although the unchanged drive reclaims in place.
    pub pooled: bool,
}

/// Runs of one drive so far.
pub(super) struct PairRuns<'a> {
    /// Drafts of the drive, one per seed.
    drives: Vec<Draft>,
    in_place: bool,
    options: &'a SweepOptions<'a>,
    observer: &'a dyn SweepObserver,
    finished: usize,
    /// Measurements, or reasons why there are none, by names of placement and victim policy.
    outcomes: BTreeMap<(String, String), Result<PairMeasurement, String>>,
}

impl<'a> PairRuns<'a> {
    /// Returns an empty set of runs of the drive that `base` describes, with `replicas` seeds.
    pub fn new(
        base: &Draft,
        replicas: u32,
        options: &'a SweepOptions<'a>,
        observer: &'a dyn SweepObserver,
    ) -> Self {
        let drives = vec![base.clone(); replicas.max(1) as usize];
        PairRuns { drives, in_place: false, options, observer, finished: 0, outcomes: BTreeMap::new() }
    }

    /// Runs the unchanged drive with each seed.
    pub fn run_unchanged(&mut self) -> Result<Vec<RunResult>, LowerBoundError> {
        let scenario = resolve_draft(&self.drives[0])?;
        let point = |replica| replicate(&scenario, &BTreeMap::new(), replica as u32);
        let outcomes = self.run((0..self.drives.len()).map(point).collect())?;
        outcomes
            .into_iter()
            .map(|outcome| outcome.map(|point| point.result).map_err(LowerBoundError::Unchanged))
            .collect()
    }

    /// Makes all later runs measure the same writes as the runs in `unchanged`, seed by seed. Returns the drive's
    /// placement and victim policy, if it has them.
    pub fn fix_writes_to(
        &mut self,
        unchanged: &[RunResult],
    ) -> Result<Option<(PolicySetting, PolicySetting)>, LowerBoundError> {
        for (drive, unchanged) in self.drives.iter_mut().zip(unchanged) {
            let measure = &unchanged.scenario.measure;
            if measure.warm_up.is_none() && measure.until_worn_out_blocks.is_none() {
                drive.set("measure.warm_up", json!(unchanged.phases.warm_up_drive_writes))?;
            }
        }
        let ftl = json!(unchanged[0].scenario.ftl);
        self.in_place = ftl["reclaim"] == "in_place";
        let setting_of = |table: &Value, kind: &str| {
            let name = table.as_str().or_else(|| table[kind].as_str())?;
            Some(PolicySetting { name: name.to_owned(), value: None })
        };
        let parts = setting_of(&ftl["placement"], "kind").zip(setting_of(&ftl["victim"], "policy"));
        if let Some((placement, victim)) = &parts {
            let names = (placement.name.clone(), victim.name.clone());
            self.outcomes.insert(names, measure_pair(&unchanged.iter().collect::<Vec<_>>(), false));
        }
        Ok(parts)
    }

    /// Executes the runs of `pairs` that have not been executed.
    pub fn run_missing(&mut self, pairs: &[(&PolicySetting, &PolicySetting)]) -> Result<(), LowerBoundError> {
        let mut points = Vec::new();
        let mut planned = BTreeSet::new();
        for &(placement, victim) in pairs {
            let names = (placement.name.clone(), victim.name.clone());
            if self.outcomes.contains_key(&names) || !planned.insert(names.clone()) {
                continue;
            }
            match self.points(placement, victim) {
                Ok((seeds, pooled)) => points.push((names, seeds, pooled)),
                Err(problem) => drop(self.outcomes.insert(names, Err(problem))),
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
            self.outcomes.insert(names, results.and_then(|results| measure_pair(&results, pooled)));
        }
        Ok(())
    }

    /// Returns the outcome of a pair that was run.
    pub fn outcome(
        &self,
        placement: &PolicySetting,
        victim: &PolicySetting,
    ) -> &Result<PairMeasurement, String> {
        &self.outcomes[&(placement.name.clone(), victim.name.clone())]
    }

    /// Returns the write amplification of a pair that was run, if it has one.
    pub fn amplification(&self, placement: &PolicySetting, victim: &PolicySetting) -> Option<f64> {
        self.outcome(placement, victim).as_ref().ok().map(|measured| measured.write_amplification)
    }

    fn run(&mut self, points: Vec<Point>) -> Result<Vec<Outcome>, LowerBoundError> {
        let (finished, planned) = (self.finished, self.finished + points.len());
        let round_observer = RoundObserver { inner: self.observer, finished, planned };
        let outcomes = Sweep::of(points)
            .run(self.options, &round_observer)
            .map_err(|error| error.in_round(finished, planned))?;
        self.finished = planned;
        Ok(outcomes)
    }

    /// Returns the runs of a pair, one per seed. The flag is true if the pair needs a pool of erased blocks although
    /// the unchanged drive reclaims in place. An error describes why the pair cannot be run.
    fn points(
        &self,
        placement: &PolicySetting,
        victim: &PolicySetting,
    ) -> Result<(Vec<Point>, bool), String> {
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
        placement: &PolicySetting,
        victim: &PolicySetting,
    ) -> Result<(Point, bool), String> {
        let mut draft = drive.clone();
        let mut settings = BTreeMap::new();
        for (key, part) in [("ftl.placement", placement), ("ftl.victim", victim)] {
            settings.insert(key.to_owned(), json!(part.name));
            if let Some(value) = &part.value {
                draft.set(key, value.clone()).map_err(|error| error.problem)?;
            }
        }
        let scenario = match resolve_draft(&draft) {
            Err(_) if self.in_place => {
                draft.set("ftl.reclaim", json!("free_pool")).map_err(|error| error.problem)?;
                resolve_draft(&draft).map(|scenario| (scenario, true))
            }
            resolved_draft => resolved_draft.map(|scenario| (scenario, false)),
        };
        let (scenario, pooled) = scenario.map_err(|error| error.problem)?;
        Ok((replicate(&scenario, &settings, replica), pooled))
    }
}

/// Summarises the runs of one pair, one per seed.
fn measure_pair(seeds: &[&RunResult], pooled: bool) -> Result<PairMeasurement, String> {
    let of = |result: &&RunResult| result.write_amplification.ok_or_else(|| result.warnings.join("; "));
    let by_seed = seeds.iter().map(of).collect::<Result<Vec<_>, _>>()?;
    let ci95 = match seeds {
        [only] => only.write_amplification_estimate.as_ref().and_then(|estimate| estimate.ci95_half_width),
        _ => ci95_half_width(&by_seed),
    };
    Ok(PairMeasurement { write_amplification: mean(&by_seed), ci95, by_seed, pooled })
}
