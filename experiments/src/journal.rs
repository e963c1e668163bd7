//! Finished points on disk, one JSON line each, so that an interrupted reproduction goes on where it stopped.

use crate::Failure;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::{Mutex, OnceLock};

/// A file of finished points.
pub struct Journal {
    known: HashMap<String, Value>,
    file: Mutex<File>,
}

/// A point as it is kept.
#[derive(Serialize, serde::Deserialize)]
struct Line {
    point: String,
    found: Value,
}

/// The first line: which program found the points. Those of another one are not trusted: what it calculates may differ.
#[derive(PartialEq, Eq, Serialize, serde::Deserialize)]
struct Heading {
    points_of: String,
}

impl Heading {
    fn ours() -> Self {
        Heading { points_of: build() }
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

impl Journal {
    /// Opens or creates the journal at `path`. A last line that was cut off is forgotten, and so is everything that another
    /// build of the program has found.
    ///
    /// # Errors
    ///
    /// A file that cannot be read and written.
    pub fn open(path: &Path) -> Result<Journal, Failure> {
        let failed = |error: std::io::Error| format!("{}: {error}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let mut file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let (known, whole_bytes) = Self::read(&file).map_err(failed)?;
        file.set_len(whole_bytes).map_err(failed)?;
        if whole_bytes == 0 {
            writeln!(file, "{}", serde_json::to_string(&Heading::ours())?).map_err(failed)?;
        }
        Ok(Journal { known, file: Mutex::new(file) })
    }

    /// The points in a file, and how many bytes of it are to be kept.
    fn read(file: &File) -> std::io::Result<(HashMap<String, Value>, u64)> {
        let mut reader = BufReader::new(file);
        let (mut known, mut whole_bytes, mut line) = (HashMap::new(), 0, Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            if whole_bytes == 0 {
                let heading = serde_json::from_slice::<Heading>(&line).ok();
                if heading.is_none_or(|heading| heading != Heading::ours()) {
                    break;
                }
            } else {
                let Ok(Line { point, found }) = serde_json::from_slice(&line) else { break };
                known.insert(point, found);
            }
            whole_bytes += line.len() as u64;
            line.clear();
        }
        Ok((known, whole_bytes))
    }

    /// What was found for `point`, unless it is of another kind.
    pub fn find<T: DeserializeOwned>(&self, point: &str) -> Option<T> {
        self.known.get(point).and_then(|found| T::deserialize(found).ok())
    }

    /// Keeps what was found for `point`.
    ///
    /// # Errors
    ///
    /// A file that cannot be written.
    pub fn keep<T: Serialize>(&self, point: &str, found: &T) -> Result<(), Failure> {
        let line = Line { point: point.to_owned(), found: serde_json::to_value(found)? };
        let mut text = serde_json::to_vec(&line)?;
        text.push(b'\n');
        self.file.lock().map_err(|_| "another point failed while it was written")?.write_all(&text)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_found_again_and_torn_lines_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("there/points.jsonl");
        let journal = Journal::open(&path).unwrap();
        journal.keep("one", &0.1).unwrap();
        journal.keep("two", &vec![f64::MIN_POSITIVE, 1.0 / 3.0]).unwrap();
        drop(journal);
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"point\":\"three\",\"fo").unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.find::<f64>("one"), Some(0.1));
        assert_eq!(journal.find::<Vec<f64>>("two"), Some(vec![f64::MIN_POSITIVE, 1.0 / 3.0]));
        assert_eq!(journal.find::<f64>("two"), None, "of another kind");
        assert_eq!(journal.find::<f64>("three"), None);
        journal.keep("three", &3).unwrap();
        assert_eq!(Journal::open(&path).unwrap().find::<u32>("three"), Some(3));
    }

    #[test]
    fn points_of_another_build_are_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("points.jsonl");
        std::fs::write(&path, "{\"points_of\":\"0.0.1 77\"}\n{\"point\":\"one\",\"found\":1}\n").unwrap();
        let journal = Journal::open(&path).unwrap();
        assert_eq!(journal.find::<u32>("one"), None);
        drop(journal);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 1);
    }
}
