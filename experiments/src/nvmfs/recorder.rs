//! A disk that appears as a file to the kernel and records every request.

use crate::Failure;
use crate::nvmfs::clean_up::{CleanUp, output_of};
use crate::nvmfs::pace::Pacer;
use fuser::{
    Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, KernelConfig,
    LockOwner, OpenFlags, ReplyAttr, ReplyData, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyStatfs, ReplyWrite,
    Request as Asked, WriteFlags,
};
use rustix::fs::{FallocateFlags, fallocate};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, UNIX_EPOCH};
use wearwell_trace::{Op, Request, RequestBatch};

const DISK: INodeNo = INodeNo(2);
const NAME: &str = "disk";
/// Time for which attributes may be cached: only requests change the disk.
const ATTRIBUTE_TTL: Duration = Duration::from_secs(1 << 20);
/// Maximum size of a request of the loop device, bytes.
const MAX_WRITE_BYTES: u32 = 1 << 20;
const BLOCK_BYTES: u32 = 4096;

/// Storage for the content of a disk.
pub trait Media: Send + Sync {
    /// Fills `out` with the bytes from `offset` on.
    ///
    /// # Errors
    /// Returns an error if the media fail.
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()>;

    /// Stores `data` from `offset` on.
    ///
    /// # Errors
    /// Returns an error if the media fail.
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()>;

    /// Clears a range, which then reads as zeroes. `trim` is true for a discard, and false for a write of zeroes.
    ///
    /// # Errors
    /// Returns an error if the media fail.
    fn clear(&self, offset: u64, length: u64, trim: bool) -> io::Result<()>;

    /// Makes all writes durable.
    ///
    /// # Errors
    /// Returns an error if the media fail.
    fn flush(&self) -> io::Result<()>;
}

impl Media for File {
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.read_exact_at(out, offset)
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.write_all_at(data, offset)
    }

    fn clear(&self, offset: u64, length: u64, _trim: bool) -> io::Result<()> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        Ok(fallocate(self, hole, offset, length)?)
    }

    /// This does nothing, because the file need not survive a crash of the machine.
    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// Callback that receives the content of the disk, and an offset with the data that was just written there.
pub type OnWrite = Box<dyn Fn(&dyn Media, u64, &[u8]) + Send + Sync>;

/// Log of the requests so far.
#[derive(Debug)]
struct RequestLog {
    started: Instant,
    requests: Mutex<RequestBatch>,
}

impl RequestLog {
    fn push(&self, op: Op, offset_bytes: u64, length_bytes: u64) {
        let time_ns = self.started.elapsed().as_nanos() as u64;
        let request = Request { time_ns, op, volume: 0, offset_bytes, length_bytes, hint: 0 };
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(&request);
    }
}

/// A disk that is mounted as the file [`Recorder::disk`], and unmounted when dropped.
pub struct Recorder {
    log: Arc<RequestLog>,
    /// Path of the disk.
    pub disk: PathBuf,
    /// Unmounts the disk, which also ends the thread that serves it.
    _clean_up: CleanUp,
}

impl Recorder {
    /// Creates a disk of `bytes` bytes with its content in the folder `scratch`, which is in memory if the folder is
    /// on a tmpfs.
    ///
    /// Errors: those of mounting by FUSE, which requires root.
    pub fn start(scratch: &Path, bytes: u64) -> Result<Recorder, Failure> {
        Recorder::start_with_callback(scratch, bytes, Box::new(|_, _, _| ()))
    }

    /// Creates a disk as [`Recorder::start`] does; `on_write` is called for all writes.
    pub fn start_with_callback(scratch: &Path, bytes: u64, on_write: OnWrite) -> Result<Recorder, Failure> {
        Recorder::serve(scratch, bytes, create_file(scratch, bytes)?, on_write, None)
    }

    /// Creates a disk of `bytes` bytes whose content `media` stores; `scratch` contains only its mount point.
    ///
    /// # Errors
    ///
    /// The errors of [`Recorder::start`].
    pub fn start_with_media(
        scratch: &Path,
        bytes: u64,
        media: Arc<dyn Media>,
        on_write: OnWrite,
    ) -> Result<Recorder, Failure> {
        Recorder::serve(scratch, bytes, media, on_write, None)
    }

    /// Creates a disk as [`Recorder::start`] does; `pace` determines the duration of requests.
    ///
    /// # Errors
    ///
    /// The errors of [`Recorder::start`].
    pub fn start_paced(scratch: &Path, bytes: u64, pace: Arc<Pacer>) -> Result<Recorder, Failure> {
        Recorder::serve(scratch, bytes, create_file(scratch, bytes)?, Box::new(|_, _, _| ()), Some(pace))
    }

    fn serve(
        scratch: &Path,
        bytes: u64,
        media: Arc<dyn Media>,
        on_write: OnWrite,
        pace: Option<Arc<Pacer>>,
    ) -> Result<Recorder, Failure> {
        let mount_point = scratch.join("device");
        std::fs::create_dir_all(&mount_point)?;
        let log = Arc::new(RequestLog { started: Instant::now(), requests: Mutex::default() });
        let disk = Disk { media, bytes, log: Arc::clone(&log), on_write, pace };
        let session = fuser::spawn_mount(disk, &mount_point, &fuser::Config::default())?;
        let mut clean_up = CleanUp::default();
        clean_up.add_unmount(&mount_point.to_string_lossy());
        // Dropping the session would unmount the disk before the file systems on it are unmounted.
        std::mem::forget(session);
        Ok(Recorder { log, disk: mount_point.join(NAME), _clean_up: clean_up })
    }

    /// Returns the number of requests so far.
    pub fn len(&self) -> usize {
        self.log.requests.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// True if there was no request so far.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the requests so far, in the order of arrival.
    pub fn requests(&self) -> RequestBatch {
        self.log.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Creates a sparse file of `bytes` bytes in the folder `scratch`.
fn create_file(scratch: &Path, bytes: u64) -> Result<Arc<dyn Media>, Failure> {
    let file =
        File::options().read(true).write(true).create(true).truncate(true).open(scratch.join("image"))?;
    file.set_len(bytes)?;
    Ok(Arc::new(file))
}

/// Attaches a loop device to the disk; `clean_up` detaches it.
pub fn attach_loop(recorder: &Recorder, clean_up: &mut CleanUp) -> Result<String, Failure> {
    let disk = recorder.disk.to_string_lossy();
    // With sectors of 4 KiB, no request is smaller than a page; with direct I/O, reads reach the disk.
    let device = output_of(&["losetup", "-f", "--show", "-b", "4096", "--direct-io=on", &disk])?;
    clean_up.add(&["losetup", "-d", &device]);
    Ok(device)
}

struct Disk {
    media: Arc<dyn Media>,
    bytes: u64,
    log: Arc<RequestLog>,
    on_write: OnWrite,
    pace: Option<Arc<Pacer>>,
}

fn attributes(ino: INodeNo, kind: FileType, bytes: u64) -> FileAttr {
    FileAttr {
        ino,
        size: bytes,
        blocks: bytes / 512,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm: if kind == FileType::Directory { 0o755 } else { 0o644 },
        nlink: 1,
        uid: 0,
        gid: 0,
        rdev: 0,
        flags: 0,
        blksize: BLOCK_BYTES,
    }
}

impl Disk {
    /// Records a request, and waits for its duration.
    fn complete(&self, op: Op, offset_bytes: u64, length_bytes: u64) {
        self.log.push(op, offset_bytes, length_bytes);
        if let Some(pace) = &self.pace {
            pace.wait(op, offset_bytes, length_bytes);
        }
    }

    fn attributes_of(&self, ino: INodeNo) -> FileAttr {
        match ino {
            DISK => attributes(DISK, FileType::RegularFile, self.bytes),
            _ => attributes(INodeNo::ROOT, FileType::Directory, 0),
        }
    }
}

impl Filesystem for Disk {
    fn init(&mut self, _: &Asked, config: &mut KernelConfig) -> io::Result<()> {
        config.set_max_write(MAX_WRITE_BYTES).map_err(|nearest| {
            io::Error::other(format!("the kernel takes writes of up to {nearest} bytes only"))
        })?;
        Ok(())
    }

    fn lookup(&self, _: &Asked, _: INodeNo, name: &OsStr, reply: ReplyEntry) {
        if name == NAME {
            reply.entry(&ATTRIBUTE_TTL, &self.attributes_of(DISK), Generation(0));
        } else {
            reply.error(Errno::ENOENT);
        }
    }

    fn getattr(&self, _: &Asked, ino: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply.attr(&ATTRIBUTE_TTL, &self.attributes_of(ino));
    }

    fn open(&self, _: &Asked, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let flags = FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES;
        reply.opened(FileHandle(0), flags);
    }

    fn read(
        &self,
        _: &Asked,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let length = u64::from(size).min(self.bytes.saturating_sub(offset));
        let mut buffer = vec![0; length as usize];
        match self.media.read(offset, &mut buffer) {
            Ok(()) => {
                if length > 0 {
                    self.complete(Op::Read, offset, length);
                }
                reply.data(&buffer);
            }
            Err(_) => reply.error(Errno::EIO),
        }
    }

    fn write(
        &self,
        _: &Asked,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let fits = offset.checked_add(data.len() as u64).is_some_and(|end| end <= self.bytes);
        if !fits || self.media.write(offset, data).is_err() {
            return reply.error(Errno::EIO);
        }
        (self.on_write)(&*self.media, offset, data);
        self.complete(Op::Write, offset, data.len() as u64);
        reply.written(data.len() as u32);
    }

    /// Discards arrive as hole punching. The kernel distinguishes them from zeroing, but a drive without a command
    /// for zeroing would receive zeros, so zeroing counts as a write.
    fn fallocate(
        &self,
        _: &Asked,
        _: INodeNo,
        _: FileHandle,
        offset: u64,
        length: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let punches = mode as u32 & FallocateFlags::PUNCH_HOLE.bits() != 0;
        if length == 0 || self.media.clear(offset, length, punches).is_err() {
            return reply.error(Errno::EIO);
        }
        self.complete(if punches { Op::Trim } else { Op::Write }, offset, length);
        reply.ok();
    }

    fn fsync(&self, _: &Asked, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        if self.media.flush().is_err() {
            return reply.error(Errno::EIO);
        }
        self.complete(Op::Flush, 0, 0);
        reply.ok();
    }

    fn flush(&self, _: &Asked, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, _: &Asked, _: INodeNo, reply: ReplyStatfs) {
        // The loop device uses the block size as its discard granularity.
        let blocks = self.bytes / u64::from(BLOCK_BYTES);
        reply.statfs(blocks, 0, 0, 1, 0, BLOCK_BYTES, 255, BLOCK_BYTES);
    }
}
