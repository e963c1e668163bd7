//! Tests of the content after a clean or unclean end.

use crate::fixture::{Fixture, assert_same, bytes, devices, tree};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;
use wearwell_mount::{Options, mount};

/// Environment variable that gives the server process its directory.
const SERVE: &str = "WEARWELL_TEST_SERVE";

#[test]
fn remount_keeps_everything() {
    let Some(mut fixture) = Fixture::new() else { return };
    for number in 0..200_u64 {
        let directory = fixture.at(&format!("{}/{}", number % 7, number % 11));
        fs::create_dir_all(&directory).unwrap();
        fs::write(directory.join(number.to_string()), bytes(number, 1000 * number as usize)).unwrap();
    }
    let before = tree(&fixture.root());
    for _ in 0..3 {
        fixture.remount();
        assert_same(&tree(&fixture.root()), &before);
    }
}

/// This is not a test but the server process that another test kills.
#[test]
#[ignore = "serves another test"]
fn serves_until_killed() {
    let Some(directory) = std::env::var_os(SERVE) else { return };
    let directory = Path::new(&directory);
    let mounted = mount(devices::open(directory), &directory.join("mounted"), &Options::default()).unwrap();
    mounted.join().unwrap();
}

/// Starts a server process and waits until it has mounted.
fn serve(fixture: &Fixture) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "survival::serves_until_killed", "--ignored"]).env(SERVE, fixture.directory());
    let mut child = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    for _ in 0..6000 {
        let table = fs::read_to_string("/proc/self/mounts").unwrap();
        if table.contains(fixture.root().to_str().unwrap()) {
            return child;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    panic!("it does not mount");
}

#[test]
fn acknowledged_writes_survive_kill() {
    let Some(mut fixture) = Fixture::new() else { return };
    fixture.unmount();
    let root = fixture.root();
    let mut model = vec![0_u8; 1 << 20];
    for round in 0..5_u64 {
        let mut child = serve(&fixture);
        let file =
            fs::File::options().create(true).truncate(false).write(true).open(root.join("file")).unwrap();
        for step in 0..300 + 100 * round {
            let at = (step.wrapping_mul(0x9e37_79b9_7f4a_7c15 ^ round) >> 20) as usize % (model.len() - 5000);
            let data = bytes(step ^ (round << 32), 1 + at % 5000);
            file.write_all_at(&data, at as u64).unwrap();
            model[at..at + data.len()].copy_from_slice(&data);
        }
        fs::create_dir(root.join(round.to_string())).unwrap();
        fs::write(root.join(format!("{round}/new")), bytes(round, 50_000)).unwrap();
        if round > 0 {
            fs::rename(root.join(format!("{}/new", round - 1)), root.join(format!("{round}/old"))).unwrap();
        }
        child.kill().unwrap();
        child.wait().unwrap();
        drop(file);
        rustix::mount::unmount(&root, rustix::mount::UnmountFlags::DETACH).unwrap();

        fixture.mount();
        let content = fs::read(root.join("file")).unwrap();
        assert!(
            content[..] == model[..content.len()] && model[content.len()..].iter().all(|&byte| byte == 0)
        );
        assert_eq!(fs::read(root.join(format!("{round}/new"))).unwrap(), bytes(round, 50_000));
        for earlier in 1..=round {
            assert_eq!(fs::read(root.join(format!("{earlier}/old"))).unwrap(), bytes(earlier - 1, 50_000));
            assert!(!root.join(format!("{}/new", earlier - 1)).exists());
        }
        fixture.unmount();
    }
}

/// A file system in use is not unmounted and stays usable.
#[test]
fn unmount_with_open_file_fails_with_ebusy() {
    let Some(mut fixture) = Fixture::new() else { return };
    let file = fs::File::create(fixture.at("file")).unwrap();
    let error = fixture.try_unmount().unwrap_err();
    assert_eq!(crate::fixture::errno::<()>(Err(error)), rustix::io::Errno::BUSY);
    file.write_all_at(b"usable", 0).unwrap();
    drop(file);
    fixture.unmount();
}
