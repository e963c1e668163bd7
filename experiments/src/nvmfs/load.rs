//! Workload of a file system, with its settings.

use crate::Failure;
use serde::Serialize;
use wearwell_nvmfs::workload::FileWorkloadConfig;

/// A workload with its settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Load {
    /// Name of the workload in the tables.
    pub name: String,
    /// Kind of the workload.
    pub kind: String,
    /// Settings other than the utilisation, in the form of a configuration.
    pub settings: String,
}

impl Load {
    /// Returns the workload of this kind with default settings.
    pub fn named(kind: &str) -> Load {
        Load { name: kind.to_owned(), kind: kind.to_owned(), settings: String::new() }
    }

    /// Returns the workload of this kind whose files or records are accessed in this order; Zipf's law has the
    /// exponent `skew`.
    pub fn ordered(kind: &str, order: &str, skew: f64) -> Load {
        let skew = if order == "zipf" { format!("\nskew = {skew:?}") } else { String::new() };
        let settings = format!("order = \"{order}\"{skew}");
        Load { name: format!("{kind} {order}"), kind: kind.to_owned(), settings }
    }

    /// Returns the configuration for files that take `utilisation` of the disk.
    pub(super) fn config(&self, utilisation: f64) -> Result<FileWorkloadConfig, Failure> {
        let Load { kind, settings, .. } = self;
        Ok(toml::from_str(&format!("kind = \"{kind}\"\nutilisation = {utilisation:?}\n{settings}"))?)
    }
}
