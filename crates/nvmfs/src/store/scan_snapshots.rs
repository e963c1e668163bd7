//! Walk over the inodes and blocks that snapshots keep.

use super::change_notes::Unit;
use super::pages;
use super::scan::{AllowedTarget, ChecksummedPart, ProblemKind, Walk};
use super::snapshots::{page_word, repaired_word};
use crate::api::Ino;
use crate::layout::{
    BlockLocation, FIRST_KEPT_INODE, Field, Inode, KeptMode, PageId, SNAPSHOT_BYTES, SNAPSHOTS_PER_PAGE,
    SnapshotPages, SnapshotRecord, Version, checked_number, kind_of,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;

impl<N: Nvram, S: Ssd> Walk<'_, N, S> {
    /// Walks all snapshots; called after the walk over all live files.
    pub(super) fn snapshots(&mut self) {
        if self.store.superblock.version < Version::Snapshots || !self.store.region.is_checked() {
            return;
        }
        (self.is_kept, self.reserves, self.end) = (true, true, u64::MAX);
        self.blocks = 0;
        for slot in 0..SnapshotPages::COUNT {
            self.snapshot_page(page_word(slot));
        }
        self.store.snapshots.sort_by_key(|one| one.record.sequence);
        self.store.snapshot_blocks = self.blocks.into();
    }

    /// Walks the snapshots on the page that a word refers to.
    fn snapshot_page(&mut self, word_at: usize) {
        self.ino = Ino(FIRST_KEPT_INODE);
        let word = self.store.region.word(word_at);
        if word == 0 {
            return;
        }
        let areas = &self.store.region.areas;
        let number = checked_number(word).and_then(|number| u32::try_from(number.checked_sub(1)?).ok());
        let page = number.filter(|page| *page < areas.pages).map(PageId);
        let pointer = page.map_or(0, |page| BlockLocation::Nvram(page).encode(areas));
        let Some(page) = page.filter(|_| self.metadata_page(pointer).is_some()) else {
            let repaired = if checked_number(word).is_none() { repaired_word(word) } else { 0 };
            return self.report(ProblemKind::Records, word_at, repaired);
        };
        self.check_sum(Unit::Page(page), ChecksummedPart::Block(0));
        let start = self.store.region.areas.page(page);
        for at in (0..SNAPSHOTS_PER_PAGE).map(|number| start + number * SNAPSHOT_BYTES) {
            self.snapshot(at);
        }
    }

    /// Walks the snapshot whose record is at `at`.
    fn snapshot(&mut self, at: usize) {
        let tree = self.store.region.areas.kept_inode(at);
        self.ino = tree;
        let bytes = self.store.region.bytes()[at..at + SNAPSHOT_BYTES].try_into().expect("a record");
        match SnapshotRecord::decode(bytes) {
            Ok(None) => {}
            Err(_) => self.report(ProblemKind::Record, at, 0),
            Ok(Some(record)) => {
                self.store.add_snapshot(record, tree);
                self.trees(at, AllowedTarget::Kept);
                for (_, page) in std::mem::take(&mut self.kept_pages) {
                    for (at, kept) in self.store.region.records_in(page) {
                        self.kept_inode(at, kept);
                    }
                }
            }
        }
    }

    /// Claims an inode page of a snapshot.
    pub(super) fn kept_page(&mut self, pointer: u64, number: u32) -> bool {
        let Some(page) = self.metadata_page(pointer) else { return false };
        pages::set_owner(&mut self.store.region, page, self.ino, number);
        self.kept_pages.push((number, page));
        self.check_sum(Unit::Page(page), ChecksummedPart::Block(number.into()));
        true
    }

    /// Walks an inode that a snapshot keeps.
    fn kept_inode(&mut self, at: usize, ino: Ino) {
        self.ino = ino;
        let mode = self.store.region.kept_mode(at);
        if !mode.was_used() {
            return;
        }
        let Some(kind) = kind_of(mode.mode()) else {
            return self.report(ProblemKind::Mode, at, KeptMode::FREE.into());
        };
        let inode = self.store.region.raw_inode(ino).expect("it stands there");
        let inode = Inode { mode: mode.mode(), ..inode };
        if mode.has_unchanged_xattrs() && inode.xattrs != 0 {
            self.report(ProblemKind::Xattrs, at + Field::Xattrs as usize, 0);
        } else {
            self.xattrs(&inode, at);
        }
        self.end = u64::MAX;
        self.pointers(&inode, kind, at);
    }
}
