//! FUSE directory with the device as its only file.

use super::folder::Files;
use super::replies::{Owner, errno};
use crate::error::DeviceError;
use crate::shared::SharedDevice;
use fuser::{Errno, FileAttr, FileType, FopenFlags, INodeNo, InitFlags};
use rustix::fs::FallocateFlags;
use std::ffi::OsStr;
use std::time::Duration;

/// Name of the file.
pub const DISK: &str = "disk";

const FOLDER_NUMBER: INodeNo = INodeNo::ROOT;
const DISK_NUMBER: INodeNo = INodeNo(2);
/// Directory with one file, which is the device.
pub struct DiskFolder {
    device: SharedDevice,
    bytes: u64,
    page_bytes: u32,
    owner: Owner,
}

impl DiskFolder {
    /// Creates the directory for `device`.
    pub fn new(device: SharedDevice) -> Result<Self, DeviceError> {
        let (bytes, page_bytes) = device.with(|device| Ok((device.bytes(), device.page_bytes())))?;
        Ok(DiskFolder { device, bytes, page_bytes, owner: Owner::default() })
    }

    /// Returns the number of bytes of the range that are within the file.
    fn bytes_in_file(&self, offset: u64, length: u64) -> u64 {
        self.bytes.saturating_sub(offset).min(length)
    }
}

/// Value of `whence` in `lseek` on Linux.
const SEEK_DATA: i32 = 3;
/// See [`SEEK_DATA`].
const SEEK_HOLE: i32 = 4;

impl Files for DiskFolder {
    /// The time is short, because the allocated size changes.
    const CACHE_TIME: Duration = Duration::from_secs(1);
    const CAPABILITIES: InitFlags = InitFlags::FUSE_ASYNC_DIO.union(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
    const OPEN_FLAGS: FopenFlags =
        FopenFlags::FOPEN_DIRECT_IO.union(FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);

    fn device(&self) -> &SharedDevice {
        &self.device
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn count(&self) -> u64 {
        2
    }

    fn attributes(&self, node_id: INodeNo) -> Result<FileAttr, Errno> {
        let (size, content_bytes, kind, perm, nlink) = match node_id {
            FOLDER_NUMBER => (0, 0, FileType::Directory, 0o555, 2),
            DISK_NUMBER => {
                let content_bytes = self.device.with(|device| Ok(device.content_bytes())).map_err(errno)?;
                (self.bytes, content_bytes, FileType::RegularFile, 0o600, 1)
            }
            _ => return Err(Errno::ENOENT),
        };
        Ok(self.owner.attributes(node_id, (kind, perm, nlink), (size, content_bytes), self.page_bytes))
    }

    fn lookup(&self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno> {
        if parent == FOLDER_NUMBER && name == DISK { Ok(DISK_NUMBER) } else { Err(Errno::ENOENT) }
    }

    fn entries(&self, _: INodeNo, from: u64) -> impl Iterator<Item = (INodeNo, FileType, String)> {
        let entries = [
            (FOLDER_NUMBER, FileType::Directory, "."),
            (FOLDER_NUMBER, FileType::Directory, ".."),
            (DISK_NUMBER, FileType::RegularFile, DISK),
        ];
        let named = entries.map(|(number, kind, name)| (number, kind, name.to_owned()));
        named.into_iter().skip(from.min(3) as usize)
    }

    /// Accepts only the present size, because the file always has the size of the device.
    fn resize(&self, _: INodeNo, bytes: u64) -> Result<(), Errno> {
        if bytes == self.bytes { Ok(()) } else { Err(Errno::EPERM) }
    }

    fn range(&self, _: INodeNo, offset: u64, bytes: u64) -> Result<(u64, u64), Errno> {
        Ok((offset, self.bytes_in_file(offset, bytes)))
    }

    fn write(&self, _: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno> {
        let data = &data[..self.bytes_in_file(offset, data.len() as u64) as usize];
        if data.is_empty() {
            // A block device returns the same error.
            return Err(Errno::ENOSPC);
        }
        self.device.with(|device| device.write(offset, data)).map_err(errno)?;
        Ok(data.len() as u32)
    }

    /// Frees or zeroes a range. The kernel sends this request for callers of `fallocate`, and for a loop device that
    /// discards.
    fn allocate(&self, offset: u64, length: u64, mode: i32) -> Result<(), Errno> {
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        let keeps_size = mode.contains(FallocateFlags::KEEP_SIZE);
        // A punched hole must read as zeroes, including its partial first and last pages.
        let allocated = match mode - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE if keeps_size => false,
            FallocateFlags::ZERO_RANGE => true,
            // Space cannot be reserved: a simulated drive can become full in any case.
            _ => return Err(Errno::EOPNOTSUPP),
        };
        let within = self.bytes_in_file(offset, length);
        if within < length && !keeps_size {
            return Err(Errno::EFBIG);
        }
        if within == 0 {
            return Ok(());
        }
        self.device.with(|device| device.write_zeroes(offset, within, allocated)).map_err(errno)
    }

    /// Returns the next offset at or after `offset` with content (or without it).
    fn seek(&self, offset: i64, whence: i32) -> Result<i64, Errno> {
        let data = match whence {
            SEEK_DATA => true,
            SEEK_HOLE => false,
            _ => return Err(Errno::EINVAL),
        };
        let from = u64::try_from(offset).ok().filter(|from| *from < self.bytes).ok_or(Errno::ENXIO)?;
        let found = self.device.with(|device| device.extents(from, self.bytes - from, 1)).map_err(errno)?;
        let &(end, holds) = found.first().ok_or(Errno::EIO)?;
        match (holds == data, data) {
            (true, _) => Ok(offset),
            // The end of the file counts as a hole, not as data.
            (false, true) if end == self.bytes => Err(Errno::ENXIO),
            (false, _) => Ok(end as i64),
        }
    }
}
