//! Settings that several programs share.

use serde::Deserialize;

/// Sizes of drives, for a program that simulates a few large drives: base-2 logarithms of their numbers of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Size up to which parameters are varied.
    pub swept: u32,
    /// Size of the largest drive, which has only a few runs.
    pub largest: u32,
}

/// Settings of a program that runs scenarios with several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Number of runs of each scenario, with the seeds 1, 2, …; intervals need two runs.
    pub runs: u64,
    /// Length of warm-up and measurement, as a multiple of the program's rule.
    pub length: f64,
}

/// Settings of a program that only calculates, which has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calculation {}
