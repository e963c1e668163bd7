//! Types behind a scenario file: the configuration of a run.

use super::power::PowerConfig;
use super::run_phases::{Measure, Precondition};
use super::timing::TimingConfig;
use super::writer_configs::{TenantConfig, TraceConfig};
use crate::device::Device;
use crate::layers::{FtlConfig, LayerConfig, from_value};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wearwell_base::config::ConfigError;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// A stack, the writes to it, and the measurement.
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
    /// A synthetic workload; give one of `workload`, `trace` and `tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadConfig>,
    /// A trace to replay; give one of `workload`, `trace` and `tenant`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceConfig>,
    /// Contents of written pages: a preset's name, or a table; replaces the digests of a trace. Default: unknown
    /// contents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<ContentConfig>,
    /// Several workloads and traces at once, each on a layer of its choice; replaces `workload` and `trace`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tenant: Vec<TenantConfig>,
    /// The part at the top of the stack that does the writing, in place of `workload`, `trace` and `tenant`: a file
    /// system with its own workload. Its form is defined by the program that runs the scenario, not by the engine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub top: Option<serde_json::Map<String, serde_json::Value>>,
    /// Timed mode; without this table a run only counts pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<TimingConfig>,
    /// Power cuts; without this table there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<PowerConfig>,
    /// Preconditioning: pages written before the workload begins.
    #[serde(default)]
    pub precondition: Precondition,
    /// Length of warm-up and measurement.
    #[serde(default)]
    pub measure: Measure,
}

impl Scenario {
    /// Reads a scenario; an error names the key if a key is wrong.
    ///
    /// # Errors
    /// Returns an error for an unknown key, or for a value of the wrong type.
    pub fn read(value: &Value) -> Result<Scenario, ConfigError> {
        // The kind of a layer determines the layer's keys, so the kind is read first, and errors can name the key.
        if let Some(ftl) = value.get("ftl") {
            FtlConfig::read(ftl.clone()).map_err(|error| within(error, "ftl"))?;
        }
        for (at, layer) in value.get("log").and_then(Value::as_array).into_iter().flatten().enumerate() {
            LayerConfig::read(layer.clone()).map_err(|error| within(error, &format!("log[{at}]")))?;
        }
        from_value(value.clone())
    }

    /// True if pages must hold their content by name, because some layer compares contents.
    pub fn holds_content(&self) -> bool {
        !self.ftl.common.dedup.is_none()
    }

    /// Returns the nanoseconds to hash a page; 0 if the FTL does not hash.
    pub(crate) fn hash_ns(&self) -> u64 {
        self.ftl.common.dedup.hash_ns()
    }
}

/// Returns the error with its key within `parent`; an error without a key is about `parent` itself.
fn within(error: ConfigError, parent: &str) -> ConfigError {
    match error.key.as_str() {
        "" => ConfigError { key: parent.into(), ..error },
        _ => error.within(parent),
    }
}

fn default_seed() -> u64 {
    1
}
