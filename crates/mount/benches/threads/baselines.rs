//! File systems with which NVMFS is compared.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};
use wearwell_fuse::fuser::{
    BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo,
    InitFlags, KernelConfig, LockOwner, OpenFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use wearwell_fuse::{Options, Session};

/// File or directory to which the kernel holds a reference.
struct Node {
    path: PathBuf,
    /// Open file; `None` for a directory.
    file: Option<File>,
}

/// Minimal FUSE mount that forwards every call to a directory. No lock is held while a file is used.
pub struct PassThrough {
    nodes: RwLock<HashMap<u64, Arc<Node>>>,
    root: Arc<Node>,
}

impl PassThrough {
    /// Mounts the directory `below` on `at`. The mount ends when the result is dropped.
    pub fn mount(below: &Path, at: &Path, threads: usize) -> io::Result<Session> {
        let root = Arc::new(Node { path: below.to_owned(), file: None });
        let options = Options { threads, ..Options::new("passed") };
        Session::start(PassThrough { nodes: RwLock::default(), root }, at, &options)
    }

    fn node(&self, ino: INodeNo) -> io::Result<Arc<Node>> {
        if ino == INodeNo::ROOT {
            return Ok(self.root.clone());
        }
        let known = self.nodes.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&ino.0).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn file<T>(&self, ino: INodeNo, use_it: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let known = self.node(ino)?;
        use_it(known.file.as_ref().ok_or(io::ErrorKind::IsADirectory)?)
    }

    /// Registers a file that exists or was just created, together with its descriptor if it is open.
    fn register(&self, path: PathBuf, file: Option<File>) -> io::Result<FileAttr> {
        let metadata = path.symlink_metadata()?;
        let mut known = self.nodes.write().unwrap_or_else(PoisonError::into_inner);
        if let Entry::Vacant(vacant) = known.entry(metadata.ino()) {
            let open = || {
                if metadata.is_dir() {
                    Ok(None)
                } else {
                    File::options().read(true).write(true).open(&path).map(Some)
                }
            };
            let file = if file.is_some() { file } else { open()? };
            vacant.insert(Arc::new(Node { path, file }));
        }
        Ok(attributes(&metadata))
    }

    fn make(&self, parent: INodeNo, name: &OsStr) -> io::Result<FileAttr> {
        let path = self.node(parent)?.path.join(name);
        let file = File::options().read(true).write(true).create_new(true).open(&path)?;
        self.register(path, Some(file))
    }

    fn attributes_of(&self, ino: INodeNo) -> io::Result<FileAttr> {
        let known = self.node(ino)?;
        let metadata = known.file.as_ref().map_or_else(|| known.path.metadata(), File::metadata)?;
        Ok(FileAttr { ino, ..attributes(&metadata) })
    }
}

fn attributes(metadata: &fs::Metadata) -> FileAttr {
    let time = |time: io::Result<SystemTime>| time.unwrap_or(SystemTime::UNIX_EPOCH);
    FileAttr {
        ino: INodeNo(metadata.ino()),
        size: metadata.size(),
        blocks: metadata.blocks(),
        atime: time(metadata.accessed()),
        mtime: time(metadata.modified()),
        ctime: time(metadata.modified()),
        crtime: SystemTime::UNIX_EPOCH,
        kind: if metadata.is_dir() { FileType::Directory } else { FileType::RegularFile },
        perm: (metadata.mode() & 0o7777) as u16,
        nlink: metadata.nlink() as u32,
        uid: metadata.uid(),
        gid: metadata.gid(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// Time for which the kernel may cache names and attributes: zero, as for NVMFS.
const CACHE_TIME: Duration = Duration::ZERO;

impl Filesystem for PassThrough {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let flags =
            InitFlags::FUSE_ASYNC_DIO | InitFlags::FUSE_PARALLEL_DIROPS | InitFlags::FUSE_HANDLE_KILLPRIV_V2;
        let offered = flags & config.capabilities();
        config.add_capabilities(offered).expect("the kernel offers these");
        let _ = config.set_max_write(1 << 20);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.node(parent).and_then(|parent| self.register(parent.path.join(name), None)) {
            Ok(of) => reply.entry(&CACHE_TIME, &of, Generation(0)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn getattr(&self, _: &Request, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.attributes_of(ino) {
            Ok(of) => reply.attr(&CACHE_TIME, &of),
            Err(error) => reply.error(error.into()),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        ino: INodeNo,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let cut = size.map_or(Ok(()), |size| self.file(ino, |file| file.set_len(size)));
        match cut.and_then(|()| self.attributes_of(ino)) {
            Ok(of) => reply.attr(&CACHE_TIME, &of),
            Err(error) => reply.error(error.into()),
        }
    }

    fn mkdir(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, reply: ReplyEntry) {
        let made = self.node(parent).and_then(|parent| {
            let path = parent.path.join(name);
            fs::create_dir(&path)?;
            self.register(path, None)
        });
        match made {
            Ok(of) => reply.entry(&CACHE_TIME, &of, Generation(0)),
            Err(error) => reply.error(error.into()),
        }
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let removed = self.node(parent).and_then(|parent| {
            let path = parent.path.join(name);
            let number = path.symlink_metadata()?.ino();
            fs::remove_file(&path)?;
            self.nodes.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
            Ok(())
        });
        match removed {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }

    fn create(&self, _: &Request, parent: INodeNo, name: &OsStr, _: u32, _: u32, _: i32, reply: ReplyCreate) {
        match self.make(parent, name) {
            Ok(of) => {
                reply.created(&CACHE_TIME, &of, Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE)
            }
            Err(error) => reply.error(error.into()),
        }
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let mut buffer = vec![0; size as usize];
        match self.file(ino, |file| file.read_at(&mut buffer, offset)) {
            Ok(bytes) => reply.data(&buffer[..bytes]),
            Err(error) => reply.error(error.into()),
        }
    }

    fn write(
        &self,
        _: &Request,
        ino: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        match self.file(ino, |file| file.write_at(data, offset)) {
            Ok(bytes) => reply.written(bytes as u32),
            Err(error) => reply.error(error.into()),
        }
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, ino: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        match self.file(ino, File::sync_data) {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error.into()),
        }
    }
}

/// ext4 on a file on the disk.
pub struct Ext4 {
    at: PathBuf,
}

impl Ext4 {
    /// Creates a file system in `directory` and mounts it.
    pub fn mount(directory: &Path) -> io::Result<Self> {
        let (image, at) = (directory.join("ext4.img"), directory.join("ext4"));
        File::create(&image)?.set_len(2 << 30)?;
        fs::create_dir(&at)?;
        run(Command::new("mkfs.ext4").arg("-qF").arg(&image))?;
        run(Command::new("mount").args(["-o", "loop"]).arg(&image).arg(&at))?;
        Ok(Ext4 { at })
    }

    /// Returns the mount point.
    pub fn at(&self) -> &Path {
        &self.at
    }
}

impl Drop for Ext4 {
    fn drop(&mut self) {
        let _ = run(Command::new("umount").arg(&self.at));
    }
}

fn run(command: &mut Command) -> io::Result<()> {
    let output = command.output()?;
    let message = || io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned());
    if output.status.success() { Ok(()) } else { Err(message()) }
}
