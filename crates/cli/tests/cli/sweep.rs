//! Tests of `wearwell sweep`: the same table for any number of threads and interruptions.

use crate::common::{outcome, small};
use std::path::{Path, PathBuf};

const GRID: [&str; 4] = ["--vary", "device.spare_factor=0.1:0.3:0.1", "--vary", "ftl.victim=greedy,fifo"];

fn sweep(arguments: &[&str], code: i32) -> (String, String) {
    let (_directory, scenario) = small();
    let all: Vec<&str> =
        ["sweep", &scenario].into_iter().chain(GRID).chain(arguments.iter().copied()).collect();
    outcome(&all, code)
}

#[test]
fn every_combination_is_a_row_for_any_thread_count() {
    let (one, _) = sweep(&["--threads", "1", "--format", "csv"], 0);
    let (two, _) = sweep(&["--threads", "2", "--format", "csv"], 0);
    assert_eq!(one, two);
    let mut reader = csv::Reader::from_reader(one.as_bytes());
    let head: Vec<_> = reader.headers().unwrap().iter().take(3).map(str::to_owned).collect();
    assert_eq!(head, ["device.spare_factor", "ftl.victim", "replicas"]);
    let settings: Vec<_> =
        reader.records().map(|row| row.unwrap()).map(|row| format!("{} {}", &row[0], &row[1])).collect();
    assert_eq!(settings, ["0.1 greedy", "0.1 fifo", "0.2 greedy", "0.2 fifo", "0.3 greedy", "0.3 fifo"]);
}

/// Returns the files of the store in `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "parquet"));
    files.sort();
    files
}

fn stored_runs(folder: &Path) -> usize {
    wearwell_store::read(folder).unwrap().points.len()
}

#[test]
fn finished_runs_are_not_repeated() {
    let directory = tempfile::tempdir().unwrap();
    let [whole, cut] = ["whole", "cut"].map(|name| directory.path().join(name));
    let (whole_name, cut_name) = (whole.display().to_string(), cut.display().to_string());
    sweep(&["--output", &whole_name, "--replicas", "2"], 0);
    assert_eq!(stored_runs(&whole.join("runs")), 12);
    // State after an interruption: some runs, and an incompletely written file.
    sweep(&["--output", &cut_name], 0);
    let some = files(&cut.join("runs"));
    let bytes = std::fs::read(&files(&whole.join("runs"))[0]).unwrap();
    let partial = cut.join("runs").join(files(&whole.join("runs"))[0].file_name().unwrap());
    std::fs::write(&partial, &bytes[..bytes.len() / 3]).unwrap();
    let (_, stderr) = sweep(&["--output", &cut_name, "--replicas", "2"], 0);
    assert!(stderr.contains("is damaged") && stderr.contains(&partial.display().to_string()), "{stderr}");
    let table = |directory: &Path| std::fs::read_to_string(directory.join("table.csv")).unwrap();
    assert_eq!(table(&whole), table(&cut));
    assert!(some.iter().all(|file| file.exists()), "what was there stays");
    assert_eq!(stored_runs(&cut.join("runs")), 12);
    assert!(whole.join("table.parquet").exists());
}

#[test]
fn complete_sweep_removes_its_runs() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("table.json").display().to_string();
    sweep(&["--output", &table], 0);
    let table_rows: serde_json::Value = crate::common::json(Path::new(&table));
    assert_eq!(table_rows["rows"].as_array().unwrap().len(), 6);
    assert_eq!(table_rows["axes"], serde_json::json!(["device.spare_factor", "ftl.victim"]));
    assert_eq!(table_rows["scenario"]["name"], "small");
    assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
}

#[test]
fn table_of_earlier_version_is_drawn() {
    let directory = tempfile::tempdir().unwrap();
    let path_of = |name: &str| directory.path().join(name).display().to_string();
    sweep(&["--output", &path_of("new.json")], 0);
    let current = crate::common::json(Path::new(&path_of("new.json")));
    std::fs::write(path_of("old.json"), current["rows"].to_string()).unwrap();
    for figure in ["points", "map"] {
        let drawn = ["new", "old"].map(|name| {
            let (table, svg) = (path_of(&format!("{name}.json")), path_of(&format!("{name}.svg")));
            outcome(&["plot", &table, "--figure", figure, "--output", &svg], 0);
            std::fs::read_to_string(svg).unwrap()
        });
        assert_eq!(drawn[0], drawn[1], "{figure}");
    }
    outcome(&["report", &path_of("old.json"), "--output", &path_of("old.html")], 0);
    outcome(&["report", &path_of("new.json"), "--output", &path_of("new.html")], 0);
}

#[test]
fn finished_runs_of_other_sweep_remain() {
    let directory = tempfile::tempdir().unwrap();
    let table = directory.path().join("table.csv").display().to_string();
    let runs_folder = format!("{table}.runs");
    // Finished runs of a larger sweep that was interrupted.
    sweep(&["--store", &runs_folder, "--replicas", "2"], 0);
    let (_, stderr) = sweep(&["--output", &table], 0);
    assert!(stderr.contains("it holds 6 finished runs of another study"), "{stderr}");
    assert_eq!(stored_runs(Path::new(&runs_folder)), 12);
}

#[test]
fn concurrent_programs_fill_one_store_and_results_lists_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = directory.path().join("store").display().to_string();
    std::fs::create_dir(&store).unwrap();
    let (_folder, scenario) = small();
    let axes = ["device.spare_factor=0.1,0.2", "device.spare_factor=0.2,0.3", "ftl.victim=greedy,fifo"];
    std::thread::scope(|scope| {
        for axis in axes {
            let (scenario, store) = (&scenario, &store);
            scope.spawn(move || {
                for _ in 0..3 {
                    outcome(&["sweep", scenario, "--vary", axis, "--store", store], 0);
                }
            });
        }
    });
    // All three sweeps share one run, because greedy cleaning and a spare factor of 0.2 are the scenario's defaults.
    // The first sweep stored it, and `results` shows it once.
    let (csv, stderr) = outcome(&["results", &store, "--format", "csv"], 0);
    assert_eq!((csv.lines().count(), stderr.as_str()), (1 + 4, ""), "{csv}");
    let (table, _) = outcome(&["results", &store], 0);
    assert!(table.contains("device.spare_factor") && table.contains("fifo"), "{table}");
    let (json, _) = outcome(&["results", &store, "--format", "json"], 0);
    assert_eq!(serde_json::from_str::<serde_json::Value>(&json).unwrap().as_array().unwrap().len(), 4);
    std::fs::write(Path::new(&store).join("points-0.parquet"), "PAR1").unwrap();
    let (_, stderr) = outcome(&["results", &store], 0);
    assert!(stderr.contains("points-0.parquet: is damaged"), "{stderr}");
    let (_, stderr) = outcome(&["results", directory.path().join("nowhere").to_str().unwrap()], 2);
    assert!(stderr.contains("nowhere: there is no such folder"), "{stderr}");
    let (_, stderr) = outcome(&["results", directory.path().to_str().unwrap()], 2);
    assert!(stderr.contains("holds no finished runs of version"), "{stderr}");
}

/// Returns a sweep whose runs take some tenths of a second each, so that on any machine the whole sweep takes several
/// times as long as the work that a kill may lose.
fn slow_sweep(scenario: &str, store: &str) -> Vec<String> {
    let words = ["sweep", scenario, "--vary", "seed=1:24:1", "--store", store, "--threads", "2"];
    let longer = ["--set", "measure.drive_writes=2400", "--format", "csv"];
    words.into_iter().chain(longer).map(str::to_owned).collect()
}

#[test]
fn killed_sweep_resumes() {
    let (directory, scenario) = small();
    let path_of = |name: &str| directory.path().join(name);
    let (killed, complete) =
        (path_of("killed").display().to_string(), path_of("whole").display().to_string());
    let mut child = std::process::Command::new(assert_cmd::cargo::cargo_bin("wearwell"))
        .args(slow_sweep(&scenario, &killed))
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let begin = std::time::Instant::now();
    while files(&path_of("killed")).is_empty() && begin.elapsed().as_secs() < 600 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // Sends SIGKILL.
    child.kill().unwrap();
    child.wait().unwrap();
    let stored_before = stored_runs(&path_of("killed"));
    assert!((1..24).contains(&stored_before), "{stored_before} of 24 runs were finished");
    let before = files(&path_of("killed"));
    let words = |store| slow_sweep(&scenario, store);
    let run = |words: Vec<String>| outcome(&words.iter().map(String::as_str).collect::<Vec<_>>(), 0);
    let (resumed, stderr) = run(words(&killed));
    assert_eq!((stderr.as_str(), resumed), ("", run(words(&complete)).0));
    assert!(before.iter().all(|file| file.exists()));
    assert_eq!(stored_runs(&path_of("killed")), 24);
}

#[test]
fn full_disk_is_reported_and_stored_runs_remain() {
    let (directory, scenario) = small();
    let disk = directory.path().join("disk");
    std::fs::create_dir(&disk).unwrap();
    let mounted = std::process::Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=256k", "tmpfs"])
        .arg(&disk)
        .stderr(std::process::Stdio::null())
        .status();
    if !mounted.is_ok_and(|status| status.success()) {
        println!("skipped: this user may mount nothing");
        return;
    }
    let store = disk.join("store").display().to_string();
    let words = slow_sweep(&scenario, &store);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // Leaves free space for a few files only.
    std::fs::write(disk.join("ballast"), vec![0; 150 << 10]).unwrap();
    let output = crate::common::wearwell(&words).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let files: Vec<_> = std::fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    let stored = stored_runs(Path::new(&store));
    std::fs::remove_file(disk.join("ballast")).unwrap();
    let is_partial = output.status.code() == Some(1) && stored < 24;
    let unmounted = std::process::Command::new("umount").arg(&disk).status();
    assert!(unmounted.is_ok_and(|status| status.success()));
    assert!(is_partial && stored > 0, "{stored} runs were kept: {stderr}");
    assert!(
        stderr.contains("No space left on device") && stderr.contains("what was stored before stays"),
        "{stderr}"
    );
    assert!(stderr.contains("store: ") && stderr.contains(" of 24 runs were finished"), "{stderr}");
    assert!(files.iter().all(|name| !name.to_string_lossy().contains(".wearwell-")), "{files:?}");
}

#[test]
fn unreachable_cluster_is_reported() {
    let (directory, scenario) = small();
    let words =
        |address: &str| ["sweep", &scenario, "--vary", "seed=1,2", "--dask", address].map(str::to_owned);
    let run = |address: &str| {
        let mut command = crate::common::wearwell(&words(address).each_ref().map(String::as_str));
        // The command finds no Python in this path.
        command.env("PATH", directory.path()).output().unwrap()
    };
    for (address, code, message) in [
        ("scheduler:8786", 2, "\"scheduler:8786\" is no address of a scheduler; write tcp://HOST:PORT"),
        ("tcp://", 2, "is no address"),
        ("tcp://127.0.0.1:1", 1, "--dask tcp://127.0.0.1:1: cannot start `python3 -m wearwell._dask`"),
    ] {
        let output = run(address);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(code) && stderr.contains(message), "{stderr}");
    }
    // A Python without the package, and a different program.
    for script in ["#!/bin/sh\nexit 1\n", "#!/bin/sh\necho hello\n"] {
        let python = directory.path().join("python3");
        std::fs::write(&python, script).unwrap();
        std::fs::set_permissions(&python, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let output = run("tcp://127.0.0.1:1");
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{stderr}");
        assert!(
            stderr.contains("is the Python package wearwell installed")
                || stderr.contains("is not understood"),
            "{stderr}"
        );
        assert!(stderr.contains("0 of 2 runs were finished"), "{stderr}");
    }
}

#[test]
fn invalid_sweep_ends_with_2_before_any_run() {
    for (axis, message) in [
        ("device.lode=0.5", "unknown field `lode`"),
        ("device.load=0.5,1.5", "with device.load=1.5: "),
        ("device.load", "write key=values"),
        ("device.load=0.1:0.5:0", "step does not lead"),
        ("ftl.victim=greedy,gredy", "gredy"),
    ] {
        let (_directory, scenario) = small();
        let (out, err) = outcome(&["sweep", &scenario, "--vary", axis], 2);
        assert_eq!(out, "");
        assert!(err.contains(message), "{axis}: {err}");
    }
}
