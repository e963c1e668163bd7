//! Mount of a snapshot: a copy of the NVRAM is rolled back to the snapshot. The SSD is only read.

use super::super::epoch::PairRule;
use super::super::map::slot_start;
use super::super::open::{DamagePolicy, OpenError, OpenReport, refuse_damaged};
use super::super::{Region, Store};
use super::page_word;
use crate::api::{Ino, Result};
use crate::layout::{
    BlockLocation, Field, INODES_PER_PAGE, Inode, MAX_FILE_BLOCKS, POINTERS, POINTERS_PER_BLOCK,
    SnapshotPages,
};
use crate::nvram::Nvram;
use crate::options::Options;
use crate::ssd::Ssd;
use std::sync::Arc;

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Opens a snapshot for reading. `nvram` must be a private copy, because this function modifies it.
    ///
    /// # Errors
    /// Devices that do not hold a file system or not this snapshot; damage that needs fsck.
    pub fn open_snapshot(
        nvram: N,
        ssd: Arc<S>,
        options: Options,
        name: &str,
    ) -> std::result::Result<(Self, OpenReport), OpenError> {
        let (mut store, found) =
            Self::open_with(nvram, ssd, options, PairRule::SameMount, DamagePolicy::Refuse)?;
        refuse_damaged(&found.scan)?;
        let names = || store.snapshots().map(|one| one.name.clone()).collect::<Vec<_>>().join(", ");
        let number =
            store.snapshots.iter().position(|one| one.record.name == name && !one.record.is_being_deleted);
        let number = number.ok_or_else(|| OpenError::NoSnapshot { name: name.to_owned(), there: names() })?;
        store.is_view = true;
        for newer in (number..store.snapshots.len()).rev() {
            store.roll_back(store.snapshots[newer].tree)?;
        }
        for slot in 0..SnapshotPages::COUNT {
            store.region.patch_word(page_word(slot), 0);
        }
        if store.region.is_checked() {
            store.region.recompute_checksums();
        }
        let scan = store.rescan();
        refuse_damaged(&scan)?;
        store.truncate_too_long(&scan)?;
        Ok((store, OpenReport { was_closed: found.was_closed, scan }))
    }

    /// Rolls the file system back to each of its snapshots in turn, newest first, and calls `each` with the name and
    /// the state of each snapshot. Checksums of pages are not updated.
    ///
    /// # Errors
    /// Errors of `each`; [`Error::Damaged`](crate::api::Error::Damaged).
    pub(crate) fn for_each_snapshot(
        mut self,
        mut each: impl FnMut(&str, &Region<N>) -> Result<()>,
    ) -> Result<()> {
        for number in (0..self.snapshots.len()).rev() {
            let (tree, record) = (self.snapshots[number].tree, self.snapshots[number].record.clone());
            self.roll_back(tree)?;
            if !record.is_being_deleted {
                each(&record.name, &self.region)?;
            }
        }
        Ok(())
    }

    /// Replaces the current content by the content that a snapshot keeps.
    fn roll_back(&mut self, tree: Ino) -> Result<()> {
        for (number, page) in self.pages_of_records(tree)? {
            for (at, kept) in self.region.records_in(page) {
                let ino = Ino(number as u32 * INODES_PER_PAGE + (kept.0 % INODES_PER_PAGE));
                self.roll_back_inode(ino, at)?;
            }
        }
        Ok(())
    }

    fn roll_back_inode(&mut self, ino: Ino, kept_at: usize) -> Result<()> {
        let (kept, old) = (self.region.kept_mode(kept_at), self.region.kept_inode(kept_at));
        let at = self.region.inode_at(ino)?;
        if !kept.was_used() {
            let free = Inode { generation: old.generation, ..Inode::default() };
            self.region.store(at, &free.encode());
            return Ok(());
        }
        let now = self.region.raw_inode(ino)?;
        if !old.is_inline_link() {
            let field = Field::Pointers as usize;
            for slot in 0..POINTERS {
                if kept.is_complete() {
                    self.region.patch_word(at + field + 8 * slot, 0);
                }
                let (_, levels) = slot_start(slot);
                self.roll_back_pointers(at + field + 8 * slot, kept_at + field + 8 * slot, levels)?;
            }
        }
        let pointers = if old.is_inline_link() { old.pointers } else { self.region.raw_inode(ino)?.pointers };
        let xattrs = if kept.has_unchanged_xattrs() { now.xattrs } else { old.xattrs };
        self.region.store(at, &Inode { pointers, xattrs, ..old }.encode());
        Ok(())
    }

    /// Replaces pointers, and all blocks to which they lead, by the pointers and blocks that a snapshot keeps.
    fn roll_back_pointers(&mut self, at: usize, kept_at: usize, levels: u32) -> Result<()> {
        let kept = self.region.word(kept_at);
        if kept == 0 {
            return Ok(());
        }
        if levels == 0 {
            let is_absent = self.region.location(kept)? == BlockLocation::Absent;
            self.region.patch_word(at, if is_absent { 0 } else { kept });
            return Ok(());
        }
        let Some(below) = self.region.pointer_page(kept_at)? else { return Ok(()) };
        let kept_table = self.region.areas.page(below);
        // If the live pointer block no longer exists, the pointer block that the snapshot keeps is used.
        let table = match self.region.pointer_page(at)? {
            Some(page) => self.region.areas.page(page),
            None => kept_table,
        };
        for slot in 0..POINTERS_PER_BLOCK as usize {
            self.roll_back_pointers(table + 8 * slot, kept_table + 8 * slot, levels - 1)?;
        }
        if table == kept_table {
            self.region.patch_word(at, kept);
        }
        Ok(())
    }
}

const _: () = assert!(MAX_FILE_BLOCKS * INODES_PER_PAGE as u64 >= 1 << 31);
