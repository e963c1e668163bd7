//! Files in the address space, one behind the other.

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MsyncFlags, ProtFlags, madvise, mmap, mmap_anonymous, msync, munmap};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Where a mapping begins is a multiple of it: DAX devices ask for it, and huge pages need it.
pub(super) const ALIGNMENT: usize = 2 << 20;

/// What becomes of stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Refused unless all files lie on persistent memory; then fenced cache lines are safe without the file system.
    Synchronous,
    /// They reach the files.
    Shared,
    /// They go to copies of pages.
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

/// A range of a file.
pub(super) struct Piece<'a> {
    pub(super) file: &'a File,
    /// Where it begins, in bytes.
    pub(super) from: u64,
    /// How long it is; of all pieces but the last a multiple of a page.
    pub(super) bytes: usize,
}

/// Files in the address space.
pub(super) struct Mapping {
    start: *mut u8,
    bytes: usize,
    /// What was reserved: the same, with what was needed to align it.
    reserved: (*mut u8, usize),
}

// SAFETY: the memory belongs to this value alone and is bound to no thread.
unsafe impl Send for Mapping {}

// SAFETY: through a shared reference the memory is only read.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps the pieces, the second where the first ends and so on.
    ///
    /// # Errors
    ///
    /// What the kernel says, and of which piece; of their number if it has no room for all.
    pub(super) fn new(pieces: &[Piece<'_>], kind: Kind) -> Result<Self, (usize, Errno)> {
        let bytes: usize = pieces.iter().map(|piece| piece.bytes).sum();
        let room = bytes.checked_add(ALIGNMENT).ok_or((pieces.len(), Errno::NOMEM))?;
        // SAFETY: the kernel chooses the address, so that no other memory is touched.
        let reserved =
            unsafe { mmap_anonymous(std::ptr::null_mut(), room, ProtFlags::empty(), MapFlags::PRIVATE) };
        let reserved = reserved.map_err(|error| (pieces.len(), error))?.cast::<u8>();
        let start = reserved.wrapping_add(reserved.align_offset(ALIGNMENT));
        // From here on it is given back if a piece is refused.
        let mapping = Mapping { start, bytes, reserved: (reserved, room) };
        let mut at = start;
        for (index, piece) in pieces.iter().enumerate() {
            let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, kind.flags() | MapFlags::FIXED);
            // SAFETY: the range lies in what was reserved above, and takes the place of nothing else.
            unsafe { mmap(at.cast(), piece.bytes, access, flags, piece.file, piece.from) }
                .map_err(|error| (index, error))?;
            at = at.wrapping_add(piece.bytes);
        }
        // SAFETY: the range was just mapped, and this advice changes no content. A refusal leaves ordinary pages.
        let _ = unsafe { madvise(start.cast(), bytes, Advice::LinuxHugepage) };
        Ok(mapping)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: so many bytes are mapped for as long as this lives; stores need `&mut self`. Other processes are kept
        // away by the lock.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and nobody else has a reference.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }

    /// Waits until `range`, which begins at a page, is in its files.
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
        // SAFETY: reserved by `new`, and no reference is left. It cannot fail for a range that is mapped.
        let _ = unsafe { munmap(self.reserved.0.cast(), self.reserved.1) };
    }
}
