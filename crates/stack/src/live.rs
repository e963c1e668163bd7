//! A stack without a workload of its own: its owner writes to it at will, and its result has the form of a run's result.

use crate::build::{Noted, Stack, build_resolved};
use crate::kept::KeptPlan;
use crate::layers::{Feature, OwnPolicies};
use crate::report;
use crate::report::{About, Look, RunResult};
use crate::run::finished::{Finished, TenantOutcome};
use crate::run::live_clock::LiveClock;
use crate::run::series::Series;
use crate::run::snapshot::Snapshot;
use crate::run::traffic::Traffic;
use crate::run::{Phase, RunError, steady};
use crate::scenario::Scenario;
use crate::scenario::resolve::{Caller, ResolvedScenario, resolve};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_engine::forms::KeptMedium;
use wearwell_engine::layer::{Content, Layer, LayerError, LayerExt, Reports, ZoneState};
use wearwell_engine::timing::Journal;

/// A stack without a workload: its owner writes, reads and trims pages and names their contents.
///
/// Only the stack of the scenario matters: workloads, times and measuring are ignored. The drive is new.
pub struct Live {
    resolved: ResolvedScenario,
    stack: Stack<Content>,
    about: Arc<About>,
    /// Snapshot of the new drive.
    new: Arc<Snapshot>,
    series: Series,
    sent: Traffic,
    window_pages: u64,
    /// Host pages written by the end of the last window.
    windowed: u64,
    end_of_life: Option<LayerError>,
    pages: Vec<Lpn>,
    began: Instant,
    /// Clock of the drive's operations, in timed mode.
    clock: Option<LiveClock>,
}

impl Live {
    /// Builds the stack of `scenario` and fills in every default. A zoned drive without a log has to be written as [`Live::zone`] says.
    ///
    /// # Errors
    /// A scenario that cannot be built, or whose stack may lose written data.
    pub fn new(scenario: &Scenario) -> Result<Self, ConfigError> {
        Live::build(resolved(scenario, false)?, None)
    }

    /// Builds a stack like [`Live::new`], with a clock that [`Live::start_clock`] starts. Operations take the times given by `timing` of
    /// the scenario, or else by the device's preset.
    ///
    /// # Errors
    /// As [`Live::new`]; times that are missing.
    pub fn timed(scenario: &Scenario) -> Result<Self, ConfigError> {
        Live::build(resolved(scenario, true)?, None)
    }

    /// Builds a stack like [`Live::new`], on flash that is stored outside of the simulation: a new drive, or one that recovers from that
    /// flash. If recovery fails, `medium` receives the reason.
    ///
    /// # Errors
    /// As [`Live::new`]; a scenario with a [`refusal`](KeptPlan::refusal), and flash that was not written by such a drive.
    pub fn on(scenario: &Scenario, medium: Arc<dyn KeptMedium>) -> Result<Self, ConfigError> {
        Live::build(resolved(scenario, false)?, Some(medium))
    }

    /// Returns the properties of the drive of `scenario` that are needed to store its flash outside of the simulation.
    ///
    /// # Errors
    /// As [`Live::new`].
    pub fn kept_plan(scenario: &Scenario) -> Result<KeptPlan, ConfigError> {
        Ok(KeptPlan::of(&resolved(scenario, false)?))
    }

    fn build(resolved: ResolvedScenario, kept: Option<Arc<dyn KeptMedium>>) -> Result<Self, ConfigError> {
        let refusal = KeptPlan::of(&resolved).refusal.filter(|_| kept.is_some());
        if let Some(refusal) = refusal {
            return Err(ConfigError::new("ftl", format!("does not come back from its flash: {refusal}")));
        }
        let journal = resolved.timing.is_some().then(Journal::default);
        let noted = Noted { journal: journal.clone(), kept, ..Noted::default() };
        let stack = build_resolved::<Content>(&resolved, OwnPolicies::default(), noted)?;
        let clock = resolved.timing.clone().zip(journal);
        let clock = clock.map(|(timing, journal)| LiveClock::new(timing, journal)).transpose()?;
        let window = resolved.scenario.measure.window * stack.logical_pages() as f64;
        let new = Snapshot::take(&stack);
        Ok(Live {
            series: Series::begin(new.clone()),
            about: Arc::new(About::of(&stack, &resolved.scenario)),
            new: Arc::new(new),
            sent: Traffic::default(),
            window_pages: (window.round() as u64).max(1),
            windowed: 0,
            end_of_life: None,
            pages: Vec::new(),
            began: Instant::now(),
            clock,
            resolved,
            stack,
        })
    }

    /// Returns the scenario with every default filled in.
    pub fn scenario(&self) -> &Scenario {
        &self.resolved.scenario
    }

    /// Returns the number of pages that can be written.
    pub fn logical_pages(&self) -> u32 {
        self.stack.targets[0].layer.logical_pages()
    }

    /// Returns the bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.stack.page_bytes
    }

    /// Returns the names of the layers in the order of their reports, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.stack.names()
    }

    /// Returns the reports of the layers and the flash up to now.
    pub fn reports(&self) -> Reports {
        self.stack.describe()
    }

    /// Returns a snapshot of the stack, from which results can be computed.
    pub fn look(&self) -> Look {
        Look::new(self.about.clone(), self.new.clone(), Snapshot::take(&self.stack))
    }

    /// True if equal contents are stored once, so that equal names must mean equal bytes.
    pub fn shares_contents(&self) -> bool {
        self.resolved.scenario.holds_content()
    }

    /// Returns the reason why the drive accepts no more writes, if it has reached its end of life.
    pub fn end_of_life(&self) -> Option<&LayerError> {
        self.end_of_life.as_ref()
    }

    /// Recomputes all counts and compares them; an error is a defect of Wearwell.
    pub fn check(&self) -> Result<(), String> {
        self.stack.check()
    }

    /// Returns the number of stream hints, from 0 on, that the topmost layer keeps apart: its placement handles. 0 if it ignores hints.
    pub fn placement_handles(&self) -> u16 {
        let ResolvedScenario { tree, layers, ftl, .. } = &self.resolved;
        layers.get(tree.tenants[0].on).map_or(ftl.handles, |layer| layer.handles).into()
    }

    /// Returns the state of the zone of a page; `None` unless the drive is a zoned drive without a log.
    pub fn zone(&self, page: u32) -> Option<ZoneState> {
        self.stack.targets[0].layer.zone(Lpn(page))
    }

    /// Finishes the zone of a page: it accepts no more writes until it is reset. Returns false if the page has no zone.
    ///
    /// # Errors
    /// A zone that is offline.
    pub fn finish_zone(&mut self, page: u32) -> Result<bool, LayerError> {
        self.stack.targets[0].layer.finish_zone(Lpn(page))
    }

    /// Writes `contents` to pages from `first` on, as one request; `hint` is the stream hint, 0 for none.
    ///
    /// # Errors
    /// Pages outside the drive; a drive at its end of life; a zone that cannot be written there, or only in part.
    pub fn write(&mut self, first: u32, contents: &[Content], hint: u16) -> Result<(), LayerError> {
        if let Some(error) = &self.end_of_life {
            return Err(error.clone());
        }
        self.name(first..first + contents.len() as u32);
        let before = self.sent.written;
        let written = self.on_clock(Op::Write, |layer, pages| layer.write(pages, contents, hint));
        if let Err(error) = written {
            if error.is_end_of_life() {
                self.sent.written = Snapshot::take(&self.stack).host_pages();
                // The other zones of a zoned drive remain usable.
                self.end_of_life = self.zone(first).is_none().then(|| error.clone());
            }
            return Err(error);
        }
        self.sent.written = before + contents.len() as u64;
        if self.sent.written - self.windowed >= self.window_pages {
            self.end_window();
        }
        Ok(())
    }

    /// Reads pages and appends their contents to `out`; a page never written holds [`Content::UNKNOWN`].
    ///
    /// # Errors
    /// Pages outside the drive.
    pub fn read(&mut self, pages: Range<u32>, out: &mut Vec<Content>) -> Result<(), LayerError> {
        self.name(pages);
        self.on_clock(Op::Read, |layer, pages| layer.read(pages, out))?;
        self.sent.read += self.pages.len() as u64;
        Ok(())
    }

    /// Discards pages.
    ///
    /// # Errors
    /// Pages outside the drive, and a drive at its end of life.
    pub fn trim(&mut self, pages: Range<u32>) -> Result<(), LayerError> {
        self.name(pages);
        self.on_clock(Op::Trim, |layer, pages| layer.trim(pages))?;
        self.sent.trimmed += self.pages.len() as u64;
        Ok(())
    }

    /// Makes everything written so far survive a power cut of the simulated drive.
    ///
    /// # Errors
    /// A drive at its end of life.
    pub fn flush(&mut self) -> Result<(), LayerError> {
        self.pages.clear();
        self.on_clock(Op::Flush, |layer, _| layer.flush())
    }

    /// Runs `work` on the named pages; in timed mode, as a request on the clock.
    fn on_clock<T>(
        &mut self,
        op: Op,
        work: impl FnOnce(&mut dyn Layer<Content>, &[Lpn]) -> Result<T, LayerError>,
    ) -> Result<T, LayerError> {
        let pages = self.pages.len() as u32;
        if let Some(clock) = &mut self.clock {
            clock.take(op, pages);
        }
        let done = work(&mut *self.stack.targets[0].layer, &self.pages);
        if let Some(clock) = &mut self.clock {
            clock.serve(op, pages);
        }
        done
    }

    /// Starts the clock, if the stack has one: requests take time from now on.
    pub fn start_clock(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.start();
        }
    }

    /// Sets the time of the clock, ns since its start: requests that follow arrive at that time.
    pub fn set_now(&mut self, now_ns: u64) {
        if let Some(clock) = &mut self.clock {
            clock.set_now(now_ns);
        }
    }

    /// Returns the number of the next request of a stack with a clock.
    pub fn next_number(&self) -> Option<u64> {
        self.clock.as_ref().map(LiveClock::next_number)
    }

    /// Appends to `ended` the numbers of requests whose end became known since the last call, with their end times, ns; a time may lie in
    /// the future. Returns the time at which more may be known, if requests are in flight.
    pub fn settle(&mut self, ended: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.clock.as_mut().and_then(|clock| clock.settle(ended))
    }

    /// True if a layer depends on the boundaries of requests.
    pub fn wants_requests(&self) -> bool {
        self.stack.targets[0].layer.wants_requests()
    }

    fn name(&mut self, pages: Range<u32>) {
        self.pages.clear();
        self.pages.extend(pages.map(Lpn));
    }

    fn end_window(&mut self) {
        let (host_pages, now) = (self.sent.written, Snapshot::take(&self.stack));
        let pages = (host_pages, host_pages - self.windowed);
        self.series.end_window(Phase::Measure, pages, now);
        self.windowed = host_pages;
    }

    /// Returns the result of everything done since the drive was new, in the form of a run's result.
    ///
    /// # Errors
    /// Counts that do not add up, which is a defect of Wearwell.
    pub fn result(mut self) -> Result<RunResult, RunError> {
        if self.sent.written > self.windowed {
            self.end_window();
        }
        let measured = self.series.of_phase(Phase::Measure);
        let finished = Finished {
            steady: steady::is_steady(&measured, self.resolved.scenario.measure.tolerance),
            before: Arc::unwrap_or_clone(self.new),
            series: self.series,
            measured,
            unwritten_pages: None,
            tenants: vec![TenantOutcome {
                sent: self.sent,
                trace_passes: None,
                skipped_lines: 0,
                first_pass: None,
            }],
            end_of_life: self.end_of_life,
            final_draw: self.stack.final_draw(),
            timing: self.clock.map(LiveClock::finish).transpose()?,
            top: None,
            seconds: self.began.elapsed().as_secs_f64(),
            stack: self.stack,
        };
        report::result(self.resolved, finished)
    }
}

/// Resolves the live drive of `scenario`, with every default filled in.
fn resolved(scenario: &Scenario, is_timed: bool) -> Result<ResolvedScenario, ConfigError> {
    let mut scenario = scenario.clone();
    refuse(&scenario)?;
    (scenario.workload, scenario.trace, scenario.content) = (None, None, None);
    scenario.top = None;
    scenario.timing = is_timed.then(|| scenario.timing.unwrap_or_default());
    if let Some(timing) = &mut scenario.timing {
        (timing.arrivals, timing.requests, timing.speed_up) = (None, None, None);
    }
    for tenant in &mut scenario.tenant {
        (tenant.workload, tenant.trace, tenant.content) = (None, None, None);
    }
    let resolved = resolve(scenario, Caller { holds_data: true, knows_zones: true, ..Caller::default() })?;
    refuse_resolved(&resolved)?;
    Ok(resolved)
}

/// Refuses a scenario that is not a stack for one user that holds data.
fn refuse(scenario: &Scenario) -> Result<(), ConfigError> {
    let given = [
        (
            "tenant",
            scenario.tenant.len() > 1,
            "a live drive has one user; give the scenario one tenant or none",
        ),
        (
            "power",
            scenario.power.is_some(),
            "cuts the power of a run, after so many writes of it; a live drive has no such plan",
        ),
    ];
    match given.into_iter().find(|(_, given, _)| *given) {
        Some((key, _, why)) => Err(ConfigError::new(key, why)),
        None => Ok(()),
    }
}

/// Refuses layers that may lose written data.
fn refuse_resolved(resolved: &ResolvedScenario) -> Result<(), ConfigError> {
    let ftl = &resolved.ftl.features;
    let features = resolved.layers.iter().map(|plan| &plan.features).chain([ftl]);
    if let Some((layer, _)) = resolved.tree.layers.iter().zip(features).find(|(_, of)| of.has(Feature::Evict))
    {
        let why = "drops pages that cleaning would have to move, and who uses a live drive wants them back";
        return Err(ConfigError::new(format!("{}.evict", layer.key), why));
    }
    if ftl.has(Feature::Unverified) {
        let why = "corrupts pages whose fingerprints of so few bits agree; use 64, or `verify`";
        return Err(ConfigError::new("ftl.dedup.index.fingerprint_bits", why));
    }
    Ok(())
}
