//! Test cases for the behaviour of single operations according to POSIX and Linux.

mod acls;
mod attributes;
mod content;
mod directories;
mod names;
mod renames;
mod space;

use crate::common::model::ModelFs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use wearwell_nvmfs::api::{Attributes, Caller, Change, Error, FileSystem, Ino, Kind, Result};

/// Test case: its name, and a function that receives a new file system.
type Case = (&'static str, fn(&mut dyn FileSystem));

/// Defines a table of functions with their names.
macro_rules! cases {
    ($($case:ident),* $(,)?) => {
        pub const CASES: &[crate::posix::Case] = &[$((stringify!($case), $case)),*];
    };
}
use cases;

const GROUPS: [(&str, &[Case]); 7] = [
    ("acls", acls::CASES),
    ("attributes", attributes::CASES),
    ("content", content::CASES),
    ("directories", directories::CASES),
    ("names", names::CASES),
    ("renames", renames::CASES),
    ("room", space::CASES),
];

/// Runs all cases, each with a new file system, and reports all failures.
fn run_all<F: FileSystem>(fresh: impl Fn() -> F) {
    let mut failed = Vec::new();
    for (group, cases) in GROUPS {
        for (name, case) in cases {
            if catch_unwind(AssertUnwindSafe(|| case(&mut fresh()))).is_err() {
                failed.push(format!("{group}::{name}"));
            }
        }
    }
    assert!(failed.is_empty(), "{} cases fail: {failed:#?}", failed.len());
}

#[test]
fn model_passes_posix_cases() {
    run_all(|| ModelFs::with_capacity(8192, 70_000));
}

#[test]
fn nvmfs_passes_posix_cases() {
    run_all(|| crate::common::small().0);
}

/// Returns a caller; `seconds` is the time of the call.
fn at(seconds: i64) -> Caller {
    Caller { uid: 1000, gid: 100, now_ns: seconds * 1_000_000_000 }
}

fn file(fs: &mut dyn FileSystem, parent: Ino, name: &str) -> Ino {
    fs.create(parent, name.as_bytes(), Kind::File, 0o644, 0, &at(1)).unwrap().ino
}

fn directory(fs: &mut dyn FileSystem, parent: Ino, name: &str) -> Ino {
    fs.make_directory(parent, name.as_bytes(), 0o755, &at(1)).unwrap().ino
}

fn resize(fs: &mut dyn FileSystem, ino: Ino, size_bytes: u64, seconds: i64) -> Result<Attributes> {
    fs.set_attributes(ino, &Change { size_bytes: Some(size_bytes), ..Change::default() }, &at(seconds))
}

/// Returns the access, modification and change times in seconds.
fn times(fs: &mut dyn FileSystem, ino: Ino) -> [i64; 3] {
    let Attributes { accessed_ns, modified_ns, changed_ns, .. } = fs.attributes(ino).unwrap();
    [accessed_ns, modified_ns, changed_ns].map(|ns| ns / 1_000_000_000)
}

fn links(fs: &mut dyn FileSystem, ino: Ino) -> u32 {
    fs.attributes(ino).unwrap().links
}

/// Returns the content of a file.
fn bytes(fs: &mut dyn FileSystem, ino: Ino) -> Vec<u8> {
    let size_bytes = fs.attributes(ino).unwrap().size_bytes;
    let mut out = vec![0xa5; size_bytes as usize + 1];
    let count = fs.read(ino, 0, &mut out, &at(1)).unwrap();
    assert_eq!(count as u64, size_bytes);
    out.truncate(count);
    out
}

/// Fails unless an operation returned the given error.
#[track_caller]
fn expect_error<T: std::fmt::Debug>(name: &str, result: Result<T>) {
    match result {
        Err(error) => assert_eq!(crate::common::error_name(&error), name),
        Ok(value) => panic!("not refused with {name}, but {value:?}"),
    }
}

/// Fails if a name exists.
#[track_caller]
fn expect_missing(fs: &mut dyn FileSystem, parent: Ino, name: &str) {
    assert!(matches!(fs.lookup(parent, name.as_bytes()), Err(Error::NotFound)), "{name} is there");
}
