//! Fleet files.

use super::distribution::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::PathBuf;
use wearwell_base::config::ConfigError;
use wearwell_stack::device::Device;
use wearwell_stack::layers::{FtlConfig, from_value};

/// Fleet: drives, tenants that write to them, and what-if settings.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fleet {
    /// Title for results and tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Root seed. Equal fleets with equal seeds give equal results.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// Number of years to predict.
    #[serde(default = "default_years")]
    #[schemars(range(min = 1, max = 100))]
    pub years: u32,
    /// Number of random draws of all drives; confidence intervals come from repeated draws.
    #[serde(default = "default_draws")]
    #[schemars(range(min = 2, max = 10_000))]
    pub draws: u32,
    /// Currency of prices; only displayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub currency: Option<String>,
    /// Groups of drives of the same kind.
    pub group: Vec<Group>,
    /// Tenants that write to the drives.
    pub tenant: Vec<Tenant>,
    /// Alternative (what-if) settings to compare.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub what_if: Vec<WhatIf>,
    /// Simulation of a scaled-down drive where theory has no model; without this table such a fleet is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulation: Option<Simulation>,
}

/// Group of drives of the same kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Name of the group.
    pub name: String,
    /// Number of drives; with a table of SMART reports, its number of rows applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<u32>,
    /// Price of a drive.
    pub price: f64,
    /// Drive, as `device` of a scenario.
    #[schemars(with = "Device")]
    pub device: Map<String, Value>,
    /// Flash translation layer, as `ftl` of a scenario.
    #[serde(default = "no_settings")]
    #[schemars(with = "FtlConfig")]
    pub ftl: Value,
    /// Age of the drives in years; drives that wore out since were replaced. Default: new drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_years: Option<Distribution>,
    /// Age of the drives in drive writes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_drive_writes: Option<Distribution>,
    /// CSV table with a row for each drive, or a folder of SMART reports in JSON; relative to the folder of this file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smart: Option<PathBuf>,
    /// Endurance of a drive's flash, as a multiple of `device.endurance_cycles`.
    #[serde(default = "one")]
    pub endurance_factor: Distribution,
}

/// Tenant: a source of writes, with its own drives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tenant {
    /// Name of the tenant.
    pub name: String,
    /// Share of the drives not assigned by tables or by `drives`, relative to the shares of the other tenants.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Number of drives of the tenant; give either this or `share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drives: Option<u32>,
    /// Drive writes per day to each drive.
    pub drive_writes_per_day: Distribution,
    /// Pattern of writes, as `workload` of a scenario; any number may be a distribution.
    pub workload: Map<String, Value>,
}

/// Alternative (what-if) setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhatIf {
    /// Name of the setting.
    pub name: String,
    /// Keys of `device` and `ftl`, with dots, and their values.
    pub set: BTreeMap<String, Value>,
    /// Groups that change; default: all groups.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub groups: Option<Vec<String>>,
    /// Price of a changed drive; default: the price of the group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<f64>,
}

/// Simulation of a scaled-down drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulation {
    /// Blocks of the scaled-down drive.
    #[serde(default = "default_blocks")]
    #[schemars(range(min = 64, max = 1_000_000))]
    pub blocks: u32,
    /// Runs per point, each with its own seed.
    #[serde(default = "default_runs")]
    #[schemars(range(min = 2, max = 1000))]
    pub runs: u32,
}

impl Default for Simulation {
    fn default() -> Self {
        Simulation { blocks: default_blocks(), runs: default_runs() }
    }
}

fn default_seed() -> u64 {
    1
}
fn default_years() -> u32 {
    5
}
fn default_draws() -> u32 {
    20
}
fn default_blocks() -> u32 {
    1000
}
fn default_runs() -> u32 {
    3
}
fn no_settings() -> Value {
    Value::Object(Map::new())
}
fn one() -> Distribution {
    Distribution::Constant(1.0)
}

/// Maximum number of drives in all groups together; more is probably a mistake.
const MAX_DRIVES: u64 = 10_000_000;

/// Returns the error of a setting.
fn invalid_setting<T>(key: impl Into<String>, problem: impl Into<String>) -> Result<T, ConfigError> {
    Err(ConfigError::new(key, problem))
}

impl Fleet {
    /// Returns the JSON Schema of fleets.
    pub fn schema() -> Value {
        schemars::schema_for!(Fleet).to_value()
    }

    /// Reads and checks a fleet.
    ///
    /// # Errors
    /// Returns an error that names the key for unknown keys, and for values of the wrong type or out of range.
    pub fn read(value: &Value) -> Result<Fleet, ConfigError> {
        let fleet: Fleet = from_value(value.clone())?;
        fleet.check()?;
        Ok(fleet)
    }

    fn check(&self) -> Result<(), ConfigError> {
        let ranges = [("years", self.years, 1, 100), ("draws", self.draws, 2, 10_000)];
        for (key, value, min, max) in ranges {
            if !(min..=max).contains(&value) {
                return invalid_setting(key, format!("is {value}; it must be between {min} and {max}"));
            }
        }
        check_names("group", self.group.iter().map(|group| &*group.name))?;
        check_names("tenant", self.tenant.iter().map(|tenant| &*tenant.name))?;
        for (at, group) in self.group.iter().enumerate() {
            group.check().map_err(|error| error.within(&format!("group[{at}]")))?;
        }
        let drives = self.group.iter().map(|group| u64::from(group.drives.unwrap_or(0))).sum::<u64>();
        if drives > MAX_DRIVES {
            return invalid_setting(
                "group",
                format!("has {drives} drives in all; at most {MAX_DRIVES} are counted"),
            );
        }
        for (at, tenant) in self.tenant.iter().enumerate() {
            tenant.check().map_err(|error| error.within(&format!("tenant[{at}]")))?;
        }
        if !self.what_if.is_empty() {
            check_names("what_if", self.what_if.iter().map(|one| &*one.name))?;
        }
        for (at, what_if) in self.what_if.iter().enumerate() {
            self.check_what_if(what_if).map_err(|error| error.within(&format!("what_if[{at}]")))?;
        }
        self.simulation.map_or(Ok(()), |simulation| simulation.check())
    }

    fn check_what_if(&self, what_if: &WhatIf) -> Result<(), ConfigError> {
        if what_if.set.is_empty() {
            return invalid_setting(
                "set",
                "is empty; name keys of `device` and `ftl`, as \"ftl.victim\" = \"greedy\"",
            );
        }
        for key in what_if.set.keys() {
            if !["device.", "ftl."].iter().any(|table| key.starts_with(table)) && key != "ftl" {
                return invalid_setting(
                    "set",
                    format!("\"{key}\" is not in `device` or `ftl`, which are all that can be otherwise"),
                );
            }
        }
        for name in what_if.groups.iter().flatten() {
            if !self.group.iter().any(|group| group.name == *name) {
                let names: Vec<_> = self.group.iter().map(|group| &*group.name).collect();
                return invalid_setting(
                    "groups",
                    format!("\"{name}\" is no group; there are {}", names.join(", ")),
                );
            }
        }
        what_if.price.map_or(Ok(()), check_price)
    }
}

impl Simulation {
    fn check(self) -> Result<(), ConfigError> {
        let ranges = [("blocks", self.blocks, 64, 1_000_000), ("runs", self.runs, 2, 1000)];
        for (key, value, min, max) in ranges {
            if !(min..=max).contains(&value) {
                return invalid_setting(
                    format!("simulation.{key}"),
                    format!("is {value}; it must be between {min} and {max}"),
                );
            }
        }
        Ok(())
    }
}

/// Refuses an empty list of names, empty names and duplicate names.
fn check_names<'a>(list: &str, names: impl Iterator<Item = &'a str>) -> Result<(), ConfigError> {
    let names: Vec<&str> = names.collect();
    if names.is_empty() {
        return invalid_setting(list, format!("is empty; a fleet has at least one [[{list}]]"));
    }
    for (at, name) in names.iter().enumerate() {
        if name.trim().is_empty() {
            return invalid_setting(format!("{list}[{at}].name"), "is empty");
        }
        if names[..at].contains(name) {
            return invalid_setting(format!("{list}[{at}].name"), format!("\"{name}\" is given twice"));
        }
    }
    Ok(())
}

fn check_price(price: f64) -> Result<(), ConfigError> {
    if price >= 0.0 && price.is_finite() {
        return Ok(());
    }
    invalid_setting("price", format!("is {price}; it must be a number from 0"))
}

/// Refuses an invalid distribution, and one that may draw values below `min`.
fn check_distribution(key: &str, distribution: &Distribution, min: f64) -> Result<(), ConfigError> {
    if let Some(problem) = distribution.problem() {
        return invalid_setting(key, problem);
    }
    let (low, _) = distribution.support();
    if low < min {
        return invalid_setting(
            key,
            format!("may come out as {low}; it must not be below {min}, which `low` can see to"),
        );
    }
    Ok(())
}

impl Group {
    fn check(&self) -> Result<(), ConfigError> {
        check_price(self.price)?;
        match (self.drives, &self.smart) {
            (Some(0), _) => return invalid_setting("drives", "is 0; a group has at least one"),
            (None, None) => {
                return invalid_setting(
                    "drives",
                    "is missing, and so is `smart`, a table with a row for each drive",
                );
            }
            (Some(_), Some(_)) => {
                return invalid_setting(
                    "drives",
                    "is given beside `smart`, whose rows are the drives; give one",
                );
            }
            _ => {}
        }
        let ages = [("age_years", &self.age_years), ("age_drive_writes", &self.age_drive_writes)];
        let stated: Vec<_> = ages.into_iter().filter_map(|(key, age)| Some((key, age.as_ref()?))).collect();
        if let [_, (key, _)] = stated[..] {
            return invalid_setting(key, "is given beside `age_years`; they say the same thing");
        }
        for (key, age) in stated {
            if self.smart.is_some() {
                return invalid_setting(
                    key,
                    "is given beside `smart`, which says what each drive has behind it",
                );
            }
            check_distribution(key, age, 0.0)?;
        }
        check_distribution("endurance_factor", &self.endurance_factor, 0.0)?;
        // The smallest value that can be drawn.
        if self.endurance_factor.quantile(f64::EPSILON / 4.0) <= 0.0 {
            return invalid_setting("endurance_factor", "may come out as 0: the flash would endure nothing");
        }
        Ok(())
    }
}

impl Tenant {
    fn check(&self) -> Result<(), ConfigError> {
        match (self.share, self.drives) {
            (Some(_), Some(_)) => return invalid_setting("share", "is given beside `drives`; give one"),
            (None, None) => return invalid_setting("share", "is missing, and so is `drives`; give one"),
            (Some(share), None) if !(share > 0.0 && share.is_finite()) => {
                return invalid_setting("share", format!("is {share}; it must be above 0"));
            }
            _ => {}
        }
        check_distribution("drive_writes_per_day", &self.drive_writes_per_day, 0.0)
    }
}
