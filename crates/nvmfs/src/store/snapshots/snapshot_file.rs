//! Read access to files of a snapshot while the live file system changes.
//!
//! Content that a snapshot lacks did not change before the next newer snapshot, so it is looked up there, and finally
//! in the live file system. Nothing is rolled back or copied: a lookup takes one step per newer snapshot.

use super::super::{Region, Store};
use crate::api::{Error, Ino, Result};
use crate::layout::{BlockLocation, Field, Inode, PageId, SnapshotRecord};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// File in its state at the time of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotFile {
    /// Attributes of the file. The target of a short link is included; other pointers may be incomplete.
    pub inode: Inode,
    /// Inode numbers under which blocks are looked up, in this order; the first number with an entry for a block
    /// applies.
    lookup_order: Vec<Ino>,
    /// Inode number under which extended attributes are looked up.
    xattrs: Ino,
}

impl SnapshotFile {
    /// Returns the inode number under which a block is stored; any number for a hole.
    pub(crate) fn inode_of<N: Nvram>(&self, region: &Region<N>, block: u64) -> Result<Ino> {
        let (last, others) = self.lookup_order.split_last().expect("there is one at least");
        for ino in others {
            if region.location_of(*ino, block)? != BlockLocation::Hole {
                return Ok(*ino);
            }
        }
        Ok(*last)
    }

    fn location<N: Nvram>(&self, region: &Region<N>, block: u64) -> Result<BlockLocation> {
        region.location_of(self.inode_of(region, block)?, block)
    }

    /// Returns the first block in `block..end` that exists. If `exists` is false, returns the first block that does
    /// not exist.
    pub(crate) fn next_block<N: Nvram>(
        &self,
        region: &Region<N>,
        block: u64,
        end: u64,
        exists: bool,
    ) -> Result<Option<u64>> {
        let mut block = block;
        while block < end {
            let next = self.next_entry(region, block, end)?.unwrap_or(end);
            if !exists && block < next {
                return Ok(Some(block));
            }
            if next == end {
                return Ok(None);
            }
            if (self.location(region, next)? != BlockLocation::Absent) == exists {
                return Ok(Some(next));
            }
            block = next + 1;
        }
        Ok(None)
    }

    /// Returns the first block in `block..end` for which any of the inode numbers has an entry.
    fn next_entry<N: Nvram>(&self, region: &Region<N>, block: u64, end: u64) -> Result<Option<u64>> {
        let mut next = None;
        for ino in &self.lookup_order {
            let before = next.unwrap_or(end);
            next = region.next_block(*ino, block, before, true)?.or(next);
        }
        Ok(next)
    }

    /// Returns the page of a directory block, or of the target of a link.
    pub(crate) fn page<N: Nvram>(&self, region: &Region<N>, block: u64) -> Result<Option<PageId>> {
        let ino = self.inode_of(region, block)?;
        if region.location_of(ino, block)? == BlockLocation::Absent {
            return Ok(None);
        }
        region.pointer_at(ino, block)?.map_or(Ok(None), |at| region.pointer_page(at))
    }

    /// Returns the page of the extended attributes.
    pub(crate) fn xattrs_page<N: Nvram>(&self, region: &Region<N>) -> Result<Option<PageId>> {
        region.pointer_page(region.field(self.xattrs, Field::Xattrs)?)
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the snapshots, oldest first, each with its view number, which is not reused while the store
    /// is open.
    pub fn views(&self) -> impl Iterator<Item = (u32, &SnapshotRecord)> {
        let existing = self.snapshots.iter().filter(|one| !one.record.is_being_deleted);
        existing.map(|one| (one.view, &one.record))
    }

    /// Returns a file in its state at the time of a snapshot.
    ///
    /// # Errors
    /// [`Error::Stale`] if the snapshot no longer exists, [`Error::NotFound`] if it has no such file,
    /// [`Error::Damaged`].
    pub fn snapshot_file(&self, view: u32, ino: Ino) -> Result<SnapshotFile> {
        let is_wanted = |one: &super::Snapshot| one.view == view && !one.record.is_being_deleted;
        let number = self.snapshots.iter().position(is_wanted).ok_or(Error::Stale)?;
        let (mut inode, mut lookup_order, mut xattrs) = (None, Vec::new(), None);
        for one in &self.snapshots[number..] {
            let Some(at) = self.verified_record(one.tree, ino)? else { continue };
            let kept = self.region.kept_mode(at);
            if !kept.was_used() {
                return Err(Error::NotFound);
            }
            let keeper = self.region.areas.kept_inode(at);
            lookup_order.push(keeper);
            inode.get_or_insert_with(|| self.region.kept_inode(at));
            if !kept.has_unchanged_xattrs() {
                xattrs.get_or_insert(keeper);
            }
            if kept.is_complete() {
                break;
            }
        }
        let ends = lookup_order.last().is_some_and(|last| self.is_complete_record(*last));
        let inode = match inode {
            Some(inode) => inode,
            None => self.region.inode(ino)?,
        };
        if !ends {
            lookup_order.push(ino);
        }
        Ok(SnapshotFile { inode, lookup_order, xattrs: xattrs.unwrap_or(ino) })
    }

    /// True if a kept inode is complete.
    fn is_complete_record(&self, keeper: Ino) -> bool {
        self.region.areas.kept_offset(keeper).is_some_and(|at| self.region.kept_mode(at).is_complete())
    }

    /// Returns the offset of an inode in a snapshot, if it is kept there, after verifying its page.
    fn verified_record(&self, tree: Ino, ino: Ino) -> Result<Option<usize>> {
        let Some(page) = self.region.record_page_of(tree, ino)? else { return Ok(None) };
        self.region.verified_page(page)?;
        let at = self.region.record_in(page, ino);
        Ok(self.region.kept_mode(at).is_present().then_some(at))
    }

    /// Fills `out` with the bytes from `offset` of a file at the time of a snapshot.
    ///
    /// # Errors
    /// [`Error::Wait`], [`Error::Damaged`], [`Error::Ssd`].
    pub fn read_snapshot_file(&mut self, file: &SnapshotFile, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read_with(|region, block| file.inode_of(region, block), offset, out)
    }
}
