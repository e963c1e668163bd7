//! The table of workloads, and the configuration that selects one of them.

use super::error::require;
use super::kind::Kind;
use super::rank_map::Space;
use super::{Fiu, HotCold, Mixed, Phases, Sequential, Uniform, Workload, Zipf};
use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_base::temperature::Temperature;

/// Defines the table, and the configuration as an enum with a variant per line.
macro_rules! workloads {
    ($($name:literal $kind:ident $help:literal $source:literal;)*) => {
        /// All workloads, by the name that selects them in `kind`.
        pub static WORKLOADS: &[Entry] =
            &[$(Entry { name: $name, help: $help, source: $source, keys: keys_of::<$kind> },)*];

        /// A workload: `kind` names it, the other keys are its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum WorkloadConfig {
            $(#[doc = $help] #[serde(rename = $name)] $kind($kind),)*
        }

        impl WorkloadConfig {
            /// Returns the `kind` of the workload.
            pub fn name(&self) -> &'static str {
                match self { $(WorkloadConfig::$kind(_) => $name,)* }
            }

            fn kind(&self) -> &dyn Kind {
                match self { $(WorkloadConfig::$kind(kind) => kind,)* }
            }

            fn read(kind: &str, table: toml::Table) -> Result<Self, toml::de::Error> {
                match kind {
                    $($name => $kind::deserialize(table).map(WorkloadConfig::$kind),)*
                    _ => unreachable!("{kind} was found in the table"),
                }
            }
        }
    };
}

// A new workload is one file, its `mod` line, and one line here: name, type, help, source.
workloads! {
    "uniform" Uniform "every page equally likely" "the reference case of all cleaning models";
    "hot_cold" HotCold "a share of the writes goes to a share of the space" "Rosenblum and Ousterhout, TOCS 10(1), 1992";
    "zipf" Zipf "popularity falls as a power of rank" "Zipf, 1949; Gray et al., SIGMOD 1994";
    "sequential" Sequential "page after page, begun again at the end" "the best case of all cleaning";
    "fiu" Fiu "the request mix of an FIU trace: homes, web_vm or mail" "CAGC (Wu et al., IPDPS 2021), Table II; POD (Mao et al., IEEE TC 65(6), 2016), Table 3";
    "mixed" Mixed "several workloads side by side, interleaved" "Yang et al., \"Don't stack your log on my log\", INFLOW 2014";
    "phases" Phases "several workloads one after the other, once or repeatedly" "as the consecutive jobs of fio; for loads that change";
}

/// Entry of a workload in `wearwell list`.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name that selects the workload in `kind`.
    pub name: &'static str,
    /// Description in one line.
    pub help: &'static str,
    /// Source in the literature.
    pub source: &'static str,
    keys: fn() -> Vec<String>,
}

impl Entry {
    /// Returns the keys of its configuration, including `kind`, in alphabetical order.
    pub fn keys(&self) -> Vec<String> {
        (self.keys)()
    }
}

impl WorkloadConfig {
    /// Builds the workload on a space of `logical_pages` pages.
    ///
    /// Equal configurations, sizes and seeds give equal requests. Errors: a value that is out of range, or
    /// conflicts with another value or with the size of the space.
    pub fn build(&self, logical_pages: u32, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        self.build_on(&whole_space(logical_pages, seed)?, seed)
    }

    /// Returns the oracle for the page temperatures of the workload that [`Self::build`] makes with the same arguments.
    ///
    /// `None` if all pages are written equally often (uniform, sequential) or temperatures change with time
    /// (phases). Errors: as for `build`.
    pub fn temperature(
        &self,
        logical_pages: u32,
        seed: Seed,
    ) -> Result<Option<Box<dyn Temperature>>, ConfigError> {
        self.kind().temperature(&whole_space(logical_pages, seed)?)
    }

    /// Returns the mean number of pages written per request; reads and trims also count as requests.
    pub fn written_per_request(&self) -> f64 {
        self.kind().written_per_request()
    }

    /// Builds the workload on a part of the space, or for a part of the time.
    pub(super) fn build_on(&self, space: &Space, seed: Seed) -> Result<Box<dyn Workload>, ConfigError> {
        self.kind().build(space, seed)
    }
}

/// Returns the space of a workload that uses all of it.
fn whole_space(logical_pages: u32, seed: Seed) -> Result<Space, ConfigError> {
    require(logical_pages > 0, "logical_pages", logical_pages, "must be at least 1")?;
    Ok(Space { logical_pages, scatter: seed.derive("scatter") })
}

impl<'de> Deserialize<'de> for WorkloadConfig {
    /// Looks `kind` up in the table, and checks the keys against it before the values are read: with
    /// shared, flattened settings, the tagged enums of serde cannot list the valid keys.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut table = toml::Table::deserialize(deserializer)?;
        let names: Vec<&str> = WORKLOADS.iter().map(|entry| entry.name).collect();
        let kind = match table.remove("kind") {
            Some(toml::Value::String(kind)) => kind,
            other => {
                let found = other.map_or("no `kind`".to_owned(), |kind| format!("`kind` = {kind}"));
                return Err(D::Error::custom(format!(
                    "a workload with {found}; one of {}",
                    names.join(", ")
                )));
            }
        };
        let Some(entry) = WORKLOADS.iter().find(|entry| entry.name == kind) else {
            let message = format!("no workload is called \"{kind}\"; one of {}", names.join(", "));
            return Err(D::Error::custom(message));
        };
        let keys = entry.keys();
        if let Some(key) = table.keys().find(|key| !keys.contains(key)) {
            let message = format!("workload \"{kind}\" has no key `{key}`; it has {}", keys.join(", "));
            return Err(D::Error::custom(message));
        }
        let read = WorkloadConfig::read(entry.name, table);
        read.map_err(|error| D::Error::custom(format!("workload \"{kind}\": {}", error.message())))
    }
}

/// Returns the keys of a kind's configuration, from its schema.
fn keys_of<K: JsonSchema>() -> Vec<String> {
    let schema = schemars::schema_for!(K);
    let properties = schema.get("properties").and_then(|properties| properties.as_object());
    let field_keys = properties.into_iter().flat_map(|properties| properties.keys().cloned());
    let mut keys: Vec<String> = field_keys.chain(["kind".to_owned()]).collect();
    keys.sort();
    keys
}
