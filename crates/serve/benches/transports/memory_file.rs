//! Minimal FUSE file as a baseline: its content is in memory under a lock.

use fuser::{
    BackgroundSession, Config, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation,
    INodeNo, InitFlags, KernelConfig, LockOwner, MountOption, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, UNIX_EPOCH};

pub struct MemoryFile(Mutex<Vec<u8>>);

const CACHE_TIME: Duration = Duration::from_secs(3600);

impl MemoryFile {
    /// Mounts a file `disk` of `bytes` bytes.
    pub fn mount(bytes: u64, at: &Path) -> io::Result<BackgroundSession> {
        let mut config = Config::default();
        config.mount_options = vec![MountOption::FSName("memory".into())];
        fuser::spawn_mount(MemoryFile(Mutex::new(vec![1; bytes as usize])), at, &config)
    }

    fn attributes(&self, node_id: INodeNo) -> FileAttr {
        let (kind, size) = match node_id {
            INodeNo::ROOT => (FileType::Directory, 0),
            _ => (FileType::RegularFile, self.0.lock().unwrap().len() as u64),
        };
        FileAttr {
            ino: node_id,
            size,
            blocks: size / 512,
            atime: UNIX_EPOCH,
            mtime: UNIX_EPOCH,
            ctime: UNIX_EPOCH,
            crtime: UNIX_EPOCH,
            kind,
            perm: 0o700,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

impl Filesystem for MemoryFile {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let _ = config.add_capabilities(InitFlags::FUSE_ASYNC_DIO);
        let _ = config.set_max_write(1 << 20);
        let _ = config.set_max_background(64);
        Ok(())
    }

    fn lookup(&self, _: &Request, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match name == "disk" {
            true => reply.entry(&CACHE_TIME, &self.attributes(INodeNo(2)), Generation(0)),
            false => reply.error(Errno::ENOENT),
        }
    }

    fn getattr(&self, _: &Request, node_id: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&CACHE_TIME, &self.attributes(node_id));
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES);
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
        let bytes = self.0.lock().unwrap();
        let from = (offset as usize).min(bytes.len());
        reply.data(&bytes[from..(from + size as usize).min(bytes.len())]);
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
        self.0.lock().unwrap()[offset as usize..][..data.len()].copy_from_slice(data);
        reply.written(data.len() as u32);
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }
}
