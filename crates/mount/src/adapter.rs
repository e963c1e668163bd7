//! Adapter that converts requests of the kernel to calls of a [`FileSystem`](wearwell_nvmfs::api::FileSystem).
//!
//! The kernel identifies files by inode number and generation. If the number of a deleted file is reused, the kernel
//! notices the new generation and returns ESTALE to processes that hold the old file. So lookups need not be counted.
//! An unlinked file exists until the kernel forgets it, after the last process has closed it.

use super::acls;
use super::convert::{self, absent, attributes, file_type};
use super::privileges::drop_privileges;
use super::replies::{caller, owned_name, reply_attr, reply_empty, reply_entry};
use super::request_handler::RequestHandler;
use super::trees::{self, FileInfo, file_info, live_ino, with_file};
use super::worker::Shared;
use super::xattrs::{self, reply_sized};
use super::{Mountable, Options};
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use wearwell_fuse::fuser::{
    BsdFileFlags, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenAccMode, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory,
    ReplyDirectoryPlus, ReplyEmpty, ReplyEntry, ReplyLseek, ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr,
    Request, TimeOrNow, WriteFlags,
};
use wearwell_nvmfs::api::{Attributes, BLOCK_BYTES, Change, Error, Kind, MAX_NAME_BYTES, Result};

/// Maximum size of one write request, bytes.
const MAX_WRITE_BYTES: u32 = 1 << 20;
/// Files are identified by inode number, so handles are not used.
const NO_HANDLE: FileHandle = FileHandle(0);

/// File system with the request interface of FUSE.
pub struct Adapter<F> {
    shared: Arc<Shared<F>>,
    options: Options,
    open_flags: FopenFlags,
    request_handler: RequestHandler<F>,
    /// True if the kernel enforces access control lists.
    enforces_acls: bool,
}

impl<F: Mountable + Send + 'static> Adapter<F> {
    /// Creates the adapter for the file system that is in `shared`.
    pub fn new(shared: Arc<Shared<F>>, options: Options) -> io::Result<Self> {
        let opened = if options.direct_io {
            FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
        } else {
            // Only this mount changes the files, so cached pages stay valid while a file is closed.
            FopenFlags::FOPEN_KEEP_CACHE
        };
        let serving = RequestHandler::new(Arc::clone(&shared))?;
        Ok(Adapter { shared, options, open_flags: opened, request_handler: serving, enforces_acls: false })
    }

    /// Creates a file in the directory `parent` and replies with its attributes.
    fn make(
        &self,
        parent: INodeNo,
        reply: ReplyEntry,
        make: impl FnMut(&mut F) -> Result<Attributes> + Send + 'static,
    ) {
        let cache_time = self.options.cache_time;
        self.request_handler.serve(make, move |answer| match answer {
            Ok(of) => reply_entry(reply, cache_time, &file_info(parent, &of)),
            Err(error) => reply.error(error),
        });
    }

    /// Returns the time for which the kernel may cache a file's name and attributes.
    fn cache_time(&self, info: &FileInfo) -> Duration {
        if info.is_cacheable { self.options.cache_time } else { Duration::ZERO }
    }
}

impl<F: Mountable + Send + 'static> Filesystem for Adapter<F> {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        let mut flags = InitFlags::FUSE_DO_READDIRPLUS
            | InitFlags::FUSE_READDIRPLUS_AUTO
            | InitFlags::FUSE_ASYNC_DIO
            | InitFlags::FUSE_PARALLEL_DIROPS
            | InitFlags::FUSE_CACHE_SYMLINKS
            | InitFlags::FUSE_NO_OPENDIR_SUPPORT
            | InitFlags::FUSE_HANDLE_KILLPRIV_V2
            | InitFlags::FUSE_POSIX_ACL
            | InitFlags::FUSE_DONT_MASK
            | InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP;
        flags.set(InitFlags::FUSE_WRITEBACK_CACHE, self.options.writeback_cache);
        let offered = flags & config.capabilities();
        config.add_capabilities(offered).expect("the kernel offers these");
        self.enforces_acls = offered.contains(InitFlags::FUSE_POSIX_ACL);
        // If a value is refused, the kernel uses the nearest allowed value (the default of older kernels).
        let _ = config.set_max_write(MAX_WRITE_BYTES);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        match self.shared.request(|fs| trees::lookup(fs, parent, name.as_bytes())) {
            // The kernel may cache the absence of the name.
            Ok(None) => reply.entry(&self.options.cache_time, &absent(), Generation(0)),
            Ok(Some(info)) => reply_entry(reply, self.cache_time(&info), &info),
            Err(error) => reply.error(error),
        }
    }

    fn forget(&self, _: &Request, node_id: INodeNo, _: u64) {
        if let Ok(of) = live_ino(node_id) {
            self.shared.forget(of);
        }
    }

    fn getattr(&self, _: &Request, node_id: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        let result = self.shared.request(|fs| trees::attributes_of(fs, node_id));
        let cache_time = result.as_ref().map_or(Duration::ZERO, |info| self.cache_time(info));
        reply_attr(reply, cache_time, result);
    }

    fn setattr(
        &self,
        request: &Request,
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
        let caller = caller(request);
        let change = Change {
            permissions: mode.map(convert::permissions),
            uid,
            gid,
            size_bytes: size,
            accessed_ns: atime.map(|time| convert::time(time, caller.now_ns)),
            modified_ns: mtime.map(|time| convert::time(time, caller.now_ns)),
        };
        // A truncation by root keeps the privileges of a program file; a change of the owner always drops them.
        let privileges_end = uid.is_some() || gid.is_some() || (size.is_some() && caller.uid != 0);
        let (number, cache_time) = (node_id, self.options.cache_time);
        self.request_handler.serve(
            move |fs| {
                let ino = live_ino(number)?;
                let changed = fs.set_attributes(ino, &change, &caller)?;
                if !privileges_end || mode.is_some() {
                    return Ok(file_info(number, &changed));
                }
                drop_privileges(fs, ino, &caller)?;
                Ok(file_info(number, &fs.attributes(ino)?))
            },
            move |answer| reply_attr(reply, cache_time, answer),
        );
    }

    fn readlink(&self, _: &Request, node_id: INodeNo, reply: ReplyData) {
        match self.shared.request(|fs| with_file(fs, node_id, |fs, ino| fs.read_link(ino))) {
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
        let (name, caller) = (owned_name(name), caller(request));
        self.make(parent, reply, move |fs| {
            let parent = live_ino(parent)?;
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
        let (name, caller) = (owned_name(name), caller(request));
        self.make(parent, reply, move |fs| {
            let parent = live_ino(parent)?;
            let permissions = acls::new_file_permissions(fs, parent, mode, umask);
            fs.make_directory(parent, &name, permissions, &caller)
        });
    }

    fn unlink(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        let unlink = move |fs: &mut F, parent, name: &[u8]| fs.unlink(parent, name, &caller);
        self.request_handler
            .remove_name((parent, owned_name(name)), unlink, |taken| reply_empty(reply, taken));
    }

    fn rmdir(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let caller = caller(request);
        let remove = move |fs: &mut F, parent, name: &[u8]| fs.remove_directory(parent, name, &caller);
        self.request_handler
            .remove_name((parent, owned_name(name)), remove, |taken| reply_empty(reply, taken));
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let (name, target, caller) = (owned_name(name), owned_name(target.as_os_str()), caller(request));
        self.make(parent, reply, move |fs| fs.symlink(live_ino(parent)?, &name, &target, &caller));
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
        let (from, caller) = (owned_name(name), caller(request));
        let rename = move |fs: &mut F, to_parent, to: &[u8]| {
            let how = convert::rename(flags).ok_or(Error::Invalid("kind of rename"))?;
            fs.rename((live_ino(parent)?, &from), (to_parent, to), how, &caller)
        };
        self.request_handler
            .remove_name((to_parent, owned_name(to_name)), rename, |renamed| reply_empty(reply, renamed));
    }

    fn link(&self, request: &Request, node_id: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let (name, caller) = (owned_name(name), caller(request));
        self.make(parent, reply, move |fs| fs.link(live_ino(node_id)?, live_ino(parent)?, &name, &caller));
    }

    fn open(&self, _: &Request, node_id: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        let opened = self.shared.request(|fs| {
            if flags.acc_mode() != OpenAccMode::O_RDONLY {
                live_ino(node_id)?;
            }
            with_file(fs, node_id, |fs, ino| fs.open(ino))
        });
        match opened {
            Ok(()) => reply.opened(NO_HANDLE, self.open_flags),
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
        let (name, caller, cache_time, open_flags) =
            (owned_name(name), caller(request), self.options.cache_time, self.open_flags);
        let make = move |fs: &mut F| {
            let parent = live_ino(parent)?;
            let permissions = acls::new_file_permissions(fs, parent, mode, umask);
            let created = fs.create(parent, &name, Kind::File, permissions, 0, &caller)?;
            fs.open(created.ino)?;
            Ok(created)
        };
        self.request_handler.serve(make, move |made| match made {
            Ok(of) => {
                let generation = Generation(of.generation.into());
                reply.created(&cache_time, &attributes(&of), generation, NO_HANDLE, open_flags);
            }
            Err(error) => reply.error(error),
        });
    }

    fn release(
        &self,
        _: &Request,
        node_id: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        // An open file in a snapshot holds no resources.
        reply_empty(reply, live_ino(node_id).map_or(Ok(()), |of| self.shared.close(of)));
    }

    fn read(
        &self,
        request: &Request,
        node_id: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.request_handler.read(node_id, offset, size, caller(request), reply);
    }

    fn write(
        &self,
        request: &Request,
        node_id: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        flags: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let privileges_end = flags.contains(WriteFlags::FUSE_WRITE_KILL_SUIDGID);
        match live_ino(node_id) {
            Ok(of) => self.request_handler.write(of, offset, data, privileges_end, caller(request), reply),
            Err(error) => reply.error(convert::errno(&error)),
        }
    }

    /// The kernel calls this at every `close`. Nothing is buffered, so ENOSYS tells the kernel not to call it again.
    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.error(Errno::ENOSYS);
    }

    fn fsync(&self, _: &Request, node_id: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        reply_empty(reply, self.shared.request(|fs| with_file(fs, node_id, |fs, ino| fs.sync(ino))));
    }

    fn fsyncdir(&self, _: &Request, node_id: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        reply_empty(reply, self.shared.request(|fs| with_file(fs, node_id, |fs, ino| fs.sync(ino))));
    }

    /// Directories need no handle. ENOSYS tells the kernel not to call this again, and to cache directory entries.
    fn opendir(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.error(Errno::ENOSYS);
    }

    fn readdir(&self, _: &Request, node_id: INodeNo, _: FileHandle, from: u64, mut reply: ReplyDirectory) {
        let answer = self.shared.request(|fs| {
            trees::list(fs, node_id, from, &mut |number, entry| {
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

    fn readdirplus(
        &self,
        _: &Request,
        node_id: INodeNo,
        _: FileHandle,
        from: u64,
        mut reply: ReplyDirectoryPlus,
    ) {
        let mut add = |next, name: &[u8], info: &FileInfo| {
            let (attr, generation) = (&info.attributes, Generation(info.generation.into()));
            reply.add(attr.ino, next, OsStr::from_bytes(name), &self.cache_time(info), attr, generation)
        };
        let answer = self.shared.request(|fs| trees::list_with_info(fs, node_id, from, &mut add));
        match answer {
            Ok(()) => reply.ok(),
            Err(error) => reply.error(error),
        }
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let block = BLOCK_BYTES as u32;
        self.request_handler.serve_after_release(
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
        node_id: INodeNo,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _position: u32,
        reply: ReplyEmpty,
    ) {
        let (number, name, value) = (node_id, owned_name(name), value.to_vec());
        let (caller, pid, has_lists) = (caller(request), request.pid(), self.enforces_acls);
        let set = move |fs: &mut F| {
            if xattrs::is_snapshot_order(number, &name, caller.uid)? {
                return fs.execute_order(&value, caller.now_ns);
            }
            let ino = live_ino(number)?;
            xattrs::check_changeable(number, &name, has_lists)?;
            let how = convert::set_xattr(flags).ok_or(Error::Invalid("flags"))?;
            acls::drop_set_group_id(fs, ino, &name, (&caller, pid))?;
            fs.set_xattr(ino, &name, &value, how, &caller)
        };
        self.request_handler.serve(set, |set| reply_empty(reply, set));
    }

    fn getxattr(&self, _: &Request, node_id: INodeNo, name: &OsStr, buffer_bytes: u32, reply: ReplyXattr) {
        let value = self.shared.request(|fs| xattrs::get(fs, node_id, name.as_bytes(), self.enforces_acls));
        reply_sized(reply, buffer_bytes, value);
    }

    fn listxattr(&self, _: &Request, node_id: INodeNo, buffer_bytes: u32, reply: ReplyXattr) {
        reply_sized(reply, buffer_bytes, self.shared.request(|fs| xattrs::list(fs, node_id)));
    }

    fn removexattr(&self, request: &Request, node_id: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        let name = name.as_bytes();
        let removed = self.shared.request(|fs| {
            xattrs::check_changeable(node_id, name, self.enforces_acls)?;
            fs.remove_xattr(live_ino(node_id)?, name, &caller(request))
        });
        reply_empty(reply, removed);
    }

    fn fallocate(
        &self,
        request: &Request,
        node_id: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let caller = caller(request);
        let allocate = move |fs: &mut F| {
            let how = convert::allocate(mode).ok_or(Error::Unsupported("mode of fallocate"))?;
            fs.allocate(live_ino(node_id)?, how, offset, length, &caller)
        };
        self.request_handler.serve(allocate, |allocated| reply_empty(reply, allocated));
    }

    fn lseek(
        &self,
        _: &Request,
        node_id: INodeNo,
        _: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let found = self.shared.request(|fs| {
            let target = convert::seek(whence).ok_or(Error::Invalid("kind of seek"))?;
            let from = u64::try_from(offset).map_err(|_| Error::NoDataOrHole)?;
            with_file(fs, node_id, |fs, ino| fs.seek(ino, from, target))
        });
        match found {
            Ok(offset) => reply.offset(offset as i64),
            Err(error) => reply.error(error),
        }
    }
}
