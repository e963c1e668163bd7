//! Deleted files to which the kernel still holds references; the kernel may reference a file that is not open.
//!
//! The kernel sends its FORGET message after `unlink` has returned, between other requests. A process that deletes
//! files and then queries or needs free space may send its request before that message. Such a request therefore
//! waits for a short time.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wearwell_nvmfs::api::Ino;

/// Maximum time to wait for a FORGET. A deleted file that is referenced for longer than this counts as in use.
const MAX_WAIT: Duration = Duration::from_millis(250);

/// State of a deleted file.
#[derive(Clone, Copy, Debug)]
struct File {
    /// Time at which the file lost its last name, or was closed after that.
    since: Instant,
    /// True if the kernel has sent FORGET, so that the file will be released soon.
    is_forgotten: bool,
}

/// Set of deleted files.
#[derive(Debug, Default)]
pub struct DeletedFiles {
    files: Mutex<BTreeMap<Ino, File>>,
    released: Condvar,
}

impl DeletedFiles {
    /// Adds a file that has lost its last name. Returns false if the set already contained the file.
    pub fn insert(&self, ino: Ino) -> bool {
        let file = File { since: Instant::now(), is_forgotten: false };
        self.files().insert(ino, file).is_none()
    }

    /// Records that a file was closed. Returns false if the file is not in the set.
    pub fn note_closed(&self, ino: Ino) -> bool {
        let mut files = self.files();
        let file = files.get_mut(&ino);
        file.map(|file| file.since = Instant::now()).is_some()
    }

    /// Records that the kernel has sent FORGET for a file. Returns false if the file is not in the set, or was
    /// already forgotten.
    pub fn note_forgotten(&self, ino: Ino) -> bool {
        let mut files = self.files();
        let file = files.get_mut(&ino).filter(|file| !file.is_forgotten);
        file.map(|file| *file = File { since: Instant::now(), is_forgotten: true }).is_some()
    }

    /// Removes a file whose space was freed.
    pub fn note_released(&self, ino: Ino) {
        self.files().remove(&ino);
        self.released.notify_all();
    }

    /// Empties the set and returns the files for which there was no FORGET, because the kernel will send none after
    /// the unmount.
    pub fn take(&self) -> Vec<Ino> {
        let files = std::mem::take(&mut *self.files());
        files.into_iter().filter(|(_, file)| !file.is_forgotten).map(|(ino, _)| ino).collect()
    }

    /// True if some files will probably be released soon.
    pub fn has_pending_release(&self) -> bool {
        is_release_pending(&self.files(), Instant::now())
    }

    /// Waits until the files that will be released soon are gone. Ignores files in use, and files that are added
    /// meanwhile.
    pub fn wait(&self) {
        let begin = Instant::now();
        let mut files = self.files();
        while is_release_pending(&files, begin) {
            let remaining = (begin + MAX_WAIT).saturating_duration_since(Instant::now());
            if remaining.is_zero() {
                return;
            }
            files = self.released.wait_timeout(files, remaining).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<Ino, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a file that lost its last name before `at` was expected to be released soon at that time.
fn is_release_pending(files: &BTreeMap<Ino, File>, at: Instant) -> bool {
    files.values().any(|file| file.since <= at && at.duration_since(file.since) < MAX_WAIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn wait_ends_when_last_file_is_released() {
        let (deleted, begin) = (Arc::new(DeletedFiles::default()), Instant::now());
        assert!(deleted.insert(Ino(7)) && deleted.insert(Ino(8)) && !deleted.insert(Ino(7)));
        let release = {
            let deleted = Arc::clone(&deleted);
            move || {
                for ino in [Ino(7), Ino(8)] {
                    std::thread::sleep(Duration::from_millis(5));
                    assert!(deleted.note_forgotten(ino) && !deleted.note_forgotten(ino));
                    deleted.note_released(ino);
                }
            }
        };
        let releaser = std::thread::spawn(release);
        deleted.wait();
        // On a busy machine, the thread may be so late that the wait ends before.
        assert!(deleted.files().is_empty() || begin.elapsed() >= MAX_WAIT);
        releaser.join().unwrap();
        assert!(deleted.take().is_empty() && !deleted.has_pending_release());
    }

    #[test]
    fn second_wait_ignores_file_in_use() {
        let deleted = DeletedFiles::default();
        deleted.wait();
        let begin = Instant::now();
        deleted.insert(Ino(7));
        assert!(deleted.has_pending_release() || begin.elapsed() >= MAX_WAIT);
        deleted.wait();
        assert!(!deleted.has_pending_release());
        // The process that used the file has closed it.
        let begin = Instant::now();
        assert!(deleted.note_closed(Ino(7)) && !deleted.note_closed(Ino(8)));
        assert!(deleted.has_pending_release() || begin.elapsed() >= MAX_WAIT);
        assert!(!deleted.note_forgotten(Ino(8)));
        assert_eq!(deleted.take(), [Ino(7)]);
    }
}
