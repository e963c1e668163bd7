//! Tests of the file system without a mount: comparisons with the model, on every device, with power cuts and with
//! damage.

mod caching;
mod common;
mod concurrent_reads;
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
