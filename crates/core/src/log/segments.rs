//! Any layer shown as erase blocks, so that a log can stand on it.

use super::trim::{TrimRule, TrimUnit, Trims};
use crate::counters::Cause;
use crate::layer::{Layer, Medium, MediumError, Pages, Payload, Reports, Run};
use crate::units::{BlockId, Lpn};

/// A layer of any kind. It is called once a batch, so the pointer costs nothing that counts.
pub type BoxedLayer<P> = Box<dyn Layer<P>>;

/// The logical pages of a lower layer, cut into segments of equal size.
///
/// Erasing a segment trims its pages below as its rule says, or does nothing where TRIM is off: then the lower layer goes
/// on keeping pages that nobody wants, until they are overwritten.
pub struct Segments<P> {
    lower: BoxedLayer<P>,
    segment_pages: u32,
    segments: u32,
    /// None: TRIM is off.
    trims: Option<Trims>,
    erases: Vec<u32>,
    next_page: Vec<u32>,
    /// Page numbers of the operation in hand.
    pages: Vec<Lpn>,
    /// Pages taken out by cleaning that the layer below had moved before.
    moved_below_first_pages: u64,
}

impl<P: Payload> Segments<P> {
    /// Cuts `lower` into segments of `segment_pages` pages; pages beyond the last whole segment stay unused. Without
    /// a rule nothing is trimmed.
    pub fn new(lower: BoxedLayer<P>, segment_pages: u32, trim: Option<TrimRule>) -> Self {
        let segments = lower.logical_pages() / segment_pages;
        Segments {
            lower,
            segment_pages,
            segments,
            trims: trim.map(|rule| Trims::new(rule, segments)),
            erases: vec![0; segments as usize],
            next_page: vec![0; segments as usize],
            pages: Vec::new(),
            moved_below_first_pages: 0,
        }
    }

    /// The layer below.
    pub fn lower(&self) -> &dyn Layer<P> {
        &*self.lower
    }

    fn name_pages(&mut self, block: BlockId, pages: impl Iterator<Item = u32>) {
        let first = block.0 * self.segment_pages;
        self.pages.clear();
        self.pages.extend(pages.map(|page| Lpn(first + page)));
    }
}

impl<P: Payload> Segments<P> {
    /// Sends the trims that are due. Pages that die are only noted until what replaces them is written below, so that a
    /// power cut in between loses neither.
    fn send_trims(&mut self) -> Result<(), MediumError> {
        let Some(trims) = &mut self.trims else { return Ok(()) };
        trims.take_due(&mut self.pages);
        if self.pages.is_empty() {
            return Ok(());
        }
        from_lower(self.lower.trim(&self.pages))
    }
}

fn from_lower<T>(result: Result<T, crate::layer::LayerError>) -> Result<T, MediumError> {
    result.map_err(|error| MediumError::Lower(Box::new(error)))
}

impl<P: Payload> Medium for Segments<P> {
    type Payload = P;

    const MAY_HEAR_OF_DEATHS: bool = true;

    fn blocks(&self) -> u32 {
        self.segments
    }

    fn pages_per_block(&self) -> u32 {
        self.segment_pages
    }

    fn program(&mut self, block: BlockId, page: u32, run: Run<'_, P>) -> Result<(), MediumError> {
        let end = page.saturating_add(run.data.len() as u32);
        if block.0 >= self.segments || end > self.segment_pages {
            return Err(MediumError::OutsideGeometry { block: block.0, page, end });
        }
        let expected = self.next_page[block.index()];
        if page != expected {
            return Err(MediumError::OutOfOrder { block: block.0, page, expected });
        }
        self.name_pages(block, page..end);
        self.next_page[block.index()] = end;
        if let Some(trims) = self.trims.as_mut().filter(|_| page == 0) {
            trims.reopened(block);
        }
        from_lower(self.lower.write(&self.pages, run.data, u16::from(run.stream.0)))?;
        if let Some(trims) = &mut self.trims {
            trims.wrote(u64::from(end - page));
        }
        self.send_trims()
    }

    fn erase(&mut self, block: BlockId, _cause: Cause) -> Result<(), MediumError> {
        if block.0 >= self.segments {
            return Err(MediumError::OutsideGeometry { block: block.0, page: 0, end: 0 });
        }
        self.erases[block.index()] += 1;
        self.next_page[block.index()] = 0;
        if let Some(trims) = &mut self.trims {
            trims.discard(block, block.0 * self.segment_pages, self.segment_pages);
        }
        self.send_trims()
    }

    fn hears_of_deaths(&self) -> bool {
        self.trims.as_ref().is_some_and(|trims| trims.unit() == TrimUnit::Page)
    }

    fn died(&mut self, block: BlockId, page: u32) {
        if let Some(trims) = &mut self.trims {
            trims.discard(block, block.0 * self.segment_pages + page, 1);
        }
    }

    fn read(
        &mut self,
        block: BlockId,
        pages: Pages<'_>,
        cause: Cause,
        out: &mut Vec<P>,
    ) -> Result<(), MediumError> {
        pages.check_programmed(block, self.next_page.get(block.index()).copied())?;
        match pages {
            Pages::Listed(list) => self.name_pages(block, list.iter().copied()),
            // Which pages is of no interest to the one who asks, so any will do below.
            Pages::Counted(count) => self.name_pages(block, 0..count),
        }
        if cause == Cause::Cleaning {
            self.moved_below_first_pages += self.lower.moved_pages(&self.pages);
        }
        from_lower(self.lower.read(&self.pages, out))
    }

    fn flush(&mut self) -> Result<(), MediumError> {
        self.send_trims()?;
        from_lower(self.lower.flush())
    }

    fn is_bad(&self, _block: BlockId) -> bool {
        false
    }

    fn erases(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }

    fn describe(&self, reports: &mut Reports) {
        // The layer above has just reported itself.
        if let Some(above) = reports.layers.last_mut() {
            above.trims = self.trims.as_ref().map(|trims| trims.counts).unwrap_or_default();
            above.moved_below_first_pages = self.moved_below_first_pages;
        }
        self.lower.describe(reports);
    }

    fn check(&self) -> Result<(), String> {
        self.lower.check()
    }
}
