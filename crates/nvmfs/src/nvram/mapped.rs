//! NVRAM that is mapped files: persistent memory devices, or what takes their place.

use super::Nvram;
use super::cache::CacheLines;
use super::mapping::{Kind, Mapping, Piece};
use crate::api::BLOCK_BYTES;
use crate::backing::{self, Backing, Existing, at_path, refusal};
use rustix::fs::{FallocateFlags, OFlags, fallocate, fstatfs};
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Types of file systems whose content is memory (statfs(2)).
const TMPFS: u64 = 0x0102_1994;
const RAMFS: u64 = 0x8584_58f6;

/// How stores are made persistent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Persistence {
    /// Cache lines on persistent memory and on file systems in memory, [`Persistence::Msync`] on all others.
    #[default]
    Auto,
    /// Cache lines are written back to memory. Where that is not persistent memory, a power cut loses stores.
    CacheLines,
    /// Each fence waits until the pages written back before are in the file (msync).
    Msync,
}

/// What fenced stores survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guarantee {
    /// A power cut: the file lies on persistent memory (MAP_SYNC), and cache lines are written back to it.
    PowerCut,
    /// The death of the process, not that of the system: stores go to the memory that holds the file.
    ProcessDeath,
    /// A power cut, for the price of an msync at each fence.
    Msync,
    /// Nothing: stores go to a copy of the content.
    Nothing,
}

impl std::fmt::Display for Guarantee {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Guarantee::PowerCut => "survives a power cut, cache line by cache line",
            Guarantee::ProcessDeath => "survives the death of the process, but no power cut",
            Guarantee::Msync => "survives a power cut, by an msync at each fence",
            Guarantee::Nothing => "is a copy, which is lost",
        })
    }
}

/// NVRAM in files or DAX devices, which are locked and mapped while this lives.
///
/// A file must not be cut short meanwhile by other programs: a store beyond its end would kill the process.
pub struct MappedNvram {
    mapping: Mapping,
    /// Hold the locks.
    _files: Vec<File>,
    lines: CacheLines,
    guarantee: Guarantee,
    /// Bytes written back since the last fence, whole pages, where an msync is due.
    due: Vec<Range<usize>>,
}

impl MappedNvram {
    /// Makes a file of `bytes` zeros, a multiple of 4096, with all its blocks allocated.
    pub fn create(
        path: impl AsRef<Path>,
        bytes: u64,
        existing: Existing,
        persistence: Persistence,
    ) -> io::Result<Self> {
        let path = path.as_ref();
        check_size(path, bytes)?;
        let backing = backing::create(path, bytes, existing, OFlags::empty())?;
        MappedNvram::map(vec![Part::whole(path, backing)], persistence)
    }

    /// Opens a file or DAX device. Its size must be a multiple of 4096 bytes.
    pub fn open(path: impl AsRef<Path>, persistence: Persistence) -> io::Result<Self> {
        let path = path.as_ref();
        let backing = backing::open(path, OFlags::empty())?;
        check_size(path, backing.bytes)?;
        MappedNvram::map(vec![Part::whole(path, backing)], persistence)
    }

    /// Opens a file for a look: what is stored is seen here, and never reaches the file. Others may look at the same time,
    /// and nobody can write it. The pages stored to take memory.
    pub fn open_private(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = path.as_ref();
        let backing = backing::open_to_read(path, OFlags::empty())?;
        check_size(path, backing.bytes)?;
        MappedNvram::map_private(vec![Part::whole(path, backing)])
    }

    /// What fenced stores survive.
    pub fn guarantee(&self) -> Guarantee {
        self.guarantee
    }

    /// Ranges of files, one after the other.
    pub(super) fn map(parts: Vec<Part>, persistence: Persistence) -> io::Result<Self> {
        for Part { path, backing, .. } in &parts {
            if !backing.is_block_device && !backing.is_character_device {
                allocate(&backing.file, backing.bytes).map_err(|error| at_path(path, error))?;
            }
        }
        let lines = CacheLines::detect();
        let may_sync = persistence != Persistence::Msync && lines.is_known();
        // What survives is what the weakest of them makes survive.
        let (mapping, guarantee) = match may_sync.then(|| mapping(&parts, Kind::Synchronous)) {
            Some(Ok(mapping)) => (mapping, Guarantee::PowerCut),
            _ => {
                let mut all_in_memory = true;
                for part in &parts {
                    all_in_memory &=
                        in_memory(&part.backing.file).map_err(|error| at_path(&part.path, error))?;
                }
                let guarantee = match persistence {
                    Persistence::Auto if !all_in_memory => Guarantee::Msync,
                    Persistence::Msync => Guarantee::Msync,
                    _ => Guarantee::ProcessDeath,
                };
                (mapping(&parts, Kind::Shared)?, guarantee)
            }
        };
        Ok(Self::over(mapping, parts, lines, guarantee))
    }

    /// The same for a look.
    pub(super) fn map_private(parts: Vec<Part>) -> io::Result<Self> {
        let mapping = mapping(&parts, Kind::Private)?;
        Ok(Self::over(mapping, parts, CacheLines::detect(), Guarantee::Nothing))
    }

    fn over(mapping: Mapping, parts: Vec<Part>, lines: CacheLines, guarantee: Guarantee) -> Self {
        let files = parts.into_iter().map(|part| part.backing.file).collect();
        MappedNvram { mapping, _files: files, lines, guarantee, due: Vec::new() }
    }

    /// Waits until the pages that are due are in the file.
    fn sync(&mut self) -> io::Result<()> {
        self.due.sort_unstable_by_key(|range| range.start);
        let mut due = self.due.drain(..).peekable();
        while let Some(mut range) = due.next() {
            // Each msync may be a transaction of the file system below.
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
        let place = self.mapping.bytes_mut()[at..at + 8].as_mut_ptr().cast::<u64>();
        // SAFETY: the 8 bytes lie in the mapping, which begins at a page, so that the place is aligned as `at` is; any bytes
        // are a u64. Volatile, so that the compiler makes one store of it.
        unsafe { place.write_volatile(word.to_le()) }
    }

    fn write_back(&mut self, at: usize, length: usize) {
        let bytes = &self.mapping.bytes()[at..at + length];
        match self.guarantee {
            Guarantee::PowerCut | Guarantee::ProcessDeath => return self.lines.write_back(bytes),
            Guarantee::Nothing => return,
            Guarantee::Msync => {}
        }
        let page = rustix::param::page_size();
        let pages = at / page * page..(at + length).next_multiple_of(page);
        match self.due.last_mut() {
            Some(last) if last.start <= pages.start && pages.start <= last.end => {
                last.end = last.end.max(pages.end);
            }
            _ => self.due.push(pages),
        }
    }

    /// Panics where an msync fails: what was to be safe is not, nobody knows which part of it, and a second attempt may
    /// report success without having written anything.
    fn fence(&mut self) {
        if self.guarantee != Guarantee::Msync {
            return self.lines.fence();
        }
        if let Err(error) = self.sync() {
            panic!("the NVRAM's file takes no more data: {error}");
        }
    }
}

/// A range of a file that is to be mapped.
pub(super) struct Part {
    pub(super) path: PathBuf,
    pub(super) backing: Backing,
    pub(super) range: Range<u64>,
}

impl Part {
    fn whole(path: &Path, backing: Backing) -> Self {
        Part { path: path.to_owned(), range: 0..backing.bytes, backing }
    }
}

/// The ranges, one after the other.
fn mapping(parts: &[Part], kind: Kind) -> io::Result<Mapping> {
    let pieces = parts.iter().map(|Part { backing, range, .. }| Piece {
        file: &backing.file,
        from: range.start,
        bytes: (range.end - range.start) as usize,
    });
    Mapping::new(&pieces.collect::<Vec<_>>(), kind).map_err(|(piece, error)| {
        // Before a piece the room for all of them may have been refused.
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

/// Gives the file all its blocks: a store to one that cannot be had would kill the process.
fn allocate(file: &File, bytes: u64) -> io::Result<()> {
    match fallocate(file, FallocateFlags::empty(), 0, bytes) {
        // Some network file systems cannot; there is nothing else that could be done without writing it all.
        Err(rustix::io::Errno::OPNOTSUPP) => Ok(()),
        done => done.map_err(io::Error::from),
    }
}

fn in_memory(file: &File) -> io::Result<bool> {
    // The type of the field differs between processors, its 32 bits do not.
    let file_system = u64::from(fstatfs(file)?.f_type as u32);
    Ok([TMPFS, RAMFS].contains(&file_system))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::ErrorKind;

    #[test]
    fn content_is_there_when_opened_again_however_it_was_kept() {
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
    fn one_mount_at_a_time() {
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
        // Whoever is just ending is waited for.
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
    fn a_look_changes_nothing_and_keeps_writers_away() {
        let folder = tempfile::tempdir().expect("a folder for temporary files");
        let path = folder.path().join("nvram");
        let mut nvram =
            MappedNvram::create(&path, 8192, Existing::Refuse, Persistence::Auto).expect("a new file");
        nvram.store(0, &[1]);
        assert!(MappedNvram::open_private(&path).is_err(), "it is written");
        drop(nvram);
        let before = std::fs::read(&path).expect("it can be read");
        let mut look = MappedNvram::open_private(&path).expect("nobody writes it");
        let other = MappedNvram::open_private(&path).expect("two may look");
        assert!(MappedNvram::open(&path, Persistence::Auto).is_err(), "it is looked at");
        look.store(0, &[2]);
        look.store_word(4096, 3);
        look.write_back(0, 8192);
        look.fence();
        assert_eq!((look.bytes()[0], look.bytes()[4096]), (2, 3));
        assert_eq!(look.guarantee(), Guarantee::Nothing);
        assert_eq!(other.bytes(), before);
        drop((look, other));
        assert_eq!(std::fs::read(&path).expect("it can be read"), before);
        MappedNvram::open(&path, Persistence::Auto).expect("nobody looks any more");
    }

    #[test]
    fn what_is_no_region_is_refused() {
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
    fn the_guarantee_is_that_of_the_file_system() {
        let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
        let create = |name, persistence| {
            let path = folder.path().join(name);
            MappedNvram::create(path, 4096, Existing::Refuse, persistence).expect("memory for a page")
        };
        // tmpfs is not DAX.
        assert_eq!(create("a", Persistence::Auto).guarantee(), Guarantee::ProcessDeath);
        assert_eq!(create("b", Persistence::CacheLines).guarantee(), Guarantee::ProcessDeath);
        assert_eq!(create("c", Persistence::Msync).guarantee(), Guarantee::Msync);
    }
}
