//! The medium below a log: runs of pages are programmed into erase blocks.

use super::below::{Invalidation, InvalidationListener, LayerBelow, LogMetadata};
use super::{Abilities, LayerError, MediumError, Payload, Reports};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::units::{BlockId, Lpn, StreamId};

/// Pages of one block, as a list or only as a number.
#[derive(Clone, Copy, Debug)]
pub enum Pages<'a> {
    /// Indices of the pages within the block.
    Listed(&'a [u32]),
    /// Number of the pages, whose positions are unspecified: the store does not identify pages.
    Counted(u32),
}

impl Pages<'_> {
    /// Returns the number of pages.
    pub fn len(self) -> u32 {
        match self {
            Pages::Listed(pages) => pages.len() as u32,
            Pages::Counted(count) => count,
        }
    }

    /// True if there are no pages.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Rejects pages beyond the first `programmed` pages of `block`; `programmed` is `None` if the block does not
    /// exist.
    pub fn check_programmed(self, block: BlockId, programmed: Option<u32>) -> Result<(), MediumError> {
        let last = match self {
            Pages::Listed(pages) => highest(pages),
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

/// Returns the highest of the pages, with a loop that the compiler vectorises.
#[inline]
fn highest(pages: &[u32]) -> Option<u32> {
    (!pages.is_empty()).then(|| pages.iter().fold(0, |highest, &page| highest.max(page)))
}

/// Consecutive pages to be programmed into one block.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a, P> {
    /// Logical page (owner) of each page; `None` for a store without page identities.
    pub owners: Option<&'a [Lpn]>,
    /// Contents, one per page.
    pub data: &'a [P],
    /// Sequence number of the run's first page, counted over all pages that the store has ever appended.
    pub sequence: u64,
    /// Cause of the write.
    pub cause: Cause,
    /// Append stream of the run; a medium may forward the stream as a hint.
    pub stream: StreamId,
    /// Position of the run in an atomic group.
    pub group: Group,
    /// A number that the store attaches to the block, in the spare area of the run's pages; 0 if unused.
    pub note: u64,
}

/// Position of a run in an atomic group: a group of pages of which all or none survive a power cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// Not part of a group.
    #[default]
    None,
    /// All pages of the run belong to a group that continues in the host's next run.
    Continues,
    /// The group ends with the run's last page.
    Ends,
}

/// Erase blocks, whose pages are programmed in order, once after each erase. A block is erased as a whole.
///
/// A medium rejects operations that flash does not allow, so errors of the code above are detected. Methods that only
/// exist for a medium built on a layer are in [`LayerBelow`].
pub trait Medium: Send {
    /// Content of a page.
    type Payload: Payload;

    /// True if reads need the indices of the pages and not only their number. A medium without content can set this to
    /// false, so that cleaning need not list the pages.
    const READS_BY_PAGE: bool;

    /// True if the medium stores which pages form a group, so that [`Run::group`] has an effect.
    const STORES_GROUPS: bool;

    /// Returns the number of erase blocks, including bad ones.
    fn blocks(&self) -> u32;

    /// Returns the number of pages per block.
    fn pages_per_block(&self) -> u32;

    /// Programs `run.data.len()` pages of `block`, starting at `page`.
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

    /// Counts reads of `pages` programmed pages at unspecified positions. Called only if [`Medium::READS_BY_PAGE`] is
    /// false.
    fn count_reads(&mut self, pages: u64);

    /// Announces that the block will soon be read and erased, so that the medium can prefetch its data about the
    /// block.
    fn prefetch_block(&self, block: BlockId);

    /// Makes everything programmed so far survive a power cut.
    fn flush(&mut self) -> Result<(), MediumError>;

    /// Marks a failed block as bad. It must not hold any data that is needed.
    fn retire(&mut self, block: BlockId);

    /// Returns a block whose pages should be rewritten because of too many reads since its erase (read disturb), if
    /// there is such a block. A block is returned once for each time that it reaches the limit.
    fn take_disturbed(&mut self) -> Option<BlockId>;

    /// Returns the number of page reads of `block` after which [`Medium::take_disturbed`] returns it; `u32::MAX` without
    /// a limit. A longer read must be divided there, so that the sizes of reads do not change when blocks are rewritten.
    fn reads_before_refresh(&self, block: BlockId) -> u32;

    /// Reads the erase count from the spare area of the block's first page. Models the cost for wear levelling
    /// without erase counts in RAM; the count itself is [`Medium::erases`].
    fn read_wear(&mut self, block: BlockId);

    /// True if the block is bad.
    fn is_bad(&self, block: BlockId) -> bool;

    /// Returns the number of erases of the block.
    fn erases(&self, block: BlockId) -> u32;

    /// Returns the receiver of notifications about invalidated pages; `None` if the medium does not need them.
    fn invalidation_listener(&mut self) -> Option<&mut dyn InvalidationListener>;

    /// Returns the layer that the medium is built on; always `None` for flash.
    fn layer_below(&self) -> Option<&dyn LayerBelow>;

    /// Returns the layer that the medium is built on, as a mutable reference.
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow>;

    /// Appends the reports of the medium and of all layers below.
    fn describe(&self, reports: &mut Reports);

    /// Recomputes all counts and compares them with the stored ones; an error is a bug of the medium.
    fn check(&self) -> Result<(), String>;
}

/// Calls of a log to any medium, with defaults for media that have no listener, no layer below, or no metadata of the
/// log. Media do not implement this trait; it is implemented for all of them here.
pub trait MediumExt: Medium {
    /// True if the medium needs to be notified of each invalidated page.
    #[inline(always)]
    fn wants_invalidations(&mut self) -> bool {
        self.invalidation_listener().is_some()
    }

    /// See [`InvalidationListener::on_invalidate`].
    #[inline(always)]
    fn on_invalidate(&mut self, invalidations: &[Invalidation]) {
        if let Some(listener) = self.invalidation_listener() {
            listener.on_invalidate(invalidations);
        }
    }

    /// Returns the abilities of the layer below; none for flash.
    fn abilities_below(&self) -> Abilities {
        self.layer_below().map_or(Abilities::NONE, LayerBelow::abilities)
    }

    /// See [`LayerBelow::notify_cleaning`].
    #[inline(always)]
    fn notify_cleaning(&mut self, begins: bool) {
        if let Some(below) = self.layer_below_mut() {
            below.notify_cleaning(begins);
        }
    }

    /// See [`LayerBelow::clean_ahead`].
    fn clean_while_idle(&mut self) -> Result<bool, LayerError> {
        self.layer_below_mut().map_or(Ok(false), LayerBelow::clean_ahead)
    }

    /// See [`LayerBelow::left_valid`].
    fn left_valid(&self, block: BlockId) -> f64 {
        self.layer_below().map_or(0.0, |below| below.left_valid(block))
    }

    /// See [`LayerBelow::log_metadata`].
    #[inline(always)]
    fn log_metadata(&self) -> Option<&dyn LogMetadata> {
        self.layer_below().and_then(LayerBelow::log_metadata)
    }

    /// See [`LayerBelow::log_metadata_mut`].
    #[inline(always)]
    fn log_metadata_mut(&mut self) -> Option<&mut dyn LogMetadata> {
        self.layer_below_mut().and_then(LayerBelow::log_metadata_mut)
    }

    /// See [`LogMetadata::set_streams`].
    fn set_streams(&mut self, streams: u8) -> Result<(), ConfigError> {
        self.log_metadata_mut().map_or(Ok(()), |metadata| metadata.set_streams(streams))
    }

    /// See [`LogMetadata::has_own_stream`].
    #[inline(always)]
    fn has_metadata_stream(&self) -> bool {
        self.log_metadata().is_some_and(LogMetadata::has_own_stream)
    }

    /// See [`LogMetadata::metadata_pages`].
    #[inline(always)]
    fn metadata_pages(&self) -> u32 {
        self.log_metadata().map_or(0, LogMetadata::metadata_pages)
    }

    /// See [`LogMetadata::pages_until_checkpoint`].
    #[inline(always)]
    fn pages_until_checkpoint(&self) -> u64 {
        self.log_metadata().map_or(u64::MAX, LogMetadata::pages_until_checkpoint)
    }

    /// See [`LogMetadata::is_checkpoint_due_to_cleaning`].
    #[inline(always)]
    fn is_checkpoint_due_to_cleaning(&self) -> bool {
        self.log_metadata().is_some_and(LogMetadata::is_checkpoint_due_to_cleaning)
    }

    /// See [`LogMetadata::begin_checkpoint`].
    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        if let Some(metadata) = self.log_metadata_mut() {
            metadata.begin_checkpoint(pages);
        }
    }

    /// See [`LogMetadata::begin_flush`].
    fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool {
        self.log_metadata_mut().is_some_and(|metadata| metadata.begin_flush(pages))
    }

    /// See [`LayerBelow::end_checkpoint`].
    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        self.layer_below_mut().map_or(Ok(()), LayerBelow::end_checkpoint)
    }
}

impl<M: Medium> MediumExt for M {}
