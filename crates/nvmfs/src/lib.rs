//! NVMFS: a file system over NVRAM and an SSD.
//!
//! Metadata and hot data live in NVRAM, byte by byte and in place; what cools is written to the SSD in extents of
//! 512 KiB and never overwritten there. After Qiu and Reddy, "NVMFS: A hybrid file system for improving random write
//! in NAND-flash SSD" (MSST 2013); section numbers in the documentation are that paper's.
//!
//! [`api`] is what every file system here offers, [`nvram`] and [`ssd`] are what this one stands on,
//! [`fs`] is what they make together; [`model`] is the plainest one, to compare it with;
//! [`workload`] is what is played on all of them, and [`top`] plays it into a simulated stack.

pub mod api;
#[cfg(target_os = "linux")]
pub mod backing;
pub mod fs;
pub mod layout;
pub mod model;
pub mod names;
pub mod nvram;
pub mod options;
pub mod placement;
pub mod power;
pub mod ssd;
pub mod stats;
pub mod store;
pub mod top;
pub mod workload;
