//! File system that requests and background work share, and the thread for the background work.

use super::Mountable;
use super::convert::errno;
use super::deleted_files::DeletedFiles;
use super::trees::live_ino;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wearwell_fuse::fuser::{Errno, INodeNo};
use wearwell_nvmfs::api::{Error, Ino, Result};

/// Time for which the background thread sleeps when there is nothing to do.
const IDLE_PAUSE: Duration = Duration::from_millis(10);
/// Interval between scrubbing jobs, which verify 5 MiB of the SSD per second.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);
/// Pause after a complete scrubbing pass.
const CHECK_PAUSE: Duration = Duration::from_secs(24 * 3600);
/// Pause of the background thread if requests came during the last job.
const BUSY_PAUSE: Duration = Duration::from_millis(1);

/// Reason for which a request waits.
pub enum Wait<J> {
    /// A job must finish first.
    Work(J),
    /// Space of deleted files will become free after the kernel's FORGET.
    Space,
}

/// Result of an attempt to handle a request.
pub enum Attempt<T, J> {
    /// The request is complete.
    Complete(std::result::Result<T, Errno>),
    /// The request must wait.
    Waiting(Wait<J>),
}

/// Tries to handle a request after the job for which it waited. If there is no free space, the request waits if
/// `may_free_space` returns true.
fn attempt<F: Mountable, T>(
    file_system: &mut F,
    waited: Option<(F::Job, io::Result<()>)>,
    may_free_space: impl FnOnce() -> bool,
    handle: impl FnOnce(&mut F) -> Result<T>,
) -> Attempt<T, F::Job> {
    file_system.allow_waiting(true);
    let job_result = waited.map_or(Ok(()), |(job, outcome)| file_system.end_work(job, outcome));
    let answer = match job_result.and_then(|()| handle(file_system)) {
        Err(Error::Wait) => match file_system.begin_wait() {
            Some(job) => Ok(Attempt::Waiting(Wait::Work(job))),
            None => Err(Error::Wait),
        },
        Err(Error::NoSpace(_)) if may_free_space() => Ok(Attempt::Waiting(Wait::Space)),
        answer => answer.map(|answer| Attempt::Complete(Ok(answer))),
    };
    file_system.allow_waiting(false);
    answer.unwrap_or_else(|error| {
        file_system.note_refusal(&error);
        Attempt::Complete(Err(errno(&error)))
    })
}

/// Locked file system. After a panic, its state in memory is unknown, so the file system is leaked: its devices are
/// not changed and not released until the process ends.
struct LockedFs<'a, F>(parking_lot::MutexGuard<'a, Option<F>>);

impl<F> Drop for LockedFs<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.0.take());
        }
    }
}

/// File system shared by requests and background work.
pub struct Shared<F> {
    /// File system; `None` after it was closed, or after a thread panicked while using it.
    file_system: parking_lot::Mutex<Option<F>>,
    /// Number of requests so far, by which the background thread detects activity.
    requests: AtomicU64,
    stop: AtomicBool,
    deleted: DeletedFiles,
}

impl<F: Mountable> Shared<F> {
    /// Creates the shared state for `file_system`.
    pub fn new(file_system: F) -> Self {
        Shared {
            file_system: parking_lot::Mutex::new(Some(file_system)),
            requests: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            deleted: DeletedFiles::default(),
        }
    }

    /// Performs a request that may remove the last name of a file. Such a file exists until the kernel forgets it: it
    /// may be a working directory, or a process may hold a descriptor without an open (O_PATH).
    pub fn remove_name(
        &self,
        fs: &mut F,
        (directory, name): (INodeNo, &[u8]),
        take: impl FnOnce(&mut F, Ino) -> Result<()>,
    ) -> Result<()> {
        let directory = live_ino(directory)?;
        let open_file = fs.lookup(directory, name).ok().map(|of| of.ino).filter(|ino| fs.open(*ino).is_ok());
        let taken = take(fs, directory);
        let Some(ino) = open_file else { return taken };
        let is_deleted = fs.attributes(ino).is_ok_and(|of| of.links == 0);
        if !is_deleted || !self.deleted.insert(ino) {
            fs.release(ino)?;
        }
        taken
    }

    /// Releases a file that was closed.
    pub fn close(&self, ino: Ino) -> std::result::Result<(), Errno> {
        if self.deleted.note_closed(ino) { self.release(ino) } else { self.request(|fs| fs.release(ino)) }
    }

    /// Handles the FORGET that the kernel sent for a file.
    pub fn forget(&self, ino: Ino) {
        if self.deleted.note_forgotten(ino) {
            // FORGET has no reply. If the release fails, the next mount removes the file.
            let _ = self.release(ino);
        }
    }

    /// Releases an unlinked file, perhaps its last reference.
    fn release(&self, ino: Ino) -> std::result::Result<(), Errno> {
        self.request(|fs| {
            fs.release(ino)?;
            // The file must be removed from the set before its inode number is reused.
            if fs.attributes(ino).is_err() {
                self.deleted.note_released(ino);
            }
            Ok(())
        })
    }

    /// True if space will probably be free soon, because deleted files wait for the kernel's FORGET.
    pub fn may_free_space(&self) -> bool {
        self.deleted.has_pending_release()
    }

    /// Waits until the kernel has released the deleted files, which frees their space, or until a time limit is over.
    pub fn wait_for_space(&self) {
        self.deleted.wait();
    }

    /// Handles a request. Returns EIO if an earlier request panicked, because the state in memory is then unknown.
    ///
    /// If the request waits for a job, other requests are handled meanwhile, and then this request is repeated. It
    /// does not wait for free space, which only other requests can create.
    pub fn request<T>(&self, mut handle: impl FnMut(&mut F) -> Result<T>) -> std::result::Result<T, Errno> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match self.attempt(None, || false, &mut handle) {
            Attempt::Complete(answer) => answer,
            Attempt::Waiting(wait) => self.repeat_until_complete(wait, false, handle),
        }
    }

    /// Tries to handle a request. If the request must wait, the caller continues it with [`Shared::resume`] on a
    /// thread that receives no requests.
    pub fn begin<T>(&self, handle: impl FnOnce(&mut F) -> Result<T>) -> Attempt<T, F::Job> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.attempt(None, || self.may_free_space(), handle)
    }

    /// Continues a request that waits.
    pub fn resume<T>(
        &self,
        wait: Wait<F::Job>,
        handle: impl FnMut(&mut F) -> Result<T>,
    ) -> std::result::Result<T, Errno> {
        self.repeat_until_complete(wait, true, handle)
    }

    /// Waits, and repeats the request until it is complete. Waits for free space at most once, and only if
    /// `for_space` is set.
    fn repeat_until_complete<T>(
        &self,
        mut wait: Wait<F::Job>,
        mut for_space: bool,
        mut handle: impl FnMut(&mut F) -> Result<T>,
    ) -> std::result::Result<T, Errno> {
        loop {
            let waited = match wait {
                Wait::Work(job) => {
                    let outcome = F::run(&job);
                    Some((job, outcome))
                }
                Wait::Space => {
                    for_space = false;
                    self.wait_for_space();
                    None
                }
            };
            match self.attempt(waited, || for_space && self.may_free_space(), &mut handle) {
                Attempt::Complete(answer) => return answer,
                Attempt::Waiting(next) => wait = next,
            }
        }
    }

    fn lock(&self) -> LockedFs<'_, F> {
        LockedFs(self.file_system.lock())
    }

    fn attempt<T>(
        &self,
        waited: Option<(F::Job, io::Result<()>)>,
        space_may_come: impl FnOnce() -> bool,
        handle: impl FnOnce(&mut F) -> Result<T>,
    ) -> Attempt<T, F::Job> {
        let mut locked = self.lock();
        if waited.is_some() {
            // Requests that arrived during the job go first.
            parking_lot::MutexGuard::bump(&mut locked.0);
        }
        match locked.0.as_mut() {
            Some(file_system) => attempt(file_system, waited, space_may_come, handle),
            None => Attempt::Complete(Err(Errno::EIO)),
        }
    }

    /// Takes the file system out of the shared state, unless a request or the background work panicked.
    pub fn take(&self) -> Option<F> {
        for ino in self.deleted.take() {
            let _ = self.request(|fs| fs.release(ino));
        }
        self.lock().0.take()
    }

    /// Runs one background job. Returns false if there was none.
    fn work(&self) -> Result<bool> {
        let Some(job) = self.with_lock(F::begin_work).unwrap_or(Ok(None))? else { return Ok(false) };
        let outcome = F::run(&job);
        self.with_lock(|file_system| file_system.end_work(job, outcome)).unwrap_or(Ok(()))?;
        Ok(true)
    }

    /// Runs `work` on the file system. Returns `None` if the file system was closed, or lost by a panic.
    fn with_lock<T>(&self, work: impl FnOnce(&mut F) -> T) -> Option<T> {
        self.lock().0.as_mut().map(work)
    }
}

/// Background thread.
pub struct Worker {
    thread: JoinHandle<Result<()>>,
    request_stop: Box<dyn Fn() + Send>,
}

impl Worker {
    /// Starts the thread.
    pub fn start<F: Mountable + Send + 'static>(shared: Arc<Shared<F>>, scrub: bool) -> io::Result<Self> {
        let shared_with_thread = shared.clone();
        let next_check = scrub.then(|| Instant::now() + CHECK_INTERVAL);
        let thread = std::thread::Builder::new().name("nvmfs-background".into());
        let thread = thread.spawn(move || shared_with_thread.run(next_check))?;
        Ok(Worker { thread, request_stop: Box::new(move || shared.stop.store(true, Ordering::Relaxed)) })
    }

    /// Stops the thread after the current job. Returns the error of the last attempt, if it failed.
    pub fn stop(self) -> Result<()> {
        (self.request_stop)();
        // A panic was already reported, and left the file system inaccessible.
        self.thread.join().unwrap_or(Ok(()))
    }
}

impl<F: Mountable> Shared<F> {
    /// Runs one scrubbing job if it is due. Returns the time of the next job.
    fn check(&self, at: Option<Instant>) -> Option<Instant> {
        let due = at.filter(|at| *at <= Instant::now());
        if due.is_none() {
            return at;
        }
        // Errors and damage are part of `report`.
        let Some(Ok(Some(job))) = self.with_lock(F::begin_check) else {
            return Some(Instant::now() + CHECK_PAUSE);
        };
        let outcome = F::run(&job);
        let _ = self.with_lock(|file_system| file_system.end_work(job, outcome));
        Some(Instant::now() + CHECK_INTERVAL)
    }

    /// Runs background work until it is stopped. Scrubbing begins at `next_check`.
    fn run(&self, next_check: Option<Instant>) -> Result<()> {
        let (mut last, mut next_check) = (Ok(()), next_check);
        // The initial value differs from the number of requests, so that work left from the last mount is found.
        let mut looked_at = u64::MAX;
        while !self.stop.load(Ordering::Relaxed) {
            let before = self.requests.load(Ordering::Relaxed);
            if before == looked_at {
                next_check = self.check(next_check);
                std::thread::sleep(IDLE_PAUSE);
                continue;
            }
            let outcome = self.work();
            let quiet = self.requests.load(Ordering::Relaxed) == before;
            match outcome {
                Ok(true) if quiet => {}
                Ok(true) => std::thread::sleep(BUSY_PAUSE),
                // After a failure, background work is tried again when there were new requests.
                Ok(false) | Err(_) => {
                    looked_at = before;
                    next_check = self.check(next_check);
                    std::thread::sleep(IDLE_PAUSE);
                }
            }
            last = outcome.map(|_| ());
        }
        last
    }
}
