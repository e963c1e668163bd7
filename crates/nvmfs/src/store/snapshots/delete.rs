//! A snapshot goes: what only it has is free, what an older one needs is handed down. Step by step, and each step leaves all
//! others as they were, so that a power cut costs nothing: the next mount goes on.

use super::super::Store;
use super::super::region::Changes;
use super::moving::Move;
use crate::api::{Error, Ino, Result};
use crate::layout::{Field, Kept, MAX_FILE_BLOCKS, PageId, SIZE_OF_INODE, SnapshotRecord};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

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

    /// Frees a part of what snapshots have that are being deleted; whether there is more. Needs no room.
    ///
    /// # Errors
    /// [`Error::Damaged`].
    pub fn go_on_deleting(&mut self) -> Result<bool> {
        let Some(number) = self.snapshots.iter().position(|one| one.record.is_going) else {
            return Ok(false);
        };
        let tree = self.snapshots[number].tree;
        let older = number.checked_sub(1).map(|older| self.snapshots[older].tree);
        let Some(first) = self.region.next_block(tree, 0, MAX_FILE_BLOCKS, true)? else {
            // What is left of its tree leads nowhere.
            self.cut(tree, 0, u64::MAX)?;
            self.forget_snapshot(number)?;
            return Ok(true);
        };
        match older {
            None => {
                let at = self.region.pointer_at(tree, first)?.expect("it was found");
                self.free_records(tree, at)?;
            }
            Some(older) => {
                if let Some((from, to)) = self.hand_down(tree, older, first)? {
                    self.merge_records(from, to)?;
                    self.free_records(tree, from)?;
                }
            }
        }
        Ok(true)
    }

    /// The page of what is kept under a pointer.
    fn page_at(&self, at: usize) -> Result<PageId> {
        self.region
            .pointer_page(at)?
            .ok_or_else(|| Error::Damaged("a snapshot keeps nothing where it should".into()))
    }

    /// Frees all that a page of a snapshot keeps, and the page.
    fn free_records(&mut self, tree: Ino, at: usize) -> Result<()> {
        let page = self.page_at(at)?;
        for (record, kept) in self.region.records_in(page) {
            self.drop_record(record, kept)?;
        }
        self.region.store_word(at, 0);
        self.region.fence();
        self.free_metadata_page(tree, page)
    }

    /// Frees all that is kept of an inode.
    fn free_record_content(&mut self, at: usize, kept: Ino) -> Result<()> {
        let inode = self.region.kept_inode(at);
        if !inode.is_inline_link() {
            self.cut(kept, 0, u64::MAX)?;
        }
        let xattrs_at = at + Field::Xattrs as usize;
        if let Some(page) = self.region.pointer_page(xattrs_at)? {
            self.region.store_word(xattrs_at, 0);
            self.region.fence();
            self.free_metadata_page(kept, page)?;
        }
        Ok(())
    }

    fn drop_record(&mut self, at: usize, kept: Ino) -> Result<()> {
        self.free_record_content(at, kept)?;
        self.region.store_word(at, 0);
        self.region.fence();
        Ok(())
    }

    /// An older snapshot gets from a page what it does not have itself.
    fn merge_records(&mut self, from: usize, to: usize) -> Result<()> {
        let (from, to) = (self.page_at(from)?, self.page_at(to)?);
        for (at, kept) in self.region.records_in(from) {
            let to_at = self.region.areas.page(to) + (at - self.region.areas.page(from));
            let older = self.region.kept(to_at);
            if !older.is_there() {
                self.move_record(at, to_at)?;
            } else if older.was_used() && !older.is_whole() && self.region.kept(at).was_used() {
                self.merge_record(at, to_at)?;
            } else {
                self.drop_record(at, kept)?;
            }
        }
        Ok(())
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

    /// An inode that both keep: what changed between them is in the older one, the rest is in the newer.
    fn merge_record(&mut self, from_at: usize, to_at: usize) -> Result<()> {
        let [from, to] = [from_at, to_at].map(|at| self.region.areas.kept_inode(at));
        if !self.region.kept_inode(from_at).is_inline_link() {
            self.move_blocks(&Move { from, to, blocks: 0..MAX_FILE_BLOCKS })?;
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
        self.free_record_content(from_at, from)?;
        let is_whole = if self.region.kept(from_at).is_whole() { Kept::WHOLE } else { 0 };
        let mut changes = Changes::default();
        changes.put_word(to_at, self.kept_word(to_at, is_whole, 0));
        changes.put_word(from_at, 0);
        self.region.apply(changes);
        Ok(())
    }
}
