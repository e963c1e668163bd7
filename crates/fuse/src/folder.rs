//! FUSE request handler for a directory with implementations of [`Files`].

use fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyDirectory, ReplyEmpty,
    ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::io;
use std::time::{Duration, SystemTime};

/// Maximum size of a write request from the kernel, bytes.
pub const MAX_WRITE_BYTES: u32 = 1 << 20;

thread_local! {
    /// Read buffer of each thread, which is reused so that requests need not clear a new one.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Files of a directory that are parts of one disk.
pub trait Files: Send + Sync + 'static {
    /// Time for which the kernel may cache attributes.
    const CACHE_TIME: Duration;
    /// Kernel capabilities that the files need.
    const CAPABILITIES: InitFlags;
    /// Maximum number of background requests that the kernel has in progress; `None` for the kernel's default.
    const MAX_REQUESTS: Option<u16> = Some(64);
    /// Flags of opened files. All files bypass the page cache, so that the disk sees the accesses that a real drive
    /// would see.
    const OPEN_FLAGS: FopenFlags;

    /// Returns the size of the disk in bytes.
    fn bytes(&self) -> u64;
    /// Returns the number of bytes of the disk that have content.
    fn content_bytes(&self) -> Result<u64, Errno>;
    /// Returns the page size in bytes.
    fn page_bytes(&self) -> u32;
    /// Returns the number of files and directories.
    fn count(&self) -> u64;
    /// Returns the attributes of a file for `stat`.
    fn attributes(&self, node_id: INodeNo) -> Result<FileAttr, Errno>;
    /// Looks up a name in a directory.
    fn lookup(&self, parent: INodeNo, name: &OsStr) -> Result<INodeNo, Errno>;
    /// Returns the entries of a directory, starting at index `from`.
    fn entries(&self, node_id: INodeNo, from: u64) -> impl Iterator<Item = (INodeNo, FileType, String)>;
    /// Sets the size of a file.
    fn resize(&self, node_id: INodeNo, bytes: u64) -> Result<(), Errno>;
    /// Returns the offset on the disk of the byte `offset` of the file, and the number of bytes, at most `bytes`,
    /// that exist from there.
    fn range(&self, node_id: INodeNo, offset: u64, bytes: u64) -> Result<(u64, u64), Errno>;
    /// Fills `out` with the bytes of the disk from `offset` on.
    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno>;
    /// Writes to a file. Returns the number of bytes written.
    fn write(&self, node_id: INodeNo, offset: u64, data: &[u8]) -> Result<u32, Errno>;
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
}

/// FUSE file system with one directory of files.
pub struct Folder<F>(pub F);

fn done(reply: ReplyEmpty, answer: Result<(), Errno>) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

impl<F: Files> Folder<F> {
    fn attr(&self, reply: ReplyAttr, node_id: INodeNo) {
        match self.0.attributes(node_id) {
            Ok(attributes) => reply.attr(&F::CACHE_TIME, &attributes),
            Err(error) => reply.error(error),
        }
    }
}

impl<F: Files> Filesystem for Folder<F> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        config.add_capabilities(F::CAPABILITIES & config.capabilities()).expect("the kernel offers these");
        // If a value is refused, the kernel uses the nearest allowed value (the default of older kernels).
        let _ = config.set_max_write(MAX_WRITE_BYTES);
        if let Some(requests) = F::MAX_REQUESTS {
            let _ = config.set_max_background(requests);
        }
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.0.lookup(parent, name).and_then(|of| self.0.attributes(of)) {
            Ok(attributes) => reply.entry(&F::CACHE_TIME, &attributes, Generation(0)),
            Err(error) => reply.error(error),
        }
    }

    fn getattr(&self, _: &Request, node_id: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        self.attr(reply, node_id);
    }

    /// This changes only the size; other attributes are fixed.
    fn setattr(
        &self,
        _: &Request,
        node_id: INodeNo,
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
        match size.map_or(Ok(()), |size| self.0.resize(node_id, size)) {
            Ok(()) => self.attr(reply, node_id),
            Err(error) => reply.error(error),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), F::OPEN_FLAGS);
    }

    fn read(
        &self,
        _: &Request,
        node_id: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let (offset, length) = match self.0.range(node_id, offset, size.into()) {
            Ok((_, 0)) => return reply.data(&[]),
            Ok((offset, length)) => (offset, length as usize),
            Err(error) => return reply.error(error),
        };
        BUFFER.with_borrow_mut(|buffer| {
            if buffer.len() < length {
                buffer.resize(length, 0);
            }
            let out = &mut buffer[..length];
            match self.0.read(offset, out) {
                Ok(()) => reply.data(out),
                Err(error) => reply.error(error),
            }
        });
    }

    fn write(
        &self,
        _: &Request,
        node_id: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.0.write(node_id, offset, data) {
            Ok(written) => reply.written(written),
            Err(error) => reply.error(error),
        }
    }

    /// The kernel calls this at every `close`. Nothing is buffered, so ENOSYS tells the kernel not to call it again.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        done(reply, self.0.flush());
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

    fn readdir(&self, _: &Request, node_id: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        for (next, (number, kind, name)) in (from + 1..).zip(self.0.entries(node_id, from)) {
            if reply.add(number, next, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    /// The page size is reported as the block size, because loop devices use it as the discard granularity.
    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let content_bytes = self.0.content_bytes().unwrap_or(0);
        let (bytes, page) = (self.0.bytes(), self.0.page_bytes());
        let free = bytes.saturating_sub(content_bytes) / u64::from(page);
        reply.statfs(bytes / u64::from(page), free, free, self.0.count(), 0, page, 255, page);
    }
}
