//! Timed mode: requests are executed one by one, each when the drive takes it.

use super::error::RunError;
use super::payload::RunPayload;
use super::source::Source;
use super::tenants::{self, Tenant};
use std::collections::VecDeque;
use wearwell_base::config::ConfigError;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::{Layer, LayerError, LayerExt, Query};
use wearwell_engine::timing::{Arrivals, Clock, Flash, FlashTiming, HostTiming, Journal, TimingReport};
use wearwell_trace::Op;
use wearwell_workload::PageBatch;

/// Requests drawn before their turn, so that the layers' tables for their pages can be prefetched into the cache.
const AHEAD: usize = 12;

/// Requests before the turn of a page at which its table entry is cached, so that the data it points to can be prefetched.
const NEAR: usize = 5;

/// Single-page writes that are drawn together, if the source has no other requests.
const TOGETHER: u64 = 32;

/// Drawn writes that are prefetched with one call.
const GROUP: usize = 4;

/// The clock of a run, and the requests that wait for their time.
pub(crate) struct Pace {
    clock: Clock,
    journal: Journal,
    /// True if requests arrive at their own times (open arrivals).
    open: bool,
    /// The next request of each of several tenants, and its arrival time; empty if not yet drawn.
    waiting: Vec<(PageBatch, u64)>,
    /// With a single tenant: requests drawn before their turn, with their arrival times; never more than are certain to be executed.
    ahead: VecDeque<(PageBatch, u64)>,
    /// Pages of the requests in `ahead`.
    ahead_pages: u64,
    /// True if the last entry of `ahead` is the end of a pass, an empty batch.
    end_is_ahead: bool,
    /// Batches for reuse of their memory.
    spare: Vec<PageBatch>,
    /// With a single tenant that writes page by page: pages drawn before their turn, and the number of them already used.
    drawn: PageBatch,
    had_turn: usize,
}

impl Pace {
    /// Returns a clock at time 0; `journal` is the journal that the flash writes to.
    pub fn new(flash: FlashTiming, host: HostTiming, journal: Journal) -> Result<Self, ConfigError> {
        // Preconditioning takes no time.
        journal.set_recording(false);
        let clock = Clock::new(host, Flash::new(flash)?, journal.clone())?;
        Ok(Pace {
            clock,
            journal,
            open: host.arrivals == Arrivals::Open,
            waiting: Vec::new(),
            ahead: VecDeque::new(),
            ahead_pages: 0,
            end_is_ahead: false,
            spare: Vec::new(),
            drawn: PageBatch::default(),
            had_turn: 0,
        })
    }

    /// Returns the ends of passes that the source has reached and the run has not.
    pub fn ends_ahead(&self) -> u64 {
        self.end_is_ahead.into()
    }

    /// Puts the next request of the only tenant into `batch`, which is left empty at the end of a pass, and returns its arrival time.
    /// Draws later requests before their turn, but only requests that the next `pages` pages would draw anyway, and none of the next
    /// pass.
    pub fn next_of_many<P: RunPayload>(
        &mut self,
        tenant: &mut Tenant,
        layer: &dyn Layer<P>,
        pages: u64,
        batch: &mut PageBatch,
    ) -> Result<u64, RunError> {
        while self.ahead.len() < AHEAD && self.ahead_pages < pages && !self.end_is_ahead {
            let mut drawn = self.spare.pop().unwrap_or_default();
            drawn.clear();
            tenant.source.fill(&mut drawn, 1)?;
            drawn.pages.iter().for_each(|&page| layer.foresee(page, false));
            self.ahead_pages += drawn.pages.len() as u64;
            self.end_is_ahead = drawn.is_empty() && tenant.source.passes().is_some();
            self.ahead.push_back((drawn, tenant.source.arrival_ns().unwrap_or(0)));
        }
        if let Some((near, _)) = self.ahead.get(NEAR) {
            near.pages.iter().for_each(|&page| layer.foresee(page, true));
        }
        let (next, due_ns) = self.ahead.pop_front().expect("one is asked for");
        self.ahead_pages -= next.pages.len() as u64;
        self.end_is_ahead &= !next.is_empty();
        self.spare.push(std::mem::replace(batch, next));
        Ok(due_ns)
    }

    /// True if [`Self::next_page`] can be used for this source, the only one.
    pub fn writes_page_by_page(&self, source: &dyn Source) -> bool {
        !self.open && source.draws_single_writes()
    }

    /// Returns the page that the only tenant writes next. Draws further pages before their turn, but at most `pages` pages.
    #[inline]
    pub fn next_page<P: RunPayload>(
        &mut self,
        source: &mut dyn Source,
        layer: &dyn Layer<P>,
        pages: u64,
    ) -> Result<Lpn, RunError> {
        if self.had_turn.is_multiple_of(GROUP) || self.had_turn == self.drawn.pages.len() {
            self.look_ahead(source, layer, pages)?;
        }
        self.had_turn += 1;
        Ok(self.drawn.pages[self.had_turn - 1])
    }

    fn look_ahead<P: RunPayload>(
        &mut self,
        source: &mut dyn Source,
        layer: &dyn Layer<P>,
        pages: u64,
    ) -> Result<(), RunError> {
        let drawn = &mut self.drawn;
        let left = drawn.pages.len() - self.had_turn;
        if left <= AHEAD && (left as u64) < pages {
            drawn.pages.drain(..self.had_turn);
            drawn.runs.clear();
            self.had_turn = 0;
            source.fill(drawn, (pages - left as u64).min(TOGETHER) as usize)?;
            layer.query(Query::Foresee { pages: &drawn.pages[left..], near: false });
        }
        let near = drawn.pages.get(self.had_turn + NEAR..).unwrap_or(&[]);
        layer.query(Query::Foresee { pages: &near[..near.len().min(GROUP)], near: true });
        Ok(())
    }

    /// Dispatches the write of a page in a closed loop; the caller then has the layer execute it, and calls [`Self::serve_write`].
    #[inline]
    pub fn take_write(&mut self) {
        self.clock.next_dispatch(Op::Write, 1, 0);
    }

    /// Completes the dispatched write, which the layers have executed.
    #[inline]
    pub fn serve_write(&mut self) {
        self.clock.serve(Op::Write, 1);
    }

    /// Starts the clock: flash operations take time from now on.
    pub fn begin(&mut self) {
        self.journal.set_recording(true);
    }

    /// Puts the next request into `batch`, which is left empty at the end of a pass; returns its tenant and its arrival time.
    pub fn next_request(
        &mut self,
        tenants: &mut [Tenant],
        batch: &mut PageBatch,
    ) -> Result<(usize, u64), RunError> {
        batch.clear();
        if !self.open || tenants.len() == 1 {
            let at = if tenants.len() == 1 { 0 } else { tenants::next(tenants) };
            let source = &mut tenants[at].source;
            source.fill(batch, 1)?;
            return Ok((at, source.arrival_ns().unwrap_or(0)));
        }
        self.waiting.resize_with(tenants.len(), Default::default);
        for ((request, due_ns), tenant) in self.waiting.iter_mut().zip(tenants) {
            // A source gives no request at the end of a pass.
            while request.is_empty() {
                tenant.source.fill(request, 1)?;
                *due_ns = tenant.source.arrival_ns().unwrap_or(0);
            }
        }
        let due = self.waiting.iter().enumerate().map(|(at, (_, due_ns))| (*due_ns, at));
        let (due_ns, at) = due.min().expect("a run has a tenant");
        std::mem::swap(batch, &mut self.waiting[at].0);
        Ok((at, due_ns))
    }

    /// Dispatches the request of `batch`, which arrives at `due_ns`; until then the layer may use idle time. The caller then has the
    /// layer execute it, and calls [`Self::serve`].
    pub fn take<P: RunPayload>(
        &mut self,
        layer: &mut dyn Layer<P>,
        batch: &PageBatch,
        due_ns: u64,
    ) -> Result<(), LayerError> {
        let (op, pages) = request(batch);
        if self.open {
            while self.clock.idle(due_ns).is_some() && layer.clean_ahead()? {
                self.clock.serve_cleaning();
            }
        }
        self.clock.next_dispatch(op, pages, due_ns);
        Ok(())
    }

    /// Completes the dispatched request, which the layers have executed.
    pub fn serve(&mut self, batch: &PageBatch) {
        let (op, pages) = request(batch);
        self.clock.serve(op, pages);
    }

    /// Starts measuring.
    pub fn reset(&mut self) {
        self.clock.reset();
    }

    /// Completes all pending work and returns the timing report.
    pub fn finish(mut self) -> Result<TimingReport, RunError> {
        self.clock.drain();
        self.clock.check().map_err(RunError::Inconsistent)?;
        Ok(self.clock.report())
    }
}

/// Returns operation and length of the only request of a batch, which may consist of several runs.
fn request(batch: &PageBatch) -> (Op, u32) {
    (batch.runs[0].op, batch.pages.len() as u32)
}
