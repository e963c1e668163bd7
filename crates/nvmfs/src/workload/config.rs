//! Table of file workloads, and the configuration that selects one.

use super::kind::Kind;
use super::{FileWorkload, Fileserver, Fio, Iozone, Postmark};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use wearwell_base::config::{ConfigError, Entry};
use wearwell_base::seed::Seed;

/// Defines the table, and the configuration as an enum over its entries.
macro_rules! file_workloads {
    ($($name:literal $kind:ident $help:literal $source:literal;)*) => {
        /// All file workloads; the setting `kind` selects one by its name.
        pub static FILE_WORKLOADS: &[Entry] =
            &[$(Entry { name: $name, help: $help, source: $source },)*];

        /// File workload: `kind` selects it, the other keys are its settings.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind")]
        pub enum FileWorkloadConfig {
            $(#[doc = $help] #[serde(rename = $name)] $kind($kind),)*
        }

        impl FileWorkloadConfig {
            /// Returns the `kind` of the workload.
            pub fn name(&self) -> &'static str {
                match self { $(FileWorkloadConfig::$kind(_) => $name,)* }
            }

            fn kind(&self) -> &dyn Kind {
                match self { $(FileWorkloadConfig::$kind(kind) => kind,)* }
            }
        }
    };
}

// A new workload needs a file, its `mod` line, and a line here with its name, type, help and source.
file_workloads! {
    "iozone" Iozone "random writes to one large file" "IOzone, section IV-A; iozone.c, random_perf_test";
    "postmark" Postmark "small files that come, grow and go" "Katcher, NetApp TR3022, 1997; section IV-A";
    "fio" Fio "random updates in thousands of files" "fio, section IV-A";
    "fileserver" Fileserver "whole files written, extended, read and deleted" "Filebench, fileserver.f; section IV-A";
}

impl FileWorkloadConfig {
    /// Builds the workload for a file system with space for `capacity_bytes` of data. Files use the fraction of it that
    /// the setting `utilisation` gives.
    ///
    /// Equal configurations, capacities and seeds give equal operations. Errors: a value that is out of
    /// range, or incompatible with another value or with the capacity.
    pub fn build(&self, capacity_bytes: u64, seed: Seed) -> Result<Box<dyn FileWorkload>, ConfigError> {
        self.kind().build(capacity_bytes, seed)
    }
}
