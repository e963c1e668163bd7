//! A layer that has no map and does no cleaning, and forwards its operations to the layer below.

use super::segments::BoxedLayer;
use crate::counters::{Cause, Counters, Operation};
use crate::layer::{
    Abilities, Ability, Answer, Command, Layer, LayerError, LayerReport, Payload, Query, Reports, TrimCounts,
    check_range,
};
use crate::units::Lpn;

/// A layer that forwards and counts all operations; the basis of the layers that have no log of their own.
pub struct PassThrough<P> {
    lower: BoxedLayer<P>,
    logical_pages: u32,
    counters: Counters,
    /// One bit per logical page, set if the page holds data.
    mapped: Vec<u64>,
    mapped_pages: u32,
}

impl<P: Payload> PassThrough<P> {
    /// Exposes the first `logical_pages` pages of `lower`; the layer built on this one may use the other pages for
    /// itself.
    pub fn new(lower: BoxedLayer<P>, logical_pages: u32) -> Self {
        assert!(logical_pages <= lower.logical_pages(), "pages that the layer below does not have");
        PassThrough {
            lower,
            logical_pages,
            counters: Counters::default(),
            mapped: vec![0; logical_pages.div_ceil(64) as usize],
            mapped_pages: 0,
        }
    }

    /// Records that `pages` of the user were written to the layer below.
    pub(super) fn record_write(&mut self, pages: &[Lpn]) {
        self.counters.add_incoming(Operation::Write, pages.len() as u64);
        self.counters.add_outgoing(Cause::Host, Operation::Write, pages.len() as u64);
        for &page in pages {
            self.set_mapped(page, true);
        }
    }

    /// Returns the number of pages of a write of `pages` pages that the layer below accepted: all of them unless the
    /// write failed, as on a failing drive.
    fn accepted_pages(&self, pages: usize, is_done: bool) -> usize {
        match is_done {
            true => pages,
            false => (self.lower.written_pages() - self.counters.outgoing_total(Operation::Write)) as usize,
        }
    }

    /// Writes pages beyond the exposed ones, for the layer's own use.
    pub(super) fn write_hidden(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        let result = self.lower.write(pages, data, hint);
        let accepted = self.accepted_pages(pages.len(), result.is_ok());
        self.counters.add_outgoing(Cause::LogMetadata, Operation::Write, accepted as u64);
        result
    }

    fn set_mapped(&mut self, page: Lpn, mapped: bool) {
        let (word, bit) = (&mut self.mapped[page.index() / 64], 1u64 << (page.0 % 64));
        if mapped && *word & bit == 0 {
            self.mapped_pages += 1;
        } else if !mapped && *word & bit != 0 {
            self.mapped_pages -= 1;
        }
        *word = if mapped { *word | bit } else { *word & !bit };
    }

    /// Returns the report of this layer.
    pub(super) fn report(&self, directory: &'static str) -> LayerReport {
        LayerReport {
            counters: self.counters,
            logical_pages: self.logical_pages,
            physical_pages: u64::from(self.lower.logical_pages()),
            mapped_pages: self.mapped_pages,
            memory_bytes: 8 * self.mapped.len() as u64,
            directory,
            map_bytes: Some(0),
            trims: TrimCounts {
                sent_pages: self.counters.incoming(Operation::Trim),
                ..TrimCounts::default()
            },
            ..LayerReport::default()
        }
    }
}

impl<P: Payload> Layer<P> for PassThrough<P> {
    fn logical_pages(&self) -> u32 {
        self.logical_pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages)?;
        let result = self.lower.write(pages, data, hint);
        self.record_write(&pages[..self.accepted_pages(pages.len(), result.is_ok())]);
        result
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages)?;
        self.counters.add_incoming(Operation::Read, pages.len() as u64);
        self.counters.add_outgoing(Cause::Host, Operation::Read, pages.len() as u64);
        self.lower.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        check_range(pages, self.logical_pages)?;
        self.lower.trim(pages)?;
        self.counters.add_incoming(Operation::Trim, pages.len() as u64);
        for &page in pages {
            self.set_mapped(page, false);
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.counters.add_incoming(Operation::Flush, 1);
        self.lower.flush()
    }

    /// [`Ability::Runs`] is missing because each page is recorded separately.
    fn abilities(&self) -> Abilities {
        self.lower.abilities().without(Ability::Runs)
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.lower.query(query)
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        if command.ability() == Ability::Runs {
            return command.unsupported();
        }
        let written = command.written_pages();
        check_range(written, self.logical_pages)?;
        let result = self.lower.command(command);
        self.record_write(&written[..self.accepted_pages(written.len(), result.is_ok())]);
        result
    }

    fn describe(&self, reports: &mut Reports) {
        reports.layers.push(self.report("none"));
        self.lower.describe(reports);
    }

    fn written_pages(&self) -> u64 {
        self.counters.incoming(Operation::Write)
    }

    fn final_draw(&mut self) -> u64 {
        self.lower.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        let counted: u32 = self.mapped.iter().map(|word| word.count_ones()).sum();
        if counted != self.mapped_pages {
            return Err(format!("{} pages are mapped, {counted} are marked", self.mapped_pages));
        }
        self.lower.check()
    }
}
