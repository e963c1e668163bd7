//! Walk over all inodes and their pointers. It rebuilds the page table, the owners and the bitmap when a file system
//! is opened, and is the part of fsck that checks blocks (section III-D).

pub use super::problems::{ChecksummedPart, DamagedArea, Problem, ProblemKind, Scan};

use super::change_notes::Unit;
use super::inode_page_map::InodePages;
use super::pages::{self, State};
use super::{Store, extents, map};
use crate::api::{BLOCK_BYTES, Ino, Kind, MAX_FILE_BYTES, ROOT};
use crate::layout::{
    BlockLocation, Field, INODE_BYTES, INODES, Inode, MAX_DIRECTORY_BLOCKS, PAGE_INFO_BYTES, PAGE_SUM_AT,
    POINTERS, POINTERS_PER_BLOCK, PageId,
};
use crate::nvram::Nvram;
use crate::ssd::Ssd;
use std::ops::Range;

/// Bytes of the tables that are cleared at a time; at least a page.
const PIECE_BYTES: usize = 1 << 20;

/// Number of invalid pointers that a pointer page may always have. A page that has more invalid pointers than this
/// number, and also more invalid than valid pointers, is not accepted as a pointer page.
const MAX_BAD_POINTERS: usize = 8;

/// Locations to which a pointer may lead.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AllowedTarget {
    /// A data block on either device.
    Data,
    /// A metadata page.
    Metadata,
    /// A directory page, whose block number is limited by the range of positions.
    Entries,
    /// An inode page.
    Inodes,
    /// An inode page of a snapshot.
    Kept,
}

/// Splits a range into pieces.
fn pieces(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(PIECE_BYTES).map(move |at| at..range.end.min(at + PIECE_BYTES))
}

pub(super) struct Walk<'a, N, S> {
    pub store: &'a mut Store<N, S>,
    pub scan: Scan,
    pub ino: Ino,
    pub blocks: u32,
    /// True if the block counts of inodes are valid, because the file system was closed.
    is_counted: bool,
    /// Number of the first block beyond the end of the file that is not reserved, if there is one.
    beyond: Option<u64>,
    /// True if blocks beyond the end may be reserved.
    pub reserves: bool,
    pub end: u64,
    /// Highest number of a block that was found in the file, plus 1.
    after_last: u64,
    /// State of the file's data pages.
    state: State,
    /// True if the inode is kept by a snapshot.
    pub is_kept: bool,
    /// Inode pages of snapshots, with their numbers.
    pub kept_pages: Vec<(u32, PageId)>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Walks all inodes, and records the owners of pages and blocks. Free extents are determined after all blocks are
    /// known.
    pub(super) fn scan(&mut self) -> Scan {
        self.scan_as(false)
    }

    /// Does what [`Store::scan`] does; if the file system was closed, also verifies the block counts of inodes.
    pub(super) fn scan_as(&mut self, was_closed: bool) -> Scan {
        self.clear_owners();
        let is_counted = was_closed && self.region.is_checked();
        let mut walk = Walk {
            store: self,
            scan: Scan::default(),
            ino: Ino(0),
            blocks: 0,
            is_counted,
            beyond: None,
            reserves: false,
            end: 0,
            after_last: 0,
            state: State::Dirty,
            is_kept: false,
            kept_pages: Vec::new(),
        };
        // The inode file comes first, because its pages contain the inodes beyond the table.
        walk.inode_file();
        for ino in walk.store.region.inos() {
            walk.inode(ino);
        }
        walk.snapshots();
        let scan = walk.scan;
        self.free_pages();
        scan
    }

    /// Clears all owners, but not the checksums of metadata pages, which are in the same table.
    fn clear_owners(&mut self) {
        let zeros = vec![0; PIECE_BYTES];
        let areas = &self.region.areas;
        let (table, owners, sums) = (areas.page_table, areas.owners, areas.sums);
        for piece in pieces(areas.bitmap..table).chain(pieces(owners..sums)) {
            self.region.store_volatile(piece.start, &zeros[..piece.len()]);
        }
        for piece in pieces(table..owners) {
            let mut infos = self.region.bytes()[piece.clone()].to_vec();
            infos.chunks_mut(PAGE_INFO_BYTES).for_each(|info| info[..PAGE_SUM_AT].fill(0));
            self.region.store_volatile(piece.start, &infos);
        }
        self.reserved_blocks = 0;
        self.snapshot_blocks = 0;
        self.snapshots.clear();
        self.region.inode_pages = InodePages::default();
        self.pages = pages::Pages::empty();
        self.extents = extents::Extents::empty(self.region.areas.extents());
    }

    /// Marks pages without an owner as free, in ascending order of use.
    fn free_pages(&mut self) {
        for page in (0..self.region.areas.pages).rev().map(PageId) {
            if pages::state_of(&self.region, page) == State::Free {
                self.pages.put(&mut self.region, page, State::Free, false);
            }
        }
    }
}

impl<N: Nvram, S: Ssd> Walk<'_, N, S> {
    pub(super) fn report(&mut self, kind: ProblemKind, at: usize, repaired: u64) {
        self.scan.report(Problem { ino: self.ino, kind, word: Some((at, repaired)) });
    }

    /// Reports a wrong checksum.
    pub(super) fn check_sum(&mut self, unit: Unit, part: ChecksummedPart) {
        if !self.store.region.has_valid_checksum(unit) {
            self.scan.report(Problem { ino: self.ino, kind: ProblemKind::Checksum(part), word: None });
        }
    }

    fn inode(&mut self, ino: Ino) {
        let at = self.store.region.inode_at(ino).expect("it is there");
        (self.ino, self.blocks) = (ino, 0);
        self.check_sum(Unit::Inode(ino), ChecksummedPart::Inode);
        if self.store.region.half(at) == 0 {
            return;
        }
        (self.beyond, self.after_last) = (None, 0);
        let inode = self.store.region.raw_inode(ino).expect("it is there");
        let Some(kind) = inode.kind() else {
            self.report(ProblemKind::Mode, at, 0);
            return;
        };
        self.scan.inodes += 1;
        if inode.links == 0 && ino != ROOT {
            self.scan.orphans.push(ino);
        }
        self.state = self.store.state_by_size(inode.size_bytes);
        self.reserves = inode.reserves_beyond_end();
        self.end = inode.size_bytes.min(MAX_FILE_BYTES).div_ceil(BLOCK_BYTES as u64);
        self.xattrs(&inode, at);
        self.pointers(&inode, kind, at);
        self.size(&inode, kind, at);
        self.finish(&inode, at);
    }

    /// Checks the size of a file after its pointers. A directory never has data blocks beyond its end, so if such
    /// blocks exist, the size is wrong. It may have pointer blocks beyond its end, allocated for a block that was
    /// then not written.
    fn size(&mut self, inode: &Inode, kind: Kind, at: usize) {
        let is_short = kind == Kind::Directory && self.after_last > self.end;
        if is_short {
            self.beyond = None;
        }
        if is_short || inode.size_bytes > MAX_FILE_BYTES {
            self.report(ProblemKind::Size, at + Field::Size as usize, self.after_last * BLOCK_BYTES as u64);
        }
    }

    pub(super) fn xattrs(&mut self, inode: &Inode, at: usize) {
        let field = at + Field::Xattrs as usize;
        if inode.xattrs == 0 {
            return;
        }
        match self.metadata_page(inode.xattrs) {
            Some(page) => self.check_sum(Unit::Page(page), ChecksummedPart::Xattrs),
            None => self.report(ProblemKind::Xattrs, field, 0),
        }
    }

    /// Walks the file whose blocks are inode pages. It has pointers and no size.
    fn inode_file(&mut self) {
        let (at, inode) = (self.store.region.areas.inode_table, self.store.region.raw_inode(INODES));
        let inode = inode.expect("it is in the table");
        (self.ino, self.end) = (INODES, u64::MAX);
        self.check_sum(Unit::Inode(INODES), ChecksummedPart::Inode);
        if inode.mode != 0 {
            self.report(ProblemKind::Mode, at, 0);
        }
        if inode.xattrs != 0 {
            self.report(ProblemKind::Xattrs, at + Field::Xattrs as usize, 0);
        }
        self.trees(at, AllowedTarget::Inodes);
        self.finish(&inode, at);
    }

    /// Claims an inode page; refuses it if at most half of its inodes have a valid checksum.
    fn inode_page(&mut self, page: PageId, number: u32) -> bool {
        let store = &mut *self.store;
        let (inodes, _) = store.region.page(page).as_chunks::<INODE_BYTES>();
        let has_sum = |inode: &&[u8; INODE_BYTES]| Inode::sum(inode) == Inode::sum_in(inode);
        let is_likely =
            !store.region.is_checked() || inodes.iter().filter(has_sum).count() > inodes.len() / 2;
        let is_free = pages::state_of(&store.region, page) == State::Free;
        if is_free && is_likely {
            pages::set_owner(&mut store.region, page, INODES, number);
            store.pages.put(&mut store.region, page, State::Inodes, false);
            store.region.inode_pages.put(number, page);
            self.blocks += 1;
        }
        is_free && is_likely
    }

    pub(super) fn pointers(&mut self, inode: &Inode, kind: Kind, at: usize) {
        let allowed = match kind {
            Kind::File => AllowedTarget::Data,
            Kind::Directory => AllowedTarget::Entries,
            Kind::Symlink if inode.is_inline_link() => return,
            Kind::Symlink => AllowedTarget::Metadata,
            // Device files, pipes and sockets have no content.
            _ => {
                self.end = 0;
                AllowedTarget::Metadata
            }
        };
        self.trees(at, allowed);
    }

    /// Walks all pointers of an inode.
    pub(super) fn trees(&mut self, at: usize, allowed: AllowedTarget) {
        for slot in 0..POINTERS {
            let (start, levels) = map::slot_start(slot);
            self.tree(at + Field::Pointers as usize + 8 * slot, start, levels, allowed);
        }
    }

    /// Walks the tree below the pointer at `at`, whose first block is block `start` of the file.
    fn tree(&mut self, at: usize, start: u64, levels: u32, allowed: AllowedTarget) {
        let pointer = self.store.region.word(at);
        if pointer == 0 {
            return;
        }
        if levels == 0 {
            self.block(at, pointer, start, allowed);
            return;
        }
        let Some(page) = self.table(pointer) else {
            self.report(ProblemKind::Pointer { block: start }, at, 0);
            return;
        };
        self.check_sum(Unit::Page(page), ChecksummedPart::Pointers(start));
        if start >= self.end && self.beyond.is_none() && !self.reserves {
            // The pointer block was allocated for a block that was never written.
            self.beyond = Some(start);
        }
        let (table, span) = (self.store.region.areas.page(page), POINTERS_PER_BLOCK.pow(levels - 1));
        for slot in 0..POINTERS_PER_BLOCK {
            self.tree(table + 8 * slot as usize, start + slot * span, levels - 1, allowed);
        }
    }

    /// Claims the pointer page to which a pointer leads. A page with other content is refused: otherwise each of its
    /// words would be a problem, and the repair would erase the page.
    fn table(&mut self, pointer: u64) -> Option<PageId> {
        let areas = &self.store.region.areas;
        if let Some(BlockLocation::Nvram(page)) = BlockLocation::decode(pointer, areas) {
            let (words, _) = self.store.region.page(page).as_chunks::<8>();
            let leads = |word: &[u8; 8]| BlockLocation::decode(u64::from_le_bytes(*word), areas);
            let bad = words.iter().filter(|word| leads(word).is_none()).count();
            let good = words
                .iter()
                .filter(|word| leads(word).is_some_and(|location| location != BlockLocation::Hole))
                .count();
            if bad > MAX_BAD_POINTERS.max(good) {
                return None;
            }
        }
        self.metadata_page(pointer)
    }

    /// Claims the metadata page to which a pointer leads; returns `None` if the pointer is invalid or the page is
    /// already claimed.
    pub(super) fn metadata_page(&mut self, pointer: u64) -> Option<PageId> {
        let store = &mut *self.store;
        let Some(BlockLocation::Nvram(page)) = BlockLocation::decode(pointer, &store.region.areas) else {
            return None;
        };
        if pages::state_of(&store.region, page) != State::Free {
            return None;
        }
        pages::set_owner(&mut store.region, page, self.ino, 0);
        store.pages.put(&mut store.region, page, State::Metadata, false);
        self.blocks += 1;
        Some(page)
    }

    fn block(&mut self, at: usize, pointer: u64, block: u64, allowed: AllowedTarget) {
        let areas = &self.store.region.areas;
        let is_reached = match allowed {
            AllowedTarget::Entries => block < MAX_DIRECTORY_BLOCKS.into(),
            AllowedTarget::Inodes => block < areas.max_inode_pages().into(),
            _ => true,
        };
        // In a snapshot, a lost block becomes an explicit hole; otherwise the snapshot would show the current content
        // of the block.
        let lost = if self.is_kept { BlockLocation::Absent.encode(areas) } else { 0 };
        let location = BlockLocation::decode(pointer, areas).filter(|_| is_reached);
        let taken = match location {
            Some(BlockLocation::Nvram(_)) if allowed == AllowedTarget::Kept => {
                self.kept_page(pointer, block as u32)
            }
            Some(BlockLocation::Absent) if self.is_kept => true,
            Some(BlockLocation::Reserved) if self.is_kept && allowed == AllowedTarget::Data => true,
            Some(BlockLocation::Nvram(page)) if allowed == AllowedTarget::Data => self.data_page(page, block),
            Some(BlockLocation::Nvram(page)) if allowed == AllowedTarget::Inodes => {
                self.inode_page(page, block as u32)
            }
            Some(BlockLocation::Nvram(_)) => self.metadata_page(pointer).is_some_and(|page| {
                self.check_sum(Unit::Page(page), ChecksummedPart::Block(block));
                true
            }),
            Some(BlockLocation::Ssd(number)) if allowed == AllowedTarget::Data => {
                self.ssd_block(number, block)
            }
            Some(BlockLocation::Reserved) if allowed == AllowedTarget::Data => {
                self.store.reserved_blocks += 1;
                self.blocks += 1;
                true
            }
            _ => {
                self.report(ProblemKind::Pointer { block }, at, lost);
                return;
            }
        };
        if !taken {
            self.report(ProblemKind::Shared { block }, at, lost);
            return;
        }
        self.after_last = block + 1;
        let is_kept = self.reserves && location == Some(BlockLocation::Reserved);
        if block >= self.end && self.beyond.is_none() && !is_kept {
            self.beyond = Some(block);
        }
    }

    fn data_page(&mut self, page: PageId, block: u64) -> bool {
        let store = &mut *self.store;
        let is_free = pages::state_of(&store.region, page) == State::Free;
        if is_free {
            pages::set_owner(&mut store.region, page, self.ino, block as u32);
            // Without the page table, the location of a copy on the SSD is unknown, so the page counts as dirty.
            store.pages.put(&mut store.region, page, self.state, false);
            self.blocks += 1;
        }
        is_free
    }

    fn ssd_block(&mut self, number: u64, block: u64) -> bool {
        let store = &mut *self.store;
        let is_free = !extents::is_used(&store.region, number);
        if is_free {
            store.extents.claim(&mut store.region, number, self.ino, block as u32);
            self.blocks += 1;
        }
        is_free
    }

    /// Records the block count of the inode.
    fn finish(&mut self, inode: &Inode, at: usize) {
        if inode.blocks != self.blocks {
            if self.is_counted {
                self.scan.report(Problem { ino: self.ino, kind: ProblemKind::Blocks, word: None });
            }
            self.store.region.store_half_volatile(at + Field::Blocks as usize, self.blocks);
        }
        if let Some(block) = self.beyond {
            self.scan.too_long.push((self.ino, block));
        }
    }
}
