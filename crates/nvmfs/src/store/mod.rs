//! Blocks of files on NVRAM and SSD: where they are, how they are read and written, how they move.
//!
//! One rule keeps this whole without a log: a pointer is a word of 8 bytes, which is never torn, and it is turned to a
//! place only when what lies there is safe; the place that it pointed to is used again only when the turn is safe.

mod beside;
mod data;
mod epoch;
mod extents;
mod flush;
mod ghosts;
mod homes;
mod inode_pages;
mod look;
mod map;
mod noted;
mod numbered;
mod open;
mod pages;
mod problems;
mod recycle;
mod region;
mod reserve;
mod room;
mod scan;
mod scan_snapshots;
mod scrub;
mod seals;
mod shares;
mod snapshots;
mod sums;
mod trims;
mod verify;
mod write_out;

pub use beside::Fetch;
pub use epoch::NoPair;
pub use flush::Batch;
pub use look::{FileBlock, Look};
pub use noted::Unit;
pub use open::{Found, OpenError};
pub use pages::State;
pub use region::{Changes, Region};
pub(crate) use room::FULL_OF_DATA;
pub use scan::{Part, Problem, Scan, Wrong, WrongArea};
pub use scrub::Scrub;
pub use snapshots::{Past, Snapshot};
pub use trims::Trims;

use crate::api::{BLOCK_BYTES, Error, Ino, Result};
use crate::layout::{Epoch, Field, PageId, Superblock};
use crate::nvram::Nvram;
use crate::options::Options;
use crate::ssd::Ssd;
use crate::stats::Counts;
use extents::Extents;
use pages::Pages;
use std::collections::BTreeSet;
use std::sync::Arc;
use write_out::WriteOut;

/// What has a wrong checksum.
#[derive(Clone, Debug, Default)]
struct Wrongs {
    /// How often such a thing was found.
    pub count: u64,
    /// The last of them.
    pub last: Option<String>,
}

impl Wrongs {
    /// One more was found.
    pub fn note(&mut self, what: String) {
        self.count += 1;
        self.last = Some(what);
    }
}

/// Blocks of files on NVRAM and SSD.
pub struct Store<N, S> {
    /// The NVRAM.
    pub region: Region<N>,
    pages: Pages,
    /// The shares of the lists, where they follow the load.
    shares: Option<shares::Shares>,
    extents: Extents,
    /// Blocks of files that are reserved and were not written yet.
    reserved_blocks: u64,
    /// The snapshots, the oldest first, and the blocks that they have.
    snapshots: Vec<Snapshot>,
    snapshot_blocks: u64,
    /// The number by which the last of them is looked at.
    last_view: u32,
    /// It is a look at a snapshot: the SSD is only read.
    is_view: bool,
    ssd: Arc<S>,
    superblock: Superblock,
    /// Of which mount it is.
    epoch: Epoch,
    options: Options,
    /// What was done.
    pub counts: Counts,
    /// The extent in which blocks are given places, where they keep them, and the block after the last one given.
    open_extent: Option<(u32, u64)>,
    /// Places that blocks keep and that are being written: until that is over nothing else may be written there, lest the
    /// older content come last.
    in_flight: BTreeSet<u64>,
    /// Numbers of the batches that are on their way.
    batches: BTreeSet<u8>,
    /// Whether extents are trimmed beside requests.
    trims_beside: bool,
    /// What goes to the SSD although there is room for it.
    write_out: WriteOut,
    /// What was found to have a wrong checksum since it was opened.
    found: Wrongs,
    /// How far the look at everything is.
    pass: scrub::Pass,
    /// What is read from the SSD while others use the file system.
    beside: beside::Beside,
    /// Where blocks are put together on their way to and from the SSD.
    scratch: Vec<u8>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// A store of which nothing is in use yet; page table, owners and bitmap are all zeros.
    fn empty(region: Region<N>, ssd: Arc<S>, superblock: Superblock, options: Options) -> Self {
        let extents = Extents::empty(region.areas.extents());
        let shares = shares::Shares::new(options.lists, region.areas.pages);
        Store {
            region,
            pages: Pages::empty(),
            shares,
            extents,
            reserved_blocks: 0,
            snapshots: Vec::new(),
            snapshot_blocks: 0,
            last_view: 0,
            is_view: false,
            ssd,
            superblock,
            epoch: Epoch::default(),
            options,
            counts: Counts::default(),
            open_extent: None,
            in_flight: BTreeSet::new(),
            batches: BTreeSet::new(),
            trims_beside: false,
            write_out: WriteOut::default(),
            found: Wrongs::default(),
            pass: scrub::Pass::default(),
            beside: beside::Beside::default(),
            scratch: Vec::new(),
        }
    }

    /// What the file system is.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Of which mount it is: the present one, or the last of what was opened for a look.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// The SSD.
    pub fn ssd(&self) -> &Arc<S> {
        &self.ssd
    }

    /// How it uses its devices.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// A page for metadata, all zeros and safe, which nothing points to yet. It belongs to `ino`.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if what remains for data would be too little to work with.
    pub fn new_metadata_page(&mut self, ino: Ino) -> Result<PageId> {
        self.make_room(1)?;
        let page = self.take_metadata_page(ino)?;
        self.region.fence();
        Ok(page)
    }

    /// The same of pages that room was made for, to be fenced by the caller.
    fn take_metadata_page(&mut self, ino: Ino) -> Result<PageId> {
        self.check_room_for_metadata(ino, 1)?;
        let page = self.pages.take_free(&mut self.region);
        let page = page.ok_or(Error::NoSpace("no page of the NVRAM is free"))?;
        self.region.announce_fresh(page);
        self.region.store(self.region.areas.page(page), &[0; BLOCK_BYTES]);
        pages::own(&mut self.region, page, ino, 0);
        self.pages.put(&mut self.region, page, State::Metadata, false);
        self.count_blocks(ino, 1, 0)?;
        Ok(page)
    }

    /// Gives back a page of metadata to which nothing points any more, which is safe.
    pub fn free_metadata_page(&mut self, ino: Ino, page: PageId) -> Result<()> {
        self.free_page(page);
        self.count_blocks(ino, -1, 0)
    }

    /// A page that nothing points to any more becomes free.
    fn free_page(&mut self, page: PageId) {
        pages::set_flushing(&mut self.region, page, 0);
        self.pages.set_copy(&mut self.region, page, 0);
        self.pages.change(&mut self.region, page, State::Free, false);
    }

    /// Counts blocks that a file has more, or fewer, on NVRAM and SSD.
    fn count_blocks(&mut self, ino: Ino, nvram: i32, ssd: i32) -> Result<()> {
        if snapshots::is_kept(ino) {
            // What is kept of an inode says how many the file had.
            self.snapshot_blocks = self.snapshot_blocks.wrapping_add_signed((nvram + ssd).into());
        } else if nvram + ssd != 0 {
            let at = self.region.field(ino, Field::Blocks)?;
            let count = self.region.half(at).wrapping_add_signed(nvram + ssd);
            self.region.note_half(at, count);
        }
        Ok(())
    }

    /// A block of the SSD holds nothing any more, which is safe; its extent is trimmed when it was the last.
    fn release_block(&mut self, block: u64) {
        if let Some(extent) = self.extents.release(&mut self.region, block) {
            self.free_extent(extent);
        }
    }

    fn free_extent(&mut self, extent: u32) {
        self.open_extent.take_if(|(open, _)| *open == extent);
        if self.is_view {
            return self.extents.give_back(extent);
        }
        if self.trims_beside {
            return self.extents.trim_first(extent);
        }
        if self.options.trim {
            self.trim(extents::first_block(extent), crate::layout::EXTENT_BLOCKS);
        }
        self.extents.give_back(extent);
    }

    /// Trims blocks; a drive that refuses keeps what nobody will read.
    fn trim(&mut self, first: u64, blocks: u64) {
        match self.ssd.trim(first, blocks) {
            Ok(()) => self.counts.trimmed_blocks += blocks,
            Err(_) => self.counts.refused_trims += 1,
        }
    }
}
