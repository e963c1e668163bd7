//! Mapping of several files into one contiguous range of addresses.

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, mmap_anonymous, msync, munmap};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Alignment of a mapping, which DAX devices and huge pages require.
pub(super) const ALIGNMENT: usize = 2 << 20;

/// Destination of stores to a mapping.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Stores reach the files, which must all be on persistent memory; fenced cache lines are durable
    /// without the file system.
    Synchronous,
    /// Stores reach the files.
    Shared,
    /// Stores go to private copies of pages.
    Private,
}

impl Kind {
    fn flags(self) -> MapFlags {
        match self {
            Kind::Synchronous => MapFlags::SHARED_VALIDATE | MapFlags::SYNC,
            Kind::Shared => MapFlags::SHARED,
            Kind::Private => MapFlags::PRIVATE | MapFlags::NORESERVE,
        }
    }
}

/// Range of a file that is mapped.
pub(super) struct Piece<'a> {
    pub(super) file: &'a File,
    /// Offset of the range, bytes.
    pub(super) offset: u64,
    /// Length of the range in bytes; a multiple of the page size in all pieces except the last one.
    pub(super) bytes: usize,
}

/// Contiguous mapping of files.
pub(super) struct Mapping {
    start: *mut u8,
    bytes: usize,
    /// Reserved address range: the mapping and the padding that aligns it.
    reserved: (*mut u8, usize),
}

// SAFETY: this value owns the memory exclusively, and the memory is not bound to a thread.
unsafe impl Send for Mapping {}

// SAFETY: through a shared reference the memory is only read.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the pieces one after the other.
    ///
    /// # Errors
    ///
    /// The error of the kernel, and the index of the piece; the index is the number of pieces if the reservation of
    /// addresses failed.
    pub(super) fn new(pieces: &[Piece<'_>], kind: Kind) -> Result<Self, (usize, Errno)> {
        let bytes: usize = pieces.iter().map(|piece| piece.bytes).sum();
        let reserved_bytes = bytes.checked_add(ALIGNMENT).ok_or((pieces.len(), Errno::NOMEM))?;
        // SAFETY: the kernel chooses the address, so that no other memory is touched.
        let reserved = unsafe {
            mmap_anonymous(std::ptr::null_mut(), reserved_bytes, ProtFlags::empty(), MapFlags::PRIVATE)
        };
        let reserved = reserved.map_err(|error| (pieces.len(), error))?.cast::<u8>();
        let start = reserved.wrapping_add(reserved.align_offset(ALIGNMENT));
        // From here on, `mapping` releases the reservation when dropped, for example if the kernel refuses a piece.
        let mapping = Mapping { start, bytes, reserved: (reserved, reserved_bytes) };
        let mut at = start;
        for (index, piece) in pieces.iter().enumerate() {
            let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, kind.flags() | MapFlags::FIXED);
            // SAFETY: the range lies in the reservation above, and replaces nothing else.
            unsafe { mmap(at.cast(), piece.bytes, access, flags, piece.file, piece.offset) }
                .map_err(|error| (index, error))?;
            at = at.wrapping_add(piece.bytes);
        }
        // SAFETY: the range was just mapped, and this advice changes no content. If it is refused,
        // ordinary pages remain.
        let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
        Ok(mapping)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: the range is mapped for the lifetime of this value; stores need `&mut self`. The lock
        // excludes other processes.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` excludes other references.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Waits until `range`, which begins at a page boundary, has reached the files.
    pub(super) fn sync(&self, range: Range<usize>) -> io::Result<()> {
        let range = range.start..range.end.min(self.bytes);
        let bytes = &self.bytes()[range];
        // SAFETY: the range is mapped, and its content is not changed.
        unsafe { msync(bytes.as_ptr().cast_mut().cast(), bytes.len(), MsyncFlags::SYNC) }?;
        Ok(())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the range was reserved by `new`, and no reference is left. Unmapping a mapped range
        // cannot fail.
        let _ = unsafe { munmap(self.reserved.0.cast(), self.reserved.1) };
    }
}
