//! A directory by FUSE: what the kernel asks, in the order and with the names that it has, of [`Files`] of either kind.

use super::answers::errno;
use crate::shared::SharedDevice;
use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime};

/// Longest write that the kernel sends, bytes.
const MOST_WRITE_BYTES: u32 = 1 << 20;
/// Requests that the kernel has under way.
const MOST_REQUESTS: u16 = 64;

thread_local! {
    /// What a thread reads goes through here; kept, so that not every request clears a new one.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// The files of a directory, which are parts of one device.
pub trait Files: Send + Sync + 'static {
    /// How long the kernel may believe what `stat` shows.
    const KEEP: Duration;
    /// Abilities of the kernel that they want.
    const WANTED: InitFlags;
    /// How they are opened. None is in the kernel's cache, so that the device sees what it would of a real host.
    const OPENED: FopenFlags;

    /// What they are parts of.
    fn device(&self) -> &SharedDevice;
    /// Bytes of the device.
    fn bytes(&self) -> u64;
    /// Bytes of its pages.
    fn page_bytes(&self) -> u32;
    /// How many files and directories there are.
    fn count(&self) -> u64;
    /// What `stat` shows of one.
    fn attributes(&self, of: INodeNo) -> Result<FileAttr, Errno>;
    /// The one of that name.
    fn found(&self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno>;
    /// What is in a directory, from entry `from` on.
    fn entries(&self, of: INodeNo, from: u64) -> impl Iterator<Item = (INodeNo, FileType, String)>;
    /// Makes one so long.
    fn resize(&self, of: INodeNo, bytes: u64) -> Result<(), Errno>;
    /// Where on the device the bytes are that one has from `offset` on, and how many of `bytes` there are.
    fn range(&self, of: INodeNo, offset: u64, bytes: u64) -> Result<(u64, u64), Errno>;
    /// Writes to one; how many bytes.
    fn write(&self, of: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno>;
    /// Frees or zeroes a range, as `fallocate` has it.
    fn allocate(&self, _offset: u64, _length: u64, _mode: i32) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
    /// Where something, or nothing, begins, as `lseek` has it.
    fn seek(&self, _offset: i64, _whence: i32) -> Result<i64, Errno> {
        Err(Errno::ENOSYS)
    }
}

/// The directory.
pub struct Folder<F>(pub F);

fn done(reply: ReplyEmpty, answer: Result<(), Errno>) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl<F: Files> Folder<F> {
    fn attr(&self, reply: ReplyAttr, of: INodeNo) {
        match self.0.attributes(of) {
            Ok(attributes) => reply.attr(&F::KEEP, &attributes),
            Err(error) => reply.error(error),
        }
    }
}

impl<F: Files> Filesystem for Folder<F> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        config.add_capabilities(F::WANTED & config.capabilities()).expect("the kernel offers these");
        // Refused values come back as the nearest that is not, which older kernels have as default.
        let _ = config.set_max_write(MOST_WRITE_BYTES);
        let _ = config.set_max_background(MOST_REQUESTS);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.0.found(parent, name).and_then(|of| self.0.attributes(of)) {
            Ok(attributes) => reply.entry(&F::KEEP, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.attr(reply, of);
    }

    /// Everything but the length of a file stays as it is.
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
        if mode.is_some() || uid.is_some() || gid.is_some() || atime.is_some() || mtime.is_some() {
            return reply.error(Errno::EPERM);
        }
        match size.map_or(Ok(()), |size| self.0.resize(of, size)) {
            Ok(()) => self.attr(reply, of),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), F::OPENED);
    }

    fn read(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let (offset, length) = match self.0.range(of, offset, size.into()) {
            Ok((_, 0)) => return reply.data(&[]),
            Ok((offset, length)) => (offset, length as usize),
            Err(error) => return reply.error(error),
        };
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < length {
                buffer.resize(length, 0);
            }
            let out = &mut buffer[..length];
            match self.0.device().with(|device| device.read(offset, out)) {
                Ok(()) => reply.data(out),
                Err(error) => reply.error(errno(error)),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.0.write(of, offset, data) {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(error),
        }
    }

    /// Called at every `close`; nothing is held back that had to be written then. The kernel asks once only.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        done(reply, self.0.device().with(|device| device.flush()).map_err(errno));
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
        done(reply, self.0.allocate(offset, length, mode));
    }

    fn lseek(&self, _: &Request, _: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        match self.0.seek(offset, whence) {
            Ok(offset) => reply.offset(offset),
            Err(error) => reply.error(error),
        }
    }

    fn readdir(&self, _: &Request, of: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        for (next, (number, kind, name)) in (from + 1..).zip(self.0.entries(of, from)) {
            if reply.add(number, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    /// A block is a page, which is what a loop device takes for the smallest that can be discarded.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let held = self.0.device().with(|device| Ok(device.content_bytes())).unwrap_or(0);
        let (bytes, page) = (self.0.bytes(), self.0.page_bytes());
        let free = bytes.saturating_sub(held) / u64::from(page);
        reply.statfs(bytes / u64::from(page), free, free, self.0.count(), 0, page, 255, page);
    }
}
