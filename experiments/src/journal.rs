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
}

impl Finished {
    /// What this build of the program has found for a point.
    ///
    /// # Errors
    ///
    /// What is no plain data.
    pub fn new(point: &str, found: &impl Serialize) -> serde_json::Result<Self> {
        Ok(Finished { point: point.to_owned(), by: build(), found: serde_json::to_value(found)? })
    }
}

impl Entry for Finished {
    type Found = Value;
    const BEGINNING: &str = "{\"point\":";
    const NAME: &str = "finished point of an item";

    fn read(line: &[u8]) -> serde_json::Result<Option<(String, Value)>> {
        let Finished { point, by, found } = serde_json::from_slice(line)?;
        Ok((by == build()).then_some((point, found)))
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
        assert_eq!(journal.find("one"), None);
        let precise = vec![f64::MIN_POSITIVE, 1.0 / 3.0];
        journal.keep(&Finished::new("one", &precise).unwrap()).unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().starts_with(theirs));
        let again = Journal::open(&path).unwrap();
        assert_eq!(Vec::<f64>::deserialize(again.find("one").unwrap()).unwrap(), precise);
    }
}
