//! Tests of the file system without a mount: comparison with the model, on every device, with power cuts and
//! damage.

mod beside;
mod caching;
mod common;
mod crash;
mod damaged;
mod devices;
mod fsx;
mod lists;
mod model;
mod posix;
mod snapshots;
mod store;
mod store_full;
mod threads;
mod top;
