//! Tests of images of live drives: `wearwell image`, `wearwell pull-plug`, and killed servers.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const DRIVE: &str = "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n[ftl]\nstructure = \"gecko\"\n";

fn wearwell(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn output_text(output: &Output) -> String {
    String::from_utf8_lossy(&[&output.stdout[..], &output.stderr[..]].concat()).into_owned()
}

fn serve(folder: &Path, more: &[&str]) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
    command
        .current_dir(folder)
        .args(["serve", "drive.toml", "--nbd", "unix:s", "--image", "drive"])
        .args(more);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("bytes are served"), "{line}");
    server
}

#[test]
fn image_is_inspected_and_checked_after_power_cuts() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("drive.toml"), DRIVE).unwrap();
    let absent = wearwell(at, &["pull-plug", "drive"]);
    assert!(absent.status.code() == Some(1) && output_text(&absent).contains("nobody serves"), "{absent:?}");
    let mut server = serve(at, &[]);
    let cut = wearwell(at, &["pull-plug", "drive"]);
    assert!(cut.status.success() && output_text(&cut).contains("recovery read nothing"), "{cut:?}");
    let later = wearwell(at, &["pull-plug", "drive", "--after", "5", "--torn", "--wait", "0"]);
    assert!(later.status.success() && output_text(&later).contains("has not reached that"), "{later:?}");
    let used = wearwell(at, &["image", "fsck", "drive"]);
    assert!(used.status.code() == Some(8) && output_text(&used).contains("in use"), "{used:?}");
    server.kill().unwrap();
    server.wait().unwrap();
    let info = wearwell(at, &["image", "info", "drive", "--format", "json"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((&info["kept_as"], &info["blocks"]), (&"flash".into(), &96.into()));
    assert!(wearwell(at, &["image", "fsck", "drive"]).status.success());
    assert!(wearwell(at, &["image", "dump", "drive"]).status.success());
    let missing_block = wearwell(at, &["image", "dump", "drive", "--block", "96"]);
    assert!(
        missing_block.status.code() == Some(1) && output_text(&missing_block).contains("no block 96"),
        "{missing_block:?}"
    );
    let blocks = at.join("drive/blocks");
    let mut bytes = std::fs::read(&blocks).unwrap();
    bytes[64] = 1;
    std::fs::write(&blocks, bytes).unwrap();
    let damaged = wearwell(at, &["image", "fsck", "drive"]);
    assert!(
        damaged.status.code() == Some(8) && output_text(&damaged).contains("is damaged: block 0"),
        "{damaged:?}"
    );
}

#[test]
fn journal_image_is_inspected() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("drive.toml"), DRIVE).unwrap();
    let mut server = serve(at, &["--image-form", "journal"]);
    let refused = wearwell(at, &["pull-plug", "drive"]);
    assert!(refused.status.code() == Some(1), "{refused:?}");
    server.kill().unwrap();
    server.wait().unwrap();
    for what in ["info", "fsck"] {
        let inspected = wearwell(at, &["image", what, "drive"]);
        assert!(
            inspected.status.success() && output_text(&inspected).contains("a journal of all requests"),
            "{inspected:?}"
        );
    }
    let mismatched = wearwell(
        at,
        &["serve", "drive.toml", "--nbd", "unix:s", "--image", "drive", "--image-form", "flash"],
    );
    assert!(
        mismatched.status.code() == Some(2) && output_text(&mismatched).contains("the other way"),
        "{mismatched:?}"
    );
}

/// Kills a few servers; the script takes the number of kills as an argument.
#[test]
fn killed_servers_lose_no_durable_writes() {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/kill_serve.py");
    let mut command = Command::new("python3");
    command.arg(script).args([
        "--program",
        env!("CARGO_BIN_EXE_wearwell"),
        "--kills",
        "3",
        "--seconds",
        "0.5",
    ]);
    if Path::new("/dev/shm").is_dir() {
        command.args(["--folder", "/dev/shm"]);
    }
    match command.args(["log", "gecko", "dftl", "fast", "inline"]).output() {
        Ok(ended) => assert!(ended.status.success(), "{}", output_text(&ended)),
        Err(error) => println!("NOT RUN: python3: {error}"),
    }
}
