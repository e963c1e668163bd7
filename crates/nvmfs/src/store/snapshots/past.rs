//! Files as they were, read where they are: beside the file system, which goes on changing.
//!
//! What a snapshot does not have did not change until the next one was made, so the next is asked for it, and so on; in the end
//! the file system itself. Nothing is turned back and nothing copied: a look takes as many steps as there are newer snapshots.

use super::super::{Region, Store};
use crate::api::{Error, Ino, Result};
use crate::layout::{Field, Inode, PageId, Place, SnapshotRecord};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// A file as it was when a snapshot was made.
#[derive(Clone, Debug)]
pub struct Past {
    /// What was known of it. The target of a short link is in it; other pointers are not all there.
    pub inode: Inode,
    /// Numbers under which its blocks are, or were kept; the first of them that has anything of a block tells.
    whose: Vec<Ino>,
    /// That of its extended attributes.
    xattrs: Ino,
}

impl Past {
    /// The number under which a block is, if it is anywhere; where it is a hole, any.
    pub(crate) fn whose<N: Nvram>(&self, region: &Region<N>, block: u64) -> Result<Ino> {
        let (last, others) = self.whose.split_last().expect("there is one at least");
        for ino in others {
            if region.place_of(*ino, block)? != Place::Hole {
                return Ok(*ino);
            }
        }
        Ok(*last)
    }

    fn place<N: Nvram>(&self, region: &Region<N>, block: u64) -> Result<Place> {
        region.place_of(self.whose(region, block)?, block)
    }

    /// The first block from `block` on, and before `end`, that has a place, if `wanted`, or has none.
    pub(crate) fn next_block<N: Nvram>(
        &self,
        region: &Region<N>,
        block: u64,
        end: u64,
        wanted: bool,
    ) -> Result<Option<u64>> {
        let mut block = block;
        while block < end {
            let next = self.next_told(region, block, end)?.unwrap_or(end);
            if !wanted && block < next {
                return Ok(Some(block));
            }
            if next == end {
                return Ok(None);
            }
            if (self.place(region, next)? != Place::Absent) == wanted {
                return Ok(Some(next));
            }
            block = next + 1;
        }
        Ok(None)
    }

    /// The first block of which any of those that are asked says something.
    fn next_told<N: Nvram>(&self, region: &Region<N>, block: u64, end: u64) -> Result<Option<u64>> {
        let mut next = None;
        for ino in &self.whose {
            let before = next.unwrap_or(end);
            next = region.next_block(*ino, block, before, true)?.or(next);
        }
        Ok(next)
    }

    /// The page of a block of a directory, or of the target of a link.
    pub(crate) fn page<N: Nvram>(&self, region: &Region<N>, block: u64) -> Result<Option<PageId>> {
        let ino = self.whose(region, block)?;
        if region.place_of(ino, block)? == Place::Absent {
            return Ok(None);
        }
        region.pointer_at(ino, block)?.map_or(Ok(None), |at| region.pointer_page(at))
    }

    /// The page of its extended attributes.
    pub(crate) fn xattrs_page<N: Nvram>(&self, region: &Region<N>) -> Result<Option<PageId>> {
        region.pointer_page(region.field(self.xattrs, Field::Xattrs)?)
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// The snapshots, the oldest first, each with a number by which it is looked at; no other ever has the same while the store is
    /// open.
    pub fn views(&self) -> impl Iterator<Item = (u32, &SnapshotRecord)> {
        let there = self.snapshots.iter().filter(|one| !one.record.is_going);
        there.map(|one| (one.view, &one.record))
    }

    /// A file as it was.
    ///
    /// # Errors
    /// [`Error::Stale`] where there is no such snapshot any more, [`Error::NotFound`] where there was no such file,
    /// [`Error::Damaged`].
    pub fn past(&self, view: u32, ino: Ino) -> Result<Past> {
        let is_wanted = |one: &super::Snapshot| one.view == view && !one.record.is_going;
        let number = self.snapshots.iter().position(is_wanted).ok_or(Error::Stale)?;
        let (mut inode, mut whose, mut xattrs) = (None, Vec::new(), None);
        for one in &self.snapshots[number..] {
            let Some(at) = self.sound_record(one.tree, ino)? else { continue };
            let kept = self.region.kept(at);
            if !kept.was_used() {
                return Err(Error::NotFound);
            }
            let keeper = self.region.areas.kept_inode(at);
            whose.push(keeper);
            inode.get_or_insert_with(|| self.region.kept_inode(at));
            if !kept.are_xattrs_elsewhere() {
                xattrs.get_or_insert(keeper);
            }
            if kept.is_whole() {
                break;
            }
        }
        let ends = whose.last().is_some_and(|last| self.is_whole(*last));
        let inode = match inode {
            Some(inode) => inode,
            None => self.region.inode(ino)?,
        };
        if !ends {
            whose.push(ino);
        }
        Ok(Past { inode, whose, xattrs: xattrs.unwrap_or(ino) })
    }

    /// Whether all that a file had is under this number.
    fn is_whole(&self, keeper: Ino) -> bool {
        self.region.areas.kept_at(keeper).is_some_and(|at| self.region.kept(at).is_whole())
    }

    /// Where a snapshot keeps an inode, if it does.
    fn sound_record(&self, tree: Ino, ino: Ino) -> Result<Option<usize>> {
        let Some(page) = self.region.record_page_of(tree, ino)? else { return Ok(None) };
        self.region.sound_page(page)?;
        let at = self.region.record_in(page, ino);
        Ok(self.region.kept(at).is_there().then_some(at))
    }

    /// Fills `out` with bytes of a file as it was, from `offset` on.
    ///
    /// # Errors
    /// [`Error::Wait`], [`Error::Damaged`], [`Error::Ssd`].
    pub fn read_past(&mut self, past: &Past, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read_of(|region, block| past.whose(region, block), offset, out)
    }
}
