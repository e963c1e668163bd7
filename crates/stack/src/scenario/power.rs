//! Configuration of power cuts.

use super::timing::TimingConfig;
use crate::device::FlashTimes;
use crate::layers::PowerPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_engine::ftl::{CutSettings, CutTimes, parse_cuts};
use wearwell_engine::nand::Preset;
use wearwell_engine::timing::SPARES_PER_PAGE;

/// Power cuts: recovery of the FTL, and its duration. Only FTLs that recover from their flash can be cut.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PowerConfig {
    /// True to cut the power at the end of the run and recover the FTL from its flash.
    pub at_end: bool,
    /// Power is cut each time this many operations (programs of pages and erases of blocks) have run while measuring. After each
    /// cut all acknowledged data is read back. Give one of `every`, `random` and `at_operation`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub every: Option<u64>,
    /// Maximum number of power cuts at random operations. Their positions are drawn from a range as long as the number of host
    /// pages written while measuring.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub random: Option<u64>,
    /// Operations at which power is cut, counted from 0 since the drive was new, separated by commas: `"4711"` cuts before
    /// operation 4711, `"4711t"` in the middle of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_operation: Option<String>,
    /// Probability that a recovery is itself cut, 0 to below 1.
    pub recovery_cut_probability: f64,
    /// Probability that power is cut again within 64 operations after a recovery, with nothing read back in between, 0 to below 1.
    #[serde(skip_serializing_if = "is_zero")]
    pub cut_again_probability: f64,
    /// Microseconds to read a page; default from `timing` or the preset, else 100.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_us: Option<f64>,
    /// Microseconds to program a page; default from `timing` or the preset, else 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub program_us: Option<f64>,
    /// Milliseconds without power at each cut of a timed run; default 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub off_ms: Option<f64>,
    /// Microseconds to read a spare area; default from `timing`, else 1/32 of `read_us`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spare_read_us: Option<f64>,
    /// Microseconds to erase a block; default from `timing` or the preset, else 3000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub erase_us: Option<f64>,
}

fn is_zero(probability: &f64) -> bool {
    *probability == 0.0
}

/// Read, program and erase time of the drive in the GeckoFTL paper, microseconds.
const PAPER_US: [f64; 3] = [100.0, 1000.0, 3000.0];

/// Longest time without power, one hour.
const MAX_OFF_MS: f64 = 3.6e6;

/// Maximum number of cuts at random operations; each is followed by a recovery.
const MAX_CUTS: u64 = 10_000_000;

/// Longest time of an operation, one second.
const MAX_US: f64 = 1e6;

impl PowerConfig {
    /// Returns the points of power cuts in the middle of the FTL's work, if any are configured; errors name the key.
    fn resolve_cuts(&self) -> Result<Option<CutTimes>, ConfigError> {
        let cut_keys = [
            ("every", self.every.is_some()),
            ("random", self.random.is_some()),
            ("at_operation", self.at_operation.is_some()),
        ];
        let given: Vec<_> =
            cut_keys.iter().filter(|(_, given)| *given).map(|(key, _)| format!("`{key}`")).collect();
        if given.len() > 1 {
            let problem = format!("{} stand beside each other; give one of them", given.join(" and "));
            return Err(ConfigError::new("power", problem));
        }
        let error = |key: &str, problem: String| Err(ConfigError::new(format!("power.{key}"), problem));
        let probabilities = [
            ("recovery_cut_probability", self.recovery_cut_probability),
            ("cut_again_probability", self.cut_again_probability),
        ];
        if let Some((key, value)) = probabilities.iter().find(|(_, value)| !(0.0..1.0).contains(value)) {
            return error(key, format!("is {value}; it must be at least 0 and below 1"));
        }
        match (self.every, self.random, &self.at_operation) {
            (Some(0), ..) => error("every", "is 0; at least 1 operation must be done before a cut".into()),
            (Some(operations), ..) => Ok(Some(CutTimes::Every(operations))),
            (_, Some(count), _) if count > MAX_CUTS => {
                error("random", format!("is {count}; at most {MAX_CUTS} cuts are made"))
            }
            (_, Some(count), _) => Ok(Some(CutTimes::Random(count))),
            (.., Some(text)) => match parse_cuts(text) {
                Some(cuts) => Ok(Some(CutTimes::At(cuts))),
                None => {
                    error("at_operation", format!("is \"{text}\"; it must be like \"4711\" or \"4711t\""))
                }
            },
            _ => Ok(None),
        }
    }

    /// Returns the plan of power cuts; `seed` is the root seed of the scenario.
    pub(crate) fn plan(&self, seed: Seed) -> Result<PowerPlan, ConfigError> {
        let settings = |cuts| CutSettings {
            cuts,
            recovery_cut_probability: self.recovery_cut_probability,
            cut_again_probability: self.cut_again_probability,
            seed: seed.derive("power"),
        };
        Ok(self
            .resolve_cuts()?
            .map_or(PowerPlan::BetweenRequests, |cuts| PowerPlan::DuringOperations(settings(cuts))))
    }

    /// Returns the time without power at each cut, nanoseconds. `timed` is true if the run has a clock. Errors name the
    /// key.
    pub(crate) fn off_ns(&mut self, timed: bool) -> Result<u64, ConfigError> {
        let error = |problem: String| Err(ConfigError::new("power.off_ms", problem));
        if !timed || self.resolve_cuts()?.is_none() {
            return match self.off_ms {
                Some(_) => error("means nothing without `timing` and cuts in the middle of the run".into()),
                None => Ok(0),
            };
        }
        let off_ms = *self.off_ms.get_or_insert(0.0);
        if !(0.0..=MAX_OFF_MS).contains(&off_ms) {
            return error(format!(
                "is {off_ms}; it must be a number of milliseconds, 0 or above, and at most an hour"
            ));
        }
        Ok((off_ms * 1e6).round() as u64)
    }

    /// Fills in the times of flash operations, by default from the timing of the run.
    pub(crate) fn times(
        &mut self,
        preset: Option<&Preset>,
        timing: Option<&TimingConfig>,
    ) -> Result<FlashTimes, ConfigError> {
        let timed = |key: fn(&TimingConfig) -> Option<f64>| timing.and_then(key);
        let defaults_us = [
            timed(|timing| timing.read_us).or(preset.map(|preset| preset.read_us)),
            timed(|timing| timing.program_us).or(preset.map(|preset| preset.program_us)),
            timed(|timing| timing.erase_us).or(preset.map(|preset| preset.erase_us)),
        ];
        let time = |key: &str, given: &mut Option<f64>, default_us: f64| {
            let us = *given.get_or_insert(default_us);
            if (0.0..=MAX_US).contains(&us) {
                return Ok(us);
            }
            let problem =
                format!("is {us}; it must be a number of microseconds, 0 or above, and at most a second");
            Err(ConfigError::new(format!("power.{key}"), problem))
        };
        let read_us = time("read_us", &mut self.read_us, defaults_us[0].unwrap_or(PAPER_US[0]))?;
        Ok(FlashTimes {
            read_us,
            program_us: time("program_us", &mut self.program_us, defaults_us[1].unwrap_or(PAPER_US[1]))?,
            spare_read_us: time(
                "spare_read_us",
                &mut self.spare_read_us,
                timed(|timing| timing.spare_read_us).unwrap_or(read_us / SPARES_PER_PAGE as f64),
            )?,
            erase_us: time("erase_us", &mut self.erase_us, defaults_us[2].unwrap_or(PAPER_US[2]))?,
        })
    }
}
