//! Execution of a run: fill, overwrite, warm up until steady, measure.

use super::apply::apply;
use super::dispatcher::RequestDispatcher;
use super::error::RunError;
use super::finished::{RunOutcome, TenantOutcome};
use super::observer::{Observer, Progress};
use super::payload::RunPayload;
use super::precondition::{RandomOverwrites, SequentialFill};
use super::run_length::RunLength;
use super::series::Series;
use super::snapshot::Snapshot;
use super::source::Source;
use super::steady;
use super::tenants::{self, Tenant};
use super::window::Phase;
use crate::build::Stack;
use crate::scenario::{Fill, Measure, Scenario};
use std::ops::ControlFlow;
use wearwell_base::units::Lpn;
use wearwell_engine::layer::LayerError;
use wearwell_trace::Op;
use wearwell_workload::{PageBatch, Stage};

/// Number of pages applied to the stack at a time: enough to prefetch ahead, few enough to stay in the cache.
const BATCH_PAGES: u64 = 4096;

/// Number of pages between two reports of progress.
const PROGRESS_PAGES: u64 = 1 << 20;

/// Number of passes through a trace whose write amplification must agree for the run to be steady.
const STEADY_PASSES: usize = 3;

/// Runs the workload on the stack and records the time series.
pub(crate) struct Driver<'a, P> {
    stack: Stack<P>,
    tenants: Vec<Tenant>,
    observer: &'a mut dyn Observer,
    batch: PageBatch,
    /// Pages of all tenants.
    logical_pages: u64,
    window_pages: u64,
    series: Series,
    /// Phase and write amplification of each pass through the trace.
    passes: Vec<(Phase, f64)>,
    pass_host_pages: u64,
    pass_programs: u64,
    window_host_pages: u64,
    /// Host pages written since the drive was new.
    host_pages: u64,
    /// Progress of the workload.
    run_length: RunLength,
    pages_since_progress: u64,
    end_of_life: Option<LayerError>,
    /// Clock of the run, in timed mode.
    dispatcher: Option<RequestDispatcher>,
    /// True if requests may be drawn before their turn; this needs a drive that cannot fail, so that no drawn request
    /// is left over.
    may_draw_ahead: bool,
}

impl<'a, P: RunPayload> Driver<'a, P> {
    pub fn new(
        stack: Stack<P>,
        tenants: Vec<Tenant>,
        measure: &Measure,
        dispatcher: Option<RequestDispatcher>,
        may_draw_ahead: bool,
        observer: &'a mut dyn Observer,
    ) -> Self {
        let logical_pages = stack.logical_pages();
        Driver {
            window_pages: pages_of(measure.window, logical_pages).max(1),
            series: Series::begin(Snapshot::take(&stack)),
            logical_pages,
            stack,
            tenants,
            observer,
            batch: PageBatch::default(),
            passes: Vec::new(),
            pass_host_pages: 0,
            pass_programs: 0,
            window_host_pages: 0,
            host_pages: 0,
            run_length: RunLength::default(),
            pages_since_progress: 0,
            end_of_life: None,
            dispatcher,
            may_draw_ahead,
        }
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot::take(&self.stack)
    }

    /// Fills the space of each tenant, one after another, and then overwrites each at random.
    pub fn precondition(&mut self, scenario: &Scenario) -> Result<(), RunError> {
        let request_pages = scenario.precondition.request_pages;
        for at in 0..self.tenants.len() {
            let pages = self.tenants[at].logical_pages;
            if scenario.precondition.fill == Fill::Sequential {
                let mut fill = SequentialFill::new(pages, request_pages);
                self.precondition_from(&mut fill, at, Phase::Fill, u64::from(pages))?;
            }
        }
        for at in 0..self.tenants.len() {
            let Tenant { logical_pages, overwrite, .. } = self.tenants[at];
            let mut overwrite =
                RandomOverwrites { pages: logical_pages, request_pages, random: overwrite.random() };
            let pages = pages_of(scenario.precondition.random_overwrites, u64::from(logical_pages));
            self.precondition_from(&mut overwrite, at, Phase::Overwrite, pages)?;
        }
        self.tenants.iter_mut().for_each(Tenant::begin);
        self.run_length = RunLength::begin(self.host_pages, self.logical_pages, self.dispatcher.is_some());
        self.dispatcher.iter_mut().for_each(RequestDispatcher::begin);
        Ok(())
    }

    /// Writes `pages` pages, or slightly more, from `source` into the space of tenant `at`.
    fn precondition_from(
        &mut self,
        source: &mut dyn Source,
        at: usize,
        phase: Phase,
        pages: u64,
    ) -> Result<(), RunError> {
        let end = self.host_pages + pages;
        while self.host_pages < end && self.end_of_life.is_none() {
            let remaining = end - self.host_pages;
            self.batch.clear();
            let requested = remaining.min(self.window_remaining()).min(BATCH_PAGES);
            source.fill(&mut self.batch, requested as usize)?;
            self.tenants[at].source.add_contents(&mut self.batch);
            self.apply(at)?;
            self.observe(self.batch.pages.len() as u64, phase, 1.0 - remaining as f64 / pages as f64)?;
            if self.window_remaining() == 0 {
                self.close_window(phase);
            }
        }
        self.close_window(phase);
        Ok(())
    }

    /// Returns the passes through the trace, if a trace is the only source.
    fn passes(&self) -> Option<u64> {
        match &self.tenants[..] {
            [only] => {
                let drawn_ends = self.dispatcher.as_ref().map_or(0, RequestDispatcher::drawn_ends);
                only.source.passes().map(|passes| passes - drawn_ends)
            }
            _ => None,
        }
    }

    /// Returns the stage of the workload, if there is a single workload and it has stages.
    fn stage(&self) -> Option<Stage> {
        match &self.tenants[..] {
            [only] => only.source.stage(),
            _ => None,
        }
    }

    /// Runs the workload until it is steady, or for the length that the scenario gives; returns true if it became
    /// steady.
    ///
    /// Completes a started pass through a trace, so that measuring begins with the trace.
    pub fn warm_up(&mut self, measure: &Measure) -> Result<bool, RunError> {
        if measure.until_worn_out_blocks.is_some() {
            return Ok(false);
        }
        if self.stage().is_some() {
            while self.stage() == Some(Stage::WarmUp) && self.end_of_life.is_none() {
                self.run_window(Phase::WarmUp, 0.0)?;
            }
            return Ok(false);
        }
        let start = self.run_length_pages();
        let limit = pages_of(measure.warm_up.unwrap_or(measure.max_warm_up), self.logical_pages);
        let mut steady = false;
        while (self.run_length_pages() - start < limit || self.run_length.is_in_pass())
            && !(steady && measure.warm_up.is_none())
            && self.end_of_life.is_none()
        {
            let done = ((self.run_length_pages() - start) as f64 / limit as f64).min(1.0);
            if self.run_window(Phase::WarmUp, done)? {
                steady = match self.run_length.is_by_requested_pages() {
                    // Without writes only caches change: one pass over the drive is enough.
                    true => self.run_length_pages() - start >= self.logical_pages,
                    false => self.all_have_overwritten() && self.is_steady(Phase::WarmUp, measure.tolerance),
                };
            }
        }
        Ok(steady)
    }

    pub fn measure(&mut self, measure: &Measure) -> Result<(), RunError> {
        self.dispatcher.iter_mut().for_each(RequestDispatcher::reset);
        self.tenants.iter_mut().for_each(|tenant| tenant.source.begin_measure());
        let start = self.run_length_pages();
        let target_pages = pages_of(measure.drive_writes, self.logical_pages).max(1);
        self.stack.power.iter_mut().for_each(|power| power.begin_measurement(target_pages));
        let passes = self.passes().map(|passes| passes + u64::from(measure.passes.unwrap_or(1)));
        while self.end_of_life.is_none() {
            let written = self.run_length_pages() - start;
            let worn_out = self.series.start.worn_out_blocks();
            let passes_complete =
                passes.is_none_or(|passes| self.passes() >= Some(passes)) && !self.run_length.is_in_pass();
            let done = match measure.until_worn_out_blocks {
                Some(wanted) if worn_out >= wanted => break,
                Some(wanted) => f64::from(worn_out) / f64::from(wanted),
                None if self.stage() == Some(Stage::Over) => break,
                None if self.stage().is_none() && written >= target_pages && passes_complete => break,
                None => (written as f64 / target_pages as f64).min(1.0),
            };
            self.run_window(Phase::Measure, done)?;
        }
        Ok(())
    }

    /// True if each of several tenants has overwritten its space once. Before that, a tenant with a low rate still has
    /// the layout of the fill, and the other tenants may look steady without it.
    fn all_have_overwritten(&self) -> bool {
        self.tenants.len() == 1 || self.tenants.iter().all(Tenant::has_overwritten)
    }

    /// True if the windows, or the passes through a trace, agree within `tolerance`.
    fn is_steady(&self, phase: Phase, tolerance: f64) -> bool {
        let series = self.series(phase);
        match self.passes() {
            None => steady::is_steady(&series, tolerance),
            Some(_) if series.len() <= STEADY_PASSES => false,
            Some(_) => steady::agree(&series[series.len() - STEADY_PASSES..], tolerance),
        }
    }

    /// Returns the write amplification of each window of a phase, or of each pass through the trace.
    ///
    /// Parts of a trace differ in their load; only whole passes are comparable.
    fn series(&self, phase: Phase) -> Vec<f64> {
        match self.passes() {
            Some(_) => self.passes.iter().filter(|pass| pass.0 == phase).map(|pass| pass.1).collect(),
            None => self.series.of_phase(phase),
        }
    }

    fn window_remaining(&self) -> u64 {
        self.window_pages.saturating_sub(self.run_length.window_length(self.window_host_pages))
    }

    /// Returns the number of pages since the drive was new by which the length of the run is measured.
    fn run_length_pages(&self) -> u64 {
        self.run_length.length(self.host_pages)
    }

    /// Runs one window of the workload, which ends early at the end of a pass; returns true if the series for the
    /// steady test grew.
    fn run_window(&mut self, phase: Phase, done: f64) -> Result<bool, RunError> {
        let (passes, stage) = (self.passes(), self.stage());
        let is_same_pass = |driver: &Self| driver.passes() == passes && driver.stage() == stage;
        while self.window_remaining() > 0 && is_same_pass(self) && self.end_of_life.is_none() {
            self.run_batch(phase, self.window_remaining(), done)?;
        }
        self.close_window(phase);
        let ended = self.passes() != passes;
        if ended {
            self.run_length.end_pass()?;
        }
        if ended && self.pass_host_pages > 0 {
            self.passes.push((phase, self.pass_programs as f64 / self.pass_host_pages as f64));
            (self.pass_host_pages, self.pass_programs) = (0, 0);
        }
        Ok(ended || passes.is_none())
    }

    /// Takes at most a batch from the tenants and applies it.
    ///
    /// With several tenants it takes one request at a time, so that results do not depend on where a batch ends.
    fn run_batch(&mut self, phase: Phase, pages: u64, done: f64) -> Result<(), RunError> {
        let (requested, before) = (pages.min(BATCH_PAGES), self.host_pages);
        let mut completed = 0;
        if self.dispatcher.is_some() {
            completed = self.run_timed(requested)?;
        } else if self.tenants.len() == 1 {
            completed = self.run_pages(0, requested)?;
        } else {
            while completed < requested && self.end_of_life.is_none() {
                completed += self.run_pages(tenants::next_tenant(&self.tenants), 1)?;
            }
        }
        self.run_length.add(completed, self.host_pages - before, self.passes().is_some())?;
        self.observe(completed, phase, done)
    }

    /// Runs `pages` pages or slightly more of tenant `at`; returns their number.
    fn run_pages(&mut self, at: usize, pages: u64) -> Result<u64, RunError> {
        self.batch.clear();
        self.tenants[at].source.fill(&mut self.batch, pages as usize)?;
        self.apply(at)?;
        Ok(self.batch.pages.len() as u64)
    }

    /// Runs one request after another on the clock, for `pages` pages or until a pass ends; returns the number of
    /// pages.
    fn run_timed(&mut self, pages: u64) -> Result<u64, RunError> {
        if let ([only], Some(dispatcher)) = (&self.tenants[..], &self.dispatcher)
            && self.may_draw_ahead
            && dispatcher.writes_page_by_page(&*only.source)
        {
            return self.run_timed_writes(pages);
        }
        let (passes, stage, mut completed) = (self.passes(), self.stage(), 0);
        let is_same_pass = |driver: &Self| driver.passes() == passes && driver.stage() == stage;
        while completed < pages && is_same_pass(self) && self.end_of_life.is_none() {
            let dispatcher = self.dispatcher.as_mut().expect("asked in timed mode only");
            let (at, due_ns) = match &mut self.tenants[..] {
                [only] if self.may_draw_ahead => {
                    let (layer, remaining) = (&*self.stack.targets[0].layer, pages - completed);
                    (0, dispatcher.next_prefetched_request(only, layer, remaining, &mut self.batch)?)
                }
                tenants => dispatcher.next_request(tenants, &mut self.batch)?,
            };
            if self.batch.is_empty() {
                continue;
            }
            match dispatcher.dispatch(&mut *self.stack.targets[at].layer, &self.batch, due_ns) {
                Err(error) if error.is_end_of_life() => {
                    self.end_of_life = Some(error);
                    break;
                }
                dispatched => dispatched?,
            }
            self.apply(at)?;
            self.dispatcher.as_mut().expect("still there").complete(&self.batch);
            completed += self.batch.pages.len() as u64;
        }
        Ok(completed)
    }

    /// Runs `pages` writes of the only tenant on the clock, one page after another; returns the number of executed
    /// writes.
    fn run_timed_writes(&mut self, pages: u64) -> Result<u64, RunError> {
        let mut completed = 0;
        self.batch.clear();
        self.batch.push_request(Op::Write, 0, Lpn(0), 1);
        P::fill_payloads(&mut self.batch);
        while completed < pages && self.end_of_life.is_none() {
            let dispatcher = self.dispatcher.as_mut().expect("asked in timed mode only");
            let tenant = &mut self.tenants[0];
            let layer = &mut *self.stack.targets[0].layer;
            self.batch.pages[0] = dispatcher.next_page(&mut *tenant.source, layer, pages - completed)?;
            dispatcher.dispatch_write();
            match layer.write(&self.batch.pages, P::of(&self.batch, 0..1), tenant.first_hint) {
                Ok(()) => {
                    tenant.sent.written += 1;
                    self.host_pages += 1;
                    self.window_host_pages += 1;
                }
                Err(error) => {
                    let before = tenant.sent.written;
                    self.handle_layer_error(0, before, error)?;
                }
            }
            self.dispatcher.as_mut().expect("still there").complete_write();
            completed += 1;
        }
        Ok(completed)
    }

    /// Applies the current batch for tenant `at`.
    fn apply(&mut self, at: usize) -> Result<(), RunError> {
        let Tenant { sent, first_hint, .. } = &mut self.tenants[at];
        let before = sent.written;
        P::fill_payloads(&mut self.batch);
        // In timed mode, the pages of a call go to the flash together.
        let may_join = self.dispatcher.is_none();
        let layer = &mut *self.stack.targets[at].layer;
        if let Err(error) = apply(layer, &self.batch, *first_hint, may_join, sent) {
            return self.handle_layer_error(at, before, error);
        }
        let written = sent.written - before;
        self.host_pages += written;
        self.window_host_pages += written;
        Ok(())
    }

    /// Handles an error of tenant `at`, which had written `before` pages. At the end of the drive's life, counts the
    /// pages that the stack accepted; otherwise returns the error.
    #[cold]
    fn handle_layer_error(&mut self, at: usize, before: u64, error: LayerError) -> Result<(), RunError> {
        if !error.is_end_of_life() {
            return Err(error.into());
        }
        let written = Snapshot::take(&self.stack).host_pages() - self.host_pages;
        self.tenants[at].sent.written = before + written;
        self.end_of_life = Some(error);
        self.host_pages += written;
        self.window_host_pages += written;
        Ok(())
    }

    /// Lets the observer stop the run, and reports the progress from time to time.
    fn observe(&mut self, pages: u64, phase: Phase, done: f64) -> Result<(), RunError> {
        if self.observer.should_continue().is_break() {
            return Err(RunError::Interrupted);
        }
        self.pages_since_progress += pages;
        if self.pages_since_progress >= PROGRESS_PAGES {
            self.pages_since_progress = 0;
            return self.report_progress(phase, done);
        }
        Ok(())
    }

    fn report_progress(&mut self, phase: Phase, done: f64) -> Result<(), RunError> {
        let progress = Progress {
            phase,
            fraction_done: done,
            drive_writes: self.run_length_pages() as f64 / self.logical_pages as f64,
            write_amplification: self.series.windows.last().map(|window| window.write_amplification),
        };
        match self.observer.progress(&progress) {
            ControlFlow::Continue(()) => Ok(()),
            ControlFlow::Break(()) => Err(RunError::Interrupted),
        }
    }

    /// Ends the current window, if anything was written in it.
    fn close_window(&mut self, phase: Phase) {
        self.run_length.end_window();
        if self.window_host_pages == 0 {
            return;
        }
        let pages = (self.host_pages, self.window_host_pages);
        let window = self.series.end_window(phase, pages, Snapshot::take(&self.stack));
        if matches!(phase, Phase::WarmUp | Phase::Measure) {
            self.pass_host_pages += window.window_host_pages;
            self.pass_programs += window.programs;
        }
        if self.passes().is_none() {
            (self.pass_host_pages, self.pass_programs) = (0, 0);
        }
        self.window_host_pages = 0;
    }

    pub fn finish(mut self, steady: bool, before: Snapshot, seconds: f64) -> Result<RunOutcome<P>, RunError> {
        let measured = self.series(Phase::Measure);
        let draws = self.tenants.iter_mut().map(|tenant| tenant.source.final_draw());
        let draw = draws.reduce(|draw, next| draw.rotate_left(7) ^ next).expect("a run has a tenant");
        let outcome = |tenant: &Tenant| TenantOutcome {
            sent: tenant.sent,
            trace_passes: tenant.source.passes(),
            skipped_lines: tenant.source.skipped(),
            first_pass: tenant.source.first_pass(),
        };
        let timing = self.dispatcher.take().map(RequestDispatcher::finish).transpose()?;
        let top = self.tenants.iter().find_map(|tenant| tenant.source.report());
        Ok(RunOutcome {
            measured,
            timing,
            top,
            start: Snapshot::default(),
            before,
            steady,
            unwritten_pages: self.run_length.unwritten_pages(),
            tenants: self.tenants.iter().map(outcome).collect(),
            end_of_life: self.end_of_life,
            final_draw: self.stack.final_draw() ^ draw.rotate_left(32),
            stack: self.stack,
            series: self.series,
            seconds,
        })
    }
}

/// Converts drive writes to pages.
fn pages_of(drive_writes: f64, logical_pages: u64) -> u64 {
    (drive_writes * logical_pages as f64).round() as u64
}
