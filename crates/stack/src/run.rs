//! Running a scenario: fill, overwrite, warm up until steady, measure.

use super::build::{self, Stack};
use super::device::ResolvedDevice;
use super::driver::Driver;
use super::pace::Pace;
use super::parts::Parts;
use super::payload::RunPayload;
use super::power;
use super::report;
use super::result::{Phase, RunResult};
use super::scenario::{Measure, Scenario};
use super::source::{SourceError, Wants};
use super::tenants;
use super::timing_config::{Sources, TimingConfig};
use std::ops::ControlFlow;
use std::time::Instant;
use wearwell_base::config::ConfigError;
use wearwell_engine::layer::{Content, LayerError};
use wearwell_engine::timing::{FlashTiming, HostTiming, Journal};

/// Why a run gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The scenario cannot be run.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The trace cannot be replayed.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The stack could not do what it was asked.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The observer stopped the run.
    #[error("interrupted")]
    Interrupted,
    /// Two layers disagree about what passed between them: a defect of Wearwell.
    #[error("the counters do not add up: {0}; please report this with the scenario")]
    Inconsistent(String),
}

/// How far a run has come.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// What it is doing.
    pub phase: Phase,
    /// Share of the phase that is done, from 0 to 1; during an open-ended warm-up, the share of its limit.
    pub done: f64,
    /// Drive writes since the drive was new.
    pub drive_writes: f64,
    /// Write amplification of the last window.
    pub write_amplification: Option<f64>,
}

/// Is told how a run goes on, and may stop it.
pub trait Observer {
    /// Called about once for every million pages.
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()>;

    /// Asked after every few thousand pages, so that a part which has failed can end the run at once.
    fn keep_going(&mut self) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Progress) -> ControlFlow<()>> Observer for F {
    fn progress(&mut self, progress: &Progress) -> ControlFlow<()> {
        self(progress)
    }
}

/// Runs `scenario`, in timed mode if it has `timing`.
///
/// # Errors
/// A scenario that cannot be built, a trace that cannot be read or does not fit, a drive that dies before the end of
/// the run, or an observer that stops it.
pub fn run(scenario: &Scenario, observer: &mut dyn Observer) -> Result<RunResult, RunError> {
    run_with(scenario, Parts::default(), observer)
}

/// Runs `scenario` with some of its parts replaced; a workload of the program's own stands for the scenario's
/// `workload` and `trace`, either of which is then left out of the result.
///
/// # Errors
/// As [`run`].
pub fn run_with(
    scenario: &Scenario,
    parts: Parts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let mut resolved = scenario.clone();
    // What `top` names is the program's own, and described by the scenario.
    let own_parts = if resolved.top.is_some() { Vec::new() } else { parts.warnings() };
    if resolved.top.is_some() && parts.workload.is_none() {
        return Err(ConfigError::new("top", "names something that this program cannot put on a stack").into());
    }
    if parts.workload.is_none() || resolved.top.is_some() {
        tenants::check(&resolved)?;
    } else if resolved.tenant.is_empty() {
        (resolved.workload, resolved.trace) = (None, None);
    } else {
        let problem = "stands beside the program's own workload, which would have to be the only one";
        return Err(ConfigError::new("tenant", problem).into());
    }
    check_measure(&resolved)?;
    let mut result = match resolved.holds_content() {
        true => run_holding::<Content>(resolved, parts, observer)?,
        false => run_holding::<()>(resolved, parts, observer)?,
    };
    result.warnings.extend(own_parts);
    Ok(result)
}

/// Runs a checked scenario with pages that hold `P`.
fn run_holding<P: RunPayload>(
    mut resolved: Scenario,
    parts: Parts,
    observer: &mut dyn Observer,
) -> Result<RunResult, RunError> {
    let journal = resolved.timing.is_some().then(Journal::default);
    let stack = build::build_with::<P>(&mut resolved, parts.victim, journal.clone())?;
    let pace = journal.map(|journal| pace(&mut resolved, &stack.device, journal)).transpose()?;
    let times = power::resolve(&mut resolved)?;
    let wants = Wants {
        contents: resolved.holds_content(),
        time: resolved.timing.as_ref().and_then(TimingConfig::clock),
    };
    let tenants = tenants::build(&resolved, &stack, parts.workload, &wants)?;
    let mut driver = Driver::new(stack, tenants, &resolved.measure, pace, observer);
    let start = Instant::now();
    driver.precondition(&resolved)?;
    let warmed_up = driver.warm_up(&resolved.measure)?;
    let before = driver.snapshot();
    driver.measure(&resolved.measure)?;
    let seconds = start.elapsed().as_secs_f64();
    report::result(resolved, driver.finish(warmed_up, before, seconds)?, times)
}

/// The clock of a timed run.
fn pace(scenario: &mut Scenario, device: &ResolvedDevice, journal: Journal) -> Result<Pace, ConfigError> {
    let (flash, host) = timing(scenario, device)?;
    Pace::new(flash, host, journal).map_err(|error| error.within("timing"))
}

/// Fills in every default of the scenario's timing.
fn timing(
    scenario: &mut Scenario,
    device: &ResolvedDevice,
) -> Result<(FlashTiming, HostTiming), ConfigError> {
    let trace = tenants::have_trace(scenario);
    // A workload of the program's own is in neither place.
    let sources = Sources { trace, workload: tenants::have_workload(scenario) || !trace };
    let hash_ns = scenario.hash_ns();
    let Scenario { timing, device: given, .. } = scenario;
    let timing = timing.get_or_insert_default();
    let flash = timing.flash(given, device, hash_ns).map_err(|error| error.within("timing"))?;
    let host = timing.host(device.geometry.page_bytes, sources).map_err(|error| error.within("timing"))?;
    Ok((flash, host))
}

/// Fills in every default of `scenario` and checks it without running it.
pub fn resolve(scenario: &Scenario) -> Result<Scenario, RunError> {
    let mut resolved = scenario.clone();
    tenants::check(&resolved)?;
    check_measure(&resolved)?;
    if resolved.holds_content() {
        let stack = build::build::<Content>(&mut resolved)?;
        check_rest(&mut resolved, &stack)?;
    } else {
        let stack = build::build::<()>(&mut resolved)?;
        check_rest(&mut resolved, &stack)?;
    }
    Ok(resolved)
}

fn check_rest<P: RunPayload>(resolved: &mut Scenario, stack: &Stack<P>) -> Result<(), RunError> {
    tenants::check_workloads(resolved, stack)?;
    if resolved.timing.is_some() {
        timing(resolved, &stack.device)?;
    }
    power::resolve(resolved)?;
    Ok(())
}

fn check_measure(scenario: &Scenario) -> Result<(), ConfigError> {
    let Measure { warm_up, max_warm_up, tolerance, drive_writes, window, warranty_years, .. } =
        scenario.measure;
    let positive = [
        ("measure.max_warm_up", max_warm_up),
        ("measure.tolerance", tolerance),
        ("measure.drive_writes", drive_writes),
        ("measure.window", window),
        ("measure.warranty_years", warranty_years),
    ];
    let not_negative = [
        ("measure.warm_up", warm_up.unwrap_or(0.0)),
        ("precondition.random_overwrites", scenario.precondition.random_overwrites),
    ];
    let refuse = |(key, value): (&str, f64), allowed: &str| {
        Err(ConfigError::new(key, format!("is {value}; it must be {allowed}")))
    };
    if let Some(&bad) = positive.iter().find(|(_, value)| !(*value > 0.0 && value.is_finite())) {
        return refuse(bad, "a number above 0");
    }
    if let Some(&bad) = not_negative.iter().find(|(_, value)| !(*value >= 0.0 && value.is_finite())) {
        return refuse(bad, "a number, 0 or above");
    }
    match scenario.measure.until_worn_out_blocks {
        Some(0) => {
            Err(ConfigError::new("measure.until_worn_out_blocks", "is 0; at least one block has to wear out"))
        }
        Some(_) if !scenario.device.wears_out => Err(ConfigError::new(
            "measure.until_worn_out_blocks",
            "needs `device.wears_out = true`, or no block ever will",
        )),
        _ => Ok(()),
    }
}
