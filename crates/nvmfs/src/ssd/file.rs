//! SSD in a file or block device.

use super::{Ssd, check_range, whole_blocks};
use crate::api::BLOCK_BYTES;
use crate::backing::{self, Backing, Existing, refusal};
use rustix::fs::{FallocateFlags, OFlags, fallocate};
use rustix::io::Errno;
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// BLKDISCARD of linux/fs.h; its argument is an offset and a length in bytes.
const DISCARD: Opcode = opcode::none(0x12, 119);

/// Use of the kernel's page cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caching {
    /// Reads and writes go through the page cache.
    #[default]
    Cached,
    /// Reads and writes go directly to the device (O_DIRECT).
    Direct,
}

impl Caching {
    fn flags(self) -> OFlags {
        match self {
            Caching::Cached => OFlags::empty(),
            Caching::Direct => OFlags::DIRECT,
        }
    }

    /// Adds an explanation to errors that this setting causes.
    fn explain(self, path: &Path, error: io::Error) -> io::Error {
        if self == Caching::Direct && error.kind() == io::ErrorKind::InvalidInput {
            let problem = format!("cannot be read and written past the page cache (O_DIRECT): {error}");
            return refusal(path, error.kind(), &problem);
        }
        error
    }
}

/// SSD in a file or block device, which stays locked for the lifetime of this value.
pub struct FileSsd {
    file: File,
    blocks: u64,
    is_device: bool,
    is_direct: bool,
    /// True after a trim was refused; from then on, no trim is sent.
    cannot_trim: AtomicBool,
}

impl FileSsd {
    /// Creates a sparse file of `bytes` (a multiple of 4096): unwritten blocks take no space.
    pub fn create(
        path: impl AsRef<Path>,
        bytes: u64,
        existing: Existing,
        caching: Caching,
    ) -> io::Result<Self> {
        let path = path.as_ref();
        check_size(path, bytes)?;
        let backing = backing::create(path, bytes, existing, caching.flags());
        FileSsd::from_backing(path, backing.map_err(|error| caching.explain(path, error))?, caching)
    }

    /// Opens a file or block device. The remainder of a device after its last whole block of 4096 bytes is
    /// not used.
    pub fn open(path: impl AsRef<Path>, caching: Caching) -> io::Result<Self> {
        let path = path.as_ref();
        FileSsd::from_opened(path, backing::open(path, caching.flags()), caching)
    }

    /// Opens a file or device read-only, shared with other readers: writes fail, and trims have no effect.
    pub fn open_read_only(path: impl AsRef<Path>, caching: Caching) -> io::Result<Self> {
        let path = path.as_ref();
        let ssd = FileSsd::from_opened(path, backing::open_read_only(path, caching.flags()), caching)?;
        ssd.cannot_trim.store(true, Relaxed);
        Ok(ssd)
    }

    fn from_opened(path: &Path, opened: io::Result<Backing>, caching: Caching) -> io::Result<Self> {
        let backing = opened.map_err(|error| caching.explain(path, error))?;
        if backing.is_character_device {
            let problem = "is a character device; an SSD is a file or a block device";
            return Err(refusal(path, io::ErrorKind::InvalidInput, problem));
        }
        if !backing.is_block_device {
            check_size(path, backing.bytes)?;
        }
        FileSsd::from_backing(path, backing, caching)
    }

    fn from_backing(path: &Path, backing: Backing, caching: Caching) -> io::Result<Self> {
        let ssd = FileSsd {
            file: backing.file,
            blocks: backing.bytes / BLOCK_BYTES as u64,
            is_device: backing.is_block_device,
            is_direct: caching == Caching::Direct,
            cannot_trim: AtomicBool::new(false),
        };
        // Some file systems accept O_DIRECT when the file is opened and then refuse every request.
        let mut block = [0; BLOCK_BYTES];
        ssd.read(0, &mut block).map_err(|error| caching.explain(path, backing::at_path(path, error)))?;
        Ok(ssd)
    }

    /// True unless a trim was refused. A refused trim is not an error, but no further trims are sent.
    pub fn supports_trim(&self) -> bool {
        !self.cannot_trim.load(Relaxed)
    }

    fn discard(&self, at: u64, bytes: u64) -> rustix::io::Result<()> {
        if !self.is_device {
            return fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, at, bytes);
        }
        // SAFETY: this is BLKDISCARD with the argument that it expects; it touches no memory.
        unsafe { ioctl(&self.file, Setter::<DISCARD, [u64; 2]>::new([at, bytes])) }
    }
}

impl Ssd for FileSsd {
    fn blocks(&self) -> u64 {
        self.blocks
    }

    fn read(&self, first: u64, out: &mut [u8]) -> io::Result<()> {
        whole_blocks(self.blocks, first, out.len())?;
        let at = first * BLOCK_BYTES as u64;
        if !self.is_direct || is_aligned(out) {
            return self.file.read_exact_at(out, at);
        }
        with_aligned(out.len(), |buffer| {
            self.file.read_exact_at(buffer, at)?;
            out.copy_from_slice(buffer);
            Ok(())
        })
    }

    fn write(&self, first: u64, data: &[u8], _stream: u16) -> io::Result<()> {
        whole_blocks(self.blocks, first, data.len())?;
        let at = first * BLOCK_BYTES as u64;
        if !self.is_direct || is_aligned(data) {
            return self.file.write_all_at(data, at);
        }
        with_aligned(data.len(), |buffer| {
            buffer.copy_from_slice(data);
            self.file.write_all_at(buffer, at)
        })
    }

    fn trim(&self, first: u64, blocks: u64) -> io::Result<()> {
        check_range(self.blocks, first, blocks)?;
        if blocks == 0 || !self.supports_trim() {
            return Ok(());
        }
        match self.discard(first * BLOCK_BYTES as u64, blocks * BLOCK_BYTES as u64) {
            Err(Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS) => {
                self.cannot_trim.store(true, Relaxed);
                Ok(())
            }
            done => done.map_err(io::Error::from),
        }
    }

    fn flush(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

fn check_size(path: &Path, bytes: u64) -> io::Result<()> {
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES as u64) {
        let problem = format!("{bytes} bytes are no size of an SSD; it is a multiple of {BLOCK_BYTES} bytes");
        return Err(refusal(path, io::ErrorKind::InvalidInput, &problem));
    }
    Ok(())
}

fn is_aligned(bytes: &[u8]) -> bool {
    bytes.as_ptr().addr().is_multiple_of(BLOCK_BYTES)
}

/// Calls `work` with a block-aligned buffer, as direct I/O requires.
fn with_aligned<T>(bytes: usize, work: impl FnOnce(&mut [u8]) -> T) -> T {
    let mut buffer = vec![0u8; bytes + BLOCK_BYTES];
    let skip = buffer.as_ptr().addr().next_multiple_of(BLOCK_BYTES) - buffer.as_ptr().addr();
    work(&mut buffer[skip..][..bytes])
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn content_survives_reopening_with_and_without_cache() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("ssd");
        let data: Vec<u8> = (0..3 * BLOCK_BYTES + 1).map(|at| (at / 7) as u8).collect();
        for caching in [Caching::Cached, Caching::Direct] {
            let create = || FileSsd::create(&path, 1 << 20, Existing::Overwrite, caching);
            let ssd = match create() {
                // If the temporary directory is in memory, it may not support direct I/O; the error message must then
                // state this.
                Err(error) if caching == Caching::Direct => {
                    assert!(error.to_string().contains("O_DIRECT"), "{error}");
                    continue;
                }
                created => created.expect("a new file"),
            };
            // Of two slices whose starts differ by one byte, at least one slice is not aligned.
            ssd.write(5, &data[1..], 0).expect("within");
            ssd.write(100, &data[..3 * BLOCK_BYTES], 0).expect("within");
            ssd.flush().expect("the file can be synchronised");
            assert!(create().is_err(), "in use");
            drop(ssd);
            let ssd = FileSsd::open(&path, caching).expect("nobody uses it");
            assert_eq!(ssd.blocks(), 256);
            let mut out = vec![0; 3 * BLOCK_BYTES + 1];
            ssd.read(5, &mut out[1..]).expect("within");
            assert_eq!(out[1..], data[1..]);
            ssd.read(100, &mut out[..3 * BLOCK_BYTES]).expect("within");
            assert_eq!(out[..3 * BLOCK_BYTES], data[..3 * BLOCK_BYTES]);
        }
    }

    #[test]
    fn read_only_ssd_does_not_change() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("ssd");
        let ssd = FileSsd::create(&path, 1 << 20, Existing::Refuse, Caching::Cached).expect("a new file");
        ssd.write(3, &[4; BLOCK_BYTES], 0).expect("within");
        assert!(FileSsd::open_read_only(&path, Caching::Cached).is_err(), "it is written");
        drop(ssd);
        let before = std::fs::read(&path).expect("it can be read");
        let ssd = FileSsd::open_read_only(&path, Caching::Cached).expect("nobody writes it");
        assert!(FileSsd::open(&path, Caching::Cached).is_err(), "it is read");
        assert!(ssd.write(0, &[5; BLOCK_BYTES], 0).is_err());
        ssd.trim(3, 1).expect("it has no effect");
        let mut out = [0; BLOCK_BYTES];
        ssd.read(3, &mut out).expect("within");
        assert!(out == [4; BLOCK_BYTES] && std::fs::read(&path).expect("it can be read") == before);
    }

    #[test]
    fn trims_free_space_and_preserve_neighbours() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let path = folder.path().join("ssd");
        let ssd = FileSsd::create(&path, 1 << 20, Existing::Refuse, Caching::Cached).expect("a new file");
        ssd.write(0, &vec![1; 1 << 20], 0).expect("within");
        let sectors = || path.metadata().expect("it exists").blocks();
        let before = sectors();
        ssd.trim(1, 64).expect("tmpfs has holes");
        ssd.trim(7, 0).expect("nothing to do");
        assert!(ssd.supports_trim() && sectors() == before - 64 * 8);
        let mut out = vec![0; 66 * BLOCK_BYTES];
        ssd.read(0, &mut out).expect("within");
        let (kept, trimmed) = ([1; BLOCK_BYTES], vec![0; 64 * BLOCK_BYTES]);
        assert_eq!(out, [&kept[..], &trimmed, &kept].concat());
    }

    #[test]
    fn invalid_ssd_is_rejected_with_its_path() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("ssd");
        let refused = [
            FileSsd::create(&path, 4095, Existing::Refuse, Caching::Cached),
            FileSsd::create(&path, 0, Existing::Refuse, Caching::Cached),
            FileSsd::open(&path, Caching::Cached),
            FileSsd::open(folder.path(), Caching::Cached),
            FileSsd::open("/dev/null", Caching::Cached),
        ];
        for error in refused.into_iter().map(|ssd| ssd.map(|_| ()).expect_err("it is no SSD")) {
            assert!(error.to_string().starts_with('/'), "{error}");
        }
    }
}
