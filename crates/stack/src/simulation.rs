//! Runs a scenario: fill, overwrite, warm up until steady, measure.

use crate::build::{Noted, build_resolved};
use crate::layers::OwnPolicies;
use crate::report;
use crate::report::RunResult;
use crate::run::driver::Driver;
use crate::run::fit::fit;
use crate::run::pace::Pace;
use crate::run::payload::RunPayload;
use crate::run::source::Wants;
use crate::run::tenants;
use crate::run::{Observer, Parts, Progress, RunError, foresight};
use crate::scenario::Scenario;
use crate::scenario::resolve::{self, Caller, ResolvedScenario, ResolvedTiming};
use crate::scenario::writers;
use std::ops::ControlFlow;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::Content;
use wearwell_engine::timing::Journal;

/// Runs `scenario`, in timed mode if it has `timing`.
///
/// # Errors
/// Fails if the scenario cannot be built, or if a trace cannot be read or does not fit. Also fails if the drive reaches
/// its end of life during the run, or an observer stops the run.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    run_with(scenario, Parts::default(), observer)
}

/// Runs `scenario` with some of its parts replaced. A workload supplied by the program replaces the scenario's
/// `workload` and `trace`, which are then left out of the result.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    parts: Parts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let mut scenario = scenario.clone();
    // The part that `top` names is supplied by the program, but the scenario describes it.
    let own_parts = if scenario.top.is_some() { Vec::new() } else { parts.warnings() };
    if scenario.top.is_some() && parts.workload.is_none() {
        return Err(ConfigError::new("top", "names something that this program cannot put on a stack").into());
    }
    if parts.workload.is_none() || scenario.top.is_some() {
        writers::check(&scenario)?;
    } else if scenario.tenant.is_empty() {
        (scenario.workload, scenario.trace) = (None, None);
    } else {
        let problem = "stands beside the program's own workload, which would have to be the only one";
        return Err(ConfigError::new("tenant", problem).into());
    }
    let caller = Caller {
        holds_data: scenario.holds_content(),
        own_victim: parts.victim.is_some(),
        own_streams: parts.placement.as_ref().map(|placement| placement.streams),
        ..Caller::default()
    };
    fit(&mut scenario, caller, observer)?;
    let resolved = resolve::resolve(scenario, caller)?;
    let mut result = match caller.holds_data {
        true => run_holding::<Content>(resolved, parts, observer)?,
        false => run_holding::<()>(resolved, parts, observer)?,
    };
    result.warnings.extend(own_parts);
    Ok(result)
}

/// Runs a resolved scenario with pages whose payload is `P`.
fn run_holding<P: RunPayload>(
    resolved: ResolvedScenario,
    parts: Parts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let journal = resolved.timing.is_some().then(Journal::default);
    let Parts { victim, placement, workload } = parts;
    // The writes of a workload supplied by the program cannot be known beforehand.
    let foresight = if workload.is_none() { foresight(&resolved)? } else { None };
    let noted = Noted { journal: journal.clone(), foresight, ..Noted::default() };
    let stack = build_resolved::<P>(&resolved, OwnPolicies { victim, placement }, noted)?;
    let pace =
        resolved.timing.clone().zip(journal).map(|(timing, journal)| pace(timing, journal)).transpose()?;
    let wants = Wants {
        contents: resolved.scenario.holds_content(),
        time: resolved.timing.as_ref().and_then(|timing| timing.arrivals.clone()),
        // In timed mode, the pages of a request go to the flash together.
        requests: resolved.timing.is_some(),
    };
    let scenario = &resolved.scenario;
    // No prefetching of requests if a failing drive may end the run between any two requests, or if the program
    // supplies the workload.
    let looks_ahead = workload.is_none()
        && scenario.power.is_none()
        && !scenario.device.wears_out
        && scenario.device.program_failure_rate == 0.0;
    let tenants = tenants::build(scenario, &stack, workload, &wants)?;
    let mut driver = Driver::new(stack, tenants, &scenario.measure, pace, looks_ahead, observer);
    let start = Instant::now();
    driver.precondition(scenario)?;
    let warmed_up = driver.warm_up(&scenario.measure)?;
    let before = driver.snapshot();
    driver.measure(&scenario.measure)?;
    let seconds = start.elapsed().as_secs_f64();
    let finished = driver.finish(warmed_up, before, seconds)?;
    report::result(resolved, finished)
}

/// Returns the clock of a timed run.
fn pace(timing: ResolvedTiming, journal: Journal) -> Result<Pace, ConfigError> {
    Pace::new(timing.flash, timing.host, journal).map_err(|error| error.within("timing"))
}

/// Returns `scenario` with a drive sized to its trace if `device.fit` asks for that, and unchanged otherwise.
///
/// # Errors
/// A trace that cannot be read, no size that can be built, or an observer that stops it.
pub fn fitted(scenario: &Scenario, observer: &mut dyn Observer) -> Result<Scenario, RunError> {
    let mut scenario = scenario.clone();
    let caller = Caller { holds_data: scenario.holds_content(), ..Caller::default() };
    fit(&mut scenario, caller, observer)?;
    Ok(scenario)
}

/// Fills in every default of `scenario` and checks it without running it.
///
/// # Errors
/// As [`run`], without errors of the run itself.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    let resolved = ResolvedScenario::of(fitted(scenario, &mut |_: &Progress| ControlFlow::Continue(()))?)?;
    let noted = Noted { foresight: foresight(&resolved)?, ..Noted::default() };
    // Building the layers runs their own checks of the configuration.
    match resolved.scenario.holds_content() {
        true => drop(build_resolved::<Content>(&resolved, OwnPolicies::default(), noted)?),
        false => drop(build_resolved::<()>(&resolved, OwnPolicies::default(), noted)?),
    }
    resolved.check_workloads()?;
    Ok(resolved.scenario)
}
