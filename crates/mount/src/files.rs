//! NVMFS on files and devices, as concrete types. So its code is compiled in this crate, with this crate's optimisation.

use super::{Mount, Options, mount};
use std::io;
use std::path::Path;
use std::sync::Arc;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::MappedNvram;
use wearwell_nvmfs::ssd::Ssd;
use wearwell_nvmfs::store::{OpenError, OpenReport};

/// Open file system on files, not mounted.
pub struct FileNvmfs(Nvmfs<MappedNvram, Box<dyn Ssd>>);

/// Mounted file system on files.
pub struct FileNvmfsMount(Mount<Nvmfs<MappedNvram, Box<dyn Ssd>>>);

impl FileNvmfs {
    /// Opens a file system. Also returns its state as found.
    ///
    /// # Errors
    /// Fails if the devices have no file system, have different ones, or the file system is damaged.
    pub fn open(
        nvram: MappedNvram,
        ssd: Box<dyn Ssd>,
        options: wearwell_nvmfs::options::Options,
    ) -> Result<(Self, OpenReport), OpenError> {
        let (file_system, found) = Nvmfs::mount(nvram, Arc::new(ssd), options)?;
        Ok((FileNvmfs(file_system), found))
    }

    /// Opens a snapshot for a read-only mount. The NVRAM must be a private copy.
    ///
    /// # Errors
    /// Fails if the devices have no file system or not that snapshot.
    pub fn open_snapshot(
        nvram: MappedNvram,
        ssd: Box<dyn Ssd>,
        options: wearwell_nvmfs::options::Options,
        name: &str,
    ) -> Result<(Self, OpenReport), OpenError> {
        let (file_system, found) = Nvmfs::mount_snapshot(nvram, Arc::new(ssd), options, name)?;
        Ok((FileNvmfs(file_system), found))
    }

    /// Mounts the file system on the directory `at`.
    ///
    /// # Errors
    /// Fails if `at` is not a directory or the user may not mount there.
    pub fn mount(self, at: &Path, options: &Options) -> io::Result<FileNvmfsMount> {
        mount(self.0, at, options).map(FileNvmfsMount)
    }
}

impl FileNvmfsMount {
    /// See [`Mount::has_ended`].
    pub fn has_ended(&self) -> bool {
        self.0.has_ended()
    }

    /// See [`Mount::unmount`].
    ///
    /// # Errors
    /// Fails if files are open.
    pub fn unmount(&self) -> io::Result<()> {
        self.0.unmount()
    }

    /// See [`Mount::report`].
    pub fn report(&self) -> Option<String> {
        self.0.report()
    }

    /// See [`Mount::end`].
    ///
    /// # Errors
    /// Fails if it cannot be unmounted or closing it failed.
    pub fn end(self) -> io::Result<()> {
        self.0.end()
    }

    /// See [`Mount::join`].
    ///
    /// # Errors
    /// Fails if serving or closing it failed.
    pub fn join(self) -> io::Result<()> {
        self.0.join()
    }
}
