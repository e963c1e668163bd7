//! NVMFS on files and devices, as concrete types, so that its code is compiled in this crate with the optimisation of
//! this crate.

use super::{Mount, Options, mount};
use std::io;
use std::path::Path;
use std::sync::Arc;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::MappedNvram;
use wearwell_nvmfs::ssd::Ssd;
use wearwell_nvmfs::store::{OpenError, OpenReport};

/// NVMFS on files, opened and not mounted.
pub struct FileNvmfs(Nvmfs<MappedNvram, Box<dyn Ssd>>);

/// NVMFS on files, mounted.
pub struct FileNvmfsMount(Mount<Nvmfs<MappedNvram, Box<dyn Ssd>>>);

impl FileNvmfs {
    /// Opens a file system. Also returns the state in which it was found.
    ///
    /// # Errors
    /// Fails if the devices hold no file system or belong to different file systems, or if the file system is damaged.
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
    /// Fails if the devices hold no file system, or no snapshot of this name.
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
    /// Fails if unmounting or closing the file system failed.
    pub fn end(self) -> io::Result<()> {
        self.0.end()
    }

    /// See [`Mount::join`].
    ///
    /// # Errors
    /// Fails if serving requests or closing the file system failed.
    pub fn join(self) -> io::Result<()> {
        self.0.join()
    }
}
