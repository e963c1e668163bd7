//! Functions and scenarios shared by the tests of the command line.

use assert_cmd::Command;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// A scenario that runs in a fraction of a second.
#[allow(dead_code)]
pub const SMALL: &str = r#"
name = "small"

[device]
blocks_per_plane = 100
pages_per_block = 16
load = 0.8
endurance_cycles = 1000

[workload]
kind = "uniform"

[measure]
warm_up = 5.0
drive_writes = 5.0
"#;

/// Builds a `wearwell` command that runs in the root of the repository with the default table width.
pub fn wearwell(arguments: &[&str]) -> Command {
    let mut command = Command::cargo_bin("wearwell").expect("the binary is built");
    command.current_dir(repository()).env_remove("COLUMNS").args(arguments);
    command
}

/// Waits until the process with this number handles the signal with this number. Before that, the signal ends the
/// process directly, or is lost if the process ignores it.
#[cfg(unix)]
#[allow(dead_code)]
pub fn wait_until_handled(process: u32, signal: i32) {
    let handles = || {
        let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
    };
    let begin = std::time::Instant::now();
    while !handles() && begin.elapsed().as_secs() < 60 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// Returns the root of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// Runs the command, checks its exit code against `code`, and returns its standard output and standard error.
#[allow(dead_code)]
pub fn outcome(arguments: &[&str], code: i32) -> (String, String) {
    let output = wearwell(arguments).output().expect("the command runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    let (out, err) = (text(output.stdout), text(output.stderr));
    assert_eq!(output.status.code(), Some(code), "{arguments:?}\n{out}\n{err}");
    (out, err)
}

/// Creates a directory with the small scenario; returns the directory and the scenario's path.
#[allow(dead_code)]
pub fn small() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("small.toml");
    std::fs::write(&path, SMALL).expect("a file");
    (directory, path.display().to_string())
}

/// Reads the JSON in a file.
#[allow(dead_code)]
pub fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("a file")).expect("JSON")
}

/// Returns the JSON Schema that a command prints, after a check that all references lead to definitions.
#[allow(dead_code)]
pub fn schema(arguments: &[&str]) -> Value {
    let text = outcome(arguments, 0).0;
    let schema: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let mut references = 0;
    for reference in text.split("\"$ref\": \"").skip(1) {
        let (path, _) = reference.split_once('"').expect("the end of a reference");
        let pointer = path.strip_prefix('#').expect("a reference into the schema");
        assert!(schema.pointer(pointer).is_some(), "{path}");
        references += 1;
    }
    assert!(references > 10, "{references}");
    schema
}

/// Asserts that a schema has the top-level keys of a TOML file.
#[allow(dead_code)]
pub fn assert_knows_keys(schema: &Value, path: &Path) {
    let file: toml::Table = std::fs::read_to_string(path).expect("a file").parse().expect("TOML");
    let unknown = file.keys().find(|key| schema["properties"].get(key).is_none());
    assert_eq!(unknown, None, "{}", path.display());
}
