//! Mount options, request threads and unmounting.

use fuser::{Config, Filesystem, MountOption, SessionACL};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::JoinHandle;

/// Upper limit for the default number of request threads.
const MAX_DEFAULT_THREADS: usize = 4;

/// Returns the default number of request threads: at most half of the processors, because the programs that use the
/// mount need processors, too.
pub fn default_threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, |processors| (processors.get() / 2).clamp(1, MAX_DEFAULT_THREADS))
}

/// Options of a session.
#[derive(Clone, Debug)]
pub struct Options {
    /// Name of the source in the mount table.
    pub source: String,
    /// Allows access to users other than the mounting user.
    pub allow_other: bool,
    /// Threads for the kernel's requests; 0 counts as 1.
    pub threads: usize,
    /// Further mount options. The kernel checks permissions in any case.
    pub mount_options: Vec<MountOption>,
}

impl Options {
    /// Options with one thread, for the mounting user only.
    pub fn new(source: &str) -> Self {
        Options { source: source.into(), allow_other: false, threads: 1, mount_options: Vec::new() }
    }

    fn config(&self) -> Config {
        let mut config = Config::default();
        config.mount_options =
            vec![MountOption::FSName(self.source.clone()), MountOption::DefaultPermissions];
        config.mount_options.extend_from_slice(&self.mount_options);
        config.n_threads = Some(self.threads.max(1));
        // Each thread gets its own connection to the kernel if the user may open one.
        config.clone_fd =
            self.threads > 1 && File::options().read(true).write(true).open("/dev/fuse").is_ok();
        config.acl = if self.allow_other { SessionACL::All } else { SessionACL::Owner };
        config
    }
}

/// Mounted file system. Dropping this value unmounts the file system without waiting for open files.
#[derive(Debug)]
pub struct Session {
    at: PathBuf,
    /// Thread that waits for the request threads; `None` after the end.
    thread: Option<JoinHandle<io::Result<()>>>,
}

impl Session {
    /// Mounts `file_system` on the directory `at` and begins to answer requests.
    ///
    /// # Errors
    /// Returns an error if the user may not mount there, or if the kernel refuses an option.
    pub fn start(
        file_system: impl Filesystem + 'static,
        at: &Path,
        options: &Options,
    ) -> io::Result<Session> {
        let session = fuser::Session::new(file_system, at, &options.config())?;
        let thread = std::thread::Builder::new().name("fuse".into()).spawn(move || session.run())?;
        Ok(Session { at: at.to_owned(), thread: Some(thread) })
    }

    /// Returns the mount point.
    pub fn at(&self) -> &Path {
        &self.at
    }

    /// True if the file system was already unmounted, for example by `umount`.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Unmounts the directory.
    ///
    /// # Errors
    /// Fails with EBUSY while files on it are open; the caller can try again. Fails with EINVAL after the directory was
    /// detached by another process while files were open.
    pub fn unmount(&self) -> io::Result<()> {
        if self.has_ended() { Ok(()) } else { unmount_with(&self.at, UnmountFlags::empty()) }
    }

    /// Unmounts the directory even if files are open. Requests of the processes that use these files are answered until
    /// the last of them, or this process, ends.
    ///
    /// # Errors
    /// Returns an error if the user may not unmount the directory.
    pub fn detach(&mut self) -> io::Result<()> {
        if !self.has_ended() {
            ignore_earlier_unmount(unmount_with(&self.at, UnmountFlags::DETACH))?;
        }
        self.thread = None;
        Ok(())
    }

    /// Waits for the unmount. Returns the result of the request threads.
    ///
    /// # Errors
    /// Returns an error if a connection to the kernel failed, or if a request panicked.
    pub fn join(mut self) -> io::Result<()> {
        let Some(thread) = self.thread.take() else { return Ok(()) };
        thread.join().unwrap_or_else(|_| Err(io::Error::other("serving requests panicked")))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A destructor cannot report errors.
        let _ = self.detach();
    }
}

/// Unmounts a directory, which another process may have mounted. A directory that is not mounted counts as unmounted.
///
/// # Errors
/// Fails with EBUSY while files on it are open, or if the user may not unmount the directory.
pub fn unmount(at: &Path) -> io::Result<()> {
    ignore_earlier_unmount(unmount_with(at, UnmountFlags::empty()))
}

/// Returns success for a directory that was already unmounted.
fn ignore_earlier_unmount(result: io::Result<()>) -> io::Result<()> {
    match result.as_ref().err().and_then(Errno::from_io_error) {
        Some(Errno::INVAL | Errno::NOENT) => Ok(()),
        _ => result,
    }
}

fn unmount_with(at: &Path, how: UnmountFlags) -> io::Result<()> {
    match rustix::mount::unmount(at, how) {
        Err(Errno::PERM) => unmount_as_user(at, how),
        result => Ok(result?),
    }
}

/// Unmounts through fusermount3, which has the privileges that users other than root lack.
fn unmount_as_user(at: &Path, how: UnmountFlags) -> io::Result<()> {
    let flags = if how.contains(UnmountFlags::DETACH) { "-uz" } else { "-u" };
    let output = Command::new("fusermount3").arg(flags).arg("--").arg(at).stdin(Stdio::null()).output()?;
    let message = || io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    if output.status.success() { Ok(()) } else { Err(message()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn config_has_the_source_the_permissions_and_the_further_options() {
        let mut options = Options::new("flash");
        options.mount_options.push(MountOption::NoExec);
        let config = options.config();
        let wanted =
            [MountOption::FSName("flash".into()), MountOption::DefaultPermissions, MountOption::NoExec];
        assert_eq!(config.mount_options, wanted);
        assert_eq!(config.acl, SessionACL::Owner);
        options.allow_other = true;
        assert_eq!(options.config().acl, SessionACL::All);
    }

    #[test]
    fn config_of_no_thread_or_one_thread_uses_one_connection() {
        for threads in [0, 1] {
            let config = Options { threads, ..Options::new("flash") }.config();
            assert_eq!((config.n_threads, config.clone_fd), (Some(1), false));
        }
        assert_eq!(Options { threads: 3, ..Options::new("flash") }.config().n_threads, Some(3));
    }

    #[test]
    fn only_errors_of_an_earlier_unmount_count_as_success() {
        let after = |errno: Errno| ignore_earlier_unmount(Err(errno.into()));
        assert!(after(Errno::INVAL).is_ok() && after(Errno::NOENT).is_ok());
        assert_eq!(after(Errno::BUSY).unwrap_err().raw_os_error(), Some(Errno::BUSY.raw_os_error()));
    }

    #[test]
    fn unmount_of_a_directory_that_is_not_mounted_succeeds() {
        let folder = tempfile::tempdir().unwrap();
        assert!(unmount(&folder.path().join("absent")).is_ok());
    }
}
