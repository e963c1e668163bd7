//! What layers and media refuse, and why.

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
    /// Power cuts have torn the pages with which cleaning was to win a block.
    #[error(
        "power was lost so often in the middle of cleaning that torn pages have eaten the reserve of erased blocks: the open \
         blocks take {room} more pages, and no block can be emptied without moving {live}; cut less often, raise \
         free_blocks_low, or give more spare space"
    )]
    ReserveTorn {
        /// Pages that the open blocks still take.
        room: u32,
        /// Live pages of the block that has the fewest.
        live: u32,
    },
    /// A request was interrupted again and again before it was served.
    #[error(
        "power was lost {cuts} times in a row before one request was served: the cleaning or the merge that it needs does not \
         come to its end between two cuts; cut less often"
    )]
    Starved {
        /// Cuts since a request was served.
        cuts: u32,
    },
    /// Too many pages to be written all or none.
    #[error("a group of {pages} pages cannot be written atomically; the longest is of {longest}")]
    NotAtomic {
        /// Pages of the group.
        pages: u32,
        /// Pages of the longest group that this layer writes atomically; 0: it writes none.
        longest: u32,
    },
    /// Consecutive pages were named by the first of them and their number.
    #[error("this layer takes lists of pages only, and no runs of them")]
    NotListed,
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
    /// Power was cut, and afterwards something was not as it must be.
    #[error("{}: {}", .0.case, .0.problem)]
    Violated(Box<Violation>),
    /// The medium refused.
    #[error(transparent)]
    Medium(#[from] MediumError),
}

/// What a power cut led to that must not be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The cuts, by which the run can be repeated.
    pub case: String,
    /// What is wrong.
    pub problem: String,
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

    /// Whether the drive, however far below, takes no more writes for want of blocks, but can be read.
    pub fn is_out_of_blocks(&self) -> bool {
        match self {
            LayerError::ReserveTorn { .. } => true,
            LayerError::Medium(MediumError::Lower(lower)) => lower.is_out_of_blocks(),
            other => other.is_end_of_life(),
        }
    }

    /// Whether the drive has no power.
    pub fn is_power_loss(&self) -> bool {
        match self {
            LayerError::Medium(MediumError::PowerLost) => true,
            LayerError::Medium(MediumError::Lower(lower)) => lower.is_power_loss(),
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
    /// The page could not be programmed; those of the run before it were. The block takes no more, but can be read.
    #[error("block {block}: page {page} could not be programmed")]
    ProgramFailed {
        /// The block.
        block: u32,
        /// The page, which now holds nothing that can be read.
        page: u32,
    },
    /// The page was left half programmed or half erased.
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
    /// The spare area stores each page's owner, and the run did not name it.
    #[error("block {block}: pages without owners cannot be written to a medium with a spare area")]
    OwnersMissing {
        /// The block.
        block: u32,
    },
    /// Checkpoints of a log's metadata follow one another, because each makes room for itself by cleaning, which calls for the next.
    #[error(
        "cleaning gains less than the checkpoints take that it calls for; more spare space is needed, longer segments, or a \
         larger checkpoint_after_cleaned"
    )]
    Overrun,
    /// The layer that carries this medium failed.
    #[error("lower layer: {0}")]
    Lower(Box<LayerError>),
}
