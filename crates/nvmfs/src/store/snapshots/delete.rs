//! A snapshot goes: what only it has is free, what an older one needs is handed down. Step by step, and each step leaves all
//! others as they were, so that a power cut costs nothing: the next mount goes on. Between steps the file system is used, and the
//! snapshot that goes is given what changes as long as an older one needs it.

use super::super::Store;
use super::super::region::Changes;
use crate::api::{Error, Ino, Result};
use crate::layout::{Field, Kept, MAX_FILE_BLOCKS, PageId, SIZE_OF_INODE, SnapshotRecord};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// How many blocks an inode that is kept counts for, besides its own.
const INODE_COST: u64 = 16;

/// How much is done in a step.
pub(super) struct Step {
    /// Blocks that are freed or handed down in it.
    blocks: u64,
    /// Those that are left.
    left: u64,
}

impl Step {
    pub fn is_over(&self) -> bool {
        self.left == 0
    }

    /// So many were freed or handed down.
    pub fn take(&mut self, blocks: u64) {
        self.left = self.left.saturating_sub(blocks);
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// A snapshot is there no more; what it has is still to be freed, by [`Store::go_on_deleting`].
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn begin_deleting(&mut self, name: &str) -> Result<()> {
        let there = |one: &super::Snapshot| one.record.name == name && !one.record.is_going;
        let number = self.snapshots.iter().position(there).ok_or(Error::NotFound)?;
        let at = self.region.snapshot_range(self.snapshots[number].tree).start;
        let mut changes = Changes::default();
        changes.put_word(at, SnapshotRecord::GOING);
        self.region.apply(changes);
        self.snapshots[number].record.is_going = true;
        Ok(())
    }

    /// Snapshots that are being deleted.
    pub fn going_snapshots(&self) -> usize {
        self.snapshots.iter().filter(|one| one.record.is_going).count()
    }

    /// Frees about so many blocks of what snapshots have that are being deleted; whether there is more. Needs no room. (More are
    /// handed down at once where there is no room for a page of pointers: all that a file has below a pointer of its inode.)
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn go_on_deleting(&mut self, blocks: u64) -> Result<bool> {
        let mut step = Step { blocks, left: blocks };
        loop {
            let Some(number) = self.snapshots.iter().position(|one| one.record.is_going) else {
                return Ok(false);
            };
            if step.is_over() {
                return Ok(true);
            }
            // Something of it, however little is left of the step.
            self.delete_some(number, &mut step)?;
            step.take(INODE_COST);
        }
    }

    /// Frees or hands down what is on one page of inodes, or as much of it as the step has left.
    fn delete_some(&mut self, number: usize, step: &mut Step) -> Result<()> {
        let tree = self.snapshots[number].tree;
        let older = number.checked_sub(1).map(|older| self.snapshots[older].tree);
        // From the end on: what was freed is not walked through once more.
        let Some(last) = self.region.last_block(tree, MAX_FILE_BLOCKS)? else {
            // What is left of its tree leads nowhere.
            self.cut(tree, 0, u64::MAX)?;
            return self.forget_snapshot(number);
        };
        let from = match older {
            None => self.region.pointer_at(tree, last)?,
            Some(older) => match self.hand_down(tree, older, last)? {
                Some((from, to)) => self.merge_records(from, to, step)?.then_some(from),
                None => None,
            },
        };
        from.map_or(Ok(()), |from| self.free_records(tree, from, step))
    }

    /// The page of what is kept under a pointer.
    fn page_at(&self, at: usize) -> Result<PageId> {
        self.region
            .pointer_page(at)?
            .ok_or_else(|| Error::Damaged("a snapshot keeps nothing where it should".into()))
    }

    /// Frees all that a page of a snapshot keeps, and the page.
    fn free_records(&mut self, tree: Ino, at: usize, step: &mut Step) -> Result<()> {
        let page = self.page_at(at)?;
        for (record, kept) in self.region.records_in(page) {
            if !self.drop_record(record, kept, step)? {
                return Ok(());
            }
        }
        self.region.store_word(at, 0);
        self.region.fence();
        self.free_metadata_page(tree, page)
    }

    /// Frees all that is kept of an inode, the last blocks first; whether that is done.
    fn free_record_content(&mut self, at: usize, kept: Ino, step: &mut Step) -> Result<bool> {
        let inode = self.region.kept_inode(at);
        if !inode.is_inline_link() {
            while let Some(last) = self.region.last_block(kept, MAX_FILE_BLOCKS)? {
                if step.is_over() {
                    return Ok(false);
                }
                let blocks = (last + 1).min(step.left);
                self.cut(kept, last + 1 - blocks, u64::MAX)?;
                step.take(blocks);
            }
            self.cut(kept, 0, u64::MAX)?;
        }
        let xattrs_at = at + Field::Xattrs as usize;
        if let Some(page) = self.region.pointer_page(xattrs_at)? {
            self.region.store_word(xattrs_at, 0);
            self.region.fence();
            self.free_metadata_page(kept, page)?;
        }
        step.take(INODE_COST);
        Ok(true)
    }

    fn drop_record(&mut self, at: usize, kept: Ino, step: &mut Step) -> Result<bool> {
        if !self.free_record_content(at, kept, step)? {
            return Ok(false);
        }
        self.region.store_word(at, 0);
        self.region.fence();
        Ok(true)
    }

    /// An older snapshot gets from a page what it does not have itself; whether that is done.
    fn merge_records(&mut self, from: usize, to: usize, step: &mut Step) -> Result<bool> {
        let (from, to) = (self.page_at(from)?, self.page_at(to)?);
        for (at, kept) in self.region.records_in(from) {
            if step.is_over() {
                return Ok(false);
            }
            let to_at = self.region.areas.page(to) + (at - self.region.areas.page(from));
            if !self.region.kept(to_at).is_there() {
                if self.is_short(at, kept, step.blocks)? {
                    self.move_record(at, to_at)?;
                    step.take(INODE_COST);
                    continue;
                }
                self.begin_record(at, to_at);
            }
            let (older, newer) = (self.region.kept(to_at), self.region.kept(at));
            let is_done = if older.was_used() && !older.is_whole() && newer.was_used() {
                self.merge_record(at, to_at, step)?
            } else {
                self.drop_record(at, kept, step)?
            };
            if !is_done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether all that is kept of an inode can be handed down at once.
    fn is_short(&self, at: usize, kept: Ino, blocks: u64) -> Result<bool> {
        if self.region.kept_inode(at).is_inline_link() {
            return Ok(true);
        }
        let last = self.region.last_block(kept, MAX_FILE_BLOCKS)?;
        Ok(last.is_none_or(|last| last < blocks / 4))
    }

    /// An older snapshot has the inode, and for the rest the newer one is asked, as before. So the rest can be handed down by and by.
    fn begin_record(&mut self, from_at: usize, to_at: usize) {
        let inode = self.region.kept_inode(from_at);
        let mut changes = Changes::default();
        changes.put(to_at, Kept::inode(&inode).encode().to_vec());
        self.region.apply(changes);
    }

    /// An inode is kept elsewhere, with all that it has.
    fn move_record(&mut self, from_at: usize, to_at: usize) -> Result<()> {
        let [from, to] = [from_at, to_at].map(|at| self.region.areas.kept_inode(at));
        let inode = self.region.kept_inode(from_at);
        let mut places = if inode.is_inline_link() { Vec::new() } else { self.region.places(from)? };
        if inode.xattrs != 0 {
            places.push(self.region.place(inode.xattrs)?);
        }
        let bytes = self.region.bytes()[from_at..from_at + SIZE_OF_INODE].to_vec();
        let mut changes = Changes::default();
        changes.put(to_at, bytes);
        changes.put(from_at, vec![0; SIZE_OF_INODE]);
        self.region.apply(changes);
        places.into_iter().try_for_each(|place| self.give(from, to, place))
    }

    /// An inode that both keep: what changed between them is in the older one, the rest is in the newer. Whether all was handed down.
    fn merge_record(&mut self, from_at: usize, to_at: usize, step: &mut Step) -> Result<bool> {
        let [from, to] = [from_at, to_at].map(|at| self.region.areas.kept_inode(at));
        if !self.region.kept_inode(from_at).is_inline_link() && !self.move_some(from, to, step)? {
            return Ok(false);
        }
        let both = [from_at, to_at].map(|at| self.region.kept(at).are_xattrs_elsewhere());
        if both == [false, true] {
            let pointer = self.region.word(from_at + Field::Xattrs as usize);
            let mut changes = Changes::default();
            changes.put_word(to_at + Field::Xattrs as usize, pointer);
            changes.put_word(to_at, self.kept_word(to_at, 0, Kept::XATTRS_ELSEWHERE));
            changes.put_word(from_at + Field::Xattrs as usize, 0);
            self.region.apply(changes);
            let place = self.region.place(pointer)?;
            self.give(from, to, place)?;
        }
        if !self.free_record_content(from_at, from, step)? {
            return Ok(false);
        }
        let is_whole = if self.region.kept(from_at).is_whole() { Kept::WHOLE } else { 0 };
        let mut changes = Changes::default();
        changes.put_word(to_at, self.kept_word(to_at, is_whole, 0));
        changes.put_word(from_at, 0);
        self.region.apply(changes);
        Ok(true)
    }
}
