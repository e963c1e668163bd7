//! Plays in a directory of a mounted file system.

use super::super::{DirectoryId, FileId};
use super::{Target, at};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long to wait before asking again for space.
const BETWEEN_TRIES: Duration = Duration::from_millis(10);

/// A directory, and the paths of the workload's files in it.
#[derive(Debug)]
pub struct OnDirectory {
    root: PathBuf,
    /// By directory: its path.
    directories: Vec<PathBuf>,
    /// By file: its path; `None` while there is none of that number.
    files: Vec<Option<PathBuf>>,
    open: Option<File>,
    patience: Duration,
    waited: Duration,
}

impl OnDirectory {
    /// Plays in the directory `root`, which is there.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        OnDirectory {
            root: root.into(),
            directories: Vec::new(),
            files: Vec::new(),
            open: None,
            patience: Duration::ZERO,
            waited: Duration::ZERO,
        }
    }

    /// Waits up to `patience` for space before giving up an operation, and syncs meanwhile: a file system that writes elsewhere refuses
    /// what its cleaner, or the commit of what was deleted, has not yet made room for, and some do neither before something is synced.
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// How long it waited for space so far.
    pub fn waited(&self) -> Duration {
        self.waited
    }

    /// Does something that takes space.
    fn taking_space<T>(&mut self, mut act: impl FnMut(&mut Self) -> Result<T>) -> Result<T> {
        let began = Instant::now();
        loop {
            match act(self) {
                Err(error) if error.kind() == ErrorKind::StorageFull && began.elapsed() < self.patience => {
                    // Whether that succeeds the next try tells.
                    let _ = self.sync_all();
                    std::thread::sleep(BETWEEN_TRIES);
                    self.waited += BETWEEN_TRIES;
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

    fn opened(&self) -> &File {
        self.open.as_ref().expect("the player opens a file before it reads, writes or syncs")
    }
}

impl Target for OnDirectory {
    type Error = Error;

    fn make_directory(&mut self, directory: DirectoryId, parent: Option<DirectoryId>) -> Result<()> {
        let path = self.directory(parent)?.join(format!("d{}", directory.0));
        self.taking_space(|_| fs::create_dir(&path))?;
        assert_eq!(directory.0 as usize, self.directories.len(), "directories are made in order");
        self.directories.push(path);
        Ok(())
    }

    fn create(&mut self, file: FileId, directory: Option<DirectoryId>) -> Result<()> {
        let path = self.directory(directory)?.join(format!("f{}", file.0));
        self.taking_space(|_| File::create_new(&path))?;
        *at(&mut self.files, file.0) = Some(path);
        Ok(())
    }

    fn delete(&mut self, file: FileId) -> Result<()> {
        self.taking_space(|this| fs::remove_file(this.file(file)?))?;
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
        self.taking_space(|this| this.opened().write_all_at(data, offset_bytes))
    }

    fn read(&mut self, offset_bytes: u64, out: &mut [u8]) -> Result<()> {
        self.opened().read_exact_at(out, offset_bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.taking_space(|this| this.opened().sync_all())
    }

    fn close(&mut self) -> Result<()> {
        self.open = None;
        Ok(())
    }

    /// Syncs the whole file system that the directory is on.
    fn sync_all(&mut self) -> Result<()> {
        Ok(rustix::fs::syncfs(File::open(&self.root)?)?)
    }
}
