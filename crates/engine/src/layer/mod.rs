//! The two interfaces of a stack: [`Layer`], used by the code above, and [`Medium`], on which a log writes.
//!
//! A log-structured store implements `Layer` and needs a `Medium` below. Flash is a `Medium` ([`crate::nand::Nand`]);
//! any `Layer` becomes one through [`crate::log::Segments`], which makes a log on a log possible.

mod ability;
mod answer;
mod below;
mod dedup_report;
mod error;
mod events;
mod forward;
mod ftl_report;
mod medium;
mod report;
#[cfg(test)]
pub(crate) mod tests;

pub use ability::{Abilities, Ability, Command, LayerExt, Query};
pub use answer::{Answer, ZoneState};
pub use below::{Invalidation, InvalidationListener, LayerBelow, LogMetadata};
pub use dedup_report::DedupReport;
pub use error::{LayerError, MediumError, Violation};
pub(crate) use forward::forward_medium;
pub(crate) use ftl_report::RecoverySteps;
pub use ftl_report::{FtlReport, RamPart, RecoveryReport, RecoveryStep};
pub use medium::{Group, Medium, MediumExt, Pages, Run};
pub use report::{
    Arrivals, LayerReport, LsmLevel, LsmReport, MetadataReport, NandReport, PartitionReport, Reports,
    Scatter, TrimCounts,
};

pub use events::{EventLog, EventRecorder, MediumEvent};

pub use wearwell_base::content::ContentId;

use crate::units::Lpn;

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

impl Payload for ContentId {}

/// Returns `pages` pages without content, for counting runs.
pub fn no_data(pages: usize) -> &'static [()] {
    // A slice of unit values takes no memory, regardless of its length.
    &[(); usize::MAX][..pages]
}

/// Rejects pages outside a layer of `logical_pages` pages.
pub(crate) fn check_range(pages: &[Lpn], logical_pages: u32) -> Result<(), LayerError> {
    // One vectorised pass over the batch replaces a test in the hot loop.
    let outside = |page: &Lpn| page.0 >= logical_pages;
    if !pages.iter().fold(false, |any, page| any | outside(page)) {
        return Ok(());
    }
    let highest = pages.iter().fold(0, |highest, page| highest.max(page.0));
    Err(LayerError::OutOfRange { page: highest, pages: logical_pages })
}

/// Rejects `pages` consecutive pages from `first` on if they are outside a layer of `logical_pages` pages.
pub(crate) fn check_run(first: Lpn, pages: usize, logical_pages: u32) -> Result<(), LayerError> {
    let end = first.index() + pages;
    if pages == 0 || end <= logical_pages as usize {
        return Ok(());
    }
    Err(LayerError::OutOfRange { page: u32::try_from(end - 1).unwrap_or(u32::MAX), pages: logical_pages })
}

/// A store of logical pages. Every layer implements these methods; optional features are abilities.
///
/// After [`Layer::flush`] returns, everything written before survives a power cut.
pub trait Layer<P: Payload>: Send {
    /// Returns the number of logical pages.
    fn logical_pages(&self) -> u32;

    /// Writes `pages`, in order, with their content; `hint` is the caller's stream hint (0: none).
    ///
    /// The result does not depend on how a sequence of writes is split into calls, except for a layer that requires
    /// whole requests ([`Ability::WholeRequests`]). This also applies to reads.
    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError>;

    /// Reads `pages` and appends their content to `out`; a page that was never written reads as the default payload.
    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError>;

    /// Discards the contents of `pages`, which read as the default payload until they are written again.
    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError>;

    /// Makes everything written so far survive a power cut.
    fn flush(&mut self) -> Result<(), LayerError>;

    /// Returns the layer's optional abilities.
    fn abilities(&self) -> Abilities;

    /// Answers a query of an ability; [`Answer::Nothing`] without the ability.
    fn query(&self, query: Query<'_>) -> Answer;

    /// Performs a command of an ability; [`Command::unsupported`] without the ability.
    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError>;

    /// Appends the reports of this layer and of all layers below, from top to bottom.
    fn describe(&self, reports: &mut Reports);

    /// Returns the number of pages written to the layer since it was created: the incoming writes of its report. A write
    /// that failed counts with the pages that the layer accepted, which are its first ones.
    fn written_pages(&self) -> u64;

    /// Draws a last number from the layer's random generators, which are not used afterwards. Equal runs draw equal
    /// numbers, so tests compare runs by it.
    fn final_draw(&mut self) -> u64;

    /// Recomputes all counts, down to the medium, and compares them with the stored ones; an error is a bug.
    fn check(&self) -> Result<(), String>;
}

/// A boxed layer acts as the layer itself.
impl<P: Payload, L: Layer<P> + ?Sized> Layer<P> for Box<L> {
    #[inline]
    fn logical_pages(&self) -> u32 {
        (**self).logical_pages()
    }

    #[inline]
    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        (**self).write(pages, data, hint)
    }

    #[inline]
    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        (**self).read(pages, out)
    }

    #[inline]
    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        (**self).trim(pages)
    }

    #[inline]
    fn flush(&mut self) -> Result<(), LayerError> {
        (**self).flush()
    }

    #[inline]
    fn abilities(&self) -> Abilities {
        (**self).abilities()
    }

    #[inline]
    fn query(&self, query: Query<'_>) -> Answer {
        (**self).query(query)
    }

    #[inline]
    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        (**self).command(command)
    }

    fn describe(&self, reports: &mut Reports) {
        (**self).describe(reports);
    }

    fn written_pages(&self) -> u64 {
        (**self).written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        (**self).final_draw()
    }

    fn check(&self) -> Result<(), String> {
        (**self).check()
    }
}
