//! Runs a scenario: fill, overwrite, warm up until steady, measure.

use crate::build::{BuildContext, build_resolved};
use crate::layers::CustomPolicies;
use crate::report;
use crate::report::RunResult;
use crate::run::dispatcher::RequestDispatcher;
use crate::run::driver::Driver;
use crate::run::fit::fit;
use crate::run::payload::RunPayload;
use crate::run::source::SourceNeeds;
use crate::run::tenants;
use crate::run::{CustomParts, Observer, Progress, RunError, foresight};
use crate::scenario::Scenario;
use crate::scenario::resolve::{self, CallerFeatures, ResolvedScenario, ResolvedTiming};
use crate::scenario::writers;
use std::ops::ControlFlow;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::ContentId;
use wearwell_engine::timing::Journal;

/// Runs `scenario`, in timed mode if it has `timing`.
///
/// # Errors
/// Fails if the scenario cannot be built, or if a trace cannot be read or does not fit. Also fails if the drive reaches
/// its end of life during the run, or an observer stops the run.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    run_with(scenario, CustomParts::default(), observer)
}

/// Runs `scenario` with some of its parts replaced. A workload supplied by the program replaces the scenario's
/// `workload` and `trace`, which are then left out of the result.
///
/// # Errors
/// Fails as [`run`] does.
pub fn run_with(
    scenario: &Scenario,
    parts: CustomParts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let mut scenario = scenario.clone();
    // The part that `top` names is supplied by the program, but the scenario describes it.
    let part_warnings = if scenario.top.is_some() { Vec::new() } else { parts.warnings() };
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
    let caller = CallerFeatures {
        holds_data: scenario.holds_content(),
        has_custom_victim: parts.victim.is_some(),
        custom_streams: parts.placement.as_ref().map(|placement| placement.streams),
        ..CallerFeatures::default()
    };
    fit(&mut scenario, caller, observer)?;
    let resolved = resolve::resolve(scenario, caller)?;
    let mut result = match caller.holds_data {
        true => run_with_payload::<ContentId>(resolved, parts, observer)?,
        false => run_with_payload::<()>(resolved, parts, observer)?,
    };
    result.warnings.extend(part_warnings);
    Ok(result)
}

/// Runs a resolved scenario with pages whose payload is `P`.
fn run_with_payload<P: RunPayload>(
    resolved: ResolvedScenario,
    parts: CustomParts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let journal = resolved.timing.is_some().then(Journal::default);
    let CustomParts { victim, placement, workload } = parts;
    // The writes of a workload supplied by the program cannot be known beforehand.
    let foresight = if workload.is_none() { foresight(&resolved)? } else { None };
    let context = BuildContext { journal: journal.clone(), foresight, ..BuildContext::default() };
    let stack = build_resolved::<P>(&resolved, CustomPolicies { victim, placement }, context)?;
    let dispatcher = resolved
        .timing
        .clone()
        .zip(journal)
        .map(|(timing, journal)| build_dispatcher(timing, journal))
        .transpose()?;
    let needs = SourceNeeds {
        contents: resolved.scenario.holds_content(),
        time: resolved.timing.as_ref().and_then(|timing| timing.arrivals.clone()),
        // In timed mode, the pages of a request go to the flash together.
        requests: resolved.timing.is_some(),
    };
    let scenario = &resolved.scenario;
    // Requests are not drawn ahead if a failing drive may end the run between any two requests, or if the calling
    // program supplies the workload.
    let may_draw_ahead = workload.is_none()
        && scenario.power.is_none()
        && !scenario.device.wears_out
        && scenario.device.program_failure_rate == 0.0;
    let tenants = tenants::build(scenario, &stack, workload, &needs)?;
    let mut driver = Driver::new(stack, tenants, &scenario.measure, dispatcher, may_draw_ahead, observer);
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
fn build_dispatcher(timing: ResolvedTiming, journal: Journal) -> Result<RequestDispatcher, ConfigError> {
    RequestDispatcher::new(timing.flash, timing.host, journal).map_err(|error| error.within("timing"))
}

/// Returns `scenario` with a drive sized to its trace if `device.fit` requests that, and unchanged otherwise.
///
/// # Errors
/// Returns an error if a trace cannot be read, if no size can be built, or if an observer stops the search.
pub fn with_fitted_drive(scenario: &Scenario, observer: &mut dyn Observer) -> Result<Scenario, RunError> {
    let mut scenario = scenario.clone();
    let caller = CallerFeatures { holds_data: scenario.holds_content(), ..CallerFeatures::default() };
    fit(&mut scenario, caller, observer)?;
    Ok(scenario)
}

/// Fills in every default of `scenario` and checks it without running it.
///
/// # Errors
/// Fails as [`run`] does, except for errors of the run itself.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    let resolved =
        ResolvedScenario::of(with_fitted_drive(scenario, &mut |_: &Progress| ControlFlow::Continue(()))?)?;
    let context = BuildContext { foresight: foresight(&resolved)?, ..BuildContext::default() };
    // Layers check their configuration when they are built.
    match resolved.scenario.holds_content() {
        true => drop(build_resolved::<ContentId>(&resolved, CustomPolicies::default(), context)?),
        false => drop(build_resolved::<()>(&resolved, CustomPolicies::default(), context)?),
    }
    resolved.check_workloads()?;
    Ok(resolved.scenario)
}
