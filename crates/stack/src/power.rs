//! Power cuts of a run, as a person writes them.

use super::scenario::Scenario;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_engine::ftl::{Cuts, Outages, parse_cuts};
use wearwell_engine::layer::{RecoveryReport, RecoveryStep};
use wearwell_engine::nand::Preset;

/// Power cuts: how the FTL comes back from them, and how long that takes. Only FTLs that recover from their flash can be cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerConfig {
    /// Whether power is cut when the run is over and the FTL is put together again from its flash.
    pub at_end: bool,
    /// Power is cut after each so many operations (programs of pages and erases of blocks) while measuring. After each cut what
    /// was acknowledged is read back; one of `every`, `random` and `at_operation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
    /// Power is cut at so many operations at most, drawn from as many as the host writes pages while measuring.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub random: Option<u64>,
    /// Power is cut at these operations, counted since the drive was new, with a comma between them: `"4711"` before the operation
    /// of that number, counted from 0, `"4711t"` in the middle of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_operation: Option<String>,
    /// Probability that a recovery is cut, too, 0 to below 1.
    pub recovery_cut_probability: f64,
    /// Microseconds to read a page; from `timing` or the preset unless given, else 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_us: Option<f64>,
    /// Microseconds to program a page; from `timing` or the preset unless given, else 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_us: Option<f64>,
    /// Microseconds to read a spare area; 1/32 of `read_us` unless given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_read_us: Option<f64>,
    /// Microseconds to erase a block; from `timing` or the preset unless given, else 3000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase_us: Option<f64>,
}

/// Read, program and erase time of the drive in the paper of GeckoFTL, microseconds.
const PAPER_US: [f64; 3] = [100.0, 1000.0, 3000.0];

/// Time of reading a page over that of its spare area (GeckoFTL, section 2).
const SPARE_READS_PER_READ: f64 = 32.0;

/// Longest time of an operation: a second.
const LONGEST_US: f64 = 1e6;

/// How long flash takes, microseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FlashTimes {
    pub read_us: f64,
    pub program_us: f64,
    pub spare_read_us: f64,
    pub erase_us: f64,
}

impl FlashTimes {
    /// Seconds of so many operations, one after the other.
    pub fn seconds(&self, spare_reads: u64, page_reads: u64, page_writes: u64, erases: u64) -> f64 {
        let us = spare_reads as f64 * self.spare_read_us
            + page_reads as f64 * self.read_us
            + page_writes as f64 * self.program_us
            + erases as f64 * self.erase_us;
        us / 1e6
    }
}

impl PowerConfig {
    /// Where power is cut in the middle of the FTL's work, if it is; errors name the key.
    pub(super) fn cuts(&self) -> Result<Option<Cuts>, ConfigError> {
        let given = [
            ("every", self.every.is_some()),
            ("random", self.random.is_some()),
            ("at_operation", self.at_operation.is_some()),
        ];
        let given: Vec<_> =
            given.iter().filter(|(_, given)| *given).map(|(key, _)| format!("`{key}`")).collect();
        if given.len() > 1 {
            let problem = format!("{} stand beside each other; give one of them", given.join(" and "));
            return Err(ConfigError::new("power", problem));
        }
        let wrong = |key: &str, problem: String| Err(ConfigError::new(format!("power.{key}"), problem));
        if !(0.0..1.0).contains(&self.recovery_cut_probability) {
            let problem = format!("is {}; it must be at least 0 and below 1", self.recovery_cut_probability);
            return wrong("recovery_cut_probability", problem);
        }
        match (self.every, self.random, &self.at_operation) {
            (Some(0), ..) => wrong("every", "is 0; at least 1 operation must be done before a cut".into()),
            (Some(operations), ..) => Ok(Some(Cuts::Every(operations))),
            (_, Some(count), _) => Ok(Some(Cuts::Random(count))),
            (.., Some(text)) => match parse_cuts(text) {
                Some(cuts) => Ok(Some(Cuts::At(cuts))),
                None => {
                    wrong("at_operation", format!("is \"{text}\"; it must be like \"4711\" or \"4711t\""))
                }
            },
            _ => Ok(None),
        }
    }
}

/// What power cuts in the middle of the FTL's work led to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PowerResult {
    /// Cuts while the host was served.
    pub cuts: u64,
    /// Of these, those in the middle of an operation.
    pub torn_cuts: u64,
    /// Cuts while the FTL was coming back.
    pub cuts_in_recovery: u64,
    /// Pages that were read back and held what they must.
    pub pages_verified: u64,
    /// Mean seconds of a recovery; `None` without any.
    pub recovery_seconds_mean: Option<f64>,
    /// Seconds of the longest.
    pub recovery_seconds_max: Option<f64>,
    /// The same by step.
    pub steps: Vec<StepSeconds>,
}

/// How long a step of recoveries took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSeconds {
    /// The step.
    pub name: String,
    /// Mean seconds, over all recoveries.
    pub mean: f64,
    /// Seconds of the longest.
    pub max: f64,
}

impl PowerResult {
    /// Takes in the cuts of another run: counts are added, and times are those of all its recoveries together with these, each
    /// run weighing by its cuts.
    pub fn add(&mut self, other: &PowerResult) {
        let (own, more) = (self.recoveries(), other.recoveries());
        let mean =
            |own_mean: f64, other_mean: f64| (own_mean * own + other_mean * more) / (own + more).max(1.0);
        for step in &other.steps {
            match self.steps.iter_mut().find(|own| own.name == step.name) {
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

    /// Recoveries that came to their end: one for each cut of the host's work.
    fn recoveries(&self) -> f64 {
        self.cuts as f64
    }

    pub(super) fn of(outages: &Outages, times: &FlashTimes) -> Self {
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
        let whole = (!outages.recoveries.is_empty()).then(|| mean_and_max(None));
        let step = |name: &'static str| {
            let (mean, max) = mean_and_max(Some(name));
            StepSeconds { name: name.into(), mean, max }
        };
        PowerResult {
            cuts: outages.cuts,
            torn_cuts: outages.torn_cuts,
            cuts_in_recovery: outages.cuts_in_recovery,
            pages_verified: outages.pages_verified,
            recovery_seconds_mean: whole.map(|(mean, _)| mean),
            recovery_seconds_max: whole.map(|(_, max)| max),
            steps: names.into_iter().map(step).collect(),
        }
    }
}

/// Fills in every default of the scenario's `power`, after that of its timing; the times, if it has the table.
pub(super) fn resolve(scenario: &mut Scenario) -> Result<Option<FlashTimes>, ConfigError> {
    let preset = scenario.device.preset.as_deref().and_then(Preset::find);
    let timed = |key: fn(&super::TimingConfig) -> Option<f64>| scenario.timing.as_ref().and_then(key);
    let usual = [
        timed(|timing| timing.read_us).or(preset.map(|preset| preset.read_us)),
        timed(|timing| timing.program_us).or(preset.map(|preset| preset.program_us)),
        timed(|timing| timing.erase_us).or(preset.map(|preset| preset.erase_us)),
    ];
    let Some(power) = &mut scenario.power else { return Ok(None) };
    let time = |key: &str, given: &mut Option<f64>, usual: f64| {
        let us = *given.get_or_insert(usual);
        if (0.0..=LONGEST_US).contains(&us) {
            return Ok(us);
        }
        let problem =
            format!("is {us}; it must be a number of microseconds, 0 or above, and at most a second");
        Err(ConfigError::new(format!("power.{key}"), problem))
    };
    let read_us = time("read_us", &mut power.read_us, usual[0].unwrap_or(PAPER_US[0]))?;
    Ok(Some(FlashTimes {
        read_us,
        program_us: time("program_us", &mut power.program_us, usual[1].unwrap_or(PAPER_US[1]))?,
        spare_read_us: time("spare_read_us", &mut power.spare_read_us, read_us / SPARE_READS_PER_READ)?,
        erase_us: time("erase_us", &mut power.erase_us, usual[2].unwrap_or(PAPER_US[2]))?,
    }))
}
