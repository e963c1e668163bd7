//! Journal of finished work that is not a run of a scenario, such as the points of a reproduction. One JSON line per
//! entry, so that interrupted work can be resumed.

use serde::Serialize;
use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Mutex;

/// Entry of a journal: finished work as a line of JSON.
pub trait Entry: Serialize {
    /// Content of an entry that is read back.
    type Content;

    /// Prefix of every line; a file that starts with anything else belongs to another program and is not modified.
    const LINE_PREFIX: &str;

    /// Name of an entry in errors.
    const NAME: &str;

    /// Parses a line into its identity and content. Returns `None` for an entry that is not valid here, such as the
    /// work of another version of the program.
    ///
    /// # Errors
    ///
    /// Returns an error for a line that is not such an entry.
    fn read(line: &[u8]) -> serde_json::Result<Option<(String, Self::Content)>>;
}

/// Reason why a journal cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {source}")]
pub struct JournalError {
    /// Path of the file.
    pub path: String,
    /// System error, or problem with the file.
    pub source: io::Error,
}

/// An open journal.
pub struct Journal<E: Entry> {
    path: String,
    file: Mutex<File>,
    entries: HashMap<String, E::Content>,
}

impl<E: Entry> Journal<E> {
    /// Opens or creates the journal at `path`.
    ///
    /// Removes an incomplete last line, which an interrupted write leaves. All other lines stay in the file, even if
    /// they are not valid or not needed here.
    ///
    /// # Errors
    ///
    /// Returns an error for a file that cannot be read and written, or that is not a journal of such entries.
    pub fn open(path: &Path) -> Result<Self, JournalError> {
        let failed = |source| JournalError { path: path.display().to_string(), source };
        let file = OpenOptions::new().read(true).append(true).create(true).open(path).map_err(failed)?;
        let entries = read::<E>(&file).map_err(failed)?;
        Ok(Journal { path: path.display().to_string(), file: Mutex::new(file), entries })
    }

    /// Returns the entry under `identity`, if the journal had one when it was opened.
    pub fn find(&self, identity: &str) -> Option<&E::Content> {
        self.entries.get(identity)
    }

    /// Appends an entry.
    ///
    /// # Errors
    ///
    /// Returns an error if the file cannot be written.
    pub fn append(&self, entry: &E) -> Result<(), JournalError> {
        let mut line = serde_json::to_vec(entry).expect("entries are plain data");
        line.push(b'\n');
        let mut file = self.file.lock().expect("no thread panics while it holds the lock");
        file.write_all(&line).map_err(|source| JournalError { path: self.path.clone(), source })
    }
}

/// Reads the entries of a file and removes an incomplete last line.
fn read<E: Entry>(file: &File) -> io::Result<HashMap<String, E::Content>> {
    let mut reader = BufReader::new(file);
    let (mut entries, mut line, mut whole_bytes) = (HashMap::new(), Vec::new(), 0);
    let mut number = 0;
    while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
        number += 1;
        let entry = E::read(&line).map_err(|error| {
            invalid(&format!("line {number} is no {} ({error}); name another file", E::NAME))
        })?;
        entries.extend(entry);
        whole_bytes += line.len() as u64;
        line.clear();
    }
    let beginning = E::LINE_PREFIX.as_bytes();
    if !line.starts_with(beginning) && !beginning.starts_with(&line) {
        return Err(invalid(&format!("this is no file with a {} in each line; name another one", E::NAME)));
    }
    file.set_len(whole_bytes)?;
    Ok(entries)
}

fn invalid(problem: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, problem)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Serialize, Deserialize)]
    struct Square {
        side: u32,
        by: String,
        area: f64,
    }

    impl Entry for Square {
        type Content = f64;
        const LINE_PREFIX: &str = "{\"side\":";
        const NAME: &str = "square";

        fn read(line: &[u8]) -> serde_json::Result<Option<(String, f64)>> {
            let Square { side, by, area } = serde_json::from_slice(line)?;
            Ok((by == "us").then(|| (side.to_string(), area)))
        }
    }

    fn square(by: &str, side: u32) -> Square {
        Square { side, by: by.to_owned(), area: f64::from(side * side) / 3.0 }
    }

    #[test]
    fn entries_of_other_versions_are_ignored_but_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("squares.jsonl");
        let journal = Journal::open(&path).unwrap();
        journal.append(&square("us", 1)).unwrap();
        journal.append(&square("them", 2)).unwrap();
        assert_eq!(journal.find("1"), None, "not there when it was opened");
        // Simulates a crash while a line was being written.
        let before = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{before}{{\"side\":3,\"by")).unwrap();
        let journal = Journal::<Square>::open(&path).unwrap();
        assert_eq!(
            [journal.find("1"), journal.find("2"), journal.find("3")],
            [Some(&(1.0 / 3.0)), None, None]
        );
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
        journal.append(&square("us", 3)).unwrap();
        assert_eq!(Journal::<Square>::open(&path).unwrap().find("3"), Some(&3.0));
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn foreign_file_is_refused_unmodified() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        for text in ["my notes", "{\"a\": 1}\n", "{\"side\":1}\n", "{\"side\":\n"] {
            std::fs::write(&path, text).unwrap();
            let error = Journal::<Square>::open(&path).err().unwrap().to_string();
            assert!(error.contains("notes.txt: ") && error.contains("square"), "{error}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        }
    }
}
