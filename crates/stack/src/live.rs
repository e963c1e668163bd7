//! A stack that its user writes to as it likes, for as long as it likes, and whose result is that of a run.

use crate::build::{Noted, Stack, build_resolved};
use crate::kept::KeptPlan;
use crate::layers::OwnPolicies;
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

/// A stack without a workload: whoever holds it writes, reads and trims, and says what pages hold, by name.
///
/// Of its scenario only the stack matters. What it says of workloads, times and measuring does not; the drive is new.
pub struct Live {
    resolved: ResolvedScenario,
    stack: Stack<Content>,
    about: Arc<About>,
    /// When the drive was new.
    new: Arc<Snapshot>,
    series: Series,
    sent: Traffic,
    window_pages: u64,
    /// Host pages written by the end of the last window.
    windowed: u64,
    end_of_life: Option<LayerError>,
    pages: Vec<Lpn>,
    began: Instant,
    /// How long the drive would take, if that is wanted.
    clock: Option<LiveClock>,
}

impl Live {
    /// The stack of `scenario`, whose every default is filled in. A zoned drive without a log has to be written as [`Live::zone`] says.
    ///
    /// # Errors
    /// A scenario that cannot be built, or that is none for a stack that keeps what is written to it.
    pub fn new(scenario: &Scenario) -> Result<Self, ConfigError> {
        Live::build(resolved(scenario, false)?, None)
    }

    /// The same with a clock, which begins with [`Live::start_clock`]: the drive then takes as long for everything as `timing` of the
    /// scenario says, or the device's preset if it says nothing.
    ///
    /// # Errors
    /// As [`Live::new`]; times that are missing.
    pub fn timed(scenario: &Scenario) -> Result<Self, ConfigError> {
        Live::build(resolved(scenario, true)?, None)
    }

    /// The same as [`Live::new`] on flash that is kept outside of the simulation: a new drive, or the one that comes back from it. Why one
    /// does not come back is told to `medium`.
    ///
    /// # Errors
    /// As [`Live::new`]; a scenario with a [`refusal`](KeptPlan::refusal), and flash that no such drive left.
    pub fn on(scenario: &Scenario, medium: Arc<dyn KeptMedium>) -> Result<Self, ConfigError> {
        Live::build(resolved(scenario, false)?, Some(medium))
    }

    /// What has to be known of the drive of `scenario` to keep its flash outside of the simulation.
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

    /// The scenario with every default filled in.
    pub fn scenario(&self) -> &Scenario {
        &self.resolved.scenario
    }

    /// Pages that can be written.
    pub fn logical_pages(&self) -> u32 {
        self.stack.targets[0].layer.logical_pages()
    }

    /// Bytes of a page.
    pub fn page_bytes(&self) -> u32 {
        self.stack.page_bytes
    }

    /// Names of the layers in the order of their reports, the FTL last.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.stack.names()
    }

    /// What the layers and the flash have done so far.
    pub fn reports(&self) -> Reports {
        self.stack.describe()
    }

    /// A look at what they have done so far.
    pub fn look(&self) -> Look {
        Look::new(self.about.clone(), self.new.clone(), Snapshot::take(&self.stack))
    }

    /// Whether equal contents are stored once, so that a name has to stand for the bytes.
    pub fn shares_contents(&self) -> bool {
        self.resolved.scenario.holds_content()
    }

    /// Why the drive takes no more writes, if it died.
    pub fn end_of_life(&self) -> Option<&LayerError> {
        self.end_of_life.as_ref()
    }

    /// Recounts everything that is counted; an error is a defect of Wearwell.
    pub fn check(&self) -> Result<(), String> {
        self.stack.check()
    }

    /// Stream hints that are kept apart by the layer that is written to, from 0 on: its placement handles. 0 where it looks at none.
    pub fn placement_handles(&self) -> u16 {
        let ResolvedScenario { tree, layers, ftl, .. } = &self.resolved;
        layers.get(tree.tenants[0].on).map_or(ftl.handles, |layer| layer.handles).into()
    }

    /// How the zone of a page is; `None` unless the drive is a zoned one without a log.
    pub fn zone(&self, page: u32) -> Option<ZoneState> {
        self.stack.targets[0].layer.zone(Lpn(page))
    }

    /// Has the zone of a page take no more writes until it is reset; whether it has one.
    ///
    /// # Errors
    /// A zone that is offline.
    pub fn finish_zone(&mut self, page: u32) -> Result<bool, LayerError> {
        self.stack.targets[0].layer.finish_zone(Lpn(page))
    }

    /// One request that writes pages from `first` on, which hold `contents`; with a stream hint, 0 for none.
    ///
    /// # Errors
    /// Pages outside the drive, and a drive that has died; a zone that is not to be written there, or could be written in part.
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
                // Of a zoned drive there are other zones.
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

    /// Reads pages and appends what they hold to `out`; a page never written holds [`Content::UNKNOWN`].
    ///
    /// # Errors
    /// Pages outside the drive.
    pub fn read(&mut self, pages: Range<u32>, out: &mut Vec<Content>) -> Result<(), LayerError> {
        self.name(pages);
        self.on_clock(Op::Read, |layer, pages| layer.read(pages, out))?;
        self.sent.read += self.pages.len() as u64;
        Ok(())
    }

    /// Forgets pages.
    ///
    /// # Errors
    /// Pages outside the drive, and a drive that has died.
    pub fn trim(&mut self, pages: Range<u32>) -> Result<(), LayerError> {
        self.name(pages);
        self.on_clock(Op::Trim, |layer, pages| layer.trim(pages))?;
        self.sent.trimmed += self.pages.len() as u64;
        Ok(())
    }

    /// Makes everything written so far survive a power cut of the simulated drive.
    ///
    /// # Errors
    /// A drive that has died.
    pub fn flush(&mut self) -> Result<(), LayerError> {
        self.pages.clear();
        self.on_clock(Op::Flush, |layer, _| layer.flush())
    }

    /// Has the stack do something with the pages that were named, in the time that it takes.
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

    /// From now on what is asked for takes time, if the stack has a clock.
    pub fn start_clock(&mut self) {
        if let Some(clock) = &mut self.clock {
            clock.start();
        }
    }

    /// The time of the clock, ns since it was started: requests that follow come then.
    pub fn set_now(&mut self, now_ns: u64) {
        if let Some(clock) = &mut self.clock {
            clock.set_now(now_ns);
        }
    }

    /// The number of the request that comes next, of a stack with a clock.
    pub fn next_number(&self) -> Option<u64> {
        self.clock.as_ref().map(LiveClock::next_number)
    }

    /// Appends to `ended` the numbers of requests that are known to end since the last time, and when, ns; that may be later. Gives the time
    /// at which more may be known, if anything is under way.
    pub fn settle(&mut self, ended: &mut Vec<(u64, u64)>) -> Option<u64> {
        self.clock.as_mut().and_then(|clock| clock.settle(ended))
    }

    /// Whether a layer takes each request as one, so that it matters where one ends.
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

    /// The result of all that was done since the drive was new, as a run has it.
    ///
    /// # Errors
    /// What does not add up, which is a defect of Wearwell.
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

/// The live drive of `scenario`, with nothing left open.
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

/// Refuses what is no stack of one user that holds data.
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

/// Refuses layers that may lose what was written.
fn refuse_resolved(resolved: &ResolvedScenario) -> Result<(), ConfigError> {
    let ftl = &resolved.ftl.features;
    let features = resolved.layers.iter().map(|plan| &plan.features).chain([ftl]);
    if let Some((layer, _)) = resolved.tree.layers.iter().zip(features).find(|(_, of)| of.has("evict")) {
        let why = "drops pages that cleaning would have to move, and who uses a live drive wants them back";
        return Err(ConfigError::new(format!("{}.evict", layer.key), why));
    }
    if ftl.has("unverified") {
        let why = "corrupts pages whose fingerprints of so few bits agree; use 64, or `verify`";
        return Err(ConfigError::new("ftl.dedup.index.fingerprint_bits", why));
    }
    Ok(())
}
