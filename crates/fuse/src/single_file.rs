//! Directory with a disk as its only file.

use crate::folder::Files;
use crate::owner::Owner;
use fuser::{Errno, FileAttr, FileType, FopenFlags, INodeNo, InitFlags};
use std::ffi::OsStr;
use std::time::Duration;

/// Name of the file.
pub const FILE_NAME: &str = "disk";

const FOLDER_NUMBER: INodeNo = INodeNo::ROOT;
const FILE_NUMBER: INodeNo = INodeNo(2);

/// Disk that appears as one file. All ranges that the methods receive are within the file, except those of
/// [`SingleFile::allocate`] and [`SingleFile::seek`].
pub trait SingleFile: Send + Sync + 'static {
    /// Time for which the kernel may cache attributes.
    const CACHE_TIME: Duration;
    /// Kernel capabilities that the file needs.
    const CAPABILITIES: InitFlags;
    /// Maximum number of background requests that the kernel has in progress; `None` for the kernel's default.
    const MAX_REQUESTS: Option<u16> = Some(64);

    /// Returns the size of the disk in bytes, which is fixed.
    fn bytes(&self) -> u64;
    /// Returns the page size in bytes.
    fn page_bytes(&self) -> u32;
    /// Returns the number of bytes that have content.
    fn content_bytes(&self) -> Result<u64, Errno> {
        Ok(self.bytes())
    }
    /// Fills `out` with the bytes from `offset` on.
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno>;
    /// Stores `data` from `offset` on.
    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno>;
    /// Makes all writes durable.
    fn flush(&self) -> Result<(), Errno>;
    /// Frees or zeroes a range, as `fallocate` does.
    fn allocate(&self, _offset: u64, _length: u64, _mode: i32) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
    /// Finds the next data or hole, as `lseek` does.
    fn seek(&self, _offset: i64, _whence: i32) -> Result<i64, Errno> {
        Err(Errno::ENOSYS)
    }
    /// Returns the number of bytes of the range that are within the file.
    fn bytes_in_file(&self, offset: u64, length: u64) -> u64 {
        self.bytes().saturating_sub(offset).min(length)
    }
}

/// Directory with one file.
pub struct SingleFileFolder<F> {
    file: F,
    owner: Owner,
}

impl<F: SingleFile> SingleFileFolder<F> {
    /// Creates the directory for `file`.
    pub fn new(file: F) -> Self {
        SingleFileFolder { file, owner: Owner::default() }
    }
}

impl<F: SingleFile> Files for SingleFileFolder<F> {
    const CACHE_TIME: Duration = F::CACHE_TIME;
    const CAPABILITIES: InitFlags = F::CAPABILITIES;
    const MAX_REQUESTS: Option<u16> = F::MAX_REQUESTS;
    const OPEN_FLAGS: FopenFlags =
        FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

    fn bytes(&self) -> u64 {
        self.file.bytes()
    }

    fn content_bytes(&self) -> Result<u64, Errno> {
        self.file.content_bytes()
    }

    fn page_bytes(&self) -> u32 {
        self.file.page_bytes()
    }

    fn count(&self) -> u64 {
        2
    }

    fn attributes(&self, node_id: INodeNo) -> Result<FileAttr, Errno> {
        let (size, content_bytes, kind, perm, nlink) = match node_id {
            FOLDER_NUMBER => (0, 0, FileType::Directory, 0o555, 2),
            FILE_NUMBER => (self.file.bytes(), self.file.content_bytes()?, FileType::RegularFile, 0o600, 1),
            _ => return Err(Errno::ENOENT),
        };
        Ok(self.owner.attributes(node_id, (kind, perm, nlink), (size, content_bytes), self.page_bytes()))
    }

    fn lookup(&self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno> {
        if parent == FOLDER_NUMBER && name == FILE_NAME { Ok(FILE_NUMBER) } else { Err(Errno::ENOENT) }
    }

    fn entries(&self, _: INodeNo, from: u64) -> impl Iterator<Item = (INodeNo, FileType, String)> {
        let entries = [
            (FOLDER_NUMBER, FileType::Directory, "."),
            (FOLDER_NUMBER, FileType::Directory, ".."),
            (FILE_NUMBER, FileType::RegularFile, FILE_NAME),
        ];
        let named = entries.map(|(number, kind, name)| (number, kind, name.to_owned()));
        named.into_iter().skip(from.min(3) as usize)
    }

    /// Accepts only the present size, because the file always has the size of the disk.
    fn resize(&self, _: INodeNo, bytes: u64) -> Result<(), Errno> {
        if bytes == self.file.bytes() { Ok(()) } else { Err(Errno::EPERM) }
    }

    fn range(&self, _: INodeNo, offset: u64, bytes: u64) -> Result<(u64, u64), Errno> {
        Ok((offset, self.file.bytes_in_file(offset, bytes)))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno> {
        self.file.read(offset, out)
    }

    fn write(&self, _: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let data = &data[..self.file.bytes_in_file(offset, data.len() as u64) as usize];
        if data.is_empty() {
            // A block device returns the same error.
            return Err(Errno::ENOSPC);
        }
        self.file.write(offset, data)?;
        Ok(data.len() as u32)
    }

    fn flush(&self) -> Result<(), Errno> {
        self.file.flush()
    }

    fn allocate(&self, offset: u64, length: u64, mode: i32) -> Result<(), Errno> {
        self.file.allocate(offset, length, mode)
    }

    fn seek(&self, offset: i64, whence: i32) -> Result<i64, Errno> {
        self.file.seek(offset, whence)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Folder, Options, Session};
    use std::fs::File;
    use std::os::unix::fs::{FileExt, MetadataExt};
    use std::path::Path;
    use std::sync::Mutex;

    const BYTES: usize = 8192;

    struct Memory(Mutex<Vec<u8>>);

    impl SingleFile for Memory {
        const CACHE_TIME: Duration = Duration::ZERO;
        const CAPABILITIES: InitFlags = InitFlags::empty();

        fn bytes(&self) -> u64 {
            BYTES as u64
        }

        fn page_bytes(&self) -> u32 {
            4096
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno> {
            out.copy_from_slice(&self.0.lock().unwrap()[offset as usize..][..out.len()]);
            Ok(())
        }

        fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
            self.0.lock().unwrap()[offset as usize..][..data.len()].copy_from_slice(data);
            Ok(())
        }

        fn flush(&self) -> Result<(), Errno> {
            Ok(())
        }
    }

    fn folder() -> SingleFileFolder<Memory> {
        SingleFileFolder::new(Memory(Mutex::new(vec![0; BYTES])))
    }

    #[test]
    fn lookup_finds_only_the_file() {
        assert!(matches!(folder().lookup(FOLDER_NUMBER, FILE_NAME.as_ref()), Ok(FILE_NUMBER)));
        assert!(folder().lookup(FOLDER_NUMBER, "other".as_ref()).is_err());
        assert!(folder().lookup(FILE_NUMBER, FILE_NAME.as_ref()).is_err());
    }

    #[test]
    fn write_across_the_end_stores_the_bytes_within() {
        let folder = folder();
        assert_eq!(folder.write(FILE_NUMBER, BYTES as u64 - 3, b"abcdef").unwrap(), 3);
        assert_eq!(folder.range(FILE_NUMBER, BYTES as u64 - 3, 6).unwrap(), (BYTES as u64 - 3, 3));
        assert!(folder.write(FILE_NUMBER, BYTES as u64, b"a").is_err());
        assert_eq!(folder.file.0.lock().unwrap()[BYTES - 3..], *b"abc");
    }

    #[test]
    fn entries_from_an_index_are_the_rest() {
        let names = |from| folder().entries(FOLDER_NUMBER, from).map(|entry| entry.2).collect::<Vec<_>>();
        assert_eq!(names(0), [".", "..", FILE_NAME]);
        assert_eq!(names(2), [FILE_NAME]);
        assert!(names(9).is_empty());
    }

    /// Mounts a disk in memory. If that is not possible, prints the reason and returns `None`.
    fn mount(at: &Path) -> Option<Session> {
        if !Path::new("/dev/fuse").exists() {
            println!("NOT RUN: there is no /dev/fuse");
            return None;
        }
        let session = Session::start(Folder(folder()), at, &Options::new("memory"));
        session.inspect_err(|error| println!("NOT RUN: mounting: {error}")).ok()
    }

    fn device_of(at: &Path) -> u64 {
        at.metadata().unwrap().dev()
    }

    #[test]
    fn mounted_file_returns_what_was_written_and_unmounts() {
        let folder = tempfile::tempdir().unwrap();
        let before = device_of(folder.path());
        let Some(session) = mount(folder.path()) else { return };
        assert_ne!(device_of(folder.path()), before);
        let file = File::options().read(true).write(true).open(folder.path().join(FILE_NAME)).unwrap();
        file.write_all_at(b"flash", 4090).unwrap();
        let mut found = [0; 5];
        file.read_exact_at(&mut found, 4090).unwrap();
        assert_eq!(&found, b"flash");
        assert!(session.unmount().is_err(), "the file is open");
        drop(file);
        // A child process of another test briefly holds copies of open descriptors, until it executes its program.
        let unmounted = (0..6000).any(|_| {
            let unmounted = session.unmount().is_ok();
            if !unmounted {
                std::thread::sleep(Duration::from_millis(10));
            }
            unmounted
        });
        assert!(unmounted, "nothing is open");
        session.join().unwrap();
        assert_eq!(device_of(folder.path()), before);
    }

    #[test]
    fn drop_unmounts_while_a_file_is_open() {
        let folder = tempfile::tempdir().unwrap();
        let before = device_of(folder.path());
        let Some(session) = mount(folder.path()) else { return };
        let file = File::open(folder.path().join(FILE_NAME)).unwrap();
        drop(session);
        assert_eq!(device_of(folder.path()), before);
        assert_eq!(file.read_at(&mut [1; 4], 0).unwrap(), 4);
    }
}
