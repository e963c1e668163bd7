//! NVMFS on devices that are so small that NVMFS flushes, evicts and cleans all the time.

use std::sync::Arc;
use wearwell_nvmfs::fs::Nvmfs;
use wearwell_nvmfs::nvram::{Nvram, PlainNvram};
use wearwell_nvmfs::options::{Format, Options};
use wearwell_nvmfs::ssd::MemorySsd;
use wearwell_nvmfs::store::Store;

pub type SmallFs = Nvmfs<PlainNvram, MemorySsd>;
/// Function that unmounts a file system and mounts it again.
pub type Remount<F> = Box<dyn FnMut(F) -> F>;

/// Size of the NVRAM, bytes.
pub const NVRAM_BYTES: usize = 5 << 20;
const SSD_BLOCKS: u64 = 8192;

/// Creates a file system, and a function that mounts it again: alternately after a clean close and without a close.
pub fn small() -> (SmallFs, Remount<SmallFs>) {
    small_on(PlainNvram::new(NVRAM_BYTES), Options::default(), |nvram| nvram)
}

/// Does what [`small`] does, on a given NVRAM; `reopen` opens the NVRAM again after a close.
pub fn small_on<N: Nvram + 'static>(
    nvram: N,
    options: Options,
    mut reopen: impl FnMut(N) -> N + 'static,
) -> (Nvmfs<N, MemorySsd>, Remount<Nvmfs<N, MemorySsd>>) {
    let ssd = Arc::new(MemorySsd::new(SSD_BLOCKS));
    let format = Format { inodes: Some(1024), ..Format::default() };
    let store = Store::format(nvram, ssd.clone(), &format, options.clone()).expect("a fresh store");
    let mut is_closed = false;
    let remount = move |fs: Nvmfs<N, MemorySsd>| {
        is_closed = !is_closed;
        let store = fs.into_store();
        let nvram = reopen(if is_closed { store.close() } else { store.region.into_nvram() });
        let (store, _) = Store::open(nvram, ssd.clone(), options.clone()).expect("opens again");
        Nvmfs::from_store(store).expect("mounts again")
    };
    (Nvmfs::from_store(store).expect("mounts"), Box::new(remount))
}
