//! FUSE directory with the device as its only file.

use super::replies::errno;
use crate::error::DeviceError;
use crate::shared::SharedDevice;
use rustix::fs::FallocateFlags;
use std::time::Duration;
use wearwell_fuse::SingleFile;
use wearwell_fuse::fuser::{Errno, InitFlags};

/// Device as a file.
pub struct DiskFile {
    device: SharedDevice,
    bytes: u64,
    page_bytes: u32,
}

impl DiskFile {
    /// Creates the file of `device`.
    pub fn new(device: SharedDevice) -> Result<Self, DeviceError> {
        let (bytes, page_bytes) = device.with(|device| Ok((device.bytes(), device.page_bytes())))?;
        Ok(DiskFile { device, bytes, page_bytes })
    }
}

/// Value of `whence` in `lseek` on Linux.
const SEEK_DATA: i32 = 3;
/// Another value of `whence` in `lseek` on Linux.
const SEEK_HOLE: i32 = 4;

impl SingleFile for DiskFile {
    /// The time is short, because the allocated size changes.
    const CACHE_TIME: Duration = Duration::from_secs(1);
    const CAPABILITIES: InitFlags = InitFlags::FUSE_ASYNC_DIO.union(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn page_bytes(&self) -> u32 {
        self.page_bytes
    }

    fn content_bytes(&self) -> Result<u64, Errno> {
        self.device.with(|device| Ok(device.content_bytes())).map_err(errno)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno> {
        self.device.with(|device| device.read(offset, out)).map_err(errno)
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.device.with(|device| device.write(offset, data)).map_err(errno)
    }

    fn flush(&self) -> Result<(), Errno> {
        self.device.with(|device| device.flush()).map_err(errno)
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

    /// Returns the next offset, not below `offset`, with content for [`SEEK_DATA`] or without content for
    /// [`SEEK_HOLE`].
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
