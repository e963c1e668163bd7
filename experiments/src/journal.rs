//! Finished points on disk, so that an interrupted reproduction goes on where it stopped.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::OnceLock;
use wearwell_study::journal::{self, Entry};

/// The finished points of a program.
pub type Journal = journal::Journal<Finished>;

/// A point as it is kept.
#[derive(Serialize, Deserialize)]
pub struct Finished {
    /// What all depends on that was found.
    point: String,
    /// Which build of the program found it. What another one has found stays, and is not trusted: what it calculates may differ.
    by: String,
    /// What was found.
    found: Value,
    /// What it took of one core; 0 in lines that do not say.
    #[serde(default)]
    core_seconds: f64,
}

/// What a point is found again with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// What was found.
    pub found: Value,
    /// What it took of one core.
    pub core_seconds: f64,
}

impl Finished {
    /// What this build of the program has found for a point, in how much time of a core.
    ///
    /// # Errors
    ///
    /// What is no plain data.
    pub fn new(point: &str, found: &impl Serialize, core_seconds: f64) -> serde_json::Result<Self> {
        let found = serde_json::to_value(found)?;
        Ok(Finished { point: point.to_owned(), by: build(), found, core_seconds })
    }
}

impl Entry for Finished {
    type Found = Answer;
    const BEGINNING: &str = "{\"point\":";
    const NAME: &str = "finished point of an item";

    fn read(line: &[u8]) -> serde_json::Result<Option<(String, Answer)>> {
        let Finished { point, by, found, core_seconds } = serde_json::from_slice(line)?;
        Ok((by == build()).then_some((point, Answer { found, core_seconds })))
    }
}

/// Which build of the program this is: its version and a hash of its file.
pub fn build() -> String {
    static BUILD: OnceLock<String> = OnceLock::new();
    let ours = BUILD.get_or_init(|| {
        let bytes = std::env::current_exe().and_then(std::fs::read).unwrap_or_default();
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        format!("{} {:016x}", env!("CARGO_PKG_VERSION"), hasher.finish())
    });
    ours.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_of_another_build_are_kept_and_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        let theirs = "{\"point\":\"one\",\"by\":\"0.0.1 77\",\"found\":1}\n";
        std::fs::write(&path, theirs).unwrap();
        let journal = Journal::open(&path).unwrap();
        assert!(journal.find("one").is_none());
        let precise = vec![f64::MIN_POSITIVE, 1.0 / 3.0];
        journal.keep(&Finished::new("one", &precise, 0.5).unwrap()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(theirs));
        let again = Journal::open(&path).unwrap();
        let one = again.find("one").unwrap();
        assert_eq!(Vec::<f64>::deserialize(&one.found).unwrap(), precise);
        assert_eq!(one.core_seconds, 0.5);
    }
}
