//! Errors of layers and media.

/// Error of a layer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LayerError {
    /// A page number beyond the last logical page.
    #[error("logical page {page} is outside the layer's {pages} pages")]
    OutOfRange {
        /// The requested page.
        page: u32,
        /// Number of pages of the layer.
        pages: u32,
    },
    /// Too many blocks have worn out: the remaining ones cannot hold the logical pages and leave space for cleaning.
    #[error("end of life: {usable_blocks} usable blocks are left, {needed_blocks} are needed")]
    EndOfLife {
        /// Blocks that still work.
        usable_blocks: u32,
        /// Blocks that cleaning needs.
        needed_blocks: u32,
    },
    /// Cleaning tried all blocks without gaining a free page.
    #[error(
        "cleaning gains nothing: every candidate block is full of valid pages; more spare space is needed"
    )]
    NoSpace,
    /// Power cuts have torn the free pages that cleaning needed to free a block.
    #[error(
        "power was lost so often in the middle of cleaning that torn pages have eaten the reserve of erased blocks: the open \
         blocks take {room} more pages, and no block can be emptied without moving {live}; cut less often, raise \
         free_blocks_low, or give more spare space"
    )]
    ReserveTorn {
        /// Number of free pages in the open blocks.
        room: u32,
        /// Number of live pages in the block with the fewest live pages.
        live: u32,
    },
    /// A request was interrupted by one power cut after another, without ever completing.
    #[error(
        "power was lost {cuts} times in a row before one request was served: the cleaning or the merge that it needs does not \
         come to its end between two cuts; cut less often"
    )]
    Starved {
        /// Number of power cuts since a request was completed.
        cuts: u32,
    },
    /// An atomic write contains too many pages.
    #[error("a group of {pages} pages cannot be written atomically; the longest is of {longest}")]
    NotAtomic {
        /// Number of pages in the group.
        pages: u32,
        /// Maximum number of pages that the layer writes atomically; 0 if it supports no atomic writes.
        longest: u32,
    },
    /// A run of consecutive pages was given, but the layer only accepts lists of pages.
    #[error("this layer takes lists of pages only, and no runs of them")]
    RunsUnsupported,
    /// A write was not at the write pointer of a zone.
    #[error("zone {zone}: page {page} written out of order; the write pointer is at {expected}")]
    NotSequential {
        /// The zone.
        zone: u32,
        /// Index in the zone of the page to be written.
        page: u32,
        /// Index of the page that must be written next; the number of pages in a zone if it is full.
        expected: u32,
    },
    /// A write would open one more zone than the limit permits.
    #[error("zone {zone} cannot be opened: {limit} zones are open, and no more may be")]
    TooManyOpenZones {
        /// The zone.
        zone: u32,
        /// Maximum number of open zones.
        limit: u32,
    },
    /// A trim did not cover a whole zone.
    #[error("zone {zone}: less than the whole zone was to be trimmed")]
    PartialReset {
        /// The zone.
        zone: u32,
    },
    /// The zone has a bad block and accepts no writes.
    #[error("zone {zone} is offline: it has a bad block")]
    ZoneOffline {
        /// The zone.
        zone: u32,
    },
    /// After a power cut, the recovered map refers to pages that are not on flash.
    #[error(
        "{pages} logical pages are lost: the map that was recovered refers to pages that are not on flash; the flash is damaged, \
         or this is a defect, please report it"
    )]
    MapIncomplete {
        /// Number of logical pages whose data is missing.
        pages: u32,
    },
    /// A check after a power cut failed.
    #[error("{}: {}", .0.case, .0.problem)]
    GuaranteeViolated(Box<Violation>),
    /// Error of the medium.
    #[error(transparent)]
    Medium(#[from] MediumError),
}

/// Violation of a guarantee after a power cut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Power cuts that led to the violation, in a form with which the run can be repeated.
    pub case: String,
    /// Description of the violation.
    pub problem: String,
}

impl LayerError {
    /// True if a drive in this layer or in any layer below has reached its end of life.
    pub fn is_end_of_life(&self) -> bool {
        match self {
            LayerError::EndOfLife { .. } | LayerError::ZoneOffline { .. } => true,
            LayerError::Medium(MediumError::Lower(lower)) => lower.is_end_of_life(),
            _ => false,
        }
    }

    /// True if a drive in this layer or in any layer below accepts no more writes for lack of blocks, but can still be
    /// read.
    pub fn is_out_of_blocks(&self) -> bool {
        match self {
            LayerError::ReserveTorn { .. } => true,
            LayerError::Medium(MediumError::Lower(lower)) => lower.is_out_of_blocks(),
            other => other.is_end_of_life(),
        }
    }

    /// True if the drive has no power.
    pub fn is_power_loss(&self) -> bool {
        match self {
            LayerError::Medium(MediumError::PowerLost) => true,
            LayerError::Medium(MediumError::Lower(lower)) => lower.is_power_loss(),
            _ => false,
        }
    }
}

/// Error of a medium.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MediumError {
    /// A program was not on the block's next page: pages are programmed in order, once after each erase.
    #[error("block {block}: page {page} programmed out of order; the next page is {expected}")]
    OutOfOrder {
        /// The block.
        block: u32,
        /// The first page of the rejected run.
        page: u32,
        /// The page that may be programmed next; the number of pages per block if the block is full.
        expected: u32,
    },
    /// A run extends beyond the block's end, or the block does not exist.
    #[error("block {block}, pages {page}..{end}: outside the medium's geometry")]
    OutsideGeometry {
        /// The block.
        block: u32,
        /// First page.
        page: u32,
        /// One past the last page.
        end: u32,
    },
    /// The page was not programmed since the last erase of its block.
    #[error("block {block}: page {page} was read but is not programmed")]
    NotProgrammed {
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// The block is bad and accepts no operation.
    #[error("block {block} is bad")]
    BadBlock {
        /// The block.
        block: u32,
    },
    /// The erase failed; the block is now bad.
    #[error("block {block} wore out after {erases} erases")]
    WornOut {
        /// The block.
        block: u32,
        /// Number of erases in the block's life.
        erases: u32,
    },
    /// The page could not be programmed; the earlier pages of the run were programmed. The block accepts no more
    /// programs, but can be read.
    #[error("block {block}: page {page} could not be programmed")]
    ProgramFailed {
        /// The block.
        block: u32,
        /// The page, which is now unreadable.
        page: u32,
    },
    /// The page was left partly programmed or partly erased.
    #[error(
        "block {block}: page {page} cannot be read; power was lost, or the flash failed, while it was written"
    )]
    Unreadable {
        /// The block.
        block: u32,
        /// The page.
        page: u32,
    },
    /// There is no power.
    #[error("power was lost")]
    PowerLost,
    /// Pages without owners were sent to a medium whose spare area stores the owner of each page.
    #[error("block {block}: pages without owners cannot be written to a medium with a spare area")]
    OwnersMissing {
        /// The block.
        block: u32,
    },
    /// Endless checkpoints of a log's metadata: each checkpoint needs space from cleaning, which requires the next
    /// checkpoint.
    #[error(
        "cleaning gains less than the checkpoints take that it calls for; more spare space is needed, longer segments, or a \
         larger checkpoint_after_cleaned"
    )]
    EndlessCheckpoints,
    /// Error of the layer that this medium is built on.
    #[error("lower layer: {0}")]
    Lower(Box<LayerError>),
}
