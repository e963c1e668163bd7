//! File system operations of the model.

use super::{
    Body, Content, Directory, ModelFs, PERMISSIONS, POSITION_AFTER_DOT, POSITION_AFTER_DOT_DOT, check_name,
    is_dot_or_dot_dot,
};
use std::ops::ControlFlow;
use wearwell_nvmfs::api::{
    ACCESS_ACL, Allocate, Attributes, Caller, Change, DEFAULT_ACL, Entry, Error, FileSystem, Ino, Kind,
    MAX_FILE_BYTES, MAX_LINK_TARGET_BYTES, MAX_LINKS, MAX_XATTR_NAME_BYTES, MAX_XATTRS_BYTES, Rename, Result,
    Seek, SetXattr, Statistics, XATTR_HEAD_BYTES,
};

impl FileSystem for ModelFs {
    fn lookup(&mut self, parent: Ino, name: &[u8]) -> Result<Attributes> {
        let directory = self.directory(parent)?;
        check_name(name)?;
        let ino = match name {
            b"." => parent,
            b".." => directory.parent,
            _ => self.entry(parent, name)?,
        };
        self.attributes_of(ino)
    }

    fn attributes(&mut self, ino: Ino) -> Result<Attributes> {
        self.attributes_of(ino)
    }

    fn set_attributes(&mut self, ino: Ino, change: &Change, caller: &Caller) -> Result<Attributes> {
        if let Some(size_bytes) = change.size_bytes {
            self.content(ino)?;
            if size_bytes > MAX_FILE_BYTES {
                return Err(Error::TooLarge);
            }
            self.content_to_change(ino, caller)?.resize(size_bytes);
        }
        let inode = self.inode_mut(ino)?;
        let Change { permissions, uid, gid, size_bytes: _, accessed_ns, modified_ns } = *change;
        if permissions.is_some() || uid.is_some() || gid.is_some() || accessed_ns.or(modified_ns).is_some() {
            inode.changed_ns = caller.now_ns;
        }
        inode.set_permissions(permissions.map_or(inode.permissions, |bits| bits & PERMISSIONS));
        inode.uid = uid.unwrap_or(inode.uid);
        inode.gid = gid.unwrap_or(inode.gid);
        inode.accessed_ns = accessed_ns.unwrap_or(inode.accessed_ns);
        inode.modified_ns = modified_ns.unwrap_or(inode.modified_ns);
        self.attributes_of(ino)
    }

    fn create(
        &mut self,
        parent: Ino,
        name: &[u8],
        kind: Kind,
        permissions: u32,
        device: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        let body = match kind {
            Kind::File => Body::File(Content::default()),
            Kind::Directory | Kind::Symlink => {
                self.check_new_name(parent, name)?;
                return Err(Error::Invalid("directories and links are made otherwise"));
            }
            _ => Body::Other { kind, device },
        };
        self.create_inode(parent, name, permissions, body, caller)
    }

    fn make_directory(
        &mut self,
        parent: Ino,
        name: &[u8],
        permissions: u32,
        caller: &Caller,
    ) -> Result<Attributes> {
        self.create_inode(parent, name, permissions, Body::Directory(Directory::new(parent)), caller)
    }

    fn symlink(&mut self, parent: Ino, name: &[u8], target: &[u8], caller: &Caller) -> Result<Attributes> {
        self.check_new_name(parent, name)?;
        if target.is_empty() || target.contains(&0) {
            return Err(Error::Invalid("a target is empty or has a 0 in it"));
        }
        if target.len() > MAX_LINK_TARGET_BYTES {
            return Err(Error::NameTooLong);
        }
        self.create_inode(parent, name, 0o777, Body::Symlink(target.to_vec()), caller)
    }

    fn read_link(&mut self, ino: Ino) -> Result<Vec<u8>> {
        match &self.inode(ino)?.body {
            Body::Symlink(target) => Ok(target.clone()),
            _ => Err(Error::Invalid("not a symbolic link")),
        }
    }

    fn link(&mut self, ino: Ino, parent: Ino, name: &[u8], caller: &Caller) -> Result<Attributes> {
        self.inode(ino)?;
        self.check_new_name(parent, name)?;
        let inode = self.inode_mut(ino)?;
        if inode.is_directory() {
            return Err(Error::NotPermitted("a directory has one name"));
        }
        if inode.links == 0 {
            return Err(Error::NotFound);
        }
        if inode.links >= MAX_LINKS {
            return Err(Error::TooManyLinks);
        }
        inode.links += 1;
        inode.changed_ns = caller.now_ns;
        self.directory_to_change(parent, caller)?.insert(name, ino);
        self.attributes_of(ino)
    }

    fn unlink(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.directory(parent)?;
        check_name(name)?;
        if is_dot_or_dot_dot(name) || self.inode(self.entry(parent, name)?)?.is_directory() {
            return Err(Error::IsDirectory);
        }
        let ino = self.entry(parent, name)?;
        self.directory_to_change(parent, caller)?.entries.remove(name);
        self.remove_link(ino, caller)
    }

    fn remove_directory(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.directory(parent)?;
        check_name(name)?;
        match name {
            b"." => return Err(Error::Invalid("`.` cannot be removed")),
            b".." => return Err(Error::NotEmpty),
            _ => {}
        }
        let ino = self.entry(parent, name)?;
        if !self.directory(ino)?.entries.is_empty() {
            return Err(Error::NotEmpty);
        }
        self.directory_to_change(parent, caller)?.entries.remove(name);
        self.inode_mut(parent)?.links -= 1;
        self.remove_link(ino, caller)
    }

    fn rename(&mut self, from: (Ino, &[u8]), to: (Ino, &[u8]), how: Rename, caller: &Caller) -> Result<()> {
        self.rename_entry(from, to, how, caller)
    }

    fn open(&mut self, ino: Ino) -> Result<()> {
        self.inode_mut(ino)?.opens += 1;
        Ok(())
    }

    fn release(&mut self, ino: Ino) -> Result<()> {
        let inode = self.inode_mut(ino)?;
        inode.opens = inode.opens.checked_sub(1).ok_or(Error::Invalid("nobody has the file open"))?;
        self.remove_if_unused(ino)
    }

    fn read(&mut self, ino: Ino, offset: u64, out: &mut [u8], caller: &Caller) -> Result<usize> {
        let count = self.content(ino)?.read(offset, out);
        if !out.is_empty() {
            self.inode_mut(ino)?.accessed(caller);
        }
        Ok(count)
    }

    fn write(&mut self, ino: Ino, offset: u64, data: &[u8], caller: &Caller) -> Result<usize> {
        let content = self.content(ino)?;
        if data.is_empty() {
            return Ok(0);
        }
        let below_limit = MAX_FILE_BYTES.saturating_sub(offset).min(data.len() as u64);
        if below_limit == 0 {
            return Err(Error::TooLarge);
        }
        let fitting = content.fitting_bytes(offset, below_limit, self.free_blocks());
        if fitting == 0 {
            return Err(Error::NoSpace("no block is free"));
        }
        self.content_to_change(ino, caller)?.write(offset, &data[..fitting as usize]);
        Ok(fitting as usize)
    }

    fn allocate(&mut self, ino: Ino, how: Allocate, offset: u64, length: u64, caller: &Caller) -> Result<()> {
        let content = self.content(ino)?;
        if length == 0 {
            return Err(Error::Invalid("a range of no bytes"));
        }
        let end = offset.checked_add(length).filter(|end| *end <= MAX_FILE_BYTES).ok_or(Error::TooLarge)?;
        let lacks_room = content.fitting_bytes(offset, length, self.free_blocks()) < length;
        if matches!(how, Allocate::Reserve { .. }) && lacks_room {
            return Err(Error::NoSpace("too few blocks are free"));
        }
        let content = self.content_to_change(ino, caller)?;
        match how {
            Allocate::Reserve { keep_size } => content.reserve(offset, length, keep_size),
            Allocate::Punch | Allocate::Zero { keep_size: true } => content.punch(offset, length),
            Allocate::Zero { keep_size: false } => {
                content.punch(offset, length);
                let size_bytes = content.size_bytes();
                if end > size_bytes {
                    content.resize(end);
                }
            }
        }
        Ok(())
    }

    fn seek(&mut self, ino: Ino, offset: u64, what: Seek) -> Result<u64> {
        let content = self.content(ino)?;
        if offset >= content.size_bytes() {
            return Err(Error::NoDataOrHole);
        }
        content.seek(offset, what == Seek::Data).ok_or(Error::NoDataOrHole)
    }

    fn sync(&mut self, ino: Ino) -> Result<()> {
        self.inode(ino).map(|_| ())
    }

    fn read_directory(
        &mut self,
        ino: Ino,
        from: u64,
        each: &mut dyn FnMut(Entry<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let directory = self.directory(ino)?;
        let mut listing = vec![
            (POSITION_AFTER_DOT, ino, b".".as_slice()),
            (POSITION_AFTER_DOT_DOT, directory.parent, b"..".as_slice()),
        ];
        listing
            .extend(directory.entries.iter().map(|(name, slot)| (slot.position, slot.ino, name.as_slice())));
        listing.sort_unstable();
        for (next, ino, name) in listing.into_iter().filter(|(place, ..)| *place > from) {
            let kind = self.inode(ino)?.kind();
            if each(Entry { next, ino, kind, name }).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn xattr(&mut self, ino: Ino, name: &[u8]) -> Result<Vec<u8>> {
        let inode = self.inode(ino)?;
        check_xattr_name(name)?;
        inode.xattrs.get(name).cloned().ok_or(Error::NoAttribute)
    }

    fn set_xattr(
        &mut self,
        ino: Ino,
        name: &[u8],
        value: &[u8],
        how: SetXattr,
        caller: &Caller,
    ) -> Result<()> {
        let inode = self.inode_mut(ino)?;
        check_xattr_name(name)?;
        match (how, inode.xattrs.contains_key(name)) {
            (SetXattr::Create, true) => return Err(Error::Exists),
            (SetXattr::Replace, false) => return Err(Error::NoAttribute),
            _ => {}
        }
        let is_list = name == ACCESS_ACL || name == DEFAULT_ACL;
        let (value, permissions) = match is_list {
            true => inode.acl_to_store(name, value)?,
            false => (Some(value.to_vec()), inode.permissions),
        };
        let bytes = |name: &[u8], value: &[u8]| XATTR_HEAD_BYTES + name.len() + value.len();
        let other_bytes: usize = inode
            .xattrs
            .iter()
            .filter(|(other, _)| *other != name)
            .map(|(name, value)| bytes(name, value))
            .sum();
        if other_bytes + value.as_ref().map_or(0, |value| bytes(name, value)) > MAX_XATTRS_BYTES {
            return Err(Error::NoSpace("the extended attributes of a file take 4080 bytes at most"));
        }
        inode.permissions = permissions;
        match value {
            Some(value) => drop(inode.xattrs.insert(name.to_vec(), value)),
            None => drop(inode.xattrs.remove(name)),
        }
        inode.changed_ns = caller.now_ns;
        Ok(())
    }

    fn xattrs(&mut self, ino: Ino) -> Result<Vec<Vec<u8>>> {
        Ok(self.inode(ino)?.xattrs.keys().cloned().collect())
    }

    fn remove_xattr(&mut self, ino: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        let inode = self.inode_mut(ino)?;
        check_xattr_name(name)?;
        inode.xattrs.remove(name).ok_or(Error::NoAttribute)?;
        inode.changed_ns = caller.now_ns;
        Ok(())
    }

    fn statistics(&mut self) -> Result<Statistics> {
        Ok(Statistics {
            blocks: self.capacity_blocks,
            free_blocks: self.free_blocks(),
            available_blocks: self.free_blocks(),
            inodes: self.capacity_inodes,
            free_inodes: self.capacity_inodes - self.inodes.len() as u64,
        })
    }
}

fn check_xattr_name(name: &[u8]) -> Result<()> {
    if name.is_empty() || name.contains(&0) {
        return Err(Error::Invalid("a name is empty or has a 0 in it"));
    }
    if name.len() > MAX_XATTR_NAME_BYTES {
        return Err(Error::NameTooLong);
    }
    Ok(())
}
