//! Tests of `wearwell run`: results in every format, and bitwise reproducibility.

use crate::common::{SMALL, json, outcome, small, wearwell};
use serde_json::{Value, json};

fn without_performance(mut result: Value) -> Value {
    result.as_object_mut().expect("a result").remove("performance").expect("every result has it");
    result
}

#[test]
fn repeated_run_is_bitwise_equal() {
    let (directory, scenario) = small();
    let [first, second] = ["first.json", "second.json"].map(|name| directory.path().join(name));
    let (first_name, second_name) = (first.display().to_string(), second.display().to_string());
    outcome(&["run", &scenario, "--seed", "18446744073709551615", "--output", &first_name], 0);
    outcome(&["run", &first_name, "--output", &second_name], 0);
    let (first, second) = (json(&first), json(&second));
    assert!(first["performance"]["seconds"].is_f64());
    assert_eq!(first["scenario"]["seed"], json!(u64::MAX));
    assert_eq!(without_performance(first), without_performance(second));
}

#[test]
fn other_seed_gives_other_final_draw() {
    let (_directory, scenario) = small();
    let draw = |seed: &str| {
        let (out, _) = outcome(&["run", &scenario, "--seed", seed, "--format", "json"], 0);
        serde_json::from_str::<Value>(&out).unwrap()["final_draw"].clone()
    };
    assert_eq!(draw("1"), draw("1"));
    assert_ne!(draw("1"), draw("2"));
}

#[test]
fn table_shows_main_figures() {
    let (_directory, scenario) = small();
    let (out, err) = outcome(&["run", &scenario], 0);
    assert_eq!(err, "");
    for part in [
        "Write amplification",
        "± ",
        "spare factor 0.2",
        "load 0.8",
        "TBW",
        "DWPD",
        "Final draw",
        "ftl",
        "uniform",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
}

#[test]
fn timed_run_shows_response_times_and_deduplication() {
    let timed = ["--set", "device.preset=z_nand", "--set", "timing.queue_depth=4", "--set", "content=mail"];
    let (_directory, scenario) = small();
    let cagc = ["--set", "ftl.dedup=cagc", "--set", "ftl.placement=references"];
    let arguments = |format| [&["run", &scenario, "--format", format], &timed[..], &cagc[..]].concat();
    let (out, _) = outcome(&arguments("table"), 0);
    for part in [
        "timed mode",
        "Throughput",
        "p99.99",
        "share of cleaning",
        "mean time for",
        "dies cleaning",
        "merged by cleaning",
    ] {
        assert!(out.contains(part), "no `{part}` in\n{out}");
    }
    let (row, _) = outcome(&arguments("csv"), 0);
    for column in ["requests_per_s", "write_p99_us", "write_p99_cleaning_share", "ftl_merged_pages"] {
        assert!(row.lines().next().unwrap().split(',').any(|name| name == column), "no `{column}` in {row}");
    }
}

#[test]
fn csv_has_header_and_one_row() {
    let (directory, scenario) = small();
    let (out, _) = outcome(&["run", &scenario, "--format", "csv"], 0);
    let mut reader = csv::Reader::from_reader(out.as_bytes());
    let head = reader.headers().unwrap().clone();
    assert_eq!(
        head.iter().take(3).collect::<Vec<_>>(),
        ["write_amplification", "write_amplification_mean", "write_amplification_ci95"]
    );
    assert_eq!(reader.records().map(Result::unwrap).count(), 1);
    let file = directory.path().join("result.csv").display().to_string();
    outcome(&["run", &scenario, "--output", &file], 0);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), out);
}

#[test]
fn parquet_carries_the_time_series_and_the_whole_result() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    let (directory, scenario) = small();
    let [parquet, csv] = ["result.parquet", "windows.csv"].map(|name| directory.path().join(name));
    let (parquet_name, csv_name) = (parquet.display().to_string(), csv.display().to_string());
    let arguments =
        ["run", &scenario, "--output", &parquet_name, "--timeseries", &csv_name, "--format", "json"];
    let (out, _) = outcome(&arguments, 0);
    let result: Value = serde_json::from_str(&out).unwrap();
    let reader = SerializedFileReader::new(std::fs::File::open(&parquet).unwrap()).unwrap();
    let metadata = reader.metadata().file_metadata();
    let pairs = metadata.key_value_metadata().unwrap();
    let stored = |key: &str| pairs.iter().find(|pair| pair.key == key).unwrap().value.clone().unwrap();
    assert_eq!(serde_json::from_str::<Value>(&stored("wearwell.scenario")).unwrap(), result["scenario"]);
    let header: Value = serde_json::from_str(&stored("wearwell.result")).unwrap();
    assert_eq!(header["final_draw"], result["final_draw"]);
    let windows = result["windows"].as_array().unwrap().len();
    assert_eq!(metadata.num_rows(), windows as i64);
    assert_eq!(std::fs::read_to_string(&csv).unwrap().lines().count(), windows + 1);
}

#[test]
fn meaningless_figures_are_withheld_and_fail_with_strict() {
    let (_directory, scenario) = small();
    let fresh = [
        "run",
        &scenario,
        "--set",
        "precondition.fill=none",
        "--set",
        "measure.warm_up=0.0",
        "--drive-writes",
        "0.2",
    ];
    let (out, _) = outcome(&fresh, 0);
    assert!(out.contains("WARNING: no cleaning happened"), "{out}");
    assert!(out.contains("not given, because it would mean nothing"), "{out}");
    assert!(!out.contains("TBW"), "{out}");
    let strict: Vec<&str> = fresh.iter().copied().chain(["--strict"]).collect();
    let (_, err) = outcome(&strict, 3);
    assert!(err.contains("no cleaning happened"), "{err}");
}

#[test]
fn trace_path_is_relative_to_scenario_or_working_directory() {
    let directory = tempfile::tempdir().unwrap();
    let trace = directory.path().join("trace.csv");
    let lines = (0..4000u64)
        .map(|i| format!("128166372003061629,host,0,Write,{},4096,0\n", (i * 7919 % 1000) * 4096));
    std::fs::write(&trace, lines.collect::<String>()).unwrap();
    let scenario =
        SMALL.replace("[workload]\nkind = \"uniform\"", "[trace]\npath = \"trace.csv\"\nformat = \"msr\"");
    // The flag also removes the name of the replaced workload.
    let scenario = scenario.replace("name = \"small\"\n", "");
    let scenario_path = directory.path().join("scenario.toml");
    std::fs::write(&scenario_path, scenario).unwrap();
    let (from_file, _) = outcome(&["run", &scenario_path.display().to_string(), "--format", "json"], 0);
    let (_kept, small) = small();
    let result_path = directory.path().join("result.json");
    let mut command =
        wearwell(&["run", &small, "--trace", "trace.csv", "--trace-format", "msr", "--format", "json"]);
    let output = command.current_dir(directory.path()).output().unwrap();
    let from_flag: Value = serde_json::from_slice(&output.stdout).unwrap();
    let from_file: Value = serde_json::from_str(&from_file).unwrap();
    assert_eq!(without_performance(from_file.clone()), without_performance(from_flag));
    assert!(from_file["phases"]["trace_passes"].as_u64() > Some(0));
    // Repeats the result from another directory.
    std::fs::write(&result_path, from_file.to_string()).unwrap();
    let (repeated, _) = outcome(&["run", &result_path.display().to_string(), "--format", "json"], 0);
    assert_eq!(without_performance(from_file), without_performance(serde_json::from_str(&repeated).unwrap()));
}

#[test]
fn bad_trace_line_is_named_and_nothing_is_written() {
    let (directory, scenario) = small();
    let trace = directory.path().join("trace.csv");
    std::fs::write(&trace, "128166372003061629,host,0,Write,0,4096,0\nnonsense\n").unwrap();
    let result = directory.path().join("result.json");
    let (trace_name, result_name) = (trace.display().to_string(), result.display().to_string());
    let arguments =
        ["run", &scenario, "--trace", &trace_name, "--trace-format", "msr", "--output", &result_name];
    let (_, err) = outcome(&arguments, 1);
    assert!(err.contains("trace.csv, line 2: column `Timestamp`"), "{err}");
    assert!(!result.exists());
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "a temporary file was left");
}

#[cfg(unix)]
#[test]
fn interrupted_run_ends_with_130_and_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let result = directory.path().join("result.json").display().to_string();
    let binary = assert_cmd::cargo::cargo_bin("wearwell");
    let mut child = std::process::Command::new(binary)
        .args(["run", "--drive-writes", "1e6", "--set", "measure.warm_up=0.0", "--output", &result])
        .current_dir(crate::common::repository())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(700));
    crate::common::wait_until_handled(child.id(), rustix::process::Signal::INT.as_raw());
    let interrupt =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupt.success());
    assert_eq!(child.wait().unwrap().code(), Some(130));
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
}

/// Starts the command, sends `signal` after a while, and waits for its end; returns its exit code.
#[cfg(unix)]
fn exit_code_after_signal(
    signal: rustix::process::Signal,
    arguments: &[&str],
    stdin: std::process::Stdio,
) -> Option<i32> {
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("wearwell"))
        .args(arguments)
        .current_dir(crate::common::repository())
        .stdin(stdin)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    crate::common::wait_until_handled(child.id(), signal.as_raw());
    // Keeps the pipe open: waiting would close it.
    let _pipe = child.stdin.take();
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), signal).unwrap();
    child.wait().unwrap().code()
}

#[cfg(unix)]
#[test]
fn signal_ends_blocked_or_endless_command() {
    use rustix::process::Signal;
    let piped = std::process::Stdio::piped;
    let search = ["theory", "double", "--spare-factor", "2e-5"];
    assert_eq!(exit_code_after_signal(Signal::TERM, &search, std::process::Stdio::null()), Some(130));
    // The pipe stays open without data while the command runs.
    assert_eq!(
        exit_code_after_signal(Signal::INT, &["trace", "check", "-", "--trace-format", "msr"], piped()),
        Some(130)
    );
    let directory = tempfile::tempdir().unwrap();
    let fifo = directory.path().join("scenario.toml");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    assert_eq!(
        exit_code_after_signal(Signal::INT, &["run", &fifo.display().to_string()], piped()),
        Some(130)
    );
}

#[test]
fn result_does_not_overwrite_an_input() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (scenario, trace, link) = (path("scenario.json"), path("trace.csv"), path("link.csv"));
    std::fs::write(&trace, "time_ns,op,volume,offset_bytes,length_bytes,hint\n0,W,0,0,4096,0\n").unwrap();
    std::os::unix::fs::symlink(&trace, &link).unwrap();
    std::fs::write(
        &scenario,
        r#"{"device":{"blocks_per_plane":100,"pages_per_block":16,"spare_factor":0.2}}"#,
    )
    .unwrap();
    let before = std::fs::read(&trace).unwrap();
    let cases: [&[&str]; 4] = [
        &["run", &scenario, "--trace", &trace, "--output", &trace],
        &["run", &scenario, "--trace", &trace, "--timeseries", &link],
        &["sweep", &scenario, "--trace", &trace, "--vary", "seed=1,2", "--output", &scenario],
        &["trace", "convert", &trace, &trace, "--trace-format", "wearwell", "--to", "wearwell"],
    ];
    for case in cases {
        let (_, text) = crate::common::outcome(case, 2);
        assert!(text.contains("which the command reads; name another file"), "{case:?}: {text}");
        assert_eq!(std::fs::read(&trace).unwrap(), before);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn full_disk_behind_stderr_does_not_change_exit_code() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let status = std::process::Command::new(assert_cmd::cargo::cargo_bin("wearwell"))
        .args(["run", "no-such-file.toml"])
        .stderr(full)
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
}

#[test]
fn results_are_compared_by_settings_and_figures() {
    let (directory, scenario) = crate::common::small();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let files = ["one.json", "other.json", "fifo.json"].map(path);
    for (file, change) in files.iter().zip(["seed=1", "seed=2", "ftl.victim=fifo"]) {
        crate::common::outcome(&["run", &scenario, "--set", change, "--output", file], 0);
    }
    let [one, other, fifo] = &files;
    let (table, _) = crate::common::outcome(&["compare", one, other, fifo], 0);
    for part in ["ftl.victim.policy", "greedy", "fifo", "(noise)", "write_amplification", "erases"] {
        assert!(table.contains(part), "no `{part}` in\n{table}");
    }
    let (self_comparison, _) = crate::common::outcome(&["compare", one, one], 0);
    assert!(
        self_comparison.starts_with("All settings are the same.\nAll figures are the same.\n"),
        "{self_comparison}"
    );
    let (rows, _) = crate::common::outcome(&["compare", one, fifo, "--format", "json"], 0);
    let rows: Vec<serde_json::Value> = serde_json::from_str(&rows).unwrap();
    let amplification = rows.iter().find(|row| row["name"] == "write_amplification").unwrap();
    assert_eq!((&amplification["verdict"], &amplification["result"]), (&"differs".into(), &"fifo".into()));
    let (_, error) = crate::common::outcome(&["compare", one, &scenario], 2);
    assert!(error.contains("this is no "), "{error}");
    crate::common::outcome(&["compare", one], 2);
}
