//! A layer that measures the sequentiality of incoming writes and trims.

use super::segments::BoxedLayer;
use crate::layer::{
    Abilities, Answer, Arrivals, Command, Layer, LayerError, LayerExt, Payload, Query, Reports,
};
use crate::units::{Lpn, count_runs, runs};

/// Number of recent runs whose ends are remembered. With eight of them, eight interleaved logs count as sequential, as
/// for a drive that tracks eight streams.
const TRACKED_RUNS: usize = 8;

/// Forwards all operations to the observed layer and measures them.
pub struct ArrivalObserver<P> {
    inner: BoxedLayer<P>,
    arrivals: Arrivals,
    /// Page that would continue each of the most recent runs, most recent first.
    next_pages: [u64; TRACKED_RUNS],
}

impl<P: Payload> ArrivalObserver<P> {
    /// Creates an observer of `inner`, which counts the pages it moves from now on.
    pub fn new(mut inner: BoxedLayer<P>) -> Self {
        inner.count_moves();
        ArrivalObserver { inner, arrivals: Arrivals::default(), next_pages: [u64::MAX; TRACKED_RUNS] }
    }

    fn observe(&mut self, pages: &[Lpn]) {
        runs(pages).for_each(|run| self.observe_run(run[0], run.len() as u64));
    }

    fn observe_run(&mut self, first: Lpn, pages: u64) {
        let first = u64::from(first.0);
        let Some(following) = pages.checked_sub(1) else { return };
        self.arrivals.written_pages += pages;
        let position = self.next_pages.iter().position(|next| *next == first);
        self.arrivals.sequential_pages += u64::from(position == Some(0)) + following;
        self.arrivals.stream_sequential_pages += u64::from(position.is_some()) + following;
        // Moves the run to the front; a new run replaces the oldest.
        let last = position.unwrap_or(TRACKED_RUNS - 1);
        self.next_pages.copy_within(0..last, 1);
        self.next_pages[0] = first + pages;
    }
}

impl<P: Payload> Layer<P> for ArrivalObserver<P> {
    fn logical_pages(&self) -> u32 {
        self.inner.logical_pages()
    }

    fn write(&mut self, pages: &[Lpn], data: &[P], hint: u16) -> Result<(), LayerError> {
        self.inner.write(pages, data, hint)?;
        self.observe(pages);
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
            Command::WriteRun { first, data, .. } => self.observe_run(first, data.len() as u64),
            Command::TrimRun { pages, .. } => {
                self.arrivals.trimmed_ranges += u64::from(pages > 0);
                self.arrivals.trimmed_pages += u64::from(pages);
            }
            _ => self.observe(command.written_pages()),
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

    fn written_pages(&self) -> u64 {
        self.inner.written_pages()
    }

    fn final_draw(&mut self) -> u64 {
        self.inner.final_draw()
    }

    fn check(&self) -> Result<(), String> {
        self.inner.check()
    }
}
