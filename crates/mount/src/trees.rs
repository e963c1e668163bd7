//! Which tree a file of the kernel's is in: the file system as it is, a snapshot of it, or the directory in which snapshots are found.
//!
//! That directory, `.snapshots` in the root, is in no listing, as it would be copied with all else. It is there as long as there are
//! snapshots, unless somebody made a file of that name. The kernel asks for it, and for what is in it, each time: snapshots come and go.

use super::Mountable;
use super::convert::attributes;
use fuser::{FileAttr, INodeNo};
use std::ops::ControlFlow;
use wearwell_nvmfs::api::{Attributes, Entry, Error, FileSystem, Ino, Kind, ROOT, Result};

/// The directory in the root in which snapshots are.
const DIRECTORY: &[u8] = b".snapshots";
/// Its place among numbers of snapshots.
const DIRECTORY_VIEW: u32 = u32::MAX;
/// That of the file system as it is.
const NOW: u32 = 0;
/// Entries of a directory that are looked at before their attributes are asked for; about what a request has room for.
const ENTRIES_AT_ONCE: usize = 32;
/// Cookies of its listing before the first snapshot: after nothing, `.` and `..`.
const AFTER_DOTS: u64 = 2;

/// A snapshot that can be looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// A number that no other ever had on this mount: from 1 on.
    pub number: u32,
    /// What it is called.
    pub name: String,
    /// When it was made, ns since 1970.
    pub created_ns: i64,
}

/// A file as the kernel names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Node {
    /// In the file system.
    Now(Ino),
    /// As it was in the snapshot with this number.
    Then(u32, Ino),
    /// The directory of snapshots.
    Directory,
}

fn node(number: INodeNo) -> Node {
    match ((number.0 >> u32::BITS) as u32, Ino(number.0 as u32)) {
        (NOW, ino) => Node::Now(ino),
        (DIRECTORY_VIEW, _) => Node::Directory,
        (view, ino) => Node::Then(view, ino),
    }
}

fn number(view: u32, ino: Ino) -> INodeNo {
    INodeNo(u64::from(view) << u32::BITS | u64::from(ino.0))
}

/// The number of a file in the tree in which another is.
pub fn beside(other: INodeNo, ino: Ino) -> INodeNo {
    number((other.0 >> u32::BITS) as u32, ino)
}

/// The file that the kernel names, which is to be changed.
///
/// # Errors
/// [`Error::ReadOnly`] of one in a snapshot.
pub fn now(number: INodeNo) -> Result<Ino> {
    match node(number) {
        Node::Now(ino) => Ok(ino),
        Node::Then(..) | Node::Directory => Err(Error::ReadOnly),
    }
}

/// Looks at a file in the tree in which it is.
///
/// # Errors
/// Those of `look`; [`Error::Stale`] where the snapshot is gone, [`Error::NoAttribute`] of the directory of snapshots, which has nothing
/// but names.
pub fn look<F: Mountable, T>(
    fs: &mut F,
    of: INodeNo,
    look: impl FnOnce(&mut dyn FileSystem, Ino) -> Result<T>,
) -> Result<T> {
    match node(of) {
        Node::Now(ino) => look(fs, ino),
        Node::Then(view, ino) => look(&mut *fs.as_it_was(view).ok_or(Error::Stale)?, ino),
        Node::Directory => Err(Error::NoAttribute),
    }
}

/// What a file that the kernel is told of is, and whether it may remember its name.
#[derive(Debug)]
pub struct Seen {
    pub attributes: FileAttr,
    pub generation: u32,
    pub is_kept: bool,
}

/// A file in the tree in which `other` is.
pub fn seen(other: INodeNo, of: &Attributes) -> Seen {
    let attributes = FileAttr { ino: beside(other, of.ino), ..attributes(of) };
    Seen { attributes, generation: of.generation, is_kept: true }
}

/// What is found under a name; none if the kernel may remember that there is nothing.
///
/// # Errors
/// As [`look`]; [`Error::NotFound`] where there may be something soon.
pub fn lookup<F: Mountable>(fs: &mut F, parent: INodeNo, name: &[u8]) -> Result<Option<Seen>> {
    if node(parent) == Node::Directory {
        let view = fs.views().into_iter().find(|view| view.name.as_bytes() == name).ok_or(Error::NotFound)?;
        return root_of(fs, view.number).map(Some);
    }
    let found = look(fs, parent, |fs, ino| match fs.lookup(ino, name) {
        Err(Error::NotFound) if fs.attributes(ino).is_ok() => Ok(None),
        other => other.map(Some),
    })?;
    match found {
        None if node(parent) == Node::Now(ROOT) && name == DIRECTORY => match fs.views().is_empty() {
            true => Err(Error::NotFound),
            false => directory(fs).map(Some),
        },
        found => Ok(found.map(|of| seen(parent, &of))),
    }
}

/// The root as it was in a snapshot.
fn root_of<F: Mountable>(fs: &mut F, view: u32) -> Result<Seen> {
    let root = number(view, ROOT);
    look(fs, root, |fs, ino| fs.attributes(ino)).map(|of| Seen { is_kept: false, ..seen(root, &of) })
}

/// The directory of snapshots: whose the root is, and as old as the newest of them.
fn directory<F: Mountable>(fs: &mut F) -> Result<Seen> {
    let views = fs.views();
    let newest_ns = views.iter().map(|view| view.created_ns).max().unwrap_or(0);
    let root = fs.attributes(ROOT)?;
    let of = Attributes {
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
    Ok(Seen { is_kept: false, ..seen(number(DIRECTORY_VIEW, ROOT), &of) })
}

/// What is known of a file.
///
/// # Errors
/// As [`look`].
pub fn attributes_of<F: Mountable>(fs: &mut F, of: INodeNo) -> Result<Seen> {
    match node(of) {
        Node::Directory => directory(fs),
        _ => look(fs, of, |fs, ino| fs.attributes(ino)).map(|known| seen(of, &known)),
    }
}

/// Entries of a directory from `from` on, each with the number that the kernel is told, until `each` breaks.
///
/// # Errors
/// As [`look`].
pub fn list<F: Mountable>(
    fs: &mut F,
    of: INodeNo,
    from: u64,
    each: &mut dyn FnMut(INodeNo, &Entry<'_>) -> ControlFlow<()>,
) -> Result<()> {
    if node(of) != Node::Directory {
        return look(fs, of, |fs, ino| {
            fs.read_directory(ino, from, &mut |entry| each(beside(of, entry.ino), &entry))
        });
    }
    let mut views = fs.views();
    // The order in which listing goes on, whatever comes and goes meanwhile.
    views.sort_by_key(|view| view.number);
    let dots = [(1, of, ".".to_owned()), (2, number(NOW, ROOT), "..".to_owned())];
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

/// The same with what is known of each, until `add` says that there is no more room.
///
/// # Errors
/// As [`look`].
pub fn list_seen<F: Mountable>(
    fs: &mut F,
    of: INodeNo,
    from: u64,
    add: &mut dyn FnMut(u64, &[u8], &Seen) -> bool,
) -> Result<()> {
    let mut from = from;
    loop {
        let mut entries = Vec::with_capacity(ENTRIES_AT_ONCE);
        list(fs, of, from, &mut |number, entry| {
            entries.push((entry.next, number, entry.name.to_vec()));
            let full = entries.len() == ENTRIES_AT_ONCE;
            if full { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        for (next, number, name) in &entries {
            if add(*next, name, &attributes_of(fs, *number)?) {
                return Ok(());
            }
            from = *next;
        }
        if entries.len() < ENTRIES_AT_ONCE {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_file_of_each_tree_has_a_number_of_its_own() {
        for (view, wanted) in
            [(NOW, Node::Now(Ino(7))), (1, Node::Then(1, Ino(7))), (9, Node::Then(9, Ino(7)))]
        {
            assert_eq!(node(number(view, Ino(7))), wanted);
            assert_eq!(beside(number(view, ROOT), Ino(7)), number(view, Ino(7)));
        }
        assert_eq!(number(NOW, Ino(7)), INodeNo(7));
        assert_eq!(node(number(DIRECTORY_VIEW, ROOT)), Node::Directory);
        assert!(now(INodeNo(7)).is_ok() && matches!(now(number(1, Ino(7))), Err(Error::ReadOnly)));
    }
}
