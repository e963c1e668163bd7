//! File system that forwards every call to a directory, as a baseline for the cost of a mount.

use rustix::fs::{self as host, AtFlags, CWD, FallocateFlags, Mode, OFlags, RenameFlags, XattrFlags};
use rustix::io::Errno;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::mem::MaybeUninit;
use std::ops::ControlFlow;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use wearwell_mount::Mountable;
use wearwell_nvmfs::api::{
    Allocate, Attributes, Caller, Change, Entry, Error, FileSystem, Ino, Kind, ROOT, Rename, Result, Seek,
    SetXattr, Statistics,
};

/// File to which the kernel holds a reference.
struct OpenNode {
    /// O_PATH descriptor of the file.
    path_fd: OwnedFd,
    /// Descriptor for reads and writes while the file is open.
    file: Option<OwnedFd>,
    opens: u32,
}

impl OpenNode {
    /// Returns a path to the file, for calls that do not take O_PATH descriptors.
    fn path(&self) -> String {
        format!("/proc/self/fd/{}", self.path_fd.as_raw_fd())
    }
}

/// Directory with the interface of a file system.
pub struct PassThrough {
    nodes: HashMap<Ino, OpenNode>,
    numbers: HashMap<u64, Ino>,
    last: Ino,
}

fn error(errno: Errno) -> Error {
    match errno {
        Errno::NOENT => Error::NotFound,
        Errno::EXIST => Error::Exists,
        Errno::NOTDIR => Error::NotDirectory,
        Errno::ISDIR => Error::IsDirectory,
        Errno::NOTEMPTY => Error::NotEmpty,
        Errno::NOSPC => Error::NoSpace("the directory below"),
        Errno::NAMETOOLONG => Error::NameTooLong,
        Errno::INVAL => Error::Invalid("the directory below"),
        Errno::MLINK => Error::TooManyLinks,
        Errno::FBIG => Error::TooLarge,
        Errno::PERM => Error::NotPermitted("the directory below"),
        Errno::NODATA => Error::NoAttribute,
        Errno::NXIO => Error::NoDataOrHole,
        Errno::OPNOTSUPP => Error::Unsupported("the directory below"),
        other => Error::Ssd(other.into()),
    }
}

fn kind(mode: u32) -> Kind {
    match host::FileType::from_raw_mode(mode) {
        host::FileType::Directory => Kind::Directory,
        host::FileType::Symlink => Kind::Symlink,
        host::FileType::Fifo => Kind::Fifo,
        host::FileType::Socket => Kind::Socket,
        host::FileType::CharacterDevice => Kind::CharacterDevice,
        host::FileType::BlockDevice => Kind::BlockDevice,
        _ => Kind::File,
    }
}

fn timespec(ns: Option<i64>) -> host::Timespec {
    const BILLION: i64 = 1_000_000_000;
    match ns {
        Some(ns) => host::Timespec { tv_sec: ns.div_euclid(BILLION), tv_nsec: ns.rem_euclid(BILLION) },
        None => host::Timespec { tv_sec: 0, tv_nsec: host::UTIME_OMIT },
    }
}

fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

impl PassThrough {
    /// Creates a file system that forwards to `directory`.
    pub fn new(directory: &Path) -> io::Result<Self> {
        let path_fd = host::openat(CWD, directory, OFlags::PATH | OFlags::DIRECTORY, Mode::empty())?;
        let number = host::fstat(&path_fd)?.st_ino;
        let root = OpenNode { path_fd, file: None, opens: 0 };
        Ok(PassThrough {
            nodes: HashMap::from([(ROOT, root)]),
            numbers: HashMap::from([(number, ROOT)]),
            last: ROOT,
        })
    }

    fn node(&self, ino: Ino) -> Result<&OpenNode> {
        self.nodes.get(&ino).ok_or(Error::NotFound)
    }

    fn file(&self, ino: Ino) -> Result<&OwnedFd> {
        self.node(ino)?.file.as_ref().ok_or(Error::Invalid("the file is not open"))
    }

    /// Sets the owner of a new file to the caller, and returns its attributes.
    fn finish_create(&mut self, parent: Ino, entry_name: &[u8], caller: &Caller) -> Result<Attributes> {
        let place = &self.node(parent)?.path_fd;
        let (user, group) = (host::Uid::from_raw(caller.uid), host::Gid::from_raw(caller.gid));
        host::chownat(place, name(entry_name), Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW)
            .map_err(error)?;
        self.lookup(parent, entry_name)
    }

    /// Forgets a file that has no name and is not open.
    fn remove_if_unused(&mut self, ino: Ino) -> Result<()> {
        let node = self.node(ino)?;
        let status = host::fstat(&node.path_fd).map_err(error)?;
        if node.opens == 0 && status.st_nlink == 0 {
            self.nodes.remove(&ino);
            self.numbers.remove(&status.st_ino);
        }
        Ok(())
    }

    fn remove(&mut self, parent: Ino, entry_name: &[u8], flags: AtFlags) -> Result<()> {
        let place = &self.node(parent)?.path_fd;
        let status = host::statat(place, name(entry_name), AtFlags::SYMLINK_NOFOLLOW).map_err(error)?;
        host::unlinkat(place, name(entry_name), flags).map_err(error)?;
        match self.numbers.get(&status.st_ino) {
            Some(&ino) => self.remove_if_unused(ino),
            None => Ok(()),
        }
    }
}

impl FileSystem for PassThrough {
    fn lookup(&mut self, parent: Ino, entry_name: &[u8]) -> Result<Attributes> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW;
        let path_fd = host::openat(&self.node(parent)?.path_fd, name(entry_name), flags, Mode::empty())
            .map_err(error)?;
        let number = host::fstat(&path_fd).map_err(error)?.st_ino;
        let ino = *self.numbers.entry(number).or_insert_with(|| {
            self.last.0 += 1;
            self.nodes.insert(self.last, OpenNode { path_fd, file: None, opens: 0 });
            self.last
        });
        self.attributes(ino)
    }

    fn attributes(&mut self, ino: Ino) -> Result<Attributes> {
        let status = host::fstat(&self.node(ino)?.path_fd).map_err(error)?;
        let ns = |seconds: i64, ns: u64| seconds * 1_000_000_000 + ns as i64;
        Ok(Attributes {
            ino,
            generation: 0,
            kind: kind(status.st_mode),
            permissions: status.st_mode & 0o7777,
            links: status.st_nlink as u32,
            uid: status.st_uid,
            gid: status.st_gid,
            device: status.st_rdev as u32,
            size_bytes: status.st_size as u64,
            blocks: status.st_blocks as u64 / 8,
            accessed_ns: ns(status.st_atime, status.st_atime_nsec),
            modified_ns: ns(status.st_mtime, status.st_mtime_nsec),
            changed_ns: ns(status.st_ctime, status.st_ctime_nsec),
        })
    }

    fn set_attributes(&mut self, ino: Ino, change: &Change, _: &Caller) -> Result<Attributes> {
        let node = self.node(ino)?;
        let user = change.uid.map(host::Uid::from_raw);
        let group = change.gid.map(host::Gid::from_raw);
        if user.is_some() || group.is_some() {
            host::chownat(&node.path_fd, "", user, group, AtFlags::EMPTY_PATH).map_err(error)?;
        }
        if let Some(permissions) = change.permissions {
            host::chmod(node.path(), Mode::from_raw_mode(permissions)).map_err(error)?;
        }
        if let Some(bytes) = change.size_bytes {
            let file = host::open(node.path(), OFlags::WRONLY, Mode::empty()).map_err(error)?;
            host::ftruncate(file, bytes).map_err(error)?;
        }
        if change.accessed_ns.is_some() || change.modified_ns.is_some() {
            let times = host::Timestamps {
                last_access: timespec(change.accessed_ns),
                last_modification: timespec(change.modified_ns),
            };
            host::utimensat(&node.path_fd, "", &times, AtFlags::EMPTY_PATH).map_err(error)?;
        }
        self.attributes(ino)
    }

    fn create(
        &mut self,
        parent: Ino,
        entry_name: &[u8],
        kind: Kind,
        permissions: u32,
        device: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        let kind = match kind {
            Kind::Fifo => host::FileType::Fifo,
            Kind::Socket => host::FileType::Socket,
            Kind::CharacterDevice => host::FileType::CharacterDevice,
            Kind::BlockDevice => host::FileType::BlockDevice,
            Kind::File | Kind::Directory | Kind::Symlink => host::FileType::RegularFile,
        };
        let mode = Mode::from_raw_mode(permissions);
        host::mknodat(&self.node(parent)?.path_fd, name(entry_name), kind, mode, device.into())
            .map_err(error)?;
        self.finish_create(parent, entry_name, caller)
    }

    fn make_directory(
        &mut self,
        parent: Ino,
        entry_name: &[u8],
        permissions: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        let mode = Mode::from_raw_mode(permissions);
        host::mkdirat(&self.node(parent)?.path_fd, name(entry_name), mode).map_err(error)?;
        self.finish_create(parent, entry_name, caller)
    }

    fn symlink(
        &mut self,
        parent: Ino,
        entry_name: &[u8],
        target: &[u8],
        caller: &Caller,
    ) -> Result<Attributes> {
        host::symlinkat(name(target), &self.node(parent)?.path_fd, name(entry_name)).map_err(error)?;
        self.finish_create(parent, entry_name, caller)
    }

    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>> {
        host::readlinkat(&self.node(ino)?.path_fd, "", Vec::new())
            .map(|target| target.into_bytes())
            .map_err(error)
    }

    fn link(&mut self, ino: Ino, parent: Ino, entry_name: &[u8], _: &Caller) -> Result<Attributes> {
        let (from, to) = (self.node(ino)?, self.node(parent)?);
        host::linkat(CWD, from.path(), &to.path_fd, name(entry_name), AtFlags::SYMLINK_FOLLOW)
            .map_err(error)?;
        self.attributes(ino)
    }

    fn unlink(&mut self, parent: Ino, entry_name: &[u8], _: &Caller) -> Result<()> {
        self.remove(parent, entry_name, AtFlags::empty())
    }

    fn remove_directory(&mut self, parent: Ino, entry_name: &[u8], _: &Caller) -> Result<()> {
        self.remove(parent, entry_name, AtFlags::REMOVEDIR)
    }

    fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), how: Rename, _: &Caller) -> Result<()> {
        let flags = match how {
            Rename::Replace => RenameFlags::empty(),
            Rename::Keep => RenameFlags::NOREPLACE,
            Rename::Exchange => RenameFlags::EXCHANGE,
        };
        let (old, new) = (&self.node(from.0)?.path_fd, &self.node(to.0)?.path_fd);
        let replaced = host::statat(new, name(to.1), AtFlags::SYMLINK_NOFOLLOW).ok();
        host::renameat_with(old, name(from.1), new, name(to.1), flags).map_err(error)?;
        match replaced.and_then(|status| self.numbers.get(&status.st_ino)) {
            Some(&ino) => self.remove_if_unused(ino),
            None => Ok(()),
        }
    }

    fn open(&mut self, ino: Ino) -> Result<()> {
        let node = self.nodes.get_mut(&ino).ok_or(Error::NotFound)?;
        if node.opens == 0 {
            node.file = Some(host::open(node.path(), OFlags::RDWR, Mode::empty()).map_err(error)?);
        }
        node.opens += 1;
        Ok(())
    }

    fn release(&mut self, ino: Ino) -> Result<()> {
        let node = self.nodes.get_mut(&ino).ok_or(Error::NotFound)?;
        node.opens -= 1;
        if node.opens == 0 {
            node.file = None;
        }
        self.remove_if_unused(ino)
    }

    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], _: &Caller) -> Result<usize> {
        rustix::io::pread(self.file(ino)?, out, offset).map_err(error)
    }

    fn write(&mut self, ino: Ino, offset: u64, data: &[u8], _: &Caller) -> Result<usize> {
        rustix::io::pwrite(self.file(ino)?, data, offset).map_err(error)
    }

    fn allocate(&mut self, ino: Ino, how: Allocate, offset: u64, length: u64, _: &Caller) -> Result<()> {
        let keep_size = FallocateFlags::KEEP_SIZE;
        let mode = match how {
            Allocate::Reserve { keep_size: false } => FallocateFlags::empty(),
            Allocate::Reserve { keep_size: true } => keep_size,
            Allocate::Punch => FallocateFlags::PUNCH_HOLE | keep_size,
            Allocate::Zero { keep_size: true } => FallocateFlags::ZERO_RANGE | keep_size,
            Allocate::Zero { keep_size: false } => FallocateFlags::ZERO_RANGE,
        };
        host::fallocate(self.file(ino)?, mode, offset, length).map_err(error)
    }

    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let from = match what {
            Seek::Data => host::SeekFrom::Data(offset),
            Seek::Hole => host::SeekFrom::Hole(offset),
        };
        host::seek(self.file(ino)?, from).map_err(error)
    }

    fn sync(&mut self, ino: Ino) -> Result<()> {
        match &self.node(ino)?.file {
            Some(file) => host::fsync(file).map_err(error),
            None => Ok(()),
        }
    }

    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = host::openat(&self.node(ino)?.path_fd, ".", flags, Mode::empty()).map_err(error)?;
        host::seek(&directory, host::SeekFrom::Start(from)).map_err(error)?;
        let mut buffer = vec![MaybeUninit::uninit(); 32 << 10];
        let mut entries = host::RawDir::new(&directory, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry.map_err(error)?;
            let bytes = entry.file_name().to_bytes();
            let (next, dots) = (entry.next_entry_cookie(), bytes == b"." || bytes == b"..");
            let of = if dots { self.attributes(ino)? } else { self.lookup(ino, bytes)? };
            if each(Entry { next, ino: of.ino, kind: of.kind, name: bytes }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn xattr(&mut self, ino: Ino, xattr_name: &[u8]) -> Result<Vec<u8>> {
        let mut value = Vec::with_capacity(64 << 10);
        let room = rustix::buffer::spare_capacity(&mut value);
        host::getxattr(self.node(ino)?.path(), name(xattr_name), room).map_err(error)?;
        Ok(value)
    }

    fn set_xattr(
        &mut self,
        ino: Ino,
        xattr_name: &[u8],
        value: &[u8],
        how: SetXattr,
        _: &Caller,
    ) -> Result<()> {
        let flags = match how {
            SetXattr::Either => XattrFlags::empty(),
            SetXattr::Create => XattrFlags::CREATE,
            SetXattr::Replace => XattrFlags::REPLACE,
        };
        host::setxattr(self.node(ino)?.path(), name(xattr_name), value, flags).map_err(error)
    }

    fn xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        let mut list = Vec::with_capacity(64 << 10);
        host::listxattr(self.node(ino)?.path(), rustix::buffer::spare_capacity(&mut list)).map_err(error)?;
        Ok(list.split(|&byte| byte == 0).filter(|of| !of.is_empty()).map(<[u8]>::to_vec).collect())
    }

    fn remove_xattr(&mut self, ino: Ino, xattr_name: &[u8], _: &Caller) -> Result<()> {
        host::removexattr(self.node(ino)?.path(), name(xattr_name)).map_err(error)
    }

    fn statistics(&mut self) -> Result<Statistics> {
        let status = host::fstatvfs(&self.node(ROOT)?.path_fd).map_err(error)?;
        Ok(Statistics {
            blocks: status.f_blocks,
            free_blocks: status.f_bfree,
            available_blocks: status.f_bavail,
            inodes: status.f_files,
            free_inodes: status.f_ffree,
        })
    }
}

impl Mountable for PassThrough {
    type Job = ();

    fn begin_work(&mut self) -> Result<Option<()>> {
        Ok(None)
    }

    fn run(_: &()) -> io::Result<()> {
        Ok(())
    }

    fn end_work(&mut self, _: (), _: io::Result<()>) -> Result<()> {
        Ok(())
    }

    fn close(self) -> Result<()> {
        Ok(())
    }
}
