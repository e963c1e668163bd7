//! Tests of `wearwell nvmfs`: creation, mounts, inspection, damage, repair.
#![cfg(target_os = "linux")]

use crate::common::outcome;
use serde_json::Value;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use tempfile::TempDir;

/// Offset of the inode table, behind a block and a log of 64 KiB.
const INODE_TABLE: u64 = 4096 + (64 << 10);
/// Size of an inode in bytes.
const INODE_BYTES: u64 = 128;
/// Offset of the number of links in an inode, in bytes.
const LINKS: u64 = 4;
/// Offset of the modification time in an inode, in bytes.
const MODIFIED: u64 = 32;
/// Offset of the block pointers in an inode, in bytes.
const POINTERS: u64 = 72;
/// Number of the root inode.
const ROOT: u64 = 1;

/// Images of a file system in a temporary directory.
struct Images {
    directory: TempDir,
    ssd: &'static str,
}

impl Images {
    /// Makes a file system on files.
    fn new() -> Self {
        let images = Images { directory: tempfile::tempdir_in("/dev/shm").unwrap(), ssd: "ssd" };
        images.mkfs(&["--size", "8 MiB", "--ssd-size", "64 MiB"], 0);
        images
    }

    /// Makes a file system on the simulated drive of a scenario.
    fn on_scenario() -> Self {
        let images = Images { directory: tempfile::tempdir_in("/dev/shm").unwrap(), ssd: "drive.toml" };
        let scenario = crate::common::SMALL.replace("blocks_per_plane = 100", "blocks_per_plane = 2000");
        fs::write(images.path("drive.toml"), scenario).unwrap();
        images.mkfs(&["--size", "8 MiB"], 0);
        images
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn command(&self, name: &str, more: &[&str], code: i32) -> (String, String) {
        let (nvram, ssd) =
            (self.path("nvram").display().to_string(), self.path(self.ssd).display().to_string());
        outcome(&[&["nvmfs", name, "--nvram", &nvram, "--ssd", &ssd], more].concat(), code)
    }

    fn mkfs(&self, more: &[&str], code: i32) -> (String, String) {
        self.command("mkfs", more, code)
    }

    fn fsck(&self, more: &[&str], code: i32) -> (String, String) {
        self.command("fsck", more, code)
    }

    /// Returns the contents of both images: commands that only read must not change them.
    fn content(&self) -> (Vec<u8>, Vec<u8>) {
        let ssd = if self.ssd == "ssd" { "ssd".into() } else { format!("{}.content", self.ssd) };
        (fs::read(self.path("nvram")).unwrap(), fs::read(self.path(&ssd)).unwrap())
    }

    /// Overwrites bytes of the NVRAM.
    fn overwrite_nvram(&self, at: u64, bytes: &[u8]) {
        let file = OpenOptions::new().write(true).open(self.path("nvram")).unwrap();
        file.write_all_at(bytes, at).unwrap();
    }

    fn stats(&self) -> Value {
        serde_json::from_str(&self.command("stats", &["--json"], 0).0).unwrap()
    }
}

fn field(ino: u64, field: u64) -> u64 {
    INODE_TABLE + ino * INODE_BYTES + field
}

#[test]
fn fresh_file_system_passes_fsck_and_reading_changes_nothing() {
    for images in [Images::new(), Images::on_scenario()] {
        let before = images.content();
        let (out, _) = images.fsck(&[], 0);
        assert_eq!(out, "unmounted properly; 1 inode in use, 0 problems\n");
        let stats = images.stats();
        assert_eq!((stats["was_closed"].as_bool(), stats["inodes"].as_u64()), (Some(true), Some(1)));
        assert_eq!(stats["free_extents"], stats["extents"]);
        assert!(images.command("stats", &[], 0).0.contains("Unmounted properly"));
        assert!(images.content() == before);
        images.fsck(&["--repair"], 0);
        assert_eq!(images.fsck(&[], 0).0, out);
    }
}

#[test]
fn existing_images_are_kept_unless_forced() {
    let images = Images::new();
    let before = images.content();
    let sizes = ["--size", "8 MiB", "--ssd-size", "64 MiB"];
    assert!(images.mkfs(&sizes, 1).1.contains("--force"));
    assert!(images.content() == before);
    let id = images.stats()["id"].clone();
    images.mkfs(&[&sizes[..], &["--force"]].concat(), 0);
    assert_ne!(images.stats()["id"], id);
    // A second `mkfs` without sizes does not destroy the images either.
    let before = images.content();
    assert!(images.mkfs(&[], 1).1.contains("--ssd: holds something already; --force destroys its content"));
    OpenOptions::new().write(true).open(images.path("ssd")).unwrap().write_all_at(&[0; 4096], 0).unwrap();
    assert!(images.mkfs(&[], 1).1.contains("nvram: holds something already; --force destroys its content"));
    assert!(images.content().0 == before.0);
    images.mkfs(&["--force"], 0);
    images.fsck(&[], 0);
}

#[test]
fn several_nvram_files_form_one_nvram() {
    let directory = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (a, b, ssd) = (path("a"), path("b"), path("ssd"));
    let nvmfs = |command: &str, files: &[&String], more: &[&str], code| {
        let nvram = files.iter().flat_map(|file| ["--nvram", file]);
        let all: Vec<&str> = ["nvmfs", command, "--ssd", &ssd].into_iter().chain(nvram).collect();
        outcome(&[&all[..], more].concat(), code)
    };
    nvmfs("mkfs", &[&a, &b], &["--size", "8 MiB", "--ssd-size", "64 MiB"], 0);
    for files in [[&a, &b], [&b, &a]] {
        nvmfs("fsck", &files, &[], 0);
        nvmfs("fsck", &files, &["--repair"], 0);
    }
    let (json, _) = nvmfs("stats", &[&b, &a], &["--json"], 0);
    assert_eq!(serde_json::from_str::<Value>(&json).unwrap()["nvram_bytes"], 8 << 20);
    for (files, problem) in [
        (&[&a][..], "is file 1 of 2 of a set; give all of them"),
        (&[&a, &a], "is given twice"),
        (&[&a, &ssd], "is no file of a set"),
    ] {
        for command in ["fsck", "stats"] {
            let stderr = nvmfs(command, files, &[], if command == "fsck" { 8 } else { 1 }).1;
            assert!(stderr.contains(problem), "{stderr}");
        }
    }
    // A failed creation leaves no files.
    fs::remove_file(&a).unwrap();
    fs::remove_file(&b).unwrap();
    assert!(nvmfs("mkfs", &[&a, &b], &["--size", "3 MB", "--force"], 1).1.contains("4096"));
    assert!(!std::path::Path::new(&a).exists() && !std::path::Path::new(&b).exists());
}

#[test]
fn damage_of_blocks_and_names_is_reported_and_repaired_on_request() {
    // The damages are an invalid pointer in the root, and a wrong link count.
    let damages: [(u64, &[u8], &str); 2] = [
        (field(ROOT, POINTERS), &[0xff; 8], "pointer to block 0 leads nowhere"),
        (field(ROOT, LINKS), &[9], "it has 2 links"),
    ];
    // The checksum of the inode is wrong as well.
    let problems = 2;
    for (at, bytes, problem) in damages {
        let images = Images::new();
        images.overwrite_nvram(at, bytes);
        let before = images.content();
        let (out, err) = images.fsck(&[], 4);
        assert!(out.contains(problem) && err.contains("--repair"), "{out}{err}");
        assert!(images.content() == before);
        let (out, _) = images.fsck(&["--repair", "--json"], 1);
        let report: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (report["repaired"].as_bool(), report["problem_count"].as_u64()),
            (Some(true), Some(problems))
        );
        assert_eq!(images.fsck(&[], 0).0, "unmounted properly; 1 inode in use, 0 problems\n");
    }
}

/// Damages a timestamp: only a checksum can detect it.
#[test]
fn changed_bit_is_reported_refused_and_accepted_by_repair() {
    let images = Images::new();
    images.overwrite_nvram(field(ROOT, MODIFIED), &[0x5a]);
    let (out, _) = images.fsck(&[], 4);
    assert!(out.contains("inode 1: the checksum of its inode is wrong"), "{out}");
    let before = images.content();
    let directory = images.path("");
    let (_, err) = images.command("mount", &[directory.to_str().unwrap()], 1);
    assert!(err.contains("checksum of its inode") && err.contains("run fsck"), "{err}");
    assert_eq!(images.fsck(&["--quick"], 4).0.lines().count(), 2);
    assert!(images.content().1 == before.1);
    images.fsck(&["--repair"], 1);
    images.fsck(&[], 0);
}

#[test]
fn data_checksums_use_nvram_unless_disabled() {
    let images = Images::new();
    let pages = |images: &Images| {
        let stats = images.stats();
        (stats["pages"].as_u64().unwrap(), stats["checksums"]["covers_data"].as_bool().unwrap())
    };
    let (with_checksums, has) = pages(&images);
    images.mkfs(&["--size", "8 MiB", "--ssd-size", "64 MiB", "--force", "--no-data-checksums"], 0);
    let (without, has_none) = pages(&images);
    assert!(has && !has_none && with_checksums < without, "{with_checksums} and {without} pages");
}

#[test]
fn uncheckable_images_have_separate_exit_code() {
    let images = Images::new();
    images.overwrite_nvram(0, &[0; 64]);
    assert!(images.fsck(&[], 8).1.contains("holds no file system"));
    assert!(images.fsck(&["--repair"], 8).1.contains("holds no file system"));
    fs::remove_file(images.path("nvram")).unwrap();
    images.fsck(&[], 8);
    // NVRAM and SSD are intact, but belong to different file systems.
    let (one, other) = (Images::new(), Images::new());
    fs::copy(one.path("ssd"), other.path("ssd")).unwrap();
    assert!(other.fsck(&[], 8).1.contains("another file system's"));
    outcome(&["nvmfs", "fsck"], 2);
}

#[test]
fn copy_from_other_mount_is_refused_unless_unpaired() {
    let images = Images::new();
    let old = fs::read(images.path("nvram")).unwrap();
    // Like a mount, the repair starts a new epoch of the pair.
    images.fsck(&["--repair"], 0);
    assert_eq!(images.stats()["mounts"].as_u64(), Some(1));
    let new = fs::read(images.path("nvram")).unwrap();
    fs::write(images.path("nvram"), &old).unwrap();
    let before = images.content();
    for more in [&[][..], &["--repair"]] {
        let (_, err) = images.fsck(more, 8);
        assert!(
            err.contains("the NVRAM is older, a copy from mount 0") && err.contains("--unpaired"),
            "{err}"
        );
    }
    assert!(images.command("stats", &[], 1).1.contains("do not belong together"));
    assert!(images.content() == before, "what is refused is left as it is");
    images.fsck(&["--unpaired"], 2);
    images.fsck(&["--repair", "--unpaired"], 0);
    assert_eq!(images.fsck(&[], 0).0, "unmounted properly; 1 inode in use, 0 problems\n");
    fs::write(images.path("nvram"), &new).unwrap();
    assert!(images.fsck(&[], 8).1.contains("the NVRAM is older, a copy from mount 1"));
}

#[test]
fn snapshots_are_created_listed_and_deleted_without_mount() {
    let images = Images::new();
    let snapshot = |what: &str, more: &[&str], code| {
        let (nvram, ssd) =
            (images.path("nvram").display().to_string(), images.path("ssd").display().to_string());
        outcome(&[&["nvmfs", "snapshot", what, "--nvram", &nvram, "--ssd", &ssd], more].concat(), code)
    };
    snapshot("create", &["one"], 0);
    snapshot("create", &["two"], 0);
    assert!(snapshot("create", &["two"], 1).1.contains("there is such a snapshot"));
    assert!(snapshot("create", &["a/b"], 1).1.contains("letters, digits"));
    assert!(snapshot("delete", &["three"], 1).1.contains("there is no such snapshot"));
    let listed: Value = serde_json::from_str(&snapshot("list", &["--json"], 0).0).unwrap();
    assert_eq!((&listed[0]["name"], &listed[1]["name"]), (&"one".into(), &"two".into()));
    images.fsck(&[], 0);
    snapshot("delete", &["one"], 0);
    assert!(!snapshot("list", &[], 0).0.contains("one"));
    snapshot("delete", &["two"], 0);
    assert_eq!(images.stats()["snapshot_blocks"], 0);
    images.fsck(&[], 0);
}

#[test]
fn background_mount_is_busy_and_reports_statistics() {
    if OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    let images = Images::new();
    let at = images.path("mounted");
    fs::create_dir(&at).unwrap();
    let shown = at.display().to_string();
    assert!(outcome(&["nvmfs", "stats", &shown], 1).1.contains("no NVMFS is mounted"));
    // The server in the background would keep standard error open, so a pipe would never end.
    let (nvram, ssd) = (images.path("nvram"), images.path("ssd"));
    let mut mount = std::process::Command::new(assert_cmd::cargo::cargo_bin("wearwell"));
    mount.args(["nvmfs", "mount", "--background", "--nvram"]).arg(nvram).arg("--ssd").arg(ssd).arg(&at);
    assert!(mount.stderr(std::process::Stdio::null()).status().unwrap().success());
    fs::write(at.join("file"), [7; 10_000]).unwrap();
    let (out, _) = outcome(&["nvmfs", "stats", &shown, "--json"], 0);
    let stats: Value = serde_json::from_str(&out).unwrap();
    assert_eq!((stats["inodes"].as_u64(), stats["counts"]["written_blocks"].as_u64()), (Some(2), Some(3)));
    assert!(images.fsck(&[], 8).1.contains("in use"));
    let unmounted = std::process::Command::new("umount").arg(&at).status().expect("umount");
    assert!(unmounted.success());
    // The server may still be closing the images, so the command is repeated.
    let stats = (0..6000).find_map(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        let (nvram, ssd) =
            (images.path("nvram").display().to_string(), images.path("ssd").display().to_string());
        let output =
            crate::common::wearwell(&["nvmfs", "stats", "--nvram", &nvram, "--ssd", &ssd, "--json"]).output();
        serde_json::from_slice::<Value>(&output.unwrap().stdout).ok()
    });
    let stats = stats.expect("it ends");
    assert_eq!((stats["was_closed"].as_bool(), stats["inodes"].as_u64()), (Some(true), Some(2)));
    images.fsck(&[], 0);
}

/// Mounts in the background; returns `None` if nothing can be mounted here.
fn mounted(images: &Images) -> Option<PathBuf> {
    if OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
        eprintln!("skipped: nothing can be mounted here");
        return None;
    }
    let at = images.path("mounted");
    fs::create_dir_all(&at).unwrap();
    // The server in the background would keep standard error open, so a pipe would never end.
    let mut mount = std::process::Command::new(assert_cmd::cargo::cargo_bin("wearwell"));
    mount.args(["nvmfs", "mount", "--background", "--nvram"]).arg(images.path("nvram"));
    mount.arg("--ssd").arg(images.path(images.ssd)).arg(&at);
    assert!(mount.stderr(std::process::Stdio::null()).status().unwrap().success());
    Some(at)
}

#[test]
fn mounted_snapshot_has_content_of_its_creation() {
    let images = Images::new();
    let Some(at) = mounted(&images) else { return };
    let shown = at.display().to_string();
    fs::write(at.join("file"), "first").unwrap();
    outcome(&["nvmfs", "snapshot", "create", "--on", &shown, "then"], 0);
    assert!(outcome(&["nvmfs", "snapshot", "create", "--on", &shown, "then"], 1).1.contains("there is such"));
    fs::write(at.join("file"), "second").unwrap();
    fs::write(at.join("other"), "new").unwrap();
    assert!(outcome(&["nvmfs", "snapshot", "list", "--on", &shown], 0).0.contains("then"));
    outcome(&["nvmfs", "umount", &shown], 0);
    let before = images.content();
    let mut mount = std::process::Command::new(assert_cmd::cargo::cargo_bin("wearwell"));
    mount.args(["nvmfs", "mount", "--background", "-o", "snapshot=then", "--nvram"]);
    mount.arg(images.path("nvram")).arg("--ssd").arg(images.path("ssd")).arg(&at);
    assert!(mount.stderr(std::process::Stdio::null()).status().unwrap().success());
    assert_eq!(fs::read_to_string(at.join("file")).unwrap(), "first");
    assert!(!at.join("other").exists() && fs::write(at.join("file"), "third").is_err());
    outcome(&["nvmfs", "umount", &shown], 0);
    assert!(images.content() == before, "a look changes nothing");
    assert!(
        images.command("mount", &["--snapshot", "never", &shown], 1).1.contains("there is no snapshot never")
    );
    let at = mounted(&images).expect("it could be mounted before");
    assert_eq!(fs::read_to_string(at.join("file")).unwrap(), "second");
    outcome(&["nvmfs", "snapshot", "delete", "--on", &shown, "then"], 0);
    outcome(&["nvmfs", "umount", &shown], 0);
    assert_eq!(images.stats()["snapshot_blocks"], 0);
    images.fsck(&[], 0);
}

#[test]
fn simulated_drive_reports_flash_statistics_while_mounted_and_after() {
    let images = Images::on_scenario();
    let Some(at) = mounted(&images) else { return };
    let shown = at.display().to_string();
    for round in 0..6 {
        fs::write(at.join("file"), vec![round; 20 << 20]).unwrap();
    }
    let (out, _) = outcome(&["nvmfs", "stats", &shown, "--json"], 0);
    let stats: Value = serde_json::from_str(&out).unwrap();
    let drive = |stats: &Value| stats["drive"]["programs"].as_u64().unwrap();
    assert!(drive(&stats) > 1000, "{out}");
    assert!(stats["drive"]["layers"][0]["writes_below"]["host"].as_u64() > Some(1000), "{out}");
    for row in ["pages programmed", "write amplification", "by cause", "blocks erased", "erases of a block"] {
        assert!(outcome(&["nvmfs", "stats", &shown], 0).0.contains(row), "{row}");
    }
    outcome(&["nvmfs", "umount", &shown], 0);
    // No delay is needed: `umount` has waited for the server.
    let after = images.stats();
    assert!(drive(&after["last_mount"]) >= drive(&stats));
    assert!(images.command("stats", &[], 0).0.contains("pages programmed"));
    assert_eq!(after["mounts"].as_u64(), Some(1));
    images.mkfs(&["--force", "--size", "8 MiB"], 0);
    assert!(images.stats()["last_mount"].is_null());
}

#[test]
fn umount_waits_and_sigterm_ends_busy_mount() {
    let images = Images::new();
    let Some(at) = mounted(&images) else { return };
    let shown = at.display().to_string();
    let open = fs::File::create(at.join("open")).unwrap();
    assert!(outcome(&["nvmfs", "umount", &shown], 1).1.contains("busy"));
    fs::write(at.join("file"), "content").unwrap();
    // The server is the only process that maps the NVRAM.
    let nvram = images.path("nvram").display().to_string();
    let server = fs::read_dir("/proc").unwrap().flatten().find_map(|of| {
        let pid = of.file_name().to_str()?.parse::<i32>().ok()?;
        fs::read_to_string(of.path().join("maps")).ok()?.contains(&nvram).then_some(pid)
    });
    let server = rustix::process::Pid::from_raw(server.expect("it serves")).unwrap();
    rustix::process::kill_process(server, rustix::process::Signal::TERM).unwrap();
    let ended = (0..6000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(10));
        rustix::process::test_kill_process(server).is_err()
    });
    assert!(ended, "a file that is open does not keep it");
    drop(open);
    assert_eq!(images.fsck(&[], 0).0, "unmounted properly; 3 inodes in use, 0 problems\n");
    assert!(outcome(&["nvmfs", "umount", &shown], 1).1.contains("no NVMFS is mounted"));
    let Some(at) = mounted(&images) else { return };
    assert_eq!(fs::read(at.join("file")).unwrap(), b"content");
    for _ in 0..5 {
        outcome(&["nvmfs", "umount", &shown], 0);
        images.fsck(&[], 0);
        mounted(&images);
    }
    outcome(&["nvmfs", "umount", &shown], 0);
}

#[test]
fn system_mount_and_umount_use_the_helper() {
    let images = Images::new();
    let helper = crate::common::repository().join("scripts/system/mount.fuse.nvmfs");
    let (mount, umount) = (images.path("mount.fuse.nvmfs"), images.path("umount.fuse.nvmfs"));
    for link in [&mount, &umount] {
        std::os::unix::fs::symlink(&helper, link).unwrap();
    }
    let at = images.path("mounted");
    fs::create_dir(&at).unwrap();
    let run = |program: &PathBuf, arguments: &[&str]| {
        let mut command = std::process::Command::new(program);
        command.env("WEARWELL", assert_cmd::cargo::cargo_bin("wearwell")).args(arguments);
        // Outputs go to files, because the server keeps them open and a pipe would never end.
        let message_file = fs::File::create(images.path("told")).unwrap();
        let status = command.stdout(std::process::Stdio::null()).stderr(message_file).status().unwrap();
        (status.success(), fs::read_to_string(images.path("told")).unwrap())
    };
    let (nvram, shown) = (images.path("nvram").display().to_string(), at.display().to_string());
    let options =
        format!("rw,noauto,ssd={},noexec,flush_above=0.7,x-systemd.automount", images.path("ssd").display());
    let (is_done, message) = run(&mount, &[&nvram, &shown, "-o", "rw"]);
    assert!(!is_done && message.contains("ssd="), "{message}");
    let (is_done, message) = run(&mount, &[&nvram, &shown, "-o", &format!("{options},flush_abov=1")]);
    assert!(!is_done && message.contains("flush_abov"), "{message}");
    assert_eq!(run(&mount, &[&nvram, &shown, "-f", "-o", &options]), (true, String::new()));
    assert!(outcome(&["nvmfs", "stats", &shown], 1).1.contains("no NVMFS is mounted"));
    if OpenOptions::new().read(true).write(true).open("/dev/fuse").is_err() {
        return eprintln!("skipped: nothing can be mounted here");
    }
    let (is_done, message) = run(&mount, &[&nvram, &shown, "-n", "-o", &options]);
    assert!(is_done, "{message}");
    outcome(&["nvmfs", "stats", &shown], 0);
    assert!(
        fs::read_to_string("/proc/mounts")
            .unwrap()
            .lines()
            .any(|line| line.contains(&shown) && line.contains("noexec"))
    );
    assert_eq!(run(&umount, &[&shown, "-n"]), (true, String::new()));
    images.fsck(&[], 0);
}

#[test]
fn mount_needs_a_directory_and_failed_mkfs_leaves_nothing() {
    let images = Images::new();
    fs::write(images.path("file"), "").unwrap();
    let file = images.path("file").display().to_string();
    for more in [&[&file[..]][..], &[&file, "--background"]] {
        assert!(images.command("mount", more, 1).1.contains("is not a directory"));
    }
    fs::remove_file(images.path("nvram")).unwrap();
    fs::remove_file(images.path("ssd")).unwrap();
    assert!(images.mkfs(&["--size", "1 MiB", "--ssd-size", "64 MiB"], 1).1.contains("too few"));
    assert!(images.mkfs(&["--size", "8 MiB", "--ssd-size", "1 PiB"], 1).1.contains("too few"));
    assert!(!images.path("nvram").exists() && !images.path("ssd").exists());
    images.mkfs(&["--size", "8 MiB", "--ssd-size", "64 MiB"], 0);
}

#[test]
fn help_has_examples() {
    let (help, _) = outcome(&["nvmfs", "snapshot", "create", "--help"], 0);
    assert!(help.contains("Examples:"), "{help}");
    for command in ["mkfs", "mount", "umount", "fsck", "stats"] {
        let (help, _) = outcome(&["nvmfs", command, "--help"], 0);
        assert!(help.contains("Examples:"), "{help}");
        insta::assert_snapshot!(format!("help-{command}"), help);
    }
}
