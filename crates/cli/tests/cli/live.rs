//! Tests of `wearwell live`, from an empty folder to advice, and of `wearwell top` with a served drive.

use crate::common::outcome;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A served drive with a control address; ended when dropped.
struct ServedDrive(Child);

impl ServedDrive {
    fn start(folder: &Path) -> Self {
        let drive =
            "name = \"mine\"\n[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n";
        std::fs::write(folder.join("drive.toml"), drive).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
        command.current_dir(folder).args([
            "serve",
            "drive.toml",
            "--nbd",
            "unix:s.sock",
            "--control",
            "unix:c.sock",
        ]);
        let mut server = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(server.stdout.take().unwrap())
            .lines()
            .take(2)
            .collect::<Result<Vec<_>, _>>()
            .unwrap();
        assert!(lines[1].contains("unix:c.sock"), "{lines:?}");
        ServedDrive(server)
    }
}

impl Drop for ServedDrive {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn top_prints_one_screen_or_json_lines() {
    let folder = tempfile::tempdir().unwrap();
    let served = ServedDrive::start(folder.path());
    let address = format!("unix:{}", folder.path().join("c.sock").display());
    let (text, _) = outcome(&["top", &address, "--once", "--interval", "0.25"], 0);
    assert!(text.contains("wearwell top   mine") && text.contains("free of ftl: 96"), "{text}");
    assert!(text.lines().count() == 24 && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (line, _) = outcome(&["top", &address, "--once", "--json"], 0);
    let reading: serde_json::Value = serde_json::from_str(&line).unwrap();
    assert_eq!(
        (reading["format_version"].as_u64(), reading["erased_blocks"]["ftl"].as_u64()),
        (Some(2), Some(96))
    );
    assert!(outcome(&["top", &address], 2).1.contains("--once or --json"));
    drop(served);
    assert!(outcome(&["top", &address, "--once"], 1).1.contains("wearwell serve --control"));
    for (what, problem) in [("nowhere", "is not there"), ("unix:", "is not there")] {
        assert!(outcome(&["top", what, "--once"], 2).1.contains(problem), "{what}");
    }
    let here = folder.path().to_str().unwrap();
    let (_, stderr) = outcome(
        &["top", here, "--once"],
        if cfg!(all(target_os = "linux", feature = "nvmfs")) { 1 } else { 2 },
    );
    assert!(stderr.contains("NVMFS"), "{stderr}");
    for interval in ["0", "61", "x"] {
        assert!(outcome(&["top", &address, "--interval", interval], 2).1.contains("--interval"));
    }
}

/// Runs `top` in tmux with 80 columns and 24 lines, and checks its display and its keys.
#[test]
fn top_draws_in_terminal_and_handles_keys() {
    if Command::new("tmux").arg("-V").output().is_err() {
        println!("NOT RUN: top in a terminal, as there is no tmux");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let _served = ServedDrive::start(folder.path());
    let socket = folder.path().join("tmux").display().to_string();
    let tmux = |arguments: &[&str]| {
        let done =
            Command::new("tmux").args(["-S", &socket, "-f", "/dev/null"]).args(arguments).output().unwrap();
        String::from_utf8_lossy(&done.stdout).into_owned()
    };
    let command = format!(
        "{} top unix:c.sock --interval 0.25; echo ended $?; sleep 60",
        env!("CARGO_BIN_EXE_wearwell")
    );
    let folder = folder.path().to_str().unwrap();
    tmux(&["new-session", "-d", "-x", "80", "-y", "24", "-c", folder, &command]);
    let until = |word: &str| {
        for _ in 0..3000 {
            let screen = tmux(&["capture-pane", "-p"]);
            if screen.contains(word) {
                return screen;
            }
            std::thread::sleep(std::time::Duration::from_millis(100));
        }
        panic!("{word} never came; there is\n{}", tmux(&["capture-pane", "-p"]));
    };
    let screen = until("free of ftl: 96");
    assert!(screen.contains("q quit") && screen.contains("wearwell top   mine"), "{screen}");
    tmux(&["send-keys", "p"]);
    until("[paused]");
    tmux(&["send-keys", "s"]);
    until("sort: pages");
    tmux(&["send-keys", "q"]);
    until("ended 0");
    tmux(&["kill-server"]);
}

#[test]
fn demonstration_writes_and_prints_effects_and_advice() {
    let folder = tempfile::tempdir().unwrap();
    let folder_path = folder.path().join("kept");
    let kept_folder = folder_path.to_str().unwrap();
    let (stdout, stderr) =
        outcome(&["live", "demo", "--client", "own", "--seconds", "3", "--keep", kept_folder], 0);
    for word in [
        "nbd+unix:///",
        "random overwrites of 4 KiB",
        "a log and sorted tables",
        "cleaning",
        "$ wearwell advise",
        "victim",
    ] {
        assert!(stdout.contains(word), "{word} in\n{stdout}\n{stderr}");
    }
    // The recorded trace can be replayed separately.
    let (drive, recording) =
        (format!("{kept_folder}/drive.toml"), format!("{kept_folder}/recording.csv.zst"));
    let (checked, _) = outcome(&["trace", "check", &recording], 0);
    assert!(checked.contains("wearwell-csv"), "{checked}");
    assert!(std::path::Path::new(&drive).exists());
    assert!(outcome(&["live", "demo", "--keep", kept_folder], 2).1.contains(kept_folder));
}
