//! A directory with one file: the device.

use super::answers::{Owner, ask_for_long_requests, attr, done, errno, read};
use crate::error::DeviceError;
use crate::shared::SharedDevice;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::FallocateFlags;
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime};

/// What the file is called.
pub const DISK: &str = "disk";

const FOLDER_NUMBER: INodeNo = INodeNo::ROOT;
const DISK_NUMBER: INodeNo = INodeNo(2);
/// How long the kernel may believe what `stat` shows: the room that is taken changes.
const KEEP: Duration = Duration::from_secs(1);

/// The directory.
pub struct DiskFolder {
    device: SharedDevice,
    bytes: u64,
    page_bytes: u32,
    owner: Owner,
}

impl DiskFolder {
    /// With `device` as its file.
    pub fn of(device: SharedDevice) -> Result<Self, DeviceError> {
        let (bytes, page_bytes) = device.with(|device| Ok((device.bytes(), device.page_bytes())))?;
        Ok(DiskFolder { device, bytes, page_bytes, owner: Owner::default() })
    }

    fn attributes(&self, of: INodeNo) -> Result<FileAttr, Errno> {
        let (size, held, kind, perm, nlink) = match of {
            FOLDER_NUMBER => (0, 0, FileType::Directory, 0o555, 2),
            DISK_NUMBER => {
                let held = self.device.with(|device| Ok(device.content_bytes())).map_err(errno)?;
                (self.bytes, held, FileType::RegularFile, 0o600, 1)
            }
            _ => return Err(Errno::ENOENT),
        };
        Ok(self.owner.attributes(of, (kind, perm, nlink), (size, held), self.page_bytes))
    }

    /// The part of a range that the file has, as bytes from `offset` on.
    fn within(&self, offset: u64, length: u64) -> u64 {
        self.bytes.saturating_sub(offset).min(length)
    }

    /// Frees or zeroes a range, as the kernel asks for it when a loop device is to discard one, or a person by `fallocate`.
    fn allocate(&self, offset: u64, length: u64, mode: i32) -> Result<(), Errno> {
        let mode = FallocateFlags::from_bits_retain(mode as u32);
        let keeps_size = mode.contains(FallocateFlags::KEEP_SIZE);
        // What is punched reads as zeroes, in the first and the last page as well.
        let allocated = match mode - FallocateFlags::KEEP_SIZE {
            FallocateFlags::PUNCH_HOLE if keeps_size => false,
            FallocateFlags::ZERO_RANGE => true,
            // A simulated drive can be full whatever was reserved.
            _ => return Err(Errno::EOPNOTSUPP),
        };
        let within = self.within(offset, length);
        if within < length && !keeps_size {
            return Err(Errno::EFBIG);
        }
        if within == 0 {
            return Ok(());
        }
        self.device.with(|device| device.write_zeroes(offset, within, allocated)).map_err(errno)
    }

    /// Where something, or nothing, begins from `offset` on.
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
            // The end of the file counts as a hole, and not as data.
            (false, true) if end == self.bytes => Err(Errno::ENXIO),
            (false, _) => Ok(end as i64),
        }
    }
}

/// What `lseek` looks for, as Linux numbers it.
const SEEK_DATA: i32 = 3;
/// See [`SEEK_DATA`].
const SEEK_HOLE: i32 = 4;

impl Filesystem for DiskFolder {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let wanted = InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        config.add_capabilities(wanted & config.capabilities()).expect("the kernel offers these");
        ask_for_long_requests(config);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let found = if parent == FOLDER_NUMBER && name == DISK {
            self.attributes(DISK_NUMBER)
        } else {
            Err(Errno::ENOENT)
        };
        match found {
            Ok(attributes) => reply.entry(&KEEP, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        attr(reply, KEEP, self.attributes(of));
    }

    /// The file is as long as the device, and everything else about it stays as it is, too.
    fn setattr(
        &self,
        _: &Request,
        of: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _ctime: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let changes = mode.is_some() || uid.is_some() || gid.is_some() || atime.is_some() || mtime.is_some();
        if changes || size.is_some_and(|size| size != self.bytes) {
            return reply.error(Errno::EPERM);
        }
        attr(reply, KEEP, self.attributes(of));
    }

    /// Every request comes here and not to the kernel's memory, so that the device sees what it would of a real host.
    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = self.within(offset, size.into()) as usize;
        if length == 0 {
            return reply.data(&[]);
        }
        read(&self.device, offset, length, reply);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let data = &data[..self.within(offset, data.len() as u64) as usize];
        if data.is_empty() {
            // As a block device says it.
            return reply.error(Errno::ENOSPC);
        }
        match self.device.with(|device| device.write(offset, data)) {
            Ok(()) => reply.written(data.len() as u32),
            Err(error) => reply.error(errno(error)),
        }
    }

    /// Called at every `close`; nothing is held back that had to be written then. The kernel asks once only.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        done(reply, self.device.with(|device| device.flush()).map_err(errno));
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        done(reply, self.allocate(offset, length, mode));
    }

    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        match self.seek(offset, whence) {
            Ok(offset) => reply.offset(offset),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _: &Request, _: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        let entries = [
            (FOLDER_NUMBER, FileType::Directory, "."),
            (FOLDER_NUMBER, FileType::Directory, ".."),
            (DISK_NUMBER, FileType::RegularFile, DISK),
        ];
        for (next, (number, kind, name)) in (1..).zip(entries).skip(from.min(3) as usize) {
            if reply.add(number, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    /// A block is a page, which is what a loop device takes for the smallest that can be discarded.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let held = self.device.with(|device| Ok(device.content_bytes())).unwrap_or(0);
        let page = u64::from(self.page_bytes);
        let free = self.bytes.saturating_sub(held) / page;
        reply.statfs(self.bytes / page, free, free, 2, 0, self.page_bytes, 255, self.page_bytes);
    }
}
