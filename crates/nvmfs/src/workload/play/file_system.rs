//! Player target that is a file system of this crate.

use super::super::{DirectoryId, FileId};
use super::{Target, entry_mut};
use crate::api::{Caller, Error, FileSystem, Ino, Kind, Result};

/// File system with the inodes of the workload's files.
#[derive(Debug)]
pub struct FileSystemTarget<F> {
    /// The file system.
    pub file_system: F,
    root: Ino,
    caller: Caller,
    /// Inode of each directory.
    directories: Vec<Ino>,
    /// Parent directory and inode of each file.
    files: Vec<Option<(Ino, Ino)>>,
    open: Option<Ino>,
}

impl<F: FileSystem> FileSystemTarget<F> {
    /// Creates a target in the directory `root`.
    pub fn new(file_system: F, root: Ino) -> Self {
        let caller = Caller::default();
        FileSystemTarget { file_system, root, caller, directories: Vec::new(), files: Vec::new(), open: None }
    }

    /// Returns the inode of a file.
    pub fn ino(&self, file: FileId) -> Result<Ino> {
        self.file(file).map(|(_, ino)| ino)
    }

    fn file(&self, file: FileId) -> Result<(Ino, Ino)> {
        self.files.get(file.0 as usize).copied().flatten().ok_or(Error::NotFound)
    }

    fn directory(&self, directory: Option<DirectoryId>) -> Result<Ino> {
        match directory {
            None => Ok(self.root),
            Some(directory) => self.directories.get(directory.0 as usize).copied().ok_or(Error::NotFound),
        }
    }

    fn open_file(&self) -> Ino {
        self.open.expect("the player opens a file before it reads, writes or syncs")
    }
}

fn file_name(file: FileId) -> String {
    format!("f{}", file.0)
}

impl<F: FileSystem> Target for FileSystemTarget<F> {
    type Error = Error;

    fn set_time(&mut self, now_ns: i64) {
        self.caller.now_ns = now_ns;
    }

    fn make_directory(&mut self, directory: DirectoryId, parent: Option<DirectoryId>) -> Result<()> {
        let parent = self.directory(parent)?;
        let name = format!("d{}", directory.0);
        let created = self.file_system.make_directory(parent, name.as_bytes(), 0o755, &self.caller)?;
        assert_eq!(directory.0 as usize, self.directories.len(), "directories are made in order");
        self.directories.push(created.ino);
        Ok(())
    }

    fn create(&mut self, file: FileId, directory: Option<DirectoryId>) -> Result<()> {
        let parent = self.directory(directory)?;
        let name = file_name(file);
        let created = self.file_system.create(parent, name.as_bytes(), Kind::File, 0o644, 0, &self.caller)?;
        *entry_mut(&mut self.files, file.0) = Some((parent, created.ino));
        Ok(())
    }

    fn delete(&mut self, file: FileId) -> Result<()> {
        let (parent, _) = self.file(file)?;
        self.file_system.unlink(parent, file_name(file).as_bytes(), &self.caller)?;
        self.files[file.0 as usize] = None;
        Ok(())
    }

    fn stat(&mut self, file: FileId) -> Result<()> {
        let ino = self.ino(file)?;
        self.file_system.attributes(ino).map(|_| ())
    }

    fn open(&mut self, file: FileId) -> Result<()> {
        let ino = self.ino(file)?;
        self.file_system.open(ino)?;
        self.open = Some(ino);
        Ok(())
    }

    fn write(&mut self, offset_bytes: u64, data: &[u8]) -> Result<()> {
        let written = self.file_system.write(self.open_file(), offset_bytes, data, &self.caller)?;
        if written < data.len() { Err(Error::NoSpace("part of a request was written")) } else { Ok(()) }
    }

    fn read(&mut self, offset_bytes: u64, out: &mut [u8]) -> Result<()> {
        let read = self.file_system.read(self.open_file(), offset_bytes, out, &self.caller)?;
        if read < out.len() { Err(Error::Invalid("a read beyond the end of the file")) } else { Ok(()) }
    }

    fn sync(&mut self) -> Result<()> {
        self.file_system.sync(self.open_file())
    }

    fn close(&mut self) -> Result<()> {
        let ino = self.open_file();
        self.open = None;
        self.file_system.release(ino)
    }

    fn sync_all(&mut self) -> Result<()> {
        self.file_system.sync(self.root)
    }
}
