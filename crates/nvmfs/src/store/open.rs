//! Creating, opening and closing a store.

use super::close_checksums::{check_close_checksums, closed_word};
use super::epoch::{PairMismatch, PairRule, read_label, write_label};
use super::pages::{self, Segment, State};
use super::region::Region;
use super::scan::{DamagedArea, Scan};
use super::{Store, extents};
use crate::api::{BLOCK_BYTES, Kind, ROOT};
use crate::layout::{
    ChangeNoteWords, Checksums, EXTENT_BLOCKS, Epoch, INODE_BYTES, Inode, LayoutError, ListEnds, PageId,
    SUPERBLOCK_BYTES, SnapshotPages, Superblock, Version, kind_bits,
};
use crate::nvram::Nvram;
use crate::options::{Format, OptionError, Options};
use crate::ssd::Ssd;
use std::sync::Arc;

/// Reason why a file system cannot be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The sizes are invalid.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A setting is invalid.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// The superblock is missing or damaged.
    #[error("the NVRAM holds no file system, or its superblock is damaged")]
    NoFileSystem,
    /// The size of the NVRAM region differs from the size in the superblock.
    #[error("the file system was made for {expected} bytes of NVRAM, and here are {found}")]
    NvramSize {
        /// Size in the superblock.
        expected: u64,
        /// Size of the region.
        found: u64,
    },
    /// The drive is smaller than the size in the superblock.
    #[error("the file system was made for an SSD of {expected} blocks, and this one has {found}")]
    SsdSize {
        /// Size in the superblock.
        expected: u64,
        /// Size of the drive.
        found: u64,
    },
    /// The label of the SSD is missing, or belongs to another file system.
    #[error("the SSD does not belong to this NVRAM: {0}")]
    WrongSsd(&'static str),
    /// One of the devices is a copy from another time.
    #[error(transparent)]
    Unpaired(#[from] PairMismatch),
    /// There is damage beyond the effects of a power cut.
    #[error("the file system is damaged ({first}, and {others} more problems); run fsck")]
    Damaged {
        /// The first problem.
        first: String,
        /// Number of the other problems.
        others: u64,
    },
    /// There is no snapshot with the requested name.
    #[error("there is no snapshot {name}; there are: {there}")]
    NoSnapshot {
        /// Requested name.
        name: String,
        /// Names of the existing snapshots.
        there: String,
    },
    /// The SSD failed.
    #[error("the SSD: {0}")]
    Ssd(#[from] std::io::Error),
    /// An operation failed while the file system was opened.
    #[error(transparent)]
    Operation(#[from] crate::api::Error),
}

/// State in which an opened file system was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenReport {
    /// True if the file system was closed cleanly.
    pub was_closed: bool,
    /// Result of the walk over all inodes.
    pub scan: Scan,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Creates a file system with an empty root directory. The content of NVRAM and SSD is lost.
    ///
    /// # Errors
    /// Invalid sizes or settings; errors of the SSD.
    pub fn format(nvram: N, ssd: Arc<S>, format: &Format, options: Options) -> Result<Self, OpenError> {
        format.check()?;
        options.check()?;
        options.check_for(format.placement)?;
        let nvram_bytes = nvram.bytes().len() as u64;
        let superblock = Superblock {
            id: format.id,
            nvram_bytes,
            ssd_blocks: ssd.blocks(),
            inodes: format.inodes.unwrap_or((nvram_bytes / BLOCK_BYTES as u64).min(1 << 30) as u32),
            reserve_permille: (format.reserve * 1000.0).round() as u16,
            placement: format.placement,
            checksums: format.checksums,
            version: Version::default(),
        };
        let areas = superblock.areas()?;
        // Errors are ignored: on a drive without trim, the blocks are overwritten later.
        let _ = ssd.trim(0, superblock.ssd_blocks);
        write_label(&*ssd, superblock.id, Epoch::default())?;
        let mut nvram = nvram;
        erase(&mut nvram, areas.bitmap);
        let mut region = Region::open(nvram, areas, superblock.checksums != Checksums::None);
        let root =
            Inode { mode: kind_bits(Kind::Directory) | 0o755, links: 2, related: ROOT.0, ..Inode::default() };
        let root = Inode {
            accessed_ns: format.now_ns,
            modified_ns: format.now_ns,
            changed_ns: format.now_ns,
            ..root
        };
        let at = region.inode_at(ROOT).expect("there are 16 inodes or more");
        region.store(at, &root.encode());
        region.fence();
        // The superblock is written last: without it, there is no file system.
        region.store(0, &superblock.encode());
        region.fence();
        let mut store = Store::empty(region, ssd, superblock, options);
        store.scan();
        store.extents.find_free();
        Ok(store)
    }

    /// Opens a file system, after a clean close or a crash. Interrupted operations are undone or completed, except
    /// the removal of the [`Scan::orphans`], which is left to the caller.
    ///
    /// # Errors
    /// Devices that do not hold a file system; damage that needs fsck.
    pub fn open(nvram: N, ssd: Arc<S>, options: Options) -> Result<(Self, OpenReport), OpenError> {
        let (mut store, found) =
            Self::open_with(nvram, ssd, options, PairRule::SameMount, DamagePolicy::Refuse)?;
        refuse_damaged(&found.scan)?;
        store.begin_epoch()?;
        store.upgrade_format();
        store.truncate_too_long(&found.scan)?;
        store.drop_empty_record_pages()?;
        if !found.was_closed && store.options.trim {
            store.trim_free();
        }
        Ok((store, found))
    }

    /// Does what [`Store::open`] does, for fsck: damage is reported and not repaired. The caller calls
    /// [`Store::begin_epoch`] before any change.
    ///
    /// # Errors
    /// Devices that do not hold a file system.
    pub fn open_damaged(nvram: N, ssd: Arc<S>, options: Options) -> Result<(Self, OpenReport), OpenError> {
        Self::open_with(nvram, ssd, options, PairRule::SameMount, DamagePolicy::Report)
    }

    /// Does what [`Store::open_damaged`] does, for NVRAM and SSD of different mounts: changes made between the mounts
    /// appear as damage.
    ///
    /// # Errors
    /// Devices that do not hold a file system.
    pub fn open_unpaired(nvram: N, ssd: Arc<S>, options: Options) -> Result<(Self, OpenReport), OpenError> {
        Self::open_with(nvram, ssd, options, PairRule::AnyMounts, DamagePolicy::Report)
    }

    pub(super) fn open_with(
        nvram: N,
        ssd: Arc<S>,
        options: Options,
        pair: PairRule,
        damage: DamagePolicy,
    ) -> Result<(Self, OpenReport), OpenError> {
        options.check()?;
        let superblock = Superblock::decode(nvram.bytes()).ok_or(OpenError::NoFileSystem)?;
        options.check_for(superblock.placement)?;
        let found = nvram.bytes().len() as u64;
        if superblock.nvram_bytes != found {
            return Err(OpenError::NvramSize { expected: superblock.nvram_bytes, found });
        }
        if ssd.blocks() < superblock.ssd_blocks {
            return Err(OpenError::SsdSize { expected: superblock.ssd_blocks, found: ssd.blocks() });
        }
        let on_ssd = read_label(&*ssd, superblock.id)?.map_err(OpenError::WrongSsd)?;
        let epoch = pair.epoch(nvram.bytes(), on_ssd)?;
        let areas = superblock.areas()?;
        let is_checked = superblock.checksums != Checksums::None;
        let close_scan = if is_checked {
            check_close_checksums(nvram.bytes(), &areas, &superblock)
        } else {
            Scan::default()
        };
        if damage == DamagePolicy::Refuse {
            // Damage is refused before anything is changed, so that the next attempt finds the same damage.
            refuse_damaged(&close_scan)?;
        }
        let mut region = Region::open(nvram, areas, is_checked);
        let was_closed = closed_word(region.bytes()) == ListEnds::CLEAN;
        let are_lists_sound = was_closed && !close_scan.areas.contains(&DamagedArea::Lists);
        let lists = if are_lists_sound { saved_lists(&region) } else { Vec::new() };
        region.patch_word(ListEnds::CLEAN_AT, 0);
        region.fence();
        let mut store = Store::empty(region, ssd, superblock, options);
        store.epoch = epoch;
        let scan = store.scan_as(was_closed).combine_with(close_scan);
        store.restore(&lists);
        Ok((store, OpenReport { was_closed, scan }))
    }

    /// Upgrades the format. A file system without checksums gets checksums of its metadata, which was just found
    /// valid. A file system that was created before reserved blocks, inode pages or snapshots existed may use them
    /// from now on.
    fn upgrade_format(&mut self) {
        if !self.region.is_checked() {
            self.region.begin_checksums();
            self.superblock.checksums = Checksums::Metadata;
        } else if self.superblock.version == Version::default() {
            return;
        }
        if self.superblock.version < Version::Snapshots {
            // Older versions left these words undefined.
            self.region.store(SnapshotPages::AT, &[0; 8 * SnapshotPages::COUNT]);
            self.region.fence();
        }
        self.superblock.version = Version::default();
        // A single word switches the format.
        self.region.patch_word(0, self.superblock.first_word());
        self.region.fence();
    }

    /// Closes the file system, after saving the order of its lists and the locations of copies on the SSD.
    pub fn close(mut self) -> N {
        self.finish_trims();
        self.write_close_checksums();
        let [clean, dirty] = self.pages.ends(&mut self.region);
        let areas = self.region.areas.clone();
        self.region.write_back(areas.inode_table, areas.data - areas.inode_table);
        self.region.save_inode_pages();
        self.region.store(ListEnds::AT, &ListEnds { clean, dirty }.encode());
        self.region.store(ListEnds::SUM_AT, &self.table_sum().to_le_bytes());
        self.region.fence();
        self.region.patch_word(ListEnds::CLEAN_AT, ListEnds::CLEAN);
        self.region.fence();
        self.region.into_nvram()
    }

    /// Restores the lists in their saved order, beginning with the least recently used page, and the locations of
    /// copies on the SSD. A saved entry that contradicts the inodes is ignored.
    fn restore(&mut self, lists: &[SavedPage]) {
        for saved in lists {
            if pages::state_of(&self.region, saved.page) != State::Dirty {
                continue;
            }
            pages::set_writes(&mut self.region, saved.page, saved.writes);
            let is_free = self.is_free_block(saved.copy);
            if saved.copy != 0 && is_free {
                let (ino, block) = pages::owner_of(&self.region, saved.page);
                self.extents.claim(&mut self.region, saved.copy, ino, block);
                self.pages.set_copy(&mut self.region, saved.page, saved.copy);
                let segment = if self.is_adaptive() { saved.segment } else { Segment::Protected };
                self.pages.take(&mut self.region, saved.page);
                self.pages.put_clean(&mut self.region, saved.page, segment, false);
            } else {
                self.pages.touch(&mut self.region, saved.page);
            }
        }
        self.extents.find_free();
    }

    fn is_free_block(&self, block: u64) -> bool {
        let end = u64::from(self.region.areas.extents()) * EXTENT_BLOCKS;
        (EXTENT_BLOCKS..end).contains(&block) && !extents::is_used(&self.region, block)
    }

    /// Trims free extents: some may have been in use before the power cut without having been trimmed since.
    fn trim_free(&mut self) {
        let mut free: Vec<u32> = self.extents.free_extents().collect();
        free.sort_unstable();
        for run in free.chunk_by(|one, next| one + 1 == *next) {
            self.trim(extents::first_block(run[0]), run.len() as u64 * EXTENT_BLOCKS);
        }
    }

    /// Repairs the problems of `scan`, and further problems that a repair makes visible, until none is left. Then
    /// completes interrupted truncations. Returns the last scan and the number of problems.
    ///
    /// # Errors
    /// Errors of the SSD.
    pub fn repair_all(&mut self, scan: Scan) -> crate::api::Result<(Scan, u64)> {
        let (mut scan, mut repaired) = (scan, 0);
        // Each round clears words that hide further problems.
        while scan.problem_count > 0 {
            repaired += (scan.areas.len() + scan.problems.len()) as u64;
            self.repair(&scan);
            scan = self.rescan();
        }
        self.truncate_too_long(&scan)?;
        Ok((scan, repaired))
    }

    /// Recomputes everything that depends on the inodes.
    pub(crate) fn rescan(&mut self) -> Scan {
        let scan = self.scan();
        self.extents.find_free();
        scan
    }

    /// Frees blocks beyond the ends of files that interrupted truncations or extensions left.
    pub(super) fn truncate_too_long(&mut self, scan: &Scan) -> crate::api::Result<()> {
        scan.too_long.iter().try_for_each(|&(ino, block)| self.remove_unfinished(ino, block))
    }

    /// Repairs the problems of a scan. All metadata gets new checksums.
    pub fn repair(&mut self, scan: &Scan) {
        self.patch(scan.problems.iter().filter_map(|problem| problem.word));
    }

    /// Sets words of damaged metadata, and computes new checksums, so that the result counts as valid.
    pub(crate) fn patch(&mut self, words: impl IntoIterator<Item = (usize, u64)>) {
        for (at, word) in words {
            self.region.patch_word(at, word);
        }
        self.region.fence();
        if self.region.is_checked() {
            self.region.recompute_checksums();
        }
    }
}

/// Treatment of damage that is found before anything is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DamagePolicy {
    /// Opening fails on damage.
    Refuse,
    /// Damage is reported together with the scan.
    Report,
}

/// Fails if the scan found problems.
pub(super) fn refuse_damaged(scan: &Scan) -> Result<(), OpenError> {
    // The epoch is stored twice, and both copies are about to be rewritten, so a damaged copy is no reason to refuse.
    if scan.problem_count == 1 && scan.areas == [DamagedArea::Epoch] {
        return Ok(());
    }
    match scan.descriptions().into_iter().next() {
        Some(first) => Err(OpenError::Damaged { first, others: scan.problem_count - 1 }),
        None => Ok(()),
    }
}

/// Page with its state in the saved lists.
struct SavedPage {
    page: PageId,
    copy: u64,
    writes: u8,
    /// Segment of the page, if it is clean.
    segment: Segment,
}

/// Returns both saved lists of a closed file system, each beginning with the least recently used page. A list ends at
/// its first invalid link.
fn saved_lists<N: Nvram>(region: &Region<N>) -> Vec<SavedPage> {
    let bytes = region.bytes()[ListEnds::AT..ListEnds::AT + 16].try_into().expect("16 bytes");
    let ends = ListEnds::decode(bytes);
    let mut is_listed = vec![false; region.areas.pages as usize];
    let mut saved = Vec::new();
    for (_, tail) in [ends.clean, ends.dirty] {
        let mut next = tail;
        while let Some(seen) = is_listed.get_mut(next as usize).filter(|seen| !**seen) {
            *seen = true;
            let page = PageId(next);
            let copy = match pages::state_of(region, page) {
                State::Clean => pages::copy_of(region, page),
                _ => 0,
            };
            let (writes, segment) = (pages::writes_of(region, page), pages::segment_of(region, page));
            saved.push(SavedPage { page, copy, writes, segment });
            next = pages::towards_head(region, page);
        }
    }
    saved
}

/// Zeroes the NVRAM from the superblock up to `end`.
fn erase<N: Nvram>(nvram: &mut N, end: usize) {
    let zeros = vec![0; 1 << 20];
    let mut at = 0;
    while at < end {
        let length = zeros.len().min(end - at);
        nvram.store(at, &zeros[..length]);
        nvram.write_back(at, length);
        nvram.fence();
        at += length;
    }
}

const _: () = assert!(
    SUPERBLOCK_BYTES <= ListEnds::CLEAN_AT
        && ListEnds::SUM_AT + 4 <= Epoch::AT
        && Epoch::NEXT_AT + Epoch::BYTES <= SnapshotPages::AT
        && SnapshotPages::AT + 8 * SnapshotPages::COUNT <= ChangeNoteWords::AT
);
const _: () = assert!(INODE_BYTES.is_multiple_of(64));
