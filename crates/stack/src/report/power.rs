//! Results of power cuts in the middle of a run.

use crate::device::FlashTimes;
use serde::{Deserialize, Serialize};
use wearwell_engine::ftl::Outages;
use wearwell_engine::layer::{RecoveryReport, RecoveryStep};

/// Results of power cuts in the middle of the FTL's work.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PowerResult {
    /// Cuts while the host was being served.
    pub cuts: u64,
    /// Cuts in the middle of an operation, out of `cuts`.
    pub torn_cuts: u64,
    /// Cuts while the FTL was recovering.
    pub cuts_in_recovery: u64,
    /// Pages that were read back and held the expected content.
    pub pages_verified: u64,
    /// Mean seconds of a recovery; `None` without recoveries.
    pub recovery_seconds_mean: Option<f64>,
    /// Seconds of the longest recovery.
    pub recovery_seconds_max: Option<f64>,
    /// Mean and longest time of each step of the recoveries.
    pub steps: Vec<StepSeconds>,
}

/// Duration of one step over all recoveries.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSeconds {
    /// Name of the step.
    pub name: String,
    /// Mean seconds, over all recoveries.
    pub mean: f64,
    /// Seconds of the longest occurrence.
    pub max: f64,
}

impl PowerResult {
    /// Adds the cuts of another run: counts are summed; mean times are weighted by the cuts of each run.
    pub fn add(&mut self, other: &PowerResult) {
        let (own_recoveries, other_recoveries) = (self.recoveries(), other.recoveries());
        let mean = |own_mean: f64, other_mean: f64| {
            (own_mean * own_recoveries + other_mean * other_recoveries)
                / (own_recoveries + other_recoveries).max(1.0)
        };
        for step in &other.steps {
            match self.steps.iter_mut().find(|own_step| own_step.name == step.name) {
                Some(known) => {
                    (known.mean, known.max) = (mean(known.mean, step.mean), known.max.max(step.max));
                }
                None => self.steps.push(StepSeconds { mean: mean(0.0, step.mean), ..step.clone() }),
            }
        }
        if let Some(other_mean) = other.recovery_seconds_mean {
            self.recovery_seconds_mean = Some(mean(self.recovery_seconds_mean.unwrap_or(0.0), other_mean));
            let longest = other.recovery_seconds_max.unwrap_or(0.0);
            self.recovery_seconds_max = Some(self.recovery_seconds_max.unwrap_or(0.0).max(longest));
        }
        self.cuts += other.cuts;
        self.torn_cuts += other.torn_cuts;
        self.cuts_in_recovery += other.cuts_in_recovery;
        self.pages_verified += other.pages_verified;
    }

    /// Returns the recoveries that completed: one for each cut of the host's work.
    fn recoveries(&self) -> f64 {
        self.cuts as f64
    }

    pub(crate) fn of(outages: &Outages, times: &FlashTimes) -> Self {
        let seconds = |step: &RecoveryStep| {
            times.seconds(step.spare_reads, step.page_reads, step.page_writes, step.erases)
        };
        let mut names: Vec<&'static str> = Vec::new();
        for step in outages.recoveries.iter().flat_map(|recovery| &recovery.steps) {
            if !names.contains(&step.name) {
                names.push(step.name);
            }
        }
        let sum = |recovery: &RecoveryReport, name: Option<&str>| -> f64 {
            let steps = recovery.steps.iter().filter(|step| name.is_none_or(|name| step.name == name));
            steps.map(seconds).sum()
        };
        let mean_and_max = |name: Option<&str>| {
            let all = outages.recoveries.iter().map(|recovery| sum(recovery, name));
            let count = outages.recoveries.len() as f64;
            (all.clone().sum::<f64>() / count, all.fold(0.0, f64::max))
        };
        let recovery_times = (!outages.recoveries.is_empty()).then(|| mean_and_max(None));
        let step = |name: &'static str| {
            let (mean, max) = mean_and_max(Some(name));
            StepSeconds { name: name.into(), mean, max }
        };
        PowerResult {
            cuts: outages.cuts,
            torn_cuts: outages.torn_cuts,
            cuts_in_recovery: outages.cuts_in_recovery,
            pages_verified: outages.pages_verified,
            recovery_seconds_mean: recovery_times.map(|(mean, _)| mean),
            recovery_seconds_max: recovery_times.map(|(_, max)| max),
            steps: names.into_iter().map(step).collect(),
        }
    }
}
