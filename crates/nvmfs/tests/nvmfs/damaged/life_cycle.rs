//! Life cycle of a damaged file system: it is mounted, used, checked, repaired, and used again.

use crate::common::{Files, OP_WORDS, Op, attempt};
use crate::damaged::image::options;
use crate::damaged::nvrams::AccessLimitedNvram;
use std::ops::ControlFlow;
use std::sync::Arc;
use wearwell_nvmfs::api::{Caller, Error, FileSystem, Ino, Kind, ROOT, Result, Seek};
use wearwell_nvmfs::fs::{Nvmfs, repair};
use wearwell_nvmfs::names::check::check;
use wearwell_nvmfs::nvram::Nvram;
use wearwell_nvmfs::ssd::MemorySsd;
use wearwell_nvmfs::store::{OpenError, Store};

/// Maximum number of NVRAM accesses in a life cycle; an undamaged image takes about a million accesses.
const MAX_ACCESSES: u64 = 20_000_000;
/// Maximum number of rounds of fsck that repair blocks.
const MAX_ROUNDS: usize = 200;
const CALLER: Caller = Caller { uid: 3, gid: 4, now_ns: 2_000 };

type Fs = Nvmfs<AccessLimitedNvram, MemorySsd>;

/// Outcome for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// The image is no longer a file system.
    Refused,
    /// The image could be mounted only after fsck.
    Repaired,
    /// The image was mounted without a repair.
    Mounted,
}

/// Runs the life cycle of an image; panics on any misbehaviour.
pub fn run_life_cycle(nvram: Vec<u8>, ssd: &Arc<MemorySsd>, ops: &[[u32; OP_WORDS]]) -> Fate {
    let mut fate = Fate::Repaired;
    let (nvram, bytes) = (AccessLimitedNvram::new(nvram.clone(), MAX_ACCESSES), nvram);
    let mut nvram = match Fs::mount(nvram, Arc::clone(ssd), options()) {
        Ok((mut fs, _)) => {
            fate = Fate::Mounted;
            use_damaged(&mut fs, ops);
            fs.close()
        }
        Err(error) => {
            assert!(!error.to_string().is_empty() && !matches!(error, OpenError::Ssd(_)), "{error}");
            AccessLimitedNvram::new(bytes, MAX_ACCESSES)
        }
    };
    let Some((repaired, _)) = fsck(nvram, ssd) else { return Fate::Refused };
    let (again, problems) = fsck(repaired, ssd).expect("it was opened before");
    assert_eq!(problems, 0, "fsck finds nothing after fsck");
    nvram = again;
    let (mut fs, _) = Fs::mount(nvram, Arc::clone(ssd), options()).expect("it was put right");
    let errors = walk(&mut fs);
    assert!(errors.iter().all(|(_, error)| is_lost_data(error)), "after fsck: {errors:?}");
    assert_eq!(check(&fs.store().region).expect("blocks are right"), []);
    fs.store().check().expect("the store adds up");
    for op in ops {
        let files = files(&mut fs);
        let done = attempt(&mut fs, &Op::from_words(op), &files, &CALLER, &mut None);
        if let Err(error @ (Error::Damaged(_) | Error::Ssd(_))) = done
            && !is_lost_data(&error)
        {
            panic!("{op:?}: {error}");
        }
    }
    fs.store().check().expect("the store adds up");
    fate
}

/// True for an error about a wrong checksum of data, which cannot be recovered.
fn is_lost_data(error: &Error) -> bool {
    matches!(error, Error::Damaged(text) if text.contains("of the SSD, has a wrong checksum"))
}

/// Checks and repairs; returns the number of problems, or `None` if there is no file system.
fn fsck(nvram: AccessLimitedNvram, ssd: &Arc<MemorySsd>) -> Option<(AccessLimitedNvram, usize)> {
    let mut nvram = nvram;
    let mut problems = 0;
    for _ in 0..MAX_ROUNDS {
        let bytes = nvram.bytes().to_vec();
        let (mut store, found) = match Store::open_damaged(nvram, Arc::clone(ssd), options()) {
            Ok(opened) => opened,
            Err(OpenError::NoFileSystem) => return None,
            // An image that a mount began to change before it failed is repaired, too.
            Err(OpenError::Unpaired { .. }) => {
                let nvram = AccessLimitedNvram::new(bytes, MAX_ACCESSES);
                Store::open_unpaired(nvram, Arc::clone(ssd), options()).expect("it is a file system")
            }
            Err(other) => panic!("{other}"),
        };
        store.begin_epoch().expect("the drive is well");
        if found.scan.problem_count > 0 {
            problems += found.scan.problems.len() + found.scan.areas.len();
            store.repair(&found.scan);
            nvram = store.region.into_nvram();
            continue;
        }
        let mut fs = Fs::open_for_repair(store).expect("blocks are right");
        problems += repair(&mut fs, &CALLER).expect("there is room for lost files").len();
        assert_eq!(check(&fs.store().region).expect("blocks are right"), []);
        return Some((fs.close(), problems));
    }
    panic!("blocks are not right after {MAX_ROUNDS} rounds");
}

/// Uses a file system with arbitrary damage; any error except those of the SSD is accepted.
fn use_damaged(fs: &mut Fs, ops: &[[u32; OP_WORDS]]) {
    let is_expected = |error: &Error| !matches!(error, Error::Ssd(_));
    assert!(walk(fs).iter().all(|(_, error)| is_expected(error)));
    let files = files(fs);
    for op in ops {
        let op = Op::from_words(op);
        // Listings fail on duplicate names, which may occur here.
        if let Op::List { .. } = op {
            continue;
        }
        if let Err(error) = attempt(fs, &op, &files, &CALLER, &mut None) {
            assert!(is_expected(&error), "{op:?}: {error}");
        }
    }
    fs.store().check().expect("the store adds up, whatever names say");
    assert!(walk(fs).iter().all(|(_, error)| is_expected(error)));
}

/// Returns all files, by number.
fn files(fs: &mut Fs) -> Files {
    let mut files = Files { all: vec![ROOT], directories: vec![ROOT], regular: Vec::new(), open: vec![ROOT] };
    for ino in fs.store().region.inos().skip(1) {
        let Ok(attributes) = fs.attributes(ino) else { continue };
        files.all.push(ino);
        match attributes.kind {
            Kind::Directory => files.directories.push(ino),
            Kind::File => files.regular.push(ino),
            _ => {}
        }
    }
    files
}

/// Reads everything; returns the errors.
fn walk(fs: &mut Fs) -> Vec<(Ino, Error)> {
    let inos = fs.store().region.inos();
    let mut errors = Vec::new();
    for ino in inos {
        match fs.attributes(ino) {
            Err(Error::NotFound) => {}
            Err(error) => errors.push((ino, error)),
            Ok(attributes) => {
                errors.extend(xattrs(fs, ino).err().map(|error| (ino, error)));
                let looked = match attributes.kind {
                    Kind::Directory if attributes.links == 0 => Ok(()),
                    Kind::Directory => entries(fs, ino),
                    Kind::Symlink => fs.read_link(ino).map(|target| assert!(target.len() <= 4096)),
                    Kind::File => content(fs, ino, attributes.size_bytes),
                    _ => Ok(()),
                };
                errors.extend(looked.err().map(|error| (ino, error)));
            }
        }
    }
    errors
}

fn xattrs(fs: &mut Fs, ino: Ino) -> Result<()> {
    fs.xattrs(ino)?.iter().try_for_each(|name| fs.xattr(ino, name).map(drop))
}

fn entries(fs: &mut Fs, ino: Ino) -> Result<()> {
    let mut names = Vec::new();
    fs.read_directory(ino, 0, &mut |entry| {
        names.push(entry.name.to_vec());
        ControlFlow::Continue(())
    })?;
    names.iter().try_for_each(|name| fs.lookup(ino, name).map(drop))
}

fn content(fs: &mut Fs, ino: Ino, size_bytes: u64) -> Result<()> {
    let mut out = vec![0; 64 << 10];
    let mut at = 0;
    loop {
        at = match fs.seek(ino, at, Seek::Data) {
            Err(Error::NoDataOrHole) => break,
            start => start?,
        };
        let end = fs.seek(ino, at, Seek::Hole)?;
        assert!(at < end && end <= size_bytes, "{at}..{end} of {size_bytes}");
        while at < end {
            let length = (out.len() as u64).min(end - at) as usize;
            at += fs.read(ino, at, &mut out[..length], &CALLER)? as u64;
        }
    }
    // One read is at the end of the file, where there may be no data.
    fs.read(ino, size_bytes.saturating_sub(10), &mut out, &CALLER).map(drop)
}
