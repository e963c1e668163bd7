//! Timed mode: requests are executed one by one, each when the drive accepts it.

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

/// Number of requests drawn before their turn, so that the layers' tables for their pages can be prefetched into the
/// cache.
const DRAW_AHEAD: usize = 12;

/// Distance, in requests, at which the data behind the table entry of a page is prefetched; the entry itself is then in
/// the cache.
const PREFETCH_DISTANCE: usize = 5;

/// Number of single-page writes that are drawn together, if the source has no other requests.
const WRITES_PER_DRAW: u64 = 32;

/// Number of drawn writes that are prefetched with one call.
const PREFETCH_GROUP: usize = 4;

/// The clock of a run, and the requests that wait for their time.
pub(crate) struct RequestDispatcher {
    clock: Clock,
    journal: Journal,
    /// True if requests arrive at their own times (open arrivals).
    is_open: bool,
    /// The next request of each of several tenants, and its arrival time; the batch is empty if the request is not yet
    /// drawn.
    next_requests: Vec<(PageBatch, u64)>,
    /// With a single tenant: requests drawn before their turn, with their arrival times; all of them are certain to be
    /// executed.
    drawn_requests: VecDeque<(PageBatch, u64)>,
    /// Pages of the requests in `drawn_requests`.
    drawn_request_pages: u64,
    /// True if the last entry of `drawn_requests` is the end of a pass, an empty batch.
    has_drawn_end: bool,
    /// Empty batches, whose memory is reused.
    spare_batches: Vec<PageBatch>,
    /// With a single tenant that writes page by page: pages drawn before their turn.
    drawn_writes: PageBatch,
    /// Number of pages of `drawn_writes` that are already used.
    used_writes: usize,
}

impl RequestDispatcher {
    /// Returns a dispatcher whose clock is at time 0; the flash writes to `journal`.
    pub fn new(flash: FlashTiming, host: HostTiming, journal: Journal) -> Result<Self, ConfigError> {
        // Preconditioning takes no time.
        journal.set_recording(false);
        let clock = Clock::new(host, Flash::new(flash)?, journal.clone())?;
        Ok(RequestDispatcher {
            clock,
            journal,
            is_open: host.arrivals == Arrivals::Open,
            next_requests: Vec::new(),
            drawn_requests: VecDeque::new(),
            drawn_request_pages: 0,
            has_drawn_end: false,
            spare_batches: Vec::new(),
            drawn_writes: PageBatch::default(),
            used_writes: 0,
        })
    }

    /// Returns the number of ends of passes that the source has reached and the run has not.
    pub fn drawn_ends(&self) -> u64 {
        self.has_drawn_end.into()
    }

    /// Puts the next request of the only tenant into `batch`, which is left empty at the end of a pass, and returns its
    /// arrival time. Draws later requests before their turn, but only requests that the next `pages` pages would draw
    /// anyway, and none of the next pass.
    pub fn next_prefetched_request<P: RunPayload>(
        &mut self,
        tenant: &mut Tenant,
        layer: &dyn Layer<P>,
        pages: u64,
        batch: &mut PageBatch,
    ) -> Result<u64, RunError> {
        while self.drawn_requests.len() < DRAW_AHEAD
            && self.drawn_request_pages < pages
            && !self.has_drawn_end
        {
            let mut drawn = self.spare_batches.pop().unwrap_or_default();
            drawn.clear();
            tenant.source.fill(&mut drawn, 1)?;
            drawn.pages.iter().for_each(|&page| layer.prefetch(page, false));
            self.drawn_request_pages += drawn.pages.len() as u64;
            self.has_drawn_end = drawn.is_empty() && tenant.source.passes().is_some();
            self.drawn_requests.push_back((drawn, tenant.source.arrival_ns().unwrap_or(0)));
        }
        if let Some((prefetched, _)) = self.drawn_requests.get(PREFETCH_DISTANCE) {
            prefetched.pages.iter().for_each(|&page| layer.prefetch(page, true));
        }
        let (request, due_ns) = self.drawn_requests.pop_front().expect("one is asked for");
        self.drawn_request_pages -= request.pages.len() as u64;
        self.has_drawn_end &= !request.is_empty();
        self.spare_batches.push(std::mem::replace(batch, request));
        Ok(due_ns)
    }

    /// True if [`Self::next_page`] can be used for `source`, the only source of the run.
    pub fn writes_page_by_page(&self, source: &dyn Source) -> bool {
        !self.is_open && source.has_only_single_writes()
    }

    /// Returns the page that the only tenant writes next. Draws further pages before their turn, but at most `pages`
    /// pages.
    #[inline]
    pub fn next_page<P: RunPayload>(
        &mut self,
        source: &mut dyn Source,
        layer: &dyn Layer<P>,
        pages: u64,
    ) -> Result<Lpn, RunError> {
        if self.used_writes.is_multiple_of(PREFETCH_GROUP)
            || self.used_writes == self.drawn_writes.pages.len()
        {
            self.prefetch(source, layer, pages)?;
        }
        self.used_writes += 1;
        Ok(self.drawn_writes.pages[self.used_writes - 1])
    }

    fn prefetch<P: RunPayload>(
        &mut self,
        source: &mut dyn Source,
        layer: &dyn Layer<P>,
        pages: u64,
    ) -> Result<(), RunError> {
        let drawn_writes = &mut self.drawn_writes;
        let unused = drawn_writes.pages.len() - self.used_writes;
        if unused <= DRAW_AHEAD && (unused as u64) < pages {
            drawn_writes.pages.drain(..self.used_writes);
            drawn_writes.runs.clear();
            self.used_writes = 0;
            source.fill(drawn_writes, (pages - unused as u64).min(WRITES_PER_DRAW) as usize)?;
            layer.query(Query::Prefetch { pages: &drawn_writes.pages[unused..], second_pass: false });
        }
        let prefetched = drawn_writes.pages.get(self.used_writes + PREFETCH_DISTANCE..).unwrap_or(&[]);
        layer.query(Query::Prefetch {
            pages: &prefetched[..prefetched.len().min(PREFETCH_GROUP)],
            second_pass: true,
        });
        Ok(())
    }

    /// Dispatches the write of a page in a closed loop; the caller then has the layer execute it, and calls
    /// [`Self::complete_write`].
    #[inline]
    pub fn dispatch_write(&mut self) {
        self.clock.next_dispatch(Op::Write, 1, 0);
    }

    /// Completes the dispatched write, which the layers have executed.
    #[inline]
    pub fn complete_write(&mut self) {
        self.clock.serve(Op::Write, 1);
    }

    /// Starts the clock: flash operations take time from now on.
    pub fn begin(&mut self) {
        self.journal.set_recording(true);
    }

    /// Puts the next request into `batch`, which is left empty at the end of a pass; returns its tenant and its arrival
    /// time.
    pub fn next_request(
        &mut self,
        tenants: &mut [Tenant],
        batch: &mut PageBatch,
    ) -> Result<(usize, u64), RunError> {
        batch.clear();
        if !self.is_open || tenants.len() == 1 {
            let at = if tenants.len() == 1 { 0 } else { tenants::next_tenant(tenants) };
            let source = &mut tenants[at].source;
            source.fill(batch, 1)?;
            return Ok((at, source.arrival_ns().unwrap_or(0)));
        }
        self.next_requests.resize_with(tenants.len(), Default::default);
        for ((request, due_ns), tenant) in self.next_requests.iter_mut().zip(tenants) {
            // A source gives no request at the end of a pass.
            while request.is_empty() {
                tenant.source.fill(request, 1)?;
                *due_ns = tenant.source.arrival_ns().unwrap_or(0);
            }
        }
        let arrivals = self.next_requests.iter().enumerate().map(|(at, (_, due_ns))| (*due_ns, at));
        let (due_ns, at) = arrivals.min().expect("a run has a tenant");
        std::mem::swap(batch, &mut self.next_requests[at].0);
        Ok((at, due_ns))
    }

    /// Dispatches the request of `batch`, which arrives at `due_ns`; until then the layer may use idle time. The caller
    /// then has the layer execute it, and calls [`Self::complete`].
    pub fn dispatch<P: RunPayload>(
        &mut self,
        layer: &mut dyn Layer<P>,
        batch: &PageBatch,
        due_ns: u64,
    ) -> Result<(), LayerError> {
        let (op, pages) = op_and_pages(batch);
        if self.is_open {
            while self.clock.idle(due_ns).is_some() && layer.clean_while_idle()? {
                self.clock.serve_cleaning();
            }
        }
        self.clock.next_dispatch(op, pages, due_ns);
        Ok(())
    }

    /// Completes the dispatched request, which the layers have executed.
    pub fn complete(&mut self, batch: &PageBatch) {
        let (op, pages) = op_and_pages(batch);
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
fn op_and_pages(batch: &PageBatch) -> (Op, u32) {
    (batch.runs[0].op, batch.pages.len() as u32)
}
