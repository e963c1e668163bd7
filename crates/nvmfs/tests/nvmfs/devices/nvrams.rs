//! Comparison of every NVRAM with a vector of bytes.

use crate::common::simulated::{PowerSource, SimulatedNvram};
use proptest::prelude::*;
use wearwell_nvmfs::nvram::{Nvram, PlainNvram};

pub const BYTES: usize = 8192;

/// Operation on NVRAM.
#[derive(Clone, Debug)]
pub enum Step {
    Store(usize, Vec<u8>),
    StoreWord(usize, u64),
    WriteBack(usize, usize),
    Fence,
}

pub fn steps() -> impl Strategy<Value = Vec<Step>> {
    // The steps use few lines, so that the same lines are stored to, written back and fenced in every order.
    let place = prop_oneof![4000..4300usize, 0..BYTES - 200];
    let step = prop_oneof![
        4 => (place.clone(), prop::collection::vec(any::<u8>(), 0..200)).prop_map(|(at, bytes)| Step::Store(at, bytes)),
        2 => (place.clone(), any::<u64>()).prop_map(|(at, word)| Step::StoreWord(at / 8 * 8, word)),
        4 => (place, 0..200usize).prop_map(|(at, length)| Step::WriteBack(at, length)),
        1 => Just(Step::Fence),
    ];
    prop::collection::vec(step, 1..60)
}

pub fn apply(nvram: &mut dyn Nvram, step: &Step) {
    match step {
        Step::Store(at, bytes) => nvram.store(*at, bytes),
        Step::StoreWord(at, word) => nvram.store_word(*at, *word),
        Step::WriteBack(at, length) => nvram.write_back(*at, *length),
        Step::Fence => nvram.fence(),
    }
}

/// Returns the offset and the bytes that a step stores.
pub fn stored(step: &Step) -> Option<(usize, Vec<u8>)> {
    match step {
        Step::Store(at, bytes) => Some((*at, bytes.clone())),
        Step::StoreWord(at, word) => Some((*at, word.to_le_bytes().to_vec())),
        Step::WriteBack(..) | Step::Fence => None,
    }
}

/// Returns an NVRAM of each type; temporary files live as long as the returned directories.
fn all() -> (Vec<tempfile::TempDir>, Vec<Box<dyn Nvram>>) {
    let mut nvrams: Vec<Box<dyn Nvram>> = vec![
        Box::new(PlainNvram::new(BYTES)),
        Box::new(PlainNvram::from(vec![0; BYTES])),
        Box::new(SimulatedNvram::new(BYTES, PowerSource::new())),
    ];
    let mut folders = Vec::new();
    #[cfg(target_os = "linux")]
    {
        use wearwell_nvmfs::backing::Existing;
        use wearwell_nvmfs::nvram::{MappedNvram, Persistence};
        for persistence in [Persistence::CacheLines, Persistence::Msync] {
            let folder = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
            let path = folder.path().join("nvram");
            let nvram = MappedNvram::create(path, BYTES as u64, Existing::Refuse, persistence);
            nvrams.push(Box::new(nvram.expect("a new file")));
            folders.push(folder);
        }
    }
    (folders, nvrams)
}

proptest! {
    #[test]
    fn every_nvram_behaves_like_a_vector_of_bytes(steps in steps()) {
        let (_folders, mut nvrams) = all();
        let mut model = vec![0; BYTES];
        for step in &steps {
            if let Some((at, bytes)) = stored(step) {
                model[at..at + bytes.len()].copy_from_slice(&bytes);
            }
            for nvram in &mut nvrams {
                apply(&mut **nvram, step);
            }
        }
        for (at, nvram) in nvrams.iter().enumerate() {
            prop_assert!(nvram.bytes() == model, "NVRAM {}", at);
        }
    }
}
