//! A layer that is watched: how sequential is what arrives, and how scattered what it invalidates?

use super::segments::BoxedLayer;
use crate::layer::{Arrivals, Layer, LayerError, Payload, Reports};
use crate::units::{Lpn, runs};

/// Tails of write streams that are remembered: a drive that follows eight streams sees eight interleaved logs as
/// sequential.
const TAILS: usize = 8;

/// Passes everything on to `inner` and watches.
pub struct Observed<P> {
    inner: BoxedLayer<P>,
    arrivals: Arrivals,
    /// Pages that would go on one of the latest runs, the latest first.
    next: [u64; TAILS],
}

impl<P: Payload> Observed<P> {
    /// Watches `inner`.
    pub fn new(inner: BoxedLayer<P>) -> Self {
        Observed { inner, arrivals: Arrivals::default(), next: [u64::MAX; TAILS] }
    }

    fn watch(&mut self, pages: &[Lpn]) {
        self.arrivals.written_pages += pages.len() as u64;
        runs(pages).for_each(|run| self.watch_run(run));
    }

    fn watch_run(&mut self, run: &[Lpn]) {
        let first = u64::from(run[0].0);
        let tail = self.next.iter().position(|next| *next == first);
        let others = run.len() as u64 - 1;
        self.arrivals.sequential_pages += u64::from(tail == Some(0)) + others;
        self.arrivals.stream_sequential_pages += u64::from(tail.is_some()) + others;
        // The run comes to the front; the oldest is forgotten where it is a new one.
        let last = tail.unwrap_or(TAILS - 1);
        self.next.copy_within(0..last, 1);
        self.next[0] = first + run.len() as u64;
    }
}

impl<P: Payload> Layer<P> for Observed<P> {
    fn logical_pages(&self) -> u32 {
        self.inner.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.inner.write(pages, data, hint)?;
        self.watch(pages);
        Ok(())
    }

    fn write_atomic(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.inner.write_atomic(pages, data, hint)?;
        self.watch(pages);
        Ok(())
    }

    fn atomic_pages(&self) -> u32 {
        self.inner.atomic_pages()
    }

    fn wants_requests(&self) -> bool {
        self.inner.wants_requests()
    }

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.inner.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.inner.trim(pages)?;
        self.arrivals.trimmed_ranges += runs(pages).count() as u64;
        self.arrivals.trimmed_pages += pages.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.inner.flush()
    }

    fn divide(&mut self, ends: &[u32]) {
        self.inner.divide(ends);
    }

    fn cleaning_above(&mut self, begins: bool) {
        self.inner.cleaning_above(begins);
    }

    fn clean_ahead(&mut self) -> Result<bool, LayerError> {
        self.inner.clean_ahead()
    }

    fn left_valid(&self, first: Lpn, pages: u32) -> f64 {
        self.inner.left_valid(first, pages)
    }

    fn moved_pages(&self, pages: &[Lpn]) -> u64 {
        self.inner.moved_pages(pages)
    }

    fn describe(&self, reports: &mut Reports) {
        let at = reports.layers.len();
        self.inner.describe(reports);
        if let Some(layer) = reports.layers.get_mut(at) {
            layer.arrivals = Some(self.arrivals);
        }
    }

    fn final_draw(&mut self) -> u64 {
        self.inner.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.inner.check()
    }
}
