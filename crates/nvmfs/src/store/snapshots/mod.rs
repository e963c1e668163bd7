//! Snapshots: earlier states of the file system, kept together with the live state.
//!
//! A snapshot is created by recording that it exists. From then on, old content is preserved before it first changes.
//! Inodes and directory blocks are copied. A data block is transferred to the snapshot by changing two pointers
//! atomically. A location belongs to exactly one pointer, either of a file or of a snapshot. So code that moves,
//! flushes, verifies or frees blocks need not know about snapshots.
//!
//! Content that a snapshot lacks did not change before the next newer snapshot, so it is looked up there, and finally
//! in the live file system. Therefore only the newest snapshot records changes. When a snapshot is deleted, the next
//! older snapshot takes over the content that it lacks.
//!
//! A snapshot has a tree of pointers like a file. Its blocks are inode pages, indexed by inode number, and each inode
//! has a tree of the kept blocks. The pages are ordinary metadata pages with checksums. The number of a kept inode
//! encodes its location.

mod delete;
mod keep;
mod moving;
mod snapshot_file;
mod view;

pub use snapshot_file::SnapshotFile;

use super::Store;
use super::pages;
use super::region::{Changes, Region};
use crate::api::{Error, Ino, Result};
use crate::layout::{
    FIRST_KEPT_INODE, INODE_BYTES, INODES_PER_PAGE, Inode, KeptMode, MAX_SNAPSHOT_PAGES, PageId,
    SNAPSHOT_BYTES, SNAPSHOTS_PER_PAGE, SnapshotPages, SnapshotRecord, check_snapshot_name, checked_number,
    checked_word,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// Snapshot in an open store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Record of the snapshot on NVRAM.
    pub record: SnapshotRecord,
    /// Inode number of the tree of the snapshot.
    pub(in crate::store) tree: Ino,
    /// View number, which is not reused while the store is open.
    pub(in crate::store) view: u32,
}

/// True if an inode number denotes an inode that a snapshot keeps.
pub(super) fn is_kept(ino: Ino) -> bool {
    ino.0 >= FIRST_KEPT_INODE
}

impl<N: Nvram> Region<N> {
    /// Returns the live inode number of a file, given its number in a snapshot.
    pub(in crate::store) fn file_of(&self, ino: Ino) -> Ino {
        let Some(at) = self.areas.kept_offset(ino) else { return ino };
        let page = PageId(((at - self.areas.data) / crate::api::BLOCK_BYTES) as u32);
        let (_, number) = pages::owner_of(self, page);
        Ino(number.wrapping_mul(INODES_PER_PAGE).wrapping_add((ino.0 - FIRST_KEPT_INODE) % INODES_PER_PAGE))
    }

    /// Returns the mode and the flags of a kept inode.
    pub(in crate::store) fn kept_mode(&self, at: usize) -> KeptMode {
        KeptMode(self.half(at))
    }

    /// Returns the offset of an inode in a snapshot, if its page exists.
    fn record_of(&self, tree: Ino, ino: Ino) -> Result<Option<usize>> {
        Ok(self.record_page_of(tree, ino)?.map(|page| self.record_in(page, ino)))
    }

    /// Returns the page on which a snapshot keeps an inode, if it exists.
    fn record_page_of(&self, tree: Ino, ino: Ino) -> Result<Option<PageId>> {
        match self.pointer_at(tree, (ino.0 / INODES_PER_PAGE).into())? {
            Some(at) => self.pointer_page(at),
            None => Ok(None),
        }
    }

    fn record_in(&self, page: PageId, ino: Ino) -> usize {
        self.areas.page(page) + (ino.0 % INODES_PER_PAGE) as usize * INODE_BYTES
    }

    /// Returns the offsets and numbers of all inodes kept on a page of a snapshot.
    pub(in crate::store) fn records_in(&self, page: PageId) -> Vec<(usize, Ino)> {
        let start = self.areas.page(page);
        let locations = (0..INODES_PER_PAGE as usize).map(|number| start + number * INODE_BYTES);
        let kept = locations.filter(|at| self.kept_mode(*at).is_present());
        kept.map(|at| (at, self.areas.kept_inode(at))).collect()
    }

    /// Returns the byte range of the record of the snapshot with this tree.
    fn snapshot_range(&self, tree: Ino) -> Range<usize> {
        let at = self.areas.kept_offset(tree).expect("it has such a number");
        at..at + SNAPSHOT_BYTES
    }

    /// Returns the inode that is kept at an offset, with the mode that it had in the live file system.
    fn kept_inode(&self, at: usize) -> Inode {
        let bytes = self.bytes()[at..at + INODE_BYTES].try_into().expect("an inode");
        let inode = Inode::decode(bytes);
        Inode { mode: KeptMode(inode.mode).mode(), ..inode }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Returns the snapshots, oldest first, except those being deleted.
    pub fn snapshots(&self) -> impl Iterator<Item = &SnapshotRecord> {
        self.snapshots.iter().map(|one| &one.record).filter(|record| !record.is_being_deleted)
    }

    /// True if any snapshot exists, including those being deleted.
    pub fn has_snapshots(&self) -> bool {
        !self.snapshots.is_empty()
    }

    /// Returns the number of blocks on both devices that only snapshots use, including pointer blocks.
    pub fn snapshot_blocks(&self) -> u64 {
        self.snapshot_blocks
    }

    /// Creates a snapshot by writing its record; the cost does not depend on the size of the file system.
    ///
    /// # Errors
    /// [`Error::Invalid`] for an invalid name; [`Error::Exists`]; [`Error::NoSpace`] if the maximum number
    /// is reached or no page is free; [`Error::Unsupported`] if blocks are overwritten in place on the SSD.
    pub fn create_snapshot(&mut self, name: &str, now_ns: i64) -> Result<()> {
        check_snapshot_name(name)?;
        if self.superblock.placement.updates_in_place() {
            return Err(Error::Unsupported("snapshots where blocks are written in place on the SSD"));
        }
        if self.region.areas.pages > MAX_SNAPSHOT_PAGES {
            return Err(Error::Unsupported("snapshots with more than 256 GiB of NVRAM"));
        }
        if self.snapshots().any(|record| record.name == name) {
            return Err(Error::Exists);
        }
        let at = self.free_record()?;
        let sequence = self.snapshots.last().map_or(0, |last| last.record.sequence) + 1;
        let record =
            SnapshotRecord { sequence, created_ns: now_ns, is_being_deleted: false, name: name.to_owned() };
        let mut changes = Changes::default();
        changes.put(at, record.encode().to_vec());
        self.region.apply(changes);
        self.add_snapshot(record, self.region.areas.kept_inode(at));
        Ok(())
    }

    /// Adds a snapshot, which is newer than all existing snapshots.
    pub(super) fn add_snapshot(&mut self, record: SnapshotRecord, tree: Ino) {
        self.last_view += 1;
        self.snapshots.push(Snapshot { record, tree, view: self.last_view });
    }

    /// Returns the page of snapshot records to which a word after the superblock refers.
    fn record_page(&self, slot: usize) -> Option<PageId> {
        let number = checked_number(self.region.word(page_word(slot)))?.checked_sub(1)?;
        u32::try_from(number).ok().filter(|page| *page < self.region.areas.pages).map(PageId)
    }

    /// Returns the offset of a free snapshot record; allocates a page for it if necessary.
    fn free_record(&mut self) -> Result<usize> {
        let pages: Vec<PageId> =
            (0..SnapshotPages::COUNT).filter_map(|slot| self.record_page(slot)).collect();
        for page in pages {
            let start = self.region.areas.page(page);
            let locations = (0..SNAPSHOTS_PER_PAGE).map(|number| start + number * SNAPSHOT_BYTES);
            if let Some(at) = locations.into_iter().find(|at| self.region.word(*at) == 0) {
                return Ok(at);
            }
        }
        let slot = (0..SnapshotPages::COUNT).find(|slot| self.region.word(page_word(*slot)) == 0);
        let slot = slot.ok_or(Error::NoSpace("there are as many snapshots as there can be"))?;
        self.make_room(1)?;
        let page = self.take_metadata_page(Ino(FIRST_KEPT_INODE))?;
        // The zeros of the page must be durable before the word that refers to it.
        self.region.fence();
        self.region.patch_word(page_word(slot), checked_word(u64::from(page.0) + 1));
        self.region.fence();
        Ok(self.region.areas.page(page))
    }

    /// Removes the record of a snapshot, and its page if the page becomes empty.
    fn forget_snapshot(&mut self, number: usize) -> Result<()> {
        let removed = self.snapshots.remove(number);
        let range = self.region.snapshot_range(removed.tree);
        let mut changes = Changes::default();
        changes.put(range.start, vec![0; SNAPSHOT_BYTES]);
        self.region.apply(changes);
        self.drop_empty_record_pages()
    }

    /// Frees record pages that contain no record; also called after a power cut.
    pub(super) fn drop_empty_record_pages(&mut self) -> Result<()> {
        for slot in 0..SnapshotPages::COUNT {
            if let Some(page) = self.record_page(slot)
                && self.region.page(page).iter().all(|byte| *byte == 0)
            {
                self.region.patch_word(page_word(slot), 0);
                self.region.fence();
                self.free_metadata_page(Ino(FIRST_KEPT_INODE), page)?;
            }
        }
        Ok(())
    }

    /// Returns the inode pages in the tree of a snapshot, with their numbers.
    fn pages_of_records(&self, tree: Ino) -> Result<Vec<(u64, PageId)>> {
        let mut pages = Vec::new();
        let mut next = 0;
        while let Some(number) = self.region.next_block(tree, next, crate::layout::MAX_FILE_BLOCKS, true)? {
            let at = self.region.pointer_at(tree, number)?;
            pages.extend(
                at.map(|at| self.region.pointer_page(at)).transpose()?.flatten().map(|page| (number, page)),
            );
            next = number + 1;
        }
        Ok(pages)
    }

    /// Recounts the blocks of all snapshots.
    pub(super) fn count_snapshot_blocks(&self) -> Result<u64> {
        let pages = (0..SnapshotPages::COUNT).filter(|slot| self.record_page(*slot).is_some()).count();
        self.snapshots.iter().try_fold(pages as u64, |count, one| Ok(count + self.blocks_below(one.tree)?))
    }

    /// Returns the number of blocks that belong to a snapshot, including pointer blocks. It is an upper bound on the
    /// number of blocks that deleting the snapshot frees.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Damaged`].
    pub fn blocks_of_snapshot(&self, name: &str) -> Result<u64> {
        let is_it = |one: &&Snapshot| one.record.name == name && !one.record.is_being_deleted;
        let one = self.snapshots.iter().find(is_it).ok_or(Error::NotFound)?;
        self.blocks_below(one.tree)
    }

    fn blocks_below(&self, tree: Ino) -> Result<u64> {
        let mut count = self.region.locations(tree)?.len();
        for (_, page) in self.pages_of_records(tree)? {
            for (at, kept) in self.region.records_in(page) {
                let inode = self.region.kept_inode(at);
                let locations =
                    if inode.is_inline_link() { Vec::new() } else { self.region.locations(kept)? };
                count += usize::from(inode.xattrs != 0);
                count += locations.iter().filter(|location| location.has_content()).count();
            }
        }
        Ok(count as u64)
    }
}

/// Returns the offset of the word that refers to a page of snapshot records.
pub(super) fn page_word(slot: usize) -> usize {
    SnapshotPages::AT + 8 * slot
}

/// Repairs a word with a single flipped bit; returns 0 if the damage is different.
pub(super) fn repaired_word(word: u64) -> u64 {
    let mut one_off = (0..64).map(|bit| word ^ 1 << bit);
    one_off.find(|other| checked_number(*other).is_some()).unwrap_or(0)
}

const _: () = assert!(SNAPSHOT_BYTES.is_multiple_of(INODE_BYTES));
