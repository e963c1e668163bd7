//! Who writes: each tenant with its source of operations, and whose turn it is.

use super::build::Stack;
use super::parts::MakeWorkload;
use super::run::RunError;
use super::scenario::{Scenario, TenantConfig, TraceConfig};
use super::source::{Dressed, Scheduled, Source, TraceReplay, Wants};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_engine::layer::Payload;
use wearwell_workload::{ArrivalConfig, Arrivals, ContentConfig, WorkloadConfig};

/// A tenant of a run; the only one where the scenario has `workload` or `trace`.
pub(super) struct Tenant {
    pub source: Box<dyn Source>,
    /// Pages of its own.
    pub logical_pages: u32,
    /// What draws the random overwrites before its workload begins.
    pub overwrite: Seed,
    /// What it sent into the stack since the drive was new.
    pub sent: Traffic,
    /// Pages written by then, when the workloads began.
    begun_at: u64,
    rate: f64,
    /// Added to the hints of its writes.
    pub first_hint: u16,
}

/// What was sent, in pages.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub written: u64,
    pub read: u64,
    pub trimmed: u64,
}

impl Tenant {
    /// Preconditioning is over.
    pub fn begin(&mut self) {
        self.begun_at = self.sent.written;
    }

    /// Whether the workload has written as many pages as its space has.
    pub fn has_overwritten(&self) -> bool {
        self.sent.written - self.begun_at >= u64::from(self.logical_pages)
    }

    /// Pages written by the workload over the rate.
    fn served(&self) -> f64 {
        (self.sent.written - self.begun_at) as f64 / self.rate
    }
}

/// The tenant that is furthest behind its rate, the first of several.
///
/// It depends on what was written before and not on how that was cut into batches. Turns are of one request, so that
/// no tenant is ever ahead of its rate by more than its longest request.
pub(super) fn next(tenants: &[Tenant]) -> usize {
    let served = tenants.iter().map(Tenant::served).enumerate();
    served.min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("a run has a tenant").0
}

/// The seed, the workload and the key of the workload of tenant `at`.
pub(super) fn workload_of(scenario: &Scenario, at: usize) -> (String, Seed, Option<&WorkloadConfig>) {
    let seed = Seed(scenario.seed);
    match scenario.tenant.get(at) {
        Some(tenant) => {
            (format!("tenant[{at}].workload"), seed.of(&component(tenant)), tenant.workload.as_ref())
        }
        None => ("workload".into(), seed.of("workload"), scenario.workload.as_ref()),
    }
}

fn component(tenant: &TenantConfig) -> String {
    format!("tenant {}", tenant.name.as_deref().unwrap_or_default())
}

fn trace_of(scenario: &Scenario, at: usize) -> Option<&TraceConfig> {
    scenario.tenant.get(at).map_or(scenario.trace.as_ref(), |tenant| tenant.trace.as_ref())
}

/// What the pages of tenant `at` hold, and the key that says so.
fn content_of(scenario: &Scenario, at: usize) -> (String, Option<&ContentConfig>) {
    match scenario.tenant.get(at) {
        Some(tenant) => (format!("tenant[{at}].content"), tenant.content.as_ref()),
        None => ("content".into(), scenario.content.as_ref()),
    }
}

/// The tenants of a run, which tell what it wants to know; `own` makes the workload of the only one.
pub(super) fn build<P: Payload>(
    scenario: &Scenario,
    stack: &Stack<P>,
    mut own: Option<MakeWorkload>,
    wants: &Wants,
) -> Result<Vec<Tenant>, RunError> {
    let tenant = |(at, logical_pages)| {
        let source = build_source(scenario, at, own.take(), (logical_pages, stack.page_bytes), wants)?;
        let overwrite = match scenario.tenant.get(at) {
            Some(tenant) => Seed(scenario.seed).of(&component(tenant)).of("overwrite"),
            None => Seed(scenario.seed).of("overwrite"),
        };
        let rate = scenario.tenant.get(at).map_or(1.0, |tenant| tenant.rate);
        let first_hint = scenario.tenant.get(at).and_then(|tenant| tenant.first_hint).unwrap_or(0);
        Ok(Tenant {
            source,
            logical_pages,
            overwrite,
            sent: Traffic::default(),
            begun_at: 0,
            rate,
            first_hint,
        })
    };
    stack.entrances.iter().map(|entrance| entrance.layer.logical_pages()).enumerate().map(tenant).collect()
}

fn build_source(
    scenario: &Scenario,
    at: usize,
    own: Option<MakeWorkload>,
    (logical_pages, page_bytes): (u32, u32),
    wants: &Wants,
) -> Result<Box<dyn Source>, RunError> {
    let (key, seed, workload) = workload_of(scenario, at);
    let (content_key, content) = content_of(scenario, at);
    let content = content.filter(|_| wants.contents);
    let mut source: Box<dyn Source> = match (own, workload, trace_of(scenario, at)) {
        (Some(make), _, _) => Box::new(make(logical_pages)),
        (None, Some(workload), None) => {
            Box::new(workload.build(logical_pages, seed).map_err(|error| error.within(&key))?)
        }
        (None, None, Some(trace)) => {
            // Generated contents stand for those of the trace.
            let wants = Wants { contents: wants.contents && content.is_none(), ..wants.clone() };
            Box::new(TraceReplay::new(trace, logical_pages, page_bytes, &wants)?)
        }
        _ => unreachable!("checked before the stack was built"),
    };
    if let Some(content) = content {
        let contents = content.build(logical_pages, seed).map_err(|error| error.within(&content_key))?;
        source = Box::new(Dressed::new(source, contents));
    }
    match wants.time.as_ref().and_then(|clock| clock.arrivals.as_ref()) {
        Some(arrivals) if source.passes().is_none() => {
            let rate = scenario.tenant.get(at).map_or(1.0, |tenant| tenant.rate);
            let requests_per_second = arrivals.requests_per_second * rate;
            let arrivals = ArrivalConfig { requests_per_second, ..arrivals.clone() };
            let arrivals = Arrivals::new(&arrivals, seed).map_err(|error| error.within("timing.requests"))?;
            Ok(Box::new(Scheduled::new(source, arrivals)))
        }
        _ => Ok(source),
    }
}

/// Whether any of them replays a trace.
pub(super) fn have_trace(scenario: &Scenario) -> bool {
    scenario.trace.is_some() || scenario.tenant.iter().any(|tenant| tenant.trace.is_some())
}

/// Whether any of them makes its own requests.
pub(super) fn have_workload(scenario: &Scenario) -> bool {
    scenario.workload.is_some() || scenario.tenant.iter().any(|tenant| tenant.workload.is_some())
}

/// Builds every workload without running it.
pub(super) fn check_workloads<P: Payload>(scenario: &Scenario, stack: &Stack<P>) -> Result<(), ConfigError> {
    for (at, entrance) in stack.entrances.iter().enumerate() {
        let (key, seed, workload) = workload_of(scenario, at);
        if let Some(workload) = workload {
            workload.build(entrance.layer.logical_pages(), seed).map_err(|error| error.within(&key))?;
        }
        let (key, content) = content_of(scenario, at);
        if let Some(content) = content {
            content.check().map_err(|error| error.within(&key))?;
        }
    }
    Ok(())
}

/// Refuses a scenario in which nobody writes, or two where one should.
pub fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    let given = (scenario.workload.is_some(), scenario.trace.is_some());
    if scenario.top.is_some() {
        return check_alone(scenario, given);
    }
    if scenario.tenant.is_empty() {
        return one_source(given, "", "; or several `[[tenant]]`");
    }
    if given != (false, false) || scenario.content.is_some() {
        let other = if given.0 {
            "workload"
        } else if given.1 {
            "trace"
        } else {
            "content"
        };
        return Err(ConfigError::new(other, "stands beside `tenant`; put it into a tenant of its own"));
    }
    for (at, tenant) in scenario.tenant.iter().enumerate() {
        let key = format!("tenant[{at}]");
        one_source((tenant.workload.is_some(), tenant.trace.is_some()), &format!("{key}."), "")?;
        if !(tenant.rate > 0.0 && tenant.rate.is_finite()) {
            let problem = format!("is {}; it must be a number above 0", tenant.rate);
            return Err(ConfigError::new(format!("{key}.rate"), problem));
        }
        if tenant.workload.as_ref().is_some_and(|workload| workload.written_per_request() <= 0.0) {
            let problem = "writes nothing; rates are of pages written, so it must write";
            return Err(ConfigError::new(format!("{key}.workload"), problem));
        }
    }
    Ok(())
}

/// Refuses whatever writes beside `top`.
fn check_alone(scenario: &Scenario, (workload, trace): (bool, bool)) -> Result<(), ConfigError> {
    let others = [
        ("workload", workload),
        ("trace", trace),
        ("tenant", !scenario.tenant.is_empty()),
        ("content", scenario.content.is_some()),
    ];
    match others.into_iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(ConfigError::new(key, "stands beside `top`, which does the writing")),
        None => Ok(()),
    }
}

fn one_source((workload, trace): (bool, bool), prefix: &str, or: &str) -> Result<(), ConfigError> {
    let refuse = |problem: String| Err(ConfigError::new(format!("{prefix}workload"), problem));
    match (workload, trace) {
        (true, true) => refuse("stands beside `trace`; give one of them".into()),
        (false, false) => refuse(format!("is missing; give it, or `trace`{or}")),
        _ => Ok(()),
    }
}
