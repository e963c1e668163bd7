//! FUSE mounts of user-space file systems.
//!
//! The kernel checks permissions and caches pages, names and attributes. Only this mount changes the file system, so
//! cached items may stay valid for a long time. Writes go through the page cache immediately: when `write` returns,
//! data is in NVRAM and survives a power cut. Data written through `mmap` survives a power cut after `msync`.

mod acls;
mod adapter;
mod convert;
mod deleted_files;
mod files;
mod nvmfs;
mod privileges;
mod replies;
mod request_handler;
mod trees;
mod wait_pool;
mod worker;
mod xattrs;

pub use files::{FileNvmfs, FileNvmfsMount};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
pub use trees::SnapshotInfo;
use wearwell_fuse::fuser::MountOption;
use wearwell_fuse::{Session, default_threads};
use wearwell_nvmfs::api::{Error, FileSystem, Result};
use worker::{Shared, Worker};

/// File system that can be mounted.
///
/// One thread does the background work, such as flushing (section III-B), in small jobs. A job begins and ends
/// between two requests; its slow part runs concurrently with requests.
pub trait Mountable: FileSystem {
    /// Slow job, such as writing one extent.
    type Job: Send;

    /// Begins the next background job, if there is one.
    fn begin_work(&mut self) -> Result<Option<Self::Job>>;

    /// Begins the next scrubbing job, which runs when there is nothing else to do. Returns `None` after a complete pass.
    fn begin_check(&mut self) -> Result<Option<Self::Job>> {
        Ok(None)
    }

    /// Runs the slow part of a job.
    fn run(job: &Self::Job) -> io::Result<()>;

    /// Ends a job; `outcome` is the result of [`Mountable::run`].
    fn end_work(&mut self, job: Self::Job, outcome: io::Result<()>) -> Result<()>;

    /// Sets if the next request may fail with [`Error::Wait`].
    fn allow_waiting(&mut self, _: bool) {}

    /// Begins the job for which the request waits that was last refused with [`Error::Wait`]. The job ends just before
    /// the request is repeated.
    fn begin_wait(&mut self) -> Option<Self::Job> {
        None
    }

    /// Records for the report that a request was refused.
    fn note_refusal(&mut self, _: &Error) {}

    /// Closes the file system when no file is open, and prepares a quick next start.
    fn close(self) -> Result<()>
    where
        Self: Sized;

    /// Executes a command that a user gave by setting [`SNAPSHOT_XATTR`](wearwell_nvmfs::stats::SNAPSHOT_XATTR).
    /// `now_ns` is in ns since 1970.
    fn execute_order(&mut self, _order: &[u8], _now_ns: i64) -> Result<()> {
        Err(Error::Unsupported("orders"))
    }

    /// Returns the snapshots that can be viewed.
    fn snapshots(&mut self) -> Vec<SnapshotInfo> {
        Vec::new()
    }

    /// Returns the view of the snapshot with this number.
    fn snapshot_view(&mut self, _view: u32) -> Option<Box<dyn FileSystem + '_>> {
        None
    }

    /// Returns a report of the mounted file system as JSON, for [`STATS_XATTR`](wearwell_nvmfs::stats::STATS_XATTR).
    fn report(&mut self) -> Option<String> {
        None
    }
}

/// Mount options.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the source in the mount table.
    pub source: String,
    /// Allows access to users other than the mounting user.
    pub allow_other: bool,
    /// Mounts read-only.
    pub read_only: bool,
    /// Disables the page cache: every read and write is a request.
    pub direct_io: bool,
    /// Lets the kernel buffer writes. Then data survives a power cut only after `fsync`.
    pub writeback_cache: bool,
    /// Forbids execution of programs.
    pub no_exec: bool,
    /// Scrubs the stored data in the background.
    pub scrub: bool,
    /// Threads for the kernel's requests; at least 1. Waiting for the SSD happens in other threads.
    pub threads: usize,
    /// Time for which the kernel may cache names and attributes.
    pub cache_time: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            source: "nvmfs".into(),
            allow_other: false,
            read_only: false,
            direct_io: false,
            writeback_cache: false,
            no_exec: false,
            scrub: true,
            threads: default_threads(),
            cache_time: Duration::from_secs(60),
        }
    }
}

impl Options {
    fn session_options(&self, subtype: MountOption) -> wearwell_fuse::Options {
        let access = if self.read_only { MountOption::RO } else { MountOption::RW };
        let no_exec = self.no_exec.then_some(MountOption::NoExec);
        wearwell_fuse::Options {
            source: self.source.clone(),
            allow_other: self.allow_other,
            threads: self.threads,
            mount_options: [subtype, access].into_iter().chain(no_exec).collect(),
        }
    }
}

/// Mounted file system. Dropping this value unmounts the file system without waiting for open files.
pub struct Mount<F: Mountable + Send + 'static> {
    session: Option<Session>,
    shared: Arc<Shared<F>>,
    worker: Option<Worker>,
}

/// Mounts `file_system` on the directory `at`. Fails if `at` is not a directory or the user may not mount there.
pub fn mount<F: Mountable + Send + 'static>(
    file_system: F,
    at: &Path,
    options: &Options,
) -> io::Result<Mount<F>> {
    let at = at.canonicalize()?;
    if !at.is_dir() {
        return Err(Errno::NOTDIR.into());
    }
    let shared = Arc::new(Shared::new(file_system));
    let open = |subtype| {
        let adapter = adapter::Adapter::new(shared.clone(), options.clone())?;
        Session::start(adapter, &at, &options.session_options(subtype))
    };
    // With this option, the mount table shows fuse.nvmfs for mounts by root, too; kernels before 2019 refuse it.
    let session = open(MountOption::CUSTOM("subtype=nvmfs".into()))
        .or_else(|_| open(MountOption::Subtype("nvmfs".into())))?;
    let worker = Worker::start(shared.clone(), options.scrub)?;
    Ok(Mount { session: Some(session), shared, worker: Some(worker) })
}

impl<F: Mountable + Send + 'static> Mount<F> {
    /// True if the file system was already unmounted, for example by `umount`.
    pub fn has_ended(&self) -> bool {
        self.session.as_ref().is_none_or(Session::has_ended)
    }

    /// Unmounts the directory. Fails with EBUSY while files on it are open; the caller can try again.
    pub fn unmount(&self) -> io::Result<()> {
        let session = self.session.as_ref().filter(|session| !session.has_ended());
        session.map_or(Ok(()), |session| wearwell_fuse::unmount(session.at()))
    }

    /// Ends the mount even if files are open: writes buffered data, makes later accesses fail, and closes the file
    /// system.
    pub fn end(mut self) -> io::Result<()> {
        if let Some(session) = self.session.as_mut().filter(|session| !session.has_ended()) {
            // This writes data that the kernel has buffered, mainly of mapped files.
            if let Ok(directory) = File::open(session.at()) {
                let _ = rustix::fs::syncfs(directory);
            }
            // The detached session refuses requests until the last process that uses it, or this process, ends.
            session.detach()?;
        }
        let worked = self.worker.take().expect("only this and drop take it").stop();
        let closed = self.shared.take().map_or(Ok(()), F::close);
        worked.and(closed).map_err(io::Error::other)
    }

    /// Returns [`Mountable::report`], unless the file system is closed.
    pub fn report(&self) -> Option<String> {
        self.shared.request(|file_system| Ok(file_system.report())).ok().flatten()
    }

    /// Waits for the unmount, stops the background work and closes the file system.
    pub fn join(mut self) -> io::Result<()> {
        let session = self.session.take().expect("only this and drop take it");
        let served = session.join();
        let worked = self.worker.take().expect("only this and drop take it").stop();
        let closed = self.shared.take().map_or(Ok(()), F::close);
        served.and(worked.and(closed).map_err(io::Error::other))
    }
}

impl<F: Mountable + Send + 'static> Drop for Mount<F> {
    fn drop(&mut self) {
        drop(self.session.take());
        if let Some(worker) = self.worker.take() {
            let _ = worker.stop();
        }
    }
}

/// Unmounts a directory, which another process may have mounted. The server of the mount then closes the file system.
pub fn unmount_directory(at: &Path) -> io::Result<()> {
    wearwell_fuse::unmount(at)
}
