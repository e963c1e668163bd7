//! Optional parts of a medium: the receiver of invalidations, the layer that the medium is built on, and the metadata
//! of the log above.

use super::{Abilities, LayerError, MediumError};
use crate::config::ConfigError;
use crate::units::{BlockId, Lpn};

/// An invalidated page of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Invalidation {
    /// The logical page that was stored there.
    pub owner: Lpn,
    /// The block.
    pub block: BlockId,
    /// The page's index in the block.
    pub page: u32,
}

/// Receiver of notifications about invalidated pages.
pub trait InvalidationListener {
    /// Receives pages that are about to be invalidated because they are overwritten or trimmed.
    fn on_invalidate(&mut self, invalidations: &[Invalidation]);
}

/// Interface to the layer that a medium is built on, for the log on the medium; flash has no such layer.
pub trait LayerBelow {
    /// Returns the abilities of the layer.
    fn abilities(&self) -> Abilities;

    /// Notifies the layer that the log begins or ends cleaning; see [`crate::layer::LayerExt::notify_cleaning_above`].
    fn notify_cleaning(&mut self, begins: bool);

    /// Uses idle time to clean; see [`crate::layer::LayerExt::clean_while_idle`].
    fn clean_ahead(&mut self) -> Result<bool, LayerError>;

    /// Returns the fraction of pages that would stay valid in the layer's blocks that store pages of `block` if `block`
    /// were erased now; 0 if unknown.
    fn left_valid(&self, block: BlockId) -> f64;

    /// Returns the number of pages of `block` that were written since its erase; after a failed program, with the pages
    /// that the layer accepted.
    fn written_in(&self, block: BlockId) -> u32;

    /// Returns the metadata that the log stores on the layer; `None` if the log stores none.
    fn log_metadata(&self) -> Option<&dyn LogMetadata>;

    /// Returns the metadata that the log stores on the layer, as a mutable reference.
    fn log_metadata_mut(&mut self) -> Option<&mut dyn LogMetadata>;

    /// Ends a checkpoint of the metadata: writes its pages that are stored outside the log.
    fn end_checkpoint(&mut self) -> Result<(), MediumError>;
}

/// Metadata that a log stores on the layer below: its map, the state of its segments, and checkpoints.
pub trait LogMetadata {
    /// Sets the number of streams of the log's placement.
    fn set_streams(&mut self, streams: u8) -> Result<(), ConfigError>;

    /// True if the log's metadata pages have a separate stream.
    fn has_own_stream(&self) -> bool;

    /// Returns the number of logical pages that the log must store for metadata, in addition to those it exposes.
    fn metadata_pages(&self) -> u32;

    /// Returns the number of pages that the log may write until a checkpoint is due; [`u64::MAX`] without
    /// checkpoints.
    fn pages_until_checkpoint(&self) -> u64;

    /// True if the number of cleaned segments requires a checkpoint before cleaning continues.
    fn is_checkpoint_due_to_cleaning(&self) -> bool;

    /// Appends to `pages` the pages that the log must write before the checkpoint ends.
    fn begin_checkpoint(&mut self, pages: &mut Vec<Lpn>);

    /// Appends to `pages` the pages that the log must write before a flush. Returns true if this began a checkpoint,
    /// which the caller must end.
    fn begin_flush(&mut self, pages: &mut Vec<Lpn>) -> bool;
}
