//! Settings that several programs share.

use serde::Deserialize;

/// Sizes of the drives of a program that simulates few, large drives: logarithms of their numbers of blocks to the base
/// 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scale {
    /// Size up to which parameters are swept.
    pub swept: u32,
    /// Size of the largest drive, for a few runs.
    pub largest: u32,
}

/// Settings of a program that runs scenarios with several seeds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Runs of each scenario, with the seeds 1, 2, …; intervals need two.
    pub runs: u64,
    /// Warm-up and measurement as a multiple of the program's own rule.
    pub length: f64,
}

/// Settings of a program that only calculates: none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Calculation {}
