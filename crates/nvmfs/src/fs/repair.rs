//! Repair of the problems found by [`crate::names::check`].

use super::Nvmfs;
use crate::api::{Caller, Error, FileSystem, Ino, Kind, ROOT, Result};
use crate::layout::{Inode, kind_bits};
use crate::names::check::{NameProblem, NameProblemKind, check};
use crate::names::{Names, check_name, directory, put_entry};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;

/// Directory in which repair gives names to unlinked files.
const LOST_AND_FOUND: &[u8] = b"lost+found";

/// Repairs all problems with names and removes unused files. An unlinked file that is not empty gets a name in
/// `/lost+found`: `#` and its inode number. Returns the problems.
///
/// # Errors
/// [`Error::NoSpace`] if there is no space for new names; [`Error::Damaged`] if damaged blocks were not repaired
/// before.
pub fn repair<N: Nvram, S: Ssd>(fs: &mut Nvmfs<N, S>, caller: &Caller) -> Result<Vec<NameProblem>> {
    let mut repaired = Vec::new();
    // Each round repairs every problem that it finds, except files in lost directories; the number of lost
    // directories decreases in each round.
    for _ in 0..fs.store.region.inode_limit() {
        let problems = check(&fs.store.region)?;
        if problems.is_empty() {
            break;
        }
        set_words(fs, &problems)?;
        let inos_of = |kind| problems.iter().filter(move |one| one.kind == kind).map(|one| one.ino);
        for ino in inos_of(NameProblemKind::Acl)
            .filter(|ino| fs.store.region.inode(*ino).is_ok())
            .collect::<Vec<_>>()
        {
            fs.repair_acls(ino)?;
        }
        // The names of these files are removed in the next round.
        for ino in inos_of(NameProblemKind::Target) {
            fs.remove_inode(ino)?;
        }
        let lost = inos_of(NameProblemKind::Lost).filter(|ino| fs.store.region.inode(*ino).is_ok()).collect();
        for ino in topmost(fs, lost)? {
            link_lost_file(fs, ino, caller)?;
        }
        repaired.extend(problems);
    }
    let orphans = fs.orphans()?;
    fs.remove_orphans(&orphans)?;
    Ok(repaired)
}

fn set_words<N: Nvram, S: Ssd>(fs: &mut Nvmfs<N, S>, problems: &[NameProblem]) -> Result<()> {
    if problems.iter().any(|problem| problem.kind == NameProblemKind::NoRoot) {
        let mode = kind_bits(Kind::Directory) | 0o755;
        let root = Inode { mode, links: 2, related: ROOT.0, ..Inode::default() };
        fs.store.region.store(fs.store.region.inode_at(ROOT)?, &root.encode());
    }
    fs.store.patch(problems.iter().filter_map(|problem| problem.word));
    if problems.iter().any(|problem| problem.kind == NameProblemKind::Xattrs) {
        // Blocks that no pointer leads to become free.
        fs.store.rescan();
    }
    // The in-memory state may be outdated after the repair.
    fs.names = Names::new(&fs.store.region, fs.store.options().index_bytes)?;
    Ok(())
}

/// Returns the lost files that are not in a lost directory. If each is in a lost directory, returns one of the files.
fn topmost<N: Nvram, S: Ssd>(fs: &Nvmfs<N, S>, lost: Vec<Ino>) -> Result<Vec<Ino>> {
    let region = &fs.store.region;
    let mut is_below = vec![false; region.inode_limit() as usize];
    for &dir in &lost {
        if region.inode(dir)?.kind() == Some(Kind::Directory) {
            directory::list(region, dir, 0, |_, ino, _, _| {
                is_below[ino.0 as usize] |= ino != dir;
                std::ops::ControlFlow::Continue(())
            })
            // Entries after a malformed entry are examined in a later round, after the directory has got a name.
            .or_else(|error| if matches!(error, Error::Damaged(_)) { Ok(()) } else { Err(error) })?;
        }
    }
    let first = lost.first().copied();
    let top: Vec<Ino> = lost.into_iter().filter(|ino| !is_below[ino.0 as usize]).collect();
    Ok(if top.is_empty() { first.into_iter().collect() } else { top })
}

/// Gives a lost file a name, or removes it if it is empty.
fn link_lost_file<N: Nvram, S: Ssd>(fs: &mut Nvmfs<N, S>, ino: Ino, caller: &Caller) -> Result<()> {
    let inode = fs.store.region.inode(ino)?;
    let kind = inode.kind().ok_or(Error::NotFound)?;
    let is_empty = match kind {
        Kind::File => inode.size_bytes == 0,
        Kind::Directory => matches!(directory::is_empty(&fs.store.region, ino), Ok(true)),
        _ => false,
    };
    if is_empty {
        return fs.remove_inode(ino);
    }
    let dir = lost_and_found(fs, caller)?;
    let mut name = format!("#{}", ino.0).into_bytes();
    while fs.names.find(&fs.store.region, dir, &name)?.is_some() {
        name.push(b'_');
        check_name(&name)?;
    }
    let location = fs.names.make_room(&mut fs.store, dir, &name)?;
    let mut changes = Changes::default();
    put_entry(&fs.store.region, &mut changes, location, (ino, kind, &name))?;
    let inode = changes.inode(&fs.store.region, ino)?;
    if kind == Kind::Directory {
        // The remaining links of a directory, such as those from its subdirectories, are counted in the next round.
        inode.related = dir.0;
        changes.inode(&fs.store.region, dir)?.links += 1;
    } else {
        inode.links = 1;
    }
    fs.store.commit(changes)?;
    fs.names.note_added(&fs.store.region, location, &name);
    Ok(())
}

/// Returns the directory for unlinked files, after creating it if necessary. Returns the root if a file that is not a
/// directory has this name.
fn lost_and_found<N: Nvram, S: Ssd>(fs: &mut Nvmfs<N, S>, caller: &Caller) -> Result<Ino> {
    match fs.lookup(ROOT, LOST_AND_FOUND) {
        Ok(there) if there.kind == Kind::Directory => Ok(there.ino),
        Ok(_) => Ok(ROOT),
        Err(Error::NotFound) => match fs.make_directory(ROOT, LOST_AND_FOUND, 0o700, caller) {
            Ok(made) => Ok(made.ino),
            // There is no inode or page for the directory; the root may still have free space for a name.
            Err(Error::NoSpace(_)) => Ok(ROOT),
            Err(error) => Err(error),
        },
        Err(error) => Err(error),
    }
}
