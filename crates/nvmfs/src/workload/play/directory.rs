//! Player target that is a directory of a mounted file system.

use super::super::{DirectoryId, FileId};
use super::{Target, entry_mut};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Interval between two attempts of an operation that finds no space.
const RETRY_INTERVAL: Duration = Duration::from_millis(10);

/// Directory with the paths of the workload's files.
#[derive(Debug)]
pub struct DirectoryTarget {
    root: PathBuf,
    /// Path of each directory.
    directories: Vec<PathBuf>,
    /// Path of each file; `None` if it does not exist.
    files: Vec<Option<PathBuf>>,
    open: Option<File>,
    space_timeout: Duration,
    waited: Duration,
}

impl DirectoryTarget {
    /// Creates a target in the existing directory `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        DirectoryTarget {
            root: root.into(),
            directories: Vec::new(),
            files: Vec::new(),
            open: None,
            space_timeout: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// Waits up to `timeout` for free space before an operation fails, and syncs meanwhile. A log-structured file
    /// system refuses writes until cleaning, or the commit of deletions, has made free space; some file systems neither
    /// clean nor commit before a sync.
    pub fn with_space_timeout(mut self, timeout: Duration) -> Self {
        self.space_timeout = timeout;
        self
    }

    /// Returns the total time spent waiting for space.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Runs an operation that needs free space, and repeats the operation until there is enough free space.
    fn retry_until_space<T>(&mut self, mut operation: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let started = Instant::now();
        loop {
            match operation(self) {
                Err(error)
                    if error.kind() == ErrorKind::StorageFull && started.elapsed() < self.space_timeout =>
                {
                    // The next attempt shows if the sync freed space.
                    let _ = self.sync_all();
                    std::thread::sleep(RETRY_INTERVAL);
                    self.waited += RETRY_INTERVAL;
                }
                done => return done,
            }
        }
    }

    fn file(&self, file: FileId) -> Result<&PathBuf> {
        self.files.get(file.0 as usize).and_then(Option::as_ref).ok_or_else(|| ErrorKind::NotFound.into())
    }

    fn directory(&self, directory: Option<DirectoryId>) -> Result<&PathBuf> {
        match directory {
            None => Ok(&self.root),
            Some(directory) => {
                self.directories.get(directory.0 as usize).ok_or_else(|| ErrorKind::NotFound.into())
            }
        }
    }

    fn open_file(&self) -> &File {
        self.open.as_ref().expect("the player opens a file before it reads, writes or syncs")
    }
}

impl Target for DirectoryTarget {
    type Error = Error;

    fn make_directory(&mut self, directory: DirectoryId, parent: Option<DirectoryId>) -> Result<()> {
        let path = self.directory(parent)?.join(format!("d{}", directory.0));
        self.retry_until_space(|_| fs::create_dir(&path))?;
        assert_eq!(directory.0 as usize, self.directories.len(), "directories are made in order");
        self.directories.push(path);
        Ok(())
    }

    fn create(&mut self, file: FileId, directory: Option<DirectoryId>) -> Result<()> {
        let path = self.directory(directory)?.join(format!("f{}", file.0));
        self.retry_until_space(|_| File::create_new(&path))?;
        *entry_mut(&mut self.files, file.0) = Some(path);
        Ok(())
    }

    fn delete(&mut self, file: FileId) -> Result<()> {
        self.retry_until_space(|this| fs::remove_file(this.file(file)?))?;
        self.files[file.0 as usize] = None;
        Ok(())
    }

    fn stat(&mut self, file: FileId) -> Result<()> {
        fs::metadata(self.file(file)?).map(|_| ())
    }

    fn open(&mut self, file: FileId) -> Result<()> {
        self.open = Some(OpenOptions::new().read(true).write(true).open(self.file(file)?)?);
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, data: &[u8]) -> Result<()> {
        self.retry_until_space(|this| this.open_file().write_all_at(data, offset_bytes))
    }

    fn read(&mut self, offset_bytes: u64, out: &mut [u8]) -> Result<()> {
        self.open_file().read_exact_at(out, offset_bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.retry_until_space(|this| this.open_file().sync_all())
    }

    fn close(&mut self) -> Result<()> {
        self.open = None;
        Ok(())
    }

    /// Syncs the entire file system that contains the directory.
    fn sync_all(&mut self) -> Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.root)?)?)
    }
}
