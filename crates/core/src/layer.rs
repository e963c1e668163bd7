//! The two seams of a stack: [`Layer`], what a user of pages sees, and [`Medium`], what a log writes on.
//!
//! A log-structured store is a `Layer` above and needs a `Medium` below. Flash is a `Medium`
//! ([`crate::nand::Nand`]); any `Layer` becomes one through [`crate::log::Segments`]. That is all it takes
//! to put a log on a log.

use crate::counters::{Cause, Counters};
use crate::units::{BlockId, Lpn, StreamId};

/// The content of one page: `()` in counting runs, where it compiles away, or [`Bytes`].
pub trait Payload: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static {}

impl Payload for () {}

/// A page of `N` bytes, for devices that hold data.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Bytes<const N: usize>(pub [u8; N]);

impl<const N: usize> Default for Bytes<N> {
    fn default() -> Self {
        Bytes([0; N])
    }
}

impl<const N: usize> std::fmt::Debug for Bytes<N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Bytes<{N}>({:02x?}…)", &self.0[..N.min(8)])
    }
}

impl<const N: usize> Payload for Bytes<N> {}

/// `pages` pages of no content, for counting runs.
pub fn no_data(pages: usize) -> &'static [()] {
    // A slice of units takes no memory whatever its length.
    &[(); usize::MAX][..pages]
}

/// Why a layer could not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A page number past the end.
    #[error("logical page {page} is outside the layer's {pages} pages")]
    OutOfRange {
        /// The page asked for.
        page: u32,
        /// The layer's size.
        pages: u32,
    },
    /// Too many blocks have worn out to hold the logical pages and still clean.
    #[error("end of life: {usable_blocks} usable blocks are left, {needed_blocks} are needed")]
    EndOfLife {
        /// Blocks that still work.
        usable_blocks: u32,
        /// Blocks without which cleaning cannot go on.
        needed_blocks: u32,
    },
    /// Cleaning went round all blocks without gaining a page.
    #[error(
        "cleaning gains nothing: every candidate block is full of valid pages; more spare space is needed"
    )]
    NoSpace,
    /// A zone is written in order.
    #[error("zone {zone}: page {page} written out of order; the write pointer is at {expected}")]
    NotSequential {
        /// The zone.
        zone: u32,
        /// The page of the zone that was to be written.
        page: u32,
        /// The page that must be written next; the number of pages of a zone when it is full.
        expected: u32,
    },
    /// Another zone would have to be opened.
    #[error("zone {zone} cannot be opened: {limit} zones are open, and no more may be")]
    TooManyOpenZones {
        /// The zone.
        zone: u32,
        /// Zones that may be open.
        limit: u32,
    },
    /// Zones are reset as a whole.
    #[error("zone {zone}: less than the whole zone was to be trimmed")]
    PartialReset {
        /// The zone.
        zone: u32,
    },
    /// The zone has a bad block and takes no more writes.
    #[error("zone {zone} is offline: it has a bad block")]
    ZoneOffline {
        /// The zone.
        zone: u32,
    },
    /// The medium refused.
    #[error(transparent)]
    Medium(#[from] MediumError),
}

impl LayerError {
    /// Whether the drive, however far below, has come to the end of its life.
    pub fn is_end_of_life(&self) -> bool {
        match self {
            LayerError::EndOfLife { .. } | LayerError::ZoneOffline { .. } => true,
            LayerError::Medium(MediumError::Lower(lower)) => lower.is_end_of_life(),
            _ => false,
        }
    }
}

/// Why a medium refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediumError {
    /// Pages of a block are programmed in order, once, after an erase.
    #[error("block {block}: page {page} programmed out of order; the next page is {expected}")]
    OutOfOrder {
        /// The block.
        block: u32,
        /// The first page of the refused run.
        page: u32,
        /// The page that may be programmed next; the number of pages per block when it is full.
        expected: u32,
    },
    /// A run reaches past the block's end, or the block does not exist.
    #[error("block {block}, pages {page}..{end}: outside the medium's geometry")]
    OutsideGeometry {
        /// The block.
        block: u32,
        /// First page.
        page: u32,
        /// One past the last page.
        end: u32,
    },
    /// The page was not programmed since its block's last erase.
    #[error("block {block}: page {page} was read but is not programmed")]
    NotProgrammed {
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// The block is bad and takes no operation.
    #[error("block {block} is bad")]
    BadBlock {
        /// The block.
        block: u32,
    },
    /// The erase failed; the block is bad from now on.
    #[error("block {block} wore out after {erases} erases")]
    WornOut {
        /// The block.
        block: u32,
        /// Erases it took in its life.
        erases: u32,
    },
    /// The spare area stores each page's owner, and the run did not name it.
    #[error("block {block}: pages without owners cannot be written to a medium with a spare area")]
    OwnersMissing {
        /// The block.
        block: u32,
    },
    /// The layer that carries this medium failed.
    #[error("lower layer: {0}")]
    Lower(Box<LayerError>),
}

/// Pages of one block, named or only counted.
#[derive(Clone, Copy, Debug)]
pub enum Pages<'a> {
    /// These page indices within the block.
    Listed(&'a [u32]),
    /// This many, which ones being of no interest (a store without page identities).
    Counted(u32),
}

impl Pages<'_> {
    /// How many pages.
    pub fn len(self) -> u32 {
        match self {
            Pages::Listed(pages) => pages.len() as u32,
            Pages::Counted(count) => count,
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Refuses pages beyond the `programmed` ones of `block`; `None` if there is no such block.
    pub fn check_programmed(self, block: BlockId, programmed: Option<u32>) -> Result<(), MediumError> {
        let last = match self {
            Pages::Listed(pages) => pages.iter().max().copied(),
            Pages::Counted(count) => count.checked_sub(1),
        };
        let end = last.map_or(0, |last| last.saturating_add(1));
        let programmed = programmed.ok_or(MediumError::OutsideGeometry { block: block.0, page: 0, end })?;
        match last {
            Some(page) if page >= programmed => Err(MediumError::NotProgrammed { block: block.0, page }),
            _ => Ok(()),
        }
    }
}

/// Consecutive pages to be programmed into one block.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, P> {
    /// Who owns each page; `None` from a store that does not know page identities.
    pub owners: Option<&'a [Lpn]>,
    /// Content, one element a page.
    pub data: &'a [P],
    /// Number of the run's first page among all pages the store ever appended.
    pub sequence: u64,
    /// Why it is written.
    pub cause: Cause,
    /// The append stream it belongs to; a medium may pass it on as a hint.
    pub stream: StreamId,
}

/// Erase blocks: programmed in order inside an erased block, once; erased whole.
///
/// A medium refuses everything else, so that whatever runs above is kept honest.
pub trait Medium: Send {
    /// What a page holds.
    type Payload: Payload;

    /// Whether it matters which pages are read, or only how many: a medium without content that says no is spared
    /// the lists of pages in cleaning.
    const READS_BY_PAGE: bool = true;

    /// Whether a medium of this kind may want to hear of each page that dies; flash does not.
    const MAY_HEAR_OF_DEATHS: bool = false;

    /// Whether this one does.
    fn hears_of_deaths(&self) -> bool {
        false
    }

    /// The page is about to be replaced, or is no longer wanted.
    fn died(&mut self, block: BlockId, page: u32) {
        let _ = (block, page);
    }

    /// Number of erase blocks, bad ones included.
    fn blocks(&self) -> u32;

    /// Pages in each block.
    fn pages_per_block(&self) -> u32;

    /// Programs `run.data.len()` pages of `block` from `page` on.
    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, Self::Payload>) -> Result<(), MediumError>;

    /// Erases `block`. After [`MediumError::WornOut`] the block is bad.
    fn erase(&mut self, block: BlockId, cause: Cause) -> Result<(), MediumError>;

    /// Reads pages of `block` and appends their content to `out`.
    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<Self::Payload>,
    ) -> Result<(), MediumError>;

    /// The block will soon be read and erased: a chance to bring what the medium keeps of it into the cache.
    #[inline(always)]
    fn prefetch_block(&self, block: BlockId) {
        let _ = block;
    }

    /// Makes everything programmed so far survive a power cut.
    fn flush(&mut self) -> Result<(), MediumError>;

    /// Whether the block is bad.
    fn is_bad(&self, block: BlockId) -> bool;

    /// How often the block was erased.
    fn erases(&self, block: BlockId) -> u32;

    /// Appends what the medium (and any layer under it) has to report.
    fn describe(&self, reports: &mut Reports);

    /// Recounts everything that is counted; an error is a defect of the medium.
    fn check(&self) -> Result<(), String>;
}

/// A store of logical pages.
///
/// After [`Layer::flush`] returns, everything written before survives a power cut.
pub trait Layer<P: Payload>: Send {
    /// Number of logical pages.
    fn logical_pages(&self) -> u32;

    /// Writes `pages`, in order, with their content; `hint` is the caller's stream hint (0: none).
    ///
    /// The result does not depend on how a sequence of writes is cut into calls.
    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError>;

    /// Reads `pages` and appends their content to `out`; a page never written reads as the default.
    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError>;

    /// Forgets `pages`; they read as the default until written again.
    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError>;

    /// Makes everything written so far survive a power cut.
    fn flush(&mut self) -> Result<(), LayerError>;

    /// How many of `pages` the layer has moved since they were written; 0 where it does not count that.
    fn moved_pages(&self, pages: &[Lpn]) -> u64 {
        let _ = pages;
        0
    }

    /// Appends the reports of this layer and of all below it, from top to bottom.
    fn describe(&self, reports: &mut Reports);

    /// From now on tells apart whose pages cleaning moves: partition `k` ends before page `ends[k]`, and each write is
    /// of one partition's pages. A layer that cannot tell does nothing.
    fn divide(&mut self, ends: &[u32]) {
        let _ = ends;
    }

    /// A number drawn from the layer's generators; ends their use. Equal runs end with equal draws.
    fn final_draw(&mut self) -> u64;

    /// Recounts everything that is counted, down to the medium; an error is a defect.
    fn check(&self) -> Result<(), String>;
}

/// What the layers and the medium of a stack report, from top to bottom.
#[derive(Clone, Debug, Default)]
pub struct Reports {
    /// One entry a log layer.
    pub layers: Vec<LayerReport>,
    /// The flash at the bottom.
    pub nand: Option<NandReport>,
}

/// One log layer's report.
#[derive(Clone, Debug)]
pub struct LayerReport {
    /// Traffic since the start.
    pub counters: Counters,
    /// Pages it shows above.
    pub logical_pages: u32,
    /// Pages it has below.
    pub physical_pages: u64,
    /// Logical pages that hold data.
    pub mapped_pages: u32,
    /// `victim_valid_pages[j]`: victims that held `j` valid pages when selected.
    pub victim_valid_pages: Vec<u64>,
    /// Pages that left their stream for another because no erased block was left.
    pub spilled_pages: u64,
    /// Bytes of memory the simulation of this layer takes.
    pub memory_bytes: u64,
    /// Whether the layer tracked page identities or only blocks.
    pub directory: &'static str,
    /// Its partitions, if it has any.
    pub partitions: Vec<PartitionReport>,
    /// `[cause][owner]`: pages that cleaning moved, by the partition whose write ran the cleaning and the partition
    /// that owns them. Pages beyond the last partition count as one more. Empty in a layer that is not shared.
    pub moved_pages: Vec<Vec<u64>>,
    /// How the writes that came in follow each other, where that is watched.
    pub arrivals: Option<Arrivals>,
    /// Trims that it had to send below.
    pub trims: TrimCounts,
    /// Trims that came in.
    pub scatter: Scatter,
    /// Pages moved that it had moved before since they were written, where that is counted.
    pub moved_again_pages: u64,
    /// Pages moved that the layer below had moved before since they were written.
    pub moved_below_first_pages: u64,
    /// What only a log-structured merge tree has.
    pub lsm: Option<LsmReport>,
}

/// What a log-structured merge tree did, and how it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LsmReport {
    /// Its levels, the youngest first.
    pub levels: Vec<LsmLevel>,
    /// Memtables written out, or log stores converted.
    pub flushes: u64,
    /// Merges.
    pub compactions: u64,
    /// Tables that went down a level without being written anew.
    pub trivial_moves: u64,
    /// Times that the last level was written anew because its tables were too empty for the space there is.
    pub squeezes: u64,
    /// Extents that hold no table.
    pub free_extents: u32,
}

/// One level of a log-structured merge tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LsmLevel {
    /// Sorted runs.
    pub runs: u32,
    /// Tables of all runs.
    pub tables: u32,
    /// Pages of records and tombstones in them, without their indexes.
    pub pages: u64,
}

/// One partition of a shared layer.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartitionReport {
    /// Its first page in the layer.
    pub first: u32,
    /// Its pages.
    pub pages: u32,
    /// What came in through it since the start; nothing goes out but through the layer.
    pub incoming: Counters,
}

/// The pages written to a layer, by how they follow each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrivals {
    /// Pages written.
    pub written_pages: u64,
    /// Of these, pages whose number is one above that of the page written before.
    pub sequential_pages: u64,
    /// Pages whose number is one above that of the last page of one of the eight latest runs.
    pub stream_sequential_pages: u64,
    /// Ranges of consecutive pages trimmed.
    pub trimmed_ranges: u64,
    /// Pages trimmed.
    pub trimmed_pages: u64,
}

impl Arrivals {
    /// What arrived since `earlier`.
    pub fn since(&self, earlier: &Arrivals) -> Arrivals {
        Arrivals {
            written_pages: self.written_pages - earlier.written_pages,
            sequential_pages: self.sequential_pages - earlier.sequential_pages,
            stream_sequential_pages: self.stream_sequential_pages - earlier.stream_sequential_pages,
            trimmed_ranges: self.trimmed_ranges - earlier.trimmed_ranges,
            trimmed_pages: self.trimmed_pages - earlier.trimmed_pages,
        }
    }
}

/// What became of the pages that were to be trimmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrimCounts {
    /// Pages sent to the layer below, in this many ranges.
    pub sent_pages: u64,
    /// Ranges of consecutive pages sent.
    pub sent_ranges: u64,
    /// Pages of segments written anew before their trim was sent.
    pub overtaken_pages: u64,
    /// Pages left out because their range did not reach from one multiple of the alignment to the next.
    pub unaligned_pages: u64,
}

/// How many blocks trims reached into: one upper segment freed may leave several lower blocks partly valid.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scatter {
    /// Ranges of consecutive pages trimmed that held data.
    pub ranges: u64,
    /// Blocks that lost pages to them, each counted once a range.
    pub blocks: u64,
}

/// The flash's report.
#[derive(Clone, Debug, Default)]
pub struct NandReport {
    /// Pages programmed.
    pub programs: u64,
    /// Pages read.
    pub reads: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Blocks bad from the factory or worn out.
    pub bad_blocks: u32,
    /// Blocks that wore out in use.
    pub worn_out_blocks: u32,
    /// Erases of each block, bad ones included.
    pub erase_counts: Vec<u32>,
    /// Bytes of memory the simulation of the flash takes.
    pub memory_bytes: u64,
}
