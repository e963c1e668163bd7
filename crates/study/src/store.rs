//! Stores of finished runs, so that no run is repeated.

use super::points::{PointResult, StoreError};
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hasher;
use wearwell_stack::RunResult;
use wearwell_stack::scenario::Scenario;

/// Store of finished runs.
pub trait Store: Sync + Debug {
    /// Announces the settings of the runs to be stored, with all their values.
    fn declare_settings(&self, settings: &mut dyn Iterator<Item = &BTreeMap<String, Value>>);

    /// Returns the result under `identity`, if the store had one when it was opened.
    fn find(&self, identity: &str) -> Option<RunResult>;

    /// Stores a finished run. The run is durable after [`Store::flush`]; before that, a crash loses at most a second of
    /// work.
    ///
    /// # Errors
    ///
    /// Returns an error if the run cannot be written.
    fn put(&self, point: &PointResult) -> Result<(), StoreError>;

    /// Makes all runs given to [`Store::put`] durable.
    ///
    /// # Errors
    ///
    /// Returns an error if runs cannot be written.
    fn flush(&self) -> Result<(), StoreError>;
}

/// Build: Wearwell's version and a hash of its sources. Results may differ between builds.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("WEARWELL_SOURCES"));

/// Returns the identity of a run: a hash of its resolved scenario, which determines the run, and of the [`BUILD`].
pub fn identity(scenario: &Scenario) -> String {
    let text = serde_json::to_string(scenario).expect("scenarios are plain data");
    fingerprint(format!("{BUILD}\n{text}").as_bytes())
}

/// Returns the build that made `result`, or only the version if that differs from the present one.
pub fn build_of(result: &RunResult) -> &str {
    match result.version == env!("CARGO_PKG_VERSION") {
        true => BUILD,
        false => &result.version,
    }
}

/// Hashes `bytes`, equally on every platform and in every version: SipHash-1-3 of 128 bits in hexadecimal.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    format!("{:032x}", hasher.finish128().as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_never_change() {
        // Values from another implementation of SipHash-1-3; existing stores depend on them.
        assert_eq!(fingerprint(b"wearwell"), "7bf7e74ac407d2c964368d775ab90bba");
        assert_eq!(fingerprint(b""), "b91c5ed031fb33032134935d61d9b40d");
    }
}
