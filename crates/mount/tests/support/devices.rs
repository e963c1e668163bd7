//! NVMFS on two files in a directory.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use wearwell_nvmfs::backing::Existing;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::{MappedNvram, Persistence};
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::{Caching, FileSsd};
use wearwell_nvmfs::store::Store;

/// Type of the file system under test.
pub type FileNvmfs = Nvmfs<MappedNvram, FileSsd>;

/// Creates a file system in `directory`, which must not contain one, with devices of the given sizes.
pub fn create(directory: &Path, nvram_bytes: u64, ssd_bytes: u64, inodes: u32) -> FileNvmfs {
    let nvram =
        MappedNvram::create(directory.join("nvram"), nvram_bytes, Existing::Refuse, Persistence::Auto);
    let ssd = FileSsd::create(directory.join("ssd"), ssd_bytes, Existing::Refuse, Caching::Cached);
    let format = Format { inodes: Some(inodes), ..Format::default() };
    let (nvram, ssd) = (nvram.expect("a new file"), ssd.expect("a new file"));
    let store = Store::format(nvram, Arc::new(ssd), &format, Options::default());
    Nvmfs::from_store(store.expect("made")).expect("empty")
}

/// Opens the file system in `directory`.
#[allow(dead_code, reason = "the benchmarks only create file systems")]
pub fn open(directory: &Path) -> FileNvmfs {
    let nvram = retry_until_unlocked(|| MappedNvram::open(directory.join("nvram"), Persistence::Auto));
    let ssd = retry_until_unlocked(|| FileSsd::open(directory.join("ssd"), Caching::Cached));
    let (store, _) = Store::open(nvram, Arc::new(ssd), Options::default()).expect("it is whole");
    Nvmfs::from_store(store).expect("it is whole")
}

/// Retries until a lock is released: a child process of another test briefly holds copies of closed descriptors.
fn retry_until_unlocked<T>(open: impl Fn() -> io::Result<T>) -> T {
    for _ in 0..6000 {
        match open() {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return opened.expect("the file is there"),
        }
    }
    panic!("it stays locked");
}
