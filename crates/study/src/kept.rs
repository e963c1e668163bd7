//! Finished runs that are kept, so that no study makes one twice.

use super::points::{PointResult, StoreError};
use serde_json::Value;
use siphasher::sip128::{Hasher128, SipHasher13};
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::hash::Hasher;
use wearwell_stack::RunResult;
use wearwell_stack::scenario::Scenario;

/// Where finished runs are kept.
pub trait Store: Sync + Debug {
    /// What the runs that will be kept vary, with all values that it takes.
    fn expect(&self, settings: &mut dyn Iterator<Item = &BTreeMap<String, Value>>);

    /// The result that was there under `identity` when the store was opened.
    fn find(&self, identity: &str) -> Option<RunResult>;

    /// Keeps a finished run. It is safe after [`Store::flush`]; until then at most a second of work may be lost.
    ///
    /// # Errors
    ///
    /// What cannot be written.
    fn keep(&self, point: &PointResult) -> Result<(), StoreError>;

    /// Makes safe what was given to [`Store::keep`].
    ///
    /// # Errors
    ///
    /// What cannot be written.
    fn flush(&self) -> Result<(), StoreError>;
}

/// Wearwell's version, and which sources it was built from: what two builds find may differ wherever this does.
pub const BUILD: &str = concat!(env!("CARGO_PKG_VERSION"), "+", env!("WEARWELL_SOURCES"));

/// What a run is known by: a hash of its resolved scenario, which says all about it, and of the [`BUILD`] that makes it.
pub fn identity(scenario: &Scenario) -> String {
    let text = serde_json::to_string(scenario).expect("scenarios are plain data");
    fingerprint(format!("{BUILD}\n{text}").as_bytes())
}

/// Which build made `result`, or, of a result of another version, which version that is.
pub fn made_by(result: &RunResult) -> &str {
    match result.version == env!("CARGO_PKG_VERSION") {
        true => BUILD,
        false => &result.version,
    }
}

/// A hash of `bytes`, the same on every platform and in every version: SipHash-1-3 of 128 bits in hexadecimal.
pub fn fingerprint(bytes: &[u8]) -> String {
    let mut hasher = SipHasher13::new();
    hasher.write(bytes);
    format!("{:032x}", hasher.finish128().as_u128())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fingerprints_stay_what_they_are() {
        // By another implementation of SipHash-1-3: stores of yesterday are found again.
        assert_eq!(fingerprint(b"wearwell"), "7bf7e74ac407d2c964368d775ab90bba");
        assert_eq!(fingerprint(b""), "b91c5ed031fb33032134935d61d9b40d");
    }
}
