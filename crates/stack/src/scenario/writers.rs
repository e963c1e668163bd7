//! Writers: the workload, trace and contents of each tenant, and the check that there is exactly one writer where one
//! is needed.

use super::types::Scenario;
use super::writer_configs::{TenantConfig, TraceConfig};
use wearwell_base::config::ConfigError;
use wearwell_base::seed::Seed;
use wearwell_workload::{ContentConfig, WorkloadConfig};

/// Returns the key, the seed and the configuration of the workload of tenant `at`.
pub(crate) fn workload_of(scenario: &Scenario, at: usize) -> (String, Seed, Option<&WorkloadConfig>) {
    let seed = Seed(scenario.seed);
    match scenario.tenant.get(at) {
        Some(tenant) => {
            (format!("tenant[{at}].workload"), seed.derive(&seed_name(tenant)), tenant.workload.as_ref())
        }
        None => ("workload".into(), seed.derive("workload"), scenario.workload.as_ref()),
    }
}

/// Returns the name from which the seeds of a tenant are derived.
pub(crate) fn seed_name(tenant: &TenantConfig) -> String {
    format!("tenant {}", tenant.name.as_deref().unwrap_or_default())
}

/// Returns the trace of tenant `at`.
pub(crate) fn trace_of(scenario: &Scenario, at: usize) -> Option<&TraceConfig> {
    scenario.tenant.get(at).map_or(scenario.trace.as_ref(), |tenant| tenant.trace.as_ref())
}

/// Returns a mutable reference to the trace of tenant `at`.
pub(crate) fn trace_of_mut(scenario: &mut Scenario, at: usize) -> Option<&mut TraceConfig> {
    match scenario.tenant.get_mut(at) {
        Some(tenant) => tenant.trace.as_mut(),
        None => scenario.trace.as_mut(),
    }
}

/// Returns the contents of the pages of tenant `at`, and their key.
pub(crate) fn content_of(scenario: &Scenario, at: usize) -> (String, Option<&ContentConfig>) {
    match scenario.tenant.get(at) {
        Some(tenant) => (format!("tenant[{at}].content"), tenant.content.as_ref()),
        None => ("content".into(), scenario.content.as_ref()),
    }
}

/// True if any writer replays a trace.
pub(crate) fn any_trace(scenario: &Scenario) -> bool {
    scenario.trace.is_some() || scenario.tenant.iter().any(|tenant| tenant.trace.is_some())
}

/// True if any writer has a synthetic workload.
pub(crate) fn any_workload(scenario: &Scenario) -> bool {
    scenario.workload.is_some() || scenario.tenant.iter().any(|tenant| tenant.workload.is_some())
}

/// Refuses a scenario without a writer, or with two writers instead of one.
pub(crate) fn check(scenario: &Scenario) -> Result<(), ConfigError> {
    let given = (scenario.workload.is_some(), scenario.trace.is_some());
    if scenario.top.is_some() {
        return check_only_top(scenario, given);
    }
    if scenario.tenant.is_empty() {
        return check_one_source(given, "", "; or several `[[tenant]]`");
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
        check_one_source((tenant.workload.is_some(), tenant.trace.is_some()), &format!("{key}."), "")?;
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

/// Refuses every other writer next to `top`.
fn check_only_top(scenario: &Scenario, (workload, trace): (bool, bool)) -> Result<(), ConfigError> {
    let other_writers = [
        ("workload", workload),
        ("trace", trace),
        ("tenant", !scenario.tenant.is_empty()),
        ("content", scenario.content.is_some()),
    ];
    match other_writers.into_iter().find(|(_, given)| *given) {
        Some((key, _)) => Err(ConfigError::new(key, "stands beside `top`, which does the writing")),
        None => Ok(()),
    }
}

fn check_one_source((workload, trace): (bool, bool), prefix: &str, or: &str) -> Result<(), ConfigError> {
    let refuse = |problem: String| Err(ConfigError::new(format!("{prefix}workload"), problem));
    match (workload, trace) {
        (true, true) => refuse("stands beside `trace`; give one of them".into()),
        (false, false) => refuse(format!("is missing; give it, or `trace`{or}")),
        _ => Ok(()),
    }
}
