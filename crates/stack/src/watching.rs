//! Running a scenario under an observer of every page.

use crate::build::{Noted, build_resolved};
use crate::layers::OwnPolicies;
use crate::layers::{Feature, Kinds};
use crate::run::payload::RunPayload;
use crate::run::source::Wants;
use crate::run::watched::{Looker, Walk, Watched};
use crate::run::{Parts, Progress, RunError, fit, foresight, tenants};
use crate::scenario::Scenario;
use crate::scenario::resolve::{Caller, ResolvedScenario, resolve};
use crate::scenario::writers;
use std::ops::ControlFlow;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::{Content, Watch};
use wearwell_workload::PageBatch;

/// Runs `scenario` until `looker` stops it. `looker` sees every page that is programmed or invalidated on the flash, with any FTL, and
/// in the segments of each log. A workload supplied by the program replaces the scenario's.
///
/// # Errors
/// As [`crate::run()`]; also features that cannot be observed page by page: a clock, power cuts, and layers above the FTL other than
/// logs.
pub fn watched(scenario: &Scenario, parts: Parts, looker: &mut dyn Looker) -> Result<Watched, RunError> {
    let mut scenario = scenario.clone();
    refuse(&scenario)?;
    match parts.workload {
        Some(_) => (scenario.workload, scenario.trace) = (None, None),
        None => writers::check(&scenario)?,
    }
    let caller = Caller {
        holds_data: scenario.holds_content(),
        own_victim: parts.victim.is_some(),
        own_streams: parts.placement.as_ref().map(|placement| placement.streams),
        ..Caller::default()
    };
    fit::fit(&mut scenario, caller, &mut |_: &Progress| ControlFlow::Continue(()))?;
    let resolved = resolve(scenario, caller)?;
    looker.begin(&resolved)?;
    match caller.holds_data {
        true => watched_holding::<Content>(&resolved, parts, looker),
        false => watched_holding::<()>(&resolved, parts, looker),
    }
}

/// Refuses scenarios that cannot be observed page by page.
fn refuse(scenario: &Scenario) -> Result<(), ConfigError> {
    let given = [
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
    if let Some((key, _, why)) = given.into_iter().find(|(_, given, _)| *given) {
        return Err(ConfigError::new(key, why));
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

fn watched_holding<P: RunPayload>(
    resolved: &ResolvedScenario,
    parts: Parts,
    looker: &mut dyn Looker,
) -> Result<Watched, RunError> {
    refuse_resolved(resolved)?;
    let (watch, Parts { victim, placement, workload }) = (Watch::default(), parts);
    let foresight = if workload.is_none() { foresight(resolved)? } else { None };
    let noted = Noted { watch: Some(watch.clone()), foresight, ..Noted::default() };
    let stack = build_resolved::<P>(resolved, OwnPolicies { victim, placement }, noted)?;
    let wants = Wants { contents: resolved.scenario.holds_content(), requests: true, time: None };
    let tenants = tenants::build(&resolved.scenario, &stack, workload, &wants)?;
    let walk = Walk { stack, tenants, watch, looker, batch: PageBatch::default() };
    walk.run(&resolved.scenario)
}
