//! Errors in a workload's configuration, key by key.

use std::fmt::Display;
use wearwell_base::config::ConfigError;

/// Returns the error that `key` has `value` where only `allowed` is valid.
pub(super) fn invalid_value(key: impl Into<String>, value: impl Display, allowed: &str) -> ConfigError {
    ConfigError::new(key, format!("is {value}; it {allowed}"))
}

/// Returns an error about `key` unless `is_valid`.
pub(super) fn require(
    is_valid: bool,
    key: impl Into<String>,
    value: impl Display,
    allowed: &str,
) -> Result<(), ConfigError> {
    if is_valid { Ok(()) } else { Err(invalid_value(key, value, allowed)) }
}

/// Requires a share from 0 to 1.
pub(super) fn require_ratio(key: &str, value: f64) -> Result<(), ConfigError> {
    require((0.0..=1.0).contains(&value), key, value, "must lie from 0 to 1")
}

/// Requires a share above 0.
pub(super) fn require_share(key: &str, value: f64) -> Result<(), ConfigError> {
    require(value > 0.0 && value <= 1.0, key, value, "must be above 0 and at most 1")
}

/// Checks the weights of alternatives, which are any positive multiple of the shares. `table` is the name of the list,
/// and `key` is the name of the weight.
pub(super) fn require_weights(table: &str, weights: &[f64]) -> Result<(), ConfigError> {
    require(!weights.is_empty(), table, "[]", "must have at least one entry")?;
    for (index, &weight) in weights.iter().enumerate() {
        let key = format!("{table}[{index}].weight");
        require(weight >= 0.0 && weight.is_finite(), key, weight, "must be a finite number, 0 or above")?;
    }
    let sum: f64 = weights.iter().sum();
    require(
        sum > 0.0 && sum.is_finite(),
        table,
        format!("weights that sum to {sum}"),
        "must sum to a finite number above 0",
    )
}
