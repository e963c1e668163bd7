//! A stack without a workload: the calling program writes to it at any time, and its result has the form of a run's
//! result.

use crate::build::{BuildContext, Stack, build_resolved};
use crate::layers::{CustomPolicies, Feature};
use crate::report;
use crate::report::{RunResult, StackDescription, StackSnapshot};
use crate::run::finished::{RunOutcome, TenantOutcome};
use crate::run::live_clock::LiveClock;
use crate::run::series::Series;
use crate::run::snapshot::Snapshot;
use crate::run::traffic::Traffic;
use crate::run::{Phase, RunError, steady};
use crate::scenario::Scenario;
use crate::scenario::resolve::{CallerFeatures, ResolvedScenario, resolve};
use crate::stored_flash::StoredFlashPlan;
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_base::request::Op;
use wearwell_base::units::Lpn;
use wearwell_engine::instances::StoredMedium;
use wearwell_engine::layer::{ContentId, Layer, LayerError, LayerExt, ZoneState};
use wearwell_engine::timing::Journal;

/// A stack without a workload: the calling program writes, reads and trims pages and names their contents.
///
/// Only the stack of the scenario matters: workloads, times and measuring are ignored. The drive is new.
pub struct LiveStack {
    resolved: ResolvedScenario,
    stack: Stack<ContentId>,
    description: Arc<StackDescription>,
    /// Snapshot of the new drive, or of the drive that has just recovered.
    initial: Arc<Snapshot>,
    series: Series,
    traffic: Traffic,
    window_pages: u64,
    /// Host pages written by the end of the last window.
    windowed_pages: u64,
    end_of_life: Option<LayerError>,
    pages: Vec<Lpn>,
    start: Instant,
    /// Clock of the drive's operations, in timed mode.
    clock: Option<LiveClock>,
}

impl LiveStack {
    /// Builds the stack of `scenario` and fills in every default. A zoned drive without a log has to be written as
    /// [`LiveStack::zone`] requires.
    ///
    /// # Errors
    /// Returns an error for a scenario that cannot be built, or whose stack may lose written data.
    pub fn new(scenario: &Scenario) -> Result<Self, ConfigError> {
        LiveStack::build(resolve_live(scenario, false)?, None)
    }

    /// Builds a stack like [`LiveStack::new`], with a clock that [`LiveStack::start_clock`] starts. The durations of
    /// operations come from `timing` of the scenario, or else from the device's preset.
    ///
    /// # Errors
    /// Fails as [`LiveStack::new`] does, and if the duration of an operation is missing.
    pub fn timed(scenario: &Scenario) -> Result<Self, ConfigError> {
        LiveStack::build(resolve_live(scenario, true)?, None)
    }

    /// Builds a stack like [`LiveStack::new`], on flash that is stored outside of the simulation: a new drive, or one
    /// that recovers from that flash. If recovery fails, `medium` receives the reason.
    ///
    /// # Errors
    /// Fails as [`LiveStack::new`] does, for a scenario with a
    /// [`no_recovery_reason`](StoredFlashPlan::no_recovery_reason), and for flash that was not written by such a drive.
    pub fn on_stored_flash(scenario: &Scenario, medium: Arc<dyn StoredMedium>) -> Result<Self, ConfigError> {
        LiveStack::build(resolve_live(scenario, false)?, Some(medium))
    }

    /// Returns the properties of the drive of `scenario` that are needed to store its flash outside of the simulation.
    ///
    /// # Errors
    /// Fails as [`LiveStack::new`] does.
    pub fn stored_flash_plan(scenario: &Scenario) -> Result<StoredFlashPlan, ConfigError> {
        Ok(StoredFlashPlan::of(&resolve_live(scenario, false)?))
    }

    fn build(
        resolved: ResolvedScenario,
        stored_flash: Option<Arc<dyn StoredMedium>>,
    ) -> Result<Self, ConfigError> {
        let refusal = StoredFlashPlan::of(&resolved).no_recovery_reason.filter(|_| stored_flash.is_some());
        if let Some(refusal) = refusal {
            return Err(ConfigError::new("ftl", format!("cannot be recovered from its flash: {refusal}")));
        }
        let journal = resolved.timing.is_some().then(Journal::default);
        let context = BuildContext { journal: journal.clone(), stored_flash, ..BuildContext::default() };
        let stack = build_resolved::<ContentId>(&resolved, CustomPolicies::default(), context)?;
        let clock = resolved.timing.clone().zip(journal);
        let clock = clock.map(|(timing, journal)| LiveClock::new(timing, journal)).transpose()?;
        let window = resolved.scenario.measure.window * stack.logical_pages() as f64;
        let initial = Snapshot::take(&stack);
        Ok(LiveStack {
            series: Series::begin(initial.clone()),
            description: Arc::new(StackDescription::of(&stack, &resolved.scenario)),
            initial: Arc::new(initial),
            traffic: Traffic::default(),
            window_pages: (window.round() as u64).max(1),
            windowed_pages: 0,
            end_of_life: None,
            pages: Vec::new(),
            start: Instant::now(),
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

    /// Returns a snapshot of the stack, from which results can be computed.
    pub fn snapshot(&self) -> StackSnapshot {
        StackSnapshot::new(self.description.clone(), self.initial.clone(), Snapshot::take(&self.stack))
    }

    /// True if equal contents are stored once, so that equal content names must mean equal bytes.
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

    /// Returns the number of stream hints, from 0 on, that the topmost layer distinguishes: its placement handles. 0 if
    /// the layer ignores hints.
    pub fn placement_handles(&self) -> u16 {
        let ResolvedScenario { tree, layers, ftl, .. } = &self.resolved;
        layers
            .get(tree.tenants[0].layer_index)
            .map_or(ftl.placement_handles, |layer| layer.placement_handles)
            .into()
    }

    /// Returns the state of the zone of a page; `None` unless the drive is a zoned drive without a log.
    pub fn zone(&self, page: u32) -> Option<ZoneState> {
        self.stack.targets[0].layer.zone(Lpn(page))
    }

    /// Finishes the zone of a page: it accepts no more writes until it is reset. Returns false if the page has no zone.
    ///
    /// # Errors
    /// Returns an error for a zone that is offline.
    pub fn finish_zone(&mut self, page: u32) -> Result<bool, LayerError> {
        self.stack.targets[0].layer.finish_zone(Lpn(page))
    }

    /// Writes `contents` to pages from `first` on, as one request; `hint` is the stream hint, 0 for none.
    ///
    /// # Errors
    /// Returns an error for pages outside the drive, for a drive at its end of life, and for a zone that cannot be
    /// written at these pages, or only in part.
    pub fn write(&mut self, first: u32, contents: &[ContentId], hint: u16) -> Result<(), LayerError> {
        if let Some(error) = &self.end_of_life {
            return Err(error.clone());
        }
        self.select_pages(first..first + contents.len() as u32);
        let written_before = self.traffic.written;
        let written = self.run_request(Op::Write, |layer, pages| layer.write(pages, contents, hint));
        if let Err(error) = written {
            if error.is_end_of_life() {
                self.traffic.written = Snapshot::take(&self.stack).host_pages() - self.initial.host_pages();
                // The other zones of a zoned drive remain usable.
                self.end_of_life = self.zone(first).is_none().then(|| error.clone());
            }
            return Err(error);
        }
        self.traffic.written = written_before + contents.len() as u64;
        if self.traffic.written - self.windowed_pages >= self.window_pages {
            self.end_window();
        }
        Ok(())
    }

    /// Reads pages and appends their contents to `out`; a page never written holds [`ContentId::UNKNOWN`].
    ///
    /// # Errors
    /// Returns an error for pages outside the drive.
    pub fn read(&mut self, pages: Range<u32>, out: &mut Vec<ContentId>) -> Result<(), LayerError> {
        self.select_pages(pages);
        self.run_request(Op::Read, |layer, pages| layer.read(pages, out))?;
        self.traffic.read += self.pages.len() as u64;
        Ok(())
    }

    /// Discards pages.
    ///
    /// # Errors
    /// Returns an error for pages outside the drive, and for a drive at its end of life.
    pub fn trim(&mut self, pages: Range<u32>) -> Result<(), LayerError> {
        self.select_pages(pages);
        self.run_request(Op::Trim, |layer, pages| layer.trim(pages))?;
        self.traffic.trimmed += self.pages.len() as u64;
        Ok(())
    }

    /// Makes everything written so far survive a power cut of the simulated drive.
    ///
    /// # Errors
    /// Returns an error for a drive at its end of life.
    pub fn flush(&mut self) -> Result<(), LayerError> {
        self.pages.clear();
        self.run_request(Op::Flush, |layer, _| layer.flush())
    }

    /// Runs `work` on the selected pages; in timed mode, as a request on the clock.
    fn run_request<T>(
        &mut self,
        op: Op,
        work: impl FnOnce(&mut dyn Layer<ContentId>, &[Lpn]) -> Result<T, LayerError>,
    ) -> Result<T, LayerError> {
        let pages = self.pages.len() as u32;
        if let Some(clock) = &mut self.clock {
            clock.dispatch(op, pages);
        }
        let outcome = work(&mut *self.stack.targets[0].layer, &self.pages);
        if let Some(clock) = &mut self.clock {
            clock.complete(op, pages);
        }
        outcome
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

    /// Appends to `completed` the numbers of requests whose end became known since the last call, with their end times,
    /// ns; a time may lie in the future. Returns the time at which further ends may be known, if requests are in
    /// flight.
    pub fn collect_completed(&mut self, completed: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.clock.as_mut().and_then(|clock| clock.collect_completed(completed))
    }

    /// True if a layer depends on the boundaries of requests.
    pub fn wants_requests(&self) -> bool {
        self.stack.targets[0].layer.needs_whole_requests()
    }

    fn select_pages(&mut self, pages: Range<u32>) {
        self.pages.clear();
        self.pages.extend(pages.map(Lpn));
    }

    fn end_window(&mut self) {
        let (host_pages, now) = (self.traffic.written, Snapshot::take(&self.stack));
        let host_and_window_pages = (host_pages, host_pages - self.windowed_pages);
        self.series.end_window(Phase::Measure, host_and_window_pages, now);
        self.windowed_pages = host_pages;
    }

    /// Returns the result of everything done since the drive was new or recovered, in the form of a run's result.
    ///
    /// # Errors
    /// Returns an error if counts do not add up, which is a defect of Wearwell.
    pub fn result(mut self) -> Result<RunResult, RunError> {
        if self.traffic.written > self.windowed_pages {
            self.end_window();
        }
        let measured = self.series.of_phase(Phase::Measure);
        let initial = Arc::unwrap_or_clone(self.initial);
        let finished = RunOutcome {
            steady: steady::is_steady(&measured, self.resolved.scenario.measure.tolerance),
            start: initial.clone(),
            before: initial,
            series: self.series,
            measured,
            unwritten_pages: None,
            tenants: vec![TenantOutcome {
                sent: self.traffic,
                trace_passes: None,
                skipped_lines: 0,
                first_pass: None,
            }],
            end_of_life: self.end_of_life,
            final_draw: self.stack.final_draw(),
            timing: self.clock.map(LiveClock::finish).transpose()?,
            top: None,
            seconds: self.start.elapsed().as_secs_f64(),
            stack: self.stack,
        };
        report::result(self.resolved, finished)
    }
}

/// Resolves the live drive of `scenario`, with every default filled in.
fn resolve_live(scenario: &Scenario, is_timed: bool) -> Result<ResolvedScenario, ConfigError> {
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
    let resolved = resolve(
        scenario,
        CallerFeatures { holds_data: true, knows_zones: true, ..CallerFeatures::default() },
    )?;
    refuse_resolved(&resolved)?;
    Ok(resolved)
}

/// Refuses a scenario with several tenants or with power cuts, which a live drive does not support.
fn refuse(scenario: &Scenario) -> Result<(), ConfigError> {
    let unsupported = [
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
    match unsupported.into_iter().find(|(_, given, _)| *given) {
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
        let problem =
            "drops pages that cleaning would have to move, and who uses a live drive wants them back";
        return Err(ConfigError::new(format!("{}.evict", layer.key), problem));
    }
    if ftl.has(Feature::Unverified) {
        let problem = "corrupts pages whose fingerprints of so few bits agree; use 64, or `verify`";
        return Err(ConfigError::new("ftl.dedup.index.fingerprint_bits", problem));
    }
    Ok(())
}
