//! Adapter from requests of the kernel to calls of a [`FileSystem`](wearwell_nvmfs::api::FileSystem).
//!
//! The kernel identifies files by inode number and generation. If the number of a deleted file is reused, the kernel notices the
//! new generation and returns ESTALE to holders of the old file. So lookups need not be counted. A file without a name lives
//! until the kernel forgets it, after its last user has gone.

use super::acls;
use super::convert::{self, Answer, absent, attributes, file_type};
use super::privileges::drop_privileges;
use super::serving::Serving;
use super::trees::{self, FileInfo, file_info, look, now};
use super::worker::Shared;
use super::xattrs::{self, sized};
use super::{Mountable, Options};
use fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, TimeOrNow, WriteFlags,
};
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wearwell_nvmfs::api::{Attributes, BLOCK_BYTES, Caller, Change, Error, Kind, MAX_NAME_BYTES, Result};

/// Largest write in one request, bytes.
const MAX_WRITE_BYTES: u32 = 1 << 20;
/// Files are identified by inode number, so handles are not used.
const NO_HANDLE: FileHandle = FileHandle(0);

/// File system with the interface of the kernel.
pub struct Adapter<F> {
    shared: Arc<Shared<F>>,
    options: Options,
    opened: FopenFlags,
    serving: Serving<F>,
    /// True if the kernel enforces access control lists.
    has_lists: bool,
}

impl<F: Mountable + Send + 'static> Adapter<F> {
    /// Creates the adapter for the file system in `shared`.
    pub fn new(shared: Arc<Shared<F>>, options: Options) -> io::Result<Self> {
        let opened = if options.direct_io {
            FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
        } else {
            // Only this mount changes the files, so cached pages stay valid while a file is closed.
            FopenFlags::FOPEN_KEEP_CACHE
        };
        let serving = Serving::new(Arc::clone(&shared))?;
        Ok(Adapter { shared, options, opened, serving, has_lists: false })
    }

    /// Creates a file in the directory `parent` and replies with it.
    fn make(
        &self,
        parent: INodeNo,
        reply: ReplyEntry,
        make: impl FnMut(&mut F) -> Result<Attributes> + Send + 'static,
    ) {
        let keep = self.options.keep;
        self.serving.serve(make, move |answer| match answer {
            Ok(of) => entry(reply, keep, &file_info(parent, &of)),
            Err(error) => reply.error(error),
        });
    }

    /// Returns the time for which the kernel may cache a file's name and attributes.
    fn keep(&self, info: &FileInfo) -> Duration {
        if info.is_kept { self.options.keep } else { Duration::ZERO }
    }
}

fn entry(reply: ReplyEntry, keep: Duration, info: &FileInfo) {
    reply.entry(&keep, &info.attributes, Generation(info.generation.into()));
}

fn attr(reply: ReplyAttr, keep: Duration, answer: Answer<FileInfo>) {
    match answer {
        Ok(of) => reply.attr(&keep, &of.attributes),
        Err(error) => reply.error(error),
    }
}

fn done(reply: ReplyEmpty, answer: Answer<()>) {
    match answer {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

/// Copies a name, so that the request can outlive the call.
fn bytes(name: &OsStr) -> Vec<u8> {
    name.as_bytes().to_vec()
}

/// Returns the caller of a request, with the current time.
fn caller(request: &Request) -> Caller {
    Caller { uid: request.uid(), gid: request.gid(), now_ns: convert::ns(SystemTime::now()) }
}

impl<F: Mountable + Send + 'static> Filesystem for Adapter<F> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let mut wanted = InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_READDIRPLUS_AUTO
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_CACHE_SYMLINKS
            | InitFlags::FUSE_NO_OPENDIR_SUPPORT
            | InitFlags::FUSE_HANDLE_KILLPRIV_V2
            | InitFlags::FUSE_POSIX_ACL
            | InitFlags::FUSE_DONT_MASK
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        wanted.set(InitFlags::FUSE_WRITEBACK_CACHE, self.options.writeback_cache);
        let offered = wanted & config.capabilities();
        config.add_capabilities(offered).expect("the kernel offers these");
        self.has_lists = offered.contains(InitFlags::FUSE_POSIX_ACL);
        // If a value is refused, the kernel keeps the nearest allowed one (the default of older kernels).
        let _ = config.set_max_write(MAX_WRITE_BYTES);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.shared.request(|fs| trees::lookup(fs, parent, name.as_bytes())) {
            // The kernel may cache the absence of the name.
            Ok(None) => reply.entry(&self.options.keep, &absent(), Generation(0)),
            Ok(Some(info)) => entry(reply, self.keep(&info), &info),
            Err(error) => reply.error(error),
        }
    }

    fn forget(&self, _: &Request, of: INodeNo, _: u64) {
        if let Ok(of) = now(of) {
            self.shared.forget(of);
        }
    }

    fn getattr(&self, _: &Request, of: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let known = self.shared.request(|fs| trees::attributes_of(fs, of));
        let keep = known.as_ref().map_or(Duration::ZERO, |info| self.keep(info));
        attr(reply, keep, known);
    }

    fn setattr(
        &self,
        request: &Request,
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
        let caller = caller(request);
        let change = Change {
            permissions: mode.map(convert::permissions),
            uid,
            gid,
            size_bytes: size,
            accessed_ns: atime.map(|time| convert::time(time, caller.now_ns)),
            modified_ns: mtime.map(|time| convert::time(time, caller.now_ns)),
        };
        // A truncation by root keeps the privileges of a program; a change of owner always drops them.
        let privileges_end = uid.is_some() || gid.is_some() || (size.is_some() && caller.uid != 0);
        let (number, keep) = (of, self.options.keep);
        self.serving.serve(
            move |fs| {
                let of = now(number)?;
                let changed = fs.set_attributes(of, &change, &caller)?;
                if !privileges_end || mode.is_some() {
                    return Ok(file_info(number, &changed));
                }
                drop_privileges(fs, of, &caller)?;
                Ok(file_info(number, &fs.attributes(of)?))
            },
            move |answer| attr(reply, keep, answer),
        );
    }

    fn readlink(&self, _: &Request, of: INodeNo, reply: ReplyData) {
        match self.shared.request(|fs| look(fs, of, |fs, ino| fs.read_link(ino))) {
            Ok(target) => reply.data(&target),
            Err(error) => reply.error(error),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let (name, caller) = (bytes(name), caller(request));
        self.make(parent, reply, move |fs| {
            let parent = now(parent)?;
            let permissions = acls::new_file_permissions(fs, parent, mode, umask);
            let kind = convert::kind(mode).ok_or(Error::Invalid("kind of file"))?;
            fs.create(parent, &name, kind, permissions, device, &caller)
        });
    }

    fn mkdir(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        reply: ReplyEntry,
    ) {
        let (name, caller) = (bytes(name), caller(request));
        self.make(parent, reply, move |fs| {
            let parent = now(parent)?;
            let permissions = acls::new_file_permissions(fs, parent, mode, umask);
            fs.make_directory(parent, &name, permissions, &caller)
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        let unlink = move |fs: &mut F, parent, name: &[u8]| fs.unlink(parent, name, &caller);
        self.serving.remove_name((parent, bytes(name)), unlink, |taken| done(reply, taken));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        let remove = move |fs: &mut F, parent, name: &[u8]| fs.remove_directory(parent, name, &caller);
        self.serving.remove_name((parent, bytes(name)), remove, |taken| done(reply, taken));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (name, target, caller) = (bytes(name), bytes(target.as_os_str()), caller(request));
        self.make(parent, reply, move |fs| fs.symlink(now(parent)?, &name, &target, &caller));
    }

    fn rename(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        to_parent: INodeNo,
        to_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, caller) = (bytes(name), caller(request));
        let rename = move |fs: &mut F, to_parent, to: &[u8]| {
            let how = convert::rename(flags).ok_or(Error::Invalid("kind of rename"))?;
            fs.rename((now(parent)?, &from), (to_parent, to), how, &caller)
        };
        self.serving.remove_name((to_parent, bytes(to_name)), rename, |renamed| done(reply, renamed));
    }

    fn link(&self, request: &Request, of: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (name, caller) = (bytes(name), caller(request));
        self.make(parent, reply, move |fs| fs.link(now(of)?, now(parent)?, &name, &caller));
    }

    fn open(&self, _: &Request, of: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.shared.request(|fs| {
            if flags.acc_mode() != OpenAccMode::O_RDONLY {
                now(of)?;
            }
            look(fs, of, |fs, ino| fs.open(ino))
        });
        match opened {
            Ok(()) => reply.opened(NO_HANDLE, self.opened),
            Err(error) => reply.error(error),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        let (name, caller, keep, opened) = (bytes(name), caller(request), self.options.keep, self.opened);
        let make = move |fs: &mut F| {
            let parent = now(parent)?;
            let permissions = acls::new_file_permissions(fs, parent, mode, umask);
            let made = fs.create(parent, &name, Kind::File, permissions, 0, &caller)?;
            fs.open(made.ino)?;
            Ok(made)
        };
        self.serving.serve(make, move |made| match made {
            Ok(of) => {
                let generation = Generation(of.generation.into());
                reply.created(&keep, &attributes(&of), generation, NO_HANDLE, opened);
            }
            Err(error) => reply.error(error),
        });
    }

    fn release(
        &self,
        _: &Request,
        of: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        // Open files in a snapshot hold no resources.
        done(reply, now(of).map_or(Ok(()), |of| self.shared.close(of)));
    }

    fn read(
        &self,
        request: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.serving.read(of, offset, size, caller(request), reply);
    }

    fn write(
        &self,
        request: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        flags: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let privileges_end = flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        match now(of) {
            Ok(of) => self.serving.write(of, offset, data, privileges_end, caller(request), reply),
            Err(error) => reply.error(convert::errno(&error)),
        }
    }

    /// Called at every `close`. Nothing is buffered, so ENOSYS tells the kernel not to ask again.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, of: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        done(reply, self.shared.request(|fs| look(fs, of, |fs, ino| fs.sync(ino))));
    }

    fn fsyncdir(&self, _: &Request, of: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        done(reply, self.shared.request(|fs| look(fs, of, |fs, ino| fs.sync(ino))));
    }

    /// Directories need no handle. ENOSYS tells the kernel not to ask again and to cache their entries.
    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn readdir(&self, _: &Request, of: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        let answer = self.shared.request(|fs| {
            trees::list(fs, of, from, &mut |number, entry| {
                let full =
                    reply.add(number, entry.next, file_type(entry.kind), OsStr::from_bytes(entry.name));
                if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
            })
        });
        match answer {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn readdirplus(&self, _: &Request, of: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectoryPlus) {
        let mut add = |next, name: &[u8], info: &FileInfo| {
            let (attr, generation) = (&info.attributes, Generation(info.generation.into()));
            reply.add(attr.ino, next, OsStr::from_bytes(name), &self.keep(info), attr, generation)
        };
        let answer = self.shared.request(|fs| trees::list_with_info(fs, of, from, &mut add));
        match answer {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let block = BLOCK_BYTES as u32;
        self.serving.serve_after_release(
            |fs| fs.statistics(),
            move |answer| match answer {
                Ok(of) => {
                    let (free, available, name) =
                        (of.free_blocks, of.available_blocks, MAX_NAME_BYTES as u32);
                    reply.statfs(of.blocks, free, available, of.inodes, of.free_inodes, block, name, block);
                }
                Err(error) => reply.error(error),
            },
        );
    }

    fn setxattr(
        &self,
        request: &Request,
        of: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (number, name, value) = (of, bytes(name), value.to_vec());
        let (caller, pid, has_lists) = (caller(request), request.pid(), self.has_lists);
        let set = move |fs: &mut F| {
            if xattrs::is_order(number, &name, caller.uid)? {
                return fs.order(&value, caller.now_ns);
            }
            let of = now(number)?;
            xattrs::changeable(number, &name, has_lists)?;
            let how = convert::set_xattr(flags).ok_or(Error::Invalid("flags"))?;
            acls::drop_set_group_id(fs, of, &name, (&caller, pid))?;
            fs.set_xattr(of, &name, &value, how, &caller)
        };
        self.serving.serve(set, |set| done(reply, set));
    }

    fn getxattr(&self, _: &Request, of: INodeNo, name: &OsStr, room: u32, reply: ReplyXattr) {
        let value = self.shared.request(|fs| xattrs::get(fs, of, name.as_bytes(), self.has_lists));
        sized(reply, room, value);
    }

    fn listxattr(&self, _: &Request, of: INodeNo, room: u32, reply: ReplyXattr) {
        sized(reply, room, self.shared.request(|fs| xattrs::list(fs, of)));
    }

    fn removexattr(&self, request: &Request, of: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.as_bytes();
        let removed = self.shared.request(|fs| {
            xattrs::changeable(of, name, self.has_lists)?;
            fs.remove_xattr(now(of)?, name, &caller(request))
        });
        done(reply, removed);
    }

    fn fallocate(
        &self,
        request: &Request,
        of: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let caller = caller(request);
        let allocate = move |fs: &mut F| {
            let how = convert::allocate(mode).ok_or(Error::Unsupported("mode of fallocate"))?;
            fs.allocate(now(of)?, how, offset, length, &caller)
        };
        self.serving.serve(allocate, |allocated| done(reply, allocated));
    }

    fn lseek(&self, _: &Request, of: INodeNo, _: FileHandle, offset: i64, whence: i32, reply: ReplyLseek) {
        let found = self.shared.request(|fs| {
            let what = convert::seek(whence).ok_or(Error::Invalid("kind of seek"))?;
            let from = u64::try_from(offset).map_err(|_| Error::NoDataOrHole)?;
            look(fs, of, |fs, ino| fs.seek(ino, from, what))
        });
        match found {
            Ok(offset) => reply.offset(offset as i64),
            Err(error) => reply.error(error),
        }
    }
}
