//! The two seams of a stack: [`Layer`], what a user of pages sees, and [`Medium`], what a log writes on.
//!
//! A log-structured store is a `Layer` above and needs a `Medium` below. Flash is a `Medium`
//! ([`crate::nand::Nand`]); any `Layer` becomes one through [`crate::log::Segments`]. That is all it takes
//! to put a log on a log.

mod dedup_report;
mod error;
mod ftl_report;
mod report;
#[cfg(test)]
mod tests;

pub use dedup_report::DedupReport;
pub use error::{LayerError, MediumError, Violation};
pub use ftl_report::{FtlReport, RamPart, RecoveryReport, RecoveryStep};
pub use report::{
    Arrivals, LayerReport, LsmLevel, LsmReport, MetadataReport, NandReport, PartitionReport, Reports,
    Scatter, TrimCounts,
};

pub use wearwell_base::content::Content;

use crate::config::ConfigError;
use crate::counters::Cause;
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

impl Payload for Content {}

/// `pages` pages of no content, for counting runs.
pub fn no_data(pages: usize) -> &'static [()] {
    // A slice of units takes no memory whatever its length.
    &[(); usize::MAX][..pages]
}

/// Refuses pages that a layer of `logical_pages` pages does not have.
pub(crate) fn check_range(pages: &[Lpn], logical_pages: u32) -> Result<(), LayerError> {
    // One pass over the batch, which the compiler turns into vector code, instead of a test in the hot loop.
    let highest = pages.iter().fold(0, |highest, page| highest.max(page.0));
    if highest >= logical_pages && !pages.is_empty() {
        return Err(LayerError::OutOfRange { page: highest, pages: logical_pages });
    }
    Ok(())
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
    /// Whether it is part of a group that is to be found whole or not at all.
    pub group: Group,
    /// A number that the store keeps with the block, in the spare area of the run's pages; 0 where it needs none.
    pub note: u64,
}

/// A run's part in a group of pages that a power cut must leave whole or not at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Group {
    /// None: each page is one by itself.
    #[default]
    None,
    /// All its pages belong to a group that goes on in the next run of the host.
    GoesOn,
    /// Its last page is the group's last.
    Ends,
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

    /// Whether a medium of this kind notes which pages form a group, so that [`Run::group`] means something.
    const KEEPS_GROUPS: bool = false;

    /// Whether this one does.
    fn hears_of_deaths(&self) -> bool {
        false
    }

    /// The page, which belongs to `owner`, is about to be replaced, or is no longer wanted.
    fn died(&mut self, owner: Lpn, block: BlockId, page: u32) {
        let _ = (owner, block, page);
    }

    /// Whether a medium of this kind may keep metadata of the log that writes on it; flash does not.
    const MAY_KEEP_METADATA: bool = false;

    /// The log's placement has this many streams.
    fn serve(&mut self, streams: u8) -> Result<(), ConfigError> {
        let _ = streams;
        Ok(())
    }

    /// Whether the pages that the log keeps for itself have a stream of their own.
    fn has_own_stream(&self) -> bool {
        false
    }

    /// Logical pages, beyond those that the log shows above, that it has to keep for metadata.
    fn metadata_pages(&self) -> u32 {
        0
    }

    /// Pages that the log may write until a checkpoint is due.
    fn until_checkpoint(&self) -> u64 {
        u64::MAX
    }

    /// Appends to `pages` what the log has to write now, before the checkpoint ends.
    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        let _ = pages;
    }

    /// Ends a checkpoint.
    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        Ok(())
    }

    /// The log that writes here begins to clean, or has ended: a layer below may put off its own cleaning meanwhile.
    fn cleaning(&mut self, begins: bool) {
        let _ = begins;
    }

    /// Idle time: a layer below may clean ahead, as [`Layer::clean_ahead`].
    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Ok(false)
    }

    /// If `block` were erased now: share of valid pages in the blocks of the layer below that hold its pages. 0 on
    /// flash, and where nothing is known.
    fn left_valid(&self, block: BlockId) -> f64 {
        let _ = block;
        0.0
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

    /// So many programmed pages are read, which ones being all the same: only asked of a medium that says so
    /// ([`Medium::READS_BY_PAGE`]).
    fn count_reads(&mut self, pages: u64) {
        let _ = pages;
    }

    /// The block will soon be read and erased: a chance to bring what the medium keeps of it into the cache.
    #[inline(always)]
    fn prefetch_block(&self, block: BlockId) {
        let _ = block;
    }

    /// Makes everything programmed so far survive a power cut.
    fn flush(&mut self) -> Result<(), MediumError>;

    /// The block has failed and holds nothing that is needed: it is bad from now on.
    fn retire(&mut self, block: BlockId) {
        let _ = block;
    }

    /// A block that was read so often since its erase that its pages should be written anew, if there is one; each is named
    /// once.
    fn take_disturbed(&mut self) -> Option<BlockId> {
        None
    }

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

    /// The same, all of it or nothing surviving a power cut.
    fn write_atomic(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        let _ = (data, hint);
        Err(LayerError::NotAtomic { pages: pages.len() as u32, longest: 0 })
    }

    /// Pages of the longest group that can be written atomically; 0 for a layer that cannot.
    fn atomic_pages(&self) -> u32 {
        0
    }

    /// Whether each call of [`Layer::write`] and [`Layer::trim`] is to be one request of the user, as for a layer that does
    /// each of them atomically; to any other it is all the same how they are cut into calls.
    fn wants_requests(&self) -> bool {
        false
    }

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

    /// A log above begins to clean, or has ended. Until then what it is about to invalidate is still valid here, so
    /// that a layer that can wait does better to clean later.
    fn cleaning_above(&mut self, begins: bool) {
        let _ = begins;
    }

    /// `page` will soon be written or trimmed: a chance to bring what the layer keeps of it into the cache, first without
    /// `near`, and, when that has arrived, again with it.
    #[inline]
    fn foresee(&self, page: Lpn, near: bool) {
        let _ = (page, near);
    }

    /// Idle time: cleans a little, one victim of this layer or of one below, if that was asked for and there is anything to
    /// gain; whether it did and may be asked again.
    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        Ok(false)
    }

    /// If the `pages` pages from `first` on were trimmed now: share of valid pages in the blocks that hold them; 0 where
    /// nothing holds any, or nothing is known.
    fn left_valid(&self, first: Lpn, pages: u32) -> f64 {
        let _ = (first, pages);
        0.0
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
