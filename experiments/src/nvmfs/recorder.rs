//! A disk that appears as a file to the kernel and records every request.

use crate::Failure;
use crate::nvmfs::clean_up::{CleanUp, output_of};
use crate::nvmfs::pace::Pacer;
use rustix::fs::{FallocateFlags, fallocate};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wearwell_fuse::fuser::{Errno, InitFlags};
use wearwell_fuse::{FILE_NAME, Folder, Options, Session, SingleFile, SingleFileFolder};
use wearwell_trace::{Op, Request, RequestBatch};

const BLOCK_BYTES: u32 = 4096;

/// Storage for the content of a disk.
pub trait Media: Send + Sync {
    /// Fills `out` with the bytes of the disk from `offset` on.
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

    /// A flush does nothing, because the file need not survive a crash of the machine.
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
    /// Unmounts the disk, which also ends the thread that serves it. This field is declared before the session, because
    /// the clean-up waits until the disk is no longer busy.
    _clean_up: CleanUp,
    _session: Session,
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
        let folder = Folder(SingleFileFolder::new(disk));
        let session = Session::start(folder, &mount_point, &Options::new("recorder"))?;
        let mut clean_up = CleanUp::default();
        clean_up.add_unmount(&mount_point.to_string_lossy());
        Ok(Recorder { log, disk: mount_point.join(FILE_NAME), _clean_up: clean_up, _session: session })
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

impl Disk {
    /// Records a request, and waits for its duration.
    fn complete(&self, op: Op, offset_bytes: u64, length_bytes: u64) {
        self.log.push(op, offset_bytes, length_bytes);
        if let Some(pace) = &self.pace {
            pace.wait(op, offset_bytes, length_bytes);
        }
    }
}

impl SingleFile for Disk {
    /// The time is long, because only requests change the disk.
    const CACHE_TIME: Duration = Duration::from_secs(1 << 20);
    const CAPABILITIES: InitFlags = InitFlags::empty();
    const MAX_REQUESTS: Option<u16> = None;

    fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The loop device uses the block size as its discard granularity.
    fn page_bytes(&self) -> u32 {
        BLOCK_BYTES
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Errno> {
        self.media.read(offset, out).map_err(|_| Errno::EIO)?;
        self.complete(Op::Read, offset, out.len() as u64);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Errno> {
        self.media.write(offset, data).map_err(|_| Errno::EIO)?;
        (self.on_write)(&*self.media, offset, data);
        self.complete(Op::Write, offset, data.len() as u64);
        Ok(())
    }

    /// Discards arrive as hole punching. The kernel distinguishes them from zeroing, but a drive without a command
    /// for zeroing would receive zeros, so zeroing counts as a write.
    fn allocate(&self, offset: u64, length: u64, mode: i32) -> Result<(), Errno> {
        let punches = mode as u32 & FallocateFlags::PUNCH_HOLE.bits() != 0;
        if length == 0 || self.media.clear(offset, length, punches).is_err() {
            return Err(Errno::EIO);
        }
        self.complete(if punches { Op::Trim } else { Op::Write }, offset, length);
        Ok(())
    }

    fn flush(&self) -> Result<(), Errno> {
        self.media.flush().map_err(|_| Errno::EIO)?;
        self.complete(Op::Flush, 0, 0);
        Ok(())
    }
}
