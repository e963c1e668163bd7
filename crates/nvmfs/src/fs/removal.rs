//! Removal of names, and of files that lose their last name.

use super::Nvmfs;
use crate::api::{Caller, Error, Ino, Kind, ROOT, Result};
use crate::names::{self, FoundEntry};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use crate::store::{Changes, Region};
use std::ops::Range;

impl<N: Nvram, S: Ssd> Nvmfs<N, S> {
    /// Removes a name that does not refer to a directory.
    pub(super) fn remove_name(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.directory(parent)?;
        names::check_name(name)?;
        if names::is_dot_or_dot_dot(name) {
            return Err(Error::IsDirectory);
        }
        let found = self.entry(parent, name)?;
        if self.inode_of_entry(found.ino)?.kind() == Some(Kind::Directory) {
            return Err(Error::IsDirectory);
        }
        self.remove_entry(parent, name, found, caller)
    }

    /// Removes an empty directory.
    pub(super) fn remove_empty(&mut self, parent: Ino, name: &[u8], caller: &Caller) -> Result<()> {
        self.directory(parent)?;
        names::check_name(name)?;
        match name {
            b"." => return Err(Error::Invalid("`.` cannot be removed")),
            b".." => return Err(Error::NotEmpty),
            _ => {}
        }
        let found = self.entry(parent, name)?;
        self.inode_of_entry(found.ino)?;
        self.check_empty(found.ino)?;
        self.remove_entry(parent, name, found, caller)
    }

    /// Fails unless the inode is an empty directory other than the root.
    pub(super) fn check_empty(&self, ino: Ino) -> Result<()> {
        self.directory(ino)?;
        if ino == ROOT {
            return Err(Error::Damaged("a name leads to the root directory".into()));
        }
        if names::is_empty(&self.store.region, ino)? { Ok(()) } else { Err(Error::NotEmpty) }
    }

    fn remove_entry(&mut self, parent: Ino, name: &[u8], found: FoundEntry, caller: &Caller) -> Result<()> {
        self.store.prepare_to_keep()?;
        let mut changes = Changes::default();
        let freed = names::free_entry(&self.store.region, &mut changes, parent, found, None)?;
        self.touch_directory(&mut changes, parent, caller)?;
        self.remove_link(&mut changes, parent, found.ino, caller)?;
        self.store.commit(changes)?;
        self.names.note_removed(&mut self.store, name, found, freed)?;
        self.remove_if_unused(found.ino)
    }

    /// Adds to `changes` the update of a file that loses a name in a directory; a directory has only one name.
    pub(super) fn remove_link(
        &self,
        changes: &mut Changes,
        parent: Ino,
        ino: Ino,
        caller: &Caller,
    ) -> Result<()> {
        let inode = changes.inode(&self.store.region, ino)?;
        let is_directory = inode.kind() == Some(Kind::Directory);
        inode.changed_ns = caller.now_ns;
        inode.links = if is_directory { 0 } else { inode.links.saturating_sub(1) };
        if is_directory {
            let parent = changes.inode(&self.store.region, parent)?;
            parent.links = parent.links.saturating_sub(1);
        }
        Ok(())
    }

    /// Removes a file that has no name and is not open.
    pub(super) fn remove_if_unused(&mut self, ino: Ino) -> Result<()> {
        if self.store.region.inode(ino)?.links > 0 || self.names.inodes.is_open(ino) {
            return Ok(());
        }
        match self.remove_inode(ino) {
            // The file was already unlinked at the time of a snapshot, and there is no free space to keep its inode
            // for the snapshot. The next mount retries the removal.
            Err(Error::NoSpace(_)) => Ok(()),
            result => result,
        }
    }

    /// Frees all blocks and pages of a file, then its inode. If power is cut meanwhile, the next mount completes the
    /// removal.
    pub(crate) fn remove_inode(&mut self, ino: Ino) -> Result<()> {
        let inode = self.store.region.inode(ino)?;
        if inode.kind() == Some(Kind::Directory) {
            self.names.forget(ino);
        }
        if !inode.is_inline_link() {
            self.store.remove_blocks(ino, 0, u64::MAX)?;
        }
        self.store.drop_xattrs(ino)?;
        // The mode and the link count are cleared together; the generation is kept for the next file with this
        // number.
        self.store.free_inode(ino)?;
        self.names.inodes.mark_free(ino);
        match self.store.region.page_of_inode(ino) {
            Some((number, inodes)) => self.drop_if_unused(number, inodes),
            None => Ok(()),
        }
    }

    /// Frees an inode page if it is no longer needed.
    fn drop_if_unused(&mut self, number: u32, inodes: Range<u32>) -> Result<()> {
        if self.names.inodes.is_unneeded(inodes.clone()) && self.store.drop_inode_page(number)? {
            self.names.inodes.remove(inodes);
        }
        Ok(())
    }

    /// Frees all unneeded inode pages, and pointer blocks that were allocated for inode pages which were not created.
    /// Called after a power cut.
    pub(crate) fn drop_unused_inodes(&mut self) -> Result<()> {
        for number in self.store.region.inode_page_numbers().into_iter().rev() {
            self.drop_inode_page(number)?;
        }
        self.store.prune_inode_pages()
    }

    /// Frees one inode page if it is not needed.
    pub(super) fn drop_inode_page(&mut self, number: u32) -> Result<()> {
        let first = self.store.region.areas.first_of_page(number);
        match self.store.region.page_of_inode(first) {
            Some((number, inodes)) => self.drop_if_unused(number, inodes),
            None => Ok(()),
        }
    }

    /// Returns the unlinked files that are in use.
    pub(crate) fn orphans(&self) -> Result<Vec<Ino>> {
        orphans(&self.store.region)
    }

    /// Fails for a directory that has no links but has entries: it was not removed properly, and its files would be
    /// lost.
    pub(super) fn check_orphan(&self, ino: Ino) -> Result<()> {
        let is_directory = self.store.region.inode(ino)?.kind() == Some(Kind::Directory);
        if is_directory && !names::is_empty(&self.store.region, ino)? {
            return Err(Error::Damaged(format!("directory {} has no links, and has entries", ino.0)));
        }
        Ok(())
    }

    /// Removes files that were unlinked when power was cut or the file system was closed.
    ///
    /// # Errors
    /// The first error; removal continues with the remaining files.
    pub fn remove_orphans(&mut self, orphans: &[Ino]) -> Result<()> {
        let mut result = Ok(());
        for &ino in orphans {
            let removed = self.remove_if_unused(ino);
            result = result.and(removed);
        }
        result
    }
}

/// Returns the unlinked files that are in use.
pub(super) fn orphans<N: Nvram>(region: &Region<N>) -> Result<Vec<Ino>> {
    let mut orphans = Vec::new();
    for ino in region.inos() {
        let inode = region.raw_inode(ino)?;
        if inode.kind().is_some() && inode.links == 0 && ino != ROOT {
            orphans.push(ino);
        }
    }
    Ok(orphans)
}
