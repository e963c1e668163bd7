//! Simple reference file system, with which other file systems are compared.
//!
//! [`ModelFs`] holds all data in maps in memory and implements the documentation of
//! [`FileSystem`](wearwell_nvmfs::api::FileSystem) as simply as possible; it is slow with many files. Inode numbers are never
//! reused.

mod acl;
mod content;
mod operations;
mod rename;
#[cfg(test)]
mod tests;

use content::Content;
use std::collections::BTreeMap;
use wearwell_nvmfs::api::{
    Attributes, BLOCK_BYTES, Caller, Error, Ino, Kind, MAX_LINKS, MAX_NAME_BYTES, RELATIME_NS, ROOT, Result,
};

const PERMISSIONS: u32 = 0o7777;
const SET_GROUP_ID: u32 = 0o2000;

/// Listing positions after `.` and after `..`, for
/// [`FileSystem::read_directory`](wearwell_nvmfs::api::FileSystem::read_directory).
const POSITION_AFTER_DOT: u64 = 1;
const POSITION_AFTER_DOT_DOT: u64 = 2;

/// In-memory file system.
#[derive(Clone, Debug)]
pub struct ModelFs {
    inodes: BTreeMap<Ino, Inode>,
    next_ino: u32,
    capacity_blocks: u64,
    capacity_inodes: u64,
}

#[derive(Clone, Debug)]
struct Inode {
    permissions: u32,
    links: u32,
    uid: u32,
    gid: u32,
    accessed_ns: i64,
    modified_ns: i64,
    changed_ns: i64,
    opens: u32,
    xattrs: BTreeMap<Vec<u8>, Vec<u8>>,
    body: Body,
}

#[derive(Clone, Debug)]
enum Body {
    File(Content),
    Directory(Directory),
    Symlink(Vec<u8>),
    Other { kind: Kind, device: u32 },
}

#[derive(Clone, Debug)]
struct Directory {
    parent: Ino,
    entries: BTreeMap<Vec<u8>, DirectoryEntry>,
    next_position: u64,
}

/// Directory entry.
#[derive(Clone, Copy, Debug)]
struct DirectoryEntry {
    ino: Ino,
    /// Listing position after the entry.
    position: u64,
}

impl Default for ModelFs {
    fn default() -> Self {
        Self::new()
    }
}

impl ModelFs {
    /// Creates an empty file system with space for 2^20 blocks and inodes.
    pub fn new() -> Self {
        Self::with_capacity(1 << 20, 1 << 20)
    }

    /// Creates an empty file system with space for the given numbers of data blocks and inodes, including
    /// the root.
    pub fn with_capacity(blocks: u64, inodes: u64) -> Self {
        let root = Inode {
            permissions: 0o755,
            links: 2,
            uid: 0,
            gid: 0,
            accessed_ns: 0,
            modified_ns: 0,
            changed_ns: 0,
            opens: 0,
            xattrs: BTreeMap::new(),
            body: Body::Directory(Directory::new(ROOT)),
        };
        Self {
            inodes: BTreeMap::from([(ROOT, root)]),
            next_ino: ROOT.0 + 1,
            capacity_blocks: blocks,
            capacity_inodes: inodes,
        }
    }

    /// Simulates a mount: no file is open, and unlinked files are removed.
    pub fn remount(&mut self) {
        self.inodes.retain(|_, inode| inode.links > 0);
        for inode in self.inodes.values_mut() {
            inode.opens = 0;
        }
    }

    fn inode(&self, ino: Ino) -> Result<&Inode> {
        self.inodes.get(&ino).ok_or(Error::NotFound)
    }

    fn inode_mut(&mut self, ino: Ino) -> Result<&mut Inode> {
        self.inodes.get_mut(&ino).ok_or(Error::NotFound)
    }

    /// Returns a directory that was not removed.
    fn directory(&self, ino: Ino) -> Result<&Directory> {
        let inode = self.inode(ino)?;
        match &inode.body {
            Body::Directory(_) if inode.links == 0 => Err(Error::NotFound),
            Body::Directory(directory) => Ok(directory),
            _ => Err(Error::NotDirectory),
        }
    }

    /// Returns a directory for modification, with its modification and change times updated.
    fn directory_to_change(&mut self, ino: Ino, caller: &Caller) -> Result<&mut Directory> {
        self.directory(ino)?;
        let inode = self.inode_mut(ino)?;
        inode.modified(caller);
        match &mut inode.body {
            Body::Directory(directory) => Ok(directory),
            _ => Err(Error::NotDirectory),
        }
    }

    fn content(&self, ino: Ino) -> Result<&Content> {
        match &self.inode(ino)?.body {
            Body::File(content) => Ok(content),
            Body::Directory(_) => Err(Error::IsDirectory),
            _ => Err(Error::Invalid("not a regular file")),
        }
    }

    /// Returns the content of a regular file for modification, with its modification and change times
    /// updated.
    fn content_to_change(&mut self, ino: Ino, caller: &Caller) -> Result<&mut Content> {
        self.content(ino)?;
        let inode = self.inode_mut(ino)?;
        inode.modified(caller);
        match &mut inode.body {
            Body::File(content) => Ok(content),
            _ => Err(Error::Invalid("not a regular file")),
        }
    }

    fn attributes_of(&self, ino: Ino) -> Result<Attributes> {
        let inode = self.inode(ino)?;
        let (size_bytes, blocks) = match &inode.body {
            Body::File(content) => (content.size_bytes(), content.blocks()),
            Body::Directory(_) => (BLOCK_BYTES as u64, 1),
            Body::Symlink(target) => (target.len() as u64, 0),
            Body::Other { .. } => (0, 0),
        };
        Ok(Attributes {
            ino,
            generation: 0,
            kind: inode.kind(),
            permissions: inode.permissions,
            links: inode.links,
            uid: inode.uid,
            gid: inode.gid,
            device: inode.device(),
            size_bytes,
            blocks,
            accessed_ns: inode.accessed_ns,
            modified_ns: inode.modified_ns,
            changed_ns: inode.changed_ns,
        })
    }

    fn free_blocks(&self) -> u64 {
        let used = |inode: &Inode| match &inode.body {
            Body::File(content) => content.blocks(),
            _ => 0,
        };
        self.capacity_blocks - self.inodes.values().map(used).sum::<u64>()
    }

    /// Creates a file with a name.
    fn create_inode(
        &mut self,
        parent: Ino,
        name: &[u8],
        permissions: u32,
        body: Body,
        caller: &Caller,
    ) -> Result<Attributes> {
        self.check_new_name(parent, name)?;
        let is_directory = matches!(body, Body::Directory(_));
        let directory = self.inode(parent)?;
        if is_directory && directory.links >= MAX_LINKS {
            return Err(Error::TooManyLinks);
        }
        let is_group_set = directory.permissions & SET_GROUP_ID != 0;
        let gid = if is_group_set { directory.gid } else { caller.gid };
        let inherited = if is_group_set && is_directory { SET_GROUP_ID } else { 0 };
        if self.inodes.len() as u64 >= self.capacity_inodes {
            return Err(Error::NoSpace("no inode is free"));
        }
        let mut inode = Inode {
            permissions: permissions & PERMISSIONS | inherited,
            links: if is_directory { 2 } else { 1 },
            uid: caller.uid,
            gid,
            accessed_ns: caller.now_ns,
            modified_ns: caller.now_ns,
            changed_ns: caller.now_ns,
            opens: 0,
            xattrs: BTreeMap::new(),
            body,
        };
        inode.inherit(self.inode(parent)?)?;
        let ino = Ino(self.next_ino);
        self.next_ino += 1;
        self.inodes.insert(ino, inode);
        self.directory_to_change(parent, caller)?.insert(name, ino);
        if is_directory {
            self.inode_mut(parent)?.links += 1;
        }
        self.attributes_of(ino)
    }

    /// Checks that a name can be added to a directory.
    fn check_new_name(&self, parent: Ino, name: &[u8]) -> Result<()> {
        let directory = self.directory(parent)?;
        check_name(name)?;
        if is_dot_or_dot_dot(name) || directory.entries.contains_key(name) {
            return Err(Error::Exists);
        }
        Ok(())
    }

    /// Returns the file that has this name, which is neither `.` nor `..`.
    fn entry(&self, parent: Ino, name: &[u8]) -> Result<Ino> {
        let slot = self.directory(parent)?.entries.get(name).ok_or(Error::NotFound)?;
        Ok(slot.ino)
    }

    /// Removes a link from a file and, if the file is then unused, the file. A directory loses its only link.
    fn remove_link(&mut self, ino: Ino, caller: &Caller) -> Result<()> {
        let inode = self.inode_mut(ino)?;
        inode.changed_ns = caller.now_ns;
        inode.links = if inode.is_directory() { 0 } else { inode.links - 1 };
        self.remove_if_unused(ino)
    }

    fn remove_if_unused(&mut self, ino: Ino) -> Result<()> {
        let inode = self.inode(ino)?;
        if inode.links == 0 && inode.opens == 0 {
            self.inodes.remove(&ino);
        }
        Ok(())
    }
}

impl Directory {
    fn new(parent: Ino) -> Self {
        Self { parent, entries: BTreeMap::new(), next_position: POSITION_AFTER_DOT_DOT + 1 }
    }

    /// Sets the file to which a name refers, replacing an existing entry.
    fn insert(&mut self, name: &[u8], ino: Ino) {
        let position = self.next_position;
        let slot = self.entries.entry(name.to_vec()).or_insert(DirectoryEntry { ino, position });
        slot.ino = ino;
        self.next_position += 1;
    }
}

impl Inode {
    fn kind(&self) -> Kind {
        match &self.body {
            Body::File(_) => Kind::File,
            Body::Directory(_) => Kind::Directory,
            Body::Symlink(_) => Kind::Symlink,
            Body::Other { kind, .. } => *kind,
        }
    }

    fn device(&self) -> u32 {
        match self.body {
            Body::Other { kind: Kind::CharacterDevice | Kind::BlockDevice, device } => device,
            _ => 0,
        }
    }

    fn is_directory(&self) -> bool {
        matches!(self.body, Body::Directory(_))
    }

    fn modified(&mut self, caller: &Caller) {
        self.modified_ns = caller.now_ns;
        self.changed_ns = caller.now_ns;
    }

    fn accessed(&mut self, caller: &Caller) {
        let is_old = caller.now_ns.saturating_sub(self.accessed_ns) >= RELATIME_NS;
        if self.accessed_ns <= self.modified_ns || self.accessed_ns <= self.changed_ns || is_old {
            self.accessed_ns = caller.now_ns;
        }
    }
}

fn is_dot_or_dot_dot(name: &[u8]) -> bool {
    name == b"." || name == b".."
}

fn check_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.iter().any(|byte| *byte == 0 || *byte == b'/') {
        return Err(Error::Invalid("a name is empty, or has a 0 or a slash in it"));
    }
    if name.len() > MAX_NAME_BYTES {
        return Err(Error::NameTooLong);
    }
    Ok(())
}
