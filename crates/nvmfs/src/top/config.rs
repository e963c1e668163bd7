//! The `[top]` table of a scenario: a file system on top of the stack.

use super::machine::{Machine, MachineError, MachineSettings};
use super::workload::{CountFrom, MeasurementPlan, TopWorkload};
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
use wearwell_stack::{ByteSize, CustomParts, Observer, RunError, RunResult, Scenario, WorkloadFactory};

const BLOCK_BYTES: u64 = crate::api::BLOCK_BYTES as u64;

/// Kind of file system on top of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TopKind {
    /// NVMFS, the file system over NVRAM and SSD.
    Nvmfs,
}

/// `[top]`: a file system on top of the stack, and its workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TopConfig {
    /// Kind of file system.
    pub kind: TopKind,
    /// Bytes of NVRAM, a multiple of 4 KiB; alternative to `nvram_share`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvram: Option<ByteSize>,
    /// Size of the NVRAM as a fraction of the drive's size, above 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvram_share: Option<f64>,
    /// Placement policy for data.
    #[serde(default, deserialize_with = "name_or_table")]
    pub placement: PlacementKind,
    /// Number of inodes; default one per 4 KiB of NVRAM.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u32>,
    /// Fraction of the SSD's extents kept free for cleaning.
    #[serde(default = "default_reserve")]
    pub reserve: f64,
    /// Use of the devices by the file system.
    #[serde(default)]
    pub options: Options,
    /// Start of the measurement, for the results of the stack and for `measured` of the file system.
    #[serde(default)]
    pub count_from: CountFrom,
    /// Bytes that the workload writes during the measurement, without its set-up, in multiples of the
    /// drive's size; then the run ends. By default, `measure.drive_writes` sets the length of the run; it
    /// counts what the file system sends to the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<f64>,
    /// Workload of file operations; must be unlimited.
    pub workload: FileWorkloadConfig,
}

/// Parses a name, or a table with the name as `kind`, which is how placements are written elsewhere in a
/// scenario.
fn name_or_table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlacementKind, D::Error> {
    let value = Value::deserialize(deserializer)?;
    let name = value.get("kind").unwrap_or(&value);
    PlacementKind::deserialize(name).map_err(serde::de::Error::custom)
}

fn default_reserve() -> f64 {
    Format::default().reserve
}

impl TopConfig {
    /// Creates the machine over an SSD of `ssd_blocks` blocks; random numbers derive from the scenario's
    /// root seed.
    ///
    /// # Errors
    /// Invalid sizes or settings.
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
            seed: Seed(root_seed).derive("top"),
        })
    }

    /// Returns the size of the NVRAM for an SSD of `ssd_blocks` blocks, bytes.
    ///
    /// # Errors
    /// The size is invalid, missing, or given twice.
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

    /// Returns the `top` of a scenario, if it has one.
    ///
    /// # Errors
    /// An invalid key or value.
    pub fn from_scenario(scenario: &Scenario) -> Result<Option<TopConfig>, ConfigError> {
        let Some(top) = &scenario.top else { return Ok(None) };
        let config = serde_path_to_error::deserialize(Value::Object(top.clone()));
        config.map(Some).map_err(|error| {
            let inner = error.path().to_string();
            let key = if inner == "." { "top".to_owned() } else { format!("top.{inner}") };
            ConfigError::new(key, error.into_inner().to_string())
        })
    }

    /// Fails if the size of the NVRAM is invalid, or larger than the available memory.
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

    /// Returns the start and the length of the measurement over an SSD of `ssd_blocks` blocks.
    fn measurement(&self, ssd_blocks: u64, measure: &Measure) -> Result<MeasurementPlan, ConfigError> {
        let refuse = |key, problem: &str| Err(ConfigError::new(key, problem));
        if self.count_from != CountFrom::Steady && measure.warm_up.is_some_and(|writes| writes > 0.0) {
            return refuse(
                "measure.warm_up",
                "is given, and `top.count_from` is not `steady`; one of them decides",
            );
        }
        let Some(disks) = self.written else {
            return Ok(MeasurementPlan { from: self.count_from, written_bytes: None });
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
        Ok(MeasurementPlan { from: self.count_from, written_bytes })
    }

    /// Creates the file system as a workload for the stack of `scenario`.
    ///
    /// # Errors
    /// Invalid sizes or settings.
    fn workload(&self, scenario: &Scenario) -> Result<WorkloadFactory, ConfigError> {
        let (blocks, pages_per_block) = drive(scenario)?;
        self.check_nvram(blocks)?;
        let course = self.measurement(blocks, &scenario.measure)?;
        let machine = self.machine(blocks, scenario.seed);
        let machine = machine.map_err(|error| ConfigError::new("top", error.to_string()))?;
        let workload = TopWorkload::new(machine, pages_per_block, course);
        Ok(Box::new(move |_: u32| Box::new(workload) as Box<_>))
    }
}

/// Runs a scenario as [`wearwell_stack::run`] does, with support for `top`.
///
/// # Errors
/// The errors of [`wearwell_stack::run`]; an invalid `top`; an operation that the file system refuses.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    run_with(scenario, CustomParts::default(), observer)
}

/// Runs a scenario as [`run`] does, with some parts supplied by the caller.
///
/// # Errors
/// The errors of [`run`]; a workload supplied by the caller in addition to `top`.
pub fn run_with(
    scenario: &Scenario,
    mut parts: CustomParts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    if let Some(config) = TopConfig::from_scenario(scenario)? {
        if parts.workload.is_some() {
            let problem = "stands beside the program's own workload, which would have to be the only one";
            return Err(ConfigError::new("top", problem).into());
        }
        parts.workload = Some(config.workload(scenario)?);
    }
    wearwell_stack::run_with(scenario, parts, observer)
}

/// Checks a scenario as [`wearwell_stack::resolve`] does, with support for `top`, and fills in all defaults.
///
/// # Errors
/// The errors of [`run`], except those at run time.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    let mut resolved = wearwell_stack::resolve(scenario)?;
    if let Some(config) = TopConfig::from_scenario(scenario)? {
        drop(config.workload(scenario)?);
        resolved.top = match serde_json::to_value(&config).expect("settings are plain data") {
            Value::Object(top) => Some(top),
            _ => unreachable!("settings are a table"),
        };
    }
    Ok(resolved)
}

/// Returns the JSON Schema of scenarios, including the keys of `top`.
pub fn schema() -> Value {
    let mut schema = wearwell_stack::scenario::schema().clone();
    let mut top = schemars::schema_for!(TopConfig).to_value();
    // The engine's schema accepts any `top`.
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

/// Returns the number of file system blocks on the drive, and the number of the stack's pages per block.
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
