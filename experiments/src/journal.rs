//! Finished points on disk, so that an interrupted reproduction can continue.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use wearwell_study::journal::{self, Entry};

/// Journal of the finished points of a program.
pub type Journal = journal::Journal<StoredPoint>;

/// A stored point.
#[derive(Serialize, Deserialize)]
pub struct StoredPoint {
    /// Identity of the point: all data on which the result of the point depends.
    point: String,
    /// Build of the program that computed the result. Results of other builds are kept but not used, because they may
    /// differ.
    #[serde(rename = "by")]
    build: String,
    /// Result of the point.
    #[serde(rename = "found")]
    value: Value,
    /// Core seconds of the calculation; 0 in lines without a value.
    #[serde(default)]
    core_seconds: f64,
}

/// Result of a point, with its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PointResult {
    /// Result of the point.
    #[serde(rename = "found")]
    pub value: Value,
    /// Core seconds of the calculation.
    pub core_seconds: f64,
}

impl StoredPoint {
    /// Returns the result of a point computed by this build.
    ///
    /// # Errors
    ///
    /// Returns an error if `value` cannot be serialised.
    pub fn new(point: &str, value: &impl Serialize, core_seconds: f64) -> serde_json::Result<Self> {
        let value = serde_json::to_value(value)?;
        Ok(StoredPoint { point: point.to_owned(), build: build(), value, core_seconds })
    }
}

impl Entry for StoredPoint {
    type Content = PointResult;
    const LINE_PREFIX: &str = "{\"point\":";
    const NAME: &str = "finished point of an item";

    fn read(line: &[u8]) -> serde_json::Result<Option<(String, PointResult)>> {
        let StoredPoint { point, build: by, value: found, core_seconds } = serde_json::from_slice(line)?;
        Ok((by == build()).then_some((point, PointResult { value: found, core_seconds })))
    }
}

/// Returns the build of the program: its version and a hash of its file.
pub fn build() -> String {
    static BUILD: OnceLock<String> = OnceLock::new();
    let this_build = BUILD.get_or_init(|| {
        let bytes = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        format!("{} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
    });
    this_build.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_another_build_are_kept_but_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let other_build = "{\"point\":\"one\",\"by\":\"0.0.1 77\",\"found\":1}\n";
        std::fs::write(&path, other_build).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert!(journal.find("one").is_none());
        let precise = vec![f64::MIN_POSITIVE, 1.0 / 3.0];
        journal.append(&StoredPoint::new("one", &precise, 0.5).unwrap()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(other_build));
        let reopened = Journal::open(&path).unwrap();
        let one = reopened.find("one").unwrap();
        assert_eq!(Vec::<f64>::deserialize(&one.value).unwrap(), precise);
        assert_eq!(one.core_seconds, 0.5);
    }
}
