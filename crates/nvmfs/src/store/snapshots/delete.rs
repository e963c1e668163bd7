//! Deletion of a snapshot: blocks that an older snapshot needs are moved to it; the other blocks are freed. The
//! deletion proceeds in steps, each of which leaves all other snapshots unchanged. After a power cut, the next mount
//! continues the deletion. Between steps, the file system is usable, and the snapshot that is being deleted still
//! records changes while an older snapshot needs them.

use super::super::Store;
use super::super::region::Changes;
use crate::api::{Error, Ino, Result};
use crate::layout::{Field, INODE_BYTES, KeptMode, MAX_FILE_BLOCKS, PageId, SnapshotRecord};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

/// Cost of a kept inode in units of blocks, in addition to the blocks of its file.
const INODE_COST: u64 = 16;

/// Budget of a deletion step.
pub(super) struct DeletionBudget {
    /// Number of blocks that the step may free or move to an older snapshot.
    blocks: u64,
    /// Number of these blocks that remain in the budget.
    remaining: u64,
}

impl DeletionBudget {
    pub fn is_exhausted(&self) -> bool {
        self.remaining == 0
    }

    /// Deducts blocks that were freed or moved to an older snapshot.
    pub fn take(&mut self, blocks: u64) {
        self.remaining = self.remaining.saturating_sub(blocks);
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Marks a snapshot as deleted; its blocks are freed later by [`Store::continue_deleting`].
    ///
    /// # Errors
    /// [`Error::NotFound`].
    pub fn begin_deleting(&mut self, name: &str) -> Result<()> {
        let is_named = |one: &super::Snapshot| one.record.name == name && !one.record.is_being_deleted;
        let number = self.snapshots.iter().position(is_named).ok_or(Error::NotFound)?;
        let at = self.region.snapshot_range(self.snapshots[number].tree).start;
        let mut changes = Changes::default();
        changes.put_word(at, SnapshotRecord::BEING_DELETED);
        self.region.apply(changes);
        self.snapshots[number].record.is_being_deleted = true;
        Ok(())
    }

    /// Returns the number of snapshots being deleted.
    pub fn snapshots_being_deleted(&self) -> usize {
        self.snapshots.iter().filter(|one| one.record.is_being_deleted).count()
    }

    /// Frees about `blocks` blocks of deleted snapshots; returns true if more blocks remain. Needs no free space. If
    /// there is no free space for a pointer page, a step may exceed `blocks`: everything below one pointer of the inode
    /// is then moved at once.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn continue_deleting(&mut self, blocks: u64) -> Result<bool> {
        let mut budget = DeletionBudget { blocks, remaining: blocks };
        loop {
            let Some(number) = self.snapshots.iter().position(|one| one.record.is_being_deleted) else {
                return Ok(false);
            };
            if budget.is_exhausted() {
                return Ok(true);
            }
            // Each call makes some progress, even with a small budget.
            self.delete_step(number, &mut budget)?;
            budget.take(INODE_COST);
        }
    }

    /// Frees one inode page of a deleted snapshot, or moves it to an older snapshot, as far as the budget allows.
    fn delete_step(&mut self, number: usize, budget: &mut DeletionBudget) -> Result<()> {
        let tree = self.snapshots[number].tree;
        let older = number.checked_sub(1).map(|older| self.snapshots[older].tree);
        // The last page comes first, so that freed parts of the tree are not walked again.
        let Some(last) = self.region.last_block(tree, MAX_FILE_BLOCKS)? else {
            // The remaining tree contains no blocks.
            self.remove_blocks(tree, 0, u64::MAX)?;
            return self.forget_snapshot(number);
        };
        let from = match older {
            None => self.region.pointer_at(tree, last)?,
            Some(older) => match self.pass_down(tree, older, last)? {
                Some((from, to)) => self.merge_records(from, to, budget)?.then_some(from),
                None => None,
            },
        };
        from.map_or(Ok(()), |from| self.free_records(tree, from, budget))
    }

    /// Returns the inode page to which a pointer leads.
    fn page_at(&self, at: usize) -> Result<PageId> {
        self.region
            .pointer_page(at)?
            .ok_or_else(|| Error::Damaged("a snapshot keeps nothing where it should".into()))
    }

    /// Frees everything that an inode page of a snapshot keeps, and then the page.
    fn free_records(&mut self, tree: Ino, at: usize, budget: &mut DeletionBudget) -> Result<()> {
        let page = self.page_at(at)?;
        for (record, kept) in self.region.records_in(page) {
            if !self.drop_record(record, kept, budget)? {
                return Ok(());
            }
        }
        self.region.store_word(at, 0);
        self.region.fence();
        self.free_metadata_page(tree, page)
    }

    /// Frees everything that is kept for an inode, beginning with the last block; returns true when done.
    fn free_record_content(&mut self, at: usize, kept: Ino, budget: &mut DeletionBudget) -> Result<bool> {
        let inode = self.region.kept_inode(at);
        if !inode.is_inline_link() {
            while let Some(last) = self.region.last_block(kept, MAX_FILE_BLOCKS)? {
                if budget.is_exhausted() {
                    return Ok(false);
                }
                let blocks = (last + 1).min(budget.remaining);
                self.remove_blocks(kept, last + 1 - blocks, u64::MAX)?;
                budget.take(blocks);
            }
            self.remove_blocks(kept, 0, u64::MAX)?;
        }
        let xattrs_at = at + Field::Xattrs as usize;
        if let Some(page) = self.region.pointer_page(xattrs_at)? {
            self.region.store_word(xattrs_at, 0);
            self.region.fence();
            self.free_metadata_page(kept, page)?;
        }
        budget.take(INODE_COST);
        Ok(true)
    }

    fn drop_record(&mut self, at: usize, kept: Ino, budget: &mut DeletionBudget) -> Result<bool> {
        if !self.free_record_content(at, kept, budget)? {
            return Ok(false);
        }
        self.region.store_word(at, 0);
        self.region.fence();
        Ok(true)
    }

    /// Moves to an older snapshot those inodes of a page that the older snapshot lacks; returns true when done.
    fn merge_records(&mut self, from: usize, to: usize, budget: &mut DeletionBudget) -> Result<bool> {
        let (from, to) = (self.page_at(from)?, self.page_at(to)?);
        for (at, kept) in self.region.records_in(from) {
            if budget.is_exhausted() {
                return Ok(false);
            }
            let to_at = self.region.areas.page(to) + (at - self.region.areas.page(from));
            if !self.region.kept_mode(to_at).is_present() {
                if self.fits_in_step(at, kept, budget.blocks)? {
                    self.move_record(at, to_at)?;
                    budget.take(INODE_COST);
                    continue;
                }
                self.begin_record(at, to_at);
            }
            let (older, newer) = (self.region.kept_mode(to_at), self.region.kept_mode(at));
            let is_done = if older.was_used() && !older.is_complete() && newer.was_used() {
                self.merge_record(at, to_at, budget)?
            } else {
                self.drop_record(at, kept, budget)?
            };
            if !is_done {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// True if everything that is kept for an inode can be moved in one step.
    fn fits_in_step(&self, at: usize, kept: Ino, blocks: u64) -> Result<bool> {
        if self.region.kept_inode(at).is_inline_link() {
            return Ok(true);
        }
        let last = self.region.last_block(kept, MAX_FILE_BLOCKS)?;
        Ok(last.is_none_or(|last| last < blocks / 4))
    }

    /// Creates a copy of the inode in the older snapshot. The copy still refers to the newer snapshot for missing
    /// blocks, which can then be moved gradually.
    fn begin_record(&mut self, from_at: usize, to_at: usize) {
        let inode = self.region.kept_inode(from_at);
        let mut changes = Changes::default();
        changes.put(to_at, KeptMode::inode(&inode).encode().to_vec());
        self.region.apply(changes);
    }

    /// Moves a kept inode with all its blocks.
    fn move_record(&mut self, from_at: usize, to_at: usize) -> Result<()> {
        let [from, to] = [from_at, to_at].map(|at| self.region.areas.kept_inode(at));
        let inode = self.region.kept_inode(from_at);
        let mut locations = if inode.is_inline_link() { Vec::new() } else { self.region.locations(from)? };
        if inode.xattrs != 0 {
            locations.push(self.region.location(inode.xattrs)?);
        }
        let bytes = self.region.bytes()[from_at..from_at + INODE_BYTES].to_vec();
        let mut changes = Changes::default();
        changes.put(to_at, bytes);
        changes.put(from_at, vec![0; INODE_BYTES]);
        self.region.apply(changes);
        locations.into_iter().try_for_each(|location| self.transfer(from, to, location))
    }

    /// Merges an inode that both snapshots keep. The older snapshot has the content that changed between the snapshots;
    /// the newer snapshot has the remaining content, which is moved to the older snapshot. Returns true when done.
    fn merge_record(&mut self, from_at: usize, to_at: usize, budget: &mut DeletionBudget) -> Result<bool> {
        let [from, to] = [from_at, to_at].map(|at| self.region.areas.kept_inode(at));
        if !self.region.kept_inode(from_at).is_inline_link() && !self.move_step(from, to, budget)? {
            return Ok(false);
        }
        let unchanged = [from_at, to_at].map(|at| self.region.kept_mode(at).has_unchanged_xattrs());
        if unchanged == [false, true] {
            let pointer = self.region.word(from_at + Field::Xattrs as usize);
            let mut changes = Changes::default();
            changes.put_word(to_at + Field::Xattrs as usize, pointer);
            changes.put_word(to_at, self.kept_word(to_at, 0, KeptMode::XATTRS_UNCHANGED));
            changes.put_word(from_at + Field::Xattrs as usize, 0);
            self.region.apply(changes);
            let location = self.region.location(pointer)?;
            self.transfer(from, to, location)?;
        }
        if !self.free_record_content(from_at, from, budget)? {
            return Ok(false);
        }
        let is_whole = if self.region.kept_mode(from_at).is_complete() { KeptMode::COMPLETE } else { 0 };
        let mut changes = Changes::default();
        changes.put_word(to_at, self.kept_word(to_at, is_whole, 0));
        changes.put_word(from_at, 0);
        self.region.apply(changes);
        Ok(true)
    }
}
