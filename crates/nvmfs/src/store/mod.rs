//! Block store on NVRAM and SSD: locates, reads, writes and migrates file blocks.
//!
//! One rule ensures crash consistency of data without a log. A pointer is a word of 8 bytes, which is written
//! atomically. It is changed only after the content of its new target is durable, and the old target is reused only
//! after the change is durable.

mod adaptive_lists;
mod block_map;
mod change_notes;
mod close_checksums;
mod concurrent_reads;
mod data;
mod epoch;
mod extents;
mod fixed_locations;
mod flush;
mod ghosts;
mod inode_page_map;
mod inode_pages;
mod map;
mod open;
mod pages;
mod problems;
mod recycle;
mod region;
mod reserve;
mod scan;
mod scan_snapshots;
mod scrub;
mod snapshots;
mod space;
mod sums;
#[cfg(test)]
mod tests;
mod trims;
mod verify;
mod write_out;

pub use block_map::{BlockMap, FileBlock};
pub use change_notes::Unit;
pub use concurrent_reads::Fetch;
pub use epoch::PairMismatch;
pub use flush::Batch;
pub use open::{OpenError, OpenReport};
pub use pages::State;
pub use region::{Changes, Region};
pub use scan::{ChecksummedPart, DamagedArea, Problem, ProblemKind, Scan};
pub use scrub::Scrub;
pub use snapshots::{Snapshot, SnapshotFile};
pub(crate) use space::FULL_OF_DATA;
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

/// Mismatches of checksums found so far.
#[derive(Clone, Debug, Default)]
struct ChecksumErrors {
    /// Number of mismatches.
    pub count: u64,
    /// Description of the last mismatch.
    pub last: Option<String>,
}

impl ChecksumErrors {
    /// Records a mismatch.
    pub fn note(&mut self, what: String) {
        self.count += 1;
        self.last = Some(what);
    }
}

/// Block store on NVRAM and SSD.
pub struct Store<N, S> {
    /// The NVRAM.
    pub region: Region<N>,
    pages: Pages,
    /// State of the adaptive lists; `None` if the lists have fixed lengths.
    adaptive_lists: Option<adaptive_lists::AdaptiveLists>,
    extents: Extents,
    /// Number of file blocks that are reserved and not written yet.
    reserved_blocks: u64,
    /// Snapshots, oldest first, and the total number of blocks that they hold.
    snapshots: Vec<Snapshot>,
    snapshot_blocks: u64,
    /// Number of the snapshot view that was opened last.
    last_view: u32,
    /// True if the store is a view of a snapshot: it only reads the SSD.
    is_view: bool,
    ssd: Arc<S>,
    superblock: Superblock,
    /// Epoch of the current mount.
    epoch: Epoch,
    options: Options,
    /// Counts of operations.
    pub counts: Counts,
    /// Used with fixed locations: the extent from which locations are allocated, and the block after the last allocated
    /// location.
    open_extent: Option<(u32, u64)>,
    /// Fixed locations that are being written. Until a write completes, no other write may go to the same location,
    /// or the older content could be written last.
    in_flight: BTreeSet<u64>,
    /// Numbers of the batches in flight.
    batches: BTreeSet<u8>,
    /// True if extents are trimmed concurrently with requests.
    trims_concurrently: bool,
    /// State of write-outs, which write dirty pages even if NVRAM has free space.
    write_out: WriteOut,
    /// Checksum mismatches found since the store was opened.
    checksum_errors: ChecksumErrors,
    /// Progress of the scrub.
    scrub_pass: scrub::ScrubPass,
    /// Reads of the SSD that run concurrently with requests.
    reads: concurrent_reads::ConcurrentReads,
    /// Buffer for blocks that are read from or written to the SSD.
    scratch: Vec<u8>,
}

impl<N: Nvram, S: Ssd> Store<N, S> {
    /// Creates an empty store; the page table, the owners and the bitmap must be all zeros.
    fn empty(region: Region<N>, ssd: Arc<S>, superblock: Superblock, options: Options) -> Self {
        let extents = Extents::empty(region.areas.extents());
        let adaptive_lists = adaptive_lists::AdaptiveLists::new(options.lists, region.areas.pages);
        Store {
            region,
            pages: Pages::empty(),
            adaptive_lists,
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
            trims_concurrently: false,
            write_out: WriteOut::default(),
            checksum_errors: ChecksumErrors::default(),
            scrub_pass: scrub::ScrubPass::default(),
            reads: concurrent_reads::ConcurrentReads::default(),
            scratch: Vec::new(),
        }
    }

    /// Returns the fixed parameters of the file system.
    pub fn superblock(&self) -> &Superblock {
        &self.superblock
    }

    /// Returns the epoch of the current mount; if the file system is open only for inspection, the epoch of the last
    /// mount.
    pub fn epoch(&self) -> Epoch {
        self.epoch
    }

    /// Returns the SSD.
    pub fn ssd(&self) -> &Arc<S> {
        &self.ssd
    }

    /// Returns the options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Allocates a metadata page of zeros for `ino`, durable on return; no pointer leads to it yet.
    ///
    /// # Errors
    /// [`Error::NoSpace`] if too little free space would remain for data.
    pub fn new_metadata_page(&mut self, ino: Ino) -> Result<PageId> {
        self.make_room(1)?;
        let page = self.take_metadata_page(ino)?;
        self.region.fence();
        Ok(page)
    }

    /// Does what [`Store::new_metadata_page`] does, after the caller has made a free page; the caller must fence.
    fn take_metadata_page(&mut self, ino: Ino) -> Result<PageId> {
        self.check_room_for_metadata(ino, 1)?;
        let page = self.pages.take_free(&mut self.region);
        let page = page.ok_or(Error::NoSpace("no page of the NVRAM is free"))?;
        self.region.note_new_page(page);
        self.region.store(self.region.areas.page(page), &[0; BLOCK_BYTES]);
        pages::set_owner(&mut self.region, page, ino, 0);
        self.pages.put(&mut self.region, page, State::Metadata, false);
        self.count_blocks(ino, 1, 0)?;
        Ok(page)
    }

    /// Frees a metadata page. Before the call, the removal of the pointer to it must be durable.
    pub fn free_metadata_page(&mut self, ino: Ino, page: PageId) -> Result<()> {
        self.free_page(page);
        self.count_blocks(ino, -1, 0)
    }

    /// Frees a page to which no pointer leads.
    fn free_page(&mut self, page: PageId) {
        pages::set_flushing_batch(&mut self.region, page, 0);
        self.pages.set_copy(&mut self.region, page, 0);
        self.pages.change(&mut self.region, page, State::Free, false);
    }

    /// Adds `nvram` and `ssd` to the block count of a file; both may be negative.
    fn count_blocks(&mut self, ino: Ino, nvram: i32, ssd: i32) -> Result<()> {
        if snapshots::is_kept(ino) {
            // The block count of an inode that a snapshot keeps is not updated: it stays the count at the time of the
            // snapshot.
            self.snapshot_blocks = self.snapshot_blocks.wrapping_add_signed((nvram + ssd).into());
        } else if nvram + ssd != 0 {
            let at = self.region.field(ino, Field::Blocks)?;
            let count = self.region.half(at).wrapping_add_signed(nvram + ssd);
            self.region.store_half_volatile(at, count);
        }
        Ok(())
    }

    /// Releases a block of the SSD, whose removal is durable. When the last block of an extent is released, the
    /// extent is trimmed.
    fn release_block(&mut self, block: u64) {
        if let Some(extent) = self.extents.release(&mut self.region, block) {
            self.free_extent(extent);
        }
    }

    fn free_extent(&mut self, extent: u32) {
        self.open_extent.take_if(|(open, _)| *open == extent);
        if self.is_view {
            return self.extents.return_free(extent);
        }
        if self.trims_concurrently {
            return self.extents.trim_first(extent);
        }
        if self.options.trim {
            self.trim(extents::first_block(extent), crate::layout::EXTENT_BLOCKS);
        }
        self.extents.return_free(extent);
    }

    /// Trims blocks. If the drive refuses, it retains data that is never read.
    fn trim(&mut self, first: u64, blocks: u64) {
        match self.ssd.trim(first, blocks) {
            Ok(()) => self.counts.trimmed_blocks += blocks,
            Err(_) => self.counts.refused_trims += 1,
        }
    }
}
