//! A run on the clock: request by request, each when the drive takes it.

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

/// Requests that are drawn before their turn, so that what the layers keep of their pages is in the cache by then.
const AHEAD: usize = 12;

/// Of these, so many requests before its turn a page's entry is there, and what it leads to may be asked for.
const NEAR: usize = 5;

/// Writes of a page each that are drawn together, where there are no others.
const TOGETHER: u64 = 32;

/// Of these, so many in turn are foreseen by one question.
const GROUP: usize = 4;

/// The clock of a run, and the requests that wait for their time.
pub(crate) struct Pace {
    clock: Clock,
    journal: Journal,
    /// Whether requests arrive when they are due.
    open: bool,
    /// The next request of each of several tenants, and when it is due; empty if it is yet to be asked for.
    waiting: Vec<(PageBatch, u64)>,
    /// Of a single tenant, requests drawn before their turn and when they are due; never more than are certainly asked for.
    ahead: VecDeque<(PageBatch, u64)>,
    /// Pages of these.
    ahead_pages: u64,
    /// True if the last of these is the end of a pass, an empty batch.
    end_is_ahead: bool,
    /// Kept for their memory.
    spare: Vec<PageBatch>,
    /// Of a single tenant that writes page by page, pages drawn before their turn, and how many of them had it.
    drawn: PageBatch,
    had_turn: usize,
}

impl Pace {
    /// At time 0; the journal is the one that the flash writes into.
    pub fn new(flash: FlashTiming, host: HostTiming, journal: Journal) -> Result<Self, ConfigError> {
        // What is done before the workload begins takes no time.
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

    /// Ends of passes that the source has reached and the run has not.
    pub fn ends_ahead(&self) -> u64 {
        self.end_is_ahead.into()
    }

    /// Puts the next request of the only tenant into `batch`, which is left empty at the end of a pass, and returns the time at which it
    /// is due. Draws later requests before their turn, but none that would not be drawn for `pages` more pages one by one, and none
    /// of the next pass.
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

    /// Whether the requests of this source, the only one, can be taken by [`Self::next_page`].
    pub fn writes_page_by_page(&self, source: &dyn Source) -> bool {
        !self.open && source.draws_single_writes()
    }

    /// The page that the only tenant's next request writes; others are drawn before their turn, but none beyond `pages` pages.
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

    /// Lets the drive take the write of a page, in a closed loop; the caller then has the layer do it, and calls
    /// [`Self::serve_write`].
    #[inline]
    pub fn take_write(&mut self) {
        self.clock.next_dispatch(Op::Write, 1, 0);
    }

    /// The layers wrote the page.
    #[inline]
    pub fn serve_write(&mut self) {
        self.clock.serve(Op::Write, 1);
    }

    /// From now on what the flash does takes time.
    pub fn begin(&mut self) {
        self.journal.set_recording(true);
    }

    /// Puts the next request into `batch`, which is left empty at the end of a pass: whose it is, and when it is due.
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
            // Nothing comes at the end of a pass.
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

    /// Lets the drive take the request of `batch`, due at `due_ns`: until then the layer may use idle time. The caller then
    /// has the layer do it, and calls [`Self::serve`].
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

    /// The layers did what the request asked for.
    pub fn serve(&mut self, batch: &PageBatch) {
        let (op, pages) = request(batch);
        self.clock.serve(op, pages);
    }

    /// Begins to measure.
    pub fn reset(&mut self) {
        self.clock.reset();
    }

    /// Ends everything that was begun; what was measured.
    pub fn finish(mut self) -> Result<TimingReport, RunError> {
        self.clock.drain();
        self.clock.check().map_err(RunError::Inconsistent)?;
        Ok(self.clock.report())
    }
}

/// What the only request of a batch, in however many runs, asks for.
fn request(batch: &PageBatch) -> (Op, u32) {
    (batch.runs[0].op, batch.pages.len() as u32)
}
