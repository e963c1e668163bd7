//! Running a scenario under an observer of every page.

use crate::build::{BuildContext, build_resolved};
use crate::layers::CustomPolicies;
use crate::layers::{Feature, Kinds};
use crate::run::observed_run::{ObservedOutcome, ObservedRun, PageObserver};
use crate::run::payload::RunPayload;
use crate::run::source::SourceNeeds;
use crate::run::{CustomParts, Progress, RunError, fit, foresight, tenants};
use crate::scenario::Scenario;
use crate::scenario::resolve::{CallerFeatures, ResolvedScenario, resolve};
use crate::scenario::writers;
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::{ContentId, EventLog};
use wearwell_workload::PageBatch;

/// Runs `scenario` until `observer` stops it. `observer` sees every page that is programmed or invalidated on the
/// flash, with any FTL, and in the segments of each log. A workload supplied by the program replaces the scenario's.
///
/// # Errors
/// Fails as [`crate::run()`] does, and for features that cannot be observed page by page: a clock, power cuts, and
/// layers above the FTL other than logs.
pub fn run_observed(
    scenario: &Scenario,
    parts: CustomParts,
    observer: &mut dyn PageObserver,
) -> Result<ObservedOutcome, RunError> {
    let mut scenario = scenario.clone();
    refuse(&scenario)?;
    match parts.workload {
        Some(_) => (scenario.workload, scenario.trace) = (None, None),
        None => writers::check(&scenario)?,
    }
    let caller = CallerFeatures {
        holds_data: scenario.holds_content(),
        has_custom_victim: parts.victim.is_some(),
        custom_streams: parts.placement.as_ref().map(|placement| placement.streams),
        ..CallerFeatures::default()
    };
    fit::fit(&mut scenario, caller, &mut |_: &Progress| ControlFlow::Continue(()))?;
    let resolved = resolve(scenario, caller)?;
    observer.begin(&resolved)?;
    match caller.holds_data {
        true => run_observed_with_payload::<ContentId>(&resolved, parts, observer),
        false => run_observed_with_payload::<()>(&resolved, parts, observer),
    }
}

/// Refuses scenarios that cannot be observed page by page.
fn refuse(scenario: &Scenario) -> Result<(), ConfigError> {
    let unsupported = [
        (
            "timing",
            scenario.timing.is_some(),
            "asks for a clock, and what is looked at page by page has none",
        ),
        ("power", scenario.power.is_some(), "cuts the power, which is not looked at page by page"),
        (
            "top",
            scenario.top.is_some(),
            "puts a file system on the stack, which is not looked at page by page; name a workload or a trace",
        ),
    ];
    if let Some((key, _, problem)) = unsupported.into_iter().find(|(_, given, _)| *given) {
        return Err(ConfigError::new(key, problem));
    }
    for (at, log) in scenario.log.iter().enumerate() {
        let kind = log.kind.entry().name;
        if kind != "log" {
            let problem = format!(
                "is {kind}; of what stands on an FTL only logs are looked at page by page: structure = \"log\""
            );
            return Err(ConfigError::new(format!("log[{at}].structure"), problem));
        }
    }
    Ok(())
}

/// Refuses logs whose segments also hold pages other than data.
fn refuse_resolved(resolved: &ResolvedScenario) -> Result<(), ConfigError> {
    for (layer, plan) in resolved.tree.layers.iter().zip(&resolved.layers) {
        if plan.features.has(Feature::Metadata) {
            let problem = "is written beside the log's pages, and is not looked at page by page";
            return Err(ConfigError::new(format!("{}.metadata", layer.key), problem));
        }
    }
    Ok(())
}

fn run_observed_with_payload<P: RunPayload>(
    resolved: &ResolvedScenario,
    parts: CustomParts,
    observer: &mut dyn PageObserver,
) -> Result<ObservedOutcome, RunError> {
    refuse_resolved(resolved)?;
    let (watch, CustomParts { victim, placement, workload }) = (EventLog::default(), parts);
    let foresight = if workload.is_none() { foresight(resolved)? } else { None };
    let context = BuildContext { watch: Some(watch.clone()), foresight, ..BuildContext::default() };
    let stack = build_resolved::<P>(resolved, CustomPolicies { victim, placement }, context)?;
    let needs = SourceNeeds { contents: resolved.scenario.holds_content(), requests: true, time: None };
    let tenants = tenants::build(&resolved.scenario, &stack, workload, &needs)?;
    let observed_run = ObservedRun { stack, tenants, watch, observer, batch: PageBatch::default() };
    observed_run.run(&resolved.scenario)
}
