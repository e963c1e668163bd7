//! Which append stream a page goes to.
//!
//! To add a placement: write `placement/<name>.rs` with a configuration that implements [`PlacementKind`] and a
//! type that implements [`Placement`], and add its line to the table at the end of this file.

mod frontiers;

pub use frontiers::Frontiers;

use crate::counters::Cause;
use crate::units::{Lpn, StreamId};

/// What a placement is told about a page that is about to be appended.
#[derive(Clone, Copy, Debug)]
pub struct PageContext {
    /// The page.
    pub page: Lpn,
    /// Host write, or moved by cleaning.
    pub cause: Cause,
    /// Host pages written to the layer before this one.
    pub now: u64,
    /// The stream of the block it is moved from; `None` for a host write.
    pub from: Option<StreamId>,
    /// The host's stream hint; 0 where it gives none.
    pub hint: u16,
}

/// Maps pages to append streams. It decides; the engine appends.
///
/// The same calls give the same streams; a placement that draws at random takes its seed from the store's.
pub trait Placement: Send {
    /// Number of streams; stream ids are below it.
    fn streams(&self) -> u8;

    /// The stream that every host write goes to, if it is always the same one.
    ///
    /// A constant answer for the lifetime of the store; `Some` lets the engine append in long runs.
    fn host_stream(&self) -> Option<StreamId> {
        None
    }

    /// The stream that every cleaned page goes to, if it is always the same one.
    fn cleaning_stream(&self) -> Option<StreamId> {
        None
    }

    /// The stream for one page. Called once for every page appended, unless the stream is fixed.
    fn place(&mut self, context: &PageContext) -> StreamId;

    /// A victim was taken: the block belonged to `stream`, was opened at host write `opened_at` and holds
    /// `valid_pages` valid pages.
    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        let _ = (stream, opened_at, now, valid_pages);
    }

    /// Whether [`Placement::reclaimed`] and [`PageContext::from`] are of interest; if not, the engine
    /// keeps neither a block's stream nor its opening time.
    fn wants_block_history(&self) -> bool {
        false
    }

    /// A page was trimmed.
    fn trimmed(&mut self, page: Lpn) {
        let _ = page;
    }

    /// Bytes of memory a device would need for the placement's own tables.
    fn memory_bytes(&self) -> usize {
        0
    }
}

impl Placement for Box<dyn Placement> {
    fn streams(&self) -> u8 {
        (**self).streams()
    }
    fn host_stream(&self) -> Option<StreamId> {
        (**self).host_stream()
    }
    fn cleaning_stream(&self) -> Option<StreamId> {
        (**self).cleaning_stream()
    }
    fn place(&mut self, context: &PageContext) -> StreamId {
        (**self).place(context)
    }
    fn reclaimed(&mut self, stream: StreamId, opened_at: u64, now: u64, valid_pages: u32) {
        (**self).reclaimed(stream, opened_at, now, valid_pages);
    }
    fn wants_block_history(&self) -> bool {
        (**self).wants_block_history()
    }
    fn trimmed(&mut self, page: Lpn) {
        (**self).trimmed(page);
    }
    fn memory_bytes(&self) -> usize {
        (**self).memory_bytes()
    }
}
