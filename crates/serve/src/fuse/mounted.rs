//! The directory that the file is in.

use super::disk::{DISK, DiskFolder};
use super::folder::{Files, Folder};
use super::zones::{SEQUENTIAL, ZoneFolder};
use crate::door::{Door, Place};
use crate::shared::SharedDevice;
use fuser::{Config, MountOption, Session, SessionUnmounter};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;

/// Threads for requests unless there are fewer processors. Those who ask need some too.
const MOST_THREADS: usize = 4;

/// A directory that nothing is in and nothing is mounted on.
struct Directory(PathBuf);

/// The directory that `text` names.
pub fn place(text: &str) -> Result<Arc<dyn Place>, String> {
    let at = Path::new(text);
    look_at(at)?;
    let at = at.canonicalize().map_err(|error| error.to_string())?;
    Ok(Arc::new(Directory(at)))
}

/// Says what speaks against a directory.
fn look_at(at: &Path) -> Result<(), String> {
    let failed = |error: io::Error| match Errno::from_io_error(&error) {
        Some(Errno::NOTCONN) => {
            format!(
                "the server of what is mounted there has ended; take it away with `fusermount3 -u {}`",
                at.display()
            )
        }
        _ => error.to_string(),
    };
    let of = at.metadata().map_err(failed)?;
    if !of.is_dir() {
        return Err("is not a directory".into());
    }
    let parent = at.join("..").metadata().map_err(failed)?;
    if (of.dev(), of.ino()) == (parent.dev(), parent.ino()) || of.dev() != parent.dev() {
        return Err("something is mounted there already".into());
    }
    if at.read_dir().map_err(failed)?.next().is_some() {
        return Err("is not empty, and what is in it would be hidden; choose an empty directory".into());
    }
    Ok(())
}

impl Place for Directory {
    fn is_guarded(&self) -> bool {
        true
    }

    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Door>> {
        Ok(Box::new(Mounted::start(device, &self.0)?))
    }
}

/// The file, or the files of zones, under a directory.
struct Mounted {
    at: PathBuf,
    /// What is to be used of it.
    shown: PathBuf,
    unmounter: SessionUnmounter,
    session: Option<JoinHandle<io::Result<()>>>,
}

impl Mounted {
    fn start(device: &SharedDevice, at: &Path) -> io::Result<Self> {
        let zones = device.with(|device| Ok(device.zones())).map_err(io::Error::other)?;
        let device = device.clone();
        match zones {
            Some(zones) => {
                Mounted::with(ZoneFolder::of(device, zones).map_err(io::Error::other)?, at, SEQUENTIAL)
            }
            None => Mounted::with(DiskFolder::of(device).map_err(io::Error::other)?, at, DISK),
        }
    }

    fn with(files: impl Files, at: &Path, shown: &str) -> io::Result<Self> {
        let mut session = Session::new(Folder(files), at, &config()).map_err(explained)?;
        let unmounter = session.unmount_callable();
        let session = std::thread::Builder::new().name("fuse".into()).spawn(move || session.run())?;
        Ok(Mounted { at: at.to_owned(), shown: at.join(shown), unmounter, session: Some(session) })
    }

    /// Takes the mount away. Whoever has the file open still may ask, and hears from [`SharedDevice`] whether there is a device.
    fn end(&mut self) -> Result<(), String> {
        let Some(session) = self.session.take() else { return Ok(()) };
        match self.unmounter.unmount() {
            Ok(()) => {
                // What it panicked of was told.
                let _ = session.join();
                Ok(())
            }
            Err(error) => {
                let (at, shown) = (self.at.display(), self.shown.display());
                match rustix::mount::unmount(&self.at, UnmountFlags::DETACH) {
                    Ok(()) => Err(format!(
                        "{shown} is open still, in a loop device perhaps; whoever uses it gets errors from now on"
                    )),
                    Err(_) => Err(format!("{at} could not be unmounted: {error}")),
                }
            }
        }
    }
}

impl Door for Mounted {
    fn address(&self) -> String {
        self.shown.display().to_string()
    }

    fn is_closed(&self) -> bool {
        self.session.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.end()
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = self.end();
    }
}

fn config() -> Config {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = (processors / 2).clamp(1, MOST_THREADS);
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName("wearwell".into()),
        MountOption::Subtype("wearwell".into()),
        MountOption::DefaultPermissions,
        MountOption::NoExec,
        MountOption::NoAtime,
    ];
    config.n_threads = Some(threads);
    // Each thread has its own end of the connection, where the user may open one.
    config.clone_fd = threads > 1 && File::options().read(true).write(true).open("/dev/fuse").is_ok();
    config
}

/// An error with what would help.
fn explained(error: io::Error) -> io::Error {
    if !Path::new("/dev/fuse").exists() {
        return io::Error::new(error.kind(), "this machine has no /dev/fuse");
    }
    match error.kind() {
        io::ErrorKind::NotFound => {
            io::Error::new(error.kind(), "users other than root need fusermount3, of the package fuse3")
        }
        _ => error,
    }
}
