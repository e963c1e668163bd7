//! Preservation of old content for the newest snapshot, before the content first changes.

use super::super::Store;
use super::super::pages;
use super::super::region::Changes;
use super::is_kept;
use crate::api::{Error, Ino, Result};
use crate::layout::{
    BlockLocation, Field, INODES, INODES_PER_PAGE, Inode, KeptMode, MAX_FILE_BLOCKS, PageId,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Maximum number of pages that an operation needs for a snapshot: four inodes and four directory blocks, each with
/// three pointer pages, and an equal number for the pages that the operation creates.
const MAX_KEPT_PAGES: u32 = 64;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the tree of the snapshot that records changes, which is the newest snapshot. Returns `None` if the only
    /// snapshot is being deleted.
    pub(in crate::store) fn recording_tree(&self) -> Option<Ino> {
        let newest = self.snapshots.last()?;
        (!newest.record.is_being_deleted || self.snapshots.len() > 1).then_some(newest.tree)
    }

    /// Ensures that there is free space to preserve the metadata that an operation will change.
    ///
    /// # Errors
    /// [`Error::NoSpace`]; nothing was changed.
    pub fn prepare_to_keep(&mut self) -> Result<()> {
        if self.recording_tree().is_none() {
            return Ok(());
        }
        if self.free_metadata_pages() < MAX_KEPT_PAGES {
            let problem = "the NVRAM has no room to keep for a snapshot what is to be changed";
            return Err(Error::NoSpace(problem));
        }
        self.make_room(MAX_KEPT_PAGES)
    }

    /// Preserves a single inode immediately.
    ///
    /// # Errors
    /// [`Error::NoSpace`].
    pub fn keep_inode(&mut self, ino: Ino) -> Result<()> {
        self.keeper_with_room(ino).map(|_| ())
    }

    /// Applies all changes atomically, after preserving the old content for the snapshot.
    ///
    /// # Errors
    /// [`Error::NoSpace`], unless [`Store::prepare_to_keep`] was called first; [`Error::Damaged`].
    pub(crate) fn commit(&mut self, changes: Changes) -> Result<()> {
        let mut changes = changes;
        if self.recording_tree().is_some() {
            for (ino, inode) in changes.changed_inodes() {
                if let Some(kept) = self.keeper(ino)? {
                    self.keep_xattrs(&mut changes, ino, kept, inode.xattrs)?;
                }
            }
            for (dir, block) in changes.changed_blocks() {
                self.keep_block(dir, block.into())?;
            }
        }
        self.region.apply(changes);
        Ok(())
    }

    /// Returns the inode number under which the newest snapshot keeps old blocks of a file; `None` if it need not keep
    /// these blocks. Makes free pages for preserving the inode.
    pub(in crate::store) fn keeper_with_room(&mut self, ino: Ino) -> Result<Option<Ino>> {
        if self.recording_tree().is_none() || is_kept(ino) {
            return Ok(None);
        }
        let is_there = self.has_record(ino)?;
        if !is_there {
            self.prepare_to_keep()?;
        }
        self.keeper(ino)
    }

    /// True if the newest snapshot has already preserved an inode.
    fn has_record(&self, ino: Ino) -> Result<bool> {
        let Some(tree) = self.recording_tree() else { return Ok(false) };
        Ok(self.region.record_of(tree, ino)?.is_some_and(|at| self.region.kept_mode(at).is_present()))
    }

    /// Does what [`Store::keeper_with_room`] does, after free pages were made. Preserves the inode if necessary.
    pub(in crate::store) fn keeper(&mut self, ino: Ino) -> Result<Option<Ino>> {
        let Some(tree) = self.recording_tree().filter(|_| ino != INODES && !is_kept(ino)) else {
            return Ok(None);
        };
        if let Some(at) = self.region.record_of(tree, ino)?
            && self.region.kept_mode(at).is_present()
        {
            let kept = self.region.kept_mode(at);
            return Ok((kept.was_used() && !kept.is_complete()).then(|| self.region.areas.kept_inode(at)));
        }
        let inode = self.region.verified_inode(ino)?;
        let at = self.make_record(tree, ino)?;
        let mut changes = Changes::default();
        changes.put(at, KeptMode::inode(&inode).encode().to_vec());
        self.region.apply(changes);
        Ok(inode.kind().is_some().then(|| self.region.areas.kept_inode(at)))
    }

    /// Returns the offset at which a snapshot will keep an inode.
    fn make_record(&mut self, tree: Ino, ino: Ino) -> Result<usize> {
        let number = ino.0 / INODES_PER_PAGE;
        let at = self.make_pointer(tree, number.into())?;
        let page = match self.region.pointer_page(at)? {
            Some(page) => page,
            None => {
                let page = self.take_metadata_page(tree)?;
                pages::set_owner(&mut self.region, page, tree, number);
                self.set_pointer(at, page);
                page
            }
        };
        Ok(self.region.record_in(page, ino))
    }

    /// Sets a pointer to a page after making the page durable.
    fn set_pointer(&mut self, at: usize, page: PageId) {
        self.region.fence();
        self.region.store_word(at, BlockLocation::Nvram(page).encode(&self.region.areas));
        self.region.fence();
    }

    /// Returns the offset of the snapshot's pointer for a block that is about to change; `None` if the snapshot
    /// already keeps the block.
    pub(in crate::store) fn pointer_to_keep(&mut self, kept: Ino, block: u64) -> Result<Option<usize>> {
        let at = self.make_pointer(kept, block)?;
        Ok((self.region.word(at) == 0).then_some(at))
    }

    /// Copies a metadata page for a snapshot.
    fn copy_page(&mut self, kept: Ino, from: PageId) -> Result<PageId> {
        let content = *self.region.verified_page(from)?;
        let page = self.take_metadata_page(kept)?;
        self.region.store_page(page, &content);
        Ok(page)
    }

    /// Preserves a block of a directory that is about to change.
    fn keep_block(&mut self, dir: Ino, block: u64) -> Result<()> {
        let Some(kept) = self.keeper(dir)? else { return Ok(()) };
        let Some(at) = self.pointer_to_keep(kept, block)? else { return Ok(()) };
        match self.region.location_of(dir, block)? {
            BlockLocation::Nvram(from) => {
                let page = self.copy_page(kept, from)?;
                self.set_pointer(at, page);
            }
            _ => self.keep_hole(at),
        }
        Ok(())
    }

    /// Records that a kept block was a hole.
    fn keep_hole(&mut self, at: usize) {
        self.region.store_word(at, BlockLocation::Absent.encode(&self.region.areas));
        self.region.fence();
    }

    /// Records holes of a file that are about to be filled; their blocks may not be allocated yet.
    pub(in crate::store) fn keep_holes(&mut self, kept: Ino, blocks: std::ops::Range<u64>) -> Result<()> {
        for block in blocks {
            if let Some(at) = self.pointer_to_keep(kept, block)? {
                self.region.store_word(at, BlockLocation::Absent.encode(&self.region.areas));
            }
        }
        self.region.fence();
        Ok(())
    }

    /// Preserves the extended attributes of a file before they are replaced or changed in place.
    fn keep_xattrs(&mut self, changes: &mut Changes, ino: Ino, kept: Ino, next: u64) -> Result<()> {
        let now = self.region.raw_inode(ino)?.xattrs;
        let are_changed = changes.are_xattrs_changed(ino);
        let at = self.region.inode_at(kept)?;
        if !self.region.kept_mode(at).has_unchanged_xattrs() || now == next && !are_changed {
            return Ok(());
        }
        let mut pointer = now;
        if now == next
            && let Some(from) = self.region.pointer_page(self.region.field(ino, Field::Xattrs)?)?
        {
            let page = self.copy_page(kept, from)?;
            self.region.fence();
            pointer = BlockLocation::Nvram(page).encode(&self.region.areas);
        }
        changes.put_word(at, self.kept_word(at, 0, KeptMode::XATTRS_UNCHANGED));
        changes.put_word(at + Field::Xattrs as usize, pointer);
        Ok(())
    }

    /// Returns the first word of a kept inode with the bits `set` set and the bits `clear` cleared.
    pub(super) fn kept_word(&self, at: usize, set: u32, clear: u32) -> u64 {
        (self.region.word(at) | u64::from(set)) & !u64::from(clear)
    }

    /// Releases a page of attributes to which its file no longer points: moves it to a snapshot that needs it, or
    /// frees it.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(crate) fn release_xattrs(&mut self, ino: Ino, page: PageId) -> Result<()> {
        if let Some(kept) = self.keeper(ino)? {
            let location = BlockLocation::Nvram(page);
            if self.region.raw_inode(kept)?.xattrs == location.encode(&self.region.areas) {
                return self.transfer(ino, kept, location);
            }
        }
        self.free_metadata_page(ino, page)
    }

    /// Ensures that a snapshot can take over blocks of a file before they become holes.
    ///
    /// # Errors
    /// [`Error::NoSpace`].
    pub(crate) fn prepare_removal(&mut self, ino: Ino, first: u64, end: u64) -> Result<()> {
        let Some(kept) = self.keeper_with_room(ino)? else { return Ok(()) };
        for edge in [first, end].into_iter().filter(|edge| (1..MAX_FILE_BLOCKS).contains(edge)) {
            if self.region.pointer_at(kept, edge)?.is_none() {
                self.prepare_to_keep()?;
                self.make_pointer(kept, edge)?;
            }
        }
        self.region.fence();
        Ok(())
    }

    /// Frees the inode of a file without blocks, after the snapshot has taken over the blocks that it needs.
    pub(crate) fn free_inode(&mut self, ino: Ino) -> Result<()> {
        let mode_at = self.region.field(ino, Field::Mode)?;
        match self.keeper(ino)? {
            None => {
                self.region.store_word(mode_at, 0);
                self.region.fence();
            }
            Some(kept) => {
                let at = self.region.inode_at(kept)?;
                let mut changes = Changes::default();
                changes.put_word(mode_at, 0);
                changes.put_word(at, self.kept_word(at, KeptMode::COMPLETE, KeptMode::XATTRS_UNCHANGED));
                self.region.apply(changes);
            }
        }
        Ok(())
    }

    /// Removes the attributes of a file that is being removed.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub(crate) fn drop_xattrs(&mut self, ino: Ino) -> Result<()> {
        let at = self.region.field(ino, Field::Xattrs)?;
        let Some(page) = self.region.pointer_page(at)? else { return Ok(()) };
        let mut changes = Changes::default();
        let inode = Inode { xattrs: 0, ..self.region.raw_inode(ino)? };
        changes.put_inode(ino, inode);
        self.commit(changes)?;
        self.release_xattrs(ino, page)
    }
}
