//! What requests and background work share, and the thread that does the latter.

use super::Mountable;
use super::convert::errno;
use super::trees::now;
use super::unnamed::Unnamed;
use fuser::{Errno, INodeNo};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use wearwell_nvmfs::api::{Error, Ino, Result};

/// How long the thread sleeps when there is nothing to do.
const IDLE: Duration = Duration::from_millis(10);
/// A piece of what is there is looked at in this time: 5 MiB of the SSD in a second.
const CHECK_EVERY: Duration = Duration::from_millis(100);
/// When all was looked at, it is once more after this time.
const CHECK_PAUSE: Duration = Duration::from_secs(24 * 3600);
/// How long it lets requests go first when some came during the last piece of work.
const BUSY: Duration = Duration::from_millis(1);

/// What a request waits for.
pub enum Wait<J> {
    /// A piece of work.
    Work(J),
    /// The room of files that are gone, once the kernel says so.
    Room,
}

/// What comes of handling a request.
pub enum Attempt<T, J> {
    /// It is answered.
    Answered(std::result::Result<T, Errno>),
    /// It waits for this.
    Waits(Wait<J>),
}

/// Handles a request, after what it waited for; `room_may_come` if it may wait where there is none.
fn attempt<F: Mountable, T>(
    file_system: &mut F,
    waited: Option<(F::Job, io::Result<()>)>,
    room_may_come: impl FnOnce() -> bool,
    handle: impl FnOnce(&mut F) -> Result<T>,
) -> Attempt<T, F::Job> {
    file_system.allow_waiting(true);
    let ended = waited.map_or(Ok(()), |(job, outcome)| file_system.end_work(job, outcome));
    let answer = match ended.and_then(|()| handle(file_system)) {
        Err(Error::Wait) => match file_system.begin_wait() {
            Some(job) => Ok(Attempt::Waits(Wait::Work(job))),
            None => Err(Error::Wait),
        },
        Err(Error::NoSpace(_)) if room_may_come() => Ok(Attempt::Waits(Wait::Room)),
        answer => answer.map(|answer| Attempt::Answered(Ok(answer))),
    };
    file_system.allow_waiting(false);
    answer.unwrap_or_else(|error| {
        file_system.refused(&error);
        Attempt::Answered(Err(errno(&error)))
    })
}

/// The file system while it is used. After a panic nothing is known of its state in memory: it is left as it is, and its devices are
/// nobody's before the process ends.
struct Held<'a, F>(parking_lot::MutexGuard<'a, Option<F>>);

impl<F> Drop for Held<'_, F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::mem::forget(self.0.take());
        }
    }
}

/// A file system between its two users.
pub struct Shared<F> {
    /// None once it is closed, or a request or the background work panicked.
    file_system: parking_lot::Mutex<Option<F>>,
    /// How many requests there were; tells the thread whether to make room and whether to look for work.
    requests: AtomicU64,
    stop: AtomicBool,
    unnamed: Unnamed,
}

impl<F: Mountable> Shared<F> {
    /// Shares `file_system`.
    pub fn new(file_system: F) -> Self {
        Shared {
            file_system: parking_lot::Mutex::new(Some(file_system)),
            requests: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            unnamed: Unnamed::default(),
        }
    }

    /// A request that may take the file of a name in a directory its last one. Such a file lives until the kernel forgets it: it
    /// may be somebody's working directory, or be held by a descriptor that opened nothing (O_PATH).
    pub fn take_name(
        &self,
        fs: &mut F,
        (directory, name): (INodeNo, &[u8]),
        take: impl FnOnce(&mut F, Ino) -> Result<()>,
    ) -> Result<()> {
        let directory = now(directory)?;
        let held = fs.lookup(directory, name).ok().map(|of| of.ino).filter(|ino| fs.open(*ino).is_ok());
        let taken = take(fs, directory);
        let Some(ino) = held else { return taken };
        let is_unnamed = fs.attributes(ino).is_ok_and(|of| of.links == 0);
        if !is_unnamed || !self.unnamed.insert(ino) {
            fs.release(ino)?;
        }
        taken
    }

    /// Somebody has closed a file.
    pub fn close(&self, ino: Ino) -> std::result::Result<(), Errno> {
        if self.unnamed.closed(ino) { self.release(ino) } else { self.request(|fs| fs.release(ino)) }
    }

    /// The kernel knows a file no longer.
    pub fn forget(&self, ino: Ino) {
        if self.unnamed.forgotten(ino) {
            // Nobody waits for an answer; what is left of it then, the next mount removes.
            let _ = self.release(ino);
        }
    }

    /// Releases a file without a name, which may be the last that was known of it.
    fn release(&self, ino: Ino) -> std::result::Result<(), Errno> {
        self.request(|fs| {
            fs.release(ino)?;
            // Before another file gets its number.
            if fs.attributes(ino).is_err() {
                self.unnamed.left(ino);
            }
            Ok(())
        })
    }

    /// Whether there will be more room at once, since files are gone of which the kernel has not said so.
    pub fn room_may_come(&self) -> bool {
        self.unnamed.are_leaving()
    }

    /// Waits for that room.
    pub fn await_room(&self) {
        self.unnamed.wait();
    }

    /// Handles a request. After a panic in an earlier one nothing is known of the state in memory: EIO ever after.
    ///
    /// Work that it has to wait for is done while others are handled; then it is handled anew. Room it does not wait for: only other
    /// requests make some.
    pub fn request<T>(&self, mut handle: impl FnMut(&mut F) -> Result<T>) -> std::result::Result<T, Errno> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        match self.attempt(None, || false, &mut handle) {
            Attempt::Answered(answer) => answer,
            Attempt::Waits(wait) => self.until_answered(wait, false, handle),
        }
    }

    /// The same, unless it has to wait: then it is [`Shared::go_on`]'s turn, in a thread to which no requests come.
    pub fn begin<T>(&self, handle: impl FnOnce(&mut F) -> Result<T>) -> Attempt<T, F::Job> {
        self.requests.fetch_add(1, Ordering::Relaxed);
        self.attempt(None, || self.room_may_come(), handle)
    }

    /// Goes on with a request that waits.
    pub fn go_on<T>(
        &self,
        wait: Wait<F::Job>,
        handle: impl FnMut(&mut F) -> Result<T>,
    ) -> std::result::Result<T, Errno> {
        self.until_answered(wait, true, handle)
    }

    /// The same; it waits for room once at most, and only if it may.
    fn until_answered<T>(
        &self,
        mut wait: Wait<F::Job>,
        mut for_room: bool,
        mut handle: impl FnMut(&mut F) -> Result<T>,
    ) -> std::result::Result<T, Errno> {
        loop {
            let waited = match wait {
                Wait::Work(job) => {
                    let outcome = F::run(&job);
                    Some((job, outcome))
                }
                Wait::Room => {
                    for_room = false;
                    self.await_room();
                    None
                }
            };
            match self.attempt(waited, || for_room && self.room_may_come(), &mut handle) {
                Attempt::Answered(answer) => return answer,
                Attempt::Waits(next) => wait = next,
            }
        }
    }

    fn held(&self) -> Held<'_, F> {
        Held(self.file_system.lock())
    }

    fn attempt<T>(
        &self,
        waited: Option<(F::Job, io::Result<()>)>,
        room_may_come: impl FnOnce() -> bool,
        handle: impl FnOnce(&mut F) -> Result<T>,
    ) -> Attempt<T, F::Job> {
        let mut held = self.held();
        if waited.is_some() {
            // Those that came meanwhile have their turn before what is long.
            parking_lot::MutexGuard::bump(&mut held.0);
        }
        match held.0.as_mut() {
            Some(file_system) => attempt(file_system, waited, room_may_come, handle),
            None => Attempt::Answered(Err(Errno::EIO)),
        }
    }

    /// Takes the file system out, unless a request or the background work panicked.
    pub fn take(&self) -> Option<F> {
        for ino in self.unnamed.take() {
            let _ = self.request(|fs| fs.release(ino));
        }
        self.held().0.take()
    }

    /// One piece of background work; whether there may be more.
    fn work(&self) -> Result<bool> {
        let Some(job) = self.locked(F::begin_work).unwrap_or(Ok(None))? else { return Ok(false) };
        let outcome = F::run(&job);
        self.locked(|file_system| file_system.end_work(job, outcome)).unwrap_or(Ok(()))?;
        Ok(true)
    }

    /// Nothing when there is no file system any more, or none to be trusted.
    fn locked<T>(&self, piece: impl FnOnce(&mut F) -> T) -> Option<T> {
        self.held().0.as_mut().map(piece)
    }
}

/// The thread for background work.
pub struct Worker {
    thread: JoinHandle<Result<()>>,
    ask: Box<dyn Fn() + Send>,
}

impl Worker {
    /// Starts it.
    pub fn start<F: Mountable + Send + 'static>(shared: Arc<Shared<F>>, scrub: bool) -> io::Result<Self> {
        let ours = shared.clone();
        let next_check = scrub.then(|| Instant::now() + CHECK_EVERY);
        let thread = std::thread::Builder::new().name("nvmfs-background".into());
        let thread = thread.spawn(move || ours.run(next_check))?;
        Ok(Worker { thread, ask: Box::new(move || shared.stop.store(true, Ordering::Relaxed)) })
    }

    /// Stops it after the piece at hand; returns the error that still stands, if the last attempt failed.
    pub fn stop(self) -> Result<()> {
        (self.ask)();
        // A panic of the thread has told of itself, and left a lock that nobody gets.
        self.thread.join().unwrap_or(Ok(()))
    }
}

impl<F: Mountable> Shared<F> {
    /// Looks at a piece of what is there, if it is time to; when it is time for the next.
    fn check(&self, at: Option<Instant>) -> Option<Instant> {
        let due = at.filter(|at| *at <= Instant::now());
        if due.is_none() {
            return at;
        }
        // What fails or is wrong is told by `report`.
        let Some(Ok(Some(job))) = self.locked(F::begin_check) else {
            return Some(Instant::now() + CHECK_PAUSE);
        };
        let outcome = F::run(&job);
        let _ = self.locked(|file_system| file_system.end_work(job, outcome));
        Some(Instant::now() + CHECK_EVERY)
    }

    /// Works until told to stop; what is there is looked at from `next_check` on.
    fn run(&self, next_check: Option<Instant>) -> Result<()> {
        let (mut last, mut next_check) = (Ok(()), next_check);
        // No request has been looked at yet, so that work left by the last mount is found.
        let mut looked_at = u64::MAX;
        while !self.stop.load(Ordering::Relaxed) {
            let before = self.requests.load(Ordering::Relaxed);
            if before == looked_at {
                next_check = self.check(next_check);
                std::thread::sleep(IDLE);
                continue;
            }
            let outcome = self.work();
            let quiet = self.requests.load(Ordering::Relaxed) == before;
            match outcome {
                Ok(true) if quiet => {}
                Ok(true) => std::thread::sleep(BUSY),
                // What failed is tried again when something has changed.
                Ok(false) | Err(_) => {
                    looked_at = before;
                    next_check = self.check(next_check);
                    std::thread::sleep(IDLE);
                }
            }
            last = outcome.map(|_| ());
        }
        last
    }
}
