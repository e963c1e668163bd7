//! FUSE mount of the device.

use super::disk::DiskFile;
use super::zones::{SEQUENTIAL, ZoneFolder};
use crate::shared::SharedDevice;
use crate::transport::{Endpoint, Transport};
use rustix::io::Errno;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wearwell_fuse::fuser::MountOption;
use wearwell_fuse::{FILE_NAME, Files, Folder, Options, Session, SingleFileFolder, default_threads};

/// Path of an empty directory that is not a mount point.
struct Directory(PathBuf);

/// Parses the path of the directory.
pub fn parse(text: &str) -> Result<Arc<dyn Endpoint>, String> {
    let at = Path::new(text);
    check_mount_point(at)?;
    let at = at.canonicalize().map_err(|error| error.to_string())?;
    Ok(Arc::new(Directory(at)))
}

/// Checks that a directory can be mounted on.
fn check_mount_point(at: &Path) -> Result<(), String> {
    let failed = |error: io::Error| match Errno::from_io_error(&error) {
        Some(Errno::NOTCONN) => {
            format!(
                "the server of what is mounted there has ended; take it away with `fusermount3 -u {}`",
                at.display()
            )
        }
        _ => error.to_string(),
    };
    let metadata = at.metadata().map_err(failed)?;
    if !metadata.is_dir() {
        return Err("is not a directory".into());
    }
    let parent = at.join("..").metadata().map_err(failed)?;
    if (metadata.dev(), metadata.ino()) == (parent.dev(), parent.ino()) || metadata.dev() != parent.dev() {
        return Err("something is mounted there already".into());
    }
    if at.read_dir().map_err(failed)?.next().is_some() {
        return Err("is not empty, and what is in it would be hidden; choose an empty directory".into());
    }
    Ok(())
}

impl Endpoint for Directory {
    fn is_guarded(&self) -> bool {
        true
    }

    fn open(&self, device: &SharedDevice) -> io::Result<Box<dyn Transport>> {
        Ok(Box::new(FuseMount::start(device, &self.0)?))
    }
}

/// Mounted file, or files of zones, in a directory.
struct FuseMount {
    /// Path that clients use.
    client_path: PathBuf,
    session: Option<Session>,
}

impl FuseMount {
    fn start(device: &SharedDevice, at: &Path) -> io::Result<Self> {
        let zones = device.with(|device| Ok(device.zones())).map_err(io::Error::other)?;
        let device = device.clone();
        match zones {
            Some(zones) => FuseMount::mount_files(
                ZoneFolder::new(device, zones).map_err(io::Error::other)?,
                at,
                SEQUENTIAL,
            ),
            None => {
                let file = DiskFile::new(device).map_err(io::Error::other)?;
                FuseMount::mount_files(SingleFileFolder::new(file), at, FILE_NAME)
            }
        }
    }

    fn mount_files(files: impl Files, at: &Path, client_path: &str) -> io::Result<Self> {
        let session = Session::start(Folder(files), at, &options()).map_err(with_hint)?;
        Ok(FuseMount { client_path: at.join(client_path), session: Some(session) })
    }

    /// Unmounts the directory. If the device was taken from [`SharedDevice`], processes that still have the file open get
    /// errors.
    fn end(&mut self) -> Result<(), String> {
        let Some(mut session) = self.session.take() else { return Ok(()) };
        let Err(error) = session.unmount() else {
            // A panic of the thread was already reported.
            let _ = session.join();
            return Ok(());
        };
        match session.detach() {
            Ok(()) => Err(format!(
                "{} is open still, in a loop device perhaps; whoever uses it gets errors from now on",
                self.client_path.display()
            )),
            Err(_) => Err(format!("{} could not be unmounted: {error}", session.at().display())),
        }
    }
}

impl Transport for FuseMount {
    fn address(&self) -> String {
        self.client_path.display().to_string()
    }

    fn is_closed(&self) -> bool {
        self.session.as_ref().is_none_or(Session::has_ended)
    }

    fn close(mut self: Box<Self>) -> Result<(), String> {
        self.end()
    }
}

impl Drop for FuseMount {
    fn drop(&mut self) {
        // A destructor cannot report errors.
        let _ = self.end();
    }
}

fn options() -> Options {
    Options {
        threads: default_threads(),
        mount_options: vec![
            MountOption::Subtype("wearwell".into()),
            MountOption::NoExec,
            MountOption::NoAtime,
        ],
        ..Options::new("wearwell")
    }
}

/// Adds a hint to an error message.
fn with_hint(error: io::Error) -> io::Error {
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
