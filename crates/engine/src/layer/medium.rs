//! What a log writes on: runs of pages, programmed into erase blocks.

use super::{Abilities, LayerError, MediumError, Payload, Reports};
use crate::config::ConfigError;
use crate::counters::Cause;
use crate::units::{BlockId, Lpn, StreamId};

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

/// The highest of the pages; a loop that the compiler turns into vector code.
#[inline]
fn highest(pages: &[u32]) -> Option<u32> {
    (!pages.is_empty()).then(|| pages.iter().fold(0, |highest, &page| highest.max(page)))
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
/// A medium refuses everything else, so that whatever runs above is kept honest. Every medium answers all of this; what
/// only those can say that are made of a layer is in [`LayerBelow`].
pub trait Medium: Send {
    /// What a page holds.
    type Payload: Payload;

    /// Whether it matters which pages are read, or only how many: a medium without content that says no is spared
    /// the lists of pages in cleaning.
    const READS_BY_PAGE: bool;

    /// Whether a medium of this kind notes which pages form a group, so that [`Run::group`] means something.
    const KEEPS_GROUPS: bool;

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
    fn count_reads(&mut self, pages: u64);

    /// The block will soon be read and erased: a chance to bring what the medium keeps of it into the cache.
    fn prefetch_block(&self, block: BlockId);

    /// Makes everything programmed so far survive a power cut.
    fn flush(&mut self) -> Result<(), MediumError>;

    /// The block has failed and holds nothing that is needed: it is bad from now on.
    fn retire(&mut self, block: BlockId);

    /// A block that was read so often since its erase that its pages should be written anew, if there is one; each is named
    /// once.
    fn take_disturbed(&mut self) -> Option<BlockId>;

    /// Reads from the spare area of the block's first page how often it was erased, as wear levelling does that keeps no erase
    /// counts in RAM; the count itself is [`Medium::erases`].
    fn read_wear(&mut self, block: BlockId);

    /// Whether the block is bad.
    fn is_bad(&self, block: BlockId) -> bool;

    /// How often the block was erased.
    fn erases(&self, block: BlockId) -> u32;

    /// The layer that the medium is made of; `None`, and a constant, on flash.
    fn layer_below(&self) -> Option<&dyn LayerBelow>;

    /// The same, to be told something.
    fn layer_below_mut(&mut self) -> Option<&mut dyn LayerBelow>;

    /// Appends what the medium (and any layer under it) has to report.
    fn describe(&self, reports: &mut Reports);

    /// Recounts everything that is counted; an error is a defect of the medium.
    fn check(&self) -> Result<(), String>;
}

/// A page of a block that dies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Death {
    /// Whose page it is.
    pub owner: Lpn,
    /// The block that holds it.
    pub block: BlockId,
    /// Its index there.
    pub page: u32,
}

/// What a log and a medium that is made of a layer have to say to each other, and flash has not.
pub trait LayerBelow {
    /// The log's placement has this many streams.
    fn serve(&mut self, streams: u8) -> Result<(), ConfigError>;

    /// Whether the medium wants to hear of each page that dies.
    fn hears_of_deaths(&self) -> bool;

    /// These pages are about to be replaced, or are no longer wanted.
    fn died(&mut self, deaths: &[Death]);

    /// Whether the pages that the log keeps for itself have a stream of their own.
    fn has_own_stream(&self) -> bool;

    /// Logical pages, beyond those that the log shows above, that it has to keep for metadata.
    fn metadata_pages(&self) -> u32;

    /// Pages that the log may write until a checkpoint is due; [`u64::MAX`] where none ever is.
    fn until_checkpoint(&self) -> u64;

    /// Whether a checkpoint is due because of what was cleaned, and does not wait until all is that is to be.
    fn cleaning_calls_for_checkpoint(&self) -> bool;

    /// Appends to `pages` what the log has to write now, before the checkpoint ends.
    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>);

    /// Appends to `pages` what the log has to write before it flushes; whether a checkpoint has begun, which has to end.
    fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool;

    /// Ends a checkpoint.
    fn end_checkpoint(&mut self) -> Result<(), MediumError>;

    /// What the layer can.
    fn abilities(&self) -> Abilities;

    /// The log begins to clean, or has ended: as [`crate::layer::LayerExt::cleaning_above`].
    fn cleaning(&mut self, begins: bool);

    /// Idle time: as [`crate::layer::LayerExt::clean_ahead`].
    fn clean_ahead(&mut self) -> Result<bool, LayerError>;

    /// If `block` were erased now: share of valid pages in the blocks of the layer that hold its pages. 0 where nothing
    /// is known.
    fn left_valid(&self, block: BlockId) -> f64;
}

/// What a log asks of any medium, and flash answers like a layer that has nothing to say: for callers, and never to be
/// implemented otherwise than here.
pub trait MediumExt: Medium {
    /// As [`LayerBelow::serve`].
    fn serve(&mut self, streams: u8) -> Result<(), ConfigError> {
        self.layer_below_mut().map_or(Ok(()), |below| below.serve(streams))
    }

    /// As [`LayerBelow::hears_of_deaths`].
    #[inline(always)]
    fn hears_of_deaths(&self) -> bool {
        self.layer_below().is_some_and(LayerBelow::hears_of_deaths)
    }

    /// As [`LayerBelow::died`].
    #[inline(always)]
    fn died(&mut self, deaths: &[Death]) {
        if let Some(below) = self.layer_below_mut() {
            below.died(deaths);
        }
    }

    /// As [`LayerBelow::has_own_stream`].
    #[inline(always)]
    fn has_own_stream(&self) -> bool {
        self.layer_below().is_some_and(LayerBelow::has_own_stream)
    }

    /// As [`LayerBelow::metadata_pages`].
    #[inline(always)]
    fn metadata_pages(&self) -> u32 {
        self.layer_below().map_or(0, LayerBelow::metadata_pages)
    }

    /// As [`LayerBelow::until_checkpoint`].
    #[inline(always)]
    fn until_checkpoint(&self) -> u64 {
        self.layer_below().map_or(u64::MAX, LayerBelow::until_checkpoint)
    }

    /// As [`LayerBelow::cleaning_calls_for_checkpoint`].
    #[inline(always)]
    fn cleaning_calls_for_checkpoint(&self) -> bool {
        self.layer_below().is_some_and(LayerBelow::cleaning_calls_for_checkpoint)
    }

    /// As [`LayerBelow::begin_checkpoint`].
    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>) {
        if let Some(below) = self.layer_below_mut() {
            below.begin_checkpoint(pages);
        }
    }

    /// As [`LayerBelow::begin_flush`].
    fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool {
        self.layer_below_mut().is_some_and(|below| below.begin_flush(pages))
    }

    /// As [`LayerBelow::end_checkpoint`].
    fn end_checkpoint(&mut self) -> Result<(), MediumError> {
        self.layer_below_mut().map_or(Ok(()), LayerBelow::end_checkpoint)
    }

    /// What the layer that it is made of can.
    fn abilities_below(&self) -> Abilities {
        self.layer_below().map_or(Abilities::NONE, LayerBelow::abilities)
    }

    /// As [`LayerBelow::cleaning`].
    #[inline(always)]
    fn cleaning(&mut self, begins: bool) {
        if let Some(below) = self.layer_below_mut() {
            below.cleaning(begins);
        }
    }

    /// As [`LayerBelow::clean_ahead`].
    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        self.layer_below_mut().map_or(Ok(false), LayerBelow::clean_ahead)
    }

    /// As [`LayerBelow::left_valid`].
    fn left_valid(&self, block: BlockId) -> f64 {
        self.layer_below().map_or(0.0, |below| below.left_valid(block))
    }
}

impl<M: Medium> MediumExt for M {}
