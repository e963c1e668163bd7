//! Tests of images of live drives: `wearwell image`, `wearwell pull-plug`, and killed servers.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const DRIVE: &str = "[device]\nblocks_per_plane = 96\npages_per_block = 16\nspare_factor = 0.25\n[ftl]\nstructure = \"gecko\"\n";

fn wearwell(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wearwell"));
    command.current_dir(folder).args(arguments).output().unwrap()
}

fn said(output: &Output) -> String {
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
    assert!(absent.status.code() == Some(1) && said(&absent).contains("nobody serves"), "{absent:?}");
    let mut server = serve(at, &[]);
    let cut = wearwell(at, &["pull-plug", "drive"]);
    assert!(cut.status.success() && said(&cut).contains("without reading any"), "{cut:?}");
    let later = wearwell(at, &["pull-plug", "drive", "--after", "5", "--torn", "--wait", "0"]);
    assert!(later.status.success() && said(&later).contains("has not come to that"), "{later:?}");
    let used = wearwell(at, &["image", "fsck", "drive"]);
    assert!(used.status.code() == Some(8) && said(&used).contains("in use"), "{used:?}");
    server.kill().unwrap();
    server.wait().unwrap();
    let info = wearwell(at, &["image", "info", "drive", "--format", "json"]);
    let info: serde_json::Value = serde_json::from_slice(&info.stdout).unwrap();
    assert_eq!((&info["kept_as"], &info["blocks"]), (&"flash".into(), &96.into()));
    assert!(wearwell(at, &["image", "fsck", "drive"]).status.success());
    assert!(wearwell(at, &["image", "dump", "drive"]).status.success());
    let beyond = wearwell(at, &["image", "dump", "drive", "--block", "96"]);
    assert!(beyond.status.code() == Some(1) && said(&beyond).contains("no block 96"), "{beyond:?}");
    let blocks = at.join("drive/blocks");
    let mut bytes = std::fs::read(&blocks).unwrap();
    bytes[64] = 1;
    std::fs::write(&blocks, bytes).unwrap();
    let damaged = wearwell(at, &["image", "fsck", "drive"]);
    assert!(
        damaged.status.code() == Some(8) && said(&damaged).contains("is damaged: block 0"),
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
        let looked = wearwell(at, &["image", what, "drive"]);
        assert!(looked.status.success() && said(&looked).contains("a journal of all requests"), "{looked:?}");
    }
    let other = wearwell(
        at,
        &["serve", "drive.toml", "--nbd", "unix:s", "--image", "drive", "--image-form", "flash"],
    );
    assert!(other.status.code() == Some(2) && said(&other).contains("the other way"), "{other:?}");
}

/// Kills a few servers; the script takes the number of kills as an argument.
#[test]
fn killed_servers_lose_nothing_that_was_promised() {
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
        Ok(ended) => assert!(ended.status.success(), "{}", said(&ended)),
        Err(error) => println!("NOT RUN: python3: {error}"),
    }
}
