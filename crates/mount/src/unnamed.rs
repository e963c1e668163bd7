//! Files without a name that the kernel still knows: it may hold them without having opened anything.
//!
//! That it knows one no longer it tells after `unlink` has returned, and between other requests. Who has removed files and asks at once how
//! much room there is, or needs that room, may be ahead of it, and waits a little.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use wearwell_nvmfs::api::Ino;

/// A file that the kernel still knows so long after it lost its name is one that somebody holds.
const LEAVING: Duration = Duration::from_millis(250);

/// What is known of one.
#[derive(Clone, Copy, Debug)]
struct File {
    /// When it lost its name, or was closed after that.
    since: Instant,
    /// The kernel knows it no longer, and has closed it: it will say so.
    is_forgotten: bool,
}

/// The files.
#[derive(Debug, Default)]
pub struct Unnamed {
    files: Mutex<BTreeMap<Ino, File>>,
    left: Condvar,
}

impl Unnamed {
    /// A file has no name any more; whether that was not known.
    pub fn insert(&self, ino: Ino) -> bool {
        let file = File { since: Instant::now(), is_forgotten: false };
        self.files().insert(ino, file).is_none()
    }

    /// A file was closed; whether it is one of these.
    pub fn closed(&self, ino: Ino) -> bool {
        let mut files = self.files();
        let file = files.get_mut(&ino);
        file.map(|file| file.since = Instant::now()).is_some()
    }

    /// The kernel knows a file no longer; whether it is one of these and was known until now.
    pub fn forgotten(&self, ino: Ino) -> bool {
        let mut files = self.files();
        let file = files.get_mut(&ino).filter(|file| !file.is_forgotten);
        file.map(|file| *file = File { since: Instant::now(), is_forgotten: true }).is_some()
    }

    /// What a file had is free.
    pub fn left(&self, ino: Ino) {
        self.files().remove(&ino);
        self.left.notify_all();
    }

    /// All that the kernel knows, which is gone.
    pub fn take(&self) -> Vec<Ino> {
        let files = std::mem::take(&mut *self.files());
        files.into_iter().filter(|(_, file)| !file.is_forgotten).map(|(ino, _)| ino).collect()
    }

    /// Whether some are likely to leave at once.
    pub fn are_leaving(&self) -> bool {
        is_one_leaving(&self.files(), Instant::now())
    }

    /// Waits until those that are leaving have left; not for those that somebody holds, nor for others that come meanwhile.
    pub fn wait(&self) {
        let begin = Instant::now();
        let mut files = self.files();
        while is_one_leaving(&files, begin) {
            let left = (begin + LEAVING).saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            files = self.left.wait_timeout(files, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<Ino, File>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether one that lost its name by `at` was likely to leave at that time.
fn is_one_leaving(files: &BTreeMap<Ino, File>, at: Instant) -> bool {
    files.values().any(|file| file.since <= at && at.duration_since(file.since) < LEAVING)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn who_waits_goes_on_when_the_last_has_left() {
        let unnamed = Arc::new(Unnamed::default());
        assert!(unnamed.insert(Ino(7)) && unnamed.insert(Ino(8)) && !unnamed.insert(Ino(7)));
        let leave = {
            let unnamed = Arc::clone(&unnamed);
            move || {
                for ino in [Ino(7), Ino(8)] {
                    std::thread::sleep(Duration::from_millis(5));
                    assert!(unnamed.forgotten(ino) && !unnamed.forgotten(ino));
                    unnamed.left(ino);
                }
            }
        };
        let leaving = std::thread::spawn(leave);
        unnamed.wait();
        assert!(unnamed.take().is_empty() && !unnamed.are_leaving());
        leaving.join().unwrap();
    }

    #[test]
    fn nobody_waits_for_one_that_is_held_twice() {
        let unnamed = Unnamed::default();
        unnamed.wait();
        unnamed.insert(Ino(7));
        assert!(unnamed.are_leaving());
        unnamed.wait();
        assert!(!unnamed.are_leaving());
        // Whoever held it has closed it.
        assert!(unnamed.closed(Ino(7)) && !unnamed.closed(Ino(8)));
        assert!(unnamed.are_leaving() && !unnamed.forgotten(Ino(8)));
        assert_eq!(unnamed.take(), [Ino(7)]);
    }
}
