//! `[top]` of a scenario: a file system over the stack.

use super::machine::{Machine, MachineError, MachineSettings};
use super::workload::{CountFrom, Course, TopWorkload};
use crate::options::{Format, Options};
use crate::placement::PlacementKind;
use crate::workload::FileWorkloadConfig;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use wearwell_base::config::ConfigError;
use wearwell_base::memory::available_bytes;
use wearwell_base::seed::Seed;
use wearwell_stack::scenario::Measure;
use wearwell_stack::{ByteSize, MakeWorkload, Observer, Parts, RunError, RunResult, Scenario};

const BLOCK_BYTES: u64 = crate::api::BLOCK_BYTES as u64;

/// What stands on the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopKind {
    /// The file system over NVRAM and SSD.
    Nvmfs,
}

/// `[top]`: a file system over the stack, and what is done with its files.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopConfig {
    /// What it is.
    pub kind: TopKind,
    /// Bytes of NVRAM, a multiple of 4 KiB; or `nvram_share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvram: Option<ByteSize>,
    /// The same as a share of the drive's bytes, above 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvram_share: Option<f64>,
    /// Where data goes.
    #[serde(default, deserialize_with = "name_or_table")]
    pub placement: PlacementKind,
    /// Inodes; one in 4 KiB of NVRAM unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u32>,
    /// Share of the SSD's extents kept free for cleaning.
    #[serde(default = "default_reserve")]
    pub reserve: f64,
    /// How the file system uses its devices.
    #[serde(default)]
    pub options: Options,
    /// From when on is counted what the result tells of the stack, and of the file system as `measured`.
    #[serde(default)]
    pub count_from: CountFrom,
    /// What the workload writes while it is measured, its set-up not counting, in multiples of the drive: then the run ends.
    /// Left out, the run is as long as `measure.drive_writes`, which counts what the file system sends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<f64>,
    /// What is done with files; it must not end.
    pub workload: FileWorkloadConfig,
}

/// A name alone, or as `kind` of a table, as placements are written elsewhere in a scenario.
fn name_or_table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlacementKind, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let name = value.get("kind").unwrap_or(&value);
    PlacementKind::deserialize(name).map_err(serde::de::Error::custom)
}

fn default_reserve() -> f64 {
    Format::default().reserve
}

impl TopConfig {
    /// The machine over an SSD of so many blocks; random numbers come from the scenario's root seed.
    ///
    /// # Errors
    /// Sizes or settings that cannot be.
    pub fn machine(&self, ssd_blocks: u64, root_seed: u64) -> Result<Machine, MachineError> {
        Machine::new(&MachineSettings {
            nvram_bytes: self.nvram_bytes(ssd_blocks)?,
            ssd_blocks,
            format: Format {
                id: u128::from(root_seed),
                inodes: self.inodes,
                reserve: self.reserve,
                placement: self.placement,
                now_ns: 0,
                ..Format::default()
            },
            options: self.options.clone(),
            workload: self.workload.clone(),
            seed: Seed(root_seed).of("top"),
        })
    }

    /// Bytes of NVRAM beside an SSD of so many blocks.
    ///
    /// # Errors
    /// An NVRAM that cannot be, or is not said, or twice.
    pub fn nvram_bytes(&self, ssd_blocks: u64) -> Result<u64, ConfigError> {
        let refuse = |key, problem: &str| Err(ConfigError::new(key, problem));
        let bytes = match (self.nvram, self.nvram_share) {
            (Some(_), Some(_)) => {
                return refuse("top.nvram", "is given, and `nvram_share` too; one of them decides");
            }
            (None, None) => return refuse("top.nvram", "is missing; it or `nvram_share` is needed"),
            (Some(bytes), None) => bytes.0,
            (None, Some(share)) if share > 0.0 && share <= 1.0 => {
                return Ok(((ssd_blocks as f64 * share) as u64).max(1) * BLOCK_BYTES);
            }
            (None, Some(share)) => {
                let problem = format!("is {share}; it must be above 0 and at most 1");
                return Err(ConfigError::new("top.nvram_share", problem));
            }
        };
        if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES) {
            let problem = format!("is {bytes} bytes; it must be a multiple of 4 KiB, and not 0");
            return Err(ConfigError::new("top.nvram", problem));
        }
        Ok(bytes)
    }

    /// The `top` of a scenario, if it has one.
    ///
    /// # Errors
    /// A key or value that is not allowed.
    pub fn of(scenario: &Scenario) -> Result<Option<TopConfig>, ConfigError> {
        let Some(top) = &scenario.top else { return Ok(None) };
        let config = serde_path_to_error::deserialize(Value::Object(top.clone()));
        config.map(Some).map_err(|error| {
            let inner = error.path().to_string();
            let key = if inner == "." { "top".to_owned() } else { format!("top.{inner}") };
            ConfigError::new(key, error.into_inner().to_string())
        })
    }

    /// Refuses an NVRAM that cannot be, or that the memory cannot stand for.
    fn check_nvram(&self, ssd_blocks: u64) -> Result<(), ConfigError> {
        let bytes = self.nvram_bytes(ssd_blocks)?;
        match available_bytes() {
            Some(there) if bytes > there => {
                let problem = format!(
                    "is {}, and there are {} of memory to simulate it in",
                    ByteSize(bytes),
                    ByteSize(there)
                );
                Err(ConfigError::new("top.nvram", problem))
            }
            _ => Ok(()),
        }
    }

    /// When it is measured, and how long, over an SSD of so many blocks.
    fn course(&self, ssd_blocks: u64, measure: &Measure) -> Result<Course, ConfigError> {
        let refuse = |key, problem: &str| Err(ConfigError::new(key, problem));
        if self.count_from != CountFrom::Steady && measure.warm_up.is_some_and(|writes| writes > 0.0) {
            return refuse(
                "measure.warm_up",
                "is given, and `top.count_from` is not `steady`; one of them decides",
            );
        }
        let Some(disks) = self.written else {
            return Ok(Course { from: self.count_from, written_bytes: None });
        };
        if !(disks > 0.0 && disks.is_finite()) {
            return Err(ConfigError::new("top.written", format!("is {disks}; it must be a number above 0")));
        }
        if measure.until_worn_out_blocks.is_some() {
            return refuse(
                "top.written",
                "is given, and `measure.until_worn_out_blocks` too; one of them decides",
            );
        }
        let written_bytes = Some((disks * ssd_blocks as f64 * BLOCK_BYTES as f64) as u64);
        Ok(Course { from: self.count_from, written_bytes })
    }

    /// The file system as what writes to the stack of `scenario`.
    ///
    /// # Errors
    /// Sizes or settings that cannot be.
    fn workload(&self, scenario: &Scenario) -> Result<MakeWorkload, ConfigError> {
        let (blocks, pages_per_block) = drive(scenario)?;
        self.check_nvram(blocks)?;
        let course = self.course(blocks, &scenario.measure)?;
        let machine = self.machine(blocks, scenario.seed);
        let machine = machine.map_err(|error| ConfigError::new("top", error.to_string()))?;
        let workload = TopWorkload::new(machine, pages_per_block, course);
        Ok(Box::new(move |_: u32| Box::new(workload) as Box<_>))
    }
}

/// Runs a scenario as [`wearwell_stack::run`] does, one with `top` too.
///
/// # Errors
/// As [`wearwell_stack::run`]; and a `top` that cannot be, or a file system that refuses what its workload asks of it.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    run_with(scenario, Parts::default(), observer)
}

/// The same with some parts of the calling program's own.
///
/// # Errors
/// As [`run`]; and a workload of the program's own beside `top`.
pub fn run_with(
    scenario: &Scenario,
    mut parts: Parts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    if let Some(config) = TopConfig::of(scenario)? {
        if parts.workload.is_some() {
            let problem = "stands beside the program's own workload, which would have to be the only one";
            return Err(ConfigError::new("top", problem).into());
        }
        parts.workload = Some(config.workload(scenario)?);
    }
    wearwell_stack::run_with(scenario, parts, observer)
}

/// Checks a scenario as [`wearwell_stack::resolve`] does, one with `top` too, and fills in every default.
///
/// # Errors
/// As [`run`], but for those of running.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    let mut resolved = wearwell_stack::resolve(scenario)?;
    if let Some(config) = TopConfig::of(scenario)? {
        drop(config.workload(scenario)?);
        resolved.top = match serde_json::to_value(&config).expect("settings are plain data") {
            Value::Object(top) => Some(top),
            _ => unreachable!("settings are a table"),
        };
    }
    Ok(resolved)
}

/// The JSON Schema of scenarios, with what may stand at `top`.
pub fn schema() -> Value {
    let mut schema = wearwell_stack::scenario::schema().clone();
    let mut top = schemars::schema_for!(TopConfig).to_value();
    // The engine takes any `top`.
    if let (Value::Object(all), Value::Object(more)) = (&mut schema["$defs"], top["$defs"].take()) {
        all.extend(more);
    }
    let description = schema["properties"]["top"]["description"].take();
    schema["properties"]["top"] = json!({
        "description": description,
        "type": "object",
        "properties": top["properties"],
        "required": top["required"],
        "additionalProperties": false,
    });
    schema
}

/// Blocks of the drive that the stack is for a file system, and pages of the stack in each.
fn drive(scenario: &Scenario) -> Result<(u64, u32), ConfigError> {
    let stack = wearwell_stack::build::<()>(&mut scenario.clone())?;
    let block_bytes = crate::api::BLOCK_BYTES as u32;
    if !block_bytes.is_multiple_of(stack.page_bytes) {
        let problem = format!(
            "is {} bytes; under a file system with blocks of 4 KiB it must divide them",
            stack.page_bytes
        );
        return Err(ConfigError::new("device.mapping_unit", problem));
    }
    let pages_per_block = block_bytes / stack.page_bytes;
    Ok((stack.logical_pages() / u64::from(pages_per_block), pages_per_block))
}
