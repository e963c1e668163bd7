//! One layer for several users: each user has a partition, a range of the layer's pages that acts as a separate
//! layer.

use super::segments::BoxedLayer;
use crate::counters::Operation;
use crate::layer::{
    Abilities, Ability, Answer, Command, Layer, LayerError, LayerExt, PartitionReport, Payload, Query,
    Reports, check_range, check_run,
};
use crate::units::Lpn;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A layer divided into partitions. The layer's report comes from this handle, once, and not from each partition.
pub struct SharedLayer<P> {
    common: SharedInner<P>,
}

type SharedInner<P> = Arc<Mutex<Inner<P>>>;

struct Inner<P> {
    lower: BoxedLayer<P>,
    partitions: Vec<PartitionReport>,
    /// Page numbers of the current operation; kept to reuse the allocation.
    pages: Vec<Lpn>,
}

/// A range of a shared layer's pages, numbered from the beginning of the range.
pub struct Partition<P> {
    common: SharedInner<P>,
    index: usize,
    first: u32,
    pages: u32,
}

impl<P: Payload> SharedLayer<P> {
    /// Divides `lower` into consecutive partitions of these sizes; the remaining pages stay unused.
    pub fn new(mut lower: BoxedLayer<P>, sizes: &[u32]) -> (Self, Vec<Partition<P>>) {
        let mut first = 0u32;
        let mut partitions = Vec::with_capacity(sizes.len());
        for &pages in sizes {
            partitions.push(PartitionReport { first, pages, ..PartitionReport::default() });
            first = first.checked_add(pages).expect("partitions within the layer");
        }
        assert!(first <= lower.logical_pages(), "partitions of {first} pages, the layer has fewer");
        lower.set_partitions(&partitions.iter().map(|part| part.first + part.pages).collect::<Vec<_>>());
        let inner = Inner { lower, partitions: partitions.clone(), pages: Vec::new() };
        let common = Arc::new(Mutex::new(inner));
        let users = (0..).zip(&partitions).map(|(index, part)| Partition {
            common: Arc::clone(&common),
            index,
            first: part.first,
            pages: part.pages,
        });
        let users = users.collect();
        (SharedLayer { common }, users)
    }

    /// Appends the reports of the layer, with its partitions, and of all layers below.
    pub fn describe(&self, reports: &mut Reports) {
        let inner = lock(&self.common);
        let at = reports.layers.len();
        inner.lower.describe(reports);
        if let Some(report) = reports.layers.get_mut(at) {
            report.partitions.clone_from(&inner.partitions);
        }
    }

    /// Draws a last number from the layer's random generators.
    pub fn final_draw(&mut self) -> u64 {
        lock(&self.common).lower.final_draw()
    }

    /// Checks the consistency of the layer and all layers below, and that all writes came through a partition.
    pub fn check(&self) -> Result<(), String> {
        let inner = lock(&self.common);
        let (sent, received) = (inner.written(), inner.received());
        if sent != received {
            return Err(format!("the partitions sent {sent} pages, the layer took {received}"));
        }
        inner.lower.check()
    }
}

/// Locks the layer. Ignores poisoning: between two calls a layer is consistent, even if a thread that used it
/// panicked.
fn lock<P>(common: &SharedInner<P>) -> MutexGuard<'_, Inner<P>> {
    common.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<P: Payload> Inner<P> {
    /// Returns the number of pages written through all partitions.
    fn written(&self) -> u64 {
        self.partitions.iter().map(|part| part.incoming.incoming(Operation::Write)).sum()
    }

    /// Returns the number of pages written to the layer, according to its report.
    fn received(&self) -> u64 {
        let mut reports = Reports::default();
        self.lower.describe(&mut reports);
        let report = reports.layers.first();
        report.map_or_else(|| self.written(), |report| report.counters.incoming(Operation::Write))
    }

    /// Counts a write of `pages` pages. After a failed write, as on a failing drive, counts only the pages that the
    /// layer accepted.
    fn count_written(&mut self, index: usize, pages: usize, is_done: bool) {
        let accepted = if is_done { pages as u64 } else { self.received() - self.written() };
        self.count(index, Operation::Write, accepted);
    }

    fn count(&mut self, index: usize, operation: Operation, amount: u64) {
        self.partitions[index].incoming.add_incoming(operation, amount);
    }
}

impl<P> Partition<P> {
    /// Translates `pages` to pages of the layer and calls `operation` with the layer and the translated list.
    fn with_lower<T>(
        &self,
        pages: &[Lpn],
        operation: impl FnOnce(&mut Inner<P>, &[Lpn]) -> Result<T, LayerError>,
    ) -> Result<T, LayerError> {
        check_range(pages, self.pages)?;
        let mut inner = lock(&self.common);
        let mut translated = std::mem::take(&mut inner.pages);
        translated.clear();
        translated.extend(pages.iter().map(|page| Lpn(self.first + page.0)));
        let result = operation(&mut inner, &translated);
        inner.pages = translated;
        result
    }

    /// Translates the pages, performs a write with `write`, and counts the pages that the layer accepted.
    fn write_with<T>(
        &mut self,
        pages: &[Lpn],
        write: impl FnOnce(&mut dyn Layer<P>, &[Lpn]) -> Result<T, LayerError>,
    ) -> Result<T, LayerError>
    where
        P: Payload,
    {
        self.with_lower(pages, |inner, below| {
            let result = write(&mut *inner.lower, below);
            inner.count_written(self.index, below.len(), result.is_ok());
            result
        })
    }

    /// Sends a command for consecutive pages to the layer, with the translated first page, and counts the operation.
    fn command_run<'a>(
        &mut self,
        (first, pages): (Lpn, usize),
        operation: Operation,
        command: impl FnOnce(Lpn) -> Command<'a, P>,
    ) -> Result<Answer, LayerError>
    where
        P: Payload + 'a,
    {
        check_run(first, pages, self.pages)?;
        let mut inner = lock(&self.common);
        let result = inner.lower.command(command(Lpn(self.first + first.0)));
        match operation {
            Operation::Write => inner.count_written(self.index, pages, result.is_ok()),
            other if result.is_ok() => inner.count(self.index, other, pages as u64),
            _ => {}
        }
        result
    }

    /// Returns the range of the layer's pages that the partition covers.
    pub fn range(&self) -> Range<u32> {
        self.first..self.first + self.pages
    }
}

impl<P: Payload> Layer<P> for Partition<P> {
    fn logical_pages(&self) -> u32 {
        self.pages
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.write_with(pages, |lower, below| lower.write(below, data, hint))
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.with_lower(pages, |inner, below| {
            inner.count(self.index, Operation::Read, below.len() as u64);
            inner.lower.read(below, out)
        })
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.with_lower(pages, |inner, below| {
            inner.count(self.index, Operation::Trim, below.len() as u64);
            inner.lower.trim(below)
        })
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.with_lower(&[], |inner, _| {
            inner.count(self.index, Operation::Flush, 1);
            inner.lower.flush()
        })
    }

    /// Attribution is missing: the shared layer attributes moves to its partitions and cannot subdivide a partition
    /// further.
    fn abilities(&self) -> Abilities {
        lock(&self.common).lower.abilities().without(Ability::Attribution)
    }

    fn query(&self, query: Query<'_>) -> Answer {
        let pages: Vec<Lpn> = query.pages().iter().map(|page| Lpn(self.first + page.0)).collect();
        lock(&self.common).lower.query(query.with_pages(&pages))
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        match command {
            Command::SetPartitions { .. } => command.unsupported(),
            Command::WriteRun { first, data, hint } => {
                let below = |first| Command::WriteRun { first, data, hint };
                self.command_run((first, data.len()), Operation::Write, below)
            }
            Command::TrimRun { first, pages } => {
                let below = |first| Command::TrimRun { first, pages };
                self.command_run((first, pages as usize), Operation::Trim, below)
            }
            _ => self
                .write_with(command.written_pages(), |lower, below| lower.command(command.with_pages(below))),
        }
    }

    /// Does nothing: [`SharedLayer::describe`] describes all partitions once.
    fn describe(&self, _reports: &mut Reports) {}

    fn written_pages(&self) -> u64 {
        lock(&self.common).partitions[self.index].incoming.incoming(Operation::Write)
    }

    /// Returns 0: [`SharedLayer::final_draw`] draws for all partitions.
    fn final_draw(&mut self) -> u64 {
        0
    }

    fn check(&self) -> Result<(), String> {
        lock(&self.common).lower.check()
    }
}
