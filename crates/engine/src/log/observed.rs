//! A layer that is watched: how sequential is what arrives, and how scattered what it invalidates?

use super::segments::BoxedLayer;
use crate::layer::{
    Abilities, Answer, Arrivals, Command, Layer, LayerError, LayerExt, Payload, Query, Reports,
};
use crate::units::{Lpn, count_runs, runs};

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
    /// Watches `inner`, which counts what it moves from now on.
    pub fn new(mut inner: BoxedLayer<P>) -> Self {
        inner.count_moves();
        Observed { inner, arrivals: Arrivals::default(), next: [u64::MAX; TAILS] }
    }

    fn watch(&mut self, pages: &[Lpn]) {
        runs(pages).for_each(|run| self.watch_run(run[0], run.len() as u64));
    }

    fn watch_run(&mut self, first: Lpn, pages: u64) {
        let first = u64::from(first.0);
        let Some(others) = pages.checked_sub(1) else { return };
        self.arrivals.written_pages += pages;
        let tail = self.next.iter().position(|next| *next == first);
        self.arrivals.sequential_pages += u64::from(tail == Some(0)) + others;
        self.arrivals.stream_sequential_pages += u64::from(tail.is_some()) + others;
        // The run comes to the front; the oldest is forgotten where it is a new one.
        let last = tail.unwrap_or(TAILS - 1);
        self.next.copy_within(0..last, 1);
        self.next[0] = first + pages;
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

    fn read(&mut self, pages: &[Lpn], out: &mut Vec<P>) -> Result<(), LayerError> {
        self.inner.read(pages, out)
    }

    fn trim(&mut self, pages: &[Lpn]) -> Result<(), LayerError> {
        self.inner.trim(pages)?;
        self.arrivals.trimmed_ranges += count_runs(pages) as u64;
        self.arrivals.trimmed_pages += pages.len() as u64;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LayerError> {
        self.inner.flush()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn query(&self, query: Query<'_>) -> Answer {
        self.inner.query(query)
    }

    fn command(&mut self, command: Command<'_, P>) -> Result<Answer, LayerError> {
        let answer = self.inner.command(command)?;
        match command {
            Command::WriteRun { first, data, .. } => self.watch_run(first, data.len() as u64),
            Command::TrimRun { pages, .. } => {
                self.arrivals.trimmed_ranges += u64::from(pages > 0);
                self.arrivals.trimmed_pages += u64::from(pages);
            }
            _ => self.watch(command.written()),
        }
        Ok(answer)
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
