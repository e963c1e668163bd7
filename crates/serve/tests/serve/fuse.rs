//! Tests of the device as a FUSE file, where FUSE is available.

use crate::agreement::{counts, simulate};
use crate::common::{PAGE, ReferenceDisk, SMALL, Step, device, page_steps};
use rustix::fs::{FallocateFlags, SeekFrom, fallocate, seek};
use rustix::io::Errno;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use wearwell_base::seed::{Seed, random_below};
use wearwell_serve::fuse::TRANSPORT;
use wearwell_serve::transport::Transport;
use wearwell_serve::{Device, Operation, SharedDevice};

/// Device mounted in a directory.
pub struct MountedDrive {
    pub folder: tempfile::TempDir,
    pub device: SharedDevice,
    transport: Option<Box<dyn Transport>>,
}

impl MountedDrive {
    /// Mounts the drive of a scenario. If that is not possible, prints the reason and returns `None`.
    pub fn mount(text: &str) -> Option<MountedDrive> {
        if !Path::new("/dev/fuse").exists() {
            println!("NOT RUN: there is no /dev/fuse");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        let device = SharedDevice::new(device(text));
        let endpoint = (TRANSPORT.parse)(folder.path().to_str().unwrap()).unwrap();
        match endpoint.open(&device) {
            Ok(transport) => Some(MountedDrive { folder, device, transport: Some(transport) }),
            Err(error) => {
                println!("NOT RUN: mounting: {error}");
                None
            }
        }
    }

    pub fn disk(&self) -> PathBuf {
        let transport = self.transport.as_ref().unwrap();
        assert!(!transport.is_closed());
        transport.address().into()
    }

    fn file(&self) -> File {
        OpenOptions::new().read(true).write(true).open(self.disk()).unwrap()
    }

    /// Closes the transport. Returns its result and the device.
    pub fn close(mut self) -> (Result<(), String>, Device) {
        let closed = self.transport.take().unwrap().close();
        (closed, self.device.take().unwrap())
    }
}

const PUNCH: FallocateFlags = FallocateFlags::PUNCH_HOLE.union(FallocateFlags::KEEP_SIZE);

/// Performs a step on the file and on the reference disk. In the reference, all bytes of a punched range become
/// zeroes.
fn run_step(file: &File, reference: &mut ReferenceDisk, step: &Step) {
    let mut wanted = step.clone();
    match step {
        Step::Write(offset, data) => file.write_all_at(data, *offset).unwrap(),
        Step::Read(offset, length) => {
            let mut found = vec![0; *length];
            file.read_exact_at(&mut found, *offset).unwrap();
            assert!(found == reference.apply(step), "{offset} {length}");
        }
        Step::Trim(offset, length) => {
            if *length > 0 {
                fallocate(file, PUNCH, *offset, *length).unwrap();
            }
            wanted = Step::Zero(*offset, *length, false);
        }
        Step::Zero(offset, length, _) => {
            if *length > 0 {
                fallocate(file, FallocateFlags::ZERO_RANGE, *offset, *length).unwrap();
            }
        }
        Step::Flush => file.sync_all().unwrap(),
    }
    reference.apply(&wanted);
}

/// Returns requests of any length, including writes that the kernel splits.
fn any_steps(bytes: u64, count: u32) -> Vec<Step> {
    let mut random = Seed(11).random();
    let mut draw = |limit: u64| random_below(&mut random, limit);
    let step = |_| {
        let most = if draw(50) == 0 { 3 << 20 } else { 3 * PAGE };
        let length = 1 + draw(most);
        let offset = draw(bytes - length);
        match draw(10) {
            0..5 => Step::Write(offset, vec![1 + draw(200) as u8; length as usize]),
            5..7 => Step::Read(offset, length as usize),
            7 => Step::Trim(offset, length),
            8 => Step::Zero(offset, length, true),
            _ => Step::Flush,
        }
    };
    (0..count).map(step).collect()
}

#[test]
fn file_content_equals_reference_disk() {
    for ftl in ["", "[ftl]\nstructure = \"dftl\"\n", "[ftl]\ndedup = \"cagc\"\n"] {
        let Some(mounted) = MountedDrive::mount(&format!("{SMALL}{ftl}")) else { return };
        let file = mounted.file();
        let bytes = file.metadata().unwrap().len();
        let mut naive = ReferenceDisk(vec![0; bytes as usize]);
        for step in any_steps(bytes, 1200) {
            run_step(&file, &mut naive, &step);
        }
        let mut all = vec![0; naive.0.len()];
        file.read_exact_at(&mut all, 0).unwrap();
        assert!(all == naive.0, "{ftl}");
        drop(file);
        let (closed, device) = mounted.close();
        closed.unwrap();
        device.check().unwrap();
    }
}

#[test]
fn device_counts_through_file_equal_simulation() {
    for ftl in ["", "[ftl]\nstructure = \"gecko\"\n", "[ftl]\ndedup = \"inline\"\n"] {
        let text = format!("{SMALL}{ftl}");
        let Some(mounted) = MountedDrive::mount(&text) else { return };
        let file = mounted.file();
        let bytes = file.metadata().unwrap().len();
        let mut naive = ReferenceDisk(vec![0; bytes as usize]);
        let steps = page_steps(bytes, 1500, 6);
        for step in &steps {
            run_step(&file, &mut naive, step);
        }
        drop(file);
        let (closed, device) = mounted.close();
        closed.unwrap();
        let trims = steps.iter().filter(|step| matches!(step, Step::Trim(..))).count() as u64;
        let flushes = steps.iter().filter(|step| matches!(step, Step::Flush)).count() as u64;
        let requests = device.status().requests;
        let count = |operation| requests.stats(operation).count();
        assert_eq!((count(Operation::Trim), count(Operation::Flush)), (trims, flushes));
        assert_eq!(counts(&device.result().unwrap()), counts(&simulate(&text, &steps)), "{text}");
    }
}

#[test]
fn unsupported_operations_are_refused() {
    let Some(mounted) = MountedDrive::mount(SMALL) else { return };
    let (file, disk) = (mounted.file(), mounted.disk());
    let bytes = file.metadata().unwrap().len();
    let error = |done: std::io::Result<usize>| Errno::from_io_error(&done.unwrap_err()).unwrap();
    // A write that begins within the device is executed up to the end of the device.
    assert_eq!(file.write_at(&[7; 100], bytes - 10).unwrap(), 10);
    assert_eq!(error(file.write_at(&[7], bytes)), Errno::NOSPC);
    assert_eq!(error(file.write_at(&[7], i64::MAX as u64 - 9)), Errno::NOSPC);
    let mut found = [0; 100];
    assert_eq!(file.read_at(&mut found, bytes - 10).unwrap(), 10);
    assert_eq!((found[9], file.read_at(&mut found, bytes).unwrap()), (7, 0));
    assert_eq!(file.read_at(&mut found, i64::MAX as u64 - 200).unwrap(), 0);
    // Beyond the end of the device, punching has no effect and zeroing fails.
    fallocate(&file, PUNCH, bytes, 4096).unwrap();
    fallocate(&file, PUNCH, bytes - 4096, 1 << 40).unwrap();
    fallocate(&file, PUNCH, 0, i64::MAX as u64).unwrap();
    assert_eq!(fallocate(&file, FallocateFlags::ZERO_RANGE, bytes - 1, 2), Err(Errno::FBIG));
    for mode in [FallocateFlags::empty(), FallocateFlags::KEEP_SIZE, FallocateFlags::COLLAPSE_RANGE] {
        assert!(fallocate(&file, mode, 0, 4096).is_err(), "{mode:?}");
    }
    file.set_len(bytes).unwrap();
    for length in [0, bytes - 1, bytes + 1] {
        assert_eq!(Errno::from_io_error(&file.set_len(length).unwrap_err()), Some(Errno::PERM));
    }
    assert!(File::create(&disk).is_err() && std::fs::remove_file(&disk).is_err());
    assert!(File::create(disk.with_file_name("other")).is_err());
    let names: Vec<_> =
        std::fs::read_dir(mounted.folder.path()).unwrap().map(|of| of.unwrap().file_name()).collect();
    assert_eq!(names, ["disk"]);
    assert_eq!(mounted.device.with(|device| Ok(device.content_bytes())).unwrap(), 0);
}

#[test]
fn seek_and_statfs_report_holes() {
    let Some(mounted) = MountedDrive::mount(SMALL) else { return };
    let file = mounted.file();
    let bytes = file.metadata().unwrap().len();
    file.write_all_at(&[1; 2 * PAGE as usize], 3 * PAGE).unwrap();
    for (from, data, found) in [
        (0, true, Ok(3 * PAGE)),
        (3 * PAGE + 5, true, Ok(3 * PAGE + 5)),
        (5 * PAGE, true, Err(Errno::NXIO)),
        (0, false, Ok(0)),
        (4 * PAGE, false, Ok(5 * PAGE)),
        (bytes, false, Err(Errno::NXIO)),
    ] {
        let to = if data { SeekFrom::Data(from) } else { SeekFrom::Hole(from) };
        assert_eq!(seek(&file, to), found, "{from} {data}");
    }
    let statistics = rustix::fs::statvfs(mounted.folder.path()).unwrap();
    assert_eq!((statistics.f_bsize, statistics.f_blocks), (PAGE, bytes / PAGE));
    assert_eq!(statistics.f_blocks - statistics.f_bfree, 2);
}

#[test]
fn missing_or_used_mount_points_are_refused() {
    let refused = |at: &Path| (TRANSPORT.parse)(at.to_str().unwrap()).map(|_| ()).unwrap_err();
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(&folder.path().join("none")).contains("No such file"));
    assert!(refused(Path::new("/")).contains("mounted there already"));
    std::fs::write(folder.path().join("file"), "mine").unwrap();
    assert!(refused(&folder.path().join("file")).contains("not a directory"));
    assert!(refused(folder.path()).contains("not empty"));
    let Some(mounted) = MountedDrive::mount(SMALL) else { return };
    assert!(refused(mounted.folder.path()).contains("mounted there already"));
}

#[test]
fn transport_closes_while_file_is_in_use() {
    let Some(mounted) = MountedDrive::mount(SMALL) else { return };
    let (file, at) = (mounted.file(), mounted.folder.path().to_owned());
    file.write_all_at(&[1; 4096], 0).unwrap();
    let writer = {
        let file = file.try_clone().unwrap();
        // The thread writes until the first error.
        std::thread::spawn(move || {
            (0..).take_while(|at| file.write_all_at(&[2; 4096], at % 100 * PAGE).is_ok()).count()
        })
    };
    while mounted.device.with(|device| Ok(device.content_bytes())).unwrap() < 20 * PAGE {
        std::thread::yield_now();
    }
    let (closed, device) = mounted.close();
    assert!(closed.unwrap_err().contains("open still"));
    assert!(writer.join().unwrap() > 0);
    assert_eq!(Errno::from_io_error(&file.read_at(&mut [0], 0).unwrap_err()), Some(Errno::IO));
    device.check().unwrap();
    assert!(!at.exists(), "the folder is removed with its owner, as nothing is mounted on it");
}

#[test]
fn transport_reports_unmount_from_outside() {
    let Some(mut mounted) = MountedDrive::mount(SMALL) else { return };
    if !Command::new("umount").arg(mounted.folder.path()).status().is_ok_and(|ended| ended.success()) {
        println!("NOT RUN: umount needs root");
        return;
    }
    let transport = mounted.transport.take().unwrap();
    while !transport.is_closed() {
        std::thread::yield_now();
    }
    transport.close().unwrap();
}

/// Loop device and mount of a test, removed when dropped.
struct LoopDevice {
    device: String,
    mounted: Option<PathBuf>,
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        for (program, argument) in self.mounted.iter().map(|at| ("umount", at.to_str().unwrap())) {
            let _ = Command::new(program).arg(argument).status();
        }
        let _ = Command::new("losetup").args(["-d", &self.device]).status();
    }
}

/// Runs a program and returns its output. If it fails, prints the error and returns `None`.
fn run(program: &str, arguments: &[&str]) -> Option<String> {
    match Command::new(program).args(arguments).output() {
        Ok(ended) if ended.status.success() => Some(String::from_utf8_lossy(&ended.stdout).trim().to_owned()),
        Ok(ended) => {
            println!("{program} {arguments:?}: {}", String::from_utf8_lossy(&ended.stderr));
            None
        }
        Err(error) => {
            println!("{program}: {error}");
            None
        }
    }
}

/// Uses a kernel file system on a loop device that is backed by the file: mkfs, writes, trim, fsck.
#[test]
fn kernel_file_system_works_on_the_file() {
    let text = "[device]\ncapacity = \"64 MiB\"\npages_per_block = 32\nspare_factor = 0.2\n";
    let Some(mounted) = MountedDrive::mount(text) else { return };
    let disk = mounted.disk();
    let disk = disk.to_str().unwrap();
    if !rustix::process::geteuid().is_root() || run("mkfs.ext4", &["-V"]).is_none() {
        println!("NOT RUN: needs root and mkfs.ext4");
        return;
    }
    let Some(device) = run("losetup", &["-f", "--show", "-b", "4096", "--direct-io=on", disk]) else {
        println!("NOT RUN: there is no loop device");
        return;
    };
    let mut looped = LoopDevice { device: device.clone(), mounted: None };
    run("mkfs.ext4", &["-q", "-F", &device]).unwrap();
    let at = tempfile::tempdir().unwrap();
    run("mount", &["-o", "discard", &device, at.path().to_str().unwrap()]).unwrap();
    looped.mounted = Some(at.path().to_owned());
    let content = |number: usize| vec![number as u8 + 1; 100_000 + number];
    for number in 0..40 {
        std::fs::write(at.path().join(number.to_string()), content(number)).unwrap();
    }
    rustix::fs::syncfs(File::open(at.path()).unwrap()).unwrap();
    for number in 0..20 {
        std::fs::remove_file(at.path().join(number.to_string())).unwrap();
    }
    run("fstrim", &[at.path().to_str().unwrap()]).unwrap();
    let trims =
        mounted.device.with(|device| Ok(device.status().requests.stats(Operation::Trim).count())).unwrap();
    assert!(trims > 0);
    for number in 20..40 {
        assert_eq!(std::fs::read(at.path().join(number.to_string())).unwrap(), content(number));
    }
    run("umount", &[at.path().to_str().unwrap()]).unwrap();
    looped.mounted = None;
    run("fsck.ext4", &["-f", "-n", &device]).expect("it is whole");
    drop(looped);
    let (_, device) = mounted.close();
    let requests = device.status().requests;
    for operation in [Operation::Flush, Operation::Write, Operation::Read] {
        assert!(requests.stats(operation).count() > 0, "{operation:?}");
    }
    device.check().unwrap();
}
