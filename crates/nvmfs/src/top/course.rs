//! When a run with a file system is measured, and how long.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// From when on a run with a file system is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CountFrom {
    /// Once `measure` has warmed up: from the steady state on, unless `measure.warm_up` says when.
    #[default]
    Steady,
    /// From its making on, the making of the workload's files included.
    Mkfs,
    /// Once the workload's files are made.
    SetUp,
}

/// When it is measured, and how long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    /// From when on.
    pub from: CountFrom,
    /// Bytes that the workload writes while it is measured, its set-up not counting; `None` for as long as the run goes on.
    pub written_bytes: Option<u64>,
}
