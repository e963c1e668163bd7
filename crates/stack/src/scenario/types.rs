//! What a run is made of, as a person writes it: the types behind a scenario file.

use super::course::{Measure, Precondition};
use super::power::PowerConfig;
use super::sources::{TenantConfig, TraceConfig};
use super::timing::TimingConfig;
use crate::device::Device;
use crate::layers::{FtlConfig, LayerConfig, from_value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wearwell_base::config::ConfigError;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// A stack, what is done to it, and how it is measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// A title for results and tables.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The root seed. Equal scenarios with equal seeds give equal results, bit for bit.
    #[serde(default = "default_seed")]
    pub seed: u64,
    /// The drive.
    pub device: Device,
    /// The flash translation layer on the drive; `ftl = "gecko"` is short for `ftl.structure = "gecko"`.
    #[serde(default)]
    pub ftl: FtlConfig,
    /// Layers stacked on the drive, the topmost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<LayerConfig>,
    /// A synthetic workload; either this, `trace` or `tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadConfig>,
    /// A trace to replay; either this, `workload` or `tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// What written pages hold: a preset's name, or a table; for a trace instead of its digests. Unknown unless given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentConfig>,
    /// Several workloads and traces at once, each on a layer of its choice; instead of `workload` and `trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<TenantConfig>,
    /// What stands at the top of the stack and does the writing, instead of `workload`, `trace` and `tenant`: a file
    /// system with its own workload. The engine knows of none; the program that runs the scenario does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<serde_json::Map<String, serde_json::Value>>,
    /// Timed mode; without this table a run only counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingConfig>,
    /// Power cuts; none without this table.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
    /// What is written before anything counts.
    #[serde(default)]
    pub precondition: Precondition,
    /// How long to warm up and to measure.
    #[serde(default)]
    pub measure: Measure,
}

impl Scenario {
    /// Reads a scenario; the error names the key, where there is one to blame.
    ///
    /// # Errors
    /// An unknown key, or a value of the wrong type.
    pub fn read(value: &Value) -> Result<Scenario, ConfigError> {
        // The kind of a layer has to be known before its keys can be read, and with it what is wrong with one of them.
        if let Some(ftl) = value.get("ftl") {
            FtlConfig::read(ftl.clone()).map_err(|error| within(error, "ftl"))?;
        }
        for (at, layer) in value.get("log").and_then(Value::as_array).into_iter().flatten().enumerate() {
            LayerConfig::read(layer.clone()).map_err(|error| within(error, &format!("log[{at}]")))?;
        }
        from_value(value.clone())
    }

    /// Whether pages must hold their content by name, because some layer looks at it.
    pub fn holds_content(&self) -> bool {
        !self.ftl.common.dedup.is_none()
    }

    /// Nanoseconds to hash a page, where the FTL does.
    pub(crate) fn hash_ns(&self) -> u64 {
        self.ftl.common.dedup.hash_ns()
    }
}

/// The error with its key within `parent`, of which the whole may be wrong.
fn within(error: ConfigError, parent: &str) -> ConfigError {
    match error.key.as_str() {
        "" => ConfigError { key: parent.into(), ..error },
        _ => error.within(parent),
    }
}

fn default_seed() -> u64 {
    1
}
