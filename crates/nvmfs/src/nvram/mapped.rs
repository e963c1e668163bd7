//! NVRAM in mapped files: persistent memory devices, or ordinary files in place of them.

use super::Nvram;
use super::cache::WriteBackInstruction;
use super::mapping::{Kind, Mapping, Piece};
use crate::api::BLOCK_BYTES;
use crate::backing::{self, Backing, Existing, at_path, refusal};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fstatfs};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Type numbers of memory-backed file systems (statfs(2)).
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// Method that makes stores persistent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// Cache line write-back on persistent memory and on memory-backed file systems, [`Persistence::Msync`]
    /// on all other file systems.
    #[default]
    Auto,
    /// Cache line write-back. Without persistent memory, a power cut loses stores.
    CacheLines,
    /// At each fence, msync of the pages that were written back since the last fence.
    Msync,
}

/// Event that fenced stores survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// A power cut: the file is on persistent memory (MAP_SYNC), and cache lines are written back.
    PowerCut,
    /// A crash of the process but not of the system: stores go to the memory that holds the file.
    ProcessCrash,
    /// A power cut, at the cost of an msync at each fence.
    Msync,
    /// No event, because stores go to a private copy of the content.
    Nothing,
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Guarantee::PowerCut => "survives a power cut, cache line by cache line",
            Guarantee::ProcessCrash => "survives the death of the process, but no power cut",
            Guarantee::Msync => "survives a power cut, by an msync at each fence",
            Guarantee::Nothing => "is a copy, which is lost",
        })
    }
}

/// NVRAM in files or DAX devices, which stay locked and mapped for the lifetime of this value.
///
/// Other programs must not truncate a file meanwhile: a store beyond its end would kill the process.
pub struct MappedNvram {
    mapping: Mapping,
    /// Open files, which hold the locks.
    _files: Vec<File>,
    instruction: WriteBackInstruction,
    guarantee: Guarantee,
    /// Page-aligned ranges that were written back since the last fence; used with msync.
    pending_sync: Vec<Range<usize>>,
}

impl MappedNvram {
    /// Creates a file of `bytes` zeros (a multiple of 4096) with all its blocks allocated.
    pub fn create(
        path: impl AsRef<Path>,
        bytes: u64,
        existing: Existing,
        persistence: Persistence,
    ) -> io::Result<Self> {
        let path = path.as_ref();
        check_size(path, bytes)?;
        let backing = backing::create(path, bytes, existing, OFlags::empty())?;
        MappedNvram::map(vec![Part::whole_file(path, backing)], persistence)
    }

    /// Opens a file or DAX device. Its size must be a multiple of 4096 bytes.
    pub fn open(path: impl AsRef<Path>, persistence: Persistence) -> io::Result<Self> {
        let path = path.as_ref();
        let backing = backing::open(path, OFlags::empty())?;
        check_size(path, backing.bytes)?;
        MappedNvram::map(vec![Part::whole_file(path, backing)], persistence)
    }

    /// Opens a file for inspection: stores are visible through this value and never reach the file. Other readers may
    /// open the file at the same time; writers cannot. Modified pages take memory.
    pub fn open_private(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let backing = backing::open_read_only(path, OFlags::empty())?;
        check_size(path, backing.bytes)?;
        MappedNvram::map_private(vec![Part::whole_file(path, backing)])
    }

    /// Returns the event that fenced stores survive.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Maps ranges of files, one after the other.
    pub(super) fn map(parts: Vec<Part>, persistence: Persistence) -> io::Result<Self> {
        for Part { path, backing, .. } in &parts {
            if !backing.is_block_device && !backing.is_character_device {
                allocate(&backing.file, backing.bytes).map_err(|error| at_path(path, error))?;
            }
        }
        let lines = WriteBackInstruction::detect();
        let may_sync = persistence != Persistence::Msync && lines.is_known();
        // All files together have the guarantee of the weakest file.
        let (mapping, guarantee) = match may_sync.then(|| mapping(&parts, Kind::Synchronous)) {
            Some(Ok(mapping)) => (mapping, Guarantee::PowerCut),
            _ => {
                let mut all_in_memory = true;
                for part in &parts {
                    all_in_memory &=
                        is_memory_backed(&part.backing.file).map_err(|error| at_path(&part.path, error))?;
                }
                let guarantee = match persistence {
                    Persistence::Auto if !all_in_memory => Guarantee::Msync,
                    Persistence::Msync => Guarantee::Msync,
                    _ => Guarantee::ProcessCrash,
                };
                (mapping(&parts, Kind::Shared)?, guarantee)
            }
        };
        Ok(Self::from_mapping(mapping, parts, lines, guarantee))
    }

    /// Maps ranges of files privately, for inspection.
    pub(super) fn map_private(parts: Vec<Part>) -> io::Result<Self> {
        let mapping = mapping(&parts, Kind::Private)?;
        Ok(Self::from_mapping(mapping, parts, WriteBackInstruction::detect(), Guarantee::Nothing))
    }

    fn from_mapping(
        mapping: Mapping,
        parts: Vec<Part>,
        lines: WriteBackInstruction,
        guarantee: Guarantee,
    ) -> Self {
        let files = parts.into_iter().map(|part| part.backing.file).collect();
        MappedNvram { mapping, _files: files, instruction: lines, guarantee, pending_sync: Vec::new() }
    }

    /// Waits until the pending ranges have reached the files.
    fn sync(&mut self) -> io::Result<()> {
        self.pending_sync.sort_unstable_by_key(|range| range.start);
        let mut due = self.pending_sync.drain(..).peekable();
        while let Some(mut range) = due.next() {
            // Adjacent ranges are merged, because each msync may be a transaction of the underlying
            // file system.
            while let Some(next) = due.next_if(|next| next.start <= range.end) {
                range.end = range.end.max(next.end);
            }
            self.mapping.sync(range)?;
        }
        Ok(())
    }
}

impl Nvram for MappedNvram {
    fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }

    fn store(&mut self, at: usize, bytes: &[u8]) {
        self.mapping.bytes_mut()[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn store_word(&mut self, at: usize, word: u64) {
        assert!(at.is_multiple_of(8), "a word at {at} may be torn");
        let pointer = self.mapping.bytes_mut()[at..at + 8].as_mut_ptr().cast::<u64>();
        // SAFETY: the 8 bytes lie in the mapping, which begins at a page boundary, so the address is
        // aligned because `at` is. Any bytes are a valid u64. The volatile write compiles to a single
        // store.
        unsafe { pointer.write_volatile(word.to_le()) }
    }

    fn write_back(&mut self, at: usize, length: usize) {
        let bytes = &self.mapping.bytes()[at..at + length];
        match self.guarantee {
            Guarantee::PowerCut | Guarantee::ProcessCrash => return self.instruction.write_back(bytes),
            Guarantee::Nothing => return,
            Guarantee::Msync => {}
        }
        let page = rustix::param::page_size();
        let pages = at / page * page..(at + length).next_multiple_of(page);
        match self.pending_sync.last_mut() {
            Some(last) if last.start <= pages.start && pages.start <= last.end => {
                last.end = last.end.max(pages.end);
            }
            _ => self.pending_sync.push(pages),
        }
    }

    /// Panics if an msync fails: data that should be durable is not durable, and the affected part is unknown. A second
    /// msync may report success without having written anything.
    fn fence(&mut self) {
        if self.guarantee != Guarantee::Msync {
            return self.instruction.fence();
        }
        if let Err(error) = self.sync() {
            panic!("the NVRAM's file takes no more data: {error}");
        }
    }
}

/// Range of a file to map.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) backing: Backing,
    pub(super) range: Range<u64>,
}

impl Part {
    fn whole_file(path: &Path, backing: Backing) -> Self {
        Part { path: path.to_owned(), range: 0..backing.bytes, backing }
    }
}

/// Maps the ranges of the files, one after the other.
fn mapping(parts: &[Part], kind: Kind) -> io::Result<Mapping> {
    let pieces = parts.iter().map(|Part { backing, range, .. }| Piece {
        file: &backing.file,
        offset: range.start,
        bytes: (range.end - range.start) as usize,
    });
    Mapping::new(&pieces.collect::<Vec<_>>(), kind).map_err(|(piece, error)| {
        // If the index is past the last piece, the reservation of addresses for all pieces failed.
        parts.get(piece).map_or(error.into(), |part| at_path(&part.path, error))
    })
}

pub(super) fn check_size(path: &Path, bytes: u64) -> io::Result<()> {
    if bytes == 0 || !bytes.is_multiple_of(BLOCK_BYTES as u64) || usize::try_from(bytes).is_err() {
        let problem = format!("{bytes} bytes are no size of NVRAM; it is a multiple of {BLOCK_BYTES} bytes");
        return Err(refusal(path, io::ErrorKind::InvalidInput, &problem));
    }
    Ok(())
}

/// Allocates all blocks of the file: a store to a block that cannot be allocated would kill the process.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Some network file systems do not support this; the only alternative would be to write all
        // blocks.
        Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
        done => done.map_err(io::Error::from),
    }
}

fn is_memory_backed(file: &File) -> io::Result<bool> {
    // The type of the field differs between architectures, but its low 32 bits do not.
    let file_system = u64::from(fstatfs(file)?.f_type as u32);
    Ok([TMPFS, RAMFS].contains(&file_system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn content_survives_reopening_with_every_persistence() {
        for persistence in [Persistence::Auto, Persistence::CacheLines, Persistence::Msync] {
            let folder = tempfile::tempdir().expect("a folder for temporary files");
            let path = folder.path().join("nvram");
            let mut nvram =
                MappedNvram::create(&path, 16384, Existing::Refuse, persistence).expect("a new file");
            nvram.store(4000, &[7; 200]);
            nvram.store_word(8192, 0x0102_0304_0506_0708);
            nvram.write_back(4000, 200);
            nvram.write_back(8192, 8);
            nvram.write_back(100, 0);
            nvram.fence();
            let content = nvram.bytes().to_vec();
            assert_eq!(std::fs::read(&path).expect("it can be read"), content);
            drop(nvram);
            assert_eq!(content[3999..4202], [&[0][..], &[7; 200], &[0, 0]].concat());
            assert_eq!(content[8192..8200], [8, 7, 6, 5, 4, 3, 2, 1]);
            let nvram = MappedNvram::open(&path, persistence).expect("nobody uses it");
            assert_eq!(nvram.bytes(), content);
        }
    }

    #[test]
    fn second_open_fails_until_lock_is_released() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("nvram");
        let create = |existing| MappedNvram::create(&path, 8192, existing, Persistence::Auto);
        let mut nvram = create(Existing::Refuse).expect("a new file");
        nvram.store(0, &[1]);
        for refused in [create(Existing::Overwrite), MappedNvram::open(&path, Persistence::Auto)] {
            let error = refused.map(|_| ()).expect_err("it is in use");
            assert_eq!(error.kind(), ErrorKind::ResourceBusy);
            assert_eq!(error.to_string(), format!("{}: is in use by another process", path.display()));
        }
        assert_eq!(nvram.bytes()[0], 1);
        // Opening waits for a process that is about to exit.
        let ending = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(100));
            drop(nvram);
        });
        drop(MappedNvram::open(&path, Persistence::Auto).expect("it is free in a moment"));
        ending.join().expect("no panic");
        let error = create(Existing::Refuse).map(|_| ()).expect_err("it exists");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(create(Existing::Overwrite).expect("it may be lost").bytes(), [0; 8192]);
    }

    #[test]
    fn private_mapping_changes_nothing_and_excludes_writers() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("nvram");
        let mut nvram =
            MappedNvram::create(&path, 8192, Existing::Refuse, Persistence::Auto).expect("a new file");
        nvram.store(0, &[1]);
        assert!(MappedNvram::open_private(&path).is_err(), "it is written");
        drop(nvram);
        let before = std::fs::read(&path).expect("it can be read");
        let mut private = MappedNvram::open_private(&path).expect("nobody writes it");
        let other = MappedNvram::open_private(&path).expect("two may look");
        assert!(MappedNvram::open(&path, Persistence::Auto).is_err(), "it is looked at");
        private.store(0, &[2]);
        private.store_word(4096, 3);
        private.write_back(0, 8192);
        private.fence();
        assert_eq!((private.bytes()[0], private.bytes()[4096]), (2, 3));
        assert_eq!(private.guarantee(), Guarantee::Nothing);
        assert_eq!(other.bytes(), before);
        drop((private, other));
        assert_eq!(std::fs::read(&path).expect("it can be read"), before);
        MappedNvram::open(&path, Persistence::Auto).expect("nobody looks any more");
    }

    #[test]
    fn invalid_regions_are_rejected() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("nvram");
        for bytes in [0, 4095, 4097] {
            let created = MappedNvram::create(&path, bytes, Existing::Refuse, Persistence::Auto);
            assert!(created.is_err() && !path.exists());
            std::fs::write(&path, vec![0; bytes as usize]).expect("a small file");
            assert!(MappedNvram::open(&path, Persistence::Auto).is_err());
            std::fs::remove_file(&path).expect("it was just written");
        }
        assert!(MappedNvram::open(folder.path(), Persistence::Auto).is_err());
        assert!(MappedNvram::open(&path, Persistence::Auto).is_err());
    }

    #[test]
    fn guarantee_depends_on_file_system() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let create = |name, persistence| {
            let path = folder.path().join(name);
            MappedNvram::create(path, 4096, Existing::Refuse, persistence).expect("memory for a page")
        };
        // A file on tmpfs is not a DAX device.
        assert_eq!(create("a", Persistence::Auto).guarantee(), Guarantee::ProcessCrash);
        assert_eq!(create("b", Persistence::CacheLines).guarantee(), Guarantee::ProcessCrash);
        assert_eq!(create("c", Persistence::Msync).guarantee(), Guarantee::Msync);
    }
}
