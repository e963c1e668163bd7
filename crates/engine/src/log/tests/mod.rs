//! Tests of the store on small drives, with all expected counts calculated by hand, and comparisons with a naive model.

mod cleaning;
mod coordination;
pub(in crate::log) mod drive;
mod faults;
mod forwarding;
mod groups;
mod layers;
mod model;
#[path = "../../../tests/naive/mod.rs"]
#[expect(
    dead_code,
    unused_imports,
    reason = "the whole of it is used by the tests of the engine in all its forms"
)]
mod naive;
mod observed_events;
mod pool;
mod recovery;
mod rejections;
mod spills;
mod stacked;
