//! A store is made, opened, closed.

use super::epoch::{NoPair, Pair, read_label, write_label};
use super::pages::{self, Segment, State};
use super::region::Region;
use super::scan::{Scan, WrongArea};
use super::seals::{closed_word, look};
use super::{Store, extents};
use crate::api::{BLOCK_BYTES, Kind, ROOT};
use crate::layout::{
    Changing, Checksums, EXTENT_BLOCKS, Epoch, Inode, LayoutError, ListEnds, PageId, SIZE_OF_INODE,
    SUPERBLOCK_BYTES, SnapshotPages, Superblock, Version, kind_bits,
};
use crate::nvram::Nvram;
use crate::options::{Format, OptionError, Options};
use crate::ssd::Ssd;
use std::sync::Arc;

/// Why a file system cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Sizes that no file system has.
    #[error(transparent)]
    Layout(#[from] LayoutError),
    /// A setting that makes no sense.
    #[error(transparent)]
    Option(#[from] OptionError),
    /// No superblock.
    #[error("the NVRAM holds no file system, or its superblock is damaged")]
    NoFileSystem,
    /// The region is not the size that the superblock says.
    #[error("the file system was made for {expected} bytes of NVRAM, and here are {found}")]
    NvramSize {
        /// By the superblock.
        expected: u64,
        /// The region's.
        found: u64,
    },
    /// The drive is smaller than the superblock says.
    #[error("the file system was made for an SSD of {expected} blocks, and this one has {found}")]
    SsdSize {
        /// By the superblock.
        expected: u64,
        /// The drive's.
        found: u64,
    },
    /// The label is missing or another's.
    #[error("the SSD does not belong to this NVRAM: {0}")]
    WrongSsd(&'static str),
    /// One of them is a copy of another time.
    #[error(transparent)]
    Unpaired(#[from] NoPair),
    /// Something is damaged beyond what a power cut does.
    #[error("the file system is damaged ({first}, and {others} more problems); run fsck")]
    Damaged {
        /// The first problem.
        first: String,
        /// How many besides.
        others: u64,
    },
    /// No snapshot of that name.
    #[error("there is no snapshot {name}; there are: {there}")]
    NoSnapshot {
        /// The name.
        name: String,
        /// Names of those that there are.
        there: String,
    },
    /// The SSD failed.
    #[error("the SSD: {0}")]
    Ssd(#[from] std::io::Error),
    /// What is done when opening failed.
    #[error(transparent)]
    Operation(#[from] crate::api::Error),
}

/// How an opened file system was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// It had been closed.
    pub was_closed: bool,
    /// What walking its inodes told.
    pub scan: Scan,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Makes a file system: an empty root directory. What was on NVRAM and SSD is lost.
    ///
    /// # Errors
    /// Impossible sizes or settings, a failing SSD.
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
        // A drive that cannot trim has only to be written.
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
        // The superblock last: without it there is no file system.
        region.store(0, &superblock.encode());
        region.fence();
        let mut store = Store::empty(region, ssd, superblock, options);
        store.scan();
        store.extents.find_free();
        Ok(store)
    }

    /// Opens a file system, after whatever happened to it. What was interrupted is undone or finished, but for the removal of
    /// the [`Scan::orphans`], which is left to the caller.
    ///
    /// # Errors
    /// Devices that do not hold it, damage that needs fsck.
    pub fn open(nvram: N, ssd: Arc<S>, options: Options) -> Result<(Self, Found), OpenError> {
        let (mut store, found) = Self::open_with(nvram, ssd, options, Pair::OfOneMount, Damage::Refused)?;
        refuse_damaged(&found.scan)?;
        store.begin_epoch()?;
        store.bring_up_to_date();
        store.cut_too_long(&found.scan)?;
        store.drop_empty_record_pages()?;
        if !found.was_closed && store.options.trim {
            store.trim_free();
        }
        Ok((store, found))
    }

    /// The same for fsck: whatever is wrong stays as it is. Before anything is changed, [`Store::begin_epoch`] has to be called.
    ///
    /// # Errors
    /// Devices that do not hold a file system.
    pub fn open_damaged(nvram: N, ssd: Arc<S>, options: Options) -> Result<(Self, Found), OpenError> {
        Self::open_with(nvram, ssd, options, Pair::OfOneMount, Damage::Told)
    }

    /// The same of NVRAM and SSD of different mounts of one file system: what was changed between them is wrong.
    ///
    /// # Errors
    /// Devices that do not hold a file system.
    pub fn open_unpaired(nvram: N, ssd: Arc<S>, options: Options) -> Result<(Self, Found), OpenError> {
        Self::open_with(nvram, ssd, options, Pair::OfAnyMounts, Damage::Told)
    }

    pub(super) fn open_with(
        nvram: N,
        ssd: Arc<S>,
        options: Options,
        pair: Pair,
        damage: Damage,
    ) -> Result<(Self, Found), OpenError> {
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
        let seen = if is_checked { look(nvram.bytes(), &areas, &superblock) } else { Scan::default() };
        if damage == Damage::Refused {
            // As long as nothing was changed, so that the next one finds it too.
            refuse_damaged(&seen)?;
        }
        let mut region = Region::open(nvram, areas, is_checked);
        let was_closed = closed_word(region.bytes()) == ListEnds::CLEAN;
        let are_lists_sound = was_closed && !seen.areas.contains(&WrongArea::Lists);
        let lists = if are_lists_sound { saved_lists(&region) } else { Vec::new() };
        region.patch_word(ListEnds::CLEAN_AT, 0);
        region.fence();
        let mut store = Store::empty(region, ssd, superblock, options);
        store.epoch = epoch;
        let scan = store.scan_as(was_closed).after(seen);
        store.restore(&lists);
        Ok((store, Found { was_closed, scan }))
    }

    /// A file system without checksums gets those of metadata, which nothing is wrong with; and one of before there were
    /// reserved blocks, pages of inodes, or snapshots, may have them from now on.
    fn bring_up_to_date(&mut self) {
        if !self.region.is_checked() {
            self.region.begin_checksums();
            self.superblock.checksums = Checksums::Metadata;
        } else if self.superblock.version == Version::default() {
            return;
        }
        if self.superblock.version < Version::Keeping {
            // Nobody said what stands there.
            self.region.store(SnapshotPages::AT, &[0; 8 * SnapshotPages::COUNT]);
            self.region.fence();
        }
        self.superblock.version = Version::default();
        // One word makes it what it is now.
        self.region.patch_word(0, self.superblock.first_word());
        self.region.fence();
    }

    /// Closes the file system: the order of its lists, and what is on the SSD as well, will be known when it is opened.
    pub fn close(mut self) -> N {
        self.trim_rest();
        self.seal();
        let [clean, dirty] = self.pages.ends(&mut self.region);
        let areas = self.region.areas.clone();
        self.region.save(areas.inode_table, areas.data - areas.inode_table);
        self.region.save_inode_pages();
        self.region.store(ListEnds::AT, &ListEnds { clean, dirty }.encode());
        self.region.store(ListEnds::SUM_AT, &self.table_sum().to_le_bytes());
        self.region.fence();
        self.region.patch_word(ListEnds::CLEAN_AT, ListEnds::CLEAN);
        self.region.fence();
        self.region.into_nvram()
    }

    /// Puts pages back in the order of their lists, and to what they have on the SSD; from the least recently used on. Says
    /// the list something that the inodes do not, it is not believed.
    fn restore(&mut self, lists: &[Saved]) {
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
        (EXTENT_BLOCKS..end).contains(&block) && !extents::bit(&self.region, block)
    }

    /// Trims what is free: before the power cut it may have been in use.
    fn trim_free(&mut self) {
        let mut free: Vec<u32> = self.extents.free_ones().collect();
        free.sort_unstable();
        for run in free.chunk_by(|one, next| one + 1 == *next) {
            self.trim(extents::first_block(run[0]), run.len() as u64 * EXTENT_BLOCKS);
        }
    }

    /// Puts right what `scan` told of, and what only shows then, until nothing is wrong; then cuts what was being cut. Returns
    /// what the last scan found, and how many problems there were.
    ///
    /// # Errors
    /// A failing SSD.
    pub fn repair_all(&mut self, scan: Scan) -> crate::api::Result<(Scan, u64)> {
        let (mut scan, mut repaired) = (scan, 0);
        // Each round clears words that the next one does not come to.
        while scan.problem_count > 0 {
            repaired += (scan.areas.len() + scan.problems.len()) as u64;
            self.repair(&scan);
            scan = self.rescan();
        }
        self.cut_too_long(&scan)?;
        Ok((scan, repaired))
    }

    /// Works out anew what follows from the inodes.
    pub(crate) fn rescan(&mut self) -> Scan {
        let scan = self.scan();
        self.extents.find_free();
        scan
    }

    /// Frees blocks beyond the ends of files, which were being cut or extended.
    pub(super) fn cut_too_long(&mut self, scan: &Scan) -> crate::api::Result<()> {
        scan.too_long.iter().try_for_each(|&(ino, block)| self.end_with(ino, block))
    }

    /// Puts right what a scan told of. All metadata gets the checksum of what it is then.
    pub fn repair(&mut self, scan: &Scan) {
        self.patch(scan.problems.iter().filter_map(|problem| problem.word));
    }

    /// Sets words of metadata that is damaged, which then counts as right.
    pub(crate) fn patch(&mut self, words: impl IntoIterator<Item = (usize, u64)>) {
        for (at, word) in words {
            self.region.patch_word(at, word);
        }
        self.region.fence();
        if self.region.is_checked() {
            self.region.sum_anew();
        }
    }
}

/// What is done about damage that is seen before anything is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Damage {
    /// The file system is not opened.
    Refused,
    /// It is told with all else.
    Told,
}

/// Refuses a file system with which something is wrong.
pub(super) fn refuse_damaged(scan: &Scan) -> Result<(), OpenError> {
    // That of which mount it is stands there twice, and both are written anew.
    if scan.problem_count == 1 && scan.areas == [WrongArea::Epoch] {
        return Ok(());
    }
    match scan.told().into_iter().next() {
        Some(first) => Err(OpenError::Damaged { first, others: scan.problem_count - 1 }),
        None => Ok(()),
    }
}

/// A page as it stood in a list.
struct Saved {
    page: PageId,
    copy: u64,
    writes: u8,
    /// Of a clean page.
    segment: Segment,
}

/// Both lists of a file system that was closed, from the least recently used page on. A list that leads astray ends there.
fn saved_lists<N: Nvram>(region: &Region<N>) -> Vec<Saved> {
    let bytes = region.bytes()[ListEnds::AT..ListEnds::AT + 16].try_into().expect("16 bytes");
    let ends = ListEnds::decode(bytes);
    let mut seen = vec![false; region.areas.pages as usize];
    let mut saved = Vec::new();
    for (_, tail) in [ends.clean, ends.dirty] {
        let mut next = tail;
        while let Some(seen) = seen.get_mut(next as usize).filter(|seen| !**seen) {
            *seen = true;
            let page = PageId(next);
            let copy = match pages::state_of(region, page) {
                State::Clean => pages::copy_of(region, page),
                _ => 0,
            };
            let (writes, segment) = (pages::writes_of(region, page), pages::segment_of(region, page));
            saved.push(Saved { page, copy, writes, segment });
            next = pages::towards_head(region, page);
        }
    }
    saved
}

/// Zeros from the log up to `end`, and no superblock.
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
        && SnapshotPages::AT + 8 * SnapshotPages::COUNT <= Changing::AT
);
const _: () = assert!(SIZE_OF_INODE.is_multiple_of(64));
