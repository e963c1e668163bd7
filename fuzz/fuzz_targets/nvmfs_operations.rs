//! Executes arbitrary operations on NVMFS, with occasional remounts. The results equal those of the model.
//!
//! Each operation is made of 8 numbers of 4 bytes.
#![no_main]

#[path = "../../crates/nvmfs/tests/nvmfs/common/mod.rs"]
mod common;

use common::{ModelPair, Op, SpaceMode, ops_of_bytes, small};
use libfuzzer_sys::fuzz_target;

const MAX_OPS: usize = 1000;

fuzz_target!(|bytes: &[u8]| {
    let (fs, remount) = small();
    let mut twin = ModelPair::new(fs, SpaceMode::Scarce, remount);
    let mut ops = ops_of_bytes(bytes).take(MAX_OPS);
    let result = ops.try_for_each(|words| twin.step(&Op::from_words(&words))).and_then(|()| twin.compare());
    result.unwrap_or_else(|difference| panic!("{difference}"));
});
