//! Helpers of several test targets: running scenarios, and files that tests compare with and can renew.
#![allow(dead_code, reason = "no test target needs all of it")]

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use wearwell_stack::layers::{self, FtlProperties, PageMap};
use wearwell_stack::{RunError, RunResult, Scenario, run};

/// Returns the names of the FTLs whose properties fulfil `condition`.
pub fn ftls(condition: impl Fn(FtlProperties) -> bool) -> Vec<&'static str> {
    layers::ftls().filter(|(_, properties)| condition(*properties)).map(|(entry, _)| entry.name).collect()
}

/// Returns the names of the FTLs that a workload can write to.
pub fn writable_ftls() -> Vec<&'static str> {
    ftls(|properties| properties.map != PageMap::Absent)
}

/// True if the FTL has a block map and log blocks.
pub fn is_hybrid(ftl: &str) -> bool {
    ftls(|properties| properties.map == PageMap::OfBlocks).contains(&ftl)
}

/// True if the FTL relies on a battery.
pub fn has_battery(ftl: &str) -> bool {
    ftls(|properties| properties.has_battery).contains(&ftl)
}

/// Parses a scenario in TOML.
pub fn scenario(text: &str) -> Scenario {
    toml::from_str(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// Runs a scenario.
pub fn try_run(scenario: &Scenario) -> Result<RunResult, RunError> {
    run(scenario, &mut |_: &_| ControlFlow::Continue(()))
}

/// Returns the error of a scenario in TOML that cannot be run: an unknown key, or an invalid setting.
pub fn error_of(text: &str) -> String {
    let value: serde_json::Value = toml::from_str(text).unwrap_or_else(|error| panic!("{error}\nin\n{text}"));
    match Scenario::read(&value) {
        Ok(scenario) => try_run(&scenario).expect_err(text).to_string(),
        Err(error) => error.to_string(),
    }
}

/// Runs a scenario in TOML, which must succeed.
pub fn run_text(text: &str) -> RunResult {
    try_run(&scenario(text)).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("the crate lies two levels down")
}

/// Compares a generated text with a file, whose path is relative to the root of the repository; with
/// `WEARWELL_BLESS=1`, writes the file instead.
///
/// Renewing a golden file is a separate commit that explains the changed results.
pub fn assert_file_equals(file: &str, generated: &str) {
    let path = root().join(file);
    if std::env::var_os("WEARWELL_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(&path, generated).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        return;
    }
    let current = std::fs::read_to_string(&path).unwrap_or_default();
    if current == generated {
        return;
    }
    let removed = current.lines().filter(|line| !generated.lines().any(|other| other == *line));
    let added = generated.lines().filter(|line| !current.lines().any(|other| other == *line));
    let mut difference: Vec<String> = removed.map(|line| format!("- {line}")).collect();
    difference.extend(added.map(|line| format!("+ {line}")));
    panic!(
        "{file} differs:\n{}\n\nIf that is meant, renew it with WEARWELL_BLESS=1 in a commit of its own that says why.",
        difference.join("\n")
    );
}
