//! NVMFS on devices so small that it flushes, evicts and cleans all the time.

use std::sync::Arc;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::PlainNvram;
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::MemorySsd;
use wearwell_nvmfs::store::Store;

pub type Small = Nvmfs<PlainNvram, MemorySsd>;
/// Unmounts and mounts.
pub type Remount<F> = Box<dyn FnMut(F) -> F>;

const NVRAM_BYTES: usize = 5 << 20;
const SSD_BLOCKS: u64 = 8192;

/// A fresh file system, and how it is mounted anew: closed before, and by every other time not.
pub fn small() -> (Small, Remount<Small>) {
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    let format = Format { inodes: Some(1024), ..Format::default() };
    let nvram = PlainNvram::new(NVRAM_BYTES);
    let store = Store::format(nvram, ssd.clone(), &format, Options::default()).expect("a fresh store");
    let mut is_closed = false;
    let remount = move |fs: Small| {
        is_closed = !is_closed;
        let store = fs.into_store();
        let nvram = if is_closed { store.close() } else { store.region.into_nvram() };
        let (store, _) = Store::open(nvram, ssd.clone(), Options::default()).expect("opens again");
        Nvmfs::over(store).expect("mounts again")
    };
    (Nvmfs::over(store).expect("mounts"), Box::new(remount))
}
