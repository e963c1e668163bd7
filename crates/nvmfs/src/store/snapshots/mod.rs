//! Snapshots: what the file system was at a time, kept beside what it is.
//!
//! A snapshot is made by noting that there is one. From then on whatever is to change for the first time is kept before: an inode
//! is copied, a block of a directory too, and the place of a block of data is given to the snapshot by turning two pointers at
//! once. A place belongs to one pointer only, the file's or a snapshot's, so that whatever moves, flushes, checks or frees blocks
//! need not know of snapshots. What a snapshot does not have did not change until the next one was made, and that one is asked
//! for it, and in the end the file system itself. So the newest alone has to be given what changes, and of two that follow each
//! other the older takes over what it has not, when the newer goes.
//!
//! A snapshot has a tree of pointers as a file has, whose blocks are pages of inodes by their numbers, each with the tree of what
//! is kept of it. They are plain pages of metadata, with their checksums. The number of an inode that is kept says where it stands.

mod delete;
mod keep;
mod moving;
mod past;
mod view;

pub use past::Past;

use super::Store;
use super::pages;
use super::region::{Changes, Region};
use crate::api::{Error, Ino, Result};
use crate::layout::{
    INODES_PER_PAGE, Inode, KEPT_INODES, Kept, MOST_PAGES_OF_SNAPSHOTS, PageId, SIZE_OF_INODE,
    SNAPSHOT_BYTES, SNAPSHOTS_PER_PAGE, SnapshotPages, SnapshotRecord, check_snapshot_name, checked_number,
    checked_word,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// A snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// What is recorded of it.
    pub record: SnapshotRecord,
    /// The number under which its tree is reached.
    pub(in crate::store) tree: Ino,
    /// The number by which it is looked at; of none before it while the store is open.
    pub(in crate::store) view: u32,
}

/// Whether a number is of what snapshots keep.
pub(super) fn is_kept(ino: Ino) -> bool {
    ino.0 >= KEPT_INODES
}

impl<N: Nvram> Region<N> {
    /// The file whose block something is, also if a snapshot keeps it.
    pub(in crate::store) fn file_of(&self, ino: Ino) -> Ino {
        let Some(at) = self.areas.kept_at(ino) else { return ino };
        let page = PageId(((at - self.areas.data) / crate::api::BLOCK_BYTES) as u32);
        let (_, number) = pages::owner_of(self, page);
        Ino(number.wrapping_mul(INODES_PER_PAGE).wrapping_add((ino.0 - KEPT_INODES) % INODES_PER_PAGE))
    }

    /// What is kept of an inode besides it.
    pub(in crate::store) fn kept(&self, at: usize) -> Kept {
        Kept(self.half(at))
    }

    /// Where a snapshot keeps an inode, if there is room for it.
    fn record_of(&self, tree: Ino, ino: Ino) -> Result<Option<usize>> {
        Ok(self.record_page_of(tree, ino)?.map(|page| self.record_in(page, ino)))
    }

    /// The page on which a snapshot keeps an inode, if there is one.
    fn record_page_of(&self, tree: Ino, ino: Ino) -> Result<Option<PageId>> {
        match self.pointer_at(tree, (ino.0 / INODES_PER_PAGE).into())? {
            Some(at) => self.pointer_page(at),
            None => Ok(None),
        }
    }

    fn record_in(&self, page: PageId, ino: Ino) -> usize {
        self.areas.page(page) + (ino.0 % INODES_PER_PAGE) as usize * SIZE_OF_INODE
    }

    /// What a page of a snapshot keeps: where, and as which number.
    pub(in crate::store) fn records_in(&self, page: PageId) -> Vec<(usize, Ino)> {
        let start = self.areas.page(page);
        let places = (0..INODES_PER_PAGE as usize).map(|number| start + number * SIZE_OF_INODE);
        let kept = places.filter(|at| self.kept(*at).is_there());
        kept.map(|at| (at, self.areas.kept_inode(at))).collect()
    }

    /// Bytes of the NVRAM where the record of the snapshot with this tree stands.
    fn snapshot_range(&self, tree: Ino) -> Range<usize> {
        let at = self.areas.kept_at(tree).expect("it has such a number");
        at..at + SNAPSHOT_BYTES
    }

    /// The inode that is kept at a place, as the file system would have it.
    fn kept_inode(&self, at: usize) -> Inode {
        let bytes = self.bytes()[at..at + SIZE_OF_INODE].try_into().expect("an inode");
        let inode = Inode::decode(bytes);
        Inode { mode: Kept(inode.mode).mode(), ..inode }
    }
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// The snapshots that there are, the oldest first; those being deleted not among them.
    pub fn snapshots(&self) -> impl Iterator<Item = &SnapshotRecord> {
        self.snapshots.iter().map(|one| &one.record).filter(|record| !record.is_going)
    }

    /// Whether there are any, those being deleted among them.
    pub fn has_snapshots(&self) -> bool {
        !self.snapshots.is_empty()
    }

    /// Blocks of either device that are there for snapshots alone, what leads to them included.
    pub fn snapshot_blocks(&self) -> u64 {
        self.snapshot_blocks
    }

    /// Makes a snapshot: one update of its record, however large the file system is.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name that none has, [`Error::Exists`], [`Error::NoSpace`] if there are as many as can be or no page
    /// for another, [`Error::Unsupported`] where blocks are overwritten on the SSD.
    pub fn create_snapshot(&mut self, name: &str, now_ns: i64) -> Result<()> {
        check_snapshot_name(name)?;
        if self.superblock.placement.updates_in_place() {
            return Err(Error::Unsupported("snapshots where blocks are written in place on the SSD"));
        }
        if self.region.areas.pages > MOST_PAGES_OF_SNAPSHOTS {
            return Err(Error::Unsupported("snapshots with more than 256 GiB of NVRAM"));
        }
        if self.snapshots().any(|record| record.name == name) {
            return Err(Error::Exists);
        }
        let at = self.free_record()?;
        let sequence = self.snapshots.last().map_or(0, |last| last.record.sequence) + 1;
        let record = SnapshotRecord { sequence, created_ns: now_ns, is_going: false, name: name.to_owned() };
        let mut changes = Changes::default();
        changes.put(at, record.encode().to_vec());
        self.region.apply(changes);
        self.add_snapshot(record, self.region.areas.kept_inode(at));
        Ok(())
    }

    /// There is such a snapshot, newer than all others.
    pub(super) fn add_snapshot(&mut self, record: SnapshotRecord, tree: Ino) {
        self.last_view += 1;
        self.snapshots.push(Snapshot { record, tree, view: self.last_view });
    }

    /// The page with records that a word behind the superblock tells of.
    fn record_page(&self, slot: usize) -> Option<PageId> {
        let number = checked_number(self.region.word(page_word(slot)))?.checked_sub(1)?;
        u32::try_from(number).ok().filter(|page| *page < self.region.areas.pages).map(PageId)
    }

    /// Where there is room for the record of another snapshot; a page for it is made if needed.
    fn free_record(&mut self) -> Result<usize> {
        let pages: Vec<PageId> =
            (0..SnapshotPages::COUNT).filter_map(|slot| self.record_page(slot)).collect();
        for page in pages {
            let start = self.region.areas.page(page);
            let places = (0..SNAPSHOTS_PER_PAGE).map(|number| start + number * SNAPSHOT_BYTES);
            if let Some(at) = places.into_iter().find(|at| self.region.word(*at) == 0) {
                return Ok(at);
            }
        }
        let slot = (0..SnapshotPages::COUNT).find(|slot| self.region.word(page_word(*slot)) == 0);
        let slot = slot.ok_or(Error::NoSpace("there are as many snapshots as there can be"))?;
        self.make_room(1)?;
        let page = self.take_metadata_page(Ino(KEPT_INODES))?;
        // Its zeros before the word that leads to it.
        self.region.fence();
        self.region.patch_word(page_word(slot), checked_word(u64::from(page.0) + 1));
        self.region.fence();
        Ok(self.region.areas.page(page))
    }

    /// The record of a snapshot goes, and the page that it was the last on.
    fn forget_snapshot(&mut self, number: usize) -> Result<()> {
        let gone = self.snapshots.remove(number);
        let range = self.region.snapshot_range(gone.tree);
        let mut changes = Changes::default();
        changes.put(range.start, vec![0; SNAPSHOT_BYTES]);
        self.region.apply(changes);
        self.drop_empty_record_pages()
    }

    /// Pages on which no snapshot is recorded are free; after a power cut, too.
    pub(super) fn drop_empty_record_pages(&mut self) -> Result<()> {
        for slot in 0..SnapshotPages::COUNT {
            if let Some(page) = self.record_page(slot)
                && self.region.page(page).iter().all(|byte| *byte == 0)
            {
                self.region.patch_word(page_word(slot), 0);
                self.region.fence();
                self.free_metadata_page(Ino(KEPT_INODES), page)?;
            }
        }
        Ok(())
    }

    /// What stands in the trees of a snapshot: pages of what it keeps, each with its number.
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

    /// Counts again what snapshots have.
    pub(super) fn count_snapshot_blocks(&self) -> Result<u64> {
        let pages = (0..SnapshotPages::COUNT).filter(|slot| self.record_page(*slot).is_some()).count();
        self.snapshots.iter().try_fold(pages as u64, |count, one| Ok(count + self.blocks_below(one.tree)?))
    }

    /// Blocks that a snapshot has for itself, what leads to them included: no more than that is free when it is deleted.
    ///
    /// # Errors
    /// [`Error::NotFound`]; [`Error::Damaged`].
    pub fn blocks_of_snapshot(&self, name: &str) -> Result<u64> {
        let is_it = |one: &&Snapshot| one.record.name == name && !one.record.is_going;
        let one = self.snapshots.iter().find(is_it).ok_or(Error::NotFound)?;
        self.blocks_below(one.tree)
    }

    fn blocks_below(&self, tree: Ino) -> Result<u64> {
        let mut count = self.region.places(tree)?.len();
        for (_, page) in self.pages_of_records(tree)? {
            for (at, kept) in self.region.records_in(page) {
                let inode = self.region.kept_inode(at);
                let places = if inode.is_inline_link() { Vec::new() } else { self.region.places(kept)? };
                count += usize::from(inode.xattrs != 0);
                count += places.iter().filter(|place| place.has_content()).count();
            }
        }
        Ok(count as u64)
    }
}

/// Where the word stands that tells of a page with records.
pub(super) fn page_word(slot: usize) -> usize {
    SnapshotPages::AT + 8 * slot
}

/// The word that one was before a bit of it changed, if that is what happened to it; else none.
pub(super) fn mended(word: u64) -> u64 {
    let mut one_off = (0..64).map(|bit| word ^ 1 << bit);
    one_off.find(|other| checked_number(*other).is_some()).unwrap_or(0)
}

const _: () = assert!(SNAPSHOT_BYTES.is_multiple_of(SIZE_OF_INODE));
