//! Check of names by fsck: walks the tree from the root and checks entries, link counts, parents and the other
//! content of metadata pages.
//!
//! Problems with blocks are found when the store is opened, and must be repaired before this check.

use super::directory;
use super::record::{self, Record};
use crate::api::{BLOCK_BYTES, Ino, Kind, ROOT, Result};
use crate::layout::{Field, Inode, MAX_DIRECTORY_BLOCKS, PageId, decode_xattrs, repaired_acls};
use crate::nvram::Nvram;
use crate::store::Region;
use foldhash::fast::FixedState;
use rayon::prelude::*;
use std::hash::BuildHasher;

/// Offset within an inode of the word whose upper half is the parent of a directory.
const PARENT_WORD: usize = 56;

/// Problem with a name, or with an inode that names lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameProblemKind {
    /// There is no root directory.
    #[error("there is no root directory")]
    NoRoot,
    /// A directory record is malformed.
    #[error("it has an entry that makes no sense")]
    Entry,
    /// An entry refers to a free inode.
    #[error("it has an entry for inode {}, which is not in use", .0.0)]
    Unused(Ino),
    /// The file type of an entry differs from that of its inode.
    #[error("it has an entry that tells another kind than inode {}, to which it leads", .0.0)]
    Kind(Ino),
    /// An entry repeats the name of an earlier entry.
    #[error("it has two entries of one name, the second for inode {}", .0.0)]
    Duplicate(Ino),
    /// An entry refers to a directory that already has a name, or to the root.
    #[error("it has an entry for directory {}, which has a name elsewhere", .0.0)]
    SecondParent(Ino),
    /// The size of a directory does not match its blocks.
    #[error("it has blocks for {0} bytes, and says another size")]
    Size(u64),
    /// A link count is wrong.
    #[error("it has {0} links, and says another number")]
    Links(u32),
    /// A directory records the wrong parent.
    #[error("it is in directory {}, and says another", .0.0)]
    Parent(Ino),
    /// The extended attributes are malformed.
    #[error("its extended attributes make no sense")]
    Xattrs,
    /// An ACL is malformed, or disagrees with the permission bits of the inode.
    #[error("an access control list makes no sense, or shows other permissions than it has")]
    Acl,
    /// A symbolic link has no target.
    #[error("it is a symbolic link without a target")]
    Target,
    /// No name leads to the inode.
    #[error("no name leads to it")]
    Lost,
}

/// Problem with names. Repaired by [`crate::fs::repair`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("inode {}: {kind}", .ino.0)]
pub struct NameProblem {
    /// Inode number of the directory or file.
    pub ino: Ino,
    /// Kind of problem.
    pub kind: NameProblemKind,
    /// Offset and new value of the NVRAM word whose change repairs the problem; `None` if changing one word is not
    /// enough.
    pub(crate) word: Option<(usize, u64)>,
}

/// Number of directories that are checked in one parallel batch. It is a constant, because the batches decide which
/// of two directories keeps a subdirectory that both contain: the result must not depend on the number of processors.
const DIRECTORIES_PER_BATCH: usize = 256;
/// Number of inodes whose links a thread checks as one task.
const INODES_PER_TASK: usize = 8192;

/// Walks all names, using all processors.
///
/// # Errors
/// [`crate::api::Error::Damaged`] if pointers are invalid, which must be repaired first.
pub fn check<N: Nvram>(region: &Region<N>) -> Result<Vec<NameProblem>> {
    let mut walk = Walk { region, links: vec![0; region.inode_limit() as usize], problems: Vec::new() };
    if region.raw_inode(ROOT)?.kind() != Some(Kind::Directory) {
        walk.report(ROOT, NameProblemKind::NoRoot, None);
        return Ok(walk.problems);
    }
    walk.links[ROOT.0 as usize] = 2;
    walk.parent(ROOT, ROOT)?;
    let mut to_visit = vec![ROOT];
    while !to_visit.is_empty() {
        let wave = to_visit.split_off(to_visit.len().saturating_sub(DIRECTORIES_PER_BATCH));
        let gathered: Vec<Result<Directory>> =
            wave.par_iter().map(|dir| Directory::check(region, *dir)).collect();
        for directory in gathered.into_iter().rev() {
            let Directory { dir, problems, entries } = directory?;
            walk.problems.extend(problems);
            entries.into_iter().try_for_each(|entry| walk.entry(dir, &entry, &mut to_visit))?;
        }
    }
    walk.compare_links()?;
    Ok(walk.problems)
}

/// Result of checking one directory separately.
struct Directory {
    dir: Ino,
    problems: Vec<NameProblem>,
    /// Well-formed entries, in order of position.
    entries: Vec<ValidEntry>,
}

/// Well-formed entry.
struct ValidEntry {
    position: u32,
    at: usize,
    length: usize,
    ino: Ino,
    kind: Kind,
    hash: u64,
    name_bytes: usize,
    /// File type of the inode that the entry refers to; `None` if the inode is free.
    target_kind: Option<Kind>,
}

impl ValidEntry {
    fn name<'a, N: Nvram>(&self, region: &'a Region<N>) -> &'a [u8] {
        let at = self.at + record::HEAD_BYTES;
        &region.bytes()[at..at + self.name_bytes]
    }
}

impl Directory {
    fn check<N: Nvram>(region: &Region<N>, dir: Ino) -> Result<Directory> {
        let mut directory = Directory { dir, problems: Vec::new(), entries: Vec::new() };
        let (mut next, mut blocks) = (0, 0);
        while let Some((block, page)) = directory::next_page(region, dir, next, MAX_DIRECTORY_BLOCKS)? {
            directory.block(region, block, page);
            (next, blocks) = (block + 1, block + 1);
        }
        let size_bytes = u64::from(blocks) * BLOCK_BYTES as u64;
        let at = region.field(dir, Field::Size)?;
        if region.word(at) != size_bytes {
            let word = Some((at, size_bytes));
            directory.problems.push(NameProblem { ino: dir, kind: NameProblemKind::Size(size_bytes), word });
        }
        directory.drop_duplicates(region);
        Ok(directory)
    }

    fn free(&mut self, kind: NameProblemKind, at: usize, length: usize) {
        self.problems.push(freed(self.dir, kind, at, length));
    }

    /// Appends the entries of a block.
    fn block<N: Nvram>(&mut self, region: &Region<N>, block: u32, page: PageId) {
        let page_at = region.areas.page(page);
        for record in record::records(region.page(page), region.inode_limit()) {
            match record {
                Err(bad) => {
                    let length = bad.length.unwrap_or(BLOCK_BYTES - bad.at);
                    self.free(NameProblemKind::Entry, page_at + bad.at, length);
                }
                Ok(Record { entry: None, .. }) => {}
                Ok(Record { at, length, entry: Some((ino, kind, name)) }) => self.entries.push(ValidEntry {
                    position: directory::position(block, at),
                    at: page_at + at,
                    length,
                    ino,
                    kind,
                    hash: FixedState::with_seed(0).hash_one(name),
                    name_bytes: name.len(),
                    target_kind: region.raw_inode(ino).ok().and_then(|inode| inode.kind()),
                }),
            }
        }
    }

    /// Keeps only the first of several entries with the same name.
    fn drop_duplicates<N: Nvram>(&mut self, region: &Region<N>) {
        let mut entries = std::mem::take(&mut self.entries);
        entries.par_sort_by(|one, other| {
            let by_name = one.hash.cmp(&other.hash).then_with(|| one.name(region).cmp(other.name(region)));
            by_name.then(one.position.cmp(&other.position))
        });
        let is_twin = |one: &ValidEntry, other: &ValidEntry| {
            one.hash == other.hash && one.name(region) == other.name(region)
        };
        let twins: Vec<bool> =
            (0..entries.len()).map(|at| at > 0 && is_twin(&entries[at - 1], &entries[at])).collect();
        for (entry, _) in entries.iter().zip(&twins).filter(|(_, is_twin)| **is_twin) {
            self.free(NameProblemKind::Duplicate(entry.ino), entry.at, entry.length);
        }
        let mut is_twin = twins.into_iter();
        entries.retain(|_| !is_twin.next().expect("as many"));
        entries.par_sort_by_key(|entry| entry.position);
        self.entries = entries;
    }
}

/// Returns a problem with an entry; the repair frees the record of the entry.
fn freed(dir: Ino, kind: NameProblemKind, at: usize, length: usize) -> NameProblem {
    NameProblem { ino: dir, kind, word: Some((at, record::head(length, None))) }
}

struct Walk<'a, N> {
    region: &'a Region<N>,
    /// Number of links of each inode, counted by names; a directory with a name counts 2 plus one per subdirectory.
    links: Vec<u32>,
    problems: Vec<NameProblem>,
}

impl<N: Nvram> Walk<'_, N> {
    fn report(&mut self, ino: Ino, kind: NameProblemKind, word: Option<(usize, u64)>) {
        self.problems.push(NameProblem { ino, kind, word });
    }

    fn entry(&mut self, dir: Ino, entry: &ValidEntry, to_visit: &mut Vec<Ino>) -> Result<()> {
        let ValidEntry { at, length, ino, .. } = *entry;
        let Some(kind) = entry.target_kind else {
            self.problems.push(freed(dir, NameProblemKind::Unused(ino), at, length));
            return Ok(());
        };
        let links = self.links[ino.0 as usize];
        if kind == Kind::Directory && links > 0 {
            self.problems.push(freed(dir, NameProblemKind::SecondParent(ino), at, length));
            return Ok(());
        }
        if kind != entry.kind {
            let head = record::head(length, Some((ino, kind, entry.name_bytes)));
            self.report(dir, NameProblemKind::Kind(ino), Some((at, head)));
        }
        if kind == Kind::Directory {
            self.links[ino.0 as usize] = 2;
            self.links[dir.0 as usize] += 1;
            self.parent(ino, dir)?;
            to_visit.push(ino);
        } else {
            self.links[ino.0 as usize] = links + 1;
        }
        Ok(())
    }

    fn parent(&mut self, ino: Ino, dir: Ino) -> Result<()> {
        let inode = self.region.inode(ino)?;
        if inode.related != dir.0 {
            let at = self.region.inode_at(ino)? + PARENT_WORD;
            let word = u64::from(inode.generation) | u64::from(dir.0) << 32;
            self.report(ino, NameProblemKind::Parent(dir), Some((at, word)));
        }
        Ok(())
    }

    fn compare_links(&mut self) -> Result<()> {
        let (region, links) = (self.region, &self.links);
        let inos: Vec<Ino> = region.inos().collect();
        let found: Vec<Result<Vec<NameProblem>>> =
            inos.par_chunks(INODES_PER_TASK).map(|inos| check_links(region, inos, links)).collect();
        for problems in found {
            self.problems.extend(problems?);
        }
        Ok(())
    }
}

/// Compares the link counts of inodes with the counted numbers of links.
fn check_links<N: Nvram>(region: &Region<N>, inos: &[Ino], links: &[u32]) -> Result<Vec<NameProblem>> {
    let mut problems = Vec::new();
    for ino in inos.iter().copied() {
        let inode = region.raw_inode(ino)?;
        let links = links[ino.0 as usize];
        if inode.kind().is_none() {
            continue;
        }
        let mut report = |what, word| problems.push(NameProblem { ino, kind: what, word });
        check_metadata(region, ino, &inode, &mut report)?;
        if inode.links == links {
            continue;
        }
        if links == 0 {
            report(NameProblemKind::Lost, None);
        } else {
            let at = region.field(ino, Field::Mode)?;
            let word = u64::from(inode.mode) | u64::from(links) << 32;
            report(NameProblemKind::Links(links), Some((at, word)));
        }
    }
    Ok(problems)
}

/// Checks the metadata pages of an inode, except directory entries.
fn check_metadata<N: Nvram>(
    region: &Region<N>,
    ino: Ino,
    inode: &Inode,
    report: &mut dyn FnMut(NameProblemKind, Option<(usize, u64)>),
) -> Result<()> {
    let xattrs_at = region.field(ino, Field::Xattrs)?;
    let page = region.pointer_page(xattrs_at)?;
    match page.map(|page| decode_xattrs(region.page(page))) {
        Some(None) => report(NameProblemKind::Xattrs, Some((xattrs_at, 0))),
        Some(Some(xattrs)) if repaired_acls(&xattrs, inode).is_some() => report(NameProblemKind::Acl, None),
        _ => {}
    }
    if inode.kind() == Some(Kind::Symlink) && !inode.is_inline_link() {
        let page = region.pointer_page(region.field(ino, Field::Pointers)?)?;
        if page.is_none() || inode.size_bytes > BLOCK_BYTES as u64 {
            report(NameProblemKind::Target, None);
        }
    }
    Ok(())
}
