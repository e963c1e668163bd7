//! Creation of files and of further names for files.

use super::{Nvmfs, PERMISSIONS};
use crate::api::{
    Attributes, BLOCK_BYTES, Caller, Error, Ino, Kind, MAX_LINK_TARGET_BYTES, MAX_LINKS, Result,
};
use crate::layout::{BlockLocation, INLINE_BYTES, Inode, PageId, kind_bits};
use crate::names;
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;

const SET_GROUP_ID: u32 = 0o2000;

/// Kind of file to create.
#[derive(Clone, Copy, Debug)]
pub(super) enum NewFile<'a> {
    /// Regular file, pipe, socket or device.
    File {
        kind: Kind,
        permissions: u32,
        device: u32,
    },
    Directory {
        permissions: u32,
    },
    /// Symbolic link to this target.
    Link(&'a [u8]),
}

impl NewFile<'_> {
    pub fn kind(&self) -> Kind {
        match self {
            NewFile::File { kind, .. } => *kind,
            NewFile::Directory { .. } => Kind::Directory,
            NewFile::Link(_) => Kind::Symlink,
        }
    }

    /// Returns the requested permissions; `None` for a link.
    pub fn permissions(&mut self) -> Option<&mut u32> {
        match self {
            NewFile::File { permissions, .. } | NewFile::Directory { permissions } => Some(permissions),
            NewFile::Link(_) => None,
        }
    }

    /// Returns the initial inode without the fields that depend on the caller and the directory; `page` holds the
    /// target of a long link.
    fn inode(&self, parent: Ino, page: Option<u64>) -> Inode {
        let (permissions, links, related) = match self {
            NewFile::File { permissions, device, .. } => (*permissions, 1, *device),
            NewFile::Directory { permissions } => (*permissions, 2, parent.0),
            NewFile::Link(_) => (0o777, 1, 0),
        };
        let mode = kind_bits(self.kind()) | permissions & PERMISSIONS;
        let mut inode = Inode { mode, links, related, ..Inode::default() };
        if let NewFile::Link(target) = self {
            inode.size_bytes = target.len() as u64;
            match page {
                Some(pointer) => (inode.pointers[0], inode.blocks) = (pointer, 1),
                None => inode.set_inline_target(target),
            }
        }
        inode
    }
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Checks that a name can be added to a directory; returns the directory.
    fn check_new_name(&mut self, parent: Ino, name: &[u8]) -> Result<Inode> {
        let directory = self.directory(parent)?;
        names::check_name(name)?;
        if names::is_dot_or_dot_dot(name) || self.names.find(&self.store.region, parent, name)?.is_some() {
            return Err(Error::Exists);
        }
        Ok(directory)
    }

    pub(super) fn make_file(
        &mut self,
        parent: Ino,
        name: &[u8],
        kind: Kind,
        permissions: u32,
        device: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        if matches!(kind, Kind::Directory | Kind::Symlink) {
            self.check_new_name(parent, name)?;
            return Err(Error::Invalid("directories and links are made otherwise"));
        }
        let is_device = matches!(kind, Kind::CharacterDevice | Kind::BlockDevice);
        let device = if is_device { device } else { 0 };
        self.create_inode(parent, name, NewFile::File { kind, permissions, device }, caller)
    }

    pub(super) fn make_link(
        &mut self,
        parent: Ino,
        name: &[u8],
        target: &[u8],
        caller: &Caller,
    ) -> Result<Attributes> {
        self.check_new_name(parent, name)?;
        if target.is_empty() || target.contains(&0) {
            return Err(Error::Invalid("a target is empty or has a 0 in it"));
        }
        if target.len() > MAX_LINK_TARGET_BYTES {
            return Err(Error::NameTooLong);
        }
        self.create_inode(parent, name, NewFile::Link(target), caller)
    }

    /// Creates a file with a name in a directory.
    pub(super) fn create_inode(
        &mut self,
        parent: Ino,
        name: &[u8],
        new: NewFile<'_>,
        caller: &Caller,
    ) -> Result<Attributes> {
        let directory = self.check_new_name(parent, name)?;
        let is_directory = matches!(new, NewFile::Directory { .. });
        if is_directory && directory.links >= MAX_LINKS {
            return Err(Error::TooManyLinks);
        }
        self.store.prepare_to_keep()?;
        let (ino, generation) = self.free_inode()?;
        let (new, xattrs) = self.inherit(parent, &directory, new)?;
        // A symbolic link has a target and no attributes; other files may have attributes.
        let page = match new {
            NewFile::Link(_) => self.target_page(ino, new)?,
            _ => self.xattrs_page(ino, &xattrs)?,
        };
        let location = match self.names.make_room(&mut self.store, parent, name) {
            Ok(room) => room,
            Err(error) => {
                page.map_or(Ok(()), |page| self.store.free_metadata_page(ino, page))?;
                return Err(error);
            }
        };
        let pointer = page.map(|page| BlockLocation::Nvram(page).encode(&self.store.region.areas));
        let mut inode = new.inode(parent, pointer);
        if !xattrs.is_empty() {
            (inode.xattrs, inode.blocks) = (pointer.unwrap_or(0), 1);
        }
        let now_ns = caller.now_ns;
        (inode.accessed_ns, inode.modified_ns, inode.changed_ns) = (now_ns, now_ns, now_ns);
        (inode.uid, inode.gid, inode.generation) = (caller.uid, caller.gid, generation);
        if directory.mode & SET_GROUP_ID != 0 {
            inode.gid = directory.gid;
            inode.mode |= if is_directory { SET_GROUP_ID } else { 0 };
        }
        let mut changes = Changes::default();
        changes.put_inode(ino, inode);
        names::put_entry(&self.store.region, &mut changes, location, (ino, new.kind(), name))?;
        self.touch_directory(&mut changes, parent, caller)?.links += u32::from(is_directory);
        self.store.commit(changes)?;
        self.names.inodes.mark_used(ino);
        self.names.note_added(&self.store.region, location, name);
        self.attributes_of(ino)
    }

    /// Returns a free inode and its generation; adds a page of inodes if none is free.
    fn free_inode(&mut self) -> Result<(Ino, u32)> {
        if let Some(found) = self.names.inodes.find_free(&self.store.region)? {
            return Ok(found);
        }
        let numbers = self.store.add_inode_page()?;
        self.names.inodes.add(numbers);
        let found = self.names.inodes.find_free(&self.store.region)?;
        found.ok_or_else(|| Error::Damaged("new inodes are in use".into()))
    }

    /// Allocates a page for the target of a long symbolic link and stores the target durably.
    fn target_page(&mut self, ino: Ino, new: NewFile<'_>) -> Result<Option<PageId>> {
        let NewFile::Link(target) = new else { return Ok(None) };
        if target.len() <= INLINE_BYTES {
            return Ok(None);
        }
        let page = self.store.new_metadata_page(ino)?;
        self.store.region.store_page(page, target);
        self.store.region.fence();
        Ok(Some(page))
    }

    /// Returns the target of a symbolic link.
    pub(super) fn target(&self, ino: Ino) -> Result<Vec<u8>> {
        let inode = self.store.region.inode(ino)?;
        if inode.kind() != Some(Kind::Symlink) {
            return Err(Error::Invalid("not a symbolic link"));
        }
        if inode.is_inline_link() {
            return Ok(inode.inline_target());
        }
        let at = self.store.region.pointer_at(ino, 0)?.expect("a direct pointer");
        let page = self.store.region.pointer_page(at)?.filter(|_| inode.size_bytes <= BLOCK_BYTES as u64);
        let page = page.ok_or_else(|| Error::Damaged(format!("link {} has no target", ino.0)))?;
        Ok(self.store.region.verified_page(page)?[..inode.size_bytes as usize].to_vec())
    }

    /// Adds a name to an existing file (a hard link).
    pub(super) fn add_name(
        &mut self,
        ino: Ino,
        parent: Ino,
        name: &[u8],
        caller: &Caller,
    ) -> Result<Attributes> {
        self.store.region.inode(ino)?;
        self.check_new_name(parent, name)?;
        let inode = self.store.region.inode(ino)?;
        let kind = inode.kind().ok_or(Error::NotFound)?;
        if kind == Kind::Directory {
            return Err(Error::NotPermitted("a directory has one name"));
        }
        if inode.links == 0 {
            return Err(Error::NotFound);
        }
        if inode.links >= MAX_LINKS {
            return Err(Error::TooManyLinks);
        }
        self.store.prepare_to_keep()?;
        let location = self.names.make_room(&mut self.store, parent, name)?;
        let mut changes = Changes::default();
        names::put_entry(&self.store.region, &mut changes, location, (ino, kind, name))?;
        self.touch_directory(&mut changes, parent, caller)?;
        let inode = changes.inode(&self.store.region, ino)?;
        inode.links += 1;
        inode.changed_ns = caller.now_ns;
        self.store.commit(changes)?;
        self.names.note_added(&self.store.region, location, name);
        self.attributes_of(ino)
    }
}
