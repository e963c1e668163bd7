//! A file system under a directory, by FUSE.
//!
//! The kernel checks permissions and keeps pages, names and attributes; as nothing but this mount changes the file system, it may
//! keep them long. Writes go through its page cache at once, so that what `write` returned from is in NVRAM and survives a
//! power cut; what a program writes through `mmap` does so after `msync`.

mod acls;
mod adapter;
mod convert;
mod files;
mod nvmfs;
mod privileges;
mod serving;
mod trees;
mod unnamed;
mod waiting;
mod worker;
mod xattrs;

pub use files::{MountedOnFiles, OnFiles};
use fuser::{Config, MountOption, Session, SessionACL};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
pub use trees::View;
use wearwell_nvmfs::api::{Error, FileSystem, Result};
use worker::{Shared, Worker};

/// A file system that can be mounted.
///
/// What it does beside requests, such as flushing (section III-B), is done in small pieces, by one thread: each begins and ends
/// between two requests, its slow part in the middle runs beside them.
pub trait Mountable: FileSystem {
    /// A slow piece of work, such as writing one extent.
    type Job: Send;

    /// Begins a piece of work, if there is one before the next request.
    fn begin_work(&mut self) -> Result<Option<Self::Job>>;

    /// Begins a piece of looking at what is there, which is done now and then when there is nothing else to do; none when all was
    /// looked at once more.
    fn begin_check(&mut self) -> Result<Option<Self::Job>> {
        Ok(None)
    }

    /// Its slow part.
    fn run(job: &Self::Job) -> io::Result<()>;

    /// Ends it; `outcome` is that of [`Mountable::run`].
    fn end_work(&mut self, job: Self::Job, outcome: io::Result<()>) -> Result<()>;

    /// Whether the request that comes may be refused with [`Error::Wait`].
    fn allow_waiting(&mut self, _: bool) {}

    /// Begins what the request that was just refused with [`Error::Wait`] waits for; it ends just before that is asked again.
    fn begin_wait(&mut self) -> Option<Self::Job> {
        None
    }

    /// A request was refused; for the report.
    fn refused(&mut self, _: &Error) {}

    /// The last call, when nothing is open any more: does what makes the next start quick.
    fn close(self) -> Result<()>
    where
        Self: Sized;

    /// Does what `order` says, as [`ORDER_XATTR`](wearwell_nvmfs::stats::ORDER_XATTR) is set by who may; at this time, ns since 1970.
    fn order(&mut self, _order: &[u8], _now_ns: i64) -> Result<()> {
        Err(Error::Unsupported("orders"))
    }

    /// The snapshots that can be looked at beside it.
    fn views(&mut self) -> Vec<View> {
        Vec::new()
    }

    /// One of them, by its number.
    fn as_it_was(&mut self, _view: u32) -> Option<Box<dyn FileSystem + '_>> {
        None
    }

    /// What a program may want to know of it while it is mounted, as JSON; read as [`REPORT_XATTR`](wearwell_nvmfs::stats::REPORT_XATTR).
    fn report(&mut self) -> Option<String> {
        None
    }
}

/// Threads for requests unless more are asked for.
const MOST_USUAL_THREADS: usize = 4;

/// How to mount.
#[derive(Clone, Debug)]
pub struct Options {
    /// What the table of mounts calls it.
    pub source: String,
    /// Users other than the one who mounts may use it.
    pub allow_other: bool,
    /// Nothing may be changed.
    pub read_only: bool,
    /// The kernel keeps no pages: every read and write is a request.
    pub direct_io: bool,
    /// The kernel collects writes before it sends them. Then only `fsync` makes them survive a power cut.
    pub writeback_cache: bool,
    /// Nothing can be executed.
    pub no_programs: bool,
    /// What is there is looked at in the background.
    pub scrub: bool,
    /// Threads that the kernel's requests come to; at least 1. What waits for the SSD does so elsewhere.
    pub threads: usize,
    /// How long the kernel keeps names and attributes.
    pub keep: Duration,
}

/// Where there are few processors, those who ask need them too.
fn usual_threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |processors| (processors.get() / 2).clamp(1, MOST_USUAL_THREADS))
}

impl Default for Options {
    fn default() -> Self {
        Options {
            source: "nvmfs".into(),
            allow_other: false,
            read_only: false,
            direct_io: false,
            writeback_cache: false,
            no_programs: false,
            scrub: true,
            threads: usual_threads(),
            keep: Duration::from_secs(60),
        }
    }
}

impl Options {
    fn config(&self, subtype: MountOption) -> Config {
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(self.source.clone()),
            subtype,
            MountOption::DefaultPermissions,
            if self.read_only { MountOption::RO } else { MountOption::RW },
        ];
        config.mount_options.extend(self.no_programs.then_some(MountOption::NoExec));
        config.n_threads = Some(self.threads.max(1));
        // Each thread has its own end of the connection, where the user may open one.
        config.clone_fd =
            self.threads > 1 && File::options().read(true).write(true).open("/dev/fuse").is_ok();
        config.acl = if self.allow_other { SessionACL::All } else { SessionACL::Owner };
        config
    }
}

/// A mounted file system. Dropping it unmounts, without waiting for those who use it.
pub struct Mounted<F: Mountable + Send + 'static> {
    at: PathBuf,
    session: Option<JoinHandle<io::Result<()>>>,
    shared: Arc<Shared<F>>,
    worker: Option<Worker>,
}

/// Mounts `file_system` on the directory `at`. Fails if it is no directory or the user may not mount there.
pub fn mount<F: Mountable + Send + 'static>(
    file_system: F,
    at: &Path,
    options: &Options,
) -> io::Result<Mounted<F>> {
    let at = at.canonicalize()?;
    if !at.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    let shared = Arc::new(Shared::new(file_system));
    let open = |subtype| {
        let adapter = adapter::Adapter::new(shared.clone(), options.clone())?;
        Session::new(adapter, &at, &options.config(subtype))
    };
    // So that the table of mounts says fuse.nvmfs, as root's own mounts do not otherwise; kernels of before 2019 refuse it.
    let session = open(MountOption::CUSTOM("subtype=nvmfs".into()))
        .or_else(|_| open(MountOption::Subtype("nvmfs".into())))?;
    let worker = Worker::start(shared.clone(), options.scrub)?;
    let session = std::thread::Builder::new().name("nvmfs-requests".into()).spawn(move || session.run())?;
    Ok(Mounted { at, session: Some(session), shared, worker: Some(worker) })
}

impl<F: Mountable + Send + 'static> Mounted<F> {
    /// Whether somebody unmounted it already, with `umount`.
    pub fn ended(&self) -> bool {
        self.session.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Unmounts the directory. Fails with EBUSY as long as files on it are open, and can be tried again.
    pub fn unmount(&self) -> io::Result<()> {
        if self.ended() {
            return Ok(());
        }
        unmount(&self.at, UnmountFlags::empty())
    }

    /// Ends the mount, whoever uses it: what was written is sent on, then those who still have files open get errors, and the file
    /// system is closed.
    pub fn end(mut self) -> io::Result<()> {
        if !self.ended() {
            // What the kernel has collected, of mapped files above all.
            if let Ok(directory) = File::open(&self.at) {
                let _ = rustix::fs::syncfs(directory);
            }
            unmount(&self.at, UnmountFlags::DETACH)?;
            // It goes on refusing until the last of them is gone, or the process.
            drop(self.session.take());
        }
        let worked = self.worker.take().expect("only this and drop take it").stop();
        let closed = self.shared.take().map_or(Ok(()), F::close);
        worked.and(closed).map_err(io::Error::other)
    }

    /// What [`Mountable::report`] tells, as long as it is not closed.
    pub fn report(&self) -> Option<String> {
        self.shared.request(|file_system| Ok(file_system.report())).ok().flatten()
    }

    /// Waits until it is unmounted, stops the background work and closes the file system.
    pub fn join(mut self) -> io::Result<()> {
        let session = self.session.take().expect("only this and drop take it");
        let served = session.join().unwrap_or_else(|_| Err(io::Error::other("serving requests panicked")));
        let worked = self.worker.take().expect("only this and drop take it").stop();
        let closed = self.shared.take().map_or(Ok(()), F::close);
        served.and(worked.and(closed).map_err(io::Error::other))
    }
}

impl<F: Mountable + Send + 'static> Drop for Mounted<F> {
    fn drop(&mut self) {
        if !self.ended() {
            // There is nobody left to tell of an error.
            let _ = unmount(&self.at, UnmountFlags::DETACH);
        }
        if let Some(worker) = self.worker.take() {
            let _ = worker.stop();
        }
    }
}

/// Unmounts a directory on which something is mounted, as another process may. The server closes the file system then.
pub fn unmount_directory(at: &Path) -> io::Result<()> {
    unmount(at, UnmountFlags::empty())
}

fn unmount(at: &Path, how: UnmountFlags) -> io::Result<()> {
    match rustix::mount::unmount(at, how) {
        // Somebody else was faster.
        Ok(()) | Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(Errno::PERM) => unmount_as_user(at, how),
        Err(error) => Err(error.into()),
    }
}

/// Users other than root unmount by a helper that has the right to.
fn unmount_as_user(at: &Path, how: UnmountFlags) -> io::Result<()> {
    let flags = if how.contains(UnmountFlags::DETACH) { "-uz" } else { "-u" };
    let output = Command::new("fusermount3").arg(flags).arg("--").arg(at).stdin(Stdio::null()).output()?;
    let message = || io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    if output.status.success() { Ok(()) } else { Err(message()) }
}
