//! NVMFS on files and devices, with its types filled in, so that it is compiled here and as this crate is optimised.

use super::{Mounted, Options, mount};
use std::io;
use std::path::Path;
use std::sync::Arc;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::MappedNvram;
use wearwell_nvmfs::ssd::Ssd;
use wearwell_nvmfs::store::{Found, OpenError};

/// A file system on files that is open, and not mounted.
pub struct OnFiles(Nvmfs<MappedNvram, Box<dyn Ssd>>);

/// A file system on files that is mounted.
pub struct MountedOnFiles(Mounted<Nvmfs<MappedNvram, Box<dyn Ssd>>>);

impl OnFiles {
    /// Opens it, and says how it was found.
    ///
    /// # Errors
    /// Devices that hold no file system, not the same, or a damaged one.
    pub fn open(
        nvram: MappedNvram,
        ssd: Box<dyn Ssd>,
        options: wearwell_nvmfs::options::Options,
    ) -> Result<(Self, Found), OpenError> {
        let (file_system, found) = Nvmfs::mount(nvram, Arc::new(ssd), options)?;
        Ok((OnFiles(file_system), found))
    }

    /// Opens a snapshot of it, to be mounted read-only; the NVRAM is a copy of its own.
    ///
    /// # Errors
    /// Devices that hold no file system or not that snapshot.
    pub fn open_snapshot(
        nvram: MappedNvram,
        ssd: Box<dyn Ssd>,
        options: wearwell_nvmfs::options::Options,
        name: &str,
    ) -> Result<(Self, Found), OpenError> {
        let (file_system, found) = Nvmfs::mount_snapshot(nvram, Arc::new(ssd), options, name)?;
        Ok((OnFiles(file_system), found))
    }

    /// Mounts it on the directory `at`.
    ///
    /// # Errors
    /// It is no directory, or the user may not mount there.
    pub fn mount(self, at: &Path, options: &Options) -> io::Result<MountedOnFiles> {
        mount(self.0, at, options).map(MountedOnFiles)
    }
}

impl MountedOnFiles {
    /// As [`Mounted::ended`].
    pub fn ended(&self) -> bool {
        self.0.ended()
    }

    /// As [`Mounted::unmount`].
    ///
    /// # Errors
    /// Files on it are open.
    pub fn unmount(&self) -> io::Result<()> {
        self.0.unmount()
    }

    /// As [`Mounted::report`].
    pub fn report(&self) -> Option<String> {
        self.0.report()
    }

    /// As [`Mounted::end`].
    ///
    /// # Errors
    /// It cannot be unmounted, or closing it failed.
    pub fn end(self) -> io::Result<()> {
        self.0.end()
    }

    /// As [`Mounted::join`].
    ///
    /// # Errors
    /// Serving it or closing it failed.
    pub fn join(self) -> io::Result<()> {
        self.0.join()
    }
}
