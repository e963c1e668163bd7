//! Trees of files: the live file system, its snapshots, and the directory that lists the snapshots.
//!
//! This directory, `.snapshots` in the root, is in no listing, so that it is not copied when a user copies the whole
//! file system. It exists while there are snapshots, unless the root has a file of that name. The kernel does not
//! cache the directory or its entries, because snapshots are created and deleted.

use super::Mountable;
use super::convert::attributes;
use std::ops::ControlFlow;
use wearwell_fuse::fuser::{FileAttr, INodeNo};
use wearwell_nvmfs::api::{Attributes, Entry, Error, FileSystem, Ino, Kind, ROOT, Result};

/// Name of the snapshot directory in the root.
const DIRECTORY: &[u8] = b".snapshots";
/// View number of the snapshot directory.
const DIRECTORY_VIEW: u32 = u32::MAX;
/// View number of the live file system.
const LIVE_VIEW: u32 = 0;
/// Number of directory entries read before their attributes are queried; about as many as fit into a reply.
const ENTRIES_PER_QUERY: usize = 32;
/// Directory cookie of the position after `.` and `..`, before the first snapshot.
const AFTER_DOTS: u64 = 2;

/// Snapshot that can be viewed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapshotInfo {
    /// View number, which starts at 1 and is never reused during this mount.
    pub number: u32,
    /// Name of the snapshot.
    pub name: String,
    /// Time of its creation, ns since 1970.
    pub created_ns: i64,
}

/// File that an inode number of the kernel identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// File in the live file system.
    Live(Ino),
    /// File in the snapshot with this number.
    Snapshot(u32, Ino),
    /// Snapshot directory.
    Directory,
}

fn node(number: INodeNo) -> Node {
    match ((number.0 >> u32::BITS) as u32, Ino(number.0 as u32)) {
        (LIVE_VIEW, ino) => Node::Live(ino),
        (DIRECTORY_VIEW, _) => Node::Directory,
        (view, ino) => Node::Snapshot(view, ino),
    }
}

fn number(view: u32, ino: Ino) -> INodeNo {
    INodeNo(u64::from(view) << u32::BITS | u64::from(ino.0))
}

/// Returns the kernel's number for file `ino` in the tree of `other`.
pub fn in_same_tree(other: INodeNo, ino: Ino) -> INodeNo {
    number((other.0 >> u32::BITS) as u32, ino)
}

/// Returns the file with this number, so that it can be changed.
///
/// # Errors
/// [`Error::ReadOnly`] if the file is in a snapshot.
pub fn live_ino(number: INodeNo) -> Result<Ino> {
    match node(number) {
        Node::Live(ino) => Ok(ino),
        Node::Snapshot(..) | Node::Directory => Err(Error::ReadOnly),
    }
}

/// Calls `look` with a file and its tree.
///
/// # Errors
/// Errors of `look`; [`Error::Stale`] if the snapshot no longer exists; [`Error::NoAttribute`] for the snapshot
/// directory, which has only names.
pub fn with_file<F: Mountable, T>(
    fs: &mut F,
    node_id: INodeNo,
    work: impl FnOnce(&mut dyn FileSystem, Ino) -> Result<T>,
) -> Result<T> {
    match node(node_id) {
        Node::Live(ino) => work(fs, ino),
        Node::Snapshot(view, ino) => work(&mut *fs.snapshot_view(view).ok_or(Error::Stale)?, ino),
        Node::Directory => Err(Error::NoAttribute),
    }
}

/// Attributes of a file for the kernel. `is_cacheable` is true if the kernel may cache the name and the attributes.
#[derive(Debug)]
pub struct FileInfo {
    pub attributes: FileAttr,
    pub generation: u32,
    pub is_cacheable: bool,
}

/// Returns the attributes of a file in the tree of `other`.
pub fn file_info(other: INodeNo, source: &Attributes) -> FileInfo {
    let attributes = FileAttr { ino: in_same_tree(other, source.ino), ..attributes(source) };
    FileInfo { attributes, generation: source.generation, is_cacheable: true }
}

/// Looks up a name. Returns `None` if the kernel may cache that there is no such file.
///
/// # Errors
/// The errors of [`with_file`]; [`Error::NotFound`] if the absence must not be cached.
pub fn lookup<F: Mountable>(fs: &mut F, parent: INodeNo, name: &[u8]) -> Result<Option<FileInfo>> {
    if node(parent) == Node::Directory {
        let view =
            fs.snapshots().into_iter().find(|view| view.name.as_bytes() == name).ok_or(Error::NotFound)?;
        return root_of(fs, view.number).map(Some);
    }
    let found = with_file(fs, parent, |fs, ino| match fs.lookup(ino, name) {
        Err(Error::NotFound) if fs.attributes(ino).is_ok() => Ok(None),
        other => other.map(Some),
    })?;
    match found {
        None if node(parent) == Node::Live(ROOT) && name == DIRECTORY => match fs.snapshots().is_empty() {
            true => Err(Error::NotFound),
            false => directory(fs).map(Some),
        },
        found => Ok(found.map(|of| file_info(parent, &of))),
    }
}

/// Returns the root of a snapshot.
fn root_of<F: Mountable>(fs: &mut F, view: u32) -> Result<FileInfo> {
    let root = number(view, ROOT);
    with_file(fs, root, |fs, ino| fs.attributes(ino))
        .map(|of| FileInfo { is_cacheable: false, ..file_info(root, &of) })
}

/// Returns the attributes of the snapshot directory. It has the owner of the root and the time of the newest snapshot.
fn directory<F: Mountable>(fs: &mut F) -> Result<FileInfo> {
    let views = fs.snapshots();
    let newest_ns = views.iter().map(|view| view.created_ns).max().unwrap_or(0);
    let root = fs.attributes(ROOT)?;
    let source = Attributes {
        permissions: 0o555,
        links: 2 + views.len() as u32,
        size_bytes: 0,
        blocks: 0,
        accessed_ns: newest_ns,
        modified_ns: newest_ns,
        changed_ns: newest_ns,
        generation: 0,
        ..root
    };
    Ok(FileInfo { is_cacheable: false, ..file_info(number(DIRECTORY_VIEW, ROOT), &source) })
}

/// Returns the attributes of a file.
///
/// # Errors
/// The errors of [`with_file`].
pub fn attributes_of<F: Mountable>(fs: &mut F, node_id: INodeNo) -> Result<FileInfo> {
    match node(node_id) {
        Node::Directory => directory(fs),
        _ => with_file(fs, node_id, |fs, ino| fs.attributes(ino)).map(|known| file_info(node_id, &known)),
    }
}

/// Lists a directory from position `from` on. Calls `each` for every entry, with the kernel's number of its file,
/// until `each` breaks.
///
/// # Errors
/// The errors of [`with_file`].
pub fn list<F: Mountable>(
    fs: &mut F,
    node_id: INodeNo,
    from: u64,
    each: &mut dyn FnMut(INodeNo, &Entry<'_>) -> ControlFlow<()>,
) -> Result<()> {
    if node(node_id) != Node::Directory {
        return with_file(fs, node_id, |fs, ino| {
            fs.read_directory(ino, from, &mut |entry| each(in_same_tree(node_id, entry.ino), &entry))
        });
    }
    let mut views = fs.snapshots();
    // The order does not change when snapshots are created or deleted during the listing.
    views.sort_by_key(|view| view.number);
    let dots = [(1, node_id, ".".to_owned()), (2, number(LIVE_VIEW, ROOT), "..".to_owned())];
    let names = views
        .into_iter()
        .map(|view| (AFTER_DOTS + u64::from(view.number), number(view.number, ROOT), view.name));
    for (next, number, name) in dots.into_iter().chain(names).filter(|(next, ..)| *next > from) {
        let entry = Entry { next, ino: ROOT, kind: Kind::Directory, name: name.as_bytes() };
        if each(number, &entry).is_break() {
            break;
        }
    }
    Ok(())
}

/// Lists a directory with the attributes of each entry, until `add` returns true because the reply is full.
///
/// # Errors
/// The errors of [`with_file`].
pub fn list_with_info<F: Mountable>(
    fs: &mut F,
    node_id: INodeNo,
    from: u64,
    add: &mut dyn FnMut(u64, &[u8], &FileInfo) -> bool,
) -> Result<()> {
    let mut from = from;
    loop {
        let mut entries = Vec::with_capacity(ENTRIES_PER_QUERY);
        list(fs, node_id, from, &mut |number, entry| {
            entries.push((entry.next, number, entry.name.to_vec()));
            let full = entries.len() == ENTRIES_PER_QUERY;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for (next, number, name) in &entries {
            if add(*next, name, &attributes_of(fs, *number)?) {
                return Ok(());
            }
            from = *next;
        }
        if entries.len() < ENTRIES_PER_QUERY {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernel_numbers_are_unique_across_trees() {
        for (view, expected) in
            [(LIVE_VIEW, Node::Live(Ino(7))), (1, Node::Snapshot(1, Ino(7))), (9, Node::Snapshot(9, Ino(7)))]
        {
            assert_eq!(node(number(view, Ino(7))), expected);
            assert_eq!(in_same_tree(number(view, ROOT), Ino(7)), number(view, Ino(7)));
        }
        assert_eq!(number(LIVE_VIEW, Ino(7)), INodeNo(7));
        assert_eq!(node(number(DIRECTORY_VIEW, ROOT)), Node::Directory);
        assert!(live_ino(INodeNo(7)).is_ok() && matches!(live_ino(number(1, Ino(7))), Err(Error::ReadOnly)));
    }
}
