//! Synthetic substitutes for the FIU traces of I/O deduplication, which are too large to ship: the request mix follows
//! their published figures.

mod table;
#[cfg(test)]
mod tests;

pub(crate) use table::find;
pub use table::{FIU_TRACES, FiuTrace};

use super::Workload;
use super::hot_cold::HotCold;
use super::kind::Kind;
use super::rank_map::Space;
use super::requests::{RequestConfig, RequestPages, WeightedPages};
use schemars::{JsonSchema, Schema};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;

/// The request mix of an FIU trace: `hot_cold` with settings that reproduce the trace's published write ratio and mean
/// request size at pages of 4096 bytes. Any setting may be given to replace that of the trace.
///
/// The `content` of the same name describes the contents of the pages.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(transform = without_defaults)]
pub struct Fiu {
    /// Name of the trace: `homes`, `web_vm` or `mail`.
    #[schemars(extend("enum" = ["homes", "web_vm", "mail"]))]
    pub trace: String,
    /// Share of the requests that go to hot pages; from the trace unless given.
    #[schemars(with = "Option<f64>", extend("type" = "number"))]
    pub hot_writes: f64,
    /// Share of the space that is hot; from the trace unless given.
    #[schemars(with = "Option<f64>", extend("type" = "number"))]
    pub hot_space: f64,
    /// Request lengths and reads, from the trace unless given; trims, hints and placement.
    #[serde(flatten)]
    pub requests: RequestConfig,
}

/// Removes the defaults of other workloads from the schema where the trace supplies values.
fn without_defaults(schema: &mut Schema) {
    let properties = schema.get_mut("properties").and_then(|properties| properties.as_object_mut());
    for (key, property) in properties.into_iter().flatten() {
        if let (true, Some(property)) =
            (["request_pages", "read_ratio"].contains(&key.as_str()), property.as_object_mut())
        {
            property.remove("default");
        }
    }
}

impl FiuTrace {
    /// Returns the request mix.
    fn requests(&self) -> RequestConfig {
        let lengths = self.request_pages.iter().map(|&(pages, weight)| WeightedPages { pages, weight });
        RequestConfig {
            request_pages: RequestPages::Mix(lengths.collect()),
            // The ratio is rounded, so that 1 - 0.805 becomes 0.195 and not 0.19499999999999995 in the result.
            read_ratio: ((1.0 - self.write_ratio) * 1e6).round() / 1e6,
            ..RequestConfig::default()
        }
    }
}

impl Fiu {
    fn hot_cold(&self) -> HotCold {
        HotCold { hot_writes: self.hot_writes, hot_space: self.hot_space, requests: self.requests.clone() }
    }
}

impl<'de> Deserialize<'de> for Fiu {
    /// Resolves the figures of the trace at once, so that a result contains every setting.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let names: Vec<_> = FIU_TRACES.iter().map(|trace| trace.entry.name).collect();
        let allowed = format!("one of {}", names.join(", "));
        let name = match table.remove("trace") {
            Some(toml::Value::String(name)) => name,
            Some(other) => return Err(D::Error::custom(format!("`trace` is {other}; it must be {allowed}"))),
            None => return Err(D::Error::custom(format!("missing field `trace`, {allowed}"))),
        };
        let Some(trace) = find(&name) else {
            return Err(D::Error::custom(format!("no FIU trace is called \"{name}\"; {allowed}")));
        };
        let mut take_or = |key: &str, preset: f64| match table.remove(key) {
            Some(toml::Value::Float(value)) => Ok(value),
            Some(toml::Value::Integer(value)) => Ok(value as f64),
            Some(other) => Err(D::Error::custom(format!("`{key}` is {other}; it must be a number"))),
            None => Ok(preset),
        };
        let (hot_writes, hot_space) =
            (take_or("hot_writes", trace.hot_writes)?, take_or("hot_space", trace.hot_space)?);
        let mut requests = toml::Table::try_from(trace.requests()).map_err(D::Error::custom)?;
        requests.extend(table);
        let requests =
            RequestConfig::deserialize(requests).map_err(|error| D::Error::custom(error.message()))?;
        Ok(Fiu { trace: name, hot_writes, hot_space, requests })
    }
}

impl Kind for Fiu {
    fn build(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        self.hot_cold().build(space, seed)
    }

    fn temperature(&self, space: &Space) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        self.hot_cold().temperature(space)
    }

    fn written_per_request(&self) -> f64 {
        self.requests.written_per_request()
    }
}
