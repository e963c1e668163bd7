//! Reading and changing file attributes.

use super::{Nvmfs, PERMISSIONS};
use crate::api::{
    Attributes, BLOCK_BYTES, Caller, Change, Error, Ino, Kind, MAX_FILE_BYTES, RELATIME_NS, Result,
};
use crate::layout::{Field, Inode};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::Changes;

fn set_attributes(inode: &mut Inode, change: &Change, now_ns: i64) {
    let Change { permissions, uid, gid, size_bytes, accessed_ns, modified_ns } = *change;
    let is_any = permissions.is_some() || uid.is_some() || gid.is_some() || size_bytes.is_some();
    if is_any || accessed_ns.or(modified_ns).is_some() {
        inode.changed_ns = now_ns;
    }
    if let Some(size_bytes) = size_bytes {
        inode.size_bytes = size_bytes;
        inode.modified_ns = now_ns;
    }
    if let Some(permissions) = permissions {
        inode.mode = inode.mode & !PERMISSIONS | permissions & PERMISSIONS;
    }
    inode.uid = uid.unwrap_or(inode.uid);
    inode.gid = gid.unwrap_or(inode.gid);
    inode.accessed_ns = accessed_ns.unwrap_or(inode.accessed_ns);
    inode.modified_ns = modified_ns.unwrap_or(inode.modified_ns);
}

impl Inode {
    /// Returns the attributes of the file with this number, if the inode is in use.
    pub(super) fn attributes(&self, ino: Ino) -> Option<Attributes> {
        let kind = self.kind()?;
        let is_device = matches!(kind, Kind::CharacterDevice | Kind::BlockDevice);
        Some(Attributes {
            ino,
            generation: self.generation,
            kind,
            permissions: self.mode & PERMISSIONS,
            links: self.links,
            uid: self.uid,
            gid: self.gid,
            device: if is_device { self.related } else { 0 },
            size_bytes: self.size_bytes,
            blocks: self.blocks.into(),
            accessed_ns: self.accessed_ns,
            modified_ns: self.modified_ns,
            changed_ns: self.changed_ns,
        })
    }
}

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    pub(super) fn attributes_of(&self, ino: Ino) -> Result<Attributes> {
        self.store.region.inode(ino)?.attributes(ino).ok_or(Error::NotFound)
    }

    pub(super) fn change_attributes(
        &mut self,
        ino: Ino,
        change: &Change,
        caller: &Caller,
    ) -> Result<Attributes> {
        self.store.region.inode(ino)?;
        self.store.prepare_to_keep()?;
        let mut changes = Changes::default();
        if let Some(permissions) = change.permissions {
            self.change_acl(&mut changes, ino, permissions)?;
        }
        if let Some(size_bytes) = change.size_bytes {
            self.file(ino)?;
            if size_bytes > MAX_FILE_BYTES {
                return Err(Error::TooLarge);
            }
            self.clear_tail(ino, size_bytes)?;
            self.store.prepare_removal(ino, size_bytes.div_ceil(BLOCK_BYTES as u64), u64::MAX)?;
        }
        let inode = changes.inode(&self.store.region, ino)?;
        if change.size_bytes.is_some_and(|size_bytes| size_bytes <= inode.size_bytes) {
            // Reserved blocks beyond the new end are freed, too.
            inode.related = 0;
        }
        set_attributes(inode, change, caller.now_ns);
        self.store.commit(changes)?;
        if change.size_bytes.is_some() {
            self.free_beyond_end(ino)?;
            self.flush_if_needed()?;
        }
        self.attributes_of(ino)
    }

    /// Updates the access time if it is due (relatime).
    pub(super) fn note_access(&mut self, ino: Ino, inode: &Inode, caller: &Caller) -> Result<()> {
        let is_old = caller.now_ns.saturating_sub(inode.accessed_ns) >= RELATIME_NS;
        if inode.accessed_ns <= inode.modified_ns || inode.accessed_ns <= inode.changed_ns || is_old {
            match self.store.keep_inode(ino) {
                // Without free space to keep the inode for a snapshot, the read succeeds and the access time is not
                // updated.
                Err(Error::NoSpace(_)) => return Ok(()),
                kept => kept?,
            }
            self.set_field(ino, Field::Accessed, caller.now_ns as u64)?;
            self.store.region.fence();
        }
        Ok(())
    }

    /// Updates size and times after the content of a file was changed durably; the size becomes at least
    /// `size_bytes`.
    pub(super) fn note_change(&mut self, ino: Ino, size_bytes: u64, caller: &Caller) -> Result<()> {
        if self.store.region.inode(ino)?.size_bytes < size_bytes {
            self.set_field(ino, Field::Size, size_bytes)?;
        }
        self.set_field(ino, Field::Modified, caller.now_ns as u64)?;
        self.set_field(ino, Field::Changed, caller.now_ns as u64)?;
        self.store.region.fence();
        Ok(())
    }

    fn set_field(&mut self, ino: Ino, field: Field, word: u64) -> Result<()> {
        let at = self.store.region.field(ino, field)?;
        self.store.region.store_word(at, word);
        Ok(())
    }
}
