//! Plays in a directory of a mounted file system.

use super::super::{DirectoryId, FileId};
use super::{Target, at};
use std::fs::{self, File, OpenOptions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A directory, and the paths of the workload's files in it.
#[derive(Debug)]
pub struct OnDirectory {
    root: PathBuf,
    /// By directory: its path.
    directories: Vec<PathBuf>,
    /// By file: its path; `None` while there is none of that number.
    files: Vec<Option<PathBuf>>,
    open: Option<File>,
}

impl OnDirectory {
    /// Plays in the directory `root`, which is there.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        OnDirectory { root: root.into(), directories: Vec::new(), files: Vec::new(), open: None }
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
        fs::create_dir(&path)?;
        assert_eq!(directory.0 as usize, self.directories.len(), "directories are made in order");
        self.directories.push(path);
        Ok(())
    }

    fn create(&mut self, file: FileId, directory: Option<DirectoryId>) -> Result<()> {
        let path = self.directory(directory)?.join(format!("f{}", file.0));
        File::create_new(&path)?;
        *at(&mut self.files, file.0) = Some(path);
        Ok(())
    }

    fn delete(&mut self, file: FileId) -> Result<()> {
        fs::remove_file(self.file(file)?)?;
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
        self.opened().write_all_at(data, offset_bytes)
    }

    fn read(&mut self, offset_bytes: u64, out: &mut [u8]) -> Result<()> {
        self.opened().read_exact_at(out, offset_bytes)
    }

    fn sync(&mut self) -> Result<()> {
        self.opened().sync_all()
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
