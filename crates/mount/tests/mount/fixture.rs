//! Test fixture: a mounted file system, and helpers to inspect it.

#[path = "../support/devices.rs"]
pub mod devices;

use devices::FileNvmfs;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;
use wearwell_mount::{Mount, Options, mount};

const NVRAM_BYTES: u64 = 32 << 20;
const SSD_BYTES: u64 = 96 << 20;
const INODES: u32 = 30_000;

/// File system with its devices and its mount point.
pub struct Fixture {
    directory: TempDir,
    mounted: Option<Mount<FileNvmfs>>,
    options: Options,
}

/// Returns the reason why mounting is not possible, if it is not.
fn reason_not_to_mount() -> Option<String> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/fuse")
        .err()
        .map(|error| format!("/dev/fuse: {error}"))
}

impl Fixture {
    /// Creates and mounts a file system. Returns `None` where mounting is not possible.
    pub fn new() -> Option<Self> {
        Self::with(Options::default())
    }

    /// Does what `new` does, with mount options.
    pub fn with(options: Options) -> Option<Self> {
        if let Some(obstacle) = reason_not_to_mount() {
            println!("skipped: {obstacle}");
            return None;
        }
        let shm = Path::new("/dev/shm");
        let directory = if shm.is_dir() { TempDir::new_in(shm) } else { TempDir::new() };
        let directory = directory.expect("a directory for the test");
        std::fs::create_dir(directory.path().join("mounted")).expect("an empty directory");
        let mut fixture = Fixture { directory, mounted: None, options };
        let created = devices::create(fixture.directory(), NVRAM_BYTES, SSD_BYTES, INODES);
        fixture.mount_this(created);
        Some(fixture)
    }

    /// Returns the directory that holds all files of the test.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the root directory of the file system.
    pub fn root(&self) -> PathBuf {
        self.directory.path().join("mounted")
    }

    /// Returns a path on the file system.
    pub fn at(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    /// Mounts the file system, which must not be mounted.
    pub fn mount(&mut self) {
        self.mount_this(devices::open(self.directory()));
    }

    fn mount_this(&mut self, file_system: FileNvmfs) {
        self.mounted = Some(mount(file_system, &self.root(), &self.options).expect("mounted"));
    }

    /// Tries to unmount the file system; fails if it is in use.
    pub fn try_unmount(&self) -> io::Result<()> {
        self.mounted.as_ref().expect("it is mounted").unmount()
    }

    /// Unmounts and closes the file system; panics on an error.
    pub fn unmount(&mut self) {
        let mounted = self.mounted.take().expect("it is mounted");
        // A child process of another test briefly holds copies of open descriptors, until it executes its program.
        let unmounted = (0..6000).find_map(|_| match mounted.unmount() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(std::time::Duration::from_millis(10));
                None
            }
            unmounted => Some(unmounted),
        });
        unmounted.expect("nothing is open after a minute").expect("it is unmounted");
        mounted.join().expect("closed");
    }

    /// Unmounts and remounts the file system.
    pub fn remount(&mut self) {
        self.unmount();
        self.mount();
    }
}

/// Observable state of a file. Times of directories and links are not included.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileState {
    pub mode: u32,
    pub owner: (u32, u32),
    pub links: u64,
    pub device: u64,
    pub modified: Option<(i64, i64)>,
    pub content: Vec<u8>,
}

fn file_state(path: &Path, of: &Metadata) -> io::Result<FileState> {
    let content = if of.is_symlink() {
        std::fs::read_link(path)?.into_os_string().into_vec()
    } else if of.is_file() {
        std::fs::read(path)?
    } else {
        Vec::new()
    };
    let modified = of.is_file().then(|| (of.mtime(), of.mtime_nsec()));
    let links = if of.is_dir() { 0 } else { of.nlink() };
    Ok(FileState {
        mode: of.mode(),
        owner: (of.uid(), of.gid()),
        links,
        device: of.rdev(),
        modified,
        content,
    })
}

/// Returns the state of all files below `directory`, by path.
pub fn tree(directory: &Path) -> BTreeMap<OsString, FileState> {
    let mut found = BTreeMap::new();
    let mut open = vec![directory.to_owned()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = path.symlink_metadata().expect("a file that was listed");
            if metadata.is_dir() {
                open.push(path.clone());
            }
            let name = path.strip_prefix(directory).expect("below").as_os_str().to_owned();
            let before = found.insert(name, file_state(&path, &metadata).expect("readable"));
            assert_eq!(before, None, "{} is listed twice", path.display());
        }
    }
    found
}

/// Asserts that two trees are equal.
pub fn assert_same(left: &BTreeMap<OsString, FileState>, right: &BTreeMap<OsString, FileState>) {
    assert_eq!(left.keys().collect::<Vec<_>>(), right.keys().collect::<Vec<_>>());
    for (name, of) in left {
        let (mut a, mut b) = (of.clone(), right[name].clone());
        assert!(a.content == b.content, "{name:?}: other content");
        (a.content, b.content) = (Vec::new(), Vec::new());
        assert_eq!(a, b, "{name:?}");
    }
}

/// Runs a program and returns its output; panics if the program fails.
pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("the program is there");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Runs a shell command in `directory` and returns its output; panics if the command fails.
pub fn shell(directory: &Path, line: &str) -> String {
    run(Command::new("sh").args(["-euc", line]).current_dir(directory))
}

/// Returns the errno of an operation that must fail.
pub fn errno<T: std::fmt::Debug>(result: io::Result<T>) -> rustix::io::Errno {
    let error = result.expect_err("it must fail");
    rustix::io::Errno::from_io_error(&error).expect("an error of the kernel")
}

/// Creates a new file, open for reading and writing.
pub fn new_file(path: &Path) -> File {
    OpenOptions::new().read(true).write(true).create_new(true).open(path).expect("a new file")
}

/// Returns pseudo-random bytes that depend on `seed`.
pub fn bytes(seed: u64, length: usize) -> Vec<u8> {
    use rand::{RngCore, SeedableRng};
    let mut bytes = vec![0; length];
    rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}
