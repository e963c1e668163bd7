//! Tenants of a run: each with its source of operations, and the choice of the next tenant.

use super::custom_parts::WorkloadFactory;
use super::error::RunError;
use super::source::{ContentSource, Source, SourceNeeds, TimedSource, TraceReplay};
use super::traffic::Traffic;
use crate::build::{Stack, Target};
use crate::scenario::Scenario;
use crate::scenario::writers::{content_of, seed_name, trace_of, workload_of};
use wearwell_base::seed::Seed;
use wearwell_engine::layer::{LayerExt, Payload};
use wearwell_workload::{ArrivalConfig, Arrivals};

/// A tenant of a run; the only tenant if the scenario has `workload` or `trace`.
pub(crate) struct Tenant {
    pub source: Box<dyn Source>,
    /// Pages of the tenant.
    pub logical_pages: u32,
    /// Seed of the random overwrites before the tenant's workload begins.
    pub overwrite: Seed,
    /// Traffic that the tenant sent into the stack since the drive was new.
    pub sent: Traffic,
    /// Pages written by the tenant when the workloads began.
    workload_start_pages: u64,
    rate: f64,
    /// Number added to the stream hints of the tenant's writes.
    pub first_hint: u16,
}

impl Tenant {
    /// Marks the end of preconditioning.
    pub fn begin(&mut self) {
        self.workload_start_pages = self.sent.written;
    }

    /// True if the workload has written as many pages as the tenant has.
    pub fn has_overwritten(&self) -> bool {
        self.sent.written - self.workload_start_pages >= u64::from(self.logical_pages)
    }

    /// Returns the pages written by the workload over the rate.
    fn weighted_progress(&self) -> f64 {
        (self.sent.written - self.workload_start_pages) as f64 / self.rate
    }
}

/// Returns the tenant that is furthest behind its rate; the first of several that are equally far behind.
///
/// The choice depends on the pages written so far and not on the boundaries of batches. A turn is one request, so no
/// tenant gets ahead of its rate by more than its longest request.
pub(super) fn next_tenant(tenants: &[Tenant]) -> usize {
    let progress = tenants.iter().map(Tenant::weighted_progress).enumerate();
    progress.min_by(|(_, a), (_, b)| a.total_cmp(b)).expect("a run has a tenant").0
}

/// Builds the tenants of a run with the information that it `needs`; `custom_workload` makes the workload of the only
/// tenant.
pub(crate) fn build<P: Payload>(
    scenario: &Scenario,
    stack: &Stack<P>,
    mut custom_workload: Option<WorkloadFactory>,
    needs: &SourceNeeds,
) -> Result<Vec<Tenant>, RunError> {
    let tenant = |(at, target): (usize, &Target<P>)| {
        let logical_pages = target.layer.logical_pages();
        let requests = needs.requests || target.layer.needs_whole_requests();
        let needs = SourceNeeds { requests, ..needs.clone() };
        let source =
            build_source(scenario, at, custom_workload.take(), (logical_pages, stack.page_bytes), &needs)?;
        let overwrite = overwrite_seed(scenario, at);
        let rate = scenario.tenant.get(at).map_or(1.0, |tenant| tenant.rate);
        let first_hint = scenario.tenant.get(at).and_then(|tenant| tenant.first_hint).unwrap_or(0);
        Ok(Tenant {
            source,
            logical_pages,
            overwrite,
            sent: Traffic::default(),
            workload_start_pages: 0,
            rate,
            first_hint,
        })
    };
    stack.targets.iter().enumerate().map(tenant).collect()
}

/// Returns the seed of the random overwrites of tenant `at` before its workload begins.
pub(super) fn overwrite_seed(scenario: &Scenario, at: usize) -> Seed {
    let seed = Seed(scenario.seed);
    scenario.tenant.get(at).map_or(seed, |tenant| seed.derive(&seed_name(tenant))).derive("overwrite")
}

/// Builds the source of tenant `at` for `logical_pages` pages of `page_bytes` bytes.
pub(super) fn build_source(
    scenario: &Scenario,
    at: usize,
    custom_workload: Option<WorkloadFactory>,
    (logical_pages, page_bytes): (u32, u32),
    needs: &SourceNeeds,
) -> Result<Box<dyn Source>, RunError> {
    let (key, seed, workload) = workload_of(scenario, at);
    let (content_key, content) = content_of(scenario, at);
    let content = content.filter(|_| needs.contents);
    let mut source: Box<dyn Source> = match (custom_workload, workload, trace_of(scenario, at)) {
        (Some(make), _, _) => Box::new(make(logical_pages)),
        (None, Some(workload), None) => {
            Box::new(workload.build(logical_pages, seed).map_err(|error| error.within(&key))?)
        }
        (None, None, Some(trace)) => {
            // Generated contents replace those of the trace.
            let needs = SourceNeeds { contents: needs.contents && content.is_none(), ..needs.clone() };
            Box::new(TraceReplay::new(trace, logical_pages, page_bytes, &needs)?)
        }
        _ => unreachable!("checked before the stack was built"),
    };
    if let Some(content) = content {
        let contents = content.build(logical_pages, seed).map_err(|error| error.within(&content_key))?;
        source = Box::new(ContentSource::new(source, contents));
    }
    match needs.time.as_ref().and_then(|clock| clock.arrivals.as_ref()) {
        Some(arrivals) if source.passes().is_none() => {
            let rate = scenario.tenant.get(at).map_or(1.0, |tenant| tenant.rate);
            let requests_per_second = arrivals.requests_per_second * rate;
            let arrivals = ArrivalConfig { requests_per_second, ..arrivals.clone() };
            let arrivals = Arrivals::new(&arrivals, seed).map_err(|error| error.within("timing.requests"))?;
            Ok(Box::new(TimedSource::new(source, arrivals)))
        }
        _ => Ok(source),
    }
}
